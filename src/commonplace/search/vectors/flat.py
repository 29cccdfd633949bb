"""The codes of one model in a flat file, mapped into memory, where processes share them.

It is a copy of pages that an index keeps, and never asked whether it is level with them: a page in
it counts as long as the index notes that page with the same state, which it gives to no other. So
whatever is old, foreign or half written finds no page that counts, and what is not as it was
written is no file at all. It does not know the index.

    header     magic, check of all that follows, width of a code, pages, codes
    pages      for each its number, its state, and how many codes it has
    columns    the first word of every code, then the second of every code, and so on
    slots      a byte a code: its key within its page

All numbers are as this machine writes them, the magic among them.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from mmap import ACCESS_READ, mmap
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from commonplace.model.errors import StrangeFile
from commonplace.search.vectors.codes import PAGE_BITS, Coded, Page, keys_of
from commonplace.storage import machine_files

MAGIC = int.from_bytes(b"codes\x00\x00\x01", "big")
HEAD = Struct("=QQ")
COUNTS = Struct("=QQQ")
DIRECTORY = HEAD.size + COUNTS.size
SUFFIX = "-codes-"
WORD = 8
SLOT = (1 << PAGE_BITS) - 1


class _Entry(NamedTuple):
    """A page: the state it was written in, and where it stands among all codes."""

    page: int
    state: int
    first: int
    last: int


class _Span(NamedTuple):
    """Codes side by side: their first words, their second words, and so on; and their slots."""

    columns: Sequence[memoryview]
    slots: bytes | memoryview


class Flat:
    """A flat file, open."""

    def __init__(self, path: str) -> None:
        """A ValueError when it is none."""
        with open(machine_files.opened(path, os.O_RDONLY), "rb") as file:
            held = memoryview(mmap(file.fileno(), 0, access=ACCESS_READ))
        if len(held) < DIRECTORY:
            raise ValueError("it is cut off")
        if HEAD.unpack_from(held) != (MAGIC, crc32(held[HEAD.size :])):
            raise ValueError("it is not as it was written")
        self.width, pages, self.total = COUNTS.unpack_from(held, HEAD.size)
        columns = DIRECTORY + 3 * WORD * pages
        slots = columns + self.width * self.total
        if not self.total or len(held) != slots + self.total:
            raise ValueError("it has no codes, or is laid out otherwise")
        self.columns, self.slots = held[columns:slots], held[slots:]
        self._words = _words(self.columns, self.width)
        self.entries = dict(_read(held[DIRECTORY:columns].cast("q")))

    def page(self, number: int, state: int) -> Page | None:
        """A page in this state, read when it is looked at; None if it is not here."""
        entry = self.entries.get(number)
        if entry is None or entry.state != state:
            return None
        return Page(state, entry.last - entry.first, partial(self._coded, entry))

    def _coded(self, entry: _Entry) -> Coded:
        columns, slots = self.span(entry.first, entry.last)
        blob = bytearray(len(slots) * self.width)
        for column, mapped in zip(_columns(_words(blob, self.width), self.width), columns):
            column[:] = mapped
        return Coded(keys_of(entry.page, slots), bytes(blob))

    def span(self, first: int, last: int) -> _Span:
        """The codes of these places, as they are in the file."""
        starts = range(0, len(self._words), self.total)
        columns = [self._words[start + first : start + last] for start in starts]
        return _Span(columns, self.slots[first:last])

    def beginnings(self) -> tuple[list[int], list[int]]:
        """The key that each page begins with, and where its codes begin."""
        firsts = [entry.first for entry in self.entries.values()]
        return [number << PAGE_BITS for number in self.entries], firsts

    def kept(self, noted: Mapping[int, int]) -> list[_Entry]:
        """The pages here that have these states."""
        return [entry for entry in self.entries.values() if noted.get(entry.page) == entry.state]

    def lacking(self, noted: Mapping[int, int]) -> list[int]:
        """The pages of these states that are not here."""
        kept = {entry.page for entry in self.kept(noted)}
        return [number for number in noted if number not in kept]

    def spans(self, noted: Mapping[int, int]) -> list[tuple[int, int]]:
        """Where the codes of those stand that are: as few spans as may be."""
        found: list[tuple[int, int]] = []
        for _, _, first, last in self.kept(noted):
            if found and found[-1][1] == first:
                found[-1] = found[-1][0], last
            else:
                found.append((first, last))
        return found


def _read(pages: memoryview[int]) -> Iterator[tuple[int, _Entry]]:
    last = 0
    for number, state, count in zip(pages[::3], pages[1::3], pages[2::3]):
        first, last = last, last + count
        yield number, _Entry(number, state, first, last)


def _words(codes: bytes | bytearray | memoryview, width: int) -> memoryview:
    """Codes as numbers: long ones where they are made of such."""
    codes = memoryview(codes)
    return codes if width % WORD else codes.cast("Q")


def _columns(words: memoryview, width: int) -> Iterator[memoryview]:
    """All first words of codes that stand one after another, all second ones, and so on."""
    step = width // words.itemsize
    return (words[at::step] for at in range(step))


def opened(path: str) -> Flat | None:
    """The file; None where there is none, or it is not as it was written."""
    try:
        return Flat(path)
    except (OSError, ValueError, StrangeFile):
        return None


class Watched:
    """Whatever file is at a path."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._mark: tuple[int, ...] = ()
        self._flat: Flat | None = None

    def now(self) -> Flat | None:
        mark = _mark(self._path)
        if mark != self._mark:
            self._flat, self._mark = opened(self._path), mark
        return self._flat


def _mark(path: str) -> tuple[int, ...]:
    """What tells a file from the one that was put into its place; nothing where there is none."""
    try:
        found = machine_files.look(path)
    except OSError:
        return ()
    if found is None:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def write(
    path: str, width: int, noted: Mapping[int, int], fresh: Mapping[int, Page], old: Flat | None
) -> None:
    """Put the pages of the old file that have these states, and fresh ones, into the file's place.

    Not if there is no room: to go without it is no loss. Two must not do it at once.
    """
    with suppress(OSError):
        path, unfinished = _paths(path)
        machine_files.write(path, *_file(width, noted, fresh, old), fresh=unfinished)


def _file(
    width: int, noted: Mapping[int, int], fresh: Mapping[int, Page], old: Flat | None
) -> list[bytes]:
    """What is in the file: the fresh pages, then the old ones, copied many at a time."""
    rows = [(number, page.state, page.count) for number, page in fresh.items()]
    spans = [_span_of(page.coded, width) for page in fresh.values()]
    if old:
        rows += [(each.page, each.state, each.last - each.first) for each in old.kept(noted)]
        spans += [old.span(*each) for each in old.spans(noted)]
    total = sum([count for _, _, count in rows])
    checked = [
        COUNTS.pack(width, len(rows), total),
        array("q", chain.from_iterable(rows)).tobytes(),
        *_side_by_side(spans, width, total),
    ]
    check = 0
    for part in checked:
        check = crc32(part, check)
    return [HEAD.pack(MAGIC, check), *checked]


def _span_of(coded: Coded, width: int) -> _Span:
    columns = [*_columns(_words(coded.blob, width), width)]
    return _Span(columns, bytes([key & SLOT for key in coded.keys]))


def _side_by_side(spans: Sequence[_Span], width: int, total: int) -> tuple[bytes, bytes]:
    """The columns of all of them, and the slots."""
    columns = bytearray(width * total)
    words, first = _words(columns, width), 0
    for span in spans:
        last = first + len(span.slots)
        for at, column in enumerate(span.columns):
            words[at * total + first : at * total + last] = column
        first = last
    return bytes(columns), b"".join([span.slots for span in spans])


def beside(index: str, model: int) -> str:
    """Where the file for a model is, beside that of the index."""
    return f"{index}{SUFFIX}{model}"


def remove(index: str, model: int | None = None) -> None:
    """Leave none of a model, or of all, nor what is left of one that was being written."""
    for path in _beside(index):
        if model is None or path in _paths(beside(index, model)):
            machine_files.remove(path)


def size(index: str) -> int:
    """Bytes of those of all models."""
    found = 0
    for path in _beside(index):
        with suppress(FileNotFoundError):
            found += os.path.getsize(path)
    return found


def _paths(path: str) -> tuple[str, str]:
    """Where a file is, and where it is while it is written."""
    return path, f"{path}-new"


def _beside(index: str) -> list[str]:
    directory, name = os.path.split(index)
    found = machine_files.names_in(directory or os.curdir, depth=0)
    return [os.path.join(directory, each) for each in found if each.startswith(name + SUFFIX)]
