"""The schedules of the vaults that a gateway serves, at work in the background.

A schedule is begun anew when the files that set its options have changed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.model.clock import Clock
from commonplace.model.errors import CommonplaceError, VaultTrouble
from commonplace.storage import error_log, option_edits

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.upkeep.schedule import Schedule

LOOK_SECONDS = 2.0
"""How often the files of options are looked at."""
PATIENCE = 3.0
"""Seconds that a job has to end when its schedule does."""


class Schedules:
    """One schedule for each vault, while the gateway serves."""

    def __init__(self, open_memory: Callable[[str], Memory], paths: Sequence[str]) -> None:
        self._running = [Running(open_memory, path) for path in paths]
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, name="commonplace-options", daemon=True)

    def __enter__(self) -> Schedules:
        for each in self._running:
            each.begin()
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._watch.join()
        for each in self._running:
            each.end()

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            for each in self._running:
                each.renew()


class Running:
    """The schedule of one vault."""

    def __init__(self, open_memory: Callable[[str], Memory], path: str) -> None:
        self._open = open_memory
        self._path = path
        self._memory: Memory | None = None
        self.schedule: Schedule | None = None
        self._stand: option_edits.Stand = ()

    def begin(self) -> None:
        memory = self._open(self._path)
        try:
            schedule = memory.schedule(elsewhere=True)
        except CommonplaceError:
            memory.close()
            raise
        self._memory, self.schedule = memory, schedule
        self._stand = option_edits.stand(memory.root_path)
        schedule.start()

    def renew(self) -> None:
        """Begin anew where the options have changed; what cannot be read leaves it as it is."""
        if self._memory is None or self._stand == option_edits.stand(self._memory.root_path):
            return
        before, self._stand = self._stand, option_edits.stand(self._memory.root_path)
        memory, schedule = self._memory, self.schedule
        try:
            self.begin()
        except VaultTrouble:
            self._stand = before  # The vault is away for a moment: look again.
        except CommonplaceError as error:
            error_log.note(f"schedule: {error}", at=Clock().stamp())
        else:
            _end(memory, schedule)

    def end(self) -> None:
        _end(self._memory, self.schedule)


def _end(memory: Memory | None, schedule: Schedule | None) -> None:
    if schedule:
        schedule.stop(seconds=PATIENCE)
    if memory:
        memory.close()
