"""A lock between threads and processes: one permanent file.

It is a `flock`, because a lock of fcntl is dropped when any descriptor of the file closes, and a
lock file made with O_EXCL stays after kill -9.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from commonplace.model.clock import Clock, monotonic
from commonplace.model.errors import Busy, ReadOnly
from commonplace.model.files import StrPath
from commonplace.storage.machine_files import opened


class Lock:
    """Held by one thread of one process at a time; the same thread may take it again."""

    def __init__(self, path: StrPath, *, seconds: float, clock: Clock, depth: int = 1) -> None:
        self.path = os.fspath(path)
        self._below = depth
        self.seconds = seconds
        self._clock = clock
        self._threads = RLock()
        self._depth = 0
        self._descriptor = -1
        self._process = 0

    @property
    def descriptor(self) -> int:
        """Handed to a child process, the lock stays taken until it is let go or both have ended."""
        return self._descriptor

    @contextmanager
    def held(self) -> Iterator[None]:
        if not self._threads.acquire(timeout=self.seconds):
            raise Busy(self.path, self.seconds)
        try:
            if self._depth == 0:
                self._take()
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    _unlock(self._descriptor)
        finally:
            self._threads.release()

    def _take(self) -> None:
        # A descriptor inherited over fork shares its lock with the parent: open one of our own.
        # One whose file was deleted keeps nobody out any more.
        if self._process != os.getpid() or os.fstat(self._descriptor).st_nlink == 0:
            self.close()
            self._open()
        deadline, pause = monotonic() + self.seconds, 0.0002
        while not _try_lock(self._descriptor):
            if monotonic() > deadline:
                raise Busy(self.path, self.seconds)
            self._clock.sleep(pause)
            pause = min(pause * 1.5, 0.004)

    def _open(self) -> None:
        try:
            self._descriptor = opened(self.path, os.O_RDWR | os.O_CREAT, depth=self._below)
        except OSError:
            raise ReadOnly(os.path.dirname(self.path)) from None
        self._process = os.getpid()

    def close(self) -> None:
        if self._descriptor >= 0 and self._process == os.getpid():
            os.close(self._descriptor)
        self._descriptor, self._process = -1, 0


if os.name == "nt":  # pragma: no cover - another system's branch
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
