"""What can be done with the records and documents of a vault: add, hold, rewrite, rename, find.

Who may do it, and what is worth keeping, it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library.erase import Erasing
from commonplace.library.record_reader import decoded
from commonplace.library.tombstones import normal, pieces
from commonplace.markdown.layouts import entry_names
from commonplace.model.errors import (
    AlreadyExists,
    NoSuchDocument,
    NoSuchRecord,
    Refused,
    Unreadable,
)
from commonplace.model.lazy import Lazy
from commonplace.model.records import (
    DERIVED,
    PASSAGE,
    Author,
    Hit,
    Neighbour,
    Origin,
    Problem,
    Record,
    SearchResult,
    Sensitivity,
    etag_of,
)
from commonplace.search.engine import SearchEngine
from commonplace.search.index import Query
from commonplace.search.recall import most_alike
from commonplace.storage.brackets import Brackets
from commonplace.storage.journal import Change, Gone, Op, Text, find_text
from commonplace.storage.notices import Notice, Notices
from commonplace.trust.origins import BELIEVED, Trust, lowest, may_supersede, needs_review, trust_of

if TYPE_CHECKING:
    from commonplace.library import duplicates, marking
    from commonplace.library.stale import Appended
    from commonplace.markdown import documents, merge
    from commonplace.markdown import record_lines as lines
    from commonplace.markdown.documents import Item
    from commonplace.search import chains
    from commonplace.search.encoders import Encoder
else:
    chains, duplicates, marking = (
        Lazy("search.chains"),
        Lazy("library.duplicates"),
        Lazy("library.marking"),
    )
    documents, lines = Lazy("markdown.documents"), Lazy("markdown.record_lines")
    merge = Lazy("markdown.merge")

FORGOTTEN = "forgotten"
"""Begins the reason for which a record is held that the owner forgot."""


class Written(Struct, frozen=True):
    """A document after a write: its text's mark, and whether other changes were merged into it."""

    document: str
    etag: str
    merged: bool = False
    conflicts: int = 0
    dropped: tuple[str, ...] = ()
    """The lines that are gone by it."""


class Library(Erasing):
    """The records and documents of one vault."""

    lose_share = 0.3
    """The share of a document's entries that a rewrite may drop without its confirm token."""

    def __init__(
        self,
        *parts: Any,
        notices: Notices,
        brackets: Brackets,
        encoder: Callable[[], Encoder] | None = None,
        **rest: Any,
    ) -> None:
        super().__init__(*parts, **rest)
        self.notices = notices
        self.brackets = brackets
        self.engine = SearchEngine(self.index, encoder, clock=self.clock)
        self.check_growth: Callable[[str, str, str], None] | None = None
        """Refuses what makes a document too long, by its name and its text before and after."""
        self.screened: dict[tuple[str, str, int], str] = {}
        """Texts without their secrets, by what they were made of."""

    @cached_property
    def _lately(self) -> duplicates.Lately:
        return duplicates.Lately(self)

    def close(self) -> None:
        self.engine.close()
        super().close()

    def appeared(self, name: str, records: list[Record], author: Author) -> None:
        """Hold what a tool wrote, wherever it stands: a recall would tell it to agents."""
        for record in records:
            whose = replace(record, origin=author.origin, session=author.session)
            line = lines.write(whose, "native")
            entry = self.entry(Op.HOLD, (), ids=(record.id,), author=author, lines=(line,))
            self.journal.append(entry)

    def waiting_among(self, records: Iterable[Record | Neighbour]) -> frozenset[str]:
        """The ids of those records that a person has to approve before they are told."""
        doubtful = frozenset(it.id for it in records if trust_of(it.origin) == Trust.NONE)
        if not doubtful or self.tells_all:
            return doubtful
        return doubtful & self.unapproved()

    def unapproved(self) -> frozenset[str]:
        """The ids of all records that were held, and that no person has approved since."""
        last = self._last_of(Op.HOLD, Op.APPROVE)
        return frozenset(key for key, op in last.items() if op == Op.HOLD)

    def _last_of(self, *ops: Op) -> dict[str, str]:
        """Which of these was done last to each record that one of them was done to."""
        entries = [entry for op in ops for entry in self.tombstones.entries_of(op)]
        return {e.ids[0]: e.op for e in sorted(entries, key=lambda entry: entry.position)}

    def writer(self) -> Author:
        return self.brackets.writer()

    def taken_out(self, name: str, position: int, pieces: Sequence[Appended]) -> None:
        count = f"{len(pieces)} lines" if len(pieces) > 1 else "a line"
        self.notices.add(
            Notice(
                position,
                name,
                f"A save of {name} by another program took out {count} written just before it.",
                f"To put back what you did not delete: commonplace put-back {position}. "
                f"Not to hear of it again: commonplace put-back {position} --dismiss",
                self.clock.stamp(),
                tuple((piece.position, piece.id) for piece in pieces),
            )
        )

    def united(self, name: str, position: int, count: int) -> None:
        if count:
            lines = f"{count} lines" if count > 1 else "a line"
            says = (
                f"{name} came from another vault or machine and lacked {lines} that this vault's "
                "journal has. Both are kept: they were put back at its end."
            )
        else:
            says = (
                f"The documents came from another vault or machine. {name} was not among them, and "
                "was written again from this vault's journal."
            )
        later = self.journal.entries(since=position)
        made = [e.position for e in later if e.op == Op.PUT_BACK and name in e.documents()]
        ways = " and ".join(f"commonplace undo --change {number}" for number in made)
        fix = f"To take them out: {ways}" if made else "If it is not wanted, delete the file."
        self.notices.add(Notice(position, name, says, fix, self.clock.stamp()))

    def add(
        self, records: Sequence[Record], *, to: Sequence[str], author: Author
    ) -> tuple[Record, ...]:
        """Store records in the documents named. When this returns they are safe."""
        return self.locked(lambda: self._add(records, to, author))

    def _check_new(self, named: Sequence[str]) -> None:
        if named:
            self.levelling.bring_up()
        for key in named:
            if self.index.get(key):
                raise AlreadyExists(key, next_step="Leave the id out, and it gets a new one.")

    def _add(
        self, records: Sequence[Record], to: Sequence[str], author: Author
    ) -> tuple[Record, ...]:
        form = self.layout.line
        text = tuple(lines.write(record, form) for record in records)
        for name in to if self.check_growth else ():
            before = self._text_before(name, headed=True)
            self._check_growth(name, before, before + "".join(text))
        data = {}
        if not self.layout.carries_data:
            self.levelling.bring_up()
            records = self._as_read(records, text, to[0])
            data = {record.id: record.data() for record in records}
        ids = tuple(record.id for record in records)
        self.append(Op.ADD, text, to=to, author=author, ids=ids, data=data)
        return tuple(records)

    def _check_chains(self, records: Iterable[Record]) -> None:
        """Fail when what a record is to replace is gone by now, or was replaced by another."""
        replacing = [record for record in records if record.supersedes]
        if replacing:
            self.take_in_changes()
        for record in replacing:
            self.found(record.supersedes)
            chains.check_unreplaced(self.index, record)

    def _check_growth(self, name: str, before: str, after: str) -> None:
        if self.check_growth:
            self.check_growth(name, before, after)

    def _as_read(self, records: Sequence[Record], text: tuple[str, ...], name: str) -> list[Record]:
        """The records with the ids they will be read back with: their lines carry none."""
        found: list[Record] = []
        for record, line in zip(records, text):
            taken, occurrence = {other.id for other in found}, 0
            read = self._read(line, name, occurrence)
            while read.id in taken or self.index.get(read.id):
                occurrence += 1
                read = self._read(line, name, occurrence)
            found.append(replace(record, id=read.id, text=read.text, timestamp=read.timestamp))
        return found

    def admit(
        self,
        records: Sequence[Record],
        *,
        to: Sequence[str],
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
            since = self.levelling.progress.end
            with self.together():
                waiting = [self._hold(record, author) for record in back]
                stored = self._add(fresh, to, author) if fresh else ()
            if once:
                self._lately.note(stored, since=since)
            found = tuple(there.get(each.id, each) for each in ready) if there else stored
            return found, waiting

        return self.locked(work)

    def already(self, record: Record) -> Record | None:
        """The current record that says the same, if there is one."""
        return self.locked(lambda: self._lately.find(record))

    def _there_already(self, records: Sequence[Record]) -> dict[str, Record]:
        """By the ids of those that are not to be stored, the records that say the same.

        What was there is refreshed.
        """
        found = [(record, self._lately.find(record)) for record in records]
        there = {new.id: old for new, old in found if old and _may_stand_for(old, new)}
        twice = duplicates.told_twice([new for new in records if new.id not in there])
        return {**twice, **self._refreshed(there, records)} if there else twice

    def _refreshed(
        self, there: Mapping[str, Record], records: Iterable[Record]
    ) -> dict[str, Record]:
        """Note in the lines of records that they were told again. Returns them as they are then."""
        notes: dict[str, dict[str, Any]] = {}
        for new in records:
            if new.id in there and (told := duplicates.refreshed(there[new.id], new)):
                notes.setdefault(there[new.id].id, {}).update(told)
                author = Author(new.origin, new.session)
        if notes:
            self._note_again(notes, author)
        known = self.index.get_all(notes)
        return {key: known.get(old.id, old) for key, old in there.items()}

    def _note_again(self, notes: Mapping[str, dict[str, Any]], author: Author) -> None:
        self.take_in_changes()
        texts: marking.Texts = {}
        for key, told in notes.items():
            old = self.found(key).record
            places = self.index.documents_of(old.id)
            linked = places if "supersedes" in told else places[:1]
            for name in dict.fromkeys(place.document for place in linked):
                before, now = texts.get(name) or (self.vault.read(name),) * 2
                texts[name] = (before, marking.with_note(self, name, now or b"", old, **told))
        changes = [Text(name, self.journal.keep(now or b"")) for name, (_, now) in texts.items()]
        self.replace_texts(self.entry(Op.REFRESH, changes, ids=tuple(notes), author=author), texts)

    def _forgotten_among(self, records: Iterable[Record]) -> list[Record]:
        return [record for record in records if self.forgotten_by_owner(pieces(record.text))]

    def hold(
        self, record: Record, *, author: Author, change: Mapping[str, str] | None = None
    ) -> Record:
        """Keep a record for a person to approve or reject. It goes into no document.

        One that waits already, word for word, is not held twice. `change` tells of a text for a
        document how it is to be changed.
        """
        return self.locked(lambda: self._hold(record, author, change))

    def _hold(
        self, record: Record, author: Author, change: Mapping[str, str] | None = None
    ) -> Record:
        """Why it is held, when the owner forgot it, is when, and what an approval lifts."""
        found = self.forgotten_by_owner(pieces(record.text))
        for each in self.held() if found else ():
            if normal(each.text) == normal(record.text):
                return each
        why = " ".join((FORGOTTEN, max(found.values()), *found)) if found else ""
        line = lines.write(record, "native")
        data = {record.id: dict(change)} if change else {}
        self._note(Op.HOLD, record, author, lines=(line,), why=why, data=data)
        return record

    def held_changes(self) -> dict[str, dict[str, str]]:
        """Of the held texts that are meant for a document, how each is to be changed."""
        return {
            entry.ids[0]: entry.data[entry.ids[0]]
            for entry in self.tombstones.entries_of(Op.HOLD)
            if entry.ids[0] in entry.data
        }

    def decisions(self) -> dict[str, str]:
        """What a person decided on held records, by their ids: approve or reject."""
        return {
            entry.ids[0]: str(op)
            for op in (Op.APPROVE, Op.REJECT)
            for entry in self.tombstones.entries_of(op)
        }

    def forgotten_days(self) -> dict[str, str]:
        """Of the records that are held because the owner forgot them, the days of that."""
        told = {e.ids[0]: e.why.split() for e in self.tombstones.entries_of(Op.HOLD) if e.why}
        return {key: self.clock.day_of(words[1]) for key, words in told.items()}

    def held(self) -> list[Record]:
        """The records that wait, oldest first."""
        waiting = self._doubtful() | self.withheld()
        last = self._last_of(Op.HOLD, Op.APPROVE, Op.REJECT) if waiting else {}
        return [r for key, r in waiting.items() if last.get(key, Op.HOLD) == Op.HOLD]

    @property
    def tells_all(self) -> bool:
        """Whether prompts tell all of the main document, as it stands, for the agent's own mind."""
        return self.layout.name == "notebook"

    def _doubtful(self) -> dict[str, Record]:
        """What a session that had read untrusted text wrote into a document that is told whole."""
        if not self.tells_all:
            return {}
        wanted = Query(
            documents=(self.layout.memory, self.layout.long_memory),
            without_origins=BELIEVED,
            include_superseded=True,
            limit=1 << 30,
        )
        return {hit.record.id: hit.record for hit in reversed(self.index.search(wanted))}

    def approve(self, record_id: str, *, to: Sequence[str], author: Author) -> Record:
        """Let a held record into the documents, its text exactly as it was held."""

        def work() -> Record:
            record = self.one_held(record_id)
            self.take_in_changes()
            if stands := self.index.get(record_id):
                return self._approved_there(stands, author)
            record = _believed(self._linked(record))
            with self.together():
                self._add([record], to, author)
                self.levelling.progress.forgot = -1
                self._note(Op.APPROVE, record, author)
            return record

        return self.locked(work)

    def _approved_there(self, hit: Hit, author: Author) -> Record:
        """Let in what was written into a document from outside: it stands where it is."""
        record = _believed(hit.record)
        whose = {"origin": record.origin, "session": record.session}
        self._note(Op.APPROVE, record, author, data={record.id: whose})
        for name in dict.fromkeys(place.document for place in hit.places):
            parsed = self.parse(name, self.text(name)[0])
            self.levelling.index_whole(name, parsed, self.known(name))
        return record

    def _linked(self, record: Record) -> Record:
        """A wording whose sentence is gone, or was replaced by another wording, replaces nothing.

        Whatever else would replace what is replaced already is refused.
        """
        old = self.index.get(record.supersedes) if record.supersedes else None
        is_free = old is not None and not chains.newer(self.index, old.record)
        if record.words_one_of((record.supersedes,)) and not is_free:
            return replace(record, supersedes="")
        chains.check_unreplaced(self.index, record)
        return record

    def approved(self, record_id: str, *, author: Author) -> None:
        """Note that a held text was let in, in whatever way."""
        self.locked(lambda: self._note(Op.APPROVE, self.one_held(record_id), author))

    def reject(self, record_id: str, *, author: Author) -> Record:
        """Take a held record off the list. The journal keeps it."""

        def work() -> Record:
            record = self.one_held(record_id)
            self._note(Op.REJECT, record, author)
            return record

        return self.locked(work)

    def one_held(self, record_id: str) -> Record:
        """One of the records that wait."""
        found = next((record for record in self.held() if record.id == record_id), None)
        if found is None:
            raise NoSuchRecord(record_id)
        return found

    def _note(self, op: Op, record: Record, author: Author, **rest: Any) -> None:
        self.check_writable()
        self.levelling.bring_up()
        self.journal.append(self.entry(op, (), ids=(record.id,), author=author, **rest))
        self.reached_end()

    def remove(self, names: Sequence[str], *, author: Author) -> None:
        """Take whole documents away, in one change. The journal keeps them."""

        def work() -> None:
            texts: marking.Texts = {name: (self._there(name), None) for name in names}
            self._replace_texts(Op.REPLACE, map(Gone, names), texts, author=author)

        self.locked(work)

    def _there(self, name: str) -> bytes:
        """What a document says, which must be there."""
        if self.look(name) is None:
            raise NoSuchDocument(name)
        return self.vault.read(name)

    def rename(self, names: Mapping[str, str], *, author: Author) -> None:
        """Give documents other names, `{name: new}`, in one change."""

        def work() -> None:
            self.take_in_changes()
            changes: list[Change] = []
            texts: dict[str, tuple[bytes | None, bytes | None]] = {}
            known: dict[str, dict[str, Any]] = {}
            for name, new in names.items():
                data = self._there(name)
                self._check_new_name(name, new, decoded(name, data), author)
                known |= self._known_as(name, new, decoded(name, data))
                changes += (Text(new, self.journal.keep(data)), Gone(name))
                texts |= {new: (None, data), name: (data, None)}
            entry = self.entry(Op.REPLACE, changes, author=author, data=known)
            self.replace_texts(entry, texts)

        self.locked(work)

    def _check_new_name(self, name: str, new: str, text: str, author: Author) -> None:
        """Fail when the name is taken, or would show an agent what it may not see."""
        if self.look(new) is not None:
            raise AlreadyExists(new, next_step="Choose another name, or delete that one first.")
        records = {i.start for i in self.parse(new, text).items if i.record.kind != PASSAGE}
        prose = any(item.start not in records for item in self._secrets(name, text))
        if prose and author.origin != Origin.OWNER:
            raise Refused(
                f"{name} holds what only its owner may see, and {new} has no records.",
                next_step="Choose another name, or ask the user to rename it.",
            )

    def _known_as(self, name: str, new: str, text: str) -> dict[str, dict[str, Any]]:
        """What is known of a text's lines, by the ids they have in a document of another name."""
        was = self.parse(name, text).items
        known = self.index.get_all(item.record.id for item in was)
        records = {item.start: known.get(item.record.id, item.record) for item in was}
        # What is one piece under the new name may have been several, of different people.
        least = lowest([Origin.OWNER, *(record.origin for record in records.values())])
        found: dict[str, dict[str, Any]] = {}
        for start, fresh in ((item.start, item.record) for item in self.parse(new, text).items):
            old = records.get(start)
            if fresh.id in known:
                continue
            if old is None or PASSAGE in (old.kind, fresh.kind):
                found[fresh.id] = {"origin": least}
            else:
                found[fresh.id] = {**old.data(), "id": fresh.id, "origin": old.origin}
        return found

    def append_text(self, name: str, text: str, *, author: Author, headed: bool = True) -> Written:
        """Add any text to the end of a document, on a line of its own."""
        return self.locked(lambda: self._append_text(name, text, author, headed=headed))

    def create(self, name: str, text: str, *, author: Author) -> Written:
        """Make a document that must not be there yet."""

        def work() -> Written:
            if self.look(name) is not None:
                raise AlreadyExists(name, next_step="Choose another name, or update that document.")
            return self._append_text(name, text, author, headed=False)

        return self.locked(work)

    def write_entry(self, directory: str, text: str, *, author: Author) -> Written:
        """Make a diary entry, named by this second or by the next one that has none."""

        def work() -> Written:
            taken = self.vault.listing().documents
            names = entry_names(directory, self.clock.now())
            name = next(name for name in names if name not in taken and self.look(name) is None)
            return self._append_text(name, text, author, headed=False)

        return self.locked(work)

    def _append_text(self, name: str, text: str, author: Author, *, headed: bool = True) -> Written:
        whole = text if text.endswith("\n") else text + "\n"
        if author.origin != Origin.OWNER:
            # Nor may it join the item above, or leave a fence open over what comes below.
            whole = documents.closed(documents.apart(documents.disarm(whole, keep=())))
        before = self._text_before(name, headed=headed)
        self._check_growth(name, before, before + whole)
        self.refuse_forgotten({name: (before.encode(), (before + whole).encode())}, author=author)
        data = self.provenance(name, before, before + whole, author)
        self.append(Op.ADD, (whole,), to=(name,), author=author, headed=headed, data=data)
        return Written(name, etag_of(self.vault.read(name)))

    def _text_before(self, name: str, *, headed: bool) -> str:
        """What stands above a text that is appended; its headings are part of what it says."""
        if self.look(name) is None:
            return self.layout.header(name) if headed else ""
        text = self.text(name)[0]
        return text if documents.ends_clean(text) else text + "\n"

    def provenance(
        self, name: str, before: str, after: str, author: Author
    ) -> dict[str, dict[str, str]]:
        """Whom the lines of a text are from that say nothing of it: else they pass for the owner's.

        What stands in the text twice, or stood in it before, keeps the origin it had.
        """
        if author.origin == Origin.OWNER:
            return {}
        there = {item.record.id for item in self.parse(name, before).items}
        fresh = (item.record.id for item in self.parse(name, after).items)
        return {key: {"origin": author.origin} for key in fresh if key not in there}

    def disarmed(self, name: str, before: str, after: str, author: Author) -> str:
        """The text with no data but what was there, and of records whose words alone are new."""
        keep = documents.carried(before)
        gone = keep - documents.carried(after)
        secret = {item.record.id for item in self._secrets(name, before)} if gone else set()
        known = {
            item.record.id: item.record
            for item in (self.parse(name, before).items if gone else ())
            if item.record.id not in secret
            and not gone.isdisjoint(documents.carried(before[item.start : item.end]))
        }
        return documents.disarm(
            after, keep=keep, otherwise=lambda item: _reworded(item, known, author)
        )

    def with_secrets(self, name: str, before: str, after: str) -> str:
        """The text with the secret records it lacks: who is not shown them can't keep them."""
        there = {item.record.id for item in self.parse(name, after).items}
        lines_kept = [
            before[item.start : item.end]
            for item in self._secrets(name, before)
            if item.record.id not in there
        ]
        if not lines_kept:
            return after
        guard = "" if not after or after.endswith("\n") else "\n"
        return after + guard + "".join(lines_kept)

    def without_secrets(self, name: str, text: str) -> str:
        """The text as an agent may be shown it."""
        for item in reversed(self._secrets(name, text)):
            text = text[: item.start] + text[item.end :]
        return text

    def _secrets(self, name: str, text: str) -> list[Item]:
        """What of a text only its owner may see."""
        items = self.parse(name, text).items
        records = (item.record for item in items if item.record.kind != PASSAGE)
        # What a line does not say of itself the index knows.
        unsaid = [record for record in records if DERIVED.match(record.id)]
        known = self.index.get_all(record.id for record in unsaid)
        # It has let go of what stands in old texts alone, and may not have heard of the newest.
        rest = [record for record in unsaid if record.id not in known]
        if rest:
            known |= {record.id: record for record in self.reader.as_journalled(rest)}
        return [
            item
            for item in items
            if known.get(item.record.id, item.record).sensitivity == Sensitivity.SECRET
        ]

    def put_text(
        self,
        op: Op,
        name: str,
        before: bytes | None,
        after: bytes,
        *,
        author: Author,
        data: dict[str, dict[str, str]] | None = None,
    ) -> None:
        """Journal and make a whole new text. Called under the lock."""
        version = Text(name, self.journal.keep(after))
        self._replace_texts(op, [version], {name: (before, after)}, author=author, data=data)

    def _replace_texts(
        self,
        op: Op,
        changes: Iterable[Change],
        texts: marking.Texts,
        *,
        author: Author,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a change of whole texts, with a mark on what the records it drops had replaced."""
        marks = chains.loss(self.index, marking.leaving(self, texts)).marks
        told, texts = marking.marked(self, changes, texts, marks)
        known = {**(data or {}), **marking.unwritten(self, marks)}
        self.replace_texts(self.entry(op, told, author=author, data=known), texts)

    def text_marked(self, name: str, etag: str) -> bytes | None:
        """The text of a document that had this mark, from what the journal kept."""
        kept = self.journal.version(etag)
        if kept is not None:
            return kept
        return find_text(self.journal, name, lambda text: etag_of(text) == etag)

    def unlink(self, record_id: str, *, author: Author) -> None:
        """Let a record no longer be replaced by one that is gone; any other, no longer replace one.

        It can be undone.
        """

        def work() -> None:
            self.take_in_changes()
            record = self.found(record_id).record
            texts: marking.Texts = {}
            data: dict[str, Any] = {}
            marks = {record_id: ""}
            if not record.replaced_by:
                texts, data = self._unlinked(record)
                marks = {old.id: "" for old in self.index.marked([record_id])}
            data |= marking.unwritten(self, marks)
            _, texts = marking.marked(self, (), texts, marks)
            told = [Text(name, self.journal.keep(new or b"")) for name, (_, new) in texts.items()]
            entry = self.entry(Op.REPLACE, told, ids=(record_id,), author=author, data=data)
            self.replace_texts(entry, texts)

        self.locked(work)

    def _unlinked(self, record: Record) -> tuple[marking.Texts, dict[str, Any]]:
        """The documents of a record, and what the journal has of it, once it replaces nothing."""
        texts: marking.Texts = {}
        for place in self.index.documents_of(record.id):
            before = after = self.vault.read(place.document)
            if self.layout.carries_data:
                after = marking.with_note(self, place.document, before, record, supersedes="")
            texts[place.document] = (before, after)
        alone = replace(record, supersedes="")
        return texts, {} if self.layout.carries_data else {record.id: alone.data()}

    def text(self, name: str) -> tuple[str, str]:
        """A document's text and its mark."""
        data = self.vault.read(name)
        return decoded(name, data), etag_of(data)

    def find(self, query: Query) -> SearchResult:
        found = self.index.while_level(lambda: self.engine.find(query))
        if found is None:
            self.refresh()
            found = self.engine.find(query)
        if self.troubles or self.outside.copies:
            lacking = " ".join((found.degraded, *self.troubles.values(), *self.unmerged())).strip()
            found = SearchResult(found, mode=found.mode, degraded=lacking)
        return found

    def recall(self, text: str, *, limit: int, newest: int, writes: bool) -> list[Hit]:
        """The records most like a text, from the cache while nothing has changed."""
        question, glance = (text, limit), self.glance()
        hits = self.recalls.get(question, glance=glance)
        if hits is None:
            self.refresh()
            hits = most_alike(self.index, text, limit=limit, newest=newest, writes=writes)
            # A change during the search may be missing from its answer.
            if glance == self.glance():
                self.recalls.put(question, hits, glance=glance)
        return hits

    def unmerged(self) -> list[str]:
        """A sentence for each copy that a sync program put beside a document."""
        return [
            f"{name} is a sync program's copy of {original}, and nothing of it is told. "
            "'commonplace conflicts --merge' unites the two."
            for name, original in self.outside.copies.items()
        ]

    def get(self, record_id: str) -> Hit:
        self.refresh()
        return self.found(record_id)

    def problems(self) -> list[Problem]:
        """Every mistake in the documents' text, and everything that cannot be read."""
        listing = self.vault.listing()
        found = [Problem(path, 0, why) for path, why in listing.unreadable.items()]
        for name in listing.documents:
            try:
                found += self.parse(name, self.text(name)[0]).problems
            except Unreadable as error:
                found.append(Problem(name, 0, str(error)))
        return found


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


def _reworded(item: str, known: dict[str, Record], author: Author) -> str:
    """A line with data as an agent leaves it: new words of a known record, and nothing else new.

    They are the agent's from then on, and what needs a person's approval loses its data.
    """
    said = lines.read(item, reading=documents.NOWHERE).record
    old = known.pop(said.id, None) if said else None
    if said is None or old is None:
        return documents.harmless(item)
    new = replace(old, text=said.text, origin=lowest((old.origin, author.origin)))
    if new == said:
        return item
    held = needs_review(behavioral=new.behavioral, origin=new.origin, tainted=False)
    line = lines.write(new, "plain" if held else lines.form_of(item))
    return line.replace("\n", "\r\n") if "\r\n" in item else line
