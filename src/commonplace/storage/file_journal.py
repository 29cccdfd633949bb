"""The journal as a file of JSON lines, with kept texts in files beside it.

A forgotten entry is blanked in place, so that positions stay true.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.model.clock import Clock
from commonplace.model.errors import DiskFull, ReadOnly, ToBeFinished, VaultTrouble
from commonplace.model.files import StrPath
from commonplace.model.records import etag_of
from commonplace.storage import journal_format, machine_files
from commonplace.storage.journal import Entry

if TYPE_CHECKING:
    from mmap import mmap

FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT
SYNC = getattr(os, "fdatasync", os.fsync)


class FileJournal:
    """One journal below a state directory."""

    def __init__(self, state: StrPath, *, clock: Clock, copied: str = "") -> None:
        """`copied`: the state that this is a copy of, but for the kept texts, which are many."""
        self.path = os.path.join(state, "journal.jsonl")
        self._versions = os.path.join(state, "versions")
        self._copied = copied and os.path.join(copied, "versions")
        self._clock = clock
        self._file = machine_files.OpenFile(self.path, FLAGS)
        self._mark = ""
        self._written = self._synced = 0
        """How many writes there were, and how many of them are on disk."""

    def close(self) -> None:
        self._file.close()

    def _open(self) -> int:
        return self._file.descriptor if self._file.is_open else self._reopen()

    def _reopen(self) -> int:
        descriptor = self._file.open()
        self._mark = self._read_mark(descriptor)
        return descriptor

    def _read_mark(self, descriptor: int) -> str:
        if not os.fstat(descriptor).st_size:
            self._write(journal_format.first_line(self._clock.new_id(), since=self._clock.stamp()))
        first = os.pread(descriptor, 4096, 0).split(b"\n", 1)[0]
        # A damaged first line must not change from one look to the next.
        return journal_format.mark_in(first) or etag_of(first)

    def mark(self) -> str:
        self.end()
        return self._mark

    def end(self) -> int:
        found = os.fstat(self._open())
        if not found.st_nlink:
            # Somebody deleted the file: what we hold is not the journal any more.
            found = os.fstat(self._reopen())
        return found.st_size

    def stand(self) -> tuple[str, int]:
        end = self.end()
        return self._mark, end

    def append(self, entry: Entry, *, written: Mapping[str, bytes] | None = None) -> Entry:
        pieces = journal_format.line_of(entry, written)
        position = self._write(*pieces)
        return replace(entry, position=position, end=position + sum(map(len, pieces)))

    def _write(self, *pieces: bytes) -> int:
        descriptor = self._open()
        start = os.fstat(descriptor).st_size
        # A torn tail must not swallow the next entry.
        guard = b"\n" if start and os.pread(descriptor, 1, start - 1) != b"\n" else b""
        try:
            for piece in (guard + pieces[0], *pieces[1:]):
                written = 0
                while written < len(piece):
                    written += os.write(descriptor, piece[written:] if written else piece)
        except OSError as error:
            told = _trouble(error, self.path)
            self._drop(start, told)
            raise told from None
        self._written += 1
        return start + len(guard)

    def _drop(self, start: int, error: VaultTrouble) -> None:
        """Take back a part of an entry; one that stays and is torn announces nothing."""
        try:
            self.take_back(start)
        except OSError:
            if any(self.entries(since=start)):
                raise ToBeFinished(error) from None

    def sync(self) -> None:
        written = self._written
        if written == self._synced:
            return
        try:
            _on_disk(self._open())
        except OSError as error:
            raise _trouble(error, self.path) from None
        self._synced = max(written, self._synced)

    def take_back(self, position: int) -> None:
        try:
            os.ftruncate(self._open(), position)
        except OSError:
            self._blank(position)

    def _blank(self, position: int) -> None:
        """Overwrite everything from a position on: what can't be read announces nothing."""
        descriptor = machine_files.opened(self.path, os.O_WRONLY)
        try:
            size = os.fstat(descriptor).st_size - position
            os.pwrite(descriptor, b" " * (size - 1) + b"\n", position)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def entries(self, *, since: int = 0) -> Iterator[Entry]:
        return self.about("", since=since)

    def damaged(self) -> int:
        lines = (line for start, line in self._lines(0) if start and line.strip(b"\0 \n"))
        return sum(journal_format.entry_in(line) is None for line in lines)

    def about(self, needle: str, *, since: int = 0) -> Iterator[Entry]:
        wanted = needle.encode()
        for start, line in self._lines(since):
            if wanted in line and (entry := journal_format.entry_in(line)):
                yield replace(entry, position=start, end=start + len(line.rstrip(b"\n")) + 1)

    def lines(self, *, since: int = 0) -> Iterator[tuple[int, bytes]]:
        return (each for each in self._lines(since) if each[1].endswith(b"\n"))

    def _lines(self, since: int) -> Iterator[tuple[int, bytes]]:
        """Each line with its end, and where it starts; the last one may be torn."""
        if since >= self.end():
            return
        with open(machine_files.opened(self.path, os.O_RDONLY), "rb") as file:
            file.seek(since)
            for line in file:
                yield since, line
                since += len(line)

    def take_in(self, lines: Sequence[tuple[int, bytes]]) -> None:
        position = lines[0][0]
        if position > self.end():
            raise ValueError(f"the journal ends before {position}")
        os.ftruncate(self._open(), position)
        self._write(b"".join(line for _, line in lines))
        self.sync()
        # With another first line it is another journal.
        self._reopen()

    def keep(self, data: bytes) -> str:
        name = etag_of(data)
        if all(machine_files.look(path, depth=3) is None for path in self._version_paths(name)):
            self.take_in_version(name, journal_format.packed(data))
        return name

    def packed(self, name: str) -> bytes | None:
        for path in self._version_paths(name):
            with suppress(FileNotFoundError):
                return machine_files.read(path, depth=3)
        return None

    def take_in_version(self, name: str, data: bytes) -> None:
        path = self._version_paths(name)[0]
        try:
            machine_files.make_directory(self._versions)
            machine_files.make_directory(os.path.dirname(path), depth=2)
            machine_files.write(path, data, depth=3, durable=True)
        except OSError as error:
            raise _trouble(error, path) from None

    def _version_paths(self, name: str) -> list[str]:
        """Where a text may be kept: the first is where one is written."""
        places = filter(None, (self._versions, self._copied))
        return [os.path.join(place, name[:2], f"{name}.z") for place in places]

    def version(self, name: str) -> bytes | None:
        data = self.packed(name)
        return None if data is None else journal_format.unpacked(data)

    def versions(self) -> Iterator[str]:
        found: set[str] = set()
        for place in filter(None, (self._versions, self._copied)):
            for start in machine_files.names_in(place):
                names = machine_files.names_in(os.path.join(place, start), depth=2)
                found |= {name for name in names if name.endswith(".z") and name[0] != "."}
        yield from (name.removesuffix(".z") for name in sorted(found))

    def scrub(
        self, ids: Iterable[str], *, needles: Iterable[str], clean: Callable[[bytes], bytes]
    ) -> int:
        from mmap import mmap

        wanted, texts = set(ids), [text.encode() for text in needles]
        escaped = [journal_format.written(text) for text in needles]
        found = 0
        with mmap(self._open(), 0) as journal:
            for start, line in _lines_with(journal, [*map(str.encode, wanted), *escaped]):
                blank = journal_format.blanked(line, wanted, clean)
                if blank != line:
                    journal[start : start + len(line)] = blank
                    found += 1
            journal.flush()
        self.sync()
        return found + sum(self._scrub_version(name, texts, clean) for name in self.versions())

    def _scrub_version(
        self, name: str, needles: list[bytes], clean: Callable[[bytes], bytes]
    ) -> bool:
        data = self.version(name) or b""
        cleaned = journal_format.cleaned(data, needles, clean)
        if cleaned != data:
            path = self._version_paths(name)[0]
            machine_files.write(path, journal_format.packed(cleaned), depth=3, durable=True)
        return cleaned != data


def _on_disk(descriptor: int) -> None:
    """Return when a file is on disk; with `fsync` where the system can't do less."""
    import errno

    try:
        SYNC(descriptor)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EINVAL):
            raise
        os.fsync(descriptor)


def _lines_with(journal: mmap, needles: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines in which one of the needles occurs, each once, with where it starts."""
    starts: set[int] = set()
    for needle in needles:
        at = journal.find(needle)
        while at >= 0:
            starts.add(journal.rfind(b"\n", 0, at) + 1)
            at = journal.find(needle, at + 1)
    for start in sorted(starts):
        stop = journal.find(b"\n", start)
        yield start, journal[start : stop if stop >= 0 else len(journal)]


def _trouble(error: OSError, path: str) -> VaultTrouble:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(path)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnly(path)
    return VaultTrouble(
        f"{path} cannot be written: {error.strerror}.",
        next_step="Check the disk, then run 'commonplace doctor'.",
    )
