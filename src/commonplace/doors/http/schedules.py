"""The schedules of the vaults that a gateway serves: one thread does what is due, vault by vault.

A vault is open only while its jobs are looked at or done, so that a thousand of them cost no more
threads or memory than one. It is looked at again when the files that set its options have changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from contextlib import closing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError, ReadOnly, TenantClosed
from commonplace.storage import error_log, option_edits
from commonplace.upkeep.schedule import LATE, take_short_turns

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.upkeep.schedule import Run, Schedule

LOOK_SECONDS = 2.0
"""How often it is looked which vault is due."""
AGAIN = timedelta(seconds=60)
"""When a vault is tried again that could not be opened, or whose jobs somebody else runs."""
UNSEEN = "Nothing looks at the schedule: a job before it does not end."
PATIENCE = 3.0
"""Seconds that a job has to end when the gateway does."""


class Due(Struct, frozen=True):
    """When a vault is to be looked at next, and how the files looked that set its options."""

    at: datetime | None
    """None where its options want no job."""
    root: str = ""
    stand: option_edits.Stand = ()
    late: tuple[str, ...] = ()
    """A sentence on each job that is late although it was looked at: somebody else has it."""
    trouble: str = ""
    """The name of the error with which the vault could not be opened; empty when it could."""


class Schedules:
    """The schedules of all vaults, while the gateway serves."""

    def __init__(
        self,
        open_memory: Callable[[str], Memory],
        paths: Callable[[], Iterable[str]],
        *,
        clock: Clock,
        after: Callable[[Run], None] = lambda run: None,
    ) -> None:
        self._open = open_memory
        self._after = after
        self._paths = paths
        self._clock = clock
        self._due: dict[str, Due] = {}
        self._looked = clock.now()
        self._at_work: Schedule | None = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="commonplace-upkeep", daemon=True)

    def __enter__(self) -> Schedules:
        take_short_turns()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if schedule := self._at_work:
            schedule.stop()
        self._thread.join(PATIENCE)

    def _loop(self) -> None:
        while not self._over.is_set():
            try:
                self.look()
            except (CommonplaceError, OSError) as error:
                self._log(error)
            self._over.wait(LOOK_SECONDS)

    def look(self) -> None:
        """Do what is due in every vault."""
        now = self._clock.now()
        if now < self._looked:
            self._due.clear()  # The clock was set back: no time that was noted holds.
        self._looked = now
        paths = list(self._paths())
        self._due = {path: self._due[path] for path in paths if path in self._due}
        for path in paths:
            if self._over.is_set():
                return
            if self._is_due(path, now):
                self._due[path] = self._tried(path)

    def _is_due(self, path: str, now: datetime) -> bool:
        due = self._due.get(path)
        if due is None or (due.at is not None and due.at <= now):
            return True
        return bool(due.stand) and due.stand != option_edits.stand(due.root)

    def _tried(self, path: str) -> Due:
        """Do what is due in a vault. One that cannot be opened keeps nobody from the others."""
        try:
            with closing(self._open(path)) as memory:
                return self._done(memory)
        except (TenantClosed, ReadOnly):
            return Due(self._clock.now() + AGAIN)  # Its operator wants nothing done in it for now.
        except (CommonplaceError, OSError) as error:
            self._log(error)
            return Due(self._clock.now() + AGAIN, trouble=type(error).__name__)

    def _done(self, memory: Memory) -> Due:
        if memory.parts.database:
            memory.parts.database.check_written()
        stand = option_edits.stand(memory.root_path)
        schedule = self._at_work = memory.schedule(elsewhere=True)
        try:
            ran = schedule.once()
        finally:
            self._at_work = None
        for run in ran:
            self._after(run)
        at, now = schedule.due(), self._clock.now()
        if at is not None and at <= now:
            at = now if ran else now + AGAIN
        return Due(at, memory.root_path, stand, late=tuple(schedule.late()))

    def away(self) -> dict[str, str]:
        """The vaults that could not be opened the last time, each with the error's name."""
        return {path: due.trouble for path, due in self._noted() if due.trouble}

    def late(self) -> dict[str, tuple[str, ...]]:
        """The vaults of which a job should have begun by now, with a sentence on each."""
        now = self._clock.now()
        return {
            path: due.late or (UNSEEN,)
            for path, due in self._noted()
            if due.late or (due.at is not None and now - due.at > LATE)
        }

    def _noted(self) -> list[tuple[str, Due]]:
        return list(self._due.items())

    @property
    def runs(self) -> bool:
        """Whether its thread is there."""
        return self._thread.is_alive()

    def _log(self, error: Exception) -> None:
        error_log.note(f"schedule: {error}", at=self._clock.stamp())
