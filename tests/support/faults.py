"""A process that dies, or a disk that fails, at every single call to the system.

The deed runs in a forked child, so that a death is a real one: nothing is cleaned up after it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError
from commonplace.storage import file_journal as journal_files

CALLS = (
    "open", "write", "pwrite", "fsync", "replace", "rename", "link", "unlink", "ftruncate",
    "fchmod", "mkdir",
)  # fmt: skip
DIED, REFUSED, DONE = 9, 3, 0


class Faults:
    """Counts the calls that change something, and lets one of them go wrong."""

    def __init__(self, at: int, *, fault: int = 0, lasting: bool = False) -> None:
        self.at, self.fault, self.lasting = at, fault, lasting
        self.count = 0

    def arm(self) -> None:
        for name in CALLS:
            setattr(os, name, self._wrapped(name, getattr(os, name)))
        journal_files.SYNC = self._wrapped("fdatasync", journal_files.SYNC)

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if name == "open" and not arguments[1] & (os.O_WRONLY | os.O_RDWR):
                return real(*arguments, **named)
            here, self.count = self.count, self.count + 1
            if here == self.at or (self.lasting and here > self.at and name != "ftruncate"):
                return self._fail(name, real, arguments)
            return real(*arguments, **named)

        return call

    def _fail(self, name: str, real: Callable[..., Any], arguments: Any) -> Any:
        short = name == "write" and not (self.fault and self.lasting)
        half = real(arguments[0], arguments[1][: len(arguments[1]) // 2]) if short else 0
        if not self.fault:
            os._exit(DIED)
        if half:
            # A write that has room for a part says how much, and the next one fails.
            self.at += 1
            return half
        raise OSError(self.fault, os.strerror(self.fault))


def in_child(deed: Callable[[], None]) -> int:
    """How a deed ended that ran in a process of its own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        deed()
        code = DONE
    except (CommonplaceError, OSError):
        code = REFUSED
    finally:
        os._exit(code)


def each_fault(
    template: Path,
    root: Path,
    opened: Callable[[Path], Memory],
    deed: Callable[[Memory], object],
    *,
    fault: int = 0,
    lasting: bool = False,
) -> Iterator[int]:
    """Do the deed once for each of its calls, with a fault there; yields the number of the call.

    Before each, the vault at `root` is as in `template`; at each yield it is as the fault left it.
    """
    at, ended = 0, -1
    while ended != DONE or at < 3:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(template, root)

        def work(at: int = at) -> None:
            memory = opened(root)
            memory.count()
            faults = Faults(at, fault=fault, lasting=lasting)
            faults.arm()
            deed(memory)
            # A fault that was got over is one, too.
            os._exit(REFUSED if faults.count > at else DONE)

        ended = in_child(work)
        assert ended in (DONE, REFUSED, DIED), f"call {at} ended with {ended}"
        yield at
        at += 1
