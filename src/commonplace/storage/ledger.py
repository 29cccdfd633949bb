"""The ledger: what each session was told, when, why and at how many tokens.

Each session has a log of its own that is only added to, so two hooks of one session may write at
once. It holds ids and counts and no text: whatever is forgotten leaves nothing to read here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from commonplace.model.files import digest
from commonplace.storage.notes import Notes

DIRECTORY = "told"
LOST = "lost"
"""The event after which a session knows nothing of what it was told: a compaction."""
DENIES, AT = "denied ", "at "
"""How the reasons begin for which it is noted that a rule denied a call, or was told with one."""


class ToldLine(Struct, frozen=True, array_like=True):
    """One line that a session was told: the record, why it was told, and its cost."""

    record: str
    """The id; empty for a line that is no record."""
    why: str = ""
    tokens: int = 0
    mark: str = ""
    """A short mark of the record's text: one that was reworded since is not known."""


class Telling(Struct, frozen=True):
    """What a session was told at one moment."""

    session: str
    at: str
    """UTC, as `clock.stamp` writes it."""
    event: str
    """Where it was told: start, prompt, tool or brief; or `LOST`."""
    lines: tuple[ToldLine, ...] = ()
    aside: str = ""
    """The subagent that was told; empty: the session's own agent. Neither knows what the other was
    told.
    """

    @property
    def tokens(self) -> int:
        """What all its lines cost."""
        return sum(line.tokens for line in self.lines)


class Ledger:
    """What the sessions of one vault were told."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def note(self, telling: Telling) -> None:
        """Add what a session was just told. Without an id of a session nothing is noted."""
        if telling.session:
            # On a line of its own, also below one whose writer was killed in the middle of it.
            line = "\n" + msgspec.json.encode(telling).decode()
            self._notes.add(_name(telling.session), line)

    def lose(self, session: str, *, at: str) -> None:
        """Note that the session's context was compacted: it may be told everything again."""
        self.note(Telling(session, at, LOST))

    def tellings(self, session: str) -> list[Telling]:
        """All that a session was told, the oldest first."""
        return list(self._read(_name(session))) if session else []

    def held(self, session: str, *, aside: str = "") -> dict[str, str]:
        """The records that the session was told and still has in its context, with their marks."""
        told: dict[str, str] = {}
        for telling in self.tellings(session):
            if telling.aside != aside:
                continue
            if telling.event == LOST:
                told.clear()
            told |= {line.record: line.mark for line in telling.lines if line.record}
        return told

    def known(self, session: str, *, aside: str = "") -> frozenset[str]:
        """The ids of those records."""
        return frozenset(self.held(session, aside=aside))

    def all(self) -> Iterator[list[Telling]]:
        """The tellings of every session that was told anything."""
        for name in self._notes.names(DIRECTORY):
            if tellings := list(self._read(name)):
                yield tellings

    def drop(self, before: str) -> None:
        """Take away the logs of sessions that were told nothing since a moment."""
        for name in self._notes.names(DIRECTORY):
            if max((each.at for each in self._read(name)), default="") < before:
                self._notes.remove(name)

    def _read(self, name: str) -> Iterator[Telling]:
        for line in (self._notes.read(name) or b"").splitlines():
            try:
                yield msgspec.json.decode(line, type=Telling)
            except msgspec.DecodeError:
                continue


def _name(session: str) -> str:
    return f"{DIRECTORY}/{digest(session.encode())}.jsonl"
