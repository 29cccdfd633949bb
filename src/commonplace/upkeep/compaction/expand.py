"""Expand a summary into the records it was made from, and bring back records that left.

Both are read, exactly as they stood, from the journal and the versions that it keeps.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.model.errors import NoSuchRecord
from commonplace.model.records import Author, Record
from commonplace.storage.journal import Entry, Op
from commonplace.upkeep.window import as_line

BACKUP = "backup "


class Source(Struct, frozen=True):
    """A record that a summary stands for: as it was, or that it was forgotten."""

    id: str
    record: Record | None
    documents: tuple[str, ...] = ()
    """Where it still stands."""


def sources(library: Library, record_id: str) -> list[Source]:
    """What a record was made from, in the order it names them; none for one that is no summary."""
    summary = library.get(record_id).record
    found = []
    kept = _LeftRecords(library)
    for key in summary.sources:
        hit = library.hit_of(key)
        places = tuple(dict.fromkeys(p.document for p in hit.places)) if hit else ()
        found.append(Source(key, hit.record if hit else kept.record(key), places))
    return found


def bring_back(library: Library, record_ids: Sequence[str], *, author: Author) -> tuple[str, ...]:
    """Put records that left the main document back at its end, exactly as they stood in it.

    Returns the ids of those that were not there. It can be undone.
    """

    def work() -> tuple[str, ...]:
        library.take_in_changes()
        name, kept = library.layout.memory, _LeftRecords(library)
        there = {p.record.id for p in library.parse(name, _text(library, name)).items}
        missing = tuple(
            dict.fromkeys(
                key for key in record_ids if key not in there and not _is_logged(library, key)
            )
        )
        text = tuple(kept.line(key) for key in missing)
        if missing:
            library.tombstones.refuse_forgotten(
                {name: (None, "".join(text).encode())}, author=author
            )
            library.watch.look_at([name])
            kinds = [kept.record(key) for key in missing]
            again = [
                (key, line, record.kind if record else "note")
                for key, line, record in zip(missing, text, kinds)
            ]
            library.writer.add_again(Op.RESTORE, name, again, author=author)
        return missing

    return library.locked(work)


def _text(library: Library, name: str) -> str:
    return library.text(name)[0] if library.stat(name) else ""


def _is_logged(library: Library, record_id: str) -> bool:
    """Whether a record stands in a daily log, where that is the one place that it has."""
    hit = library.hit_of(record_id) if library.layout.sections else None
    return hit is not None and any(library.layout.day_of(place.document) for place in hit.places)


class _LeftRecords:
    """The journal, asked for the lines of records that are gone from the documents."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._versions: dict[str, dict[str, str]] = {}

    def line(self, record_id: str) -> str:
        """The line of a record as it last stood in the main document."""
        entries = list(self.library.entries_about(record_id))
        for entry in reversed(entries):
            line = self._line_in(entry, record_id)
            if line.strip("\x7f\n"):
                return line
        raise NoSuchRecord(record_id)

    def record(self, record_id: str) -> Record | None:
        try:
            line = self.line(record_id)
        except NoSuchRecord:
            return None
        parsed = self.library.parse(self.library.layout.memory, line)
        return next((item.record for item in parsed.items if item.record.id == record_id), None)

    def _line_in(self, entry: Entry, record_id: str) -> str:
        if entry.op == Op.FORGET:
            raise NoSuchRecord(record_id)
        if record_id in entry.ids[: len(entry.lines)]:
            told = dict(self.library.reader.told_records(entry))
            line = entry.lines[entry.ids.index(record_id)]
            return as_line(line, told[record_id]) if record_id in told else line
        if record_id in entry.removed and entry.why.startswith(BACKUP):
            return self._version(entry.why.removeprefix(BACKUP)).get(record_id, "")
        return ""

    def _version(self, name: str) -> dict[str, str]:
        if name not in self._versions:
            document = self.library.layout.memory
            text = decoded(document, self.library.kept(name) or b"", lenient=True)
            items = self.library.parse(document, text.replace("\x7f", "")).items
            whole = text.replace("\x7f", "")
            self._versions[name] = {
                i.record.id: as_line(whole[i.start : i.end], i.record) for i in items
            }
        return self._versions[name]
