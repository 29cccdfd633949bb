"""Copy what another memory holds into the vault: as imported, once, in one change.

What was copied is noted in the vault, so that a second copy adds nothing, not even a memory that
somebody removed or reworded since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.doors.setup.memory_entries import MemoryEntry
from commonplace.model.errors import CommonplaceError, HeldForReview, Refused
from commonplace.model.files import digest
from commonplace.model.limits import parts
from commonplace.model.records import BEHAVIORAL, Origin
from commonplace.storage.journal import Op
from commonplace.storage.machine_files import parsed

if TYPE_CHECKING:
    from commonplace.memory import Memory

NOTE = "copied.json"
"""The note of what was copied: the digests of the texts."""
ALONE = "copying.lock"
LONGEST_PLACE = 200
HELD, THERE = "held", "there"


class CopyReport(Struct, frozen=True):
    """What became of the entries of another memory."""

    added: int = 0
    held: int = 0
    """Those that tell agents what to do: they wait for `review`."""
    there: int = 0
    """Those that the vault had, or that were copied before."""
    refused: tuple[str, ...] = ()
    """A sentence for each that was not taken."""


def copy_entries(memory: Memory, entries: Iterable[MemoryEntry]) -> CopyReport:
    """Copy entries into the vault. Copying the same twice adds nothing."""
    with memory.notes.alone(ALONE):
        known = set(_noted(memory.notes.read(NOTE)))
        given = {_key(each): each for each in entries}
        fresh = {key: each for key, each in given.items() if key not in known}
        done = _Copying(memory).run(fresh)
        memory.notes.write(NOTE, json.dumps(sorted(known | done.taken)).encode(), durable=True)
    return CopyReport(done.added, done.held, len(given) - len(fresh) + done.there, done.refused)


def uncopied(memory: Memory, entries: Iterable[MemoryEntry]) -> int:
    """How many entries were never copied."""
    return len({_key(each) for each in entries} - set(_noted(memory.notes.read(NOTE))))


def _noted(data: bytes | None) -> list[str]:
    try:
        said = parsed(data or b"[]")
    except ValueError:
        return []
    return [each for each in said if isinstance(each, str)] if isinstance(said, list) else []


def _key(entry: MemoryEntry) -> str:
    """The same text of the same file is the same entry, whatever happened to it here."""
    return digest(f"{entry.file}\0{entry.text}".encode("utf-8", "replace"))


class _Done(Struct):
    added: int
    held: int
    there: int
    refused: tuple[str, ...]
    taken: set[str]


class _Copying:
    """One copying, as the import that it is."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory.for_session(memory.session, origin=Origin.IMPORT)
        self.refused: list[str] = []

    def run(self, entries: dict[str, MemoryEntry]) -> _Done:
        rules = {key: each for key, each in entries.items() if each.kind in BEHAVIORAL}
        plain = {key: each for key, each in entries.items() if key not in rules}
        taken, ready = self._checked(plain)
        added = self._stored(ready)
        decided = {key: fate for key, each in rules.items() if (fate := self._held(each))}
        held = [*decided.values()].count(HELD)
        there = len(ready) - added + len(decided) - held
        return _Done(added, held, there, tuple(self.refused), taken | decided.keys())

    def _checked(self, entries: dict[str, MemoryEntry]) -> tuple[set[str], list[dict[str, Any]]]:
        """What can be stored; the others are refused each with its reason."""
        from commonplace.memory.storing import record_of

        taken, ready = set[str](), list[dict[str, Any]]()
        for key, entry in entries.items():
            given = self._given(entry)
            try:
                for each in given:
                    record_of(self.memory, self.memory.author, **each)
            except CommonplaceError as error:
                self.refused.append(f"{entry.file}: {error.what}")
            else:
                taken.add(key)
                ready += given
        return taken, ready

    def _stored(self, ready: list[dict[str, Any]]) -> int:
        """Store all in one change. Returns how many are new."""
        if not ready:
            return 0
        end = self.memory.library.end()
        self.memory.store_all(ready)
        changes = self.memory.library.entries(since=end)
        return len({key for change in changes if change.op == Op.ADD for key in change.ids})

    def _held(self, entry: MemoryEntry) -> str:
        """Let what tells agents what to do wait for a person. Returns what became of it."""
        try:
            for each in self._given(entry):
                self.memory.remember(**each)
        except HeldForReview:
            return HELD
        except Refused:
            return THERE  # The owner forgot it: it stays so.
        except CommonplaceError as error:
            self.refused.append(f"{entry.file}: {error.what}")
            return ""
        return THERE

    def _given(self, entry: MemoryEntry) -> list[dict[str, Any]]:
        """The memories of an entry: one, or several where it is long."""
        limit = self.memory.options.text_limit
        place = entry.file[-LONGEST_PLACE:]
        common = {"kind": entry.kind, "channel": place, "timestamp": entry.at}
        return [{"text": text, **common} for text in parts(entry.text, limit=limit)]
