"""Notices for the owner of a vault: the next command prints each once, `doctor` for some days.

A notice names what happened to a document and the command that undoes it. It holds no text of a
document: the journal has the text, where `forget` finds it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.model.clock import Clock, stamp
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes

NAME = "notices.json"
KEPT = timedelta(days=14)


class Notice(Struct, frozen=True):
    """One thing that happened to a document, and what to do about it."""

    change: int
    """The number of the change in the journal."""
    document: str
    says: str
    fix: str
    at: str
    pieces: tuple[tuple[int, str], ...] = ()
    """What was taken out: the change that had brought each, and the record's id if it has one."""
    told: bool = False

    @property
    def sentence(self) -> str:
        return f"{self.says} {self.fix}"


class Notices:
    """The notices of one vault. Written under the vault's lock."""

    def __init__(self, notes: Notes, clock: Clock) -> None:
        self._notes = notes
        self._clock = clock

    def open(self) -> list[Notice]:
        """Those that nobody has settled, oldest first."""
        if not self._notes.has(NAME):
            return []
        first = stamp(self._clock.now() - KEPT)
        return [notice for notice in self._read() if notice.at >= first]

    def _read(self) -> list[Notice]:
        try:
            rows: list[dict[str, Any]] = parsed(self._notes.read(NAME) or b"[]")
            return [Notice(**{**row, "pieces": tuple(map(tuple, row["pieces"]))}) for row in rows]
        except (ValueError, TypeError, KeyError):
            return []

    def add(self, notice: Notice) -> None:
        self._write([*self.open(), notice])

    def tell(self) -> list[Notice]:
        """The notices that no command has printed yet; they count as printed now."""
        found = self.open()
        if any(not notice.told for notice in found):
            self._write([replace(notice, told=True) for notice in found])
        return [notice for notice in found if not notice.told]

    def settle(self, change: int) -> None:
        """Remove the notices of one change."""
        self._write([notice for notice in self.open() if notice.change != change])

    def _write(self, notices: Sequence[Notice]) -> None:
        if notices:
            self._notes.write(NAME, json.dumps([asdict(notice) for notice in notices]).encode())
        else:
            self._notes.remove(NAME)
