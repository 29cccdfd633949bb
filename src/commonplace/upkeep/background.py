"""Compaction that an append calls for: in a thread of its own, on a vault opened for itself.

So no store waits for it. It does not know what compaction does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import timedelta
from threading import Thread

from commonplace.clock import parse_stamp
from commonplace.config import Options
from commonplace.library import Library
from commonplace.notes import Notes
from commonplace.upkeep.compact import last_report

PAUSE = timedelta(hours=1)
"""After a run that found nothing to do, how long no append calls for another."""

TURN = 0.0005
"""Seconds after which a thread that works lets the others have a turn. With ten times as many, as
is usual, a store beside a compaction waits for that long at each of its steps.
"""


def take_short_turns() -> None:
    """Let no thread of this process wait long for one that works in the background."""
    sys.setswitchinterval(min(TURN, sys.getswitchinterval()))


class Background:
    """At most one run at a time, ended before the vault is closed."""

    def __init__(self, library: Library, options: Options, *, notes: Notes) -> None:
        self.library = library
        self.options = options
        self.notes = notes
        self._thread: Thread | None = None

    def consider(self, run: Callable[[], None]) -> None:
        """Run if the main document may be over a threshold."""
        if self._thread and self._thread.is_alive():
            return
        if self._may_be_over() and not self._in_vain():
            take_short_turns()
            self._thread = Thread(target=run, name="commonplace-compaction")
            self._thread.start()

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
