"""Compaction that an append calls for. No store waits for it, nor does whoever closes the vault: it
is left to a process that ends by itself. Where none can be started, a thread does it.

It does not know what compaction does, nor where.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from subprocess import Popen
from threading import Thread

from commonplace.library.library import Library
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import CommonplaceError
from commonplace.model.options import Options
from commonplace.storage.notes import Notes
from commonplace.upkeep.compaction.reports import last_report, note_failure
from commonplace.upkeep.errands import Errands
from commonplace.upkeep.jobs import COMPACT_IF_OVER

PAUSE = timedelta(hours=1)
"""After a run that found nothing to do, how long no append calls for another."""


class Background:
    """At most one run at a time."""

    def __init__(self, library: Library, options: Options, *, notes: Notes) -> None:
        self.library = library
        self.options = options
        self.notes = notes
        self._thread: Thread | None = None
        self._left: Popen[bytes] | None = None

    def consider(self, errands: Errands) -> None:
        """Have it compacted if the main document may be over a threshold."""
        if self._is_at_work() or not self._may_be_over() or self._in_vain():
            return
        self._left = errands.leave(COMPACT_IF_OVER, failed=self._note)
        if self._left is None:
            self._thread = Thread(target=self._run, args=(errands,), name="commonplace-compaction")
            self._thread.start()

    def _is_at_work(self) -> bool:
        here = self._thread is not None and self._thread.is_alive()
        return here or (self._left is not None and self._left.poll() is None)

    def _run(self, errands: Errands) -> None:
        try:
            errands.run(COMPACT_IF_OVER)
        except CommonplaceError as error:
            if not errands.over:
                self._note(str(error))

    def _note(self, why: str) -> None:
        # The vault may be closed by now.
        with suppress(CommonplaceError, OSError):
            note_failure(self.notes, why, at=self.library.clock.stamp())

    def wait(self) -> None:
        if self._thread:
            self._thread.join()

    def _may_be_over(self) -> bool:
        """Told without reading: lines are no fewer than records, bytes no fewer than characters."""
        records = self.options.memory_compaction_threshold_records
        characters = self.options.memory_compaction_threshold_chars
        known = self.library.known_of(self.library.layout.memory)
        if known is None:
            return False
        return known.lines > records > 0 or known.signature.size > characters > 0

    def _in_vain(self) -> bool:
        """Whether the last run found nothing to do, a short while ago."""
        last = last_report(self.notes)
        if last is None or last.status == "done":
            return False
        return self.library.clock.now() - parse_stamp(last.at) < PAUSE
