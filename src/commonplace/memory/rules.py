"""Tell the rules that fit a call of a tool or a prompt, each once a session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.memory import session
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import CommonplaceError
from commonplace.model.files import digest
from commonplace.model.moments import CalledTool, moments
from commonplace.model.records import Now, Origin, Record, is_over, is_to_come, now_of
from commonplace.storage.ledger import AT, DENIES, LOST, ToldLine
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.memory import Memory

HEAD = "Rules from memory for what you are doing (a suggestion is no command):"
DENIED = (
    "A rule of the user's denies this call once. Heed it; the same call passes when you repeat it."
)
UNREAD_SECONDS = 1.0
"""So long after a denial the model has not read it: what it calls meanwhile it called before."""


class ToldRules(Struct, frozen=True):
    """What is said of the rules that fit a call; empty where none is to be told."""

    text: str = ""
    denies: bool = False
    """Whether the call is denied this time."""


NOTHING = ToldRules()


class _Fitting(Struct, frozen=True):
    """A rule that fits a call, with the moment that does."""

    record: Record
    moment: str
    denies: bool = False


def with_moments(memory: Memory) -> list[Record]:
    """The rules that may be told at their moments now, the newest first."""
    if memory.is_shut:
        return []
    memory.library.refresh()
    records = memory.library.rules()
    if not records:
        return []
    waiting, now = memory.library.approvals.waiting_among(records), now_of(memory.clock)
    return [record for record in records if record.id not in waiting and _holds(record, now)]


def _holds(record: Record, now: Now) -> bool:
    return not is_over(record, now) and not is_to_come(record, now)


def tell(
    memory: Memory,
    call: CalledTool,
    *,
    event: str,
    characters: int,
    aside: str = "",
    may_deny: bool = False,
    only_denials: bool = False,
) -> ToldRules:
    """Tell the rules that fit a call, as far as they are not known, and note that they were told.

    Only the owner's own rules deny, and only where it can be noted that they did: a call that is
    denied must pass when it is repeated.
    """
    fitting = [found for record in with_moments(memory) if (found := _fitting(record, call))]
    if not fitting:
        return NOTHING
    known = memory.known(aside=aside)
    denied = _denied(memory, aside) if may_deny else {}
    mark = _mark(call)
    told: list[_Fitting] = []
    for each in sorted(fitting, key=_rank):
        key = each.record.id
        heeded = key in known and _is_read(denied.get(key), mark, memory)
        denies = each.denies and may_deny and bool(memory.session) and not heeded
        if denies or (key not in known and not only_denials):
            told.append(_Fitting(each.record, each.moment, denies))
    told = _within(told, characters)
    if not told:
        return NOTHING
    return _told(memory, told, mark, event=event, aside=aside)


def _fitting(record: Record, call: CalledTool) -> _Fitting | None:
    moment = next((it for it in moments(record.when) if it.fits(call)), None)
    if moment is None:
        return None
    return _Fitting(record, str(moment), bool(record.must) and record.origin == Origin.OWNER)


def _rank(rule: _Fitting) -> tuple[bool, bool, bool]:
    """Those that deny first, then the owner's, then the user's sentences."""
    record = rule.record
    return not rule.denies, record.origin != Origin.OWNER, not record.is_quote


def _within(rules: Sequence[_Fitting], characters: int) -> list[_Fitting]:
    """As many as there is room for, and the first in any case."""
    kept: list[_Fitting] = []
    for rule in rules:
        characters -= len(_line(rule.record)) + 1
        if kept and characters < 0:
            break
        kept.append(rule)
    return kept


def _told(
    memory: Memory, rules: Sequence[_Fitting], mark: str, *, event: str, aside: str
) -> ToldRules:
    from commonplace.context.tokens import counter

    count = counter(memory.options.tokenizer)
    lines = {rule.record.id: _line(rule.record) for rule in rules}
    noted = (
        ToldLine(
            rule.record.id,
            f"{DENIES}{mark} {AT}{rule.moment}" if rule.denies else f"{AT}{rule.moment}",
            count(lines[rule.record.id]),
        )
        for rule in rules
    )
    memory.note_told(event, noted, aside=aside)
    session.mind_origins(memory, (rule.record.origin for rule in rules))
    # A disk that took no note would have the call denied for ever.
    wanted = {rule.record.id for rule in rules if rule.denies}
    denies = bool(wanted) and wanted <= set(_denied(memory, aside))
    return ToldRules("\n".join([DENIED if denies else HEAD, *lines.values()]), denies)


def _line(record: Record) -> str:
    text = one_line(record.text)
    if record.is_quote:
        return f"- the user said: “{text}”"
    return (
        f"- the user's rule: {text}" if record.origin == Origin.OWNER else f"- suggestion: {text}"
    )


def _denied(memory: Memory, aside: str) -> dict[str, tuple[str, str]]:
    """The rules that denied a call since the last compaction: when, and the mark of the call."""
    found: dict[str, tuple[str, str]] = {}
    try:
        tellings = memory.ledger.tellings(memory.session)
    except (CommonplaceError, OSError):
        return {}
    for telling in tellings:
        if telling.aside != aside:
            continue
        if telling.event == LOST:
            found.clear()
        for line in telling.lines:
            if line.why.startswith(DENIES):
                called = line.why.removeprefix(DENIES).partition(" ")[0]
                found[line.record] = telling.at, called
    return found


def _is_read(denial: tuple[str, str] | None, mark: str, memory: Memory) -> bool:
    """Whether the model knows of the denial: it repeats the call, or had the time to read it."""
    if denial is None:
        return False
    at, called = denial
    age = memory.clock.now() - parse_stamp(at)
    return called == mark or age >= timedelta(seconds=UNREAD_SECONDS)


def _mark(call: CalledTool) -> str:
    """A short mark of what is called."""
    return digest("\0".join((call.tool, *call.said)).encode("utf-8", "replace"))[:8]


def times_told(memory: Memory) -> dict[str, tuple[int, int]]:
    """How often each rule was told at its moment, and how often it denied a call, by its id."""
    found: dict[str, tuple[int, int]] = {}
    lines = (
        line
        for tellings in memory.ledger.all()
        for telling in tellings
        for line in telling.lines
        if line.why.startswith((AT, DENIES))
    )
    for line in lines:
        told, denied = found.get(line.record, (0, 0))
        found[line.record] = told + 1, denied + line.why.startswith(DENIES)
    return found
