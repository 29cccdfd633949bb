"""Notes: small named values that every process with the vault open shares, and names to hold.

They are files below the state directory; `postgres/notes.py` keeps them as rows. A name that is
held is free again when its holder dies.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Protocol

from commonplace.model.clock import Clock
from commonplace.model.files import StrPath
from commonplace.storage import machine_files

CHANGES = "notes.lock"
CHANGE_SECONDS = 10.0
"""How long to wait for others who change a value: they take milliseconds."""


class Notes(Protocol):
    """Small named values: sessions, experiences, schedules and the like."""

    def read(self, name: str) -> bytes | None:
        """A value; None when there is none."""

    def has(self, name: str) -> bool: ...

    def write(self, name: str, data: bytes, *, durable: bool = False) -> None:
        """Set a value, at once or not at all; when it is to be durable, it is on disk then."""

    def change(self, name: str, new: Callable[[bytes | None], bytes]) -> None:
        """Compute a new value from the present one, while nobody else changes it."""

    def add(self, name: str, line: str, *, most: int = 0, kept: int = 0) -> None:
        """Add a line to a log. Past so many bytes only its last lines are kept; 0: any number."""

    def names(self, directory: str) -> list[str]:
        """The names that begin with this one and a slash, in their order."""

    def remove(self, name: str) -> None:
        """Take a value away, if it is there."""

    def alone(self, name: str) -> AbstractContextManager[tuple[int, ...]]:
        """Hold a name; `Busy` at once when somebody has it.

        Yields the descriptors with which a child process goes on holding it should we be killed.
        """

    def still_alone(self, name: str) -> bool:
        """Whether this thread has the name that it holds still, and keeps it through a change.

        A host that was stopped for long may have lost it. To be asked under the vault's lock.
        """


class FileNotes:
    """Notes as files below a directory, each named as it is called."""

    def __init__(self, directory: StrPath) -> None:
        self.directory = os.fspath(directory)

    def read(self, name: str) -> bytes | None:
        try:
            return machine_files.read(self._path(name), depth=_depth(name))
        except OSError:
            return None

    def has(self, name: str) -> bool:
        return machine_files.look(self._path(name), depth=_depth(name)) is not None

    def write(self, name: str, data: bytes, *, durable: bool = False) -> None:
        path, depth = self._path(name), _depth(name)
        machine_files.make_directory(os.path.dirname(path), depth=depth - 1)
        machine_files.write(path, data, depth=depth, durable=durable)

    def change(self, name: str, new: Callable[[bytes | None], bytes]) -> None:
        with self._changing():
            self.write(name, new(self.read(name)))

    def add(self, name: str, line: str, *, most: int = 0, kept: int = 0) -> None:
        path, depth = self._path(name), _depth(name)
        machine_files.make_directory(os.path.dirname(path), depth=depth - 1)
        with self._changing() if most else nullcontext():
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            with open(machine_files.opened(path, flags, depth=depth), "ab") as file:
                file.write(ended(line))
                size = file.tell()
            if most and size > most:
                self.write(name, last_lines(self.read(name) or b"", kept))

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Keep out everybody else who changes a value."""
        from commonplace.storage.locks import Lock

        lock = Lock(self._path(CHANGES), seconds=CHANGE_SECONDS, clock=Clock())
        try:
            with lock.held():
                yield
        finally:
            lock.close()

    def names(self, directory: str) -> list[str]:
        found = machine_files.names_in(self._path(directory), depth=_depth(directory))
        return [f"{directory}/{name}" for name in sorted(found) if not name.startswith(".")]

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            machine_files.remove(self._path(name), depth=_depth(name))

    @contextmanager
    def alone(self, name: str) -> Iterator[tuple[int, ...]]:
        from commonplace.storage.locks import Lock

        lock = Lock(self._path(name), seconds=0, clock=Clock(), depth=_depth(name))
        try:
            with lock.held():
                yield (lock.descriptor,)
        finally:
            lock.close()

    def still_alone(self, name: str) -> bool:
        """A lock of a file is lost with its process alone."""
        return True

    def _path(self, name: str) -> str:
        return os.path.join(self.directory, name)


def ended(line: str) -> bytes:
    """A line of a log as it is written."""
    return line.encode() + b"\n"


def last_lines(log: bytes, count: int) -> bytes:
    """The end of a log."""
    return b"".join(log.splitlines(keepends=True)[-count:])


def _depth(name: str) -> int:
    """How many directories of the machine's are above a note."""
    return 1 + name.count("/")
