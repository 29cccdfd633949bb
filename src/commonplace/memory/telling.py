"""What a session is told is noted, with its reason and cost, so that it is not told twice.

A session without an id is told everything, and so is one whose vault takes no notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.memory import session
from commonplace.model.clock import stamp
from commonplace.model.errors import BadValue, CommonplaceError, NotFound
from commonplace.model.files import digest
from commonplace.model.records import Sensitivity
from commonplace.storage.ledger import AT, DENIES, LOST, Telling, ToldLine
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.context.budget import Context
    from commonplace.memory import Memory
    from commonplace.model.records import Record

KEPT_DAYS = 90
"""Days after its last telling for which it is kept what a session was told."""
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


def drop_old(memory: Memory) -> None:
    """Take away what was told to sessions that ended long ago, and their pauses."""
    before = stamp(memory.clock.now() - timedelta(days=KEPT_DAYS))
    if not memory.read_only:
        memory.ledger.drop(before)
        memory.library.pauses.drop(before)


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
    if held:
        memory.library.refresh()
    marks = marks_of(memory, held)
    return frozenset(key for key, mark in held.items() if mark in ("", marks.get(key, mark)))


def marks_of(memory: Memory, record_ids: Iterable[str]) -> dict[str, str]:
    """A short mark of the text of each of these records that is there."""
    wanted = [key for key in dict.fromkeys(record_ids) if key]
    found = memory.library.records_of(wanted) if wanted else {}
    return {key: _mark(record) for key, record in found.items()}


def _mark(record: Record) -> str:
    return digest(f"{record.id} {record.told_text}".encode())[:MARK]


class ToldSession(Struct, frozen=True):
    """One session that was told something, in sums."""

    session: str
    client: str
    first: str
    last: str
    memories: int
    """How many different records it was told."""
    tokens: int


class ToldRecord(Struct, frozen=True):
    """One line that a session was told, with its record as it is now."""

    id: str
    why: str
    tokens: int
    text: str = ""
    gone: str = ""
    """Why there is no text: the record was forgotten, or is secret; or it is no record."""


class ToldAt(Struct, frozen=True):
    """What a session was told at one moment."""

    at: str
    event: str
    aside: str
    tokens: int
    lines: tuple[ToldRecord, ...]


def sessions(memory: Memory, *, days: int = 0) -> list[ToldSession]:
    """The sessions that were told anything, those told last first; of so many days, or of all."""
    session.check_open(memory)
    found = [told for each in memory.ledger.all() if (told := _since(memory, each, days))]
    clients = memory.clients(each[0].session for each in found)
    made = [
        ToldSession(
            each[0].session,
            clients.get(each[0].session, ""),
            each[0].at,
            each[-1].at,
            len({line.record for telling in each for line in telling.lines if line.record}),
            sum(telling.tokens for telling in each),
        )
        for each in found
    ]
    return sorted(made, key=lambda each: (each.last, each.session), reverse=True)


def costs(memory: Memory, *, days: int) -> list[tuple[str, int]]:
    """The tokens that were told on each of the last days, today last."""
    session.check_open(memory)
    today = memory.clock.today()
    sums = {(today - timedelta(days=back)).isoformat(): 0 for back in reversed(range(days))}
    for told in memory.ledger.all():
        for each in told:
            day = memory.clock.day_of(each.at)
            if day in sums:
                sums[day] += each.tokens
    return list(sums.items())


def told_to(memory: Memory, named: str) -> tuple[str, list[ToldAt]]:
    """All that one session was told: the one of this id or beginning, or the `last`."""
    key = _session_named(memory, named)
    memory.library.refresh()
    tellings = memory.ledger.tellings(key)
    ids = {line.record for each in tellings for line in each.lines if line.record}
    found = memory.library.records_of(ids) if ids else {}
    seen = {key: each for key, each in found.items() if _is_served(memory, key)}
    return key, [
        ToldAt(
            each.at,
            each.event,
            each.aside,
            each.tokens,
            tuple(_told_record(line, seen) for line in each.lines),
        )
        for each in tellings
    ]


def _since(memory: Memory, tellings: list[Telling], days: int) -> list[Telling]:
    told = [each for each in tellings if each.lines]
    if not days:
        return told
    first = (memory.clock.today() - timedelta(days=days - 1)).isoformat()
    return [each for each in told if memory.clock.day_of(each.at) >= first]


def _session_named(memory: Memory, named: str) -> str:
    found = [each.session for each in sessions(memory)]
    if named == "last" and found:
        return found[0]
    meant = [key for key in found if key == named] or [
        key for key in found if named and key.startswith(named)
    ]
    if len(meant) > 1:
        few = ", ".join(meant[:3])
        raise BadValue("session", f"{named!r} begins {few}", next_step="Send more of it.")
    if not meant:
        raise NotFound(
            f"No session {named!r} was told anything.",
            next_step="'commonplace told' lists the sessions that were.",
        )
    return meant[0]


def _is_served(memory: Memory, key: str) -> bool:
    """Whether this reader may see the record, by the documents that it stands in."""
    hit = memory.library.hit_of(key) if memory.bounded else None
    places = hit.places if hit else ()
    return not memory.bounded or any(memory.serves(each.document) for each in places)


def in_words(why: str) -> str:
    """The reason of a telling for a person: without the mark of the call that a rule denied."""
    if not why.startswith(DENIES):
        return why
    _, _, moment = why.removeprefix(DENIES).partition(f" {AT}")
    return f"denied once by the rule, at {moment}"


def _told_record(line: ToldLine, found: Mapping[str, Record]) -> ToldRecord:
    record, why = found.get(line.record), in_words(line.why)
    if not line.record:
        return ToldRecord("", why, line.tokens, gone="no memory")
    if record is None:
        return ToldRecord(line.record, why, line.tokens, gone="forgotten")
    if record.sensitivity == Sensitivity.SECRET:
        return ToldRecord(line.record, why, line.tokens, gone="secret")
    return ToldRecord(line.record, why, line.tokens, text=one_line(record.text))
