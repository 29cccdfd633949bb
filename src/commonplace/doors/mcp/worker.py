"""Does what needs the memory, one job after another, in a thread of its own.

It does not know what the jobs are, nor who waits for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.memory import Memory

Job = Callable[[], None]
OPEN = 4
"""How many sessions' memories stay open: Codex sends several threads through one server."""


class Worker:
    """One thread that opens the memory when a job asks for it, and closes it at the end."""

    def __init__(self, open_memory: Callable[[str], Memory], *, first: Job) -> None:
        self._open_memory = open_memory
        self._first = first
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._memories: dict[tuple[str, str], Memory] = {}
        self._hurried = False
        self._thread = threading.Thread(target=self._work, name="memory", daemon=True)

    def begin(self) -> None:
        """Start with the first job, unless that was done already."""
        if self._thread.ident is None:
            self._thread.start()

    def do(self, job: Job) -> None:
        self._jobs.put(job)

    def end(self) -> None:
        """Do what was asked so far, then close the memory and end."""
        self._jobs.put(None)
        self.begin()

    def hurry(self) -> None:
        """End after the job that is being done."""
        self._hurried = True

    def has_ended(self, *, within: float) -> bool:
        """Wait that many seconds at most for the end."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def memory(self, session: str, group: str = "") -> Memory:
        """The memory of a session. Only jobs may ask for it: it belongs to their thread.

        `group` is the one that its client names; empty: that of the server.
        """
        memory = self._memories.pop((session, group), None) or self._opened(session, group)
        self._memories[session, group] = memory
        while len(self._memories) > OPEN:
            self._memories.pop(next(iter(self._memories))).close()
        return memory

    def _opened(self, session: str, group: str) -> Memory:
        memory = self._open_memory(session)
        memory.for_agents = True
        memory.group = group or memory.group
        return memory

    def _work(self) -> None:
        try:
            self._first()
            while (job := self._jobs.get()) and not self._hurried:
                job()
        finally:
            for memory in self._memories.values():
                memory.close()


class Pulse:
    """Calls `beat` with 1, 2, 3 … every so many seconds while its block is at work."""

    def __init__(self, beat: Callable[[int], None], *, seconds: float) -> None:
        self._beat = beat
        self._seconds = seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="pulse", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _tick(self) -> None:
        count = 1
        while not self._done.wait(self._seconds):
            self._beat(count)
            count += 1
