"""Finds the record that says already what is to be stored, under the lock and without a search.

The index has a number for the words of each record of a kind that lasts. What was stored since the
index was last told is remembered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.library.writer import Ledger
from commonplace.model.records import Record, is_over, now_of, said, same_words
from commonplace.storage.journal import Append, Entry
from commonplace.trust.origins import may_supersede

REMEMBERED = 512
"""Records that are remembered before the index is asked how far it has come."""
SEEN_MOST = 5
"""Of the times at which a record was told again, the last ones that its line keeps."""


class Lately:
    """What was stored since a position of the journal that the index has reached."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._records: dict[int, list[Record]] = {}
        self._replaced: set[str] = set()
        self._since = self._upto = -1
        self._mark = ""
        self._last: tuple[Record | None, int] = (None, 0)

    def find(self, record: Record) -> Record | None:
        """The current record that says the same, if there is one. Called under the lock."""
        number = self._number(record)
        if not number:
            return None
        self._read_on()
        found = [*self._ledger.index.saying(number), *self._records.get(number, ())]
        each: Record
        for each in found:
            if each.id not in self._replaced and self._is_same(each, record):
                return each
        return None

    def _is_same(self, one: Record, other: Record) -> bool:
        alike = _told(one) == _told(other)
        return alike and not (one.valid_to and is_over(one, now_of(self._ledger.clock)))

    def note(self, records: Iterable[Record], *, since: int) -> None:
        """Remember what was just stored, from a position of the journal up to its end."""
        if self._upto == since:
            for record in records:
                self._take(record)
            self._upto = self._ledger.levelling.progress.end

    def _read_on(self) -> None:
        ledger, end = self._ledger, self._ledger.levelling.progress.end
        if not self._is_good_until(end):
            self._forget()
            self._mark = ledger.journal.mark()
            self._since = self._upto = ledger.index.level()
        if self._upto < end:
            for entry in ledger.journal.entries(since=self._upto):
                self._read(entry)
            self._upto = end

    def _is_good_until(self, end: int) -> bool:
        """Whether what is remembered is of this journal, and not much that the index has by now."""
        if not 0 <= self._upto <= end or self._mark != self._ledger.journal.mark():
            return False
        return len(self._records) <= REMEMBERED or self._ledger.index.level() <= self._since

    def _forget(self) -> None:
        self._records.clear()
        self._replaced.clear()

    def _read(self, entry: Entry) -> None:
        if not all(isinstance(change, Append) for change in entry.changes):
            # The index was told of all before it, and of this but for what was compacted.
            self._forget()
            self._replaced.update(entry.removed)
        elif entry.changes:
            reading = self._ledger.reading(entry.changes[0].document)
            for key, line in zip(entry.ids, entry.lines):
                self._take(self._ledger.reader.line_record(line, key, reading, {}))

    def _number(self, record: Record) -> int:
        """What `said` gives, which is asked for before a record is stored and right after."""
        if self._last[0] is not record:
            self._last = record, said(record)
        return self._last[1]

    def _take(self, record: Record) -> None:
        if number := self._number(record):
            self._records.setdefault(number, []).append(record)
        if record.supersedes:
            self._replaced.add(record.supersedes)


def _told(record: Record) -> tuple[str, ...]:
    """What two records must have in common to say the same."""
    words = same_words(record.text)
    span = (record.valid_from, record.valid_to)
    return record.kind, record.username, words, record.sensitivity, *span


def told_twice(records: Sequence[Record]) -> dict[str, Record]:
    """Of records that are stored at once, those that say what an earlier one does, by their ids."""
    first: dict[tuple[str, ...], Record] = {}
    twice: dict[str, Record] = {}
    for record in records if len(records) > 1 else ():
        if said(record) and not record.supersedes:
            one = first.setdefault(_told(record), record)
            if one is not record:
                twice[record.id] = one
    return twice


def refreshed(old: Record, new: Record) -> dict[str, object]:
    """The data of a record that changes when it is told again; nothing, if it changes nothing.

    The same session is noted once a day. Who is trusted less changes nothing.
    """
    if not may_supersede(new.origin, old.origin):
        return {}
    notes: dict[str, object] = {}
    if new.supersedes and not old.supersedes:
        notes["supersedes"] = new.supersedes
    told = [f"{old.timestamp} {old.session}", *old.seen]
    again = f"{new.timestamp} {new.session}".strip()
    if _day_and_session(again) not in map(_day_and_session, told):
        notes["seen"] = [*old.seen, again][-SEEN_MOST:]
    return notes


def _day_and_session(seen: str) -> tuple[str, str]:
    stamp, _, session = seen.partition(" ")
    return stamp[:10], session
