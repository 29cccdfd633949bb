"""Finish what a writer that died had begun, take back a change that failed halfway, and read all
anew where nothing can be trusted.

It works under the lock, from the journal and the documents.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.library.document_watch import DocumentWatch
from commonplace.library.index_sync import IndexSync, went_back
from commonplace.library.record_reader import decoded
from commonplace.library.writer import Texts
from commonplace.model.errors import CommonplaceError, ToBeFinished, Unreadable
from commonplace.model.files import Known, Signature
from commonplace.model.records import Record
from commonplace.storage.journal import (
    Append,
    Entry,
    Insert,
    Journal,
    Op,
    Text,
    document_at,
    documents_at,
)
from commonplace.storage.progress import Progress
from commonplace.storage.vault import Moved, Stat, Vault

if TYPE_CHECKING:
    from commonplace.library.erase import Eraser

FOUND = frozenset((Op.SEEN, Op.EDITED))
"""Entries that say what was found; the others are what we do to a document."""
OnProgress = Callable[[int, int], None]


class Recovery:
    """One repair of a vault."""

    def __init__(
        self, sync: IndexSync, watch: DocumentWatch, *, eraser: Callable[[], Eraser]
    ) -> None:
        """`eraser` makes the part that finishes an interrupted `forget`."""
        self.sync = sync
        self.watch = watch
        self.eraser = eraser
        self.vault = sync.vault
        self.journal = sync.journal
        self.index = sync.index

    def catch_up(self, mark: str, end: int, *, first: bool = True) -> None:
        """Finish what was left half done in the journal of that mark, which ends at `end`.

        The `first` time of a program it looks what the disk made of what it was not made to keep.
        """
        progress = self.sync.progress = self.sync.progress_store.load()
        is_new = self._is_new(mark, end)
        if is_new or progress.end != end:
            progress.forgot = -1
        if is_new:
            self.rebuild(lambda done, total: None)
        elif progress.end != end:
            self.sync.catch_up_index()
            self._repair(lambda: self._redo(progress.end))
        if first and (damaged := [name for name in progress.unsettled if self._is_damaged(name)]):
            self.sync.catch_up_index()
            self._repair(lambda: self._mend(damaged))

    def _is_damaged(self, name: str) -> bool:
        """Whether a document lacks what we wrote, though nobody else wrote it since."""
        known, stat = self.sync.known_of(name), self.vault.stat(name)
        if known is None or stat is None:
            return False
        return went_back(known, stat) or b"\0" in self.vault.read(name)

    def _mend(self, names: list[str]) -> None:
        self.sync.after_power_cut = True
        for name in names:
            self._reread(name, self.sync.base_of(name))

    def rebuild(self, progress: OnProgress) -> None:
        """Make the index anew from the documents."""
        self._repair(lambda: self._rebuild(progress))

    def _repair(self, work: Callable[[], None]) -> None:
        """Do work after which everything is level. If it is cut short, it must start again."""
        self.sync.unsaved = True
        try:
            work()
        except BaseException:
            self.sync.progress = Progress()
            raise
        finally:
            self.sync.unsaved = self.sync.after_power_cut = False
            self.sync.elsewhere = False
        self.sync.mark_synced(self.journal.end())

    def _is_new(self, mark: str, end: int) -> bool:
        """Whether all is to be looked at: another journal, no progress file, or a power cut."""
        progress = self.sync.progress
        ours, level = self.index.mark() == mark, self.index.level()
        shorter = ours and max(progress.end, level) > end
        cut = progress.settled != end and progress.boot != self.sync.progress_store.boot
        self.sync.after_power_cut = cut or shorter
        self.sync.elsewhere = self._came_from_elsewhere()
        level_known = ours and level <= progress.end <= end
        return cut or not level_known or self.sync.elsewhere

    def _came_from_elsewhere(self) -> bool:
        """Whether the progress is of documents in another directory, and there are some in this."""
        home = self.sync.progress.home
        moved = (
            bool(home)
            and bool(self.sync.progress_store.home)
            and home != self.sync.progress_store.home
        )
        return moved and bool(self.vault.listing().documents)

    def _redo(self, level: int) -> None:
        bases: dict[str, int] = {}
        for entry in list(self.journal.entries(since=level)):
            for change in entry.changes:
                name = change.document
                before = bases.setdefault(name, self.sync.base_of(name))
                if isinstance(change, Text) or (isinstance(change, Append) and change.at == 0):
                    bases[name] = entry.position
                if entry.op not in FOUND:
                    self._finish(entry, name, since=before)
        for name, base in bases.items():
            self._reread(name, base)
        if any(entry.op == Op.FORGET for entry in self.journal.entries(since=level)):
            self.eraser().finish_forgetting(level)

    def _finish(self, entry: Entry, name: str, *, since: int) -> None:
        """Do to one document what an entry says was to be done, if it was not."""
        before = document_at(self.journal, name, since=since, until=entry.position)
        after = document_at(self.journal, name, since=since, until=entry.end)
        stat = self.vault.stat(name)
        now = self.vault.read(name) if stat else None
        if now == after or (now and after and now != before and now.startswith(after)):
            # Done, and appended to since. As it was, it may begin with what is to be left of it.
            return
        if after is None:
            self.vault.remove(name)
        elif stat and now and after.startswith(now) and len(now) >= len(before or b""):
            # The append was begun: what is missing completes the line.
            self.vault.append(name, after[len(now) :], like=stat)
        elif now == before:
            self.vault.replace(name, after, expected=now)
        else:
            from commonplace.markdown.merge import merged_bytes

            merged = merged_bytes(before or b"", after, now or b"")
            self.vault.replace(name, merged, expected=now)

    def _reread(self, name: str, base: int) -> None:
        stat = self.vault.stat(name)
        if stat is None:
            self.index.drop(name)
            return
        known = self._known_since(name, base)
        data, stat = self.watch.edits.healed(name, self.vault.read(name), stat, known)
        parsed = self.sync.reader.parse(name, decoded(name, data))
        self.watch.edits.take_in(name, data, parsed, stat, known)

    def _known_since(self, name: str, base: int) -> Known | None:
        """What to start from when the journal is all that can be trusted."""
        if base < 0:
            return None
        if owed := self.watch.edits.stale.owed(name, base):
            return owed
        known = self.sync.known_of(name)
        return replace(known, base=base) if known else Known(Signature(0, 0, 0), 0, base)

    def _rebuild(self, progress: OnProgress) -> None:
        # Many values and no cycles among them: looking for some takes a tenth of the time.
        gc.disable()
        try:
            self._read_all(progress)
        finally:
            gc.enable()

    def _read_all(self, progress: OnProgress) -> None:
        told, listing = documents_at(self.journal), self.vault.listing()
        seen: dict[str, Record] = {}
        """The records read so far by their lines: most stand twice."""
        with self.index.anew():
            for done, (name, stat) in enumerate(listing.documents.items()):
                progress(done, len(listing.documents))
                self._read_one(name, stat, told.pop(name, None), seen)
            for name, (base, text) in told.items():
                if self.sync.elsewhere or self._never_settled(name):
                    self._write_again(name, base, text, seen)
                else:
                    self.watch.edits.journal_gone(name, text)
            self.index.set_mark(self.journal.mark())
            self.index.set_level(self.journal.end())
        self.sync.progress.documents.clear()
        progress(len(listing.documents), len(listing.documents))

    def _never_settled(self, name: str) -> bool:
        """Whether a document is missing because the power went before it was on disk."""
        return self.sync.after_power_cut and name in self.sync.progress.unsettled

    def _write_again(self, name: str, base: int, text: bytes, seen: dict[str, Record]) -> None:
        """Write a document that only the journal has."""
        from commonplace.library.blame import shown

        self.vault.replace(name, shown(text), expected=None)
        if stat := self.vault.stat(name):
            self._read_one(name, stat, (base, text), seen)
            if self.sync.elsewhere:
                self.watch.edits.tell_united(name, base, 0)

    def _read_one(
        self, name: str, stat: Stat, told: tuple[int, bytes] | None, seen: dict[str, Record]
    ) -> None:
        base, expected = told or (-1, None)
        known = self._known_since(name, base)
        try:
            data = self.vault.read(name)
            data, stat = self.watch.edits.healed(name, data, stat, known, expected=expected)
            parsed = self.sync.reader.parse(name, decoded(name, data), seen=seen)
        except Unreadable as error:
            self.watch.troubles[name] = str(error)
        else:
            self.watch.troubles.pop(name, None)
            self.watch.edits.take_in(name, data, parsed, stat, known, expected=expected)


def take_back(
    vault: Vault, journal: Journal, entry: Entry, error: Exception, *, texts: Texts
) -> None:
    """Leave no trace of the journal's last entry, which could not be made whole.

    `texts` are the whole texts it replaces; `error` is what went wrong. A change that can't be
    taken back either is left for the next start to finish: `ToBeFinished`.
    """
    try:
        # The journal last: who dies meanwhile leaves an entry to be finished, not a foreign line.
        for name, (before, after) in texts.items():
            _put_back(vault, name, before, after)
        moved = error.args if isinstance(error, Moved) else ()
        for change in entry.changes:
            if isinstance(change, Append) and change.document not in (*moved, *texts):
                _cut_off(vault, journal, entry, change)
        journal.take_back(entry.position)
    except (OSError, CommonplaceError, Moved):
        raise ToBeFinished(error) from error


def inserted(journal: Journal, entry: Entry) -> dict[str, tuple[bytes | None, bytes | None]]:
    """The documents that an entry wrote anew to put lines into them, before and after it."""
    return {
        change.document: (
            document_at(journal, change.document, until=entry.position),
            document_at(journal, change.document, until=entry.end),
        )
        for change in entry.changes
        if isinstance(change, Insert)
    }


def _put_back(vault: Vault, name: str, before: bytes | None, after: bytes | None) -> None:
    now = vault.read(name) if vault.stat(name) else None
    if before == after or now != after:
        return
    if before is None:
        vault.remove(name)
    else:
        vault.replace(name, before, expected=after)


def _cut_off(vault: Vault, journal: Journal, entry: Entry, change: Append) -> None:
    name = change.document
    if vault.stat(name) is None:
        return
    data, ours = vault.read(name), entry.appended(change)
    there = data[change.at :]
    if there != ours and there.startswith(ours):
        # Another program went on below it.
        vault.replace(name, data[: change.at] + there[len(ours) :], expected=data)
    elif not ours.startswith(there):
        return
    elif change.at == 0 and document_at(journal, name, until=entry.position) is None:
        vault.remove(name)
    elif there:
        vault.cut(name, at=change.at, size=len(data))
