"""Writers that meet in the worst order: nobody gets the lock before all want it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError

WRITERS = 4
PATIENCE = 120.0
"""Seconds after which a race is called stuck; none takes them."""


class Lockstep:
    """Holds back whoever wants the lock until all who still write want it too.

    What a writer read before it had the lock is then as old as it can be.
    """

    def __init__(self, writers: int) -> None:
        self._changed = threading.Condition()
        self._writers = writers
        self._waiting = 0
        self._turn = 0

    def wait(self) -> None:
        with self._changed:
            turn, self._waiting = self._turn, self._waiting + 1
            if not self._let_go_when_complete():
                assert self._changed.wait_for(lambda: self._turn != turn, PATIENCE), "stuck"

    def leave(self) -> None:
        with self._changed:
            self._writers -= 1
            self._let_go_when_complete()

    def _let_go_when_complete(self) -> bool:
        if self._waiting < self._writers:
            return False
        self._turn, self._waiting = self._turn + 1, 0
        self._changed.notify_all()
        return True

    def hold_back(self, memory: Memory) -> None:
        """Let this memory take its vault's lock in step with the others."""
        vault: Any = memory.library.vault
        lock, depth = vault.lock, [0]

        @contextmanager
        def in_step(**rest: Any) -> Iterator[None]:
            if not depth[0]:
                self.wait()
            depth[0] += 1
            try:
                held: AbstractContextManager[None] = lock(**rest)
                with held:
                    yield
            finally:
                depth[0] -= 1

        vault.lock = in_step


class Outcome:
    """What the writers were told: of what was done, and of what was refused."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.refused: list[CommonplaceError] = []
        self.broken: list[BaseException] = []


def raced(
    opened: Callable[[int], Memory],
    deed: Callable[[Memory, int, int], Any],
    *,
    writers: int = WRITERS,
    rounds: int = 2,
) -> Outcome:
    """Let several writers, each with a vault opened by itself, do something at once."""
    step, outcome = Lockstep(writers), Outcome()

    def write(writer: int) -> None:
        try:
            with opened(writer) as memory:
                step.hold_back(memory)
                for number in range(rounds):
                    try:
                        outcome.done.append(deed(memory, writer, number))
                    except CommonplaceError as error:
                        outcome.refused.append(error)
        except BaseException as error:
            outcome.broken.append(error)
        finally:
            step.leave()

    at_once(write, writers)
    assert outcome.broken == []
    return outcome


def at_once(deed: Callable[[int], object], writers: int) -> None:
    """Do something in as many threads, and wait for all of them."""
    threads = [threading.Thread(target=deed, args=(writer,)) for writer in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
