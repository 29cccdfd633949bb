"""Fit the sections of a context to a budget of characters or tokens, and render them as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from commonplace.context.tokens import Counter, estimate
from commonplace.trust.neutralise import neutralise

if TYPE_CHECKING:
    from commonplace.model.records import Record

UNLIMITED = 1 << 40
LEAST_CUT = 24
"""Characters of a line that are worth showing when not all of it fits."""
NO_ROOM = "no room"
SPARE = 0.02
"""The share of a budget that is not worth another attempt."""
ATTEMPTS = 4


class ContextLine(Struct, frozen=True, dict=True):
    """One line of a context: its text, its source, and why it is shown or left out."""

    text: str
    section: str = ""
    document: str = ""
    record_id: str = ""
    reason: str = ""
    age_days: int | None = None
    why: str = ""
    """Why it was left out; empty for a line that is shown."""
    origin: str = ""
    is_record: bool = False
    """Whether it is one record, rather than a line of a text."""
    is_behavioral: bool = False
    """Whether it tells the agent how to behave."""
    is_heading: bool = False
    """Whether it is a heading that is a passage of its own, for want of prose below it."""
    role: str = ""
    """Who said it, for a line that is a message."""
    record: Record | None = None
    """The record that it tells; None for a line of a text, and for one that is left out."""
    count: Counter | None = None
    """What counts its tokens; None for a line that is left out, and costs nothing."""

    @cached_property
    def tokens(self) -> int:
        """The tokens of the context, counted on demand."""
        return self.count(shown(self, self.section)) if self.count else 0


class ContextSection(Struct, frozen=True):
    """Lines under a heading, with their share of the budget."""

    name: str
    lines: tuple[ContextLine, ...] = ()
    heading: str = ""
    block: str = "memory"
    """The part of the context it stands in: system, memory, status, history or trigger."""
    rank: int = 5
    """Who gets room first: the lowest."""
    sure: float = 0.0
    """The share of the budget that no other section can take from it."""
    most: float = 1.0
    """The share of the budget that it can't go beyond while others want it."""
    at_most: float = 1.0
    """The share that it can't go beyond, whatever is free."""
    never_bare: bool = False
    """Whether its share is kept for it while it has no line yet, be the first ever so long."""
    order: tuple[int, ...] | None = None
    """Its lines from the most to the least worth keeping; None: as they stand."""
    unread: int = 0
    """Lines of its source that were not even looked at, for want of room."""
    left_out: tuple[ContextLine, ...] = ()
    """Lines that may not be shown, whatever the room."""
    framed: bool = False
    """Whether what stands above it says already how far to believe it."""
    elsewhere: tuple[ContextLine, ...] = ()
    """Lines that others have too: they stand here where there is no room for them there."""


class Frame(Struct, frozen=True):
    """The text around the memory, and the note about lines that did not fit."""

    opening: str = ""
    closing: str = ""
    note: str = ""
    """With `{count}` in it."""
    note_inside: bool = True


class Budget(NamedTuple):
    """The most that a context may have of each."""

    characters: int = UNLIMITED
    tokens: int = UNLIMITED

    def share(self, part: float) -> Budget:
        return Budget(int(self.characters * part), int(self.tokens * part))

    def plus(self, other: Budget) -> Budget:
        return Budget(self.characters + other.characters, self.tokens + other.tokens)

    def minus(self, other: Budget) -> Budget:
        return Budget(self.characters - other.characters, self.tokens - other.tokens)

    def within(self, other: Budget) -> Budget:
        """As much of it as the other has."""
        return Budget(min(self.characters, other.characters), min(self.tokens, other.tokens))

    def covers(self, cost: Budget) -> bool:
        return cost.characters <= self.characters and cost.tokens <= self.tokens


class Context(Struct, frozen=True, dict=True):
    """What is injected, line by line and as one text, with what was left out."""

    text: str = ""
    characters: int = 0
    lines: tuple[ContextLine, ...] = ()
    left_out: tuple[ContextLine, ...] = ()
    not_shown: int = 0
    """How many lines there was no room for, those that were not read too."""
    system: str = ""
    """The text without the conversation."""
    messages: tuple[ContextLine, ...] = ()
    """The conversation: what was said before, and the message or prompt that the agent is to
    answer, last.
    """
    count: Counter = estimate

    @cached_property
    def tokens(self) -> int:
        return self.count(self.text)


def compiled(
    sections: Iterable[ContextSection],
    frame: Frame,
    budget: Budget,
    *,
    count: Counter = estimate,
    total: Callable[[], int] | None = None,
) -> Context:
    """The context of these sections: never beyond the budget, whatever they hold.

    `total` tells how many records there are, where they stand in more than one place.
    """
    asked = [_counted(each, count) for each in sections if _has_lines(each)]
    kept = _fitted_closely(asked, frame, budget, count, note="")
    while (fuller := _with_unshown(asked, kept)) != asked:
        asked = fuller
        kept = _fitted_closely(asked, frame, budget, count, note="")
    if _missing(asked, kept) or any(section.unread for section in asked):
        records = total() if total else None
        note = _note_of(asked, kept, frame, records)
        noted = _fitted_closely(asked, frame, budget, count, note=note)
        # Where there is room for one of them only, something remembered tells more than a number.
        kept = noted if any(noted.values()) else kept
        note = _note_of(asked, noted, frame, records) if any(noted.values()) else ""
        found = _measured(asked, kept, frame, note, budget, count)
        return replace(found, not_shown=_not_shown(asked, kept, records))
    return _measured(asked, kept, frame, "", budget, count)


def _has_lines(section: ContextSection) -> bool:
    return bool(section.lines or section.left_out or section.elsewhere)


def _counted(section: ContextSection, count: Counter) -> ContextSection:
    named = partial(replace, section=section.name)
    return replace(
        section,
        lines=tuple(named(line, count=count) for line in section.lines),
        left_out=tuple(map(named, section.left_out)),
        elsewhere=tuple(named(line, count=count) for line in section.elsewhere),
    )


def _with_unshown(sections: Sequence[ContextSection], kept: Fitted) -> list[ContextSection]:
    """The sections, with those lines they leave to others that nobody shows."""
    shown = {line.record_id for shelf in kept.values() for line in shelf.values()}
    return [_with_those(section, shown) for section in sections]


def _with_those(section: ContextSection, shown: set[str]) -> ContextSection:
    wanted = [line for line in section.elsewhere if line.record_id not in shown]
    if not wanted:
        return section
    left = tuple(line for line in section.elsewhere if line.record_id in shown)
    return replace(section, lines=(*section.lines, *wanted), elsewhere=left)


Fitted = dict[int, dict[int, ContextLine]]
"""By the number of the section and that of the line: what is shown."""


def _fitted_closely(
    sections: Sequence[ContextSection], frame: Frame, budget: Budget, count: Counter, *, note: str
) -> Fitted:
    """The lines that fit. A text has fewer tokens than its lines: the rest is used too."""
    room = budget
    best = _fitted(sections, frame, room, count, note=note)
    for _ in range(ATTEMPTS if budget.tokens < UNLIMITED else 0):
        spare = budget.tokens - count(_whole(sections, best, frame, note))
        if spare < budget.tokens * SPARE or not _any_left(sections, best):
            break
        room = Budget(room.characters, room.tokens + spare)
        kept = _fitted(sections, frame, room, count, note=note)
        if count(_whole(sections, kept, frame, note)) > budget.tokens:
            break
        best = kept
    return best


def _any_left(sections: Sequence[ContextSection], kept: Fitted) -> bool:
    return any(len(kept[at]) < len(section.lines) for at, section in enumerate(sections))


def _fitted(
    sections: Sequence[ContextSection], frame: Frame, budget: Budget, count: Counter, *, note: str
) -> Fitted:
    room = _Room(budget, frame, count)
    if note:
        room.left = room.left.minus(room.cost(note))
    shelves = [_Shelf(section, room) for section in sections]
    by_rank = sorted(shelves, key=lambda shelf: shelf.section.rank)
    for shelf in by_rank:
        shelf.fill(budget.share(shelf.section.sure))
        if shelf.section.never_bare and shelf.section.sure == 1.0:
            shelf.fill_with_part()  # Before any below it takes even its share.
    for shelf in by_rank:
        shelf.reserve(budget.share(shelf.section.sure))
    for shelf in by_rank:
        shelf.release()
        shelf.fill(budget.share(shelf.section.most))
        if shelf.section.never_bare:
            shelf.fill_with_part()
    for shelf in by_rank:
        shelf.fill_with_part()
    for shelf in by_rank:
        # What the others leave free is better used than not.
        shelf.fill(budget.share(shelf.section.at_most))
    return {number: shelf.kept for number, shelf in enumerate(shelves)}


def _nothing(text: str) -> int:
    """Counts no tokens, for a budget that has no end of them."""
    return 0


class _Room:
    """What is left of a budget."""

    def __init__(self, budget: Budget, frame: Frame, count: Counter) -> None:
        self.left = budget
        self.reserved = Budget(0, 0)
        self.count = count if budget.tokens < UNLIMITED else _nothing
        self.frame = frame
        self.framed = not frame.opening

    def cost(self, text: str) -> Budget:
        """What a text costs on lines of its own."""
        return Budget(len(text) + 2, self.count(text) + 1)

    def covers(self, cost: Budget) -> bool:
        return self.left.minus(self.reserved).covers(cost)


class _Shelf:
    """A section being filled."""

    def __init__(self, section: ContextSection, room: _Room) -> None:
        self.section = section
        self.room = room
        self.kept: dict[int, ContextLine] = {}
        order = range(len(section.lines)) if section.order is None else section.order
        self.waiting = list(reversed(order))
        """The numbers of the lines that are not kept yet, the one most worth keeping last."""
        self.used = Budget(0, 0)
        self.reserved = Budget(0, 0)

    def reserve(self, share: Budget) -> None:
        """Keep the share of a section that may not stay bare and has no line yet."""
        if self.section.never_bare and self.waiting and not self.kept:
            self.reserved = share.within(self.room.left.minus(self.room.reserved))
            self.room.reserved = self.room.reserved.plus(self.reserved)

    def release(self) -> None:
        """Give up what was kept for it: it is about to take what it can."""
        self.room.reserved = self.room.reserved.minus(self.reserved)
        self.reserved = Budget(0, 0)

    def fill(self, most: Budget) -> None:
        """Take the lines most worth keeping, until the next one does not fit."""
        while self.waiting:
            line = self.section.lines[self.waiting[-1]]
            cost = self._cost(line)
            if not (most.covers(self.used.plus(cost)) and self.room.covers(cost)):
                return
            self._keep(line, cost)

    def fill_with_part(self) -> None:
        """Show a part of the first line where not even that one fits."""
        if self.kept or not self.waiting:
            return
        line = self.section.lines[self.waiting[-1]]
        for size in _sizes(len(line.text)):
            part = line.text[:size].rstrip() + "…"
            cut = replace(line, text=part)
            if self.room.covers(cost := self._cost(cut)):
                self._keep(cut, cost)
                return

    def _keep(self, line: ContextLine, cost: Budget) -> None:
        self.kept[self.waiting.pop()] = line
        self.used = self.used.plus(cost)
        self.room.left = self.room.left.minus(cost)
        if self.section.block == "memory":
            self.room.framed = True

    def _cost(self, line: ContextLine) -> Budget:
        """What a line costs: the first of a section brings its heading, and perhaps the frame."""
        text = shown(line, self.section.name)
        tokens = 0 if self.room.count is _nothing else line.tokens
        cost = Budget(len(text) + 1, tokens + 1)
        if not self.kept:
            cost = cost.plus(self.room.cost(self.section.heading))
            if self.section.block == "memory" and not self.room.framed:
                frame = self.room.frame
                cost = cost.plus(self.room.cost(f"{frame.opening}\n{frame.closing}"))
        return cost


def _sizes(length: int) -> Iterator[int]:
    """Ever shorter parts of a line."""
    size = length - 1
    while size >= LEAST_CUT:
        yield size
        size = size * 7 // 8


def _note_of(
    sections: Sequence[ContextSection], kept: Fitted, frame: Frame, records: int | None
) -> str:
    missing = _not_shown(sections, kept, records)
    return frame.note.format(count=f"{missing:,}") if missing and frame.note else ""


def _not_shown(sections: Sequence[ContextSection], kept: Fitted, records: int | None) -> int:
    """How much there was no room for: records by their own number, and lines that are none."""
    if records is None:
        return sum(section.unread for section in sections) + len(_missing(sections, kept))
    lines = [line for shelf in kept.values() for line in shelf.values()]
    out = [line for section in sections for line in section.left_out]
    told = {line.record_id for line in (*lines, *out) if line.record_id and line.is_record}
    return max(0, records - len(told)) + sum(
        not line.is_record for line in _missing(sections, kept)
    )


def _missing(sections: Sequence[ContextSection], kept: Fitted) -> list[ContextLine]:
    """The lines of memory that there was no room for; blank ones are no loss."""
    return [
        line
        for at, section in enumerate(sections)
        if section.block == "memory"
        for number, line in enumerate(section.lines)
        if number not in kept[at] and line.text.strip()
    ]


def _measured(
    sections: Sequence[ContextSection],
    kept: Fitted,
    frame: Frame,
    note: str,
    budget: Budget,
    count: Counter,
) -> Context:
    """The context as it is rendered; where the sum of the lines was less than the whole, less."""
    while True:
        context = _rendered(sections, kept, frame, note, count)
        if context.characters <= budget.characters and _within(context, budget.tokens):
            return context
        if note and not any(kept.values()):
            note = ""
        elif not _drop_last(sections, kept):
            return replace(context, text="", characters=0, system="", messages=())


def _within(context: Context, tokens: int) -> bool:
    return tokens >= UNLIMITED or context.tokens <= tokens


def _drop_last(sections: Sequence[ContextSection], kept: Fitted) -> bool:
    """Drop the least valuable line of the section with the lowest priority."""
    for at in sorted(kept, key=lambda at: -sections[at].rank):
        if kept[at]:
            order = sections[at].order
            least = max(kept[at], key=order.index) if order is not None else max(kept[at])
            del kept[at][least]
            return True
    return False


def _shown_of(sections: Sequence[ContextSection], kept: Fitted) -> list[ContextSection]:
    """The sections with what is kept of them."""
    return [
        replace(section, lines=tuple(line for _, line in sorted(kept[at].items())))
        for at, section in enumerate(sections)
        if kept[at]
    ]


def _whole(sections: Sequence[ContextSection], kept: Fitted, frame: Frame, note: str) -> str:
    return _text_of(_shown_of(sections, kept), frame, note)


def _rendered(
    sections: Sequence[ContextSection], kept: Fitted, frame: Frame, note: str, count: Counter
) -> Context:
    shown = _shown_of(sections, kept)
    text = _text_of(shown, frame, note)
    spoken = [section for section in shown if section.block in ("history", "trigger")]
    rest = [section for section in shown if section.block not in ("history", "trigger")]
    return Context(
        text=text,
        characters=len(text),
        lines=tuple(line for section in shown for line in section.lines),
        left_out=tuple(_left_out(sections, kept)),
        system=_text_of(rest, frame, note) if spoken else text,
        messages=tuple(line for section in spoken for line in section.lines),
        count=count,
    )


def _left_out(sections: Sequence[ContextSection], kept: Fitted) -> Iterator[ContextLine]:
    for at, section in enumerate(sections):
        yield from section.left_out
        for number, line in enumerate(section.lines):
            if number not in kept[at] and line.text.strip():
                yield replace(line, why=NO_ROOM)


def _text_of(sections: Sequence[ContextSection], frame: Frame, note: str) -> str:
    parts: list[str] = []
    for block, members in groupby(sections, key=lambda section: section.block):
        body = "\n\n".join(map(_section_text, members))
        if block != "memory":
            parts.append(body)
            continue
        if note and frame.note_inside:
            body, note = f"{body}\n\n{note}", ""
        parts.append("\n".join(part for part in (frame.opening, body, frame.closing) if part))
    if note:
        parts.append(note)
    return "\n\n".join(parts)


def _section_text(section: ContextSection) -> str:
    lines = "\n".join(shown(line, section.name) for line in section.lines).strip("\n")
    if section.block not in ("system", "trigger"):
        # Once more as a whole: a tag may begin on one line and end on another.
        lines = neutralise(lines)
    return f"{section.heading}\n{lines}" if section.heading else lines


def shown(line: ContextLine, section: str) -> str:
    """A line as it stands in the text: what was said before with who said it."""
    if section != "history":
        return line.text
    return f"{line.role}: " + line.text.replace("\n", "\n  ")
