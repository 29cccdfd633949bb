"""What a person decides about findings: which were left as they are, and what mends the others.

A finding that was left is remembered by a mark of what it is about. It is not shown again until one
of its memories changes.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct

from commonplace.library.library import Library
from commonplace.model.files import digest
from commonplace.model.records import Record
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes
from commonplace.upkeep.scan import Finding

NAME = "findings-left.json"
MOST_LEFT = 50_000
"""Marks that are kept, the newest: a memory that is gone leaves its mark behind."""
DEEDS = ("strike", "unlink", "rebuild")
"""Commands that a person may have run from a finding: each can be undone, or changes no text."""
OLD = "old"
"""The group of findings that are there because of their age alone."""


class Marked(Struct, frozen=True):
    """A finding with its mark."""

    finding: Finding
    mark: str
    left: bool = False

    @property
    def group(self) -> str:
        """The findings that it is decided on with."""
        is_old = self.finding.kind == "stale" and self.deed != "strike"
        return OLD if is_old else self.finding.kind

    @property
    def deed(self) -> str:
        """What mends it; empty where a person must do it by hand."""
        words = self.finding.fix.split()
        is_plain = len(words) > 1 and words[1] in DEEDS and not any(w[0] == "-" for w in words)
        return words[1] if is_plain else ""

    @property
    def targets(self) -> tuple[str, ...]:
        """The records that the deed is done to."""
        return tuple(self.finding.fix.split()[2:]) if self.deed else ()


def marked(library: Library, notes: Notes, findings: Iterable[Finding]) -> list[Marked]:
    """The findings with their marks, those that were left among them."""
    found = list(findings)
    records = library.records_of(key for finding in found for key in finding.ids)
    left = left_marks(notes)
    marks = [mark_of(finding, records) for finding in found]
    return [Marked(finding, mark, mark in left) for finding, mark in zip(found, marks)]


def mark_of(finding: Finding, records: Mapping[str, Record]) -> str:
    """The same for as long as the finding is about the same texts."""
    about: list[object] = [finding.kind]
    if finding.ids:
        about += finding.fix.split()[1:2]
        about += [[key, records[key].text if key in records else ""] for key in finding.ids]
    else:
        # Lines above it come and go.
        about += [finding.what, [place.partition(":")[0] for place in finding.places]]
    return digest(json.dumps(about).encode())


def mark_of_all(findings: Iterable[Marked]) -> str:
    """The mark of several findings together: another one of them makes another mark."""
    return digest(" ".join(sorted(each.mark for each in findings)).encode())


def left_marks(notes: Notes) -> Collection[str]:
    """The marks of what was left."""
    return _kept(notes.read(NAME))


def leave(notes: Notes, marks: Iterable[str], *, at: str) -> None:
    """Remember that these are to be left as they are."""
    fresh = dict.fromkeys(marks, at)

    def changed(data: bytes | None) -> bytes:
        kept = {mark: when for mark, when in _kept(data).items() if mark not in fresh}
        return json.dumps(dict([*kept.items(), *fresh.items()][-MOST_LEFT:])).encode()

    notes.change(NAME, changed)


def look_again(notes: Notes, marks: Collection[str]) -> None:
    """Show these again."""

    def changed(data: bytes | None) -> bytes:
        kept = {mark: when for mark, when in _kept(data).items() if mark not in marks}
        return json.dumps(kept).encode()

    notes.change(NAME, changed)


def _kept(data: bytes | None) -> dict[str, str]:
    try:
        kept = parsed(data or b"{}")
    except ValueError:
        return {}
    if not isinstance(kept, dict):
        return {}
    return {mark: at for mark, at in kept.items() if isinstance(mark, str) and isinstance(at, str)}
