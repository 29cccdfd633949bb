"""Every change to the documents of a vault: journalled, made, then indexed.

The parts it holds do the rest: `levelling` tells the index, `outside` takes in what others did, and
`recovery` finishes what a dead writer began. What a change is for it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from commonplace.library.index_sync import Levelling
from commonplace.library.outside_edits import Outside, Unsettled
from commonplace.library.record_reader import Reader, count_lines, decoded
from commonplace.markdown.layouts import Layout
from commonplace.model.clock import Clock, monotonic
from commonplace.model.errors import (
    Busy,
    CommonplaceError,
    DocumentFull,
    ReadOnly,
    ToBeFinished,
    VaultTrouble,
)
from commonplace.model.files import Known, Signature
from commonplace.model.lazy import Lazy
from commonplace.model.records import OWNER, SYSTEM, Author, Record
from commonplace.search.index import Index
from commonplace.search.recall import RecallCache
from commonplace.storage.journal import Append, Change, Entry, Journal, Op, Text, new_entry
from commonplace.storage.progress import Progress, ProgressStore
from commonplace.storage.vault import Cancelled, Moved, Staged, Stat, Vault

if TYPE_CHECKING:
    from commonplace.library import recovery, retreat
    from commonplace.library.recovery import OnProgress, Recovery
    from commonplace.library.retreat import Texts
    from commonplace.library.stale import Appended
    from commonplace.markdown import merge
    from commonplace.markdown.documents import Parsed
else:
    merge, recovery, retreat = (
        Lazy("markdown.merge"),
        Lazy("library.recovery"),
        Lazy("library.retreat"),
    )

Result = TypeVar("Result")

PAUSE = 0.1
"""Seconds after which what a server cancelled is tried again."""
NOTICED = frozenset((Op.SEEN, Op.EDITED, Op.PUT_BACK))
"""Entries that stay true whatever becomes of the change beside them."""
PENDING = 64
"""Records that may wait for the next search before they are indexed."""


class Ledger:
    """The documents of one vault with their journal and index."""

    document_limit = 0
    """Bytes that a document may have; 0: any number."""

    def __init__(
        self,
        vault: Vault,
        journal: Journal,
        index: Index,
        *,
        layout: Layout,
        progress_store: ProgressStore,
        clock: Clock,
        lock_seconds: float,
        refusal: CommonplaceError | None = None,
    ) -> None:
        """`refusal` is what to say to who wants to write; without one, everybody may."""
        self.vault = vault
        self.journal = journal
        self.index = index
        self.layout = layout
        self.clock = clock
        self.lock_seconds = lock_seconds
        self.refusal = refusal
        self.recalls = RecallCache(entries=0, seconds=0, now_ns=clock.now_ns)
        self.progress_store = progress_store
        self.reader = Reader(journal, layout=layout, clock=clock)
        # What others ask for most, by its short name.
        self.parse, self.reading = self.reader.parse, self.reader.reading
        self.levelling = Levelling(
            vault, journal, index, progress_store=progress_store, reader=self.reader
        )
        self.outside = Outside(
            self.levelling,
            clock=clock,
            put_back=self.put_back,
            put_back_text=self.put_back_text,
            edited=self.edited_outside,
            taken=self.taken_out,
            united=self.united,
            lost=self.lost_outside,
            writer=self.writer,
            appeared=self.appeared,
            mend=self.mend,
        )
        self.troubles = self.outside.troubles
        self.look, self.take_in_changes = self.outside.look, self.outside.look_at_all
        self.known, self.known_of = self.outside.known, self.levelling.known_of
        self._verified_mark = ""
        self._crlf: dict[str, bool] = {}
        self._unsettled = 0

    def close(self) -> None:
        if self._unsettled:
            # What is stored is safe already; the rest can wait for a disk that does, or a server.
            with suppress(VaultTrouble, OSError):
                self.locked(self.levelling.bring_up_soon)
                self.settle()
        self.progress_store.close()
        self.index.close()
        self.journal.close()
        self.vault.close()

    def settle(self) -> None:
        """Return when the documents, too, are on disk: a power cut then needs no repair."""
        if self.vault.transactional:
            self._unsettled = 0
            return

        def unsettled() -> tuple[tuple[str, ...], int]:
            return tuple(self.levelling.progress.unsettled), self.levelling.progress.end

        def settled() -> None:
            progress = self.levelling.progress
            left = {name: at for name, at in progress.unsettled.items() if at >= end}
            self.levelling.mark(settled=max(end, progress.settled), unsettled=left)

        names, end = self.locked(unsettled)
        for name in names:
            self.vault.sync(name)
        self._unsettled = 0
        self.locked(settled)

    def locked(self, work: Callable[[], Result]) -> Result:
        """Do some work under the vault's lock, again from the start while somebody else writes.

        When this returns, what was journalled is on disk.
        """
        return self._insisting(lambda: self._locked_once(work))

    def undisturbed(self, work: Callable[[], Result]) -> Result:
        """Do some work under the vault's lock that has nothing to do with the documents."""

        def once() -> Result:
            with self.vault.lock():
                return work()

        return self._insisting(once)

    def _insisting(self, once: Callable[[], Result]) -> Result:
        """Do it again while somebody else is in the way, for as long as a lock is waited for."""
        deadline = monotonic() + self.lock_seconds
        error: CommonplaceError = Busy("the vault", self.lock_seconds)
        while True:
            try:
                return once()
            except Unsettled as wait:
                pause = wait.seconds
            except Moved:
                pause = 0.0
            except Cancelled as cancelled:
                pause, error = PAUSE, cancelled.error
            if monotonic() > deadline:
                raise error
            self.clock.sleep(pause)

    def _locked_once(self, work: Callable[[], Result]) -> Result:
        with self.vault.lock(undone=self._start_anew):
            before = self.journal.end()
            self._catch_up(before)
            self.outside.tell_lost()
            done = work()
            self.outside.tell_lost()
            end = self.levelling.progress.end
        if end != before:
            self._sync(before, end)
        return done

    def _sync(self, start: int, end: int) -> None:
        """Return when the journal is on disk; what was written from `start` to `end` is not, else
        none of it happened.
        """
        try:
            self.journal.sync()
        except CommonplaceError as error:
            with self.vault.lock():
                self._withdraw(start, end, error)
            raise

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make several changes under the lock, all of them or none."""
        start = self.journal.end()
        try:
            yield
        except Exception as error:
            if not self.vault.transactional:
                self._withdraw(start, self.journal.end(), error)
            raise

    def _withdraw(self, start: int, end: int, error: Exception) -> None:
        """Take back what the disk did not take, as long as nobody else has written since."""
        if self.journal.end() != end:
            raise ToBeFinished(error)
        ours = [entry for entry in self.journal.entries(since=start) if entry.op not in NOTICED]
        self._start_anew()
        for entry in reversed(ours):
            if not all(isinstance(change, Append) for change in entry.changes):
                raise ToBeFinished(error)
            retreat.take_back(self.vault, self.journal, entry, error, texts={})

    def _start_anew(self) -> None:
        """Let go of what is remembered of a change that never happened, or was not told of."""
        self.levelling.progress, self.levelling.astray = Progress(), False
        self.reader.start_anew()
        self._verified_mark = ""
        self._crlf.clear()

    def _catch_up(self, end: int) -> None:
        """Finish what a writer that died left half done. `end` is where the journal ends."""
        mark = self.journal.mark()
        if self.levelling.astray:
            self._start_anew()
        if end == self.levelling.progress.end and mark == self._verified_mark:
            return
        first = mark != self._verified_mark
        if first:
            self.reader.start_anew()
        with suppress(ReadOnly) if self.refusal else nullcontext():
            self._recovery().catch_up(mark, end, first=first)
        self._verified_mark = mark

    def _recovery(self) -> Recovery:
        return recovery.Recovery(
            self.levelling, self.outside, finish_forgetting=self.finish_forgetting
        )

    def rebuild(self, progress: OnProgress) -> None:
        """Make the index anew from the documents."""
        self.locked(lambda: self._recovery().rebuild(progress))

    def finish_forgetting(self, level: int) -> None:
        """Carry through what was being forgotten when a writer died. For the library to say how."""

    def edited_outside(self, name: str, parsed: Parsed) -> None:
        """Called under the lock after an outside edit was taken in. For the library to act on."""

    def writer(self) -> Author:
        """Who it is that writes from outside just now. For the library to know."""
        return OWNER

    def appeared(self, name: str, records: list[Record], author: Author) -> None:
        """Called under the lock when lines appeared that are not the person's. For the library."""

    def lost_outside(self, records: list[Record]) -> None:
        """Called likewise when records are gone that replaced others. For the library, too."""

    def check_writable(self) -> None:
        """Fail where what is written would be lost, or could not be taken back."""
        if self.refusal:
            raise self.refusal

    def taken_out(self, name: str, position: int, pieces: Sequence[Appended]) -> None:
        """Called under the lock when an outside edit took out what was just written. For the
        library to remember.
        """

    def united(self, name: str, position: int, count: int) -> None:
        """Called under the lock when lines of ours were put back into a text from elsewhere, or
        with 0 of them a whole document. For the library to remember.
        """

    def mend(self, name: str, damaged: bytes, mended: bytes) -> Stat | None:
        """Put a mended text in place of a damaged one, which is kept. None where that may not be.

        Called under the lock.
        """
        if self.refusal:
            return None
        changes = [Text(name, self.journal.keep(text)) for text in (damaged, mended)]
        entry = self.journal.append(self.entry(Op.MENDED, changes))
        with self._whole(entry, {name: (damaged, mended)}):
            self.journal.sync()
            return self.vault.replace(name, mended, expected=damaged)

    def put_back(self, name: str, lost: Sequence[Appended]) -> None:
        """Append pieces to a document again, under the ids they have."""
        if self.refusal:
            return
        # An outside save may end its lines otherwise.
        self._crlf.pop(name, None)
        for is_record in (True, False):
            pieces = [piece for piece in lost if bool(piece.id) == is_record]
            ids = tuple(piece.id for piece in pieces if piece.id)
            if pieces:
                text = tuple(piece.line for piece in pieces)
                self.append(Op.PUT_BACK, text, to=(name,), ids=ids, author=SYSTEM)

    def put_back_text(self, name: str, saved: bytes, merged: bytes) -> None:
        """Write a document as it was saved with what the save had overwritten."""
        if not self.refusal and saved != merged:
            self._crlf.pop(name, None)
            entry = self.entry(Op.PUT_BACK, [Text(name, self.journal.keep(merged))])
            self.replace_texts(entry, {name: (saved, merged)})

    def glance(self) -> Hashable:
        """How journal and documents look: the same as before, and nothing has changed since.

        None when that can't be told: a document was written just now, and may be again unseen.
        """
        if self.vault.transactional:
            return self.journal.stand()
        listing = self.vault.listing()
        if any(self.outside.is_racy(stat) for stat in listing.documents.values()):
            return None
        looks = ((name, s.size, s.mtime_ns, s.inode) for name, s in listing.documents.items())
        return (*self.journal.stand(), *looks, *sorted(listing.unreadable))

    def refresh(self) -> None:
        """Take in whatever changed since the last look. Cheap when nothing did."""
        if not self._verified_mark and self._may_lack():
            self.locked(self.journal.end)
        if not self.levelling.is_level() or self.outside.changed():
            self.level()
            self.locked(self.take_in_changes)

    def _may_lack(self) -> bool:
        """Whether the disk was not made to keep all of the documents: it may have lost some."""
        return not self.vault.transactional and bool(self.progress_store.load().unsettled)

    def level(self) -> None:
        """Tell the index of a change that was left for later, a slice at a time.

        Others store meanwhile, and one of them may come first: then there is nothing left to do.
        """
        if self.vault.transactional:
            # Half of it would be undone with the other half.
            self.locked(self.levelling.bring_up)
            return
        position = self.locked(self.levelling.left_behind)
        self.reader.read_ahead(self.levelling.progress.end)
        if position >= 0:
            entry = next(self.journal.entries(since=position), None)
            if entry and self.levelling.index_in_slices(entry):
                end = self.locked(self.journal.end)
                self.levelling.index_appends_in_slices(entry, until=end)
                self.locked(lambda: self.levelling.bring_up(done=entry.end))

    def entry(
        self, op: Op, changes: Iterable[Change], *, author: Author = SYSTEM, **rest: Any
    ) -> Entry:
        return new_entry(op, changes, at=self.clock.stamp(), author=author, **rest)

    def append(
        self,
        op: Op,
        text: tuple[str, ...],
        *,
        to: Sequence[str],
        author: Author,
        ids: tuple[str, ...] = (),
        data: Mapping[str, Any] | None = None,
        headed: bool = True,
    ) -> Entry:
        """Journal some lines and append them to each document: one record each, or any text.

        A new document gets its layout's header, unless it is not to be `headed`.
        """
        self.check_writable()
        known = [self.levelling.progress.documents.get(name) or self.look(name) for name in to]
        if not ids:
            self.levelling.bring_up()
        changes = [self._append_change(name, was, headed) for name, was in zip(to, known)]
        new = self.entry(op, changes, ids=ids, lines=text, author=author, data=dict(data or {}))
        for change in changes if op != Op.PUT_BACK else ():
            self._check_size(change.document, change.at + len(new.appended(change)))
        entry = self.journal.append(new)
        with self._whole(entry):
            done = self._apply(entry, changes, known)
        self.levelling.progress.documents |= done
        self.levelling.progress.end = entry.end
        # The record is safe; the index is behind and catches up when it can.
        with self.levelling.telling():
            self._keep_up(entry)
        return entry

    def _check_size(self, name: str, size: int, *, before: int = 0) -> None:
        """Fail when a document would become longer than it may be; shorter it always may."""
        if self.document_limit and size > max(before, self.document_limit):
            raise DocumentFull(name, size=size, limit=self.document_limit)

    def _keep_up(self, entry: Entry) -> None:
        """Say how far the documents have come, and bring the index up where that can't wait."""
        if not entry.ids:
            self._reindex(entry.changes[0].document)
            return
        self.levelling.mark()
        if self._unsettled % PENDING == 0:
            self.levelling.bring_up_soon()

    @contextmanager
    def _whole(self, entry: Entry, texts: Texts | None = None) -> Iterator[None]:
        """Do all that an entry says, or nothing: what went wrong leaves no trace."""
        try:
            yield
        except Exception as error:
            if self.vault.transactional:
                # It never happened, once the lock is let go.
                raise
            retreat.take_back(self.vault, self.journal, entry, error, texts=texts or {})
            # From now on look at the documents themselves.
            with suppress(CommonplaceError):
                self.levelling.bring_up()
            for name in entry.documents():
                self.levelling.progress.documents.pop(name, None)
            raise

    def _known_after(
        self, data: bytes, change: Append, was: Known | None, stat: Stat, position: int
    ) -> Known:
        """How a document looks to which `data` was appended by the entry at a position."""
        lines = data.count(b"\n")
        return Known(
            self.outside.signature(stat, size=change.at + len(data)),
            was.lines + lines - change.lead.count("\n") if was else lines,
            was.base if was else position,
        )

    def _append_change(self, name: str, known: Known | None, headed: bool) -> Append:
        if known is None:
            return Append(name, 0, self.layout.header(name) if headed else "")
        size, read = known.signature.size, known.signature.atime_ns
        if name in self.levelling.progress.documents and name in self._crlf:
            return Append(name, size, "", read, self._crlf[name])
        tail = self.vault.tail(name, size=size)
        guard = "\n" if tail and not tail.endswith(b"\n") else ""
        self._crlf[name] = tail == b"\r\n"
        return Append(name, size, guard, read, self._crlf[name])

    def _apply(
        self, entry: Entry, changes: Sequence[Append], known: Sequence[Known | None]
    ) -> dict[str, Known]:
        """Append to every document. Returns how they look then."""
        done: dict[str, Known] = {}
        for change, was in zip(changes, known):
            data, like = entry.appended(change), _stat_of(was.signature) if was else None
            stat = self.vault.append(change.document, data, like=like)
            done[change.document] = self._known_after(data, change, was, stat, entry.position)
        if not self.vault.transactional:
            self.levelling.progress.unsettled |= dict.fromkeys(done, entry.position)
        self._unsettled += 1
        return done

    def _reindex(self, name: str) -> None:
        """Read a document of ours anew, when what was appended is not one record a line."""
        known = self.levelling.progress.documents[name]
        parsed = self.parse(name, decoded(name, self.vault.read(name)))
        self.levelling.index_whole(name, parsed, replace(known, lines=parsed.lines))

    def replace_texts(self, entry: Entry, texts: Texts) -> Entry:
        """Journal a change of whole texts, `{name: (before, after)}`, and make it so."""
        entry = self.write_texts(entry, texts)
        self.reached_end()
        return entry

    def reached_end(self) -> None:
        """Note that the documents are all that the journal says, and the index too."""
        end = self.levelling.progress.end = self.journal.end()
        with self.levelling.telling():
            self.levelling.reached(end)

    def write_texts(self, entry: Entry, texts: Texts) -> Entry:
        """The same, with the progress left behind: dying now, it would all be done again."""
        written: dict[str, Known | None] = {}

        def write(name: str, before: bytes | None, after: bytes | None, entry: Entry) -> None:
            if after is None:
                self.vault.remove(name)
            written[name] = None if after is None else self._put(name, before, after, entry)

        entry, appends = self._write_texts(entry, texts, write)
        with self.levelling.telling():
            for name, known in written.items():
                self._index_text(name, texts[name][1] or b"", known)
            for change in entry.changes:
                if change.document in appends and isinstance(change, Append):
                    self.levelling.index_moved(entry, change, appends[change.document])
        return entry

    def _index_text(self, name: str, data: bytes, known: Known | None) -> None:
        if known is None:
            self.index.drop(name)
        else:
            self.index.put(
                name, self.reader.rows(self.parse(name, decoded(name, data))), known=known
            )

    def replace_long_texts(
        self,
        entry: Entry,
        texts: Texts,
        *,
        written: Mapping[str, bytes],
        staged: Mapping[str, Staged],
    ) -> Entry:
        """As `replace_texts`, with the index left behind: without the lock, `level` is next.

        `written` are the long parts of the entry, and `staged` the texts, both made beforehand.
        """
        done: dict[str, Known] = {}

        def write(name: str, before: bytes | None, after: bytes | None, entry: Entry) -> None:
            done[name] = self._put(name, before, after or b"", entry, staged.get(name))

        entry, appends = self._write_texts(entry, texts, write, written=written)
        known = done | appends
        self.levelling.mark(end=self.journal.end(), documents=known, behind=entry.position)
        return entry

    def _write_texts(
        self,
        entry: Entry,
        texts: Texts,
        write: Callable[[str, bytes | None, bytes | None, Entry], None],
        *,
        written: Mapping[str, bytes] | None = None,
    ) -> tuple[Entry, dict[str, Known]]:
        """Returns the entry, and how the documents look that it appended to.

        What it appends to other documents is appended first: that can be taken back.
        """
        self.check_writable()
        self.levelling.bring_up()
        appends = [change for change in entry.changes if isinstance(change, Append)]
        known = [self.look(change.document) for change in appends]
        for change in appends:
            self._check_size(change.document, change.at + len(entry.appended(change)))
        for name, (before, after) in texts.items():
            self._check_size(name, len(after or b""), before=len(before or b""))
        entry = self.journal.append(entry, written=written)
        with self._whole(entry, texts):
            self.journal.sync()
            done = self._apply(entry, appends, known)
            for name, (before, after) in texts.items():
                write(name, before, after, entry)
        return entry, done

    def to_append(self, name: str) -> Append:
        """The change that appends an entry's lines to a document. Called under the lock."""
        return self._append_change(name, self.look(name), headed=True)

    def _put(
        self,
        name: str,
        before: bytes | None,
        after: bytes,
        entry: Entry,
        staged: Staged | None = None,
    ) -> Known:
        """Write a whole text. Returns how it looks."""
        whole = any(isinstance(c, Text) and c.document == name for c in entry.changes)
        base = entry.position if whole else self.levelling.base_of(name)
        known = self.known_of(name)
        tells = known and not known.signature.racy and known.signature.size >= 0
        like = _stat_of(known.signature) if known and tells else None
        stat = self.vault.replace(name, after, expected=before, like=like, staged=staged)
        return Known(self.outside.signature(stat, after), count_lines(after), base)


def _stat_of(signature: Signature) -> Stat:
    return Stat(signature.size, signature.mtime_ns, signature.inode)
