"""The native memory in a prompt: what is always told, chosen by importance and not by newness.

Each group of it has a share of the room that no other can take.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec.structs import replace

from commonplace.context.budget import ContextLine, ContextSection
from commonplace.context.parts import (
    most_records,
    only,
    relevant_section,
    says_it,
    section_of,
    without_bare_headings,
    without_repeats,
)
from commonplace.context.sections import (
    CURATED,
    DocumentLines,
    State,
    Write,
    dated,
    document_lines,
    is_stamp,
    named,
    named_within,
    record_lines,
    suggests,
    tidy,
)
from commonplace.model.records import BEHAVIORAL, LASTING, Hit, Origin
from commonplace.search.alike import repeats
from commonplace.search.importance import RULES, Precedence, in_order, standing
from commonplace.search.index import Query
from commonplace.trust.neutralise import SUGGESTIONS
from commonplace.trust.origins import trust_of


class Group(NamedTuple):
    """What is told together, and its share of the room."""

    name: str
    heading: str
    reason: str
    sure: float
    most: float


PINNED = "pinned by the user"
LEARNED = Group(
    "learned",
    f"## Instructions and corrections\n{SUGGESTIONS}",
    "an instruction or correction of an earlier session",
    0.12,
    0.4,
)
GROUPS: dict[tuple[Precedence, bool], Group] = {
    (Precedence.PINNED, False): Group("pinned", "## Pinned by the user", PINNED, 0.08, 0.3),
    (Precedence.PINNED, True): Group(
        "pinned", f"## Pinned, but not the user's own\n{SUGGESTIONS}", PINNED, 0.04, 0.2
    ),
    (Precedence.OWNERS_RULE, False): Group(
        "rules", "## The user's own rules", "the user's own rule", 0.1, 0.4
    ),
    (Precedence.QUOTED_RULE, True): LEARNED,
    (Precedence.RULE, True): LEARNED,
    (Precedence.PREFERENCE, False): Group(
        "preferences", "## The user's own preferences", "the user's own preference", 0.06, 0.3
    ),
    (Precedence.PREFERENCE, True): Group(
        "preferences", f"## Preferences\n{SUGGESTIONS}", "a preference", 0.08, 0.3
    ),
}
"""By where a record stands, and by whether it is a suggestion. Here and below the shares are at
most 1 together, so that each is free when its turn comes.
"""
PREFERENCES = tuple(sorted(BEHAVIORAL - RULES))
FACTS = tuple(sorted(LASTING - BEHAVIORAL))


def native(state: State) -> list[ContextSection]:
    """Identity, user, what is pinned, rules, preferences, what is known, days, what fits."""
    layout = state.library.layout
    sections = [
        _document(state, layout.soul, "identity", "## Who you are", rank=1, sure=0.1),
        _document(state, layout.user, "user", "## About the user", rank=2, sure=0.1),
        *_always(state),
    ]
    if state.options.include_long_memory_in_session:
        name = state.options.long_memory_path
        sections.append(_document(state, name, "summaries", "## Summaries", rank=4, sure=0.05))
    days = (1, 0) if layout.daily else ()
    recent = [without_repeats(_recent(state, back), sections) for back in days]
    # What is new today stands with the days, so that what is above stays the same all day.
    memory = without_repeats(_known(state), [*sections, *recent])
    told = [
        replace(without_bare_headings(each), never_bare=True)
        for each in _told_once(state, [*sections, memory, *recent])
    ]
    return [*told, relevant_section(state, told, write=named, sure=0.06)]


def _document(
    state: State,
    name: str,
    section: str,
    heading: str,
    *,
    newest: bool = False,
    write: Write = dated,
    **room: float,
) -> ContextSection:
    """A document as a section of a context that has headings of its own."""
    found = document_lines(
        state, name, reason=f"{name} is always shown", newest=newest, write=write
    )
    lines, order = _tidied(found)
    return section_of(section, heading, replace(found, lines=lines, order=order), **room)


def _tidied(found: DocumentLines) -> tuple[tuple[ContextLine, ...], tuple[int, ...] | None]:
    """The lines that say something, and their order among themselves. Each says its own day."""
    kept = [
        number
        for number, line in enumerate(found.lines)
        if line.text.strip() and not is_stamp(line)
    ]
    places = {number: place for place, number in enumerate(kept)}
    order = found.order and tuple(places[number] for number in found.order if number in places)
    return tuple(tidy([found.lines[number] for number in kept])), order


def _always(state: State) -> Iterator[ContextSection]:
    """What is pinned, then how to behave: the user's own rules first, preferences last."""
    most, search = most_records(state), state.library.search
    rules = tuple(sorted(RULES))
    asked = (
        Query(pinned=True, include_passages=False, limit=most),
        Query(kinds=rules, origins=(Origin.OWNER,), limit=most),
        Query(kinds=rules, without_origins=(Origin.OWNER,), limit=most),
        Query(kinds=PREFERENCES, limit=most),
    )
    found = {hit.record.id: hit for query in asked for hit in search(query)}
    grouped: dict[Group, list[Hit]] = {group: [] for group in GROUPS.values()}
    for hit in in_order(found.values(), state.now):
        grouped[GROUPS[standing(hit.record), suggests(hit.record)]].append(hit)
    for group, hits in grouped.items():
        yield _group(state, group, hits)


def _group(state: State, group: Group, hits: Sequence[Hit]) -> ContextSection:
    """Records of one group: the best are chosen, and told the oldest first.

    So what is new is added below what a prompt cache has.
    """
    shown, left_out = record_lines(state, hits, reason=group.reason, write=named)
    places = sorted(range(len(shown)), key=lambda at: _place(shown[at]))
    return ContextSection(
        group.name,
        tuple(shown[at] for at in places),
        group.heading,
        rank=0 if group.name == "pinned" else 3,
        sure=group.sure,
        most=group.most,
        order=tuple(sorted(range(len(places)), key=places.__getitem__)),
        left_out=left_out,
        framed=True,
    )


def _place(line: ContextLine) -> tuple[Precedence, str, str]:
    record = line.record
    return (standing(record), record.said_at, record.id) if record else (Precedence.OTHER, "", "")


def _known(state: State) -> ContextSection:
    """Long-term memory: the document, and above it what was of use and is not among its lines."""
    name = state.library.layout.memory
    found = _document(
        state,
        name,
        "memory",
        "## Long-term memory",
        newest=True,
        write=named,
        rank=5,
        sure=0.13,
        most=0.4 if state.agent == "conversation" else 0.7,
    )
    used = state.library.search(Query(kinds=FACTS, used=True, limit=most_records(state)))
    there = {line.record_id for line in found.lines}
    missing = [hit for hit in in_order(used, state.now) if hit.record.id not in there]
    if not missing:
        return found
    reason = "it was of use before"
    lines, left_out = record_lines(state, missing, reason=reason, write=named)
    return _below(found, _fitting(lines, state.room // CURATED), left_out)


def _fitting(lines: Sequence[ContextLine], room: int) -> tuple[ContextLine, ...]:
    """As many of the lines as have that many characters."""
    most = list(accumulate(len(line.text) + 1 for line in lines))
    return tuple(line for line, size in zip(lines, most) if size <= room)


def _below(
    section: ContextSection, first: tuple[ContextLine, ...], left_out: tuple[ContextLine, ...]
) -> ContextSection:
    """A section with other lines above its own, and worth more."""
    order = range(len(section.lines)) if section.order is None else section.order
    return replace(
        section,
        lines=(*first, *section.lines),
        order=(*range(len(first)), *(number + len(first) for number in order)),
        left_out=(*section.left_out, *left_out),
    )


def _recent(state: State, back: int) -> ContextSection:
    """What was written on a day. Its heading says the day, and its lines do not say it again."""
    name = state.daily(back)
    title = "Today" if back == 0 else "Yesterday"
    day = name.rpartition("/")[2].removesuffix(".md")
    found = document_lines(
        state, name, reason=f"written {title.lower()}", newest=True, write=named_within(day)
    )
    header = state.library.layout.header(name).strip()
    kept = [line for line in found.lines if line.text.strip() and line.text.strip() != header]
    shown = tuple(tidy(kept))
    return ContextSection(
        title.lower(),
        shown,
        f"## {title}, {day}",
        rank=8 - (back == 0),
        sure=0.05 if back == 0 else 0.03,
        order=tuple(range(len(shown) - 1, -1, -1)),
        unread=found.unread,
        left_out=found.left_out,
    )


def _told_once(state: State, sections: Sequence[ContextSection]) -> Iterator[ContextSection]:
    """The sections without lines that say nearly what a better one says.

    The better one is of the more trusted origin, then of the earlier section, then worth more.
    Lines that have no room anyway are not looked at.
    """
    likely = [line for section in sections for line in _likely(section, state.room)]
    likely.sort(key=lambda line: -trust_of(line.origin))
    twins = repeats([line.record.text for line in likely if line.record])
    again = {likely[at].record_id: likely[first].record_id for at, first in twins.items()}
    for section in sections:
        kept = [n for n, line in enumerate(section.lines) if line.record_id not in again]
        out = (
            replace(line, why=says_it(again[line.record_id]), record=None)
            for line in section.lines
            if line.record_id in again
        )
        yield replace(only(section, kept), left_out=(*section.left_out, *out))


def _likely(section: ContextSection, room: int) -> Iterator[ContextLine]:
    """The records of a section that may have room, those most worth it first."""
    left = room * section.most
    for number in range(len(section.lines)) if section.order is None else section.order:
        line = section.lines[number]
        left -= len(line.text) + 1
        if left < 0:
            return
        if line.is_record and line.record:
            yield line
