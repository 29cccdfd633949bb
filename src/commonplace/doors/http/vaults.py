"""The vaults that a gateway serves, and their memories: one for each thread that works.

It does not know HTTP. Threads share no memory: to each other they are like processes, and that is
what the vault's locks are made for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.doors import attached
from commonplace.model.errors import NotFound
from commonplace.model.options import is_url

if TYPE_CHECKING:
    from commonplace.memory import Memory

OPEN = 16
"""How many memories a thread keeps open."""


class NoSuchName(NotFound):
    """A name that no vault of this gateway has."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(
            f"This gateway has no vault {name!r}.", next_step=f"It has {', '.join(known)}."
        )


class Reader(Struct, frozen=True):
    """For whom a memory is opened: the origin of what they write, and their session and group."""

    origin: str
    session: str = ""
    group: str = ""
    read: str | None = None
    """What the session has read that is untrusted, if its host says so."""


class Vaults:
    """Vaults by name, opened when they are first asked for, by their path and for an origin."""

    def __init__(self, paths: dict[str, str], open_memory: Callable[[str, str], Memory]) -> None:
        self.paths = paths
        self._open = open_memory
        self._local = threading.local()
        self._all: list[Memory] = []
        self._guard = threading.Lock()

    def memory(self, name: str, reader: Reader) -> Memory:
        """The memory of this thread for a reader of a vault.

        All sessions of one origin share one that is open, with what it remembers of its index.
        """
        if name not in self.paths:
            raise NoSuchName(name, self.paths)
        held: dict[tuple[str, str], Memory] = self._local.__dict__.setdefault("held", {})
        memory = held.pop((name, reader.origin), None) or self._opened(name, reader.origin)
        held[name, reader.origin] = memory
        while len(held) > OPEN:
            self._close(held.pop(next(iter(held))))
        bounded = memory.for_session(reader.session, group=reader.group)
        bounded.bounded = True
        attached.mark(bounded, reader.read)
        return bounded

    def close(self) -> None:
        for memory in list(self._all):
            memory.stop_upkeep()
        for memory in list(self._all):
            self._close(memory)

    def _opened(self, name: str, origin: str) -> Memory:
        memory = self._open(self.paths[name], origin)
        with self._guard:
            self._all.append(memory)
        return memory

    def _close(self, memory: Memory) -> None:
        with self._guard:
            self._all.remove(memory)
        memory.close()


def named(paths: Iterable[str]) -> dict[str, str]:
    """A short name for each: its last part or its profile, with a number where two are the same."""
    found: dict[str, str] = {}
    for path in paths:
        base = _last_part(path) or "vault"
        name, number = base, 2
        while name in found:
            name, number = f"{base}-{number}", number + 1
        found[name] = path
    return found


def _last_part(path: str) -> str:
    if not is_url(path):
        return Path(path).expanduser().resolve().name
    from commonplace.postgres.urls import place_of

    return place_of(path).profile
