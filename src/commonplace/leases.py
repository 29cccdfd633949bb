"""Leases: which conversations are running just now, told by small files with an end in time.

It does not know who talks about what, nor who waits. No lease outlives its holder: one that was
noted ends by itself, and one that is held ends with its process, kill -9 included.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from commonplace.clock import Clock, parse_stamp, stamp
from commonplace.errors import Busy
from commonplace.values import frozen
from commonplace.vault.locks import Lock

HELD = ".held"
LONG_AGO = 86_400.0
"""Seconds after which an ended lease is cleared away."""


@frozen
class Lease:
    """A conversation that is running, and until when at the latest."""

    session: str
    until: str


class Leases:
    """The leases of one vault."""

    def __init__(self, directory: Path, *, clock: Clock) -> None:
        self.directory = directory
        self.clock = clock

    def note(self, session: str, *, seconds: float) -> Lease:
        """Say that a session talks, and may for so long be silent; said again, it goes on."""
        lease = Lease(session, self._after(seconds))
        _write(self._path(session), lease)
        return lease

    def end(self, session: str) -> None:
        """Say that a session talks no more."""
        self._path(session).unlink(missing_ok=True)

    @contextmanager
    def held(self, session: str, *, seconds: float) -> Iterator[Lease]:
        """A lease that ends with the block, with the process, or after `seconds`."""
        path = self._path(self.clock.new_id()).with_suffix(HELD)
        lock = Lock(path, seconds=5, clock=self.clock)
        with lock.held():
            lease = Lease(session, self._after(seconds))
            path.write_text(json.dumps(lease.__dict__), encoding="utf-8")
            try:
                yield lease
            finally:
                path.unlink(missing_ok=True)
        lock.close()

    def running(self) -> list[Lease]:
        """The leases that have not ended."""
        return [lease for path, lease in self._found() if self._is_running(path, lease)]

    def _found(self) -> Iterator[tuple[Path, Lease]]:
        """Every lease that can be read; one that is being made cannot yet."""
        try:
            names = sorted(os.listdir(self.directory))
        except FileNotFoundError:
            return
        for name in names:
            path = self.directory / name
            lease = None if name.startswith(".") else _read(path)
            if lease:
                yield path, lease

    def _is_running(self, path: Path, lease: Lease) -> bool:
        late = (self.clock.now() - parse_stamp(lease.until)).total_seconds()
        holder = self._has_holder(path)
        # One that ended just now may be noted again at this moment.
        if late > LONG_AGO or not holder:
            path.unlink(missing_ok=True)
        return late < 0 and holder

    def _has_holder(self, path: Path) -> bool:
        """Whether somebody holds the lock of a held lease; a noted one needs nobody."""
        if path.suffix != HELD:
            return True
        lock = Lock(path, seconds=0, clock=self.clock)
        try:
            with lock.held():
                return False
        except Busy:
            return True
        finally:
            lock.close()

    def _after(self, seconds: float) -> str:
        from datetime import timedelta

        return stamp(self.clock.now() + timedelta(seconds=seconds))

    def _path(self, name: str) -> Path:
        from hashlib import sha256

        self.directory.mkdir(mode=0o700, exist_ok=True)
        return self.directory / f"{sha256(name.encode()).hexdigest()[:32]}.json"


def _write(path: Path, lease: Lease) -> None:
    """At once or not at all: others read it while this process is killed."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    fresh.write_text(json.dumps(lease.__dict__), encoding="utf-8")
    os.replace(fresh, path)


def _read(path: Path) -> Lease | None:
    try:
        lease = Lease(**json.loads(path.read_text(encoding="utf-8")))
        parse_stamp(lease.until)
        return lease
    except (OSError, ValueError, TypeError):
        return None
