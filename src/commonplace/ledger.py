"""Vault, journal and index kept level: every change is journalled, made, then indexed.

It decides what a text that is not as we left it means, finishes what a dead writer began, and puts
back what a stale save overwrote. What a change is for it does not know.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress

from commonplace.clock import Clock, monotonic
from commonplace.errors import Busy, CommonplaceError, DiskFull, NoSuchDocument, Unreadable
from commonplace.heads import Heads, Marks, boot_id
from commonplace.hints import TYPE_CHECKING, Any, TypeVar
from commonplace.index import Index, Known, Query, Signature
from commonplace.journal import Append, Change, Entry, Gone, Journal, Op, Text, applied
from commonplace.layouts import Layout
from commonplace.lazily import Lazy
from commonplace.recall_cache import RecallCache
from commonplace.records import OWNER, SYSTEM, Author, Origin, Record, etag_of
from commonplace.values import replace
from commonplace.vault import Moved, Stat, Vault

if TYPE_CHECKING:
    from commonplace import documents, lines, merging, stale
    from commonplace.documents import Parsed
    from commonplace.lines import Reading
    from commonplace.stale import Appended, Glimpse
else:
    documents, lines = Lazy("documents"), Lazy("lines")
    merging, stale = Lazy("merging"), Lazy("stale")

Result = TypeVar("Result")
Progress = Callable[[int, int], None]

SETTLED = 0.05
"""Seconds without a write after which an outside save counts as finished …"""
SETTLED_SHRUNK = 1.0
"""… and when much is missing, which may still be on its way."""
SHRUNK = 0.7
RACY_NS = 20_000_000
"""A write so soon after the last look may leave no mark in a time that moves in ticks of 4 ms."""
PENDING = 256
"""Records that may wait for the next search before they are indexed."""
SLICE = 200
"""Lines of a document that are indexed at once where others are not to wait."""
FOUND = frozenset((Op.SEEN, Op.EDITED))
"""Entries that say what was found; the others are what we do to a document."""


class Unsettled(Exception):
    """Somebody is writing a document right now: look again in `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Ledger:
    """The documents of one vault with their journal and index."""

    def __init__(
        self,
        vault: Vault,
        journal: Journal,
        index: Index,
        *,
        layout: Layout,
        heads: Heads,
        clock: Clock,
        lock_seconds: float,
    ) -> None:
        self.vault = vault
        self.journal = journal
        self.index = index
        self.layout = layout
        self.clock = clock
        self.lock_seconds = lock_seconds
        self.recalls = RecallCache(entries=0, seconds=0, now_ns=clock.now_ns)
        self.troubles: dict[str, str] = {}
        """What could not be read at the last look, and why."""
        self.heads = heads
        self._marks = Marks()
        """What the heads say, as long as nobody else has written since."""
        self._verified_mark = ""
        self._boot = boot_id()
        self._repairing = False
        self._after_power_cut = False
        self._crlf: dict[str, bool] = {}
        self._missing: dict[str, float] = {}
        self._unsettled = 0
        self._carried_data: dict[str, dict[str, Any]] = {}
        self._carried_upto = 0
        self._seen: dict[str, Record] | None = None
        """While all is read anew: the records read so far by their lines, most stand twice."""

    def close(self) -> None:
        if self._unsettled:
            # What is stored is safe already; the rest can wait for a disk with room.
            with suppress(DiskFull):
                self.locked(self._level_soon)
                self.settle()
        self.heads.close()
        self.index.close()
        self.journal.close()
        self.vault.close()

    def settle(self) -> None:
        """Return when the documents, too, are on disk: a power cut then needs no repair."""

        def touched() -> tuple[int, set[str]]:
            entries = self.journal.entries(since=max(self._marks.settled, 0))
            return self._marks.end, {name for entry in entries for name in entry.documents()}

        end, names = self.locked(touched)
        for name in names:
            self.vault.sync(name)
        self._unsettled = 0
        self.locked(lambda: self._mark(settled=max(end, self._marks.settled)))

    def locked(self, work: Callable[[], Result]) -> Result:
        """Do some work under the vault's lock, again from the start while somebody else writes.

        When this returns, what was journalled is on disk.
        """
        deadline = monotonic() + self.lock_seconds
        while True:
            try:
                return self._locked_once(work)
            except Unsettled as wait:
                pause = wait.seconds
            except Moved:
                pause = 0.0
            if monotonic() > deadline:
                raise Busy("the vault", self.lock_seconds)
            self.clock.sleep(pause)

    def _locked_once(self, work: Callable[[], Result]) -> Result:
        with self.vault.lock():
            before = self.journal.end()
            self._catch_up(before)
            done = work()
            wrote = self._marks.end != before
        if wrote:
            self.journal.sync()
        return done

    def glance(self) -> Hashable:
        """How journal and documents look: the same as before, and nothing has changed since.

        None when that can't be told: a document was written just now, and may be again unseen.
        """
        listing = self.vault.listing()
        if any(self._is_racy(stat) for stat in listing.documents.values()):
            return None
        looks = ((name, s.size, s.mtime_ns, s.inode) for name, s in listing.documents.items())
        return (self.journal.mark(), self.journal.end(), *looks, *sorted(listing.unreadable))

    def refresh(self) -> None:
        """Take in whatever changed since the last look. Cheap when nothing did."""
        if not self._is_level() or self.changed():
            self.level()
            self.locked(self.take_in_changes)

    def take_in_changes(self) -> None:
        self._level_index()
        for name in self.changed():
            try:
                self.look(name)
            except Unreadable as error:
                # Not to be read is not the same as deleted: what the index has of it stays.
                self.troubles[name] = str(error)
        self._level_index()

    def _is_level(self) -> bool:
        return self.index.mark() == self.journal.mark() and self.index.level() == self.journal.end()

    def _mark(self, **changes: Any) -> None:
        """Say how far the documents have come."""
        for name, value in changes.items():
            setattr(self._marks, name, value)
        self._marks.boot = self._boot
        if not self._repairing:
            self.heads.save(self._marks)

    def _level_index(self, *, done: int = 0) -> None:
        """Index what was appended since the index was last level. The documents are not read.

        What comes before `done` in the journal is indexed already.
        """
        if self.index.level() == self._marks.end:
            # Another process may have indexed them: what it noted since is newer than ours.
            self._marks.documents.clear()
            return
        with self.index.transaction():
            for entry in self.journal.entries(since=max(done, self.index.level())):
                if entry.position >= self._marks.end:
                    break
                self._index_entry(entry)
            for name, known in self._marks.documents.items():
                self.index.note(name, known=known)
            self.index.set_level(self._marks.end)
        self._mark(documents={}, behind=-1)

    def _level_soon(self) -> None:
        """The same, unless that would take long: then it is left to whoever searches next."""
        if self._marks.behind < 0:
            self._level_index()

    def _index_entry(self, entry: Entry) -> None:
        if not _is_whole(entry):
            for change in entry.changes:
                if isinstance(change, Append):
                    self._index_append(entry, change)
            return
        for name, (data, known) in self._texts_after(entry).items():
            parsed = self.parse(name, decoded(name, data, lenient=True))
            self.index.put(name, self._indexed(parsed), known=known)

    def _texts_after(self, entry: Entry) -> dict[str, tuple[bytes, Known]]:
        """What the documents of an entry said right after it, when it was left for later.

        They have only been appended to since. If somebody else wrote them, the next look tells.
        """
        sizes: dict[str, int] = {}
        for later in self.journal.entries(since=entry.end):
            for change in later.changes:
                if isinstance(change, Append):
                    sizes.setdefault(change.document, change.at)
        found = {}
        for name in entry.documents():
            data = self.vault.read(name) if self.vault.stat(name) else b""
            data = data[: sizes.get(name, len(data))]
            known = Known(Signature(len(data), 0, 0), _count_lines(data), self._base_of(name))
            found[name] = data, known
        return found

    def level(self) -> None:
        """Tell the index of a change that was left for later, a slice at a time.

        Others store meanwhile, and one of them may come first: then there is nothing left to do.
        """
        entry, texts = self.locked(self._left_behind)
        if entry is None:
            return
        for name, (data, known) in texts.items():
            parsed = self.parse(name, decoded(name, data, lenient=True))
            if not self._put_in_slices(name, self._indexed(parsed), known, at=entry.position):
                return
        self.locked(lambda: self._level_index(done=entry.end))

    def _left_behind(self) -> tuple[Entry | None, dict[str, tuple[bytes, Known]]]:
        # A torn line may lie between what the index was told and what it was not.
        if self._marks.behind < self.index.level():
            return None, {}
        entry = next(self.journal.entries(since=self._marks.behind))
        return entry, self._texts_after(entry)

    def _put_in_slices(
        self, name: str, rows: Sequence[tuple[Record, int]], known: Known, *, at: int
    ) -> bool:
        """Index a whole document; False when somebody else brought the index further."""
        was = self.index.known_of(name)
        slices: dict[int, list[tuple[Record, int]]] = defaultdict(list)
        for record, line in rows:
            slices[line // SLICE].append((record, line))
        for number in range(max(known.lines, was.lines if was else 0) // SLICE + 1):
            first = number * SLICE
            with self.index.transaction():
                if self.index.level() > at:
                    return False
                self.index.put_lines(name, slices[number], first=first, last=first + SLICE - 1)
        with self.index.transaction():
            if self.index.level() <= at:
                self.index.note(name, known=known)
        return True

    def _index_append(self, entry: Entry, change: Append) -> None:
        name, was = change.document, self.index.known_of(change.document)
        first = was.lines + 1 if was else change.lead.count("\n") + 1
        records = self.as_indexed(
            _line_record(line, key, self.reading(name)) for key, line in zip(entry.ids, entry.lines)
        )
        rows = _numbered(records, entry.lines, first)
        if was is None:
            # What a new document starts with may say something, too.
            rows = [*self._indexed(self.parse(name, change.lead)), *rows]
        size = change.at + len(entry.appended(change))
        last = first - 1 + sum(line.count("\n") for line in entry.lines)
        base = was.base if was else entry.position
        # How it looks otherwise the marks say, once for all that was appended.
        self.index.add(name, rows, known=Known(Signature(size, 0, 0), last, base))

    def _level_with(self, position: int) -> None:
        """Note that documents and index have both come so far."""
        self.index.set_level(position)
        self._mark(end=position, documents={}, behind=-1)

    def changed(self) -> list[str]:
        """The documents that do not look as the index knows them."""
        known, listing = self.index.known() | self._marks.documents, self.vault.listing()
        hidden = tuple(listing.unreadable)
        for path, why in listing.unreadable.items():
            self.troubles[path] = why
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
        if not self._is_racy(stat):
            self.index.note(name, known=replace(known, signature=replace(was, racy=False)))
        return True

    def _is_racy(self, stat: Stat) -> bool:
        return not stat.stamped and self.clock.now_ns() - stat.mtime_ns < RACY_NS

    def look(self, name: str) -> Known | None:
        """Bring what the index knows of one document up to date. Called under the lock."""
        known, stat = self.known_of(name), self.vault.stat(name)
        if stat is None:
            if known:
                self._note_gone(name)
            return None
        self._missing.pop(name, None)
        if known and self._same(name, known, stat):
            return known
        self._level_index()
        known = self.index.known_of(name)
        self._wait_until_settled(name, known, stat)
        try:
            data = self.vault.read(name)
            parsed = self.parse(name, decoded(name, data))
        except NoSuchDocument:
            raise Unsettled(SETTLED) from None
        if self.vault.stat(name) != stat:
            raise Unsettled(SETTLED)
        self.troubles.pop(name, None)
        return self._take_in(name, data, parsed, stat, known)

    def known_of(self, name: str) -> Known | None:
        """How a document looked when we last looked at it or wrote it."""
        return self._marks.documents.get(name) or self.index.known_of(name)

    def _wait_until_settled(self, name: str, known: Known | None, stat: Stat) -> None:
        if known is None:
            return
        shrunk = stat.size == 0 or stat.size < SHRUNK * known.signature.size
        needed = SETTLED_SHRUNK if shrunk else SETTLED
        age = (self.clock.now_ns() - stat.mtime_ns) / 1e9
        if 0 <= age < needed:
            glimpse = self._glimpse(name, known, stat)
            self.index.note(name, known=replace(known, glimpse=glimpse.written()))
            # Look often: each of several saves tells something.
            raise Unsettled(min(needed - age, SETTLED))

    def _note_gone(self, name: str) -> None:
        # Some editors move the old file away before they write the new one.
        if monotonic() - self._missing.setdefault(name, monotonic()) < SETTLED:
            raise Unsettled(SETTLED)
        self._level_index()
        removed = tuple(self._ids_in(name))
        self.journal.append(self.entry(Op.EDITED, [Gone(name)], removed=removed, author=OWNER))
        with self.index.transaction():
            self.index.drop(name)
            self._level_with(self.journal.end())

    def _ids_in(self, name: str) -> list[str]:
        everything = Query(
            documents=(name,), include_superseded=True, include_secret=True, limit=1 << 30
        )
        return [hit.record.id for hit in self.index.search(everything)]

    def _take_in(
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
        if known and expected is None:
            expected = self.state(name, since=base)
        lost: list[Appended] = []
        if expected is None:
            base = self._journal_text(Op.SEEN, name, data, SYSTEM)
        elif known and expected != data:
            lost = self._overwritten(name, known, stat, data)
            base = self._journal_edit(name, data, expected, parsed, lost)
        self._index_whole(name, parsed, Known(self._signature(stat, data), parsed.lines, base))
        if lost:
            self._put_back(name, lost)
        if expected is not None and expected != data:
            self.edited_outside(name, parsed)
        return self.known(name)

    def _journal_text(self, op: Op, name: str, data: bytes, author: Author, **rest: Any) -> int:
        version = Text(name, self.journal.keep(data))
        return self.journal.append(self.entry(op, [version], author=author, **rest)).position

    def _journal_edit(
        self, name: str, data: bytes, expected: bytes, parsed: Parsed, lost: list[Appended]
    ) -> int:
        now = {item.record.id: item.record.text for item in parsed.items}
        before = self.parse(name, decoded(name, expected, lenient=True))
        was = {item.record.id: item.record.text for item in before.items}
        back = {piece.id for piece in lost}
        changed = tuple(key for key, text in now.items() if was.get(key) != text)
        removed = tuple(key for key in was if key not in now and key not in back)
        return self._journal_text(
            Op.EDITED, name, data, OWNER, ids=changed + removed, removed=removed
        )

    def _index_whole(self, name: str, parsed: Parsed, known: Known) -> None:
        with self.index.transaction():
            self.index.put(name, self._indexed(parsed), known=known)
            self._level_with(self.journal.end())

    def _glimpse(self, name: str, known: Known, stat: Stat) -> Glimpse:
        """What the outside saves of a document tell so far of what they lack."""
        seen = stale.Glimpse.read(known.glimpse)
        if seen.mtime_ns == stat.mtime_ns:
            return seen
        data = self.vault.read(name)
        parsed = self.parse(name, decoded(name, data, lenient=True))
        ids = {item.record.id for item in parsed.items}
        pieces = self._appended_since(name, known)
        read = stale.read_before_save(atime_ns=stat.atime_ns, mtime_ns=stat.mtime_ns)
        return seen.after(
            pieces,
            there=[p.id in ids if p.id else p.line.encode() in data for p in pieces],
            read=stale.UNKNOWN if self._after_power_cut else read,
            mtime_ns=stat.mtime_ns,
            now=self.clock.now(),
        )

    def _overwritten(self, name: str, known: Known, stat: Stat, data: bytes) -> list[Appended]:
        """What we appended that an outside save lacks because it never had it."""
        back = self._glimpse(name, known, stat).back
        ids = {item.record.id for item in self.parse(name, decoded(name, data)).items}
        return [
            piece
            for piece in self._appended_since(name, known)
            if piece.key in back
            and (piece.id not in ids if piece.id else piece.line.encode() not in data)
        ]

    def _appended_since(self, name: str, known: Known) -> list[Appended]:
        """What we appended to a document since its last whole text, and did not take out again."""
        pieces: list[Appended] = []
        for entry in self.journal.entries(since=max(known.base, 0)):
            for change in entry.changes:
                if change.document == name and isinstance(change, Append):
                    # The access time after the append before this one stands in this entry.
                    pieces = [_seen(piece, change.read) for piece in pieces]
                    keys = entry.ids or ("",) * len(entry.lines)
                    pieces += [
                        stale.Appended(key, line, entry.at, -1)
                        for key, line in zip(keys, entry.lines)
                    ]
                elif change.document == name:
                    pieces = [piece for piece in pieces if piece.id not in entry.removed]
        return [_seen(piece, known.signature.atime_ns) for piece in pieces]

    def _put_back(self, name: str, lost: list[Appended]) -> None:
        for is_record in (True, False):
            pieces = [piece for piece in lost if bool(piece.id) == is_record]
            ids = tuple(piece.id for piece in pieces if piece.id)
            if pieces:
                text = tuple(piece.line for piece in pieces)
                self.append(Op.PUT_BACK, text, to=(name,), ids=ids, author=SYSTEM)

    def _catch_up(self, end: int) -> None:
        """Finish what a writer that died left half done. `end` is where the journal ends."""
        mark = self.journal.mark()
        if end == self._marks.end and mark == self._verified_mark:
            return
        self._marks = self.heads.load()
        if mark != self._verified_mark:
            self._carried_data, self._carried_upto = {}, 0
        if self._is_new(mark, end):
            self._repair(lambda: self._rebuild(lambda done, total: None))
        elif self._marks.end != end:
            self._level_index()
            self._repair(lambda: self._redo(self._marks.end))
        self._verified_mark = mark

    def _repair(self, work: Callable[[], None]) -> None:
        """Do work after which everything is level. If it is cut short, it must start again."""
        self._repairing = True
        try:
            work()
        except BaseException:
            self._marks = Marks()
            raise
        finally:
            self._seen = None
            self._repairing = self._after_power_cut = False
        self._level_with(self.journal.end())

    def _is_new(self, mark: str, end: int) -> bool:
        """Whether all is to be looked at: another journal, no marks, or a power cut."""
        self._after_power_cut = self._marks.settled != end and self._marks.boot != self._boot
        known = self.index.mark() == mark and self.index.level() <= self._marks.end <= end
        return self._after_power_cut or not known

    def _redo(self, level: int) -> None:
        bases: dict[str, int] = {}
        for entry in list(self.journal.entries(since=level)):
            for change in entry.changes:
                name = change.document
                before = bases.setdefault(name, self._base_of(name))
                if isinstance(change, Text) or (isinstance(change, Append) and change.at == 0):
                    bases[name] = entry.position
                if entry.op not in FOUND:
                    self._finish(entry, name, since=before)
        for name, base in bases.items():
            self._reread(name, base)
        self.finish_forgetting(level)

    def finish_forgetting(self, level: int) -> None:
        """Carry through what was being forgotten when a writer died. For the library to say how."""

    def edited_outside(self, name: str, parsed: Parsed) -> None:
        """Called under the lock after an outside edit was taken in. For the library to act on."""

    def _known_since(self, name: str, base: int) -> Known | None:
        """What to start from when the journal is all that can be trusted."""
        if base < 0:
            return None
        known = self.known_of(name)
        return replace(known, base=base) if known else Known(Signature(0, 0, 0), 0, base)

    def _base_of(self, name: str) -> int:
        known = self.known_of(name)
        return known.base if known else -1

    def _finish(self, entry: Entry, name: str, *, since: int) -> None:
        """Do to one document what an entry says was to be done, if it was not."""
        before = self.state(name, since=since, until=entry.position)
        after = self.state(name, since=since, until=entry.end)
        stat = self.vault.stat(name)
        now = self.vault.read(name) if stat else None
        if now == after or (now and after and now.startswith(after)):
            return
        if after is None:
            self.vault.remove(name)
        elif stat and now and after.startswith(now) and len(now) >= len(before or b""):
            # The append was begun: what is missing completes the line.
            self.vault.append(name, after[len(now) :], like=stat)
        elif now == before:
            self.vault.replace(name, after, expected=now)
        else:
            merged = merged_bytes(before or b"", after, now or b"")
            self.vault.replace(name, merged, expected=now)

    def _reread(self, name: str, base: int) -> None:
        stat = self.vault.stat(name)
        if stat is None:
            self.index.drop(name)
            return
        data = self.vault.read(name)
        parsed = self.parse(name, decoded(name, data))
        self._take_in(name, data, parsed, stat, self._known_since(name, base))

    def state(self, name: str, *, since: int = 0, until: int | None = None) -> bytes | None:
        """What a document says according to the journal; None when it is not there."""
        found = self._states(since=since, until=until, only=name).get(name)
        return found[1] if found else None

    def _states(
        self, *, since: int = 0, until: int | None = None, only: str = ""
    ) -> dict[str, tuple[int, bytes]]:
        """Every document according to the journal: its base, and what it says."""
        texts: dict[str, bytearray] = {}
        bases: dict[str, int] = {}
        for entry in self.journal.entries(since=max(since, 0)):
            if until is not None and entry.position >= until:
                break
            for change in entry.changes:
                name = change.document
                if only and name != only:
                    continue
                if isinstance(change, Append):
                    # In place: a copy a line would take hours where there are many.
                    texts.setdefault(name, bytearray())[change.at :] = entry.appended(change)
                    bases.setdefault(name, entry.position)
                    continue
                after = self.after(bytes(texts.get(name, b"")), entry, name)
                if after is None:
                    texts.pop(name, None)
                    bases.pop(name, None)
                else:
                    texts[name] = bytearray(after)
                    bases[name] = entry.position if isinstance(change, Text) else bases.get(name, 0)
        return {name: (bases[name], bytes(text)) for name, text in texts.items()}

    def after(self, text: bytes | None, entry: Entry, name: str) -> bytes | None:
        """What a document that said `text` says after an entry."""
        for change in entry.changes:
            if change.document == name:
                kept = self.journal.version(change.version) if isinstance(change, Text) else None
                text = applied(text, change, entry=entry, text=kept)
        return text

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
        known = [self._marks.documents.get(name) or self.look(name) for name in to]
        if not ids:
            self._level_index()
        changes = [self._append_change(name, was, headed) for name, was in zip(to, known)]
        entry = self.journal.append(
            self.entry(op, changes, ids=ids, lines=text, author=author, data=dict(data or {}))
        )
        stats = self._apply(entry, changes, known)
        for change, was, stat in zip(changes, known, stats):
            self._marks.documents[change.document] = self._known_after(entry, change, was, stat)
        self._mark(end=entry.end)
        self._unsettled += 1
        self._keep_up(entry)
        return entry

    def _keep_up(self, entry: Entry) -> None:
        """Bring the index up now where it can't be left to the next search."""
        try:
            if not entry.ids:
                self._reindex(entry.changes[0].document)
            elif self._unsettled % PENDING == 0:
                self._level_soon()
        except DiskFull as error:
            # The record is safe; the index is behind and catches up when there is room.
            self.troubles["index"] = str(error)

    def _known_after(self, entry: Entry, change: Append, was: Known | None, stat: Stat) -> Known:
        first = was.lines if was else change.lead.count("\n")
        return Known(
            self._signature(stat, size=change.at + len(entry.appended(change))),
            first + sum(line.count("\n") for line in entry.lines),
            was.base if was else entry.position,
        )

    def _append_change(self, name: str, known: Known | None, headed: bool) -> Append:
        if known is None:
            return Append(name, 0, self.layout.header(name) if headed else "")
        size, read = known.signature.size, known.signature.atime_ns
        if name in self._marks.documents and name in self._crlf:
            return Append(name, size, "", read, self._crlf[name])
        tail = self.vault.tail(name, size=size)
        guard = "\n" if tail and not tail.endswith(b"\n") else ""
        self._crlf[name] = tail == b"\r\n"
        return Append(name, size, guard, read, self._crlf[name])

    def _apply(
        self, entry: Entry, changes: Sequence[Append], known: Sequence[Known | None]
    ) -> list[Stat]:
        """Append to every document, or to none: what went wrong leaves no trace."""
        stats: list[Stat] = []
        try:
            for change, was in zip(changes, known):
                like = _stat_of(was.signature) if was else None
                stats.append(self.vault.append(change.document, entry.appended(change), like=like))
        except (CommonplaceError, Moved):
            self._take_back(entry, changes, stats)
            raise
        return stats

    def _take_back(self, entry: Entry, changes: Sequence[Append], stats: Sequence[Stat]) -> None:
        for change, stat in zip(changes, stats):
            self.vault.cut(change.document, at=change.at, size=stat.size)
        self.journal.take_back(entry.position)
        # From now on look at the documents themselves.
        self._level_index()

    def _reindex(self, name: str) -> None:
        """Read a document of ours anew, when what was appended is not one record a line."""
        known = self._marks.documents[name]
        parsed = self.parse(name, decoded(name, self.vault.read(name)))
        self._index_whole(name, parsed, replace(known, lines=parsed.lines))

    def replace_texts(
        self, entry: Entry, texts: Mapping[str, tuple[bytes | None, bytes | None]]
    ) -> Entry:
        """Journal a change of whole texts, `{name: (before, after)}`, and make it so."""
        entry = self.write_texts(entry, texts)
        self._level_with(self.journal.end())
        return entry

    def write_texts(
        self, entry: Entry, texts: Mapping[str, tuple[bytes | None, bytes | None]]
    ) -> Entry:
        """The same, with the marks left behind: dying now, it would all be done again."""
        appends: dict[str, Known] = {}
        entry = self._write_texts(entry, texts, appends, self._write_text)
        for change in entry.changes:
            if change.document in appends and isinstance(change, Append):
                self._index_moved(entry, change, appends[change.document])
        return entry

    def replace_long_texts(
        self, entry: Entry, texts: Mapping[str, tuple[bytes | None, bytes | None]]
    ) -> Entry:
        """As `replace_texts`, with the index left behind: without the lock, `level` is next."""
        done: dict[str, Known] = {}

        def write(name: str, before: bytes | None, after: bytes | None, entry: Entry) -> None:
            _, done[name] = self._put(name, before, after or b"", entry)

        entry = self._write_texts(entry, texts, done, write)
        self._mark(end=self.journal.end(), documents=done, behind=entry.position)
        return entry

    def _write_texts(
        self,
        entry: Entry,
        texts: Mapping[str, tuple[bytes | None, bytes | None]],
        appended: dict[str, Known],
        write: Callable[[str, bytes | None, bytes | None, Entry], None],
    ) -> Entry:
        """What the entry appends to other documents is appended first: that can be taken back."""
        self._level_index()
        appends = [change for change in entry.changes if isinstance(change, Append)]
        known = [self.look(change.document) for change in appends]
        entry = self.journal.append(entry)
        self.journal.sync()
        stats = self._apply(entry, appends, known)
        try:
            for name, (before, after) in texts.items():
                write(name, before, after, entry)
        except CommonplaceError:
            self._write_back(texts)
            self._take_back(entry, appends, stats)
            raise
        for change, was, stat in zip(appends, known, stats):
            appended[change.document] = self._known_after(entry, change, was, stat)
        return entry

    def _index_moved(self, entry: Entry, change: Append, known: Known) -> None:
        """Index lines that stood in another document before."""
        name = change.document
        if all(not lines.read(line, reading=self.reading(name)).derived for line in entry.lines):
            self._index_append(entry, change)
            self.index.note(name, known=known)
        else:
            # What carries no id has the one that its new place gives it.
            parsed = self.parse(name, decoded(name, self.vault.read(name)))
            self.index.put(name, self._indexed(parsed), known=replace(known, lines=parsed.lines))

    def to_append(self, name: str) -> Append:
        """The change that appends an entry's lines to a document. Called under the lock."""
        return self._append_change(name, self.look(name), headed=True)

    def _write_text(
        self, name: str, before: bytes | None, after: bytes | None, entry: Entry
    ) -> None:
        if after is None:
            self.vault.remove(name)
            self.index.drop(name)
        else:
            self._replace(name, before, after, entry)

    def _write_back(self, texts: Mapping[str, tuple[bytes | None, bytes | None]]) -> None:
        """Put back what was written of a change that could not be made whole.

        Its entry is still there: what can't be put back either, the next writer carries through.
        """
        for name, (before, after) in texts.items():
            now = self.vault.read(name) if self.vault.stat(name) else None
            if before == after or now != after:
                continue
            if before is None:
                self.vault.remove(name)
            else:
                self.vault.replace(name, before, expected=after)
            self.index.drop(name)

    def _replace(self, name: str, before: bytes | None, after: bytes, entry: Entry) -> None:
        after, known = self._put(name, before, after, entry)
        self.index.put(name, self._indexed(self.parse(name, decoded(name, after))), known=known)

    def _put(
        self, name: str, before: bytes | None, after: bytes, entry: Entry
    ) -> tuple[bytes, Known]:
        """Write a whole text. Returns what was written, and how it looks."""
        whole = any(isinstance(c, Text) and c.document == name for c in entry.changes)
        base = entry.position if whole else self._base_of(name)
        done = self.vault.replace(name, after, expected=before)
        while done.displaced is not None:
            # Somebody saved it at the same moment: both changes count.
            merged = merged_bytes(before or b"", after, done.displaced)
            base = self._journal_text(Op.EDITED, name, merged, OWNER)
            before, after = after, merged
            done = self.vault.replace(name, after, expected=before)
        return after, Known(self._signature(done.stat, after), _count_lines(after), base)

    def rebuild(self, progress: Progress) -> None:
        """Make the index anew from the documents."""
        self.locked(lambda: self._repair(lambda: self._rebuild(progress)))

    def _rebuild(self, progress: Progress) -> None:
        # Many values and no cycles among them: looking for some takes a tenth of the time.
        gc.disable()
        try:
            self._read_all(progress)
        finally:
            gc.enable()

    def _read_all(self, progress: Progress) -> None:
        states, listing = self._states(), self.vault.listing()
        self._seen = {}
        with self.index.transaction():
            self.index.clear()
            for done, (name, stat) in enumerate(listing.documents.items()):
                progress(done, len(listing.documents))
                self._rebuild_one(name, stat, states.pop(name, None))
            for name in states:
                self.journal.append(self.entry(Op.EDITED, [Gone(name)], author=OWNER))
            self.index.set_mark(self.journal.mark())
            self.index.set_level(self.journal.end())
        self._seen = None
        self._marks.documents.clear()
        progress(len(listing.documents), len(listing.documents))

    def _rebuild_one(self, name: str, stat: Stat, state: tuple[int, bytes] | None) -> None:
        try:
            data = self.vault.read(name)
            parsed = self.parse(name, decoded(name, data))
        except Unreadable as error:
            self.troubles[name] = str(error)
        else:
            self.troubles.pop(name, None)
            base, expected = state or (-1, None)
            known = self._known_since(name, base)
            self._take_in(name, data, parsed, stat, known, expected=expected)

    def reading(self, name: str) -> Reading:
        """What a line of this document means beyond what it says."""
        day, diary = self.layout.day_of(name), self.layout.diary_time(name)
        by_agent = diary or (day and not self.layout.carries_data)
        return lines.Reading(
            document=name,
            day=day or (diary.date() if diary else None),
            zone="UTC" if self.layout.utc_days else self.clock.zone,
            origin=Origin.AGENT if by_agent else Origin.OWNER,
            bullets=not diary and name not in (self.layout.soul, self.layout.status),
        )

    def parse(self, name: str, text: str) -> Parsed:
        return documents.parse(text, reading=self.reading(name), seen=self._seen)

    def _indexed(self, parsed: Parsed) -> list[tuple[Record, int]]:
        records = self.as_indexed(item.record for item in parsed.items)
        return [(record, item.line) for record, item in zip(records, parsed.items)]

    def as_indexed(self, records: Iterable[Record]) -> list[Record]:
        """The records with what their written form does not carry."""
        carried = self._carried()
        if not carried:
            return list(records)
        return [_carrying(record, carried.get(record.id)) for record in records]

    def _carried(self) -> dict[str, dict[str, Any]]:
        """What the journal knows of records whose written form does not carry it."""
        for entry in self.journal.about('"data":', since=self._carried_upto):
            if entry.op != Op.FORGET:
                self._carried_data.update(entry.data)
        self._carried_upto = self.journal.end()
        return self._carried_data

    def known(self, name: str) -> Known:
        found = self.known_of(name)
        if found is None:
            raise NoSuchDocument(name)
        return found

    def entry(
        self, op: Op, changes: Iterable[Change], *, author: Author = SYSTEM, **rest: Any
    ) -> Entry:
        return Entry(
            at=self.clock.stamp(),
            op=op,
            changes=tuple(changes),
            origin=author.origin,
            session=author.session,
            **rest,
        )

    def _signature(
        self, stat: Stat, data: bytes | None = None, *, size: int | None = None
    ) -> Signature:
        """The mark of a document as it looks, or of the size that it must have.

        If somebody wrote in between, its real size differs and the next look tells.
        """
        return Signature(
            size=stat.size if size is None else size,
            mtime_ns=stat.mtime_ns,
            inode=stat.inode,
            atime_ns=stat.atime_ns,
            digest=etag_of(data) if data is not None else "",
            racy=self._is_racy(stat),
        )


def decoded(name: str, data: bytes, *, lenient: bool = False) -> str:
    """A document's bytes as text. A byte order mark stays where it is."""
    try:
        return data.decode("utf-8", "replace" if lenient else "strict")
    except UnicodeDecodeError as error:
        raise Unreadable(name, f"byte {error.start:,} is not UTF-8") from None


def merged_bytes(base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """The 3-way merge of three texts; where both changed the same lines, both stay."""
    texts = (decoded("", data, lenient=True) for data in (base, ours, theirs))
    return merging.merge(*texts).text.encode()


def _line_record(line: str, record_id: str, reading: Reading) -> Record:
    """The record of a line that we wrote; where the line carries no id, the entry does."""
    record = lines.read(line, reading=reading).record
    assert record is not None, "a line that we wrote can be read"
    return record if record.id == record_id else replace(record, id=record_id)


def _is_whole(entry: Entry) -> bool:
    """Whether an entry does more than append."""
    return any(not isinstance(change, Append) for change in entry.changes)


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + bool(data and not data.endswith(b"\n"))


def _stat_of(signature: Signature) -> Stat:
    return Stat(signature.size, signature.mtime_ns, signature.inode)


def _seen(piece: Appended, read: int) -> Appended:
    return replace(piece, read=read) if piece.read < 0 else piece


def _numbered(
    records: Sequence[Record], text: Sequence[str], line: int
) -> list[tuple[Record, int]]:
    """The records with the lines they start on."""
    found = []
    for record, written in zip(records, text):
        found.append((record, line))
        line += written.count("\n")
    return found


def _carrying(record: Record, data: dict[str, Any] | None) -> Record:
    if not data:
        return record
    known: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in data.items()}
    return replace(record, **known)
