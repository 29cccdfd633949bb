"""Pauses: when nothing is recorded or told, for the whole vault or for one session.

They are kept after they end: a transcript that is read later must not bring in what was said then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import parse_stamp
from commonplace.storage.notes import Notes

NOTE = "pauses.json"


class Pause(Struct, frozen=True):
    """One time in which nothing is recorded or told."""

    since: str
    """UTC, as `clock.stamp` writes it; so are the other two."""
    session: str = ""
    """The session that it is for; empty: the whole vault."""
    until: str = ""
    """When it ends by itself; empty: when somebody ends it."""
    ended: str = ""
    reason: str = ""

    def covers(self, moment: str) -> bool:
        """Whether it held at a moment. One that says no time may be any."""
        at = _read(moment)
        if at is None:
            return True
        ends = [end for each in (self.until, self.ended) if (end := _read(each))]
        since = _read(self.since)
        return (since is None or since <= at) and not any(end <= at for end in ends)


class Pauses:
    """The pauses of one vault."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def all(self) -> tuple[Pause, ...]:
        """Every pause, the oldest first."""
        return _pauses(self._notes.read(NOTE))

    def of(self, session: str, *, at: str) -> Pause | None:
        """The pause that holds for a session: the vault's, else its own."""
        now = self.now(at=at)
        whole = next((each for each in now if not each.session), None)
        return whole or next((each for each in now if session and each.session == session), None)

    def now(self, *, at: str) -> list[Pause]:
        """The pauses that hold at this moment."""
        if not self._notes.has(NOTE):
            return []
        return [each for each in self.all() if not each.ended and each.covers(at)]

    def begin(self, pause: Pause) -> None:
        """Begin a pause, in place of one that holds for the same."""
        self._change(lambda kept: [*_ended(kept, pause.session, pause.since), pause])

    def end(self, session: str, *, at: str) -> None:
        """End the pause of a session, or the vault's."""
        self._change(lambda kept: _ended(kept, session, at))

    def left_out(self, session: str, moment: str) -> bool:
        """Whether what was said in a session at a moment was said in a pause."""
        return any(each.session in ("", session) and each.covers(moment) for each in self.all())

    def drop(self, before: str) -> None:
        """Forget the pauses that ended before a moment."""

        def is_kept(pause: Pause) -> bool:
            end = min(filter(None, (pause.until, pause.ended)), default="")
            return not end or end >= before

        if not all(map(is_kept, self.all())):
            self._change(lambda kept: filter(is_kept, kept))

    def _change(self, new: Callable[[Iterable[Pause]], Iterable[Pause]]) -> None:
        self._notes.change(NOTE, lambda data: msgspec.json.encode([*new(_pauses(data))]))


def _ended(kept: Iterable[Pause], session: str, at: str) -> list[Pause]:
    return [
        replace(each, ended=at) if each.session == session and not each.ended else each
        for each in kept
    ]


def _pauses(data: bytes | None) -> tuple[Pause, ...]:
    """The pauses of a note. While it cannot be read, nothing is recorded or told."""
    try:
        return msgspec.json.decode(data or b"[]", type=tuple[Pause, ...])
    except msgspec.DecodeError:
        return (Pause("", reason="the note of pauses cannot be read"),)


def _read(stamp: str) -> datetime | None:
    try:
        return parse_stamp(stamp) if stamp else None
    except ValueError:
        return None
