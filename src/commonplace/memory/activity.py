"""Changes with their texts, by who made them, what they did and on which day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from enum import StrEnum
from typing import TYPE_CHECKING

from commonplace.library import activity
from commonplace.memory import session
from commonplace.model import limits
from commonplace.model.errors import BadValue, NotFound
from commonplace.model.records import BY_TOOL, Origin
from commonplace.storage.journal import Entry, Op

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.memory import Memory

LAST = 1 << 62
"""A position that no journal reaches."""


class Who(StrEnum):
    """Who makes changes, as a person tells them apart."""

    YOU = "you"
    AGENT = "agent"
    EDITOR = "editor"
    IMPORT = "import"
    COMMONPLACE = "commonplace"


class Deed(StrEnum):
    """What changes do, as a person tells them apart."""

    REMEMBERED = "remembered"
    CHANGED = "changed"
    REMOVED = "removed"
    JUDGED = "judged"
    TAKEN_BACK = "taken-back"
    DECIDED = "decided"
    UPKEEP = "upkeep"


OUTSIDE = frozenset((Op.EDITED, Op.SEEN))
ORIGINS = {
    Origin.OWNER: Who.YOU,
    Origin.SYSTEM: Who.COMMONPLACE,
    Origin.IMPORT: Who.IMPORT,
}
DEEDS = {
    Op.ADD: Deed.REMEMBERED,
    Op.REFRESH: Deed.REMEMBERED,
    Op.PUT_BACK: Deed.REMEMBERED,
    Op.INIT: Deed.CHANGED,
    Op.SEEN: Deed.CHANGED,
    Op.EDITED: Deed.CHANGED,
    Op.REPLACE: Deed.CHANGED,
    Op.MENDED: Deed.CHANGED,
    Op.PIN: Deed.JUDGED,
    Op.UNPIN: Deed.JUDGED,
    Op.USEFUL: Deed.JUDGED,
    Op.WRONG: Deed.JUDGED,
    Op.STRIKE: Deed.REMOVED,
    Op.FORGET: Deed.REMOVED,
    Op.UNDO: Deed.TAKEN_BACK,
    Op.REDO: Deed.TAKEN_BACK,
    Op.RESTORE: Deed.TAKEN_BACK,
    Op.HOLD: Deed.DECIDED,
    Op.APPROVE: Deed.DECIDED,
    Op.REJECT: Deed.DECIDED,
    Op.FOLLOW: Deed.CHANGED,
    Op.TIDY: Deed.UPKEEP,
    Op.TRIM: Deed.UPKEEP,
    Op.COMPACT: Deed.UPKEEP,
    Op.MARK: Deed.UPKEEP,
}


def who_made(entry: Entry) -> Who:
    """Who made a change; a person's editor is told apart from the person here."""
    if entry.op in OUTSIDE:
        return Who.EDITOR
    return ORIGINS.get(Origin(entry.origin), Who.AGENT) if entry.origin else Who.COMMONPLACE


def deed_of(entry: Entry) -> Deed:
    return DEEDS.get(Op(entry.op), Deed.CHANGED)


def page(
    memory: Memory,
    *,
    who: str = "",
    deed: str = "",
    day: str = "",
    document: str = "",
    way: str = "",
    before: int | None = None,
    limit: int = 50,
) -> activity.Page:
    session.check_open(memory)
    fits = _filter(memory, who=who, deed=deed, day=_day(day), document=document)
    limit = limits.check_limit(limit, most=500)
    return _read(memory, fits, before=LAST if before is None else before, limit=limit, way=way)


def one(memory: Memory, position: int) -> activity.Activity:
    session.check_open(memory)
    seen = _seen(memory)
    found = _read(
        memory, lambda each: each.position == position and seen(each), before=LAST, limit=1
    )
    if not found.changes:
        raise NotFound(
            f"There is no change {position}.", next_step="'commonplace log' lists the changes."
        )
    return found.changes[0]


def clients(memory: Memory, sessions: Iterable[str]) -> dict[str, str]:
    """The client of each session that said its own or whose messages are kept, by its session."""
    found = {each: _client(memory, each) for each in set(sessions) if each}
    return {each: client for each, client in found.items() if client}


def _client(memory: Memory, whose: str) -> str:
    if client := memory.sessions.read(whose).client:
        return client
    said = memory.messages.last(whose, 1) if memory.parts.has_history() else []
    return said[0].channel if said and said[0].channel != BY_TOOL else ""


def _read(
    memory: Memory, fits: Callable[[Entry], bool], *, before: int, limit: int, way: str = ""
) -> activity.Page:
    """The changes that fit, with their texts for the owner alone: some are secret, or wait."""
    memory.library.refresh()
    served = memory.serves if memory.origin == Origin.OWNER else lambda name: False
    return activity.page(memory.library, fits, before=before, limit=limit, way=way, served=served)


def _seen(memory: Memory) -> Callable[[Entry], bool]:
    """Whether a reader may hear of a change: not if every document in it is hidden."""

    def seen(entry: Entry) -> bool:
        names = entry.documents()
        return any(map(memory.serves, names)) if names else memory.origin == Origin.OWNER

    return seen


def _filter(
    memory: Memory, *, who: str, deed: str, day: date | None, document: str
) -> Callable[[Entry], bool]:
    seen, day_of = _seen(memory), memory.clock.day_of

    def fits(entry: Entry) -> bool:
        return (
            (not who or who_made(entry) == who)
            and (not deed or deed_of(entry) == deed)
            and (not document or document in entry.documents())
            and (day is None or day_of(entry.at) == day.isoformat())
            and seen(entry)
        )

    return fits


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise BadValue("day", f"{text!r} is no day", next_step="Use YYYY-MM-DD.") from None
