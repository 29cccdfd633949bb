"""Store records: once, where the same is said already, and held where the owner forgot it.

A person's approval stores a record that was held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.library import marking
from commonplace.library.approvals import Approvals
from commonplace.library.index_sync import IndexSync
from commonplace.library.placing import NewLine, section_for
from commonplace.library.record_reader import decoded
from commonplace.library.shared import Shared
from commonplace.library.tombstones import Tombstones, pieces
from commonplace.library.transactions import Transactions
from commonplace.markdown import record_lines
from commonplace.model.citations import MOST
from commonplace.model.errors import AlreadyExists
from commonplace.model.records import (
    Author,
    Hit,
    Origin,
    Record,
    is_over,
    now_of,
    same_words,
    wording_key,
)
from commonplace.search.chains import Chains
from commonplace.storage.journal import Added, Entry, Op, Text
from commonplace.trust.origins import Trust, may_supersede, trust_of

if TYPE_CHECKING:
    from commonplace.library.documents import Documents

Targets = Callable[[Record], Sequence[str]]
"""Names the documents that a record goes into."""
REMEMBERED = 512
"""Records that are remembered before the index is asked how far it has come."""
SEEN_MOST = 5
"""Of the times at which a record was told again, the last ones that its line keeps."""


class RecordStore:
    """Stores the records of one vault."""

    def __init__(
        self,
        transactions: Transactions,
        tombstones: Tombstones,
        approvals: Approvals,
        *,
        documents: Callable[[], Documents],
    ) -> None:
        """`documents` makes the part that knows what stands above a new line."""
        self.transactions = transactions
        self.tombstones = tombstones
        self.approvals = approvals
        self._documents = documents
        self.writer = transactions.writer
        self.watch = transactions.watch
        self.sync = self.writer.sync
        self.shared = self.writer.shared
        self.vault = self.shared.vault
        self.journal = self.shared.journal
        self.index = self.shared.index
        self.layout = self.shared.layout
        self.reader = self.shared.reader

    @cached_property
    def _lately(self) -> Lately:
        return Lately(self.shared, self.sync)

    def add(
        self, records: Sequence[Record], *, to: Targets, author: Author, op: Op = Op.ADD
    ) -> tuple[Record, ...]:
        """Store records, each in the documents that `to` names. When this returns they are safe."""
        return self.transactions.locked(lambda: self._add(records, to, author, op))

    def admit(
        self,
        records: Sequence[Record],
        *,
        to: Targets,
        author: Author,
        named: Sequence[str] = (),
        once: bool = False,
    ) -> tuple[tuple[Record, ...], list[Record]]:
        """Store records as `add` does, but hold those that the owner forgot.

        `named` are the ids among them that a caller chose: there must be no record of them yet.
        With `once`, one that says what is said already is not stored again, but refreshed.
        Returns what was stored or was there, and what waits: of one that waits already, the one
        before it.
        """

        def work() -> tuple[tuple[Record, ...], list[Record]]:
            self._check_new(named)
            back = [] if author.origin == Origin.OWNER else self._forgotten_among(records)
            ready = [record for record in records if record not in back]
            self._check_chains(ready)
            there = self._there_already(ready) if once else {}
            fresh = [each for each in ready if each.id not in there] if there else ready
            since = self.sync.progress.end
            with self.transactions.together():
                waiting = [self.approvals.hold(record, author) for record in back]
                stored = self._add(fresh, to, author) if fresh else ()
            if once:
                self._lately.note(stored, since=since)
            found = tuple(there.get(each.id, each) for each in ready) if there else stored
            return found, waiting

        return self.transactions.locked(work)

    def _check_new(self, named: Sequence[str]) -> None:
        if named:
            self.sync.catch_up_index()
        for key in named:
            if self.index.get(key):
                raise AlreadyExists(key, next_step="Leave the id out, and it gets a new one.")

    def _forgotten_among(self, records: Iterable[Record]) -> list[Record]:
        return [
            record for record in records if self.tombstones.forgotten_by_owner(pieces(record.text))
        ]

    def _check_chains(self, records: Iterable[Record]) -> None:
        """Fail when what a record is to replace is gone by now, or was replaced by another."""
        replacing = [record for record in records if record.supersedes]
        if replacing:
            self.watch.look_at_all()
        for record in replacing:
            self.shared.found(record.supersedes)
            Chains(self.index).check_unreplaced(record)

    def _add(
        self, records: Sequence[Record], to: Targets, author: Author, op: Op = Op.ADD
    ) -> tuple[Record, ...]:
        names = [tuple(to(record)) for record in records]
        self.watch.look_at(dict.fromkeys(name for each in names for name in each))
        if any(self.layout.form(name) == "sentence" for each in names for name in each):
            pieces = [
                self._piece(record, name) for record, each in zip(records, names) for name in each
            ]
            self.writer.insert(op, pieces, author=author)
            return tuple(records)
        [where] = {*names}
        return tuple(self._append(records, where, author, op))

    def _piece(self, record: Record, name: str) -> NewLine:
        """The line of a record for a document that may have sections."""
        section = ""
        if self.layout.form(name) == "sentence":
            known = self.sync.known_of(name)
            size = known.signature.size if known else 0
            section = section_for(record.kind, layout=self.layout, size=size)
        return NewLine(name, section, record.id, self._line(record, name, section))

    def _line(self, record: Record, name: str, section: str = "") -> str:
        return record_lines.write(
            record,
            self.layout.form(name),
            kind=self.layout.kind_below(section),
            day=self.shared.clock.day_of(record.timestamp),
        )

    def _append(
        self, records: Sequence[Record], to: Sequence[str], author: Author, op: Op
    ) -> Sequence[Record]:
        """Add records to the end of each document."""
        text = tuple(self._line(record, to[0]) for record in records)
        if self.writer.check_growth:
            for name in to:
                before = self._documents().text_before(name, headed=True)
                self.writer.check_growth(name, before, before + "".join(text))
        data = {}
        if not self.layout.carries_data:
            self.sync.catch_up_index()
            records = self._as_read(records, text, to[0])
            data = {record.id: record.data() for record in records}
        ids = tuple(record.id for record in records)
        self.writer.append(op, text, to=to, author=author, ids=ids, data=data)
        return records

    def _as_read(self, records: Sequence[Record], text: tuple[str, ...], name: str) -> list[Record]:
        """The records with the ids they will be read back with: their lines carry none."""
        found: list[Record] = []
        for record, line in zip(records, text):
            taken, occurrence = {other.id for other in found}, 0
            read = self.reader.written_record(line, name, occurrence)
            while read.id in taken or self.index.get(read.id):
                occurrence += 1
                read = self.reader.written_record(line, name, occurrence)
            found.append(replace(record, id=read.id, text=read.text, timestamp=read.timestamp))
        return found

    def already(self, record: Record) -> Record | None:
        """The current record that says the same, if there is one."""
        return self.transactions.locked(lambda: self._lately.find(record))

    def _there_already(self, records: Sequence[Record]) -> dict[str, Record]:
        """By the ids of those that are not to be stored, the records that say the same.

        What was there is refreshed.
        """
        found = [(record, self._lately.find(record)) for record in records]
        there = {new.id: old for new, old in found if old and _may_stand_for(old, new)}
        twice = _told_twice([new for new in records if new.id not in there])
        return {**twice, **self._refreshed(there, records)} if there else twice

    def _refreshed(
        self, there: Mapping[str, Record], records: Iterable[Record]
    ) -> dict[str, Record]:
        """Note in the lines of records that they were told again. Returns them as they are then."""
        notes: dict[str, dict[str, Any]] = {}
        for new in records:
            if new.id in there and (told := _again(there[new.id], new)):
                notes.setdefault(there[new.id].id, {}).update(told)
                author = Author(new.origin, new.session)
        if notes:
            self._note_again(notes, author)
        known = self.index.get_all(notes)
        return {key: known.get(old.id, old) for key, old in there.items()}

    def _note_again(self, notes: Mapping[str, dict[str, Any]], author: Author) -> None:
        self.watch.look_at_all()
        texts: marking.Texts = {}
        for key, told in notes.items():
            old = self.shared.found(key).record
            places = self.index.documents_of(old.id)
            linked = places if "supersedes" in told else places[:1]
            for name in dict.fromkeys(place.document for place in linked):
                before, now = texts.get(name) or (self.vault.read(name),) * 2
                texts[name] = (
                    before,
                    marking.with_note(self.writer, name, now or b"", old, **told),
                )
        changes = [Text(name, self.journal.keep(now or b"")) for name, (_, now) in texts.items()]
        self.writer.replace_texts(
            self.shared.entry(Op.REFRESH, changes, ids=tuple(notes), author=author), texts
        )

    def approve(self, record_id: str, *, to: Targets, author: Author, answer: str = "") -> Record:
        """Let a held record into the documents, its text exactly as it was held.

        A question comes in with its answer, and is no sentence of the user's any more.
        """

        def work() -> Record:
            record = self.approvals.one_held(record_id)
            self.watch.look_at_all()
            if stands := self.index.get(record_id):
                return self._approved_there(stands, author)
            record = _believed(self._linked(record))
            if answer:
                record = replace(record, text=f"{record.text} {answer}", evidence=())
            with self.transactions.together():
                self._add([record], to, author)
                self.sync.progress.forgot = -1
                self.approvals.note(Op.APPROVE, record, author)
            return record

        return self.transactions.locked(work)

    def _approved_there(self, hit: Hit, author: Author) -> Record:
        """Let in what was written into a document from outside: it stands where it is."""
        record = _believed(hit.record)
        whose = {"origin": record.origin, "session": record.session}
        self.approvals.note(Op.APPROVE, record, author, data={record.id: whose})
        for name in dict.fromkeys(place.document for place in hit.places):
            parsed = self.reader.parse(name, decoded(name, self.vault.read(name)))
            self.sync.index_whole(name, parsed, self.sync.known(name))
        return record

    def _linked(self, record: Record) -> Record:
        """A wording whose sentence is gone, or was replaced by another wording, replaces nothing.

        Whatever else would replace what is replaced already is refused.
        """
        old = self.index.get(record.supersedes) if record.supersedes else None
        is_free = old is not None and not Chains(self.index).newer(old.record)
        if record.words_one_of((record.supersedes,)) and not is_free:
            return replace(record, supersedes="")
        Chains(self.index).check_unreplaced(record)
        return record

    def reject(self, record_id: str, *, author: Author) -> Record:
        """Take a held record off the list. The journal keeps it."""

        def work() -> Record:
            record = self.approvals.one_held(record_id)
            self.approvals.note(Op.REJECT, record, author)
            return record

        return self.transactions.locked(work)

    def unlink(self, record_id: str, *, author: Author) -> None:
        """Let a record no longer be replaced by one that is gone; any other, no longer replace one.

        It can be undone.
        """

        def work() -> None:
            self.watch.look_at_all()
            record = self.shared.found(record_id).record
            texts: marking.Texts = {}
            data: dict[str, Any] = {}
            marks = {record_id: ""}
            if not record.replaced_by:
                texts, data = self._unlinked(record)
                marks = {old.id: "" for old in self.index.marked([record_id])}
            data |= marking.unwritten(self.writer, marks)
            _, texts = marking.marked(self.writer, (), texts, marks)
            told = [Text(name, self.journal.keep(new or b"")) for name, (_, new) in texts.items()]
            entry = self.shared.entry(Op.REPLACE, told, ids=(record_id,), author=author, data=data)
            self.writer.replace_texts(entry, texts)

        self.transactions.locked(work)

    def _unlinked(self, record: Record) -> tuple[marking.Texts, dict[str, Any]]:
        """The documents of a record, and what the journal has of it, once it replaces nothing."""
        texts: marking.Texts = {}
        for place in self.index.documents_of(record.id):
            before = after = self.vault.read(place.document)
            if self.layout.carries_data:
                after = marking.with_note(
                    self.writer, place.document, before, record, supersedes=""
                )
            texts[place.document] = (before, after)
        alone = replace(record, supersedes="")
        return texts, {} if self.layout.carries_data else {record.id: alone.data()}


class Lately:
    """What was stored since a position of the journal that the index has reached."""

    def __init__(self, shared: Shared, sync: IndexSync) -> None:
        self._journal = shared.journal
        self._index = shared.index
        self._reader = shared.reader
        self._clock = shared.clock
        self._sync = sync
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
        found = [*self._index.saying(number), *self._records.get(number, ())]
        each: Record
        for each in found:
            if each.id not in self._replaced and self._is_same(each, record):
                return each
        return None

    def _is_same(self, one: Record, other: Record) -> bool:
        alike = _told(one) == _told(other)
        return alike and not (one.valid_to and is_over(one, now_of(self._clock)))

    def note(self, records: Iterable[Record], *, since: int) -> None:
        """Remember what was just stored, from a position of the journal up to its end."""
        if self._upto == since:
            for record in records:
                self._take(record)
            self._upto = self._sync.progress.end

    def _read_on(self) -> None:
        end = self._sync.progress.end
        if not self._is_good_until(end):
            self._forget()
            self._mark = self._journal.mark()
            self._since = self._upto = self._index.level()
        if self._upto < end:
            for entry in self._journal.entries(since=self._upto):
                self._read(entry)
            self._upto = end

    def _is_good_until(self, end: int) -> bool:
        """Whether what is remembered is of this journal, and not much that the index has by now."""
        if not 0 <= self._upto <= end or self._mark != self._journal.mark():
            return False
        return len(self._records) <= REMEMBERED or self._index.level() <= self._since

    def _forget(self) -> None:
        self._records.clear()
        self._replaced.clear()

    def _read(self, entry: Entry) -> None:
        if not all(isinstance(change, Added) for change in entry.changes):
            # The index was told of all before it, and of this but for what was compacted.
            self._forget()
            self._replaced.update(entry.removed)
            return
        for change in entry.changes:
            if isinstance(change, Added):
                reading = replace(self._reader.reading(change.document), kind=change.kind)
                for key, line in entry.pieces(change):
                    if key:
                        self._take(self._reader.line_record(line, key, reading, {}))

    def _number(self, record: Record) -> int:
        """What `said` gives, which is asked for before a record is stored and right after."""
        if self._last[0] is not record:
            self._last = record, wording_key(record)
        return self._last[1]

    def _take(self, record: Record) -> None:
        if number := self._number(record):
            self._records.setdefault(number, []).append(record)
        if record.supersedes:
            self._replaced.add(record.supersedes)


def _believed(record: Record) -> Record:
    """A record that a person has approved: who is shown it is not shown untrusted text any more."""
    doubtful = trust_of(record.origin) == Trust.NONE
    return replace(record, origin=Origin.AGENT) if doubtful else record


def _may_stand_for(old: Record, new: Record) -> bool:
    """Whether a record can stand for a new one of its words, which may replace another."""
    if not new.supersedes:
        return True
    linked = old.supersedes in ("", new.supersedes) and old.id != new.supersedes
    return linked and may_supersede(new.origin, old.origin)


def _told(record: Record) -> tuple[str, ...]:
    """What two records must have in common to say the same."""
    words = same_words(record.text)
    span = (record.valid_from, record.valid_to)
    return record.kind, record.username, words, record.sensitivity, *span, *record.when


def _told_twice(records: Sequence[Record]) -> dict[str, Record]:
    """Of records that are stored at once, those that say what an earlier one does, by their ids."""
    first: dict[tuple[str, ...], Record] = {}
    twice: dict[str, Record] = {}
    for record in records if len(records) > 1 else ():
        if wording_key(record) and not record.supersedes:
            one = first.setdefault(_told(record), record)
            if one is not record:
                twice[record.id] = one
    return twice


def _again(old: Record, new: Record) -> dict[str, object]:
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
    if cited := [each for each in new.citations if each not in old.citations]:
        notes["citations"] = [*old.citations, *cited][-MOST:]
    if _day_and_session(again) not in map(_day_and_session, told):
        notes["seen"] = [*old.seen, again][-SEEN_MOST:]
    return notes


def _day_and_session(seen: str) -> tuple[str, str]:
    stamp, _, session = seen.partition(" ")
    return stamp[:10], session
