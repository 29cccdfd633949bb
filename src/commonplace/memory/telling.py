"""What a session is told is noted, with its reason and cost, so that it is not told twice.

A session without an id is told everything, and so is one whose vault takes no notes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING

from commonplace.model.errors import CommonplaceError
from commonplace.model.files import digest
from commonplace.storage.ledger import LOST, Telling, ToldLine

if TYPE_CHECKING:
    from commonplace.context.budget import Context
    from commonplace.memory import Memory
    from commonplace.model.records import Record

START, PROMPT, TOOL, BRIEF = "start", "prompt", "tool", "brief"
"""The events at which a session is told something."""
AROUND = "headings, documents and what is said about them"
"""Why a session was told what is no record."""
MARK = 4
"""Characters of a record's mark: enough to see that it was reworded, too few to guess it by."""


def note_told(memory: Memory, event: str, lines: Iterable[ToldLine], *, aside: str = "") -> None:
    """Note what the session is told at an event: start, prompt, tool or brief."""
    told = tuple(lines)
    if not told or not memory.session or memory.read_only:
        return
    marks = marks_of(memory, (line.record for line in told))
    marked = tuple(
        ToldLine(line.record, line.why, line.tokens, marks.get(line.record, "")) for line in told
    )
    telling = Telling(memory.session, memory.clock.stamp(), event, marked, aside)
    # A disk that takes no note is no reason to tell nothing.
    with suppress(CommonplaceError, OSError):
        memory.ledger.note(telling)


def note_lost(memory: Memory) -> None:
    """Note that the session's context was compacted or cleared, where it was told anything."""
    if memory.session and not memory.read_only and memory.ledger.held(memory.session):
        memory.ledger.lose(memory.session, at=memory.clock.stamp())


class AtStart(StrEnum):
    """What has become of the memory that a session gets at its start."""

    NEVER = "never told"
    TOLD = "told"
    LOST = "lost"


def told_at_start(memory: Memory) -> AtStart:
    """Whether the session was told at its start, and has it still."""
    try:
        tellings = memory.ledger.tellings(memory.session)
    except (CommonplaceError, OSError):
        return AtStart.NEVER
    events = [each.event for each in tellings if not each.aside]
    found = next((each for each in reversed(events) if each in (START, LOST)), "")
    return {START: AtStart.TOLD, LOST: AtStart.LOST}.get(found, AtStart.NEVER)


def lines_of(context: Context) -> list[ToldLine]:
    """What a context tells: a line for each record, and one for all that is none."""
    costs: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for line in context.lines:
        if line.record_id:
            costs[line.record_id] = costs.get(line.record_id, 0) + line.tokens
            reasons.setdefault(line.record_id, line.reason)
    told = [ToldLine(key, reasons[key], cost) for key, cost in costs.items()]
    around = context.tokens - sum(costs.values())
    return [*told, ToldLine("", AROUND, around)] if around > 0 else told


def lines_for(records: Iterable[Record], why: str) -> list[ToldLine]:
    """What records tell that a tool answers with."""
    from commonplace.context.tokens import estimate

    return [ToldLine(record.id, why, estimate(record.told_text)) for record in records]


def known(memory: Memory, *, aside: str = "") -> frozenset[str]:
    """The ids of the records that the session was told and has in its context as they are now."""
    try:
        held = memory.ledger.held(memory.session, aside=aside)
    except (CommonplaceError, OSError):
        return frozenset()
    marks = marks_of(memory, held)
    return frozenset(key for key, mark in held.items() if marks.get(key, mark) == mark)


def marks_of(memory: Memory, record_ids: Iterable[str]) -> dict[str, str]:
    """A short mark of the text of each of these records that is there."""
    wanted = [key for key in dict.fromkeys(record_ids) if key]
    found = memory.library.records_of(wanted) if wanted else {}
    return {key: _mark(record) for key, record in found.items()}


def _mark(record: Record) -> str:
    return digest(f"{record.id} {record.told_text}".encode())[:MARK]
