"""A document's text: what stands in it, and edits as text in, text out.

`blocks` takes the text apart; here the blocks become records, passages and sections.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from commonplace.markdown import record_lines as lines
from commonplace.markdown.blocks import (
    BLANK,
    HEADING,
    ITEM,
    MARKERS,
    UPDATED,
    Block,
    Scan,
    front_matter_end,
    heading_at,
    line_end,
    made,
    text_start,
)
from commonplace.markdown.layouts import own_title
from commonplace.markdown.merge import newline_of, with_newlines
from commonplace.markdown.record_lines import Reading
from commonplace.model.records import PASSAGE, Problem, Record, derived_id

PASSAGE_LIMIT = 1200
"""The longest passage, with the headings above it."""
HEADINGS_LIMIT = 200
"""The longest headings above a passage, together."""

LISTED = (*MARKERS, "  ", "\t")
ITEMS = re.compile(f"^{ITEM.pattern}", re.M)
INDENTED = re.compile(r"(?:[ \t\r]*\n)*(?:  |\t)")
GIT_MARK = re.compile(r"^<<<<<<< [^\n]*\n(?:[^\n]*\n)*?=======\r?\n(?:[^\n]*\n)*?>>>>>>> ", re.M)
DATA = re.compile(r"<!--(?=[ \t]*\{)")


class Item(NamedTuple):
    """A record or passage and where it stands.

    `start` and `end` bound all of its lines; `headings` is how much of its text are the headings
    above a passage.
    """

    record: Record
    line: int
    start: int
    end: int
    headings: int = 0


class Parsed(Struct, frozen=True):
    """What a document's text says."""

    items: tuple[Item, ...]
    problems: tuple[Problem, ...]
    lines: int


class Section(Struct, frozen=True):
    """A heading and all below it, to the next heading of its level; `body` is where that starts."""

    title: str
    level: int
    line: int
    start: int
    body: int
    end: int
    updated: date | None


def parse(text: str, *, reading: Reading, seen: dict[str, Record] | None = None) -> Parsed:
    """Every record and passage of a text, in order. Never raises: what is wrong is a `Problem`.

    `seen` keeps the records of lines that say all of themselves, for the next document with them.
    """
    if "\0" in text:
        return _parse_cut(text, reading)
    page = _Page(text, reading, seen)
    for block in Scan(text, bullets=reading.bullets).blocks():
        page.take(block)
    page.settle()
    problems = (*page.problems, *_left_by_git(text, reading.document))
    return Parsed(tuple(page.items), problems, page.lines())


def _left_by_git(text: str, document: str) -> Iterator[Problem]:
    """The marks of a merge that git left to the person."""
    if "<<<<<<< " in text and ">>>>>>> " in text:
        for mark in GIT_MARK.finditer(text):
            line = text.count("\n", 0, mark.start()) + 1
            yield Problem(document, line, "begins a conflict that git left here: choose what stays")


def _parse_cut(text: str, reading: Reading) -> Parsed:
    """As if the NUL characters, which a crash leaves in files, were not there."""
    holes = [at - before for before, at in enumerate(m.start() for m in re.finditer("\0", text))]

    def back(offset: int) -> int:
        return offset + bisect_right(holes, offset)

    parsed = parse(text.replace("\0", ""), reading=reading)
    items = (i._replace(start=back(i.start), end=back(i.end)) for i in parsed.items)
    return replace(parsed, items=tuple(items), lines=text.count("\n") + (not ends_clean(text)))


class _Page:
    """A document being read: what was found so far, and the headings that stand above."""

    def __init__(self, text: str, reading: Reading, seen: dict[str, Record] | None) -> None:
        self.seen = seen
        self.text = text
        self.reading = reading
        self.here = reading
        """The same with the kind that lines have where the page is."""
        self.items: list[Item] = []
        self.problems: list[Problem] = []
        self.line, self.at = 1, 0
        self.path: list[Block] = []
        self.bare = False
        self.given = len(reading.header) if text.startswith(reading.header) else 0
        self.texts: dict[str, str] = {}
        self.counts: dict[str, int] = {}

    def take(self, block: Block) -> None:
        if block.kind == "item":
            if self.bare and not self._is_for(block):
                self.settle()
            self.bare = False
            self._item(block.start, block.end)
        elif block.kind == "heading":
            self._heading(block)
        elif block.kind == "prose":
            self.bare = False
            self._passages(block.start, block.end, self._above(len(self.path)))

    def settle(self) -> None:
        """Make a passage of a heading that has no prose below it.

        An item below makes no difference, as one may be appended at any time, but where the vault
        makes such a section for records of a kind.
        """
        if self.bare:
            self._title(self.path[-1])
        self.bare = False

    def _is_for(self, item: Block) -> bool:
        """Whether the heading above is the one that the vault writes for such a record."""
        if not self.reading.sections:
            return False
        line = lines.read(self.text[item.start : item.end], reading=self.here)
        written = line.record and not line.derived
        return bool(written and line.record and own_title(line.record.kind) == self.path[-1].title)

    def _item(self, start: int, end: int) -> None:
        raw = self.text[start:end]
        number = self._line_of(start)
        known = self.seen.get(raw) if self.seen is not None else None
        if known and self.texts.setdefault(known.id, known.text) == known.text:
            self.items.append(made(Item, (known, number, start, end, 0)))
            return
        line = lines.read(raw, reading=self.here)
        record = line.record
        if self.seen is not None and record and lines.says_all(raw, line):
            self.seen[raw] = record
        if line.problem:
            self._problem(number, line.problem)
        if record is None:
            return
        if line.derived:
            record = self._nth(record, start, end)
        elif self.texts.setdefault(record.id, record.text) != record.text:
            self._problem(number, f"another line with another text has the id {record.id}")
            record = replace(record, id=derived_id(record.id, record.text))
        self.items.append(made(Item, (record, number, start, end, 0)))

    def _nth(self, record: Record, start: int, end: int) -> Record:
        count = self.counts[record.id] = self.counts.get(record.id, -1) + 1
        if not count:
            return record
        again = lines.read(self.text[start:end], reading=self.here, occurrence=count)
        return again.record or record

    def _heading(self, block: Block) -> None:
        if self.path and block.level <= self.path[-1].level:
            self.settle()
        while self.path and self.path[-1].level >= block.level:
            self.path.pop()
        self.path.append(block)
        self._enter_section()
        known = block.title.casefold() in self.reading.sections
        self.bare = bool(block.title) and block.start >= self.given and not known
        if len(self._above(len(self.path))) > HEADINGS_LIMIT:
            self.settle()

    def _enter_section(self) -> None:
        """Read what follows as lines of the innermost section that gives them a kind."""
        titles = (block.title.casefold() for block in reversed(self.path))
        kinds = self.reading.sections
        kind = next((kinds[title] for title in titles if title in kinds), self.reading.kind)
        if kind != self.here.kind:
            self.here = replace(self.reading, kind=kind)

    def _title(self, block: Block) -> None:
        self._passages(block.start, block.end, self._above(len(self.path) - 1), block.title)

    def _above(self, depth: int) -> str:
        return " > ".join(block.title for block in self.path[:depth] if block.title)

    def _passages(self, start: int, end: int, above: str, title: str = "") -> None:
        prefix = f"{above[-HEADINGS_LIMIT:]}: " if above else ""
        whole = title or self.text[start:end]
        for first, last in _pieces(whole, PASSAGE_LIMIT - len(prefix)):
            if own := _tidy(whole[first:last]):
                place = (start, end) if title else (start + first, start + last)
                self._passage(prefix, own, *place)

    def _passage(self, prefix: str, own: str, start: int, end: int) -> None:
        text = prefix + own
        count = self.counts[text] = self.counts.get(text, -1) + 1
        record = Record(
            id=derived_id(PASSAGE, self.reading.document, text, str(count)),
            kind=PASSAGE,
            text=text,
            timestamp=lines.moment(self.reading),
            origin=self.reading.origin,
        )
        self.items.append(Item(record, self._line_of(start), start, end, len(prefix)))

    def lines(self) -> int:
        """How many there are, once everything is taken."""
        return self._line_of(len(self.text)) - ends_clean(self.text)

    def _problem(self, line: int, what: str) -> None:
        self.problems.append(Problem(self.reading.document, line, what))

    def _line_of(self, offset: int) -> int:
        if offset < self.at:
            return self.text.count("\n", 0, offset) + 1
        # Mostly one line on: to find its end is faster than to count all the ends in it.
        while self.at < offset and (at := self.text.find("\n", self.at, offset)) >= 0:
            self.line, self.at = self.line + 1, at + 1
        self.at = offset
        return self.line


def _pieces(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Bounds of pieces that make up the text, cut at line ends or else between words."""
    start = 0
    while len(text) - start > limit:
        end = text.rfind("\n", start, start + limit) + 1
        if end <= start:
            end = text.rfind(" ", start, start + limit) + 1
        if end <= start:
            end = start + limit
        yield start, end
        start = end
    yield start, len(text)


def _tidy(prose: str) -> str:
    return prose.replace("\r\n", "\n").strip("\r\n").rstrip()


def ends_clean(text: str) -> bool:
    """Whether what is appended starts on a line of its own."""
    return not text or text.endswith("\n")


def apart(text: str) -> str:
    """The text as it can stand below anything: indented lines at its start join no list item."""
    return "<!-- -->\n" + text if INDENTED.match(text.replace("\0", "")) else text


def sections(text: str) -> tuple[Section, ...]:
    """Every heading with what is below it; a section holds the sections of deeper levels."""
    headings = [block for block in Scan(text).blocks() if block.kind == "heading"]
    ends = _section_ends(headings, len(text))
    found, line, at = [], 1, 0
    for block, end in zip(headings, ends, strict=True):
        line, at = line + text.count("\n", at, block.start), block.start
        updated = _date(match[1]) if (match := _updated(text, block.end)) else None
        found.append(Section(block.title, block.level, line, block.start, block.end, end, updated))
    return tuple(found)


def _section_ends(headings: list[Block], size: int) -> list[int]:
    ends = [size] * len(headings)
    open_: list[int] = []
    for number, block in enumerate(headings):
        while open_ and headings[open_[-1]].level >= block.level:
            ends[open_.pop()] = block.start
        open_.append(number)
    return ends


def _updated(text: str, body: int) -> re.Match[str] | None:
    """The line that says when the section below a heading was updated."""
    while match := BLANK.match(text, body):
        body = match.end()
    return UPDATED.match(text, body)


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None


def replace_section(text: str, title: str, body: str, *, day: date) -> str:
    """The text with another body below that heading, which is added at the end when missing."""
    section = _section(text, title)
    if section is None:
        return text + _new_section(text, title, body, day)
    head, rest = text[: section.body], text[section.end :]
    gap = "\n" if rest else ""
    return head + _addition(head, _stamp(day) + _below(body, title) + gap) + rest


def append_to_section(text: str, title: str, body: str, *, day: date) -> str:
    """The text with `body` as the last thing right below that heading, above any subsection."""
    text = touch_section(text, title, day=day)
    section = _section(text, title)
    if section is None:
        return text + _new_section(text, title, body, day)
    new = apart(_below(body, title).removesuffix("\n"))
    if not new:
        return text
    after = (other.start for other in sections(text) if other.start >= section.body)
    above = text[: next(after, len(text))].rstrip("\r\n")
    if new.startswith(MARKERS, 1) and above[above.rfind("\n") + 1 :].startswith(LISTED):
        new = new.removeprefix("\n")
    newline = newline_of(text)
    return above + with_newlines(f"\n{new}", newline) + (text[len(above) :] or newline)


class Slot(Struct, frozen=True):
    """Where the next line of a section goes, and what has to stand before it, with line feeds."""

    at: int
    lead: str
    dated: tuple[int, str] | None = None
    """Where the day stands on which the section was updated, and that day, if it was another."""


def slot(text: str, title: str, *, day: date, later: Sequence[str] = ()) -> Slot:
    """The place for one more line of a section, above any subsection.

    A section that is missing is made above the first of the `later` ones, or at the end.
    """
    found = sections(text)
    section = _titled(found, title)
    if section is None:
        nexts = [each.start for name in later if (each := _titled(found, name))]
        above, at = _above(text, min(nexts)) if nexts else (text, len(text))
        return Slot(at, _new_section(above, title, "", day).replace("\r\n", "\n") + "\n")
    after = (other.start for other in found if other.start >= section.body)
    above, at = _above(text, next(after, len(text)))
    lead = "" if above.endswith("\n") else "\n"
    if not above[above.rstrip("\r\n").rfind("\n") + 1 :].startswith(LISTED):
        lead += "\n"
    stamped = _updated(text, section.body)
    return Slot(at, lead, _day_to_change(stamped, day) if stamped else None)


def _above(text: str, end: int) -> tuple[str, int]:
    """What stands before `end` without the blank lines at its end, and where those begin."""
    at = line_end(text, len(text[:end].rstrip("\r\n")))
    return text[:at], at


def _day_to_change(stamped: re.Match[str], day: date) -> tuple[int, str] | None:
    """Where a section's day stands, and the day, if it is another one that was written alike."""
    said = stamped[1]
    is_day = len(said) == len(day.isoformat()) and _date(said) is not None
    return (stamped.start(1), said) if is_day and said != day.isoformat() else None


def touch_section(text: str, title: str, *, day: date) -> str:
    """The text with that section marked as updated; unchanged when there is no such section."""
    section = _section(text, title)
    if section is None:
        return text
    if match := _updated(text, section.body):
        line = f"*Updated: {day}*"
        return text[: match.start()] + line + text[match.end(1) + 1 :]
    head, rest = text[: section.body], text[section.body :]
    gap = "" if not rest or BLANK.match(rest) else "\n"
    return head + _addition(head, _stamp(day) + gap) + rest


def _section(text: str, title: str) -> Section | None:
    return _titled(sections(text), title)


def _titled(found: Iterable[Section], title: str) -> Section | None:
    wanted = _plain_title(title).casefold()
    return next((section for section in found if section.title.casefold() == wanted), None)


def _plain_title(title: str) -> str:
    """A title as a heading gives it back: one line, no marks around it."""
    return heading_at(f"# {' '.join(title.split()).lstrip('# ')}", 0, 1).title


def _stamp(day: date) -> str:
    return f"*Updated: {day}*\n"


def _new_section(text: str, title: str, body: str, day: date) -> str:
    gap = "\n" if text.strip() and not text.endswith(("\n\n", "\n\r\n")) else ""
    new = f"{gap}## {_plain_title(title)}\n{_stamp(day)}{_below(body, title)}"
    return _addition(text, new)


def _below(body: str, title: str) -> str:
    """The body as it stands below its heading: without that heading, which many repeat."""
    body = body.replace("\r\n", "\n").strip("\n")
    if HEADING.match(body) and _plain_title(body[: line_end(body, 0)]) == _plain_title(title):
        body = body[line_end(body, 0) :].lstrip("\n")
    if stamped := UPDATED.match(body):
        body = body[stamped.end() :].lstrip("\n")
    return f"\n{closed(body).removesuffix(chr(10))}\n" if body else ""


def closed(text: str) -> str:
    """The text with the fence or comment closed that it leaves open, to take in nothing below."""
    scan = Scan(text)
    for _ in scan.blocks():
        pass
    return text.removesuffix("\n") + f"\n{scan.open[0]}\n" if scan.open else text


def _addition(head: str, text: str) -> str:
    newline = newline_of(head)
    return ("" if ends_clean(head) else newline) + with_newlines(text, newline)


def strike(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text without these stretches of it."""
    kept, at = [], 0
    for start, end in sorted(spans):
        kept.append(text[at : max(start, at)])
        at = max(end, at)
    struck = "".join(kept) + text[at:]
    # What moves up to the first line must not turn into front matter or a byte order mark there.
    return "\n" + struck if _opening(struck) > _opening(text) else struck


def _opening(text: str) -> tuple[bool, bool]:
    """Whether a text starts with front matter, and with a byte order mark."""
    text = text.replace("\0", "")
    return front_matter_end(text) > 0, text_start(text) > 0


def dropped(before: Parsed, after: Parsed) -> tuple[Record, ...]:
    """What `before` has and `after` lacks: neither the id nor the text is there."""
    ids = {item.record.id for item in after.items}
    texts = {_own(item) for item in after.items}
    return tuple(
        item.record
        for item in before.items
        if item.record.id not in ids and _own(item) not in texts
    )


def _own(item: Item) -> str:
    """A text without the headings above it and however its words are spaced."""
    return " ".join(item.record.text[item.headings :].split())


def harmless(item: str) -> str:
    """A list item that reads the same to a person, and that `parse` takes for a plain bullet."""
    item = DATA.sub("&lt;!--", item)
    return re.sub(r"\A(.[ \t]+)\{", r"\1\\{", item) if carries(item) else item


def disarm(
    text: str, *, keep: Container[str] = (), otherwise: Callable[[str], str] = harmless
) -> str:
    """Text from someone untrusted, with the data in it that is not in `keep` made harmless.

    `keep` holds items as `carried` gives them; `otherwise` says what becomes of one that is not.
    """
    if "\0" in text:
        cut = text.replace("\0", "")
        disarmed = disarm(cut, keep=keep, otherwise=otherwise)
        return text if disarmed == cut else disarmed
    start = text_start(text)

    def checked(match: re.Match[str]) -> str:
        return match[0] if not carries(match[0]) or _key(match[0]) in keep else otherwise(match[0])

    return text[:start] + ITEMS.sub(checked, text[start:])


def with_data(text: str, before: str) -> str:
    """The text with the data of the items that read as they did before, and came without it."""
    there = carried(text)
    kept: dict[str, list[str]] = {}
    for item in (match[0] for match in ITEMS.finditer(before[text_start(before) :])):
        if carries(item) and _key(item) not in there:
            kept.setdefault(_key(lines.plain(item)), []).append(_key(item))

    def whole(match: re.Match[str]) -> str:
        found = kept.get(_key(match[0]))
        rest = match[0][len(match[0].rstrip("\r\n")) :]
        return with_newlines(found.pop(0), newline_of(match[0])) + rest if found else match[0]

    start = text_start(text)
    return text[:start] + ITEMS.sub(whole, text[start:]) if kept else text


def carried(text: str) -> frozenset[str]:
    """The list items of a text that carry data, as `disarm` compares them."""
    items = (match[0] for match in ITEMS.finditer(text[text_start(text) :]))
    return frozenset(_key(item) for item in items if carries(item))


@lru_cache(maxsize=8192)
def carries(item: str) -> bool:
    """Whether a list item says itself who it is. A rewrite asks it of each item several times."""
    line = lines.read(item, reading=NOWHERE)
    return line.record is not None and not line.derived


NOWHERE = Reading("")


def _key(item: str) -> str:
    return item.replace("\r\n", "\n").rstrip("\r\n")
