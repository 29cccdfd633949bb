"""What a person reads at a terminal: memories, hits and changes, the text before the machinery.

Only for terminals. What is piped stays plain and stable: `tools/hits.py` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli.terminal import paint
from commonplace.doors.cli.wrapping import cells, columns, folded, padded
from commonplace.model.clock import parse_stamp
from commonplace.tools.hits import FEW, FURTHER, in_numbers, said_of_moments, said_of_time, times
from commonplace.trust.neutralise import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.library.activity import Activity, Piece
    from commonplace.model.clock import Clock

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
    return min(columns(), WIDEST)


def who(origin: str, *, client: str = "") -> str:
    """Who wrote it, as a person would say."""
    said = PEOPLE.get(origin, f"a {origin}" if origin else "nobody knows who")
    return f"{said} in {client}" if client and origin == "agent" else said


def when(stamp: str, clock: Clock) -> str:
    """A moment in words, in the user's zone."""
    day, time = day_and_time(stamp, clock)
    return f"{day} {time}".rstrip()


def day_and_time(stamp: str, clock: Clock) -> tuple[str, str]:
    """The day of a moment in words and its time, in the user's zone. Of a mere day no time."""
    try:
        if len(stamp) <= len("2026-11-18"):
            return day_in_words(date.fromisoformat(stamp), clock.today()), ""
        moment = clock.local(parse_stamp(stamp))
    except ValueError:
        return "undated", ""
    return day_in_words(moment.date(), clock.today()), f"{moment:%H:%M}"


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
        lines = [*heading("Nothing found. The nearest:", "yellow"), "", *lines]
    elif data["weak"]:
        lines = [*heading("Weak: perhaps none of these is an answer.", "yellow"), "", *lines]
    return "\n".join([*lines, *_notes(data)]).rstrip()


def gathered(data: Mapping[str, Any], clock: Clock) -> str:
    """Everything about something under its kinds, numbered as `found` numbers it."""
    if not data["count"]:
        return found(data, clock)
    counted = "1 memory" if data["count"] == 1 else f"{data['count']} memories"
    lines = heading(f"{counted} may be about “{_shortened(one_line(data['about']))}”.", "")
    last = ""
    for number, hit in enumerate(data["hits"], start=1):
        if hit["group"] != last:
            last = hit["group"]
            lines += ["", paint(f"{last} ({data['groups'][last]})", "bold")]
        lines += memory({**hit, "reasons": ()}, clock, number=number)
    if data["more"]:
        more = f"+{data['more']} more: --kind, --tags, --since and --until narrow it."
        lines += ["", *heading(more, "")]
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
        day, _ = day_and_time(str(each.get("timestamp", "")), clock)
        if day != last:
            lines += ["", paint(day[:1].upper() + day[1:], "bold")]
        last = day
        lines += memory(each, clock, number=number, dated=False)
    return "\n".join(lines[1:])


def left_out(shown: int, count: int) -> str:
    """What a list of the newest leaves out."""
    said = f"The newest {shown} of {count:,}. --limit {count} shows all; --kind, --tag and --since"
    return "\n".join(["", *wrapped(f"{said} choose.", style="dim")])


def counts(groups: Mapping[str, Sequence[tuple[str, int]]]) -> str:
    """How many there are of each, in columns below the names of the groups."""
    lines = list[str]()
    for title, rows in groups.items():
        if rows:
            wide = max(cells(one_line(name)) for name, _ in rows)
            named = [(padded(one_line(name), wide), count) for name, count in rows]
            lines += ["", paint(title, "bold"), *(f"  {name}  {n:>7,}" for name, n in named)]
    return "\n".join(lines[1:])


def told_to_agents(text: str, count: int) -> str:
    """The brief, under a line that says whom it speaks to."""
    if not count:
        return text
    lines = [each for line in text.split("\n") for each in (folded(line, width()) or [""])]
    title = heading("What is known, in the order in which agents are told it:", "bold")
    return "\n".join([*title, "", *lines])


def memory(
    data: Mapping[str, Any], clock: Clock, *, number: int = 0, dated: bool = True
) -> list[str]:
    """One memory: its text, then what is known of it."""
    label = f"{number:>{MARGIN - 1}} " if number else " " * MARGIN
    lines = wrapped(_shortened(one_line(str(data["text"]))), first=paint(label, "cyan"))
    lines += about(data, clock, dated=dated)
    reasons = "; ".join(data.get("reasons", ()))
    lines += wrapped(reasons, style="dim") if reasons else []
    return lines + (wrapped(in_numbers(data), style="dim") if data.get("why") else [])


def about(data: Mapping[str, Any], clock: Clock, *, dated: bool = True) -> list[str]:
    """What is known of a memory: its kind and tags, when, who, and the part of its id to type."""
    parts = [one_line(str(data["kind"])), *(f"#{one_line(tag)}" for tag in data.get("tags", ()))]
    day, time = day_and_time(str(data.get("timestamp", "")), clock)
    parts += [f"{day} {time}".rstrip() if dated else time]
    parts += [who(str(data.get("origin", "agent"))), short_id(str(data["id"]))]
    return joined([*parts, *standing(data), holds(data, clock), str(data.get("stale", ""))])


def holds(data: Mapping[str, Any], clock: Clock) -> str:
    """From which day on and until which a memory holds; empty where it does not say."""
    begins, ends = (clock.day_of(str(data.get(name, ""))) for name in ("valid_from", "valid_to"))
    return " ".join(filter(None, (begins and f"from {begins}", ends and f"until {ends}")))


def standing(data: Mapping[str, Any]) -> list[str]:
    """That it is pinned, and how often it was called useful, or wrong."""
    told = [f"{each} {times(len(data[each]))}" for each in ("useful", "wrong") if data.get(each)]
    return (["pinned"] if data.get("pinned") else []) + told


def joined(parts: Sequence[str]) -> list[str]:
    """What is known of something, in quiet lines that are broken between its parts."""
    lines, room = [""], width() - MARGIN
    for part in filter(None, parts):
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        lines[-1:] = [longer] if cells(longer) <= room else [lines[-1], part]
    return [each for line in lines if line for each in wrapped(line, style="dim")]


def _shortened(text: str) -> str:
    return text if len(text) <= LONG else f"{text[:LONG]}…"


def kept(data: Mapping[str, Any], beside: Sequence[Mapping[str, Any]], clock: Clock) -> str:
    """What was just remembered, and what says nearly the same or something else of it."""
    said = "Remembered before:" if data.get("already") else "Remembered:"
    lines = [paint(said, "green"), *memory(data, clock)]
    lines += wrapped(one_line(said_of_moments(data))) if data.get("when") else []
    lines += wrapped(said_of_time(data)) if data.get("over") else []
    if data.get("waits"):
        lines += wrapped("In your words; the agent's wording waits: commonplace review.")
    if beside:
        lines += ["", paint("This is near to it:", "yellow")]
        for number, each in enumerate(beside, start=1):
            lines += memory(each, clock, number=number)
        lines += wrapped("Is it out of date? 'commonplace remove 1' takes it out.", style="dim")
    return "\n".join(lines)


def taken_back(data: Mapping[str, Any], clock: Clock, *, made: str, again: str = "") -> str:
    """What an undo or a redo did; `again` is what a memory says again."""
    said = data["said"] or [", ".join(data["documents"])]
    lines = [line for text in said for line in wrapped(_shortened(one_line(text)))]
    deed = "changed" if again else DEEDS.get(data["op"], data["op"])
    lines += joined([deed, when(data["at"], clock), who(data["origin"])])
    lines += ["Again it says:", *wrapped(_shortened(one_line(again)))] if again else []
    if data.get("waits"):
        lines += wrapped("It waits for your approval again: commonplace review.")
    for edit in data.get("edits", ()):
        names, number = ", ".join(edit["documents"]), edit["change"]
        stays = f"Your edit of {names} stays; 'commonplace undo --change {number}' takes it back."
        lines += wrapped(one_line(stays), style="yellow")
    return "\n".join([paint(f"{made}:", "green"), *lines])


def changed(before: str, data: Mapping[str, Any], clock: Clock) -> str:
    """What a memory says after an edit, and what it said before."""
    lines = [paint("Changed:", "green"), *memory(data, clock)]
    return "\n".join([*lines, "Before:", *wrapped(_shortened(one_line(before)))])


def removed(texts: Sequence[str], *, chain: str) -> str:
    """What was taken out, and how to bring it back."""
    lines = heading("Removed; 'commonplace undo' brings it back:", "green")
    lines += [line for text in texts for line in wrapped(_shortened(one_line(text)))]
    return "\n".join([*lines, *(wrapped(_short_ids(one_line(chain))) if chain else ())])


IDS = re.compile(r"mem-[0-9a-f-]{36}")


def erased(told: str) -> str:
    """What a deletion did, with ids as a person types them."""
    return "\n".join(heading(_short_ids(one_line(told)), ""))


def _short_ids(text: str) -> str:
    return IDS.sub(lambda found: short_id(found[0]), text)


def whole(data: Mapping[str, Any], account: Sequence[str], clock: Clock) -> str:
    """One memory with all that is known of it, its lines as they were written."""
    text = neutralise(str(data["text"])).split("\n")
    lines = [each for line in text for each in wrapped(line)]
    told = [*account, f"in {', '.join(data['places'])}" if data["places"] else "in no document"]
    lines += about(data, clock)
    return "\n".join([*lines, *(each for line in told for each in wrapped(one_line(line)))])


def waiting(data: Mapping[str, Any], account: Sequence[str], clock: Clock, *, number: int) -> str:
    """A memory that waits for approval, and what is known of where it came from."""
    told = [one_line(line) for line in account if not line.startswith("the agent's wording: ")]
    told += [data["why"]] if data["why"] else []
    lines = memory({**data, "why": ""}, clock, number=number)
    return "\n".join([*lines, *(each for line in told for each in wrapped(line)), ""])


def heading(text: str, style: str) -> list[str]:
    """A line above others, as many as it takes."""
    return [paint(line, style) if style else line for line in folded(text, width())]


def wrapped(text: str, *, first: str = "", style: str = "") -> list[str]:
    """Lines of the terminal's width, below each other."""
    lines = folded(text, width() - MARGIN)
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
    "tidy": "tidied",
    "follow": "changed the copy of",
    "refresh": "was told again",
    "useful": "called useful",
    "wrong": "called wrong",
    "pin": "pinned",
    "unpin": "unpinned",
    "mark": "marked",
}
"""What the journal calls a deed, as a person would say."""


PIECES = 3
"""Memories of one change of which a log tells the texts."""
OWN_NAME = 16
"""Characters of a session's id up to which somebody may have chosen it."""


def change(made: Activity, clock: Clock, *, is_edit: bool, client: str) -> list[str]:
    """One change: what it took out and brought, what was done, by whom, when, and its number."""
    entry = made.entry
    deed = "changed" if is_edit else DEEDS.get(entry.op, entry.op)
    of = f" change {entry.undoes}" if entry.undoes >= 0 else ""
    by = who(entry.origin, client=client)
    if entry.session and not client and len(entry.session) <= OWN_NAME:
        by += f" ({one_line(entry.session)})"
    fate = "taken back since" if made.undo >= 0 else ""
    about = [deed + of, by, when(entry.at, clock), f"change {entry.position}", fate]
    return [*_pieces(made), *joined(about)]


def _pieces(made: Activity) -> list[str]:
    """The texts of a change; the names of its documents where it has none."""
    told = [piece for piece in made.pieces if piece.before or piece.after]
    if not told:
        return wrapped(one_line(", ".join(made.entry.documents())))
    lines = [line for piece in told[:PIECES] for line in _piece(piece)]
    left = len(told) - PIECES
    return lines + (wrapped(f"and {left} more", style="dim") if left > 0 else [])


def _piece(piece: Piece) -> list[str]:
    taken, brought = _shortened(one_line(piece.before)), _shortened(one_line(piece.after))
    if taken == brought:
        return wrapped(brought)
    lines = wrapped(taken, first=paint("  - ", "red")) if taken else []
    return lines + (wrapped(brought, first=paint("  + ", "green")) if brought else [])
