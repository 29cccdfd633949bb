"""Finishes what a writer that died had begun, and reads all anew where nothing can be trusted.

It works under the lock, from the journal and the documents. What a change is for it does not know.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from msgspec.structs import replace

from commonplace.library.index_sync import Levelling
from commonplace.library.outside_edits import Outside, went_back
from commonplace.library.record_reader import decoded
from commonplace.markdown.merge import merged_bytes
from commonplace.model.errors import Unreadable
from commonplace.model.files import Known, Signature
from commonplace.model.records import Record
from commonplace.storage.journal import BLANK, Append, Entry, Op, Text, document_at, documents_at
from commonplace.storage.progress import Progress
from commonplace.storage.vault import Stat

FOUND = frozenset((Op.SEEN, Op.EDITED))
"""Entries that say what was found; the others are what we do to a document."""
OnProgress = Callable[[int, int], None]


class Recovery:
    """One repair of a vault; `finish_forgetting` carries through what was being forgotten."""

    def __init__(
        self,
        levelling: Levelling,
        outside: Outside,
        *,
        finish_forgetting: Callable[[int], None],
    ) -> None:
        self.levelling = levelling
        self.outside = outside
        self.finish_forgetting = finish_forgetting
        self.vault = levelling.vault
        self.journal = levelling.journal
        self.index = levelling.index

    def catch_up(self, mark: str, end: int, *, first: bool = True) -> None:
        """Finish what was left half done in the journal of that mark, which ends at `end`.

        The `first` time of a program it looks what the disk made of what it was not made to keep.
        """
        progress = self.levelling.progress = self.levelling.progress_store.load()
        is_new = self._is_new(mark, end)
        if is_new or progress.end != end:
            progress.forgot = -1
        if is_new:
            self.rebuild(lambda done, total: None)
        elif progress.end != end:
            self.levelling.bring_up()
            self._repair(lambda: self._redo(progress.end))
        if first and (damaged := [name for name in progress.unsettled if self._is_damaged(name)]):
            self.levelling.bring_up()
            self._repair(lambda: self._mend(damaged))

    def _is_damaged(self, name: str) -> bool:
        """Whether a document lacks what we wrote, though nobody else wrote it since."""
        known, stat = self.levelling.known_of(name), self.vault.stat(name)
        if known is None or stat is None:
            return False
        return went_back(known, stat) or b"\0" in self.vault.read(name)

    def _mend(self, names: list[str]) -> None:
        self.outside.after_power_cut = True
        for name in names:
            self._reread(name, self.levelling.base_of(name))

    def rebuild(self, progress: OnProgress) -> None:
        """Make the index anew from the documents."""
        self._repair(lambda: self._rebuild(progress))

    def _repair(self, work: Callable[[], None]) -> None:
        """Do work after which everything is level. If it is cut short, it must start again."""
        self.levelling.unsaved = True
        try:
            work()
        except BaseException:
            self.levelling.progress = Progress()
            raise
        finally:
            self.levelling.unsaved = self.outside.after_power_cut = False
            self.outside.elsewhere = False
        self.levelling.reached(self.journal.end())

    def _is_new(self, mark: str, end: int) -> bool:
        """Whether all is to be looked at: another journal, no progress file, or a power cut."""
        progress = self.levelling.progress
        ours, level = self.index.mark() == mark, self.index.level()
        shorter = ours and max(progress.end, level) > end
        cut = progress.settled != end and progress.boot != self.levelling.progress_store.boot
        self.outside.after_power_cut = cut or shorter
        self.outside.elsewhere = self._came_from_elsewhere()
        level_known = ours and level <= progress.end <= end
        return cut or not level_known or self.outside.elsewhere

    def _came_from_elsewhere(self) -> bool:
        """Whether the progress is of documents in another directory, and there are some in this."""
        home, ours = self.levelling.progress.home, self.levelling.progress_store.home
        moved = bool(home) and bool(ours) and home != ours
        return moved and bool(self.vault.listing().documents)

    def _redo(self, level: int) -> None:
        bases: dict[str, int] = {}
        for entry in list(self.journal.entries(since=level)):
            for change in entry.changes:
                name = change.document
                before = bases.setdefault(name, self.levelling.base_of(name))
                if isinstance(change, Text) or (isinstance(change, Append) and change.at == 0):
                    bases[name] = entry.position
                if entry.op not in FOUND:
                    self._finish(entry, name, since=before)
        for name, base in bases.items():
            self._reread(name, base)
        self.finish_forgetting(level)

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
            merged = merged_bytes(before or b"", after, now or b"")
            self.vault.replace(name, merged, expected=now)

    def _reread(self, name: str, base: int) -> None:
        stat = self.vault.stat(name)
        if stat is None:
            self.index.drop(name)
            return
        known = self._known_since(name, base)
        data, stat = self.outside.healed(name, self.vault.read(name), stat, known)
        parsed = self.levelling.reader.parse(name, decoded(name, data))
        self.outside.take_in(name, data, parsed, stat, known)

    def _known_since(self, name: str, base: int) -> Known | None:
        """What to start from when the journal is all that can be trusted."""
        if base < 0:
            return None
        known = self.levelling.known_of(name)
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
                if self.outside.elsewhere or self._never_settled(name):
                    self._write_again(name, base, text, seen)
                else:
                    self.outside.journal_gone(name, text)
            self.index.set_mark(self.journal.mark())
            self.index.set_level(self.journal.end())
        self.levelling.progress.documents.clear()
        progress(len(listing.documents), len(listing.documents))

    def _never_settled(self, name: str) -> bool:
        """Whether a document is missing because the power went before it was on disk."""
        return self.outside.after_power_cut and name in self.levelling.progress.unsettled

    def _write_again(self, name: str, base: int, text: bytes, seen: dict[str, Record]) -> None:
        """Write a document that only the journal has."""
        self.vault.replace(name, text.replace(BLANK, b""), expected=None)
        if stat := self.vault.stat(name):
            self._read_one(name, stat, (base, text), seen)
            if self.outside.elsewhere:
                self.outside.united(name, base, 0)

    def _read_one(
        self, name: str, stat: Stat, told: tuple[int, bytes] | None, seen: dict[str, Record]
    ) -> None:
        base, expected = told or (-1, None)
        known = self._known_since(name, base)
        try:
            data = self.vault.read(name)
            data, stat = self.outside.healed(name, data, stat, known, expected=expected)
            parsed = self.levelling.reader.parse(name, decoded(name, data), seen=seen)
        except Unreadable as error:
            self.outside.troubles[name] = str(error)
        else:
            self.outside.troubles.pop(name, None)
            self.outside.take_in(name, data, parsed, stat, known, expected=expected)
