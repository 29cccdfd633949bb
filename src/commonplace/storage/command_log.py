"""The log of commands: which shell command failed in which session, and what then succeeded.

It keeps the shape of a command (its program and the words that choose what it does) and a word for
the failure, never what a command printed.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Struct

from commonplace.storage.notes import Notes

NAME = "commands.jsonl"
MOST, KEPT = 64 * 1024, 300
"""Bytes of the log, and the last lines that stay when it grew past them."""


class CommandRun(Struct, frozen=True, array_like=True):
    """One command as it ended."""

    session: str
    at: str
    """UTC, as `clock.stamp` writes it."""
    command: str
    failure: str = ""
    """What went wrong, in a word of our own; empty when nothing did."""


class CommandLog:
    """The log of one vault. Lines that cannot be read are passed over."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    def note(self, ran: CommandRun) -> None:
        """Add a failure, or what succeeded while a failure of its session waits for an end."""
        if ran.session and (ran.failure or self._waits(ran.session)):
            # On a line of its own, also below one whose writer was killed in the middle of it.
            line = "\n" + msgspec.json.encode(ran).decode()
            self._notes.add(NAME, line, most=MOST, kept=KEPT)

    def _waits(self, session: str) -> bool:
        """Whether the last command of a session that the log has is a failure."""
        last = next((each for each in reversed(self.all()) if each.session == session), None)
        return last is not None and bool(last.failure)

    def all(self) -> list[CommandRun]:
        """Every command of the log, the oldest first."""
        found = []
        for line in (self._notes.read(NAME) or b"").splitlines():
            try:
                found.append(msgspec.json.decode(line, type=CommandRun))
            except msgspec.DecodeError:
                continue
        return found

    def drop(self, gone: Callable[[CommandRun], bool]) -> None:
        """Take commands out, such as those that are old."""
        if any(map(gone, self.all())):
            self._notes.change(NAME, lambda data: _without(data, gone))


def _without(data: bytes | None, gone: Callable[[CommandRun], bool]) -> bytes:
    kept = []
    for line in (data or b"").splitlines():
        try:
            ran = msgspec.json.decode(line, type=CommandRun)
        except msgspec.DecodeError:
            continue
        kept += [] if gone(ran) else [line]
    return b"".join(line + b"\n" for line in kept)
