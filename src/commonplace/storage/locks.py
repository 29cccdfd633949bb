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
from commonplace.model.errors import Busy
from commonplace.model.files import StrPath
from commonplace.storage.machine_files import OpenFile


class Lock:
    """Held by one thread of one process at a time; the same thread may take it again."""

    def __init__(self, path: StrPath, *, seconds: float, clock: Clock, depth: int = 1) -> None:
        self.path = os.fspath(path)
        self.seconds = seconds
        self._clock = clock
        self._threads = RLock()
        self._depth = 0
        self._file = OpenFile(self.path, depth=depth)

    @property
    def descriptor(self) -> int:
        """Handed to a child process, the lock stays taken until it is let go or both have ended."""
        return self._file.descriptor

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
                    _unlock(self._file.descriptor)
        finally:
            self._threads.release()

    def _take(self) -> None:
        # A descriptor inherited over fork shares its lock with the parent: open one of our own.
        # One whose file was deleted keeps nobody out any more.
        if not self._file.is_open or os.fstat(self._file.descriptor).st_nlink == 0:
            self._file.open()
        deadline, pause = monotonic() + self.seconds, 0.0002
        while not _try_lock(self._file.descriptor):
            if monotonic() > deadline:
                raise Busy(self.path, self.seconds)
            self._clock.sleep(pause)
            pause = min(pause * 1.5, 0.004)

    def close(self) -> None:
        self._file.close()


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
