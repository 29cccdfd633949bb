"""The command `told`: what each session was told, when, why and at what cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from commonplace.doors.cli.main import is_for_eyes, open_memory, show
from commonplace.doors.cli.pages import heading, when, width, wrapped
from commonplace.doors.cli.terminal import paint
from commonplace.model.errors import BadValue
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.memory.telling import ToldAt, ToldRecord, ToldSession
    from commonplace.model.clock import Clock

DAYS = 30
"""The days of a chart where none are named."""
MOST_OF_A_DAY = 10
"""Columns of the longest bar for each day of a chart, so that one day alone has a short one."""
SHORT = 60
"""Characters of a memory on one line."""
EVENTS = {
    "start": "at the start",
    "prompt": "beside a prompt",
    "tool": "before a tool",
    "brief": "when it asked",
    "lost": "its context was compacted or cleared: it knows none of the above",
}


def told_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "who", nargs="?", default="", metavar="SESSION", help="its id, a beginning of it, or last"
    )
    parser.add_argument("--days", type=int, default=0, metavar="N", help="of the last N days only")
    parser.add_argument("--costs", action="store_true", help="the tokens of each day instead")


def told(arguments: argparse.Namespace) -> int:
    """Show what sessions were told of memory: when, why, and how many tokens it cost.

    Without SESSION it lists the sessions.
    """
    from commonplace.memory import telling

    if arguments.days < 0:
        why = f"{arguments.days} is no number of days"
        raise BadValue("--days", why, next_step="Use 1 or more.")
    for_eyes = is_for_eyes(arguments)
    with open_memory(arguments) as memory:
        if arguments.costs:
            days = telling.costs(memory, days=arguments.days or DAYS)
            each_day = [{"day": day, "tokens": tokens} for day, tokens in days]
            answer = Answer(each_day, "\n".join(_chart(days, for_eyes=for_eyes)))
        elif arguments.who:
            key, tellings = telling.told_to(memory, arguments.who)
            lines = _tellings(key, tellings, memory.clock, for_eyes=for_eyes)
            data = {"session": key, "tellings": [_plain(each) for each in tellings]}
            answer = Answer(data, "\n".join(lines))
        else:
            found = telling.sessions(memory, days=arguments.days)
            lines = _sessions(found, memory.clock, for_eyes=for_eyes)
            answer = Answer([asdict(each) for each in found], "\n".join(lines))
    show(answer, as_json=arguments.json)
    return 0


def _plain(each: ToldAt) -> dict[str, object]:
    return asdict(each) | {"lines": [asdict(line) for line in each.lines]}


def _sessions(found: Sequence[ToldSession], clock: Clock, *, for_eyes: bool) -> Iterator[str]:
    if not found:
        yield "No session was told anything yet."
        return
    for each in found:
        client = each.client or "unknown client"
        sums = f"{_counted(each.memories, 'memory', 'memories')}, {each.tokens:,} tokens"
        if for_eyes:
            name = paint(one_line(each.session), "bold")
            yield f"{name}  {when(each.last, clock)}"
            yield from wrapped(f"{client}: {sums}", first="  ", style="dim")
        else:
            yield f"{each.last}  {one_line(each.session)}  {client}  {sums}"
    total = sum(each.tokens for each in found)
    said = f"{_counted(len(found), 'session', 'sessions')}, {total:,} tokens"
    yield from (["", *heading(f"{said}. 'told SESSION' shows one.", "dim")] if for_eyes else [said])


def _tellings(
    key: str, tellings: Sequence[ToldAt], clock: Clock, *, for_eyes: bool
) -> Iterator[str]:
    yield from heading(one_line(key), "bold") if for_eyes else [one_line(key)]
    for each in tellings:
        at = when(each.at, clock) if for_eyes else each.at
        event = EVENTS.get(each.event, each.event)
        whom = f" (subagent {one_line(each.aside)})" if each.aside else ""
        cost = f", {each.tokens:,} tokens" if each.lines else ""
        said = f"{at}  {event}{whom}{cost}"
        yield from ["", paint(said, "cyan")] if for_eyes else [said]
        for line in each.lines:
            yield from _line(line, for_eyes=for_eyes)
    total = sum(each.tokens for each in tellings)
    memories = len({line.id for each in tellings for line in each.lines if line.id})
    said = f"{_counted(memories, 'memory', 'memories')}, {total:,} tokens in all"
    yield from (["", *heading(said, "dim")] if for_eyes else [said])


def _line(line: ToldRecord, *, for_eyes: bool) -> Iterator[str]:
    text = line.text or f"({line.gone})"
    most = max(24, width() - 30) if for_eyes else SHORT
    text = text if len(text) <= most else f"{text[: most - 1]}…"
    why = paint(line.why, "dim") if for_eyes else line.why
    yield f"{line.tokens:>7,}  {text}"
    yield f"{'':>7}  {why}"


def _chart(days: Sequence[tuple[str, int]], *, for_eyes: bool) -> Iterator[str]:
    """A bar a day at a terminal; a number a day elsewhere. It begins with the first that has any.

    Where all are empty, today's is left.
    """
    days = [*dropwhile(lambda each: not each[1], days[:-1]), *days[-1:]]
    most = max((tokens for _, tokens in days), default=0)
    room = max(10, min(width() - 24, MOST_OF_A_DAY * len(days)))
    for day, tokens in days:
        bar = "█" * round(room * tokens / most) if most else ""
        yield f"{day}  {tokens:>8,}" + (f"  {paint(bar, 'cyan')}" if for_eyes and bar else "")
    total = sum(tokens for _, tokens in days)
    yield f"{total:,} tokens in {_counted(len(days), 'day', 'days')}"


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
