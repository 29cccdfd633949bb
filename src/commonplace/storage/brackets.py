"""Which sessions run a tool just now that can write files.

Lines that appear in a document meanwhile count as the tool's and not as the person's. The hooks of
the clients say when a tool begins and when it ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.model.records import OWNER, Author, Origin
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes

NOTE = "brackets.json"
MOST = 64
LONGEST_HOURS = 12
"""A tool that no hook saw the end of is over then."""


class Bracket(Struct, frozen=True):
    """One call of a tool that has not come to its end."""

    session: str
    call: str
    began: float
    goes_on: bool = False
    """Whether it runs on after the client calls it done."""
    aside: bool = False
    """Whether it is a subagent's, which may run while the user and the agent talk."""
    run: str = ""
    """The process of the client."""


class Brackets:
    """The tools that are running in sessions of one vault."""

    def __init__(self, notes: Notes, now: Callable[[], float]) -> None:
        self._notes = notes
        self._now = now

    def begin(self, bracket: Bracket) -> None:
        self._change(lambda there: [*there, bracket][-MOST:])

    def end(self, ended: Callable[[Bracket], bool]) -> None:
        """Take those away that are over."""
        if any(map(ended, self.open())):
            self._change(lambda there: [each for each in there if not ended(each)])

    def open(self) -> list[Bracket]:
        """Those that are not over, oldest first."""
        return self._read(self._notes.read(NOTE))

    def writer(self) -> Author:
        """Who wrote an edit that now appears in the documents: the person, if no tool runs."""
        running = self.open()
        return Author(Origin.TOOL, running[-1].session) if running else OWNER

    def _change(self, new: Callable[[list[Bracket]], list[Bracket]]) -> None:
        def changed(data: bytes | None) -> bytes:
            return json.dumps([asdict(each) for each in new(self._read(data))]).encode()

        self._notes.change(NOTE, changed)

    def _read(self, data: bytes | None) -> list[Bracket]:
        try:
            found = [Bracket(**each) for each in parsed(data or b"[]")]
        except (ValueError, TypeError):
            return []
        oldest = self._now() - LONGEST_HOURS * 3600
        return [each for each in found if _is_sound(each) and each.began > oldest]


def _is_sound(bracket: Bracket) -> bool:
    """Whether the note has all its fields: a stranger's vault may bring any note."""
    texts = (bracket.session, bracket.call, bracket.run)
    return {*map(type, texts)} == {str} and isinstance(bracket.began, int | float)
