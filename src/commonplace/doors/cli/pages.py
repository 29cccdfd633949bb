"""What a person reads at a terminal: memories, hits and changes, the text before the machinery.

Only for terminals. What is piped stays plain and stable: `tools/hits.py` writes it.
"""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli.terminal import paint
from commonplace.model.clock import parse_stamp
from commonplace.tools.hits import FEW, FURTHER, in_numbers
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from datetime import date

    from commonplace.model.clock import Clock
    from commonplace.storage.journal import Entry

SHORT = 8
"""The last characters of an id: its beginning is a time, which many share."""
WIDEST = 100
"""Columns beyond which a line is hard to read."""
LONG = 400
"""Characters of a memory that a list shows."""
MARGIN = 4
PEOPLE = {"owner": "you", "agent": "the agent", "import": "imported", "web": "from the web"}


def short_id(key: str) -> str:
    """The part of an id that a person types."""
    return key[-SHORT:]


def width() -> int:
    """The columns to fill."""
    try:
        columns = os.get_terminal_size().columns
    except OSError:
        columns = int(os.environ.get("COLUMNS", "") or 80)
    return max(min(columns, WIDEST), 40)


def who(origin: str) -> str:
    """Who wrote it, as a person would say."""
    return PEOPLE.get(origin, f"a {origin}" if origin else "nobody knows who")


def when(stamp: str, clock: Clock) -> str:
    """A moment in words, in the user's zone."""
    try:
        moment = clock.local(parse_stamp(stamp))
    except ValueError:
        return "undated"
    day = day_in_words(moment.date(), clock.today())
    return f"{day} {moment:%H:%M}" if len(stamp) > len("2026-11-18") else day


def day_in_words(day: date, today: date) -> str:
    """Today, yesterday, a weekday of this week, else the date."""
    ago = (today - day).days
    if ago in (0, 1):
        return ("today", "yesterday")[ago]
    if 1 < ago < 7:
        return f"{day:%A}"
    said = f"{day.day} {day:%B}"
    return said if day.year == today.year else f"{said} {day.year}"


def found(data: Mapping[str, Any], clock: Clock) -> str:
    """The hits of a search, numbered as the commands that take an id know them."""
    hits, nearest = data["hits"], data["nearest"]
    lines = list(_numbered((hits[:FEW] if data["weak"] else hits) or nearest, clock))
    if not lines:
        return "Nothing found."
    if not hits:
        lines = [paint("Nothing found. The nearest:", "yellow"), "", *lines]
    elif data["weak"]:
        lines = [paint("Weak: perhaps none of these is an answer.", "yellow"), "", *lines]
    return "\n".join([*lines, *_notes(data)]).rstrip()


def gathered(data: Mapping[str, Any], clock: Clock) -> str:
    """Everything about something under its kinds, numbered as `found` numbers it."""
    if not data["count"]:
        return found(data, clock)
    counted = "1 memory" if data["count"] == 1 else f"{data['count']} memories"
    lines = [f"{counted} may be about “{_shortened(one_line(data['about']))}”."]
    last = ""
    for number, hit in enumerate(data["hits"], start=1):
        if hit["group"] != last:
            last = hit["group"]
            lines += ["", paint(f"{last} ({data['groups'][last]})", "bold")]
        lines += memory({**hit, "reasons": ()}, clock, number=number)
    if data["more"]:
        lines += ["", f"+{data['more']} more: --kind, --tags, --since and --until narrow it."]
    return "\n".join([*lines, "", *_notes(data)]).rstrip()


def _notes(data: Mapping[str, Any]) -> list[str]:
    """How a question was read, what its answer lacks, and how to go on from a poor one."""
    notes = [f"“{word}” read as “{meant}”." for word, meant in data["readings"].items()]
    notes += [data["degraded"]] if data["degraded"] else []
    notes += [FURTHER] if data["weak"] or data["nearest"] else []
    return [part for each in notes for part in wrapped(one_line(each), style="dim")]


def _numbered(hits: Sequence[Mapping[str, Any]], clock: Clock) -> Iterator[str]:
    for number, hit in enumerate(hits, start=1):
        yield from memory(hit, clock, number=number)
        yield ""


def memories(records: Sequence[Mapping[str, Any]], clock: Clock) -> str:
    """Memories under their days, numbered."""
    lines, last = list[str](), ""
    for number, each in enumerate(records, start=1):
        day = when(str(each.get("timestamp", ""))[:10], clock)
        if day != last:
            lines += [paint(day.capitalize(), "bold")]
        last = day
        lines += memory(each, clock, number=number, dated=False)
    return "\n".join(lines)


def memory(
    data: Mapping[str, Any], clock: Clock, *, number: int = 0, dated: bool = True
) -> list[str]:
    """One memory: its text, then what is known of it."""
    label = f"{number:>{MARGIN - 1}} " if number else " " * MARGIN
    text = _shortened(one_line(str(data["text"])))
    about = [str(data["kind"]), *(f"#{tag}" for tag in data.get("tags", ()))]
    moment = when(str(data.get("timestamp", "")), clock)
    about += [moment if dated else moment.rpartition(" ")[2]]
    about += [who(str(data.get("origin", "agent")))]
    lines = wrapped(text, first=paint(label, "cyan"))
    lines += wrapped(" · ".join([*about, short_id(str(data["id"]))]), style="dim")
    reasons = "; ".join(data.get("reasons", ()))
    lines += wrapped(reasons, style="dim") if reasons else []
    return lines + (wrapped(in_numbers(data), style="dim") if data.get("why") else [])


def _shortened(text: str) -> str:
    return text if len(text) <= LONG else f"{text[:LONG]}…"


def kept(data: Mapping[str, Any], clock: Clock) -> str:
    """What was just remembered."""
    said = "Remembered before:" if data.get("already") else "Remembered:"
    return "\n".join([paint(said, "green"), *memory(data, clock)])


def taken_back(data: Mapping[str, Any], clock: Clock, *, made: str) -> str:
    """What an undo or a redo did."""
    deed = f"{DEEDS.get(data['op'], data['op'])} {when(data['at'], clock)}"
    said = data["said"] or [", ".join(data["documents"])]
    lines = [line for text in said for line in wrapped(one_line(text))]
    for edit in data.get("edits", ()):
        names, number = ", ".join(edit["documents"]), edit["change"]
        stays = f"Your edit of {names} stays; 'commonplace undo --change {number}' takes it back."
        lines += wrapped(stays, style="yellow")
    return "\n".join([paint(f"{made} ({deed}):", "green"), *lines])


def whole(data: Mapping[str, Any], account: Sequence[str], clock: Clock) -> str:
    """One memory with all that is known of it."""
    lines = memory(data, clock)
    told = [*account, f"in {', '.join(data['places'])}" if data["places"] else "in no document"]
    return "\n".join([*lines, *(each for line in told for each in wrapped(one_line(line)))])


def wrapped(text: str, *, first: str = "", style: str = "") -> list[str]:
    """Lines of the terminal's width, below each other."""
    lines = textwrap.wrap(text, width() - MARGIN) or [""]
    lines = [paint(line, style) if style else line for line in lines]
    return [(first if first and not at else " " * MARGIN) + line for at, line in enumerate(lines)]


DEEDS = {
    "init": "made the vault",
    "add": "remembered",
    "replace": "changed",
    "strike": "removed",
    "forget": "erased for good",
    "undo": "took back",
    "redo": "made again",
    "restore": "restored",
    "seen": "found",
    "edited": "edited by hand",
    "mended": "mended after a power cut",
    "put-back": "put back what a save overwrote",
    "hold": "held for your approval",
    "approve": "approved",
    "reject": "rejected",
    "trim": "moved out of a full document",
    "compact": "summarised",
    "refresh": "was told again",
    "mark": "marked",
}
"""What the journal calls a deed, as a person would say."""


def change(entry: Entry, said: Sequence[str], clock: Clock) -> list[str]:
    """One change: what its records said, who made it, when, and the number that undo takes."""
    deed = DEEDS.get(entry.op, entry.op) + (f" {entry.undoes}" if entry.undoes >= 0 else "")
    text = _shortened("; ".join(map(one_line, said)) or ", ".join(entry.documents()))
    by = who(entry.origin) + (f" ({one_line(entry.session)})" if entry.session else "")
    lines = wrapped(f"{deed}: {text}", first=" " * MARGIN)
    return [*lines, *wrapped(f"{by} · {when(entry.at, clock)} · {entry.position}", style="dim")]
