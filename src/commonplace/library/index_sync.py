"""Keep the index in step with the journal, and note how far documents and index have come.

It indexes the changes that our own entries describe, at once or a slice at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.library.record_reader import count_lines, decoded
from commonplace.library.shared import Shared
from commonplace.model.errors import CommonplaceError, NoSuchDocument, ReadOnly
from commonplace.model.files import Known, Signature
from commonplace.model.records import PASSAGE, Record, etag_of
from commonplace.storage.journal import Append, Change, Entry
from commonplace.storage.progress import Progress
from commonplace.storage.vault import Stat

if TYPE_CHECKING:
    from commonplace.markdown.documents import Parsed

SLICE = 200
"""Lines of a document, or entries, that are indexed at once where others are not to wait."""
RACY_NS = 20_000_000
"""A write so soon after the last look may leave no mark in a time that moves in ticks of 4 ms."""


class IndexSync:
    """The index of one vault and the progress between it and the journal."""

    def __init__(self, shared: Shared) -> None:
        self.vault = shared.vault
        self.journal = shared.journal
        self.index = shared.index
        self.progress_store = shared.progress_store
        self.reader = shared.reader
        self.clock = shared.clock
        self.progress = Progress()
        """What the heads say, as long as nobody else has written since."""
        self.unsaved = False
        """While all is repaired the progress is kept back: cut short, it starts again."""
        self.astray = False
        """Whether the index was not told of a change: the progress is kept back, and the next who
        takes the lock finds the journal ahead of them.
        """

        self.after_power_cut = False
        """While a repair runs: the times of the files tell nothing of reads and saves."""
        self.elsewhere = False
        """While a repair runs: journal and documents come from different places, and neither tells
        of deletions.
        """

    def is_level(self) -> bool:
        return self.index.is_level_with(self.journal)

    def mark(self, **changes: Any) -> None:
        """Say how far the documents have come."""
        for name, value in changes.items():
            setattr(self.progress, name, value)
        self.progress.boot, self.progress.home = self.progress_store.boot, self.progress_store.home
        if not (self.unsaved or self.astray):
            # Without them the next start looks at more than it has to.
            with suppress(OSError, ReadOnly):
                self.progress_store.save(self.progress)

    @contextmanager
    def telling(self) -> Iterator[None]:
        """Tell the index of a change that is made: what goes wrong is mended at the next look."""
        try:
            yield
        except (CommonplaceError, OSError):
            if self.vault.transactional:
                raise
            self.astray = True

    def mark_synced(self, position: int) -> None:
        """Note that documents and index have both come so far."""
        self.index.set_level(position)
        self.mark(end=position, documents={}, behind=-1)

    def mark_all_synced(self) -> None:
        """Note that documents and index have come to the end of the journal."""
        end = self.progress.end = self.journal.end()
        with self.telling():
            self.mark_synced(end)

    def known_of(self, name: str) -> Known | None:
        """How a document looked when we last looked at it or wrote it."""
        return self.progress.documents.get(name) or self.index.known_of(name)

    def known(self, name: str) -> Known:
        """The same of a document that has to be there."""
        found = self.known_of(name)
        if found is None:
            raise NoSuchDocument(name)
        return found

    def is_racy(self, stat: Stat) -> bool:
        """Whether another write could leave the same time on the document."""
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

    def base_of(self, name: str) -> int:
        """Where the journal has the document's last whole text; -1 when it has none."""
        known = self.known_of(name)
        return known.base if known else -1

    def catch_up_index(self, *, done: int = 0) -> None:
        """Index what was appended since the index was last level. The documents are not read.

        What comes before `done` in the journal is indexed already.
        """
        if self.index.level() == self.progress.end:
            # Another process may have indexed them: what it noted since is newer than ours.
            self.progress.documents.clear()
            return
        with self.index.transaction():
            self._index_since(max(done, self.index.level()))
            for name, known in self.progress.documents.items():
                self.index.note(name, known=known)
            self.index.set_level(self.progress.end)
        self.mark(documents={}, behind=-1)

    def catch_up_index_soon(self) -> None:
        """The same, unless that would take long: then it is left to whoever searches next."""
        if self.progress.behind < 0:
            self.catch_up_index()

    def index_whole(self, name: str, parsed: Parsed, known: Known) -> None:
        """Index a document as it is now, after which everything is level."""
        with self.index.transaction():
            self.index.put(name, self.reader.rows(parsed), known=known)
            end = self.journal.end()
            self.index.set_level(end)
        self.mark(end=end, documents={}, behind=-1)

    def index_moved(self, entry: Entry, change: Append, known: Known) -> None:
        """Index lines that stood in another document before."""
        name = change.document
        if self.reader.carries_ids(entry.lines, name):
            self._index_appends([(entry, change)])
            self.index.note(name, known=known)
        else:
            # What carries no id has the one that its new place gives it.
            parsed = self.reader.parse(name, decoded(name, self.vault.read(name)))
            self.index.put(name, self.reader.rows(parsed), known=replace(known, lines=parsed.lines))

    def _index_since(self, position: int) -> None:
        """Tell the index of the entries from a position on.

        Of a document that was only appended to, the new lines are enough; any other is read anew.
        """
        appends: list[tuple[Entry, Append]] = []
        anew: dict[str, None] = {}
        for entry in self.journal.entries(since=position):
            if entry.position >= self.progress.end:
                break
            appends += _appends(entry)
            anew |= dict.fromkeys(c.document for c in entry.changes if not _is_grown(entry, c))
        self._index_appends((e, change) for e, change in appends if change.document not in anew)
        for name in anew:
            self._index_again(name)

    def _index_again(self, name: str) -> None:
        """Read a document of ours anew. If somebody else wrote it, the next look tells."""
        if self.vault.stat(name) is None:
            self.index.drop(name)
            return
        data = self.vault.read(name)
        parsed = self.reader.parse(name, decoded(name, data, lenient=True))
        known = Known(Signature(len(data), 0, 0), count_lines(data), self.base_of(name))
        self.index.put(name, self.reader.rows(parsed), known=known)

    def _index_appends(self, appends: Iterable[tuple[Entry, Append]]) -> None:
        grown: dict[str, list[tuple[Entry, Append]]] = defaultdict(list)
        for entry, change in appends:
            grown[change.document].append((entry, change))
        seen: dict[str, Record] = {}
        for name, parts in grown.items():
            self._index_grown(name, parts, seen)

    def _index_grown(
        self, name: str, parts: Sequence[tuple[Entry, Append]], seen: dict[str, Record]
    ) -> None:
        """Index what was appended to one document."""
        known, reading = self.index.known_of(name), self.reader.reading(name)
        rows: list[tuple[Record, int]] = []
        if known is None:
            # What a new document starts with may say something, too.
            entry, change = parts[0]
            begun = self.reader.parse(name, decoded(name, entry.appended(change), lenient=True))
            rows += (row for row in self.reader.rows(begun) if row[0].kind == PASSAGE)
            known = Known(Signature(0, 0, 0), change.lead.count("\n"), entry.position)
        last, added = known.lines, list[tuple[Record, int]]()
        for entry, change in parts:
            if change.kind != reading.kind:
                reading = replace(reading, kind=change.kind)
            for key, line in entry.pieces(change):
                added.append((self.reader.line_record(line, key, reading, seen), last + 1))
                last += line.count("\n")
        records = self.reader.as_indexed(record for record, _ in added)
        rows += zip(records, (line for _, line in added))
        entry, change = parts[-1]
        size = change.at + len(entry.appended(change))
        # How it looks otherwise the progress says, once for all that was appended.
        self.index.add(name, rows, known=Known(Signature(size, 0, 0), last, known.base))

    def left_behind(self) -> int:
        """Where a change stands that was left for later; -1 without. Called under the lock."""
        # A torn line may lie between what the index was told and what it was not.
        return self.progress.behind if self.progress.behind >= self.index.level() else -1

    def _texts_after(self, entry: Entry) -> dict[str, tuple[bytes, Known]]:
        """What the documents of an entry said right after it, when it was left for later.

        They have only been appended to since. If somebody else wrote them, the next look tells.
        """
        # Read first: what is in them by then is in the journal.
        texts = {
            name: self.vault.read(name) if self.vault.stat(name) else b""
            for name in entry.documents()
        }
        sizes: dict[str, int] = {}
        for later in self.journal.entries(since=entry.end):
            for change in later.changes:
                if isinstance(change, Append):
                    sizes.setdefault(change.document, change.at)
        found = {}
        for name, text in texts.items():
            data = text[: sizes.get(name, len(text))]
            known = Known(Signature(len(data), 0, 0), count_lines(data), self.base_of(name))
            found[name] = data, known
        return found

    def index_in_slices(self, entry: Entry) -> bool:
        """Index a change that was left for later, without the lock.

        Others store meanwhile; False when one of them brought the index further.
        """
        for name, (data, known) in self._texts_after(entry).items():
            parsed = self.reader.parse(name, decoded(name, data, lenient=True))
            if not self._put_in_slices(name, self.reader.rows(parsed), known, at=entry.position):
                return False
        return True

    def index_appends_in_slices(self, whole: Entry, *, until: int) -> None:
        """Index what was stored after such a change, likewise, unless others bring the index up.

        The last is left to `catch_up_index`, which notes how the documents look.
        """
        since = whole.end
        entries = takewhile(lambda e: e.position < until, self.journal.entries(since=since))
        stored = list(entries)[:-1]
        for at in range(0, len(stored), SLICE):
            part = stored[at : at + SLICE]
            with self.index.transaction():
                level = self.index.level()
                moved = level != since if at else level > whole.position
                if moved or any(map(_is_whole, part)):
                    return
                self._index_appends(append for entry in part for append in _appends(entry))
                since = part[-1].end
                self.index.set_level(since)

    def _put_in_slices(
        self, name: str, rows: Sequence[tuple[Record, int]], known: Known, *, at: int
    ) -> bool:
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


def _appends(entry: Entry) -> list[tuple[Entry, Append]]:
    return [(entry, change) for change in entry.changes if isinstance(change, Append)]


def _is_whole(entry: Entry) -> bool:
    """Whether an entry does more than append a record a line."""
    return not all(_is_grown(entry, change) for change in entry.changes)


def _is_grown(entry: Entry, change: Change) -> bool:
    """Whether a change only appends records, a line each, below what stands in a document."""
    if not (isinstance(change, Append) and entry.ids):
        return False
    # A heading between them is there for somebody to find.
    return not (change.at and change.lead.strip())


def went_back(known: Known, stat: Stat) -> bool:
    """Whether a document is as it was before our last write: a save is younger than that.

    So it is when a disk comes back without what had not reached it.
    """
    was = known.signature
    # The system's own time moves in ticks: that of a save just after may be a little older.
    older = stat.mtime_ns == was.mtime_ns or stat.mtime_ns < was.mtime_ns - RACY_NS
    return stat.inode == was.inode and stat.size < was.size and older
