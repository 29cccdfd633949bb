"""Take in what was done to the documents from outside: edits, deletions and stale saves.

`take_in` is the whole story of one edit: it journals the new text, puts back the lines that the
save overwrote, indexes the document, and tells the owner where a person has to look.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.library import marking
from commonplace.library.copied_lines import Copies
from commonplace.library.erase import Eraser
from commonplace.library.index_sync import went_back
from commonplace.library.record_reader import decoded
from commonplace.library.stale_saves import Appended, SaveObservation, StaleSaves
from commonplace.library.writer import Writer
from commonplace.markdown import documents, mending, record_lines
from commonplace.model.files import Known
from commonplace.model.records import DERIVED, SYSTEM, Author, Origin, Record
from commonplace.search.index import Query
from commonplace.storage.brackets import Brackets
from commonplace.storage.journal import OWES, Gone, Op, Text, document_at
from commonplace.storage.notices import Notice, Notices
from commonplace.storage.vault import Stat

if TYPE_CHECKING:
    from commonplace.markdown.documents import Parsed


class OutsideEdits:
    """What others did to the documents of one vault. Everything here is called under the lock."""

    def __init__(
        self, writer: Writer, eraser: Eraser, *, notices: Notices, brackets: Brackets
    ) -> None:
        """`brackets` say who writes from outside just now: the person, or a tool."""
        self.writer = writer
        self.eraser = eraser
        self.notices = notices
        self.brackets = brackets
        self.shared = writer.shared
        self.sync = writer.sync
        self.vault = writer.shared.vault
        self.journal = writer.shared.journal
        self.index = writer.shared.index
        self.reader = writer.shared.reader
        self.clock = writer.shared.clock
        self.stale = StaleSaves(writer.sync)
        self.copies = Copies(writer)
        self._replacing: dict[str, Record] = {}
        """Records that replaced others until somebody took them out, and are not marked yet."""

    def healed(
        self,
        name: str,
        data: bytes,
        stat: Stat,
        known: Known | None,
        *,
        expected: bytes | None = None,
    ) -> tuple[bytes, Stat]:
        """A text with what a power cut took from it, without the NUL bytes that it left, and how
        its document looks.

        `expected` is what the journal says it says, if the caller knows.
        """
        cut = known and (self.sync.after_power_cut or went_back(known, stat))
        if known is None or not (cut or b"\0" in data):
            return data, stat
        if expected is None:
            expected = document_at(self.journal, name, since=known.base)
        if expected is None or not mending.is_damaged(data, expected):
            return data, stat
        mended = mending.refilled(data, expected)
        found = self.writer.mend(name, data, mended)
        return (mended, found) if found else (data, stat)

    def observe(self, name: str, known: Known, stat: Stat) -> None:
        """Remember what one of several saves tells, before the document has come to rest."""
        seen = self.stale.observe(name, known, stat)
        self.index.note(name, known=replace(known, glimpse=seen.written()))

    def take_in(
        self,
        name: str,
        data: bytes,
        parsed: Parsed,
        stat: Stat,
        known: Known | None,
        *,
        expected: bytes | None = None,
    ) -> Known:
        """Index a document as it is now; journal what was done to it from outside, and mend it.

        `expected` is what the journal says it says, if the caller knows.
        """
        moved = self._left_their_sections(name, data, parsed)
        if moved:
            parsed = _with_kinds(parsed, moved)
        base = known.base if known else -1
        lost: list[Appended] = []
        gone: list[Appended] = []
        if known and expected is None:
            expected = document_at(self.journal, name, since=base)
            # Even of a text that the journal has: whoever noted it may not have come further.
            lost, gone = self.stale.missing(name, known, stat, data)
        elif known and (expected != data or known.glimpse):
            lost, gone = self.stale.missing(name, known, stat, data)
        ours: list[Appended] = []
        if expected is None:
            base = self._journal_seen(name, data, parsed)
        elif known and expected != data:
            ours = self._unknown_elsewhere(name, data, expected, parsed)
            back = {piece.key for piece in lost}
            lost += [piece for piece in ours if piece.key not in back]
            base = self._journal_edit(name, data, expected, parsed, lost, since=known.base)
            if gone and not ours:
                self._tell_taken_out(name, base, gone)
        now = Known(self.sync.signature(stat, data), parsed.lines, base)
        if known and lost:
            merged = self.stale.merged(name, known, lost, ours=expected or b"", theirs=data)
            self._index_and_put_back(name, parsed, now, lost, before=known, texts=(data, merged))
            if ours:
                self.tell_united(name, now.base, len(ours))
        else:
            self.sync.index_whole(name, parsed, now)
        if expected is not None and expected != data and not self.shared.refusal:
            self.eraser.forget_again(parsed)
        if not self.shared.refusal:
            self._note_kinds(name, moved)
            self.copies.follow(name)
        return self.sync.known(name)

    def _left_their_sections(self, name: str, data: bytes, parsed: Parsed) -> dict[str, str]:
        """The kinds of records whose lines say none, now that they stand below no such heading."""
        if not self.shared.layout.sections:
            return {}
        text = decoded(name, data)
        silent = {
            item.record.id: item.start
            for item in parsed.items
            if item.record.kind == "note"
            and not DERIVED.match(item.record.id)
            and '"kind"' not in text[item.start : item.end]
        }
        known = self.index.get_all(silent) if silent else {}
        lost = {key: each.kind for key, each in known.items() if each.kind != "note"}
        if not lost:
            return {}
        kinds = self.reader.reading(name).sections
        notes = [s for s in documents.sections(text) if s.title.casefold() in kinds]
        return {
            key: kind
            for key, kind in lost.items()
            if not any(section.body <= silent[key] < section.end for section in notes)
        }

    def _note_kinds(self, name: str, kinds: Mapping[str, str]) -> None:
        """Write the kinds of these records into their lines."""
        if not kinds:
            return
        before = after = self.vault.read(name)
        for key, kind in kinds.items():
            record = self.shared.found(key).record
            after = marking.with_note(self.writer, name, after, record, kind=kind)
        change = Text(name, self.journal.keep(after))
        entry = self.shared.entry(Op.MARK, [change], ids=tuple(kinds), author=SYSTEM)
        self.writer.replace_texts(entry, {name: (before, after)})

    def _unknown_elsewhere(
        self, name: str, data: bytes, expected: bytes, parsed: Parsed
    ) -> list[Appended]:
        """What of a document's text nobody can have deleted who wrote the one that is there.

        Where journal and documents come from different places, that is all of it. A text with
        records that this vault never wrote comes from another one: who wrote it had seen ours up
        to the last that is in it.
        """
        text = decoded(name, expected, lenient=True)
        before, now = self.reader.parse(name, text).items, {it.record.id for it in parsed.items}
        if not self.sync.elsewhere and not self._is_anothers(
            parsed, {it.record.id for it in before}
        ):
            return []
        shared = [it.record for it in before if it.record.id in now]
        last = max((record.timestamp for record in shared), default="")
        said = decoded(name, data)
        return [
            _piece(it.record, line, self.clock.stamp())
            for it in before
            if it.record.id not in now
            and (self.sync.elsewhere or not shared or _is_later(it.record, last))
            and (line := text[it.start : it.end].replace("\r\n", "\n").rstrip("\n") + "\n").strip()
            and line.strip() not in said
            and "\x7f" not in line
        ]

    def _is_anothers(self, parsed: Parsed, before: set[str]) -> bool:
        """Whether records stand in a text that carry ids of which this vault never heard."""
        fresh = (it.record.id for it in parsed.items)
        carried = (key for key in fresh if key not in before and not DERIVED.match(key))
        return any(
            not self.index.get(key) and next(iter(self.journal.about(key)), None) is None
            for key in carried
        )

    def _index_and_put_back(
        self,
        name: str,
        parsed: Parsed,
        now: Known,
        lost: list[Appended],
        *,
        before: Known,
        texts: tuple[bytes, bytes | None],
    ) -> None:
        """Until what is lost is back, the document counts as one to look at, from the same base."""
        owed = SaveObservation(now.signature.mtime_ns, tuple(piece.key for piece in lost))
        unlike = replace(now.signature, size=-1)
        pending = Known(unlike, now.lines, before.base, owed.written())
        self.sync.index_whole(name, parsed, pending)
        self.sync.progress.documents[name] = now
        saved, merged = texts
        try:
            if merged is None:
                self.writer.put_back(name, [(piece.id, piece.line, piece.kind) for piece in lost])
            else:
                self.writer.put_back_text(name, saved, merged)
        except BaseException:
            self.sync.progress.documents.pop(name, None)
            raise
        if self.sync.progress.documents.get(name) is now:
            # Nothing may be written here.
            self.index.note(name, known=now)

    def _journal_edit(
        self,
        name: str,
        data: bytes,
        expected: bytes,
        parsed: Parsed,
        lost: list[Appended],
        *,
        since: int,
    ) -> int:
        """Note what an edit did. The lines that are `lost` were written `since` that position."""
        now = {item.record.id: item.record.text for item in parsed.items}
        before = self.reader.parse(name, decoded(name, expected, lenient=True))
        was = {item.record.id: item.record.text for item in before.items}
        self._note_lost(before, there=now)
        back = {piece.id for piece in lost}
        changed = tuple(key for key, text in now.items() if was.get(key) != text)
        removed = tuple(key for key in was if key not in now and key not in back)
        author = self.brackets.writer()
        fresh = self._fresh(before, parsed, author)
        position = self.journal_text(
            Op.EDITED,
            name,
            data,
            author,
            ids=changed + removed,
            removed=removed,
            data={record.id: _whose(author) for record in fresh} | ({OWES: since} if lost else {}),
        )
        if author.origin != Origin.OWNER:
            self._hold(fresh, author)
        else:
            self.copies.note(
                name, position, before, parsed, removed=removed, back=back, since=since
            )
        return position

    def _journal_seen(self, name: str, data: bytes, parsed: Parsed) -> int:
        """Note what a document says that was never looked at."""
        author = self.brackets.writer()
        if author.origin == Origin.OWNER:
            return self.journal_text(Op.SEEN, name, data, SYSTEM)
        fresh = self._fresh(None, parsed, author)
        told = {record.id: _whose(author) for record in fresh}
        position = self.journal_text(Op.SEEN, name, data, author, data=told)
        self._hold(fresh, author)
        return position

    def journal_text(self, op: Op, name: str, text: bytes, author: Author, **rest: Any) -> int:
        """Note what a document says. Returns where that stands in the journal."""
        version = Text(name, self.journal.keep(text))
        return self.journal.append(self.shared.entry(op, [version], author=author, **rest)).position

    def _fresh(self, before: Parsed | None, parsed: Parsed, author: Author) -> list[Record]:
        """The records of a text of which it has to be noted whom they are from.

        That is what a tool has written or changed, and what the person made of such lines.
        """
        was = {item.record.id: item.record for item in before.items} if before else {}
        new = [item.record for item in parsed.items if was.get(item.record.id) != item.record]
        known = self.index.get_all(record.id for record in new) if new else {}
        if author.origin == Origin.OWNER:
            carried = [record for record in new if not DERIVED.match(record.id)]
            return [r for r in carried if r.id in known and known[r.id].origin == Origin.TOOL]
        return [record for record in new if not _says_the_same(record, known.get(record.id))]

    def _hold(self, records: list[Record], author: Author) -> None:
        """Hold what a tool wrote, wherever it stands: a recall would tell it to agents."""
        for record in records:
            whose = replace(record, origin=author.origin, session=author.session)
            lines = (record_lines.write(whose, "native"),)
            self.journal.append(
                self.shared.entry(Op.HOLD, (), ids=(record.id,), author=author, lines=lines)
            )

    def take_in_removal(self, name: str) -> None:
        """Journal that somebody took a document away, and drop it from the index."""
        self.sync.catch_up_index()
        said = document_at(self.journal, name, since=self.sync.base_of(name))
        self.journal_gone(name, said or b"", removed=tuple(self._ids_in(name)))
        with self.index.transaction():
            self.index.drop(name)
            self.sync.mark_synced(self.journal.end())

    def journal_gone(self, name: str, said: bytes, *, removed: tuple[str, ...] = ()) -> None:
        """Note that somebody took a document away that said this."""
        self._note_lost(self.reader.parse(name, decoded(name, said, lenient=True)), there={})
        author = self.brackets.writer()
        self.journal.append(
            self.shared.entry(Op.EDITED, [Gone(name)], removed=removed, author=author)
        )

    def _ids_in(self, name: str) -> list[str]:
        everything = Query(
            documents=(name,), include_superseded=True, include_secret=True, limit=1 << 30
        )
        return [hit.record.id for hit in self.index.search(everything)]

    def _note_lost(self, before: Parsed, *, there: Container[str]) -> None:
        """Remember what of a text replaced other records and is not there any more."""
        gone = [item.record for item in before.items if item.record.id not in there]
        for record in self.reader.as_indexed(gone):
            if record.supersedes:
                self._replacing[record.id] = record

    def mark_lost(self) -> None:
        """Mark what was replaced by records that a person's edit took out."""
        while self._replacing:
            records = list(self._replacing.values())
            self._replacing.clear()
            if not self.shared.refusal:
                marking.mark_lost(self.writer, records)

    def _tell_taken_out(self, name: str, position: int, pieces: list[Appended]) -> None:
        """Tell the owner of lines that an edit took out soon after they were written."""
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

    def tell_united(self, name: str, position: int, count: int) -> None:
        """Tell the owner how many lines of ours were put back into a text from elsewhere, or with
        0 of them a whole document.
        """
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


def _with_kinds(parsed: Parsed, kinds: Mapping[str, str]) -> Parsed:
    """What a document says, with these kinds of some records."""
    items = (
        it._replace(record=replace(it.record, kind=kinds[it.record.id]))
        if it.record.id in kinds
        else it
        for it in parsed.items
    )
    return replace(parsed, items=tuple(items))


def _piece(record: Record, line: str, at: str) -> Appended:
    """A line to put back. What carries no id has the one that its new place gives it."""
    return Appended("" if DERIVED.match(record.id) else record.id, line, at, 0)


def _whose(author: Author) -> dict[str, str]:
    session = {"session": author.session} if author.session else {}
    return {"origin": author.origin, **session}


def _says_the_same(record: Record, other: Record | None) -> bool:
    """Whether a line only stands elsewhere now."""
    said = (
        *("text", "kind", "tags", "supersedes", "sensitivity", "valid_from", "valid_to"),
        *("when", "must"),
    )
    return other is not None and all(getattr(record, n) == getattr(other, n) for n in said)


def _is_later(record: Record, last: str) -> bool:
    return not DERIVED.match(record.id) and record.timestamp > last
