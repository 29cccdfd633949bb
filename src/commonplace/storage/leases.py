"""Leases: which conversations are running just now.

No lease outlives its holder: a noted lease ends at its time, and a held lease ends with its
process, kill -9 included.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.model.clock import Clock, parse_stamp, stamp
from commonplace.model.errors import Busy
from commonplace.model.files import StrPath, digest
from commonplace.storage import machine_files
from commonplace.storage.locks import Lock

HELD = ".held"
DEPTH = 2
"""The leases' directory, and the state's."""
LONG_AGO = 86_400.0
"""Seconds after which an ended lease is cleared away."""


class Lease(Struct, frozen=True):
    """A conversation that is running, and until when at the latest."""

    session: str
    until: str


class Leases(Protocol):
    """The leases of one vault."""

    def note(self, session: str, *, seconds: float) -> Lease:
        """Say that a session talks, and may for so long be silent; said again, it goes on."""

    def end(self, session: str) -> None:
        """Say that a session talks no more."""

    def held(self, session: str, *, seconds: float) -> AbstractContextManager[Lease]:
        """A lease that ends with the block, with the process, or after `seconds`."""

    def running(self) -> list[Lease]:
        """The leases that have not ended."""


class FileLeases:
    """Leases as files in a directory."""

    def __init__(self, directory: StrPath, *, clock: Clock) -> None:
        self.directory = os.fspath(directory)
        self.clock = clock

    def note(self, session: str, *, seconds: float) -> Lease:
        lease = Lease(session, self._after(seconds))
        # At once or not at all: others read it while this process is killed.
        machine_files.write(self._path(session), _text(lease), depth=DEPTH)
        return lease

    def end(self, session: str) -> None:
        _remove(self._path(session))

    @contextmanager
    def held(self, session: str, *, seconds: float) -> Iterator[Lease]:
        path = self._path(self.clock.new_id(), HELD)
        lock = Lock(path, seconds=5, clock=self.clock, depth=DEPTH)
        with lock.held():
            lease = Lease(session, self._after(seconds))
            os.write(lock.descriptor, _text(lease))
            try:
                yield lease
            finally:
                _remove(path)
        lock.close()

    def running(self) -> list[Lease]:
        return [lease for path, lease in self._found() if self._is_running(path, lease)]

    def _found(self) -> Iterator[tuple[str, Lease]]:
        """Every lease that can be read; one that is being made cannot yet."""
        for name in sorted(machine_files.names_in(self.directory)):
            path = os.path.join(self.directory, name)
            lease = None if name.startswith(".") else _read(path)
            if lease:
                yield path, lease

    def _is_running(self, path: str, lease: Lease) -> bool:
        late = (self.clock.now() - parse_stamp(lease.until)).total_seconds()
        holder = self._has_holder(path)
        # One that ended just now may be noted again at this moment.
        if late > LONG_AGO or not holder:
            _remove(path)
        return late < 0 and holder

    def _has_holder(self, path: str) -> bool:
        """Whether somebody holds the lock of a held lease; a noted one needs nobody."""
        if not path.endswith(HELD):
            return True
        lock = Lock(path, seconds=0, clock=self.clock, depth=DEPTH)
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

    def _path(self, name: str, ending: str = ".json") -> str:
        machine_files.make_directory(self.directory)
        return os.path.join(self.directory, digest(name.encode()) + ending)


def _text(lease: Lease) -> bytes:
    return json.dumps(asdict(lease)).encode()


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        machine_files.remove(path, depth=DEPTH)


def _read(path: str) -> Lease | None:
    try:
        lease = Lease(**machine_files.parsed(machine_files.read(path, depth=DEPTH)))
        parse_stamp(lease.until)
        return lease
    except (OSError, ValueError, TypeError):
        return None
