"""Read documents as records. The journal adds the data that a record's line does not carry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.markdown.layouts import NEW_SECTION, Layout
from commonplace.model.clock import Clock
from commonplace.model.errors import Unreadable
from commonplace.model.records import DERIVED, Origin, Record
from commonplace.storage.journal import Added, Entry, Journal, Op

if TYPE_CHECKING:
    from commonplace.markdown.documents import Parsed
    from commonplace.markdown.record_lines import Reading

KEPT = 4
"""Texts of which it is remembered what they say …"""
SEEN_MOST = 20_000
"""… and lines: most stand in the next version of a text too."""


class RecordReader:
    """The documents of one vault as text with a meaning."""

    def __init__(self, journal: Journal, *, layout: Layout, clock: Clock) -> None:
        self.journal = journal
        self.layout = layout
        self.clock = clock
        self._carried_data: dict[str, dict[str, Any]] = {}
        self._carried_upto = 0
        self._owned_ids: set[str] = set()
        self._owned_upto = 0
        self._kinds = {title.casefold(): kind for title, kind in layout.sections.items()}
        if self._kinds:
            self._kinds[NEW_SECTION.casefold()] = "note"
        self._parsed: dict[tuple[str, str], Parsed] = {}
        self._seen: dict[str, Record] = {}

    def reading(self, name: str) -> Reading:
        """What a line of this document means beyond what it says."""
        from commonplace.markdown.record_lines import Reading

        day, diary = self.layout.day_of(name), self.layout.diary_time(name)
        by_agent = diary or (day and not self.layout.carries_data)
        return Reading(
            document=name,
            day=day or (self.clock.local_day(diary) if diary else None),
            zone="UTC" if self.layout.utc_days else self.clock.zone,
            origin=Origin.AGENT if by_agent else Origin.OWNER,
            bullets=not diary and name not in (self.layout.soul, self.layout.status),
            header=self.layout.header(name),
            sections=self._kinds if name == self.layout.memory else {},
        )

    def parse(self, name: str, text: str, *, seen: dict[str, Record] | None = None) -> Parsed:
        """A document's text as items. `seen` has records read elsewhere, by their lines."""
        found = self._parsed.get((name, text))
        if found is None:
            from commonplace.markdown import documents

            if len(self._seen) > SEEN_MOST:
                self._seen.clear()
            lines_seen = self._seen if seen is None else seen
            found = documents.parse(text, reading=self.reading(name), seen=lines_seen)
            self._keep(name, text, found)
        return found

    def _keep(self, name: str, text: str, parsed: Parsed) -> None:
        """Keep the last few: a rewrite asks several times what its texts say."""
        self._parsed[name, text] = parsed
        for oldest in list(self._parsed)[:-KEPT]:
            self._parsed.pop(oldest, None)

    def line_record(
        self, line: str, record_id: str, reading: Reading, seen: dict[str, Record]
    ) -> Record:
        """The record of a line that we wrote; where the line carries no id, the entry does.

        `seen` keeps the records of lines that say all of themselves: most stand in two documents.
        """
        from commonplace.markdown import record_lines

        record = seen.get(line)
        if record is None:
            found = record_lines.read(line, reading=reading)
            record = found.record
            assert record is not None, "a line that we wrote can be read"
            if record_lines.says_all(line, found):
                seen[line] = record
        return record if record.id == record_id else replace(record, id=record_id)

    def told_records(self, entry: Entry) -> Iterator[tuple[str, Record]]:
        """The records of an entry's lines, each with the id that the entry has for it."""
        from commonplace.markdown import record_lines

        readings = [self.reading(next(iter(entry.documents()), ""))] * len(entry.lines)
        for change in entry.changes:
            if isinstance(change, Added) and entry.ids:
                last = change.first + len(entry.pieces(change))
                reading = replace(self.reading(change.document), kind=change.kind)
                readings[change.first : last] = [reading] * (last - change.first)
        for key, line, reading in zip(entry.ids, entry.lines, readings):
            if record := record_lines.read(line, reading=reading).record:
                yield key, record

    def written_record(self, line: str, name: str, occurrence: int = 0) -> Record:
        """The record of a line that we wrote, as it is read back from a document."""
        from commonplace.markdown import record_lines

        reading = self.reading(name)
        record = record_lines.read(line, reading=reading, occurrence=occurrence).record
        assert record is not None, "a line that was just written can be read"
        return record

    def carries_ids(self, text: Iterable[str], name: str) -> bool:
        """Whether lines say themselves which records they are."""
        from commonplace.markdown import record_lines

        reading = self.reading(name)
        return all(not record_lines.read(line, reading=reading).derived for line in text)

    def rows(self, parsed: Parsed) -> list[tuple[Record, int]]:
        """What the index is told of a document: its records and the lines they start on."""
        said = self._vouched([item.record for item in parsed.items])
        records = self.as_indexed(said)
        return [(record, item.line) for record, item in zip(records, parsed.items)]

    def _vouched(self, records: list[Record]) -> list[Record]:
        """The records without the claim to be the owner's that the journal knows nothing of."""
        # A line without data is its owner's, and no rule; one with data may say anything.
        claim = {
            r.id
            for r in records
            if r.origin == Origin.OWNER and (r.behavioral or not DERIVED.match(r.id))
        }
        if not claim:
            return records
        forged = claim - self._owned(claim)
        return [replace(r, origin=Origin.AGENT) if r.id in forged else r for r in records]

    def _owned(self, ids: set[str]) -> set[str]:
        """Those of the ids that the owner has written, by the journal."""
        for entry in self.journal.about(f'"origin":"{Origin.OWNER}"', since=self._owned_upto):
            if entry.origin == Origin.OWNER:
                self._owned_ids.update(entry.ids)
        self._owned_upto = self.journal.end()
        return ids & self._owned_ids

    def as_indexed(self, records: Iterable[Record]) -> list[Record]:
        """The records with what their written form does not carry."""
        carried = self._carried()
        if not carried:
            return list(records)
        return [_carrying(record, carried.get(record.id)) for record in records]

    def as_journalled(self, records: Iterable[Record]) -> list[Record]:
        """The same for who does not hold the lock: what was read of the journal is not kept."""
        # In this order: whoever holds the lock may read on, or start anew, between the two.
        carried, upto = self._carried_data, self._carried_upto
        later: dict[str, dict[str, Any]] = {}
        for entry in self.journal.about('"data":', since=upto):
            if entry.op != Op.FORGET:
                later.update(entry.data)
        return [
            _carrying(record, later.get(record.id) or carried.get(record.id)) for record in records
        ]

    def _carried(self) -> dict[str, dict[str, Any]]:
        """What the journal knows of records whose written form does not carry it."""
        for entry in self.journal.about('"data":', since=self._carried_upto):
            self._carry(entry)
        self._carried_upto = self.journal.end()
        return self._carried_data

    def read_ahead(self, until: int) -> None:
        """Read the journal as far as it is settled: the whole of one takes long under the lock."""
        for entry in self.journal.about('"data":', since=self._carried_upto):
            if entry.position >= until:
                break
            self._carry(entry)
        self._carried_upto = max(until, self._carried_upto)

    def _carry(self, entry: Entry) -> None:
        if entry.op != Op.FORGET:
            self._carried_data.update(entry.data)

    def start_anew(self) -> None:
        """Let go of what was read from a journal that is not the vault's any more."""
        self._carried_data, self._carried_upto = {}, 0
        self._owned_ids, self._owned_upto = set(), 0


def decoded(name: str, data: bytes, *, lenient: bool = False) -> str:
    """A document's bytes as text. A byte order mark stays where it is."""
    try:
        return data.decode("utf-8", "replace" if lenient else "strict")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(name, f"byte {error.start:,} (line {line:,}) is not UTF-8") from None


def count_lines(data: bytes) -> int:
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


def _carrying(record: Record, data: dict[str, Any] | None) -> Record:
    if not data:
        return record
    known: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
    return replace(record, **known)
