"""Takes in what was done to the documents from outside: edits, deletions and stale saves.

It decides what a text that is not as we left it means. How a change of our own is made it does not
know, nor what a dead writer left half done.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.library.index_sync import Levelling
from commonplace.library.record_reader import decoded
from commonplace.markdown.layouts import copy_of
from commonplace.model.clock import Clock, from_ns, monotonic
from commonplace.model.errors import NoSuchDocument, Unreadable
from commonplace.model.files import Known, Signature
from commonplace.model.lazy import Lazy
from commonplace.model.records import DERIVED, SYSTEM, Author, Origin, Record, etag_of
from commonplace.search.index import Query
from commonplace.storage.journal import Gone, Op, Text, document_at, new_entry
from commonplace.storage.vault import Stat

if TYPE_CHECKING:
    from commonplace.library import own_lines, stale
    from commonplace.library.stale import Appended, Glimpse
    from commonplace.markdown import mending, merge
    from commonplace.markdown.documents import Parsed
else:
    mending, merge, own_lines = (
        Lazy("markdown.mending"),
        Lazy("markdown.merge"),
        Lazy("library.own_lines"),
    )
    stale = Lazy("library.stale")

SETTLED = 0.05
"""Seconds without a write after which an outside save counts as finished …"""
SETTLED_SHRUNK = 1.0
"""… and when much is missing, which may still be on its way."""
PATIENCE = 2.0
"""… and with a program that saves without a pause, when there is nothing to wait for …"""
PATIENCE_SHRUNK = 5.0
"""… even if much is missing: then a short rest is enough …"""
IMPATIENCE = 60.0
"""… for so long."""
SHRUNK = 0.7
RACY_NS = 20_000_000
"""A write so soon after the last look may leave no mark in a time that moves in ticks of 4 ms."""


class Unsettled(Exception):
    """Somebody is writing a document right now: look again in `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Outside:
    """The documents of one vault as others leave them."""

    def __init__(
        self,
        levelling: Levelling,
        *,
        clock: Clock,
        put_back: Callable[[str, list[Appended]], None],
        put_back_text: Callable[[str, bytes, bytes], None],
        edited: Callable[[str, Parsed], None],
        taken: Callable[[str, int, list[Appended]], None],
        united: Callable[[str, int, int], None],
        lost: Callable[[list[Record]], None],
        writer: Callable[[], Author],
        appeared: Callable[[str, list[Record], Author], None],
        mend: Callable[[str, bytes, bytes], Stat | None],
    ) -> None:
        """`taken` is told what an edit, journalled at a position, took out of a document soon
        after it was written; `united` how many lines of ours a text from elsewhere lacked, and
        where it is journalled that they were put back. `writer` says who writes from outside just
        now, and `appeared` is told which lines are theirs where that is not the person.
        """
        self.levelling = levelling
        self.vault = levelling.vault
        self.journal = levelling.journal
        self.index = levelling.index
        self.reader = levelling.reader
        self.clock = clock
        self.put_back = put_back
        self.put_back_text = put_back_text
        self.edited = edited
        self.taken = taken
        self.united = united
        self.lost = lost
        self.writer = writer
        self.appeared = appeared
        self.mend = mend
        self.troubles: dict[str, str] = {}
        """What could not be read at the last look, and a sentence that says why."""
        self.after_power_cut = False
        """Then what the system says of reads and saves tells nothing."""
        self.copies: dict[str, str] = {}
        """What sync programs put beside documents, as seen at the last look."""
        self.elsewhere = False
        """Then journal and documents come from different places, and neither tells of deletions."""
        self._missing: dict[str, float] = {}
        self._unlisted: set[str] = set()
        self._unsettled: dict[str, float] = {}
        self._saved: dict[tuple[str, str], int] = {}
        self._replacing: dict[str, Record] = {}
        """What replaced other records until somebody took it out, and is not told of yet."""

    def changed(self) -> list[str]:
        """The documents that do not look as the index knows them."""
        if self.vault.transactional:
            return []
        known, listing = (
            self.index.known() | self.levelling.progress.documents,
            self.vault.listing(),
        )
        hidden = tuple(listing.unreadable)
        for path in self._unlisted - listing.unreadable.keys():
            self.troubles.pop(path, None)
        self._unlisted = set(listing.unreadable)
        self.troubles.update(listing.unreadable)
        self.copies = listing.copies
        gone = [name for name in known if name not in listing.documents]
        return [name for name in gone if not (hidden and name.startswith(hidden))] + [
            name
            for name, stat in listing.documents.items()
            if not self._same(name, known.get(name), stat)
        ]

    def _same(self, name: str, known: Known | None, stat: Stat) -> bool:
        if known is None:
            return False
        was = known.signature
        if (was.size, was.mtime_ns, was.inode) != (stat.size, stat.mtime_ns, stat.inode):
            return False
        return not was.racy or self._same_text(name, known, stat)

    def _same_text(self, name: str, known: Known, stat: Stat) -> bool:
        """Settle by its text whether a document was changed within a tick of our last look."""
        was = known.signature
        if not was.digest or etag_of(self.vault.read(name)) != was.digest:
            return False
        if not self.is_racy(stat):
            self.index.note(name, known=replace(known, signature=replace(was, racy=False)))
        return True

    def is_racy(self, stat: Stat) -> bool:
        return not stat.stamped and self.clock.now_ns() - stat.mtime_ns < RACY_NS

    def signature(
        self, stat: Stat, data: bytes | None = None, *, size: int | None = None
    ) -> Signature:
        """The mark of a document as it looks, or of the size that it must have.

        If somebody wrote in between, its real size differs and the next look tells.
        """
        racy = self.is_racy(stat)
        return Signature(
            size=stat.size if size is None else size,
            mtime_ns=stat.mtime_ns,
            inode=stat.inode,
            atime_ns=stat.atime_ns,
            # Only a doubtful time needs it, and a long text takes long.
            digest=etag_of(data) if racy and data is not None else "",
            racy=racy,
        )

    def look_at_all(self) -> None:
        """Bring everything that changed up to date. Called under the lock."""
        self.levelling.bring_up()
        for name in self.changed():
            try:
                self.look(name)
            except Unreadable as error:
                # Not to be read is not the same as deleted: what the index has of it stays.
                self.troubles[name] = str(error)
        self.levelling.bring_up()
        self.tell_lost()

    def tell_lost(self) -> None:
        """Tell of what replaced others and was taken out. Called under the lock."""
        while self._replacing:
            records = list(self._replacing.values())
            self._replacing.clear()
            self.lost(records)

    def look(self, name: str) -> Known | None:
        """Bring what the index knows of one document up to date. Called under the lock."""
        known = self.levelling.known_of(name)
        if known and self.vault.transactional:
            return known
        if copy_of(name):
            self.index.drop(name)
            return None
        stat = self.vault.stat(name)
        if stat is None:
            if known:
                self._note_gone(name)
            return None
        self._missing.pop(name, None)
        if known and self._same(name, known, stat):
            return known
        self.levelling.bring_up()
        known = self.index.known_of(name)
        self._wait_until_settled(name, known, stat)
        try:
            data = self.vault.read(name)
        except NoSuchDocument:
            raise Unsettled(SETTLED) from None
        if self.vault.stat(name) != stat:
            raise Unsettled(SETTLED)
        data, stat = self.healed(name, data, stat, known)
        parsed = self.reader.parse(name, decoded(name, data))
        self.troubles.pop(name, None)
        return self.take_in(name, data, parsed, stat, known)

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
        cut = known and (self.after_power_cut or went_back(known, stat))
        if known is None or not (cut or b"\0" in data):
            return data, stat
        if expected is None:
            expected = document_at(self.journal, name, since=known.base)
        if expected is None or not mending.is_damaged(data, expected):
            return data, stat
        mended = mending.refilled(data, expected)
        found = self.mend(name, data, mended)
        return (mended, found) if found else (data, stat)

    def _wait_until_settled(self, name: str, known: Known | None, stat: Stat) -> None:
        if known is None:
            return
        shrunk = stat.size == 0 or stat.size < SHRUNK * known.signature.size
        age = (self.clock.now_ns() - stat.mtime_ns) / 1e9
        if not 0 <= age < (SETTLED_SHRUNK if shrunk else SETTLED):
            self._unsettled.pop(name, None)
            return
        waited = self._waited(name)
        if shrunk:
            needed = SETTLED_SHRUNK if waited < PATIENCE_SHRUNK else SETTLED
        else:
            needed = SETTLED if waited < PATIENCE else 0.0
        if age < needed:
            glimpse = self._glimpse(name, known, stat)
            self.index.note(name, known=replace(known, glimpse=glimpse.written()))
            # Look often: each of several saves tells something.
            raise Unsettled(min(needed - age, SETTLED))

    def _waited(self, name: str) -> float:
        """How long a document has not come to rest; who wrote in spite of that for the last save
        does not wait for the next one from the beginning.
        """
        now = monotonic()
        began = self._unsettled.get(name, now)
        self._unsettled[name] = began = began if now - began < IMPATIENCE else now
        return now - began

    def _note_gone(self, name: str) -> None:
        # Some editors move the old file away before they write the new one.
        if monotonic() - self._missing.setdefault(name, monotonic()) < SETTLED:
            raise Unsettled(SETTLED)
        self.levelling.bring_up()
        said = document_at(self.journal, name, since=self.levelling.base_of(name))
        self.journal_gone(name, said or b"", removed=tuple(self._ids_in(name)))
        with self.index.transaction():
            self.index.drop(name)
            self.levelling.reached(self.journal.end())

    def journal_gone(self, name: str, said: bytes, *, removed: tuple[str, ...] = ()) -> None:
        """Note that somebody took a document away that said this."""
        self._note_lost(self.reader.parse(name, decoded(name, said, lenient=True)), there={})
        at = self.clock.stamp()
        self.journal.append(
            new_entry(Op.EDITED, [Gone(name)], at=at, removed=removed, author=self.writer())
        )

    def _ids_in(self, name: str) -> list[str]:
        everything = Query(
            documents=(name,), include_superseded=True, include_secret=True, limit=1 << 30
        )
        return [hit.record.id for hit in self.index.search(everything)]

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
        base = known.base if known else -1
        lost: list[Appended] = []
        gone: list[Appended] = []
        if known and expected is None:
            expected = document_at(self.journal, name, since=base)
            # Even of a text that the journal has: whoever noted it may not have come further.
            lost, gone = self._missing_of(name, known, stat, data)
        elif known and expected != data:
            lost, gone = self._missing_of(name, known, stat, data)
        ours: list[Appended] = []
        if expected is None:
            base = self._journal_seen(name, data, parsed)
        elif known and expected != data:
            ours = self._unknown_elsewhere(name, data, expected, parsed)
            back = {piece.key for piece in lost}
            lost += [piece for piece in ours if piece.key not in back]
            gone = [] if ours else gone
            base = self._journal_edit(name, data, expected, parsed, lost)
            if gone:
                self.taken(name, base, gone)
        now = Known(self.signature(stat, data), parsed.lines, base)
        if known and lost:
            merged = self._merged(name, known, lost, ours=expected or b"", theirs=data)
            self._index_and_put_back(name, parsed, now, lost, before=known, texts=(data, merged))
            if ours:
                self.united(name, now.base, len(ours))
        else:
            self.levelling.index_whole(name, parsed, now)
        if expected is not None and expected != data:
            self.edited(name, parsed)
        return self.known(name)

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
        if not self.elsewhere and not self._is_anothers(parsed, {it.record.id for it in before}):
            return []
        shared = [it.record for it in before if it.record.id in now]
        last = max((record.timestamp for record in shared), default="")
        said = decoded(name, data)
        return [
            _piece(it.record, line, self.clock.stamp())
            for it in before
            if it.record.id not in now
            and (self.elsewhere or not shared or _is_later(it.record, last))
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

    def _merged(
        self, name: str, known: Known, lost: list[Appended], *, ours: bytes, theirs: bytes
    ) -> bytes | None:
        """A saved text with all that we changed since it was loaded; None if we only appended."""
        first = min(piece.position for piece in lost)
        was_begun = known.signature.size < 0
        if first < 0 or was_begun or own_lines.only_appended(self.journal, name, since=first):
            return None
        since = self._last_outside(name, known.base)
        loaded = own_lines.loaded(self.journal, name, theirs, since=since, until=first)
        return merge.merged_bytes(loaded, ours, theirs)

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
        owed = stale.Glimpse(now.signature.mtime_ns, tuple(piece.key for piece in lost))
        unlike = replace(now.signature, size=-1)
        pending = Known(unlike, now.lines, before.base, owed.written())
        self.levelling.index_whole(name, parsed, pending)
        self.levelling.progress.documents[name] = now
        saved, merged = texts
        if merged is None:
            self.put_back(name, lost)
        else:
            self.put_back_text(name, saved, merged)
        if self.levelling.progress.documents.get(name) is now:
            # Nothing may be written here.
            self.index.note(name, known=now)

    def known(self, name: str) -> Known:
        """How a document looked when we last looked at it or wrote it, that has to be there."""
        found = self.levelling.known_of(name)
        if found is None:
            raise NoSuchDocument(name)
        return found

    def journal_text(self, op: Op, name: str, text: bytes, author: Author, **rest: Any) -> int:
        """Note what a document says. Returns where that stands in the journal."""
        version = Text(name, self.journal.keep(text))
        entry = new_entry(op, [version], at=self.clock.stamp(), author=author, **rest)
        return self.journal.append(entry).position

    def _journal_edit(
        self, name: str, data: bytes, expected: bytes, parsed: Parsed, lost: list[Appended]
    ) -> int:
        now = {item.record.id: item.record.text for item in parsed.items}
        before = self.reader.parse(name, decoded(name, expected, lenient=True))
        was = {item.record.id: item.record.text for item in before.items}
        self._note_lost(before, there=now)
        back = {piece.id for piece in lost}
        changed = tuple(key for key, text in now.items() if was.get(key) != text)
        removed = tuple(key for key in was if key not in now and key not in back)
        author = self.writer()
        fresh = self._fresh(before, parsed, author)
        position = self.journal_text(
            Op.EDITED,
            name,
            data,
            author,
            ids=changed + removed,
            removed=removed,
            data={record.id: _whose(author) for record in fresh},
        )
        if author.origin != Origin.OWNER:
            self.appeared(name, fresh, author)
        return position

    def _journal_seen(self, name: str, data: bytes, parsed: Parsed) -> int:
        """Note what a document says that was never looked at."""
        author = self.writer()
        if author.origin == Origin.OWNER:
            return self.journal_text(Op.SEEN, name, data, SYSTEM)
        fresh = self._fresh(None, parsed, author)
        told = {record.id: _whose(author) for record in fresh}
        position = self.journal_text(Op.SEEN, name, data, author, data=told)
        self.appeared(name, fresh, author)
        return position

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

    def _note_lost(self, before: Parsed, *, there: Container[str]) -> None:
        """Remember what of a text replaced other records and is not there any more."""
        gone = [item.record for item in before.items if item.record.id not in there]
        for record in self.reader.as_indexed(gone):
            if record.supersedes:
                self._replacing[record.id] = record

    def _glimpse(self, name: str, known: Known, stat: Stat, data: bytes | None = None) -> Glimpse:
        """What the outside saves of a document tell so far of what they lack."""
        seen = stale.Glimpse.read(known.glimpse)
        if seen.mtime_ns == stat.mtime_ns:
            return seen
        data = self.vault.read(name) if data is None else data
        parsed = self.reader.parse(name, decoded(name, data, lenient=True))
        ids = {item.record.id for item in parsed.items}
        pieces = self._written_since(name, known)
        read = stale.read_before_save(atime_ns=stat.atime_ns, mtime_ns=stat.mtime_ns)
        return seen.after(
            pieces,
            there=[own_lines.is_there(piece, ids=ids, text=data) for piece in pieces],
            read=stale.UNKNOWN if self.after_power_cut or went_back(known, stat) else read,
            mtime_ns=stat.mtime_ns,
            now=self.clock.now(),
        )

    def _missing_of(
        self, name: str, known: Known, stat: Stat, data: bytes
    ) -> tuple[list[Appended], list[Appended]]:
        """What we appended that an outside save lacks: because it never had it, and the rest of
        which that is not sure.
        """
        seen = self._glimpse(name, known, stat, data)
        ids = {item.record.id for item in self.reader.parse(name, decoded(name, data)).items}
        missing = {
            piece.key: piece
            for piece in self._written_since(name, known)
            if not own_lines.is_there(piece, ids=ids, text=data)
        }
        return (
            [piece for key, piece in missing.items() if key in seen.back],
            stale.doubtful(
                [piece for key, piece in missing.items() if key not in seen.back],
                saved=from_ns(stat.mtime_ns),
                replaced=stat.inode != known.signature.inode,
            ),
        )

    def _last_outside(self, name: str, base: int) -> int:
        """Where its text stands that was last saved from outside. To look for it takes long."""
        key = name, self.journal.mark()
        since = self._saved.get(key, 0)
        found = own_lines.last_outside(
            self.journal, name, base, since=since if since <= base else 0
        )
        self._saved[key] = found
        return found

    def _written_since(self, name: str, known: Known) -> list[Appended]:
        """What we wrote into a document since somebody saved it, and did not take out again."""
        since = self._last_outside(name, known.base)
        return own_lines.written(self.journal, name, since=since, read=known.signature.atime_ns)


def _piece(record: Record, line: str, at: str) -> Appended:
    """A line to put back. What carries no id has the one that its new place gives it."""
    return stale.Appended("" if DERIVED.match(record.id) else record.id, line, at, 0)


def _whose(author: Author) -> dict[str, str]:
    session = {"session": author.session} if author.session else {}
    return {"origin": author.origin, **session}


def _says_the_same(record: Record, other: Record | None) -> bool:
    """Whether a line only stands elsewhere now."""
    said = ("text", "kind", "tags", "supersedes", "sensitivity", "valid_from", "valid_to")
    return other is not None and all(getattr(record, n) == getattr(other, n) for n in said)


def _is_later(record: Record, last: str) -> bool:
    return not DERIVED.match(record.id) and record.timestamp > last


def went_back(known: Known, stat: Stat) -> bool:
    """Whether a document is as it was before our last write: a save is younger than that.

    So it is when a disk comes back without what had not reached it.
    """
    was = known.signature
    # The system's own time moves in ticks: that of a save just after may be a little older.
    older = stat.mtime_ns == was.mtime_ns or stat.mtime_ns < was.mtime_ns - RACY_NS
    return stat.inode == was.inode and stat.size < was.size and older
