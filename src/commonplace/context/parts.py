"""What is done to the sections of a context, whatever is in them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from commonplace.context.budget import ContextLine, ContextSection
from commonplace.context.sections import (
    TOLD,
    DocumentLines,
    State,
    Write,
    dated,
    deeper,
    heading_level,
    is_suggestion,
    is_untrusted,
    record_lines,
    relevant_hits,
)
from commonplace.model.records import short_id
from commonplace.search.alike import repeats
from commonplace.trust.neutralise import SUGGESTIONS

SAYS_IT = " says nearly the same"
MOST_RECORDS = 400
"""Records that are looked at for a section: more do not fit any prompt."""
UNTRUSTED = "from untrusted text"
PROMPTS = ("identity", "user")
"""The sections that an agent takes for its own mind: nothing from untrusted text is in them."""


def says_it(record_id: str) -> str:
    """Why a record is left out that says nearly what this one says."""
    return f"#{short_id(record_id)}{SAYS_IT}"


def most_records(state: State) -> int:
    return max(1, min(MOST_RECORDS, state.room // 20))


def section_of(name: str, heading: str, found: DocumentLines, **rest: float) -> ContextSection:
    section = ContextSection(
        name,
        found.lines,
        heading,
        order=found.order,
        unread=found.unread,
        left_out=found.left_out,
        **rest,  # type: ignore[arg-type]
    )
    return _vouched(section) if name in PROMPTS else section


def without_repeats(section: ContextSection, others: Sequence[ContextSection]) -> ContextSection:
    """A section without the records that another one shows."""
    seen = {line.record_id for other in others for line in other.lines if line.record_id}
    return only(section, [n for n, line in enumerate(section.lines) if line.record_id not in seen])


def only(section: ContextSection, kept: Sequence[int]) -> ContextSection:
    """A section with these of its lines."""
    places = {number: place for place, number in enumerate(kept)}
    order = section.order
    return replace(
        section,
        lines=tuple(section.lines[number] for number in kept),
        order=order and tuple(places[number] for number in order if number in places),
    )


def without_bare_headings(section: ContextSection) -> ContextSection:
    """A section whose headings have something below them."""
    bare: set[int] = set()
    something = 0
    """The level of the last heading seen from below, 9 for a line that is none."""
    for number in range(len(section.lines) - 1, -1, -1):
        line = section.lines[number]
        if not line.text.strip():
            continue
        # One that is a passage of its own says something by itself.
        level = 9 if line.is_heading else heading_level(line) or 9
        if level < 9 and level >= something:
            bare.add(number)
        else:
            something = level
    return only(section, [n for n in range(len(section.lines)) if n not in bare])


def _vouched(section: ContextSection) -> ContextSection:
    """A section without what untrusted text left in it, nor the headings that stood above that."""
    foreign = {number for number, line in enumerate(section.lines) if is_untrusted(line)}
    if not foreign:
        return section
    out = (replace(section.lines[number], why=UNTRUSTED) for number in sorted(foreign))
    kept = only(section, [n for n in range(len(section.lines)) if n not in foreign])
    return replace(without_bare_headings(kept), left_out=(*section.left_out, *out))


def framed(section: ContextSection) -> ContextSection:
    """A section that says what it is where its lines ask for something, or anybody wrote them.

    No heading in what anybody wrote stands beside that of the section, as if it were one.
    """
    told = section.framed or section.block not in ("memory", "status")
    passes = any(0 < heading_level(line) < 3 for line in section.lines)
    if passes and any(map(is_untrusted, section.lines)):
        section = replace(section, lines=tuple(map(deeper, section.lines)))
    if told or not any(map(is_suggestion, section.lines)):
        return section
    return replace(section, heading=f"{section.heading}\n{SUGGESTIONS}", framed=True)


def relevant_section(
    state: State, others: Sequence[ContextSection] = (), *, write: Write = dated, sure: float = 0.1
) -> ContextSection:
    """What fits the message and is not in the context anyway, for want of room or otherwise."""
    hits = relevant_hits(state)
    fitting, left_out = record_lines(state, hits, reason="it fits this message", write=write)
    again = _said_before(state, fitting, others)
    shown = tuple(line for line in fitting if line.record_id not in again)
    section = ContextSection(
        "relevant",
        shown,
        "## Relevant to this message",
        rank=6,
        sure=sure,
        most=0.3,
        left_out=(
            *left_out,
            *(
                replace(line, why=again[line.record_id], record=None)
                for line in fitting
                if line.record_id in again
            ),
        ),
    )
    alone = without_repeats(section, others)
    return replace(alone, elsewhere=tuple(line for line in shown if line not in alone.lines))


def _said_before(
    state: State, lines: Sequence[ContextLine], others: Sequence[ContextSection]
) -> dict[str, str]:
    """The ids of records that need not be told, each with why not."""
    twins = repeats([line.record.text if line.record else "" for line in lines])
    said = {lines[at].record_id: says_it(lines[first].record_id) for at, first in twins.items()}
    out = (line for section in others for line in section.left_out)
    said |= {line.record_id: line.why for line in out if line.why.endswith(SAYS_IT)}
    return said | dict.fromkeys(state.told, TOLD)
