"""Upkeep beside a process that serves: each work is done by a process of its own.

The threads of one process compute in turns, and whoever stores would wait for those of a
compaction. The other process ends when this one does, however that ends. Where none can be
started, the work is done here after all. What a work does it does not know.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from commonplace.model.clock import Clock
from commonplace.model.errors import CutShort, VaultTrouble

ENTRY = "commonplace.doors.job_process"
BEGUN = b"begun"
"""The first line of an answer: without it, what was started is not ours."""
GRACE = 3.0
"""Seconds that a work has to end by itself once it was asked to."""
TURN = 0.0005
"""Seconds after which a thread that works lets the others have a turn. With ten times as many, as
is usual, a store beside a compaction waits for that long at each of its steps.
"""


class Errands:
    """The works of one vault that are done elsewhere."""

    def __init__(
        self, place: str, opening: Mapping[str, Any], *, clock: Clock, here: Callable[[str], str]
    ) -> None:
        self._order = {"place": place, "zone": clock.zone, "opening": opening}
        self._here = here
        # A clock that a program made is nowhere else.
        self.able = bool(sys.executable) and not hasattr(sys, "frozen") and clock.is_the_systems
        """Whether another process can be started, for all that is known."""
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self.over = False

    def run(self, work: str) -> str:
        """Have a work done. Returns what it says it did, or raises what went wrong."""
        said = self._elsewhere(work) if self.able else None
        if said is not None:
            return said
        self.able = False
        take_short_turns()
        return self._here(work)

    def leave(self, work: str, *, failed: Callable[[str], None]) -> subprocess.Popen[bytes] | None:
        """Have a work done by a process that ends by itself; None when there can be none.

        `failed` is told if that goes wrong while this process is still there.
        """
        if not self.able or self.over:
            return None
        silent = subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                _command(),
                stdin=subprocess.PIPE,
                stdout=silent,
                stderr=silent,
                start_new_session=True,
            )
        except OSError:
            return None
        _give(process, {**self._order, "work": work, "alone": True})
        # Whoever goes on must take note of its end; whoever ends need not wait for it.
        watch = threading.Thread(target=_watch, args=(process, failed), name="commonplace-left")
        watch.daemon = True
        watch.start()
        return process

    def stop(self) -> None:
        """End what is being done; nothing is begun any more."""
        with self._guard:
            self.over = True
            running = list(self._running)
        for process in running:
            process.terminate()
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            process.kill()

    def _elsewhere(self, work: str) -> str | None:
        """The same, in a process of its own; None when there can be none."""
        try:
            process = self._started()
        except OSError:
            return None
        with process:
            said = _said(process, json.dumps({**self._order, "work": work}).encode())
        with self._guard:
            self._running.discard(process)
        begun, _, answer = said.partition(b"\n")
        if process.returncode >= 0 and begun != BEGUN and not self.over:
            return None
        return _told(answer, process.returncode)

    def _started(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._guard:
            if self.over:
                raise CutShort("it was to end")
            process = subprocess.Popen(_command(), stdin=pipe, stdout=pipe, bufsize=0)
            self._running.add(process)
        return process


def _command() -> list[str]:
    # Without -P a file in the working directory could pass for a module of ours.
    return [sys.executable, "-P", "-m", ENTRY]


def take_short_turns() -> None:
    """Let no thread of this process wait long for one that works in the background."""
    sys.setswitchinterval(min(TURN, sys.getswitchinterval()))


def _give(process: subprocess.Popen[bytes], order: Mapping[str, Any]) -> None:
    """Send an order, and nothing after it."""
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(json.dumps(order).encode() + b"\n")


def _watch(process: subprocess.Popen[bytes], failed: Callable[[str], None]) -> None:
    code = process.wait()
    if code:
        failed(_ended(code))


def _said(process: subprocess.Popen[bytes], order: bytes) -> bytes:
    """What the other process answers. Its input stays open meanwhile: it ends when that does."""
    assert process.stdin
    assert process.stdout
    with suppress(BrokenPipeError):
        process.stdin.write(order + b"\n")
    return process.stdout.read()


def _told(answer: bytes, code: int) -> str:
    try:
        told = json.loads(answer)
    except ValueError:
        raise CutShort(_ended(code)) from None
    if "failed" in told:
        raise VaultTrouble(told["failed"])
    return str(told["done"])


def _ended(code: int) -> str:
    """How a process ended that did not say what it did."""
    if code >= 0:
        return f"it ended with code {code}"
    with suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by signal {-code}"
