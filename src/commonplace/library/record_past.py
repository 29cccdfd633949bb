"""Tell the past of records: which versions one has had, and which records were taken out.

All of it is read from the journal. What was erased for good is counted, and never told.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.library.undo import history
from commonplace.model.records import DERIVED, PASSAGE, SYSTEM, Record
from commonplace.storage.journal import BLANK, Entry, Op, Text, document_at

ITEM_END = re.compile(r"^(?![ \t]|\r?$)", re.MULTILINE)
"""Where a line begins that belongs to no item above it."""
UNDOES = (Op.UNDO, Op.REDO)


class RecordVersion(Struct, frozen=True):
    """A change of a record, and what the record was after it; None when it was taken out."""

    entry: Entry
    record: Record | None


class Removed(Struct, frozen=True):
    """A record that stands in no document any more, and the change that took it out."""

    record: Record
    entry: Entry


def versions(library: Library, record_id: str) -> list[RecordVersion]:
    """What became of one record, oldest first. A waiting text is no version of it."""
    entries = history(library, record_id)
    return [
        RecordVersion(entry, _after(library, entry, record_id))
        for entry in entries
        if entry.op not in (Op.HOLD, Op.REJECT, Op.FORGET)
    ]


def _after(library: Library, entry: Entry, key: str) -> Record | None:
    """A record as an entry left it, in the first of its documents that has it."""
    if key in entry.removed:
        return None
    texts = (
        (change.document, change.version) for change in entry.changes if isinstance(change, Text)
    )
    kept = ((name, library.kept(version) or b"") for name, version in texts)
    found = (_in_text(library, name, data, key) for name, data in kept)
    return next(filter(None, chain(_in_lines(library, entry, key), found)), None)


def _in_lines(library: Library, entry: Entry, key: str) -> Iterator[Record]:
    """A record as a line of an entry tells it."""
    for each, record in library.reader.told_records(entry):
        if each == key and record.text.strip(BLANK.decode()):
            yield from library.reader.as_journalled([replace(record, id=key)])


def _in_text(library: Library, name: str, data: bytes, key: str) -> Record | None:
    """A record as a whole text tells it."""
    if key.encode() not in data and not DERIVED.match(key):
        return None
    text = decoded(name, data, lenient=True).replace(BLANK.decode(), "")
    found = _items_of(library, name, _around(text, key), key) or _items_of(library, name, text, key)
    return next(iter(library.reader.as_journalled(found[:1])), None)


def _items_of(library: Library, name: str, text: str, key: str) -> list[Record]:
    return [item.record for item in library.parse(name, text).items if item.record.id == key]


def _around(text: str, key: str) -> str:
    """The headings above a list item that has a key in it, and the item: what tells its record.

    To read a long document as a whole takes a hundred times as long.
    """
    at = text.find(key)
    start = max(text.rfind(f"\n{bullet} ", 0, max(at, 0)) for bullet in "-*+")
    if start < 0:
        return ""
    end = ITEM_END.search(text, text.find("\n", at) + 1 or len(text))
    item = text[start + 1 : end.start() if end else len(text)]
    return "\n".join((*_headings(text[:start]), "", item))


def _headings(text: str) -> Iterator[str]:
    text = "\n" + text
    at = text.find("\n#")
    while at >= 0:
        end = text.find("\n", at + 1)
        yield text[at + 1 : end if end > 0 else len(text)]
        at = text.find("\n#", at + 1)


class RemovedRecords:
    """The records of one vault that were taken out and can be brought back."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._read: dict[tuple[int, str], Record | None] = {}
        """What was taken out by which change: the journal tells the same each time."""

    def all(self) -> list[Removed]:
        """Those that stand nowhere now, the last one that was taken out first."""
        gone = self._gone()
        texts = _TextsBefore(self._library)
        self._read = {
            (entry.position, key): self._record(texts, entry, key) for key, entry in gone.items()
        }
        found = [
            Removed(record, entry)
            for key, entry in gone.items()
            if (record := self._read[entry.position, key])
        ]
        return sorted(found, key=lambda each: (each.entry.position, each.record.id), reverse=True)

    def _gone(self) -> dict[str, Entry]:
        """By the ids of records that stand nowhere, the change that took each out."""
        last: dict[str, Entry] = {}
        for entry in self._library.entries_about('"removed":'):
            last.update(dict.fromkeys(entry.removed, entry))
        for entry in self._library.entries_about('"undoes":'):
            for key in entry.ids if entry.op in UNDOES else ():
                if key not in last or last[key].position < entry.position:
                    last[key] = entry
        there = self._library.records_of(last)
        return {
            key: entry for key, entry in last.items() if key not in there and entry.op != Op.FORGET
        }

    def _record(self, texts: _TextsBefore, entry: Entry, key: str) -> Record | None:
        """A record as it was taken out; None of prose, and of what was blanked since."""
        if (entry.position, key) in self._read:
            return self._read[entry.position, key]
        found = next(chain(_in_lines(self._library, entry, key), texts.records(entry, key)), None)
        return None if found is None or found.kind == PASSAGE else found


class _TextsBefore:
    """Documents as they were before a change; for one look."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._wholes: dict[str, list[int]] | None = None
        """Where the journal has whole texts of each document, in order."""

    def records(self, entry: Entry, key: str) -> Iterator[Record]:
        """A record as the documents had it that an entry changed."""
        for name in dict.fromkeys(entry.documents()):
            data = document_at(
                self._library.journal,
                name,
                since=self._last_whole(name, entry.position),
                until=entry.position,
            )
            if data and (found := _in_text(self._library, name, data, key)):
                yield found

    def _last_whole(self, name: str, position: int) -> int:
        """Where the last whole text of a document stands before a position."""
        if self._wholes is None:
            self._wholes = {}
            for entry in self._library.entries_about('"text"'):
                for change in entry.changes:
                    if isinstance(change, Text):
                        self._wholes.setdefault(change.document, []).append(entry.position)
        wholes = self._wholes.get(name, [])
        at = bisect_left(wholes, position)
        return wholes[at - 1] if at else 0


def forgotten(library: Library) -> list[tuple[str, int]]:
    """When records were erased for good, and how many each time, oldest first."""
    entries: Iterable[Entry] = library.entries_about(f'"op":"{Op.FORGET}"')
    return [
        (entry.at, len(entry.ids))
        for entry in entries
        if entry.op == Op.FORGET and entry.origin != SYSTEM.origin
    ]
