"""What can be done with the records and documents of a vault: add, rewrite, strike, forget, find.

Who may do it, and what is worth keeping, it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from commonplace.asking import Asker
from commonplace.errors import (
    AlreadyExists,
    DocumentChanged,
    NoSuchDocument,
    NoSuchRecord,
    Refused,
    Unreadable,
    VaultTrouble,
    WouldLose,
)
from commonplace.hints import TYPE_CHECKING, Any
from commonplace.index import Query
from commonplace.journal import BLANK, Change, Cut, Entry, Gone, Op, Text, without
from commonplace.lazily import Lazy, pattern
from commonplace.ledger import Ledger
from commonplace.reader import decoded
from commonplace.records import (
    DERIVED,
    PASSAGE,
    SYSTEM,
    Author,
    Found,
    Hit,
    Origin,
    Problem,
    Record,
    Sensitivity,
    derived_id,
    etag_of,
)
from commonplace.safety import lowest, needs_review, neutralise
from commonplace.values import frozen, replace

if TYPE_CHECKING:
    from commonplace import documents, lines, merging, replay
    from commonplace.documents import Item, Parsed
    from commonplace.embed import Encoder
else:
    documents, lines = Lazy("documents"), Lazy("lines")
    merging, replay = Lazy("merging"), Lazy("replay")

DATA_OF = rb'<!-- \{"id":"%s".*?-->'
WORD = pattern(r"\w+")
OUT_OF_REACH = (
    "copies outside the vault: backups, synced folders, git history",
    "what agents have already been shown",
)


@frozen
class Written:
    """A document after a write: its text's mark, and whether other changes were merged into it."""

    document: str
    etag: str
    merged: bool = False
    conflicts: int = 0


@frozen
class Receipt:
    """What was erased when records were forgotten, and what could not be reached."""

    ids: tuple[str, ...]
    documents: tuple[str, ...]
    texts: int
    """Entries and kept versions of the journal that were blanked."""
    held: tuple[str, ...] = ()
    """Of the ids, those of records that had been held for a person's approval."""
    summaries: tuple[str, ...] = ()
    """Summaries that were erased because they were made from these; made anew from the others."""
    experiences: int = 0
    messages: int = 0
    """Messages of the history that were erased because they quoted one of these."""
    out_of_reach: tuple[str, ...] = OUT_OF_REACH

    def places(self) -> str:
        """Where it was erased from, in words."""
        held = ["what waited for approval"] if self.held else []
        return ", ".join([*self.documents, *held]) or "what the journal had kept"


@frozen
class Departed:
    """A record that stands in no document any more, and how it was written."""

    record: Record
    raws: frozenset[bytes]


@frozen
class _Struck:
    """A document before and after records are taken out of it, and where they stood, in bytes."""

    change: Cut | Text
    before: bytes
    after: bytes
    spans: tuple[tuple[int, int], ...]

    def raw_items(self) -> Iterator[bytes]:
        """The records as they stood there."""
        for start, length in self.spans:
            yield self.before[start : start + length].strip(b"\r\n")


class Library(Ledger):
    """The records and documents of one vault."""

    lose_share = 0.3
    """The share of a document's entries that a rewrite may drop without its confirm token."""

    def __init__(
        self, *parts: Any, encoder: Callable[[], Encoder] | None = None, **rest: Any
    ) -> None:
        super().__init__(*parts, **rest)
        self.asker = Asker(self.index, encoder, clock=self.clock)

    def close(self) -> None:
        self.asker.close()
        super().close()

    def add(
        self, records: Sequence[Record], *, to: Sequence[str], author: Author
    ) -> tuple[Record, ...]:
        """Store records in the documents named. When this returns they are safe."""
        return self.locked(lambda: self._add(records, to, author))

    def _add(
        self, records: Sequence[Record], to: Sequence[str], author: Author
    ) -> tuple[Record, ...]:
        form = self.layout.line
        text = tuple(lines.write(record, form) for record in records)
        data = {}
        if not self.layout.carries_data:
            self.levelling.bring_up()
            records = self._as_read(records, text, to[0])
            data = {record.id: record.data() for record in records}
        ids = tuple(record.id for record in records)
        self.append(Op.ADD, text, to=to, author=author, ids=ids, data=data)
        return tuple(records)

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

    def _read(self, line: str, name: str, occurrence: int) -> Record:
        record = lines.read(line, reading=self.reading(name), occurrence=occurrence).record
        assert record is not None, "a line that was just written can be read"
        return record

    def hold(self, record: Record, *, author: Author) -> None:
        """Keep a record for a person to approve or reject. It goes into no document."""

        def work() -> None:
            self._note(Op.HOLD, record, author, lines=(lines.write(record, "native"),))

        self.locked(work)

    def held(self) -> list[Record]:
        """The records that wait, oldest first."""
        waiting = self.withheld()
        for op in (Op.APPROVE, Op.REJECT) if waiting else ():
            for entry in self._entries_of(op):
                waiting.pop(entry.ids[0], None)
        return list(waiting.values())

    def withheld(self) -> dict[str, Record]:
        """Every record that was ever held and not forgotten, whatever became of it."""
        entries = list(self._entries_of(Op.HOLD))
        forgotten = self.forgotten() if entries else {}
        return {
            entry.ids[0]: self._read(entry.lines[0], "", 0)
            for entry in entries
            if entry.ids[0] not in forgotten
        }

    def _entries_of(self, op: Op) -> Iterator[Entry]:
        return (entry for entry in self.journal.about(f'"op":"{op}"') if entry.op == op)

    def approve(self, record: Record, *, to: Sequence[str], author: Author) -> None:
        """Let a held record into the documents, exactly as it was held."""

        def work() -> None:
            self._add([record], to, author)
            self._note(Op.APPROVE, record, author)

        self.locked(work)

    def reject(self, record: Record, *, author: Author) -> None:
        """Take a held record off the list. The journal keeps it."""
        self.locked(lambda: self._note(Op.REJECT, record, author))

    def _note(self, op: Op, record: Record, author: Author, **rest: Any) -> None:
        self.check_writable()
        self.levelling.bring_up()
        self.journal.append(self.entry(op, (), ids=(record.id,), author=author, **rest))
        self.levelling.reached(self.journal.end())

    def remove(self, names: Sequence[str], *, author: Author) -> None:
        """Take whole documents away, in one change. The journal keeps them."""

        def work() -> None:
            texts = {name: (self._there(name), None) for name in names}
            entry = self.entry(Op.REPLACE, map(Gone, names), author=author)
            self.replace_texts(entry, texts)

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

    def _append_text(self, name: str, text: str, author: Author, *, headed: bool = True) -> Written:
        whole = text if text.endswith("\n") else text + "\n"
        if author.origin != Origin.OWNER:
            # Nor may it join the item above, or leave a fence open over what comes below.
            whole = documents.closed(documents.apart(documents.disarm(whole, keep=())))
        before = self._text_before(name, headed=headed)
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

    def rewrite(
        self,
        name: str,
        text: str,
        *,
        author: Author,
        etag: str = "",
        confirm: str = "",
        strict: bool = False,
    ) -> Written:
        """Put a whole new text in place, merged with what others wrote since `etag`.

        With `strict`, changes to the same lines are a `DocumentChanged`; without, both are kept.
        """

        def work() -> Written:
            now = self.vault.read(name) if self.look(name) else None
            new, merged, conflicts = self._merged(name, text, now, etag, author)
            new = self.without_returning(
                name, decoded(name, new), decoded(name, now or b"")
            ).encode()
            if conflicts and strict:
                raise DocumentChanged(name, etag_of(now or b""))
            if name not in (self.layout.soul, self.layout.user, self.layout.status):
                # Those are living documents, rewritten whole by whoever keeps them.
                self._refuse_great_loss(name, now or b"", new, confirm, author)
            self.put_text(
                Op.REPLACE,
                name,
                now,
                new,
                author=author,
                data=self.provenance(name, decoded(name, now or b""), decoded(name, new), author),
            )
            return Written(name, etag_of(self.vault.read(name)), merged, conflicts)

        return self.locked(work)

    def _merged(
        self, name: str, text: str, now: bytes | None, etag: str, author: Author
    ) -> tuple[bytes, bool, int]:
        if author.origin != Origin.OWNER:
            current = decoded(name, now or b"")
            text = self._disarmed(name, current, text, author)
            text = self._with_secrets(name, current, text)
        if not etag or now is None or etag_of(now) == etag:
            return text.encode(), False, 0
        base = self.text_marked(name, etag)
        if base is None:
            raise DocumentChanged(name, etag_of(now))
        merge = merging.merge(decoded(name, base), text, decoded(name, now))
        return merge.text.encode(), True, merge.conflicts

    def _disarmed(self, name: str, before: str, after: str, author: Author) -> str:
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

    def without_returning(self, name: str, text: str, now: str) -> str:
        """A new text without what was forgotten since somebody read the old one.

        A text typed again has another id, and is the person's wish.
        """
        back = {key for key in self.forgotten() if key in text and key not in now}
        items = self.parse(name, text).items if back else ()
        for item in reversed(self._returning(item for item in items if item.record.id in back)):
            text = text[: item.start] + text[item.end :]
        return text

    def _returning(self, items: Iterable[Item]) -> list[Item]:
        """Those of the items that were forgotten: the very text under the very id."""
        named = [item for item in items if not DERIVED.match(item.record.id)]
        forgotten = self.forgotten() if named else {}
        return [
            item
            for item in named
            if forgotten.get(item.record.id) == self._tombstone(item.record.text)
        ]

    def _with_secrets(self, name: str, before: str, after: str) -> str:
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
        entry = self.entry(op, [version], author=author, data=data or {})
        self.replace_texts(entry, {name: (before, after)})

    def text_marked(self, name: str, etag: str) -> bytes | None:
        """The text of a document that had this mark, from what the journal kept."""
        kept = self.journal.version(etag)
        if kept is not None:
            return kept
        text: bytes | None = None
        for entry in self.journal.entries():
            if name in entry.documents():
                text = replay.after(self.journal, text, entry, name)
                if text is not None and etag_of(text) == etag:
                    return text
        return None

    def _refuse_great_loss(
        self, name: str, before: bytes, after: bytes, confirm: str, author: Author
    ) -> None:
        old, new = decoded(name, before), decoded(name, after)
        was, now = self.parse(name, old), self.parse(name, new)
        words = set(WORD.findall(new.lower()))
        lost = [record for record in documents.dropped(was, now) if _is_lost(record, words)]
        token = etag_of(b"\0".join((name.encode(), before, after)))[:8]
        if len(lost) > self.lose_share * len(was.items) and confirm != token:
            if author.origin != Origin.OWNER:
                old, new = self.without_secrets(name, old), self.without_secrets(name, new)
            diff = neutralise(merging.diff(old, new))
            raise WouldLose(name, lost=len(lost), total=len(was.items), diff=diff, token=token)

    def strike(self, ids: Sequence[str], *, author: Author, undoes: int = -1) -> None:
        """Take records out of every document they stand in. The journal keeps them."""

        def work() -> None:
            self.take_in_changes()
            struck = self._struck(ids)
            entry = self.entry(
                Op.STRIKE if undoes < 0 else Op.UNDO,
                [each.change for each in struck],
                ids=tuple(ids),
                removed=tuple(ids),
                author=author,
                undoes=undoes,
            )
            self.replace_texts(entry, _texts_of(struck))

        self.locked(work)

    def _struck(self, ids: Sequence[str], *, torn: Iterable[str] = ()) -> list[_Struck]:
        """The documents that these records stand in, and how they are without them.

        Those named `torn` hold pieces of them.
        """
        names = {place.document for key in ids for place in self.found(key).places}
        return [self._struck_from(name, set(ids)) for name in sorted(names.union(torn))]

    def _torn(self, ids: Iterable[str]) -> set[str]:
        """The documents in which the data of one of these records stands: where a person wrote
        into the middle of it, that is prose, and no place of the record.
        """
        marks = [f'{{"id":"{key}"'.encode() for key in ids]
        texts = {name: self.vault.read(name) for name in self.vault.listing().documents}
        return {name for name, data in texts.items() if any(mark in data for mark in marks)}

    def _struck_from(self, name: str, ids: set[str]) -> _Struck:
        before = self.vault.read(name)
        text = decoded(name, before)
        spans = spans_of(text, self.parse(name, text), ids)
        after = without(before, spans)
        apart = _without_data(self._told_apart(name, decoded(name, after), ids), ids)
        if apart == after:
            return _Struck(Cut(name, spans), before, after, spans)
        return _Struck(Text(name, self.journal.keep(apart)), before, apart, spans)

    def _told_apart(self, name: str, text: str, ids: set[str]) -> bytes:
        """The text with ids of their own in lines that somebody copied from one of these records
        and reworded: they would pass for it once it is gone.
        """

        def apart(record: Record) -> Record:
            return replace(record, id=derived_id(record.id, record.text))

        return self._rewritten(name, text, ids, apart)

    def unlink(self, record_id: str, *, author: Author) -> None:
        """Take from a record what it says it replaces, wherever it stands. It can be undone."""

        def work() -> None:
            self.take_in_changes()
            hit = self.found(record_id)
            texts: dict[str, tuple[bytes | None, bytes | None]] = {}
            for name in sorted({place.document for place in hit.places}):
                before = self.vault.read(name)
                texts[name] = (before, self._unlinked(name, decoded(name, before), record_id))
            told = [Text(name, self.journal.keep(new or b"")) for name, (_, new) in texts.items()]
            alone = replace(hit.record, supersedes="")
            data = {} if self.layout.carries_data else {record_id: alone.data()}
            entry = self.entry(Op.REPLACE, told, ids=(record_id,), author=author, data=data)
            self.replace_texts(entry, texts)

        self.locked(work)

    def _unlinked(self, name: str, text: str, record_id: str) -> bytes:
        return self._rewritten(
            name, text, {record_id}, lambda record: replace(record, supersedes="")
        )

    def _rewritten(
        self, name: str, text: str, ids: set[str], change: Callable[[Record], Record]
    ) -> bytes:
        """The text with the lines of these records written anew."""
        found = [item for item in self.parse(name, text).items if item.record.id in ids]
        for item in reversed(found):
            line = lines.write(change(item.record), self.layout.line)
            if "\r\n" in text[item.start : item.end]:
                line = line.replace("\n", "\r\n")
            text = text[: item.start] + line + text[item.end :]
        return text.encode()

    def found(self, record_id: str) -> Hit:
        hit = self.index.get(record_id)
        if hit is None:
            raise NoSuchRecord(record_id)
        return hit

    def forget(self, ids: Sequence[str], *, author: Author) -> Receipt:
        """Erase records for good: documents, kept versions, journal, index."""

        def work() -> Receipt:
            self.take_in_changes()
            for name, why in self.troubles.items():
                # A document that cannot be read may hold what is to be erased.
                self.text(name)
                raise VaultTrouble(why)
            return self._forget(ids, author)

        return self.locked(work)

    def _forget(self, ids: Sequence[str], author: Author) -> Receipt:
        withheld = self.withheld()
        held = tuple(key for key in ids if key in withheld)
        lost = [key for key in ids if key not in held and not self.index.get(key)]
        departed = self.departed(lambda record: record.id in lost) if lost else {}
        live = [key for key in ids if self.index.get(key)]
        struck = self._struck(live, torn=self._torn(ids))
        past = withheld | {key: gone.record for key, gone in departed.items()}
        told = {key: (past.get(key) or self.found(key).record).text for key in ids}
        needles = [*ids, *map(_needle, told.values())]
        raws = {raw for each in struck for raw in each.raw_items()}
        raws.update(raw for gone in departed.values() for raw in gone.raws)
        hashes = {key: self._tombstone(text) for key, text in told.items()}
        changes = [each.change for each in struck]
        entry = self.entry(Op.FORGET, changes, ids=tuple(ids), author=author, data=hashes)
        entry = replace(entry, removed=tuple(ids))
        texts = _texts_of(struck)
        self.write_texts(entry, texts)
        erased = self._erase(ids, needles, raws)
        self.levelling.reached(self.journal.end())
        return Receipt(tuple(ids), tuple(texts), erased, held)

    def departed(
        self, wanted: Callable[[Record], bool], *, words: Iterable[str] = ()
    ) -> dict[str, Departed]:
        """The records that stand in no document any more, of which the journal still tells.

        With `words`, only kept texts are looked at in which all of them stand, in whatever case.
        """
        found: dict[str, Departed] = {}
        for record, raw in self._told_of([word.casefold() for word in words]):
            if record.kind != PASSAGE and wanted(record):
                before = found.get(record.id)
                raws = before.raws | {raw} if before else frozenset((raw,))
                found[record.id] = Departed(record, raws)
        forgotten = self.forgotten() if found else {}
        return {
            key: gone
            for key, gone in found.items()
            if key not in forgotten and not self.index.get(key)
        }

    def _told_of(self, words: Sequence[str]) -> Iterator[tuple[Record, bytes]]:
        """Every record in the journal's lines and kept texts, with how it was written there.

        But for those that were held: they are a person's to judge.
        """
        for entry in self.journal.entries():
            if entry.op == Op.HOLD:
                continue
            name = next(iter(entry.documents()), "")
            for line, key in zip_longest(entry.lines, entry.ids[: len(entry.lines)]):
                for record, raw in self._written_in(name, line):
                    yield replace(record, id=key or record.id), raw
            for change in entry.changes:
                if isinstance(change, Text):
                    kept = self.journal.version(change.version) or b""
                    text = decoded(change.document, kept, lenient=True)
                    if all(word in text.casefold() for word in words):
                        yield from self._written_in(change.document, text)

    def _written_in(self, name: str, text: str) -> Iterator[tuple[Record, bytes]]:
        for item in self.parse(name, text).items:
            yield item.record, text[item.start : item.end].encode().strip(b"\r\n")

    def _erase(self, ids: Sequence[str], needles: Sequence[str], raws: set[bytes]) -> int:
        wanted = set(ids)

        def clean(data: bytes) -> bytes:
            text = decoded("", data, lenient=True)
            if text.encode() != data:
                return data
            data = _blanked(data, spans_of(text, self.parse("", text), wanted))
            for raw in raws:
                data = data.replace(raw, BLANK * len(raw))
            return data

        told = [needle for needle in needles if needle.strip()]
        erased = self.journal.scrub(ids, needles=told, clean=clean)
        self.index.erase(ids)
        return erased + self.vault.sweep([*map(str.encode, told), *filter(None, raws)])

    def finish_forgetting(self, level: int) -> None:
        for entry in list(self.journal.entries(since=level)):
            if entry.op == Op.FORGET:
                raws = {
                    line.encode().strip(b"\r\n")
                    for key in entry.ids
                    for told in self.journal.about(key)
                    for name, line in zip(told.ids, told.lines)
                    if name == key
                }
                self._erase(entry.ids, entry.ids, raws)

    def forgotten(self) -> dict[str, str]:
        """The records that were forgotten and may not come back: id and salted hash of the text."""
        return {k: v for entry in self._entries_of(Op.FORGET) for k, v in entry.data.items()}

    def without_forgotten(self, records: Iterable[Record]) -> list[Record]:
        """The records but for those whose very text was forgotten."""
        hashes = set(self.forgotten().values())
        return [record for record in records if self._tombstone(record.text) not in hashes]

    def _tombstone(self, text: str) -> str:
        from hashlib import blake2b

        salt = self.journal.mark().encode()
        return blake2b(text.encode(), key=salt[:64], digest_size=16).hexdigest()

    def edited_outside(self, name: str, parsed: Parsed) -> None:
        """Forget anew what a stale save brought back. A text typed again is the person's wish."""
        back = {item.record.id for item in self._returning(parsed.items)}
        if back and not self.refusal:
            self._forget(sorted(back), SYSTEM)

    def text(self, name: str) -> tuple[str, str]:
        """A document's text and its mark."""
        data = self.vault.read(name)
        return decoded(name, data), etag_of(data)

    def find(self, query: Query) -> Found:
        found = self.index.while_level(lambda: self.asker.find(query))
        if found is None:
            self.refresh()
            found = self.asker.find(query)
        return found

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


def _without_data(text: bytes, ids: Iterable[str]) -> bytes:
    """A text without the data of these records, where no line has it any more."""
    for key in ids:
        if key.encode() in text:
            text = re.sub(DATA_OF % re.escape(key).encode(), b"", text)
    return text


def _texts_of(struck: Iterable[_Struck]) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {each.change.document: (each.before, each.after) for each in struck}


def _needle(text: str) -> str:
    """By which a kept version that holds a record of this text can be told."""
    return max(text.split("\n"), key=len)


def _is_lost(record: Record, words: set[str]) -> bool:
    """Whether a text is gone rather than said in other words: most of its own are nowhere."""
    own = set(WORD.findall(record.text.lower()))
    return len(own & words) < len(own) / 2 or not own


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


def spans_of(text: str, parsed: Parsed, ids: set[str]) -> tuple[tuple[int, int], ...]:
    """Where these records stand in a text, in bytes."""
    spans: list[tuple[int, int]] = []
    at = offset = 0
    for item in parsed.items:
        if item.record.id in ids:
            start = offset + len(text[at : item.start].encode())
            spans.append((start, len(text[item.start : item.end].encode())))
            at, offset = item.end, sum(spans[-1])
    return tuple(spans)


def _blanked(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    blank = bytearray(data)
    for start, length in spans:
        blank[start : start + length] = BLANK * length
    return bytes(blank)
