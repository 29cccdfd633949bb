"""Find the place of new lines: the end of their section, or of their document."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from datetime import date
from itertools import groupby

from msgspec import Struct

from commonplace.library.record_reader import RecordReader, decoded
from commonplace.markdown.documents import Section, Slot, ends_clean, sections, slot
from commonplace.markdown.layouts import NEW_SECTION, Layout
from commonplace.markdown.merge import newline_of
from commonplace.markdown.record_lines import Reading, alone, read, write
from commonplace.model.clock import Clock
from commonplace.storage.journal import Added, Append, Entry, Insert, applied

LONG = 256 * 1024
"""Bytes past which a document is not written anew for each line: new ones go to its end."""


class NewLine(Struct, frozen=True):
    """The line of a record, and the section of the document that it goes to; "" for its end."""

    document: str
    section: str
    id: str
    line: str


class Standing(Struct, frozen=True):
    """A document as it is: its text, if there is one, and when somebody last read it."""

    text: bytes | None
    read: int


class Plan(Struct, frozen=True):
    """How lines are added to documents."""

    ids: tuple[str, ...]
    lines: tuple[str, ...]
    changes: tuple[Added, ...]
    texts: dict[str, tuple[bytes | None, bytes]]
    """The documents before and after it."""

    @property
    def anew(self) -> list[str]:
        """The documents that are to be written anew: those that one append does not do for."""
        names = [change.document for change in self.changes]
        inserted = {change.document for change in self.changes if isinstance(change, Insert)}
        return [name for name in self.texts if name in inserted or names.count(name) > 1]


def plan(
    pieces: Iterable[NewLine], *, layout: Layout, today: date, standing: Callable[[str], Standing]
) -> Plan:
    """Find a place for each line. Lines of one section stay in their order."""
    ordered = sorted(pieces, key=_where)
    ids, lines = tuple(p.id for p in ordered), tuple(p.line for p in ordered)
    entry = Entry("", "", (), ids=ids, lines=lines)
    changes: list[Added] = []
    texts: dict[str, tuple[bytes | None, bytes]] = {}
    for (name, section), group in groupby(ordered, key=_where):
        there = standing(name)
        before, now = texts.get(name, (there.text, there.text))
        part = _Part(name, there.read, sum(max(c.count, 0) for c in changes), len(list(group)))
        change = _placed(part, section, now, layout=layout, today=today)
        texts[name] = before, applied(now, change, entry=entry, text=None) or b""
        changes.append(change)
    return Plan(ids, lines, tuple(changes), texts)


def _where(piece: NewLine) -> tuple[str, str]:
    return piece.document, piece.section


class _Part(Struct, frozen=True):
    """Lines of an entry that go to one place of a document."""

    document: str
    read: int
    first: int
    count: int


def _placed(part: _Part, section: str, now: bytes | None, *, layout: Layout, today: date) -> Added:
    """The change that adds lines to a document that says `now`."""
    name = part.document
    text = layout.header(name) if now is None else decoded(name, now)
    kind = layout.kind_below(section)
    later = _later(section, layout)
    free = slot(text, section, day=today, later=later) if section else _end_of(text)
    crlf = newline_of(text) == "\r\n"
    rest = (part.read, crlf, part.first, part.count, kind)
    if free.at == len(text) and not free.dated and not _ends_with_title(text, section, layout):
        lead = free.lead if now is not None else text + free.lead
        return Append(name, len(now or b""), lead, *rest)
    return Insert(name, _bytes(text, free.at), free.lead, *rest, _dated(text, free, today))


def _ends_with_title(text: str, section: str, layout: Layout) -> bool:
    """Whether the line to come takes it from a heading that this is a passage of its own."""
    last = text.rstrip().rpartition("\n")[2]
    return section not in layout.sections and last.startswith("#") and last.endswith(section)


def _end_of(text: str) -> Slot:
    return Slot(len(text), "" if ends_clean(text) else "\n")


def _dated(text: str, free: Slot, today: date) -> tuple[int, str, str] | None:
    if not free.dated:
        return None
    start, was = free.dated
    return _bytes(text, start), was, today.isoformat()


def _bytes(text: str, at: int) -> int:
    return len(text[:at].encode())


def section_for(kind: str, *, layout: Layout, size: int) -> str:
    """The section for lines of a kind in a main document of so many bytes."""
    return NEW_SECTION if size > LONG else layout.section(kind)


def lines_again(
    lines: Iterable[tuple[str, str, str]], *, layout: Layout, size: int
) -> list[NewLine]:
    """Lines that stood in the main document, `(id, line, kind)`, each for its section now.

    `kind` is the one that a line has if it names none.
    """
    found = []
    for key, line, kind in lines:
        record = read(line, reading=Reading(layout.memory, kind=kind)).record
        section = section_for(record.kind if record else kind, layout=layout, size=size)
        if record and layout.kind_below(section) != kind:
            line = alone(line, record)
        found.append(NewLine(layout.memory, section, key, line))
    return found


def resettled(
    data: bytes, ids: Container[str], reader: RecordReader, *, layout: Layout, clock: Clock
) -> bytes:
    """The main document with the lines of these records in the sections of their kinds.

    A line in a section that a person made stays there.
    """
    text = decoded(layout.memory, data)
    for item in reversed(reader.parse(layout.memory, text).items):
        record = item.record
        above = [s for s in sections(text) if s.body <= item.start < s.end]
        title = layout.section(record.kind)
        if record.id in ids and above and _is_ours(above[-1], layout) and above[-1].title != title:
            kind, day = layout.kind_below(title), clock.day_of(record.timestamp)
            line = write(record, "sentence", kind=kind, day=day)
            text = text[: item.start] + text[item.end :]
            free = slot(text, title, day=clock.today(), later=_later(title, layout))
            added = (free.lead + line).replace("\n", newline_of(text))
            text = text[: free.at] + added + text[free.at :]
    return text.encode()


def _is_ours(section: Section, layout: Layout) -> bool:
    return section.title in layout.sections or section.title == NEW_SECTION


def _later(title: str, layout: Layout) -> Sequence[str]:
    """The sections that stand below one."""
    titles = list(layout.sections)
    return titles[titles.index(title) + 1 :] if title in titles else ()
