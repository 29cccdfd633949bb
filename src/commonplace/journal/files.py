"""The journal as a file of JSON lines, with kept texts beside it.

It does not know the documents' own files. Entries are blanked in place when they are forgotten, so
that positions stay true.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from commonplace.clock import Clock
from commonplace.errors import DiskFull, ReadOnly, VaultTrouble
from commonplace.hints import Any
from commonplace.journal import BLANK, Append, Change, Cut, Entry, Gone, Text
from commonplace.records import etag_of
from commonplace.values import replace

FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
SYNC = getattr(os, "fdatasync", os.fsync)
CHANGES: dict[str, type[Change]] = {"append": Append, "cut": Cut, "text": Text, "gone": Gone}
NAMES = {kind: name for name, kind in CHANGES.items()}
PLAIN = ("op", "ids", "removed", "origin", "session", "why", "undoes", "data", "lines")
TUPLES = ("ids", "removed", "lines")
DEFAULTS: dict[str, Any] = {**dict.fromkeys(TUPLES, ()), "undoes": -1, "data": {}}


class FileJournal:
    """One journal below a state directory."""

    def __init__(self, state: Path, *, clock: Clock) -> None:
        self.path = state / "journal.jsonl"
        self._versions = state / "versions"
        self._clock = clock
        self._descriptor = -1
        self._process = 0
        self._mark = ""

    def close(self) -> None:
        if self._descriptor >= 0 and self._process == os.getpid():
            os.close(self._descriptor)
        self._descriptor, self._process = -1, 0

    def _open(self) -> int:
        if self._process != os.getpid():
            self._reopen()
        return self._descriptor

    def _reopen(self) -> int:
        self.close()
        try:
            self._descriptor = os.open(self.path, FLAGS, 0o600)
        except OSError:
            raise ReadOnly(str(self.path.parent)) from None
        self._process = os.getpid()
        self._mark = self._read_mark()
        return self._descriptor

    def _read_mark(self) -> str:
        if not os.fstat(self._descriptor).st_size:
            self._write(_coded({"journal": self._clock.new_id(), "since": self._clock.stamp()}))
        first = os.pread(self._descriptor, 4096, 0).split(b"\n", 1)[0]
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(first)["journal"])
        # A damaged first line must not change from one look to the next.
        return etag_of(first)

    def mark(self) -> str:
        self.end()
        return self._mark

    def end(self) -> int:
        found = os.fstat(self._open())
        if not found.st_nlink:
            # Somebody deleted the file: what we hold is not the journal any more.
            found = os.fstat(self._reopen())
        return found.st_size

    def append(self, entry: Entry) -> Entry:
        data = _coded(_as_json(entry))
        position = self._write(data)
        return replace(entry, position=position, end=position + len(data))

    def _write(self, data: bytes) -> int:
        descriptor = self._descriptor if self._process == os.getpid() else self._open()
        start = os.fstat(descriptor).st_size
        # A torn tail must not swallow the next entry.
        guard = b"\n" if start and os.pread(descriptor, 1, start - 1) != b"\n" else b""
        whole, written = guard + data, 0
        try:
            while written < len(whole):
                written += os.write(descriptor, whole[written:] if written else whole)
        except OSError as error:
            os.ftruncate(descriptor, start)
            raise _trouble(error, self.path) from None
        return start + len(guard)

    def sync(self) -> None:
        try:
            SYNC(self._open())
        except OSError as error:
            raise _trouble(error, self.path) from None

    def take_back(self, position: int) -> None:
        os.ftruncate(self._open(), position)

    def entries(self, *, since: int = 0) -> Iterator[Entry]:
        for start, line in self._lines(since):
            entry = _from_json(line)
            if entry:
                yield replace(entry, position=start, end=start + len(line) + 1)

    def damaged(self) -> int:
        return sum(_from_json(line) is None for start, line in self._lines(0) if start and line)

    def about(self, needle: str, *, since: int = 0) -> Iterator[Entry]:
        wanted = needle.encode()
        for start, line in self._lines(since):
            if wanted in line and (entry := _from_json(line)):
                yield replace(entry, position=start, end=start + len(line) + 1)

    def _lines(self, since: int) -> Iterator[tuple[int, bytes]]:
        if since >= self.end():
            return
        with open(self.path, "rb") as file:
            file.seek(since)
            position = since
            for line in file:
                yield position, line.rstrip(b"\n")
                position += len(line)

    def keep(self, data: bytes) -> str:
        name = etag_of(data)
        path = self._version_path(name)
        if path.exists():
            return name
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write_whole(path, zlib.compress(data, 1))
        except OSError as error:
            raise _trouble(error, path) from None
        return name

    def _version_path(self, name: str) -> Path:
        return self._versions / name[:2] / f"{name}.z"

    def version(self, name: str) -> bytes | None:
        try:
            return zlib.decompress(self._version_path(name).read_bytes())
        except (FileNotFoundError, zlib.error):
            return None

    def versions(self) -> Iterator[str]:
        for path in sorted(self._versions.glob("??/*.z")):
            yield path.stem

    def scrub(
        self, ids: Iterable[str], *, needles: Iterable[str], clean: Callable[[bytes], bytes]
    ) -> int:
        wanted, texts = set(ids), [text.encode() for text in needles]
        escaped = [json.dumps(text, ensure_ascii=False)[1:-1].encode() for text in needles]
        found = 0
        with mmap.mmap(self._open(), 0) as journal:
            for start, line in _lines_with(journal, [*map(str.encode, wanted), *escaped]):
                blank = _blanked(line, wanted, clean)
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
        if not any(needle in data for needle in needles):
            return False
        cleaned = clean(data)
        if cleaned != data:
            _write_whole(self._version_path(name), zlib.compress(cleaned, 1))
        return cleaned != data


def _coded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _as_json(entry: Entry) -> dict[str, Any]:
    value: dict[str, Any] = {"at": entry.at}
    for name in PLAIN:
        part = getattr(entry, name)
        if part != DEFAULTS.get(name, ""):
            value[name] = part
    value["changes"] = [
        [NAMES[type(change)], *change.__dict__.values()] for change in entry.changes
    ]
    return value


def _from_json(line: bytes) -> Entry | None:
    """The entry a line holds; None for the first line and for a torn or damaged one."""
    try:
        value = json.loads(line)
        changes = tuple(_change(*parts) for parts in value.pop("changes"))
        for name in TUPLES:
            value[name] = tuple(value.get(name, ()))
        return Entry(**value, changes=changes)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _change(kind: str, document: str, *rest: Any) -> Change:
    if kind == "cut":
        return Cut(document, tuple((start, length) for start, length in rest[0]))
    return CHANGES[kind](document, *rest)


def _blanked(line: bytes, ids: set[str], clean: Callable[[bytes], bytes]) -> bytes:
    """The same entry, as many bytes long, without the texts of these records."""
    try:
        value = json.loads(line)
        texts, names = value["lines"], value.get("ids", ())
    except (ValueError, KeyError, TypeError):
        return line
    whole = {at for at, name in enumerate(names) if name in ids and len(names) == len(texts)}
    value["lines"] = [
        (BLANK * len(text.encode()) if at in whole else clean(text.encode())).decode()
        for at, text in enumerate(texts)
    ]
    for name in ids.intersection(value.get("data", ())):
        del value["data"][name]
    blank = _coded(value)[:-1]
    return blank.ljust(len(line)) if value["lines"] != texts else line


def _lines_with(journal: mmap.mmap, needles: list[bytes]) -> Iterator[tuple[int, bytes]]:
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


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        os.replace(fresh, path)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        raise


def _trouble(error: OSError, path: Path) -> VaultTrouble:
    import errno

    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return DiskFull(str(path))
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnly(str(path))
    return VaultTrouble(
        f"{path} cannot be written: {error.strerror}.",
        next_step="Check the disk, then run 'commonplace doctor'.",
    )
