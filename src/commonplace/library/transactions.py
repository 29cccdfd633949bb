"""Work under the vault's lock: done again while somebody else is in the way, then on disk.

Before the work begins, the changes that a dead writer left half done are finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, TypeVar

from commonplace.library.document_watch import DocumentWatch
from commonplace.library.writer import Writer
from commonplace.model.clock import monotonic
from commonplace.model.errors import (
    Busy,
    CommonplaceError,
    ReadOnly,
    ToBeFinished,
)
from commonplace.storage.journal import Added, Op
from commonplace.storage.progress import Progress
from commonplace.storage.vault import TryAgain

if TYPE_CHECKING:
    from commonplace.library.erase import Eraser
    from commonplace.library.recovery import OnProgress, Recovery

Result = TypeVar("Result")

NOTICED = frozenset((Op.SEEN, Op.EDITED, Op.PUT_BACK))
"""Entries that stay true whatever becomes of the change beside them."""


class Transactions:
    """The turns that writers and readers take at one vault."""

    def __init__(
        self,
        writer: Writer,
        watch: DocumentWatch,
        *,
        eraser: Callable[[], Eraser],
        lock_seconds: float,
    ) -> None:
        """`eraser` makes the part that finishes an interrupted `forget`."""
        self.writer = writer
        self.watch = watch
        self.sync = writer.sync
        self.vault = writer.shared.vault
        self.journal = writer.shared.journal
        self.reader = writer.shared.reader
        self.clock = writer.shared.clock
        self.lock_seconds = lock_seconds
        self._eraser = eraser
        self._verified_mark = ""

    def locked(self, work: Callable[[], Result]) -> Result:
        """Do some work under the vault's lock, again from the start while somebody else writes.

        When this returns, what was journalled is on disk.
        """
        deadline = monotonic() + self.lock_seconds
        while True:
            try:
                with self.vault.lock(undone=self._start_anew):
                    before = self.journal.end()
                    self._catch_up(before)
                    self.watch.mark_lost()
                    done = work()
                    self.watch.mark_lost()
                    end = self.sync.progress.end
                if end != before:
                    self._sync(before, end)
                return done
            except TryAgain as again:
                self._wait(again, deadline)

    def undisturbed(self, work: Callable[[], Result]) -> Result:
        """Do some work under the vault's lock that has nothing to do with the documents."""
        deadline = monotonic() + self.lock_seconds
        while True:
            try:
                with self.vault.lock():
                    return work()
            except TryAgain as again:
                self._wait(again, deadline)

    def _wait(self, again: TryAgain, deadline: float) -> None:
        """Wait before the next try; fail after the time that a lock is waited for."""
        if monotonic() > deadline:
            raise again.error or Busy("the vault", self.lock_seconds)
        self.clock.sleep(again.after)

    def _catch_up(self, end: int) -> None:
        """Finish what a writer that died left half done. `end` is where the journal ends."""
        mark = self.journal.mark()
        if self.sync.astray:
            self._start_anew()
        if end == self.sync.progress.end and mark == self._verified_mark:
            return
        first = mark != self._verified_mark
        if first:
            self.reader.start_anew()
        with suppress(ReadOnly) if self.writer.shared.refusal else nullcontext():
            self._recovery().catch_up(mark, end, first=first)
        self._verified_mark = mark

    def _start_anew(self) -> None:
        """Let go of what is remembered of a change that never happened, or was not told of."""
        self.sync.progress, self.sync.astray = Progress(), False
        self.reader.start_anew()
        self.writer.start_anew()
        self._verified_mark = ""

    def _recovery(self) -> Recovery:
        from commonplace.library.recovery import Recovery

        return Recovery(self.sync, self.watch, eraser=self._eraser)

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
        from commonplace.library.recovery import inserted, take_back

        if self.journal.end() != end:
            raise ToBeFinished(error)
        ours = [entry for entry in self.journal.entries(since=start) if entry.op not in NOTICED]
        self._start_anew()
        for entry in reversed(ours):
            if not all(isinstance(change, Added) for change in entry.changes):
                raise ToBeFinished(error)
            texts = inserted(self.journal, entry)
            take_back(self.vault, self.journal, entry, error, texts=texts)

    def rebuild(self, progress: OnProgress) -> None:
        """Make the index anew from the documents."""
        self.locked(lambda: self._recovery().rebuild(progress))

    def refresh(self) -> None:
        """Take in whatever changed since the last look. Cheap when nothing did."""
        if not self._verified_mark and self._may_lack():
            self.locked(self.journal.end)
        if not self.sync.is_level() or self.watch.changed():
            self.level()
            self.locked(self.watch.look_at_all)

    def _may_lack(self) -> bool:
        """Whether the disk was not made to keep all of the documents: it may have lost some."""
        return not self.vault.transactional and bool(self.sync.progress_store.load().unsettled)

    def level(self) -> None:
        """Tell the index of a change that was left for later, a slice at a time.

        Others store meanwhile, and one of them may come first: then there is nothing left to do.
        """
        if self.vault.transactional:
            # Half of it would be undone with the other half.
            self.locked(self.sync.catch_up_index)
            return
        position = self.locked(self.sync.left_behind)
        self.reader.read_ahead(self.sync.progress.end)
        if position >= 0:
            entry = next(self.journal.entries(since=position), None)
            if entry and self.sync.index_in_slices(entry):
                end = self.locked(self.journal.end)
                self.sync.index_appends_in_slices(entry, until=end)
                self.locked(lambda: self.sync.catch_up_index(done=entry.end))

    def settle(self) -> None:
        """Return when the documents, too, are on disk: a power cut then needs no repair."""
        if self.vault.transactional:
            self.writer.unsettled = 0
            return

        def unsettled() -> tuple[tuple[str, ...], int]:
            return tuple(self.sync.progress.unsettled), self.sync.progress.end

        def settled() -> None:
            progress = self.sync.progress
            left = {name: at for name, at in progress.unsettled.items() if at >= end}
            self.sync.mark(settled=max(end, progress.settled), unsettled=left)

        names, end = self.locked(unsettled)
        for name in names:
            self.vault.sync(name)
        self.writer.unsettled = 0
        self.locked(settled)

    def close(self) -> None:
        """Settle what was written, if the disk lets us: it is safe in the journal already."""
        if self.writer.unsettled:
            # The rest can wait for a disk that does, or a server, or until a tenant is open again.
            with suppress(CommonplaceError, OSError):
                self.locked(self.sync.catch_up_index_soon)
                self.settle()
