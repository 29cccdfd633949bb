"""How the runs of compaction ended: a line a run, in a log of the vault.

It does not know what a run does.
"""

from __future__ import annotations

import json
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.model.clock import DayOf
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes

LOG = "compaction.jsonl"


class Report(Struct, frozen=True):
    """How a run ended: done, planned, skipped or failed, and what it did."""

    status: str
    why: str = ""
    at: str = ""
    records_before: int = 0
    records_after: int = 0
    characters_before: int = 0
    characters_after: int = 0
    compacted: int = 0
    summaries: int = 0
    summarizer: str = ""
    refused: tuple[str, ...] = ()
    seconds: float = 0.0
    position: int = -1
    """Of the change in the journal, for undo."""
    backup: str = ""
    """The kept version of the main document as it was."""
    rolled_up: tuple[str, ...] = ()
    """The years of the diary that were summed up as well."""


def note_failure(notes: Notes, why: str, *, at: str) -> None:
    """Log a run that could not do so itself."""
    log(notes, Report("failed", why, at=at))


def log(notes: Notes, report: Report) -> None:
    notes.add(LOG, json.dumps(asdict(report)))


def last_report(notes: Notes) -> Report | None:
    """How the last run that came past the first checks ended."""
    found = reports(notes)
    return found[-1] if found else None


def described(report: Report, day_of: DayOf) -> str:
    """A report in one sentence."""
    day = day_of(report.at)
    if report.status != "done":
        return f"{report.status} on {day}: {report.why}"
    by = f"{report.summaries:,} summaries by {report.summarizer}"
    refused = f", {len(report.refused):,} of them extractive instead" if report.refused else ""
    return (
        f"on {day} from {report.records_before:,} records to {report.records_after:,}, "
        f"{by}{refused}, in {report.seconds:.1f} s"
    )


def reports(notes: Notes) -> list[Report]:
    """How the runs ended, oldest first."""
    found = []
    for line in (notes.read(LOG) or b"").splitlines():
        with suppress(ValueError, TypeError, KeyError):
            value = parsed(line)
            found.append(Report(**value | {"refused": tuple(value["refused"]), "rolled_up": ()}))
    return found
