"""Sort a native vault: each memory in one place, in the section of its kind or the log of its day.

Headings, prose and the lines of sections that a person made stay as they are. `plan` decides and
changes nothing; `tidy` makes it so, as one change that one undo takes back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library import blame
from commonplace.library.library import Library
from commonplace.markdown import documents, record_lines
from commonplace.markdown.documents import Item, Section
from commonplace.markdown.layouts import NEW_SECTION, Layout
from commonplace.markdown.merge import diff, newline_of
from commonplace.model.errors import Refused, VaultTrouble
from commonplace.model.records import DERIVED, PASSAGE, PASSING, Author, Origin, Record
from commonplace.storage.journal import Entry, Op, Text

SEEN_MOST = 5


class TidyPlan(Struct, frozen=True):
    """What a tidying would change: documents before and after, and how much of each kind."""

    texts: dict[str, tuple[str, str]]
    sorted: int = 0
    """Lines that get a section, or the short form."""
    doubled: int = 0
    """Copies that are taken out of logs and archive, or of MEMORY.md."""
    dated: tuple[str, ...] = ()
    """The ids of hand-written lines that get their day."""
    merged: dict[str, str] = {}
    """Memories that say the same as an older one, and that one."""

    def difference(self, *, most: int = 1_000_000) -> str:
        """The change as a unified diff of the part that people read, `most` lines a document."""
        return "\n".join(
            f"{name}\n{diff(record_lines.plain(before), record_lines.plain(after), limit=most)}"
            for name, (before, after) in self.texts.items()
        )

    def sentence(self) -> str:
        """How much would change, in words."""
        parts = (
            (self.sorted, "line to sort", "lines to sort"),
            (self.doubled, "copy to take out", "copies to take out"),
            (len(self.dated), "hand-written line to date", "hand-written lines to date"),
            (len(self.merged), "duplicate to merge", "duplicates to merge"),
        )
        told = [f"{count} {one if count == 1 else many}" for count, one, many in parts if count]
        return ", ".join(told) if told else "nothing to tidy"


def tidy(library: Library, *, author: Author, shown: TidyPlan | None = None) -> TidyPlan:
    """Tidy a vault. With `shown`, nothing is done if it is not as it was when that was planned."""

    def work() -> TidyPlan:
        planned = _planned(library)
        if shown is not None and planned.texts != shown.texts:
            raise Refused(
                "The documents were changed meanwhile; nothing was tidied.",
                next_step="Look again: 'commonplace tidy --dry-run'.",
            )
        if planned.texts:
            texts = {
                name: (before.encode() if before else None, after.encode())
                for name, (before, after) in planned.texts.items()
            }
            changes = [Text(name, library.keep(after)) for name, (_, after) in texts.items()]
            merged = tuple(planned.merged)
            entry = library.entry(
                Op.TIDY, changes, ids=(*planned.dated, *merged), removed=merged, author=author
            )
            library.replace_texts(entry, texts)
        return planned

    return library.locked(work)


def plan(library: Library) -> TidyPlan:
    """What `tidy` would do now."""
    return library.locked(lambda: _planned(library))


def _planned(library: Library) -> TidyPlan:
    if not library.layout.sections:
        raise Refused(
            f"A vault of the dialect {library.layout.name} stays in the form of that dialect.",
            next_step="Only native vaults are tidied.",
        )
    library.take_in_changes()
    found = _Tidying(library).plan()
    _check(library, found)
    return found


class _Line(Struct, frozen=True):
    """A line that moves, or is written anew where it stands."""

    item: Item
    section: str
    text: str


class _Tidying:
    """One tidying of a vault, as it is."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.layout: Layout = library.layout
        self.memory = library.layout.memory
        self.day_of = library.clock.day_of
        names = library.listing().documents
        self.texts = {name: library.text(name)[0] for name in names if self._is_ours(name)}
        self.parsed = {name: _known(library, name, text) for name, text in self.texts.items()}
        self.counts: dict[str, int] = defaultdict(int)
        self.dated: list[str] = []

    def _is_ours(self, name: str) -> bool:
        """Whether the vault itself writes records into a document, of which some were copies."""
        return name in (self.memory, self.layout.archive) or bool(self.layout.day_of(name))

    def plan(self) -> TidyPlan:
        after = {name: self._rewritten_log(name) for name in self.texts if name != self.memory}
        if self.memory in self.texts:
            after |= self._sorted_memory(after)
        changed = {
            name: (self.texts.get(name, ""), text)
            for name, text in after.items()
            if text != self.texts.get(name, "")
        }
        counts = self.counts
        return TidyPlan(
            changed, counts["sorted"], counts["doubled"], tuple(self.dated), dict(self.merged)
        )

    @cached_property
    def places(self) -> dict[str, set[str]]:
        """The documents of ours that each record stands in."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, items in self.parsed.items():
            for item in items:
                found[item.record.id].add(name)
        return found

    @cached_property
    def merged(self) -> dict[str, str]:
        """Records of MEMORY.md that say just what an older one says, and the ids of those."""
        items = self.parsed.get(self.memory, ())
        named = {item.record.supersedes for item in items}
        named |= {key for item in items for key in item.record.sources}
        first: dict[tuple[str, ...], str] = {}
        found: dict[str, str] = {}
        for item in items:
            record = item.record
            of_a_day = record.kind in PASSING and not DERIVED.match(record.id)
            if of_a_day or record.supersedes or self._is_own(item):
                continue
            oldest = first.setdefault(_said(record), record.id)
            if oldest != record.id and record.id not in named and record.kind != PASSAGE:
                found[record.id] = oldest
        return found

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        return documents.sections(self.texts[self.memory])

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return self.library.reading(self.memory).sections

    def _headings(self, item: Item) -> list[str]:
        """The headings above an item, but for the title of the document."""
        title = self.layout.memory_header.strip("# \n").casefold()
        above = (s for s in self.sections if s.body <= item.start < s.end)
        return [s.title.casefold() for s in above if (s.level, s.title.casefold()) != (1, title)]

    def _is_own(self, item: Item) -> bool:
        """Whether an item stands in a section that a person made."""
        return any(title not in self._kinds for title in self._headings(item))

    def _sorted_memory(self, logs: Mapping[str, str]) -> dict[str, str]:
        """MEMORY.md with every line in its section, and the logs that take what is of a day."""
        text, moving = self.texts[self.memory], list[_Line]()
        cut: list[Item] = []
        logged: dict[str, str] = dict(logs)
        seen: set[str] = set()
        for item in self.parsed[self.memory]:
            if item.record.kind == PASSAGE:
                continue
            if item.record.id in self.merged or item.record.id in seen:
                self.counts["doubled"] += item.record.id in seen
                cut.append(item)
                continue
            seen.add(item.record.id)
            if self._is_own(item):
                continue
            if name := self._log_for(item):
                logged[name] = self._with_logged(name, logged.get(name), item)
                cut.append(item)
            elif line := self._line(item, text[item.start : item.end]):
                moving.append(line)
                cut.append(item)
        return {**logged, self.memory: self._laid_out(_without(text, cut), moving)}

    def _log_for(self, item: Item) -> str:
        """The log that a line of MEMORY.md belongs in; empty for one that belongs where it is."""
        record = item.record
        headings = self._headings(item)
        loose = not headings or headings[-1] == NEW_SECTION.casefold()
        if record.kind not in PASSING or not loose or DERIVED.match(record.id):
            return ""
        there = [name for name in self.places[record.id] if self.layout.day_of(name)]
        if there or not _is_day(day := self.day_of(record.timestamp)):
            return min(there, default="")
        return self.layout.daily_document(date.fromisoformat(day))

    def _with_logged(self, name: str, text: str | None, item: Item) -> str:
        """A log with a record as MEMORY.md has it."""
        self.counts["doubled" if name in self.places[item.record.id] else "sorted"] += 1
        line = record_lines.write(item.record, "log")
        if text is None:
            return self.layout.header(name) + line
        for stands in self.library.parse(name, text).items:
            if stands.record.id == item.record.id:
                return text if stands.record == item.record else _replaced(text, stands, line)
        return text + ("" if documents.ends_clean(text) else "\n") + line

    def _line(self, item: Item, raw: str) -> _Line | None:
        """A line as it is to stand in its section; None if it stands there so."""
        record, section = item.record, self._section(item)
        form = self._as_sentence(item, raw, self.layout.kind_below(section))
        headings = self._headings(item)
        at_home = bool(headings) and headings[-1] == section.casefold()
        if at_home and form == _ended(raw):
            return None
        self.counts["sorted"] += not (at_home and DERIVED.match(record.id))
        return _Line(item, section, form)

    def _section(self, item: Item) -> str:
        """The section that a line belongs in: of one written by hand, that in which it stands."""
        headings = self._headings(item)
        there = (title for title in self.layout.sections if title.casefold() in headings[-1:])
        by_hand = DERIVED.match(item.record.id)
        return (next(there, "") if by_hand else "") or self.layout.section(item.record.kind)

    def _as_sentence(self, item: Item, raw: str, kind: str) -> str:
        record = replace(item.record, seen=self._seen(item.record))
        if DERIVED.match(record.id) and not record_lines.carries_data(raw):
            return self._dated(item, raw, kind)
        day = record_lines.shown_day(raw) or self.day_of(record.timestamp)
        line = record_lines.write(record, "sentence", kind=kind, day=day)
        return line if self._reads_back(line, record, kind) else record_lines.alone(raw, record)

    def _reads_back(self, line: str, record: Record, kind: str) -> bool:
        reading = replace(self.library.reading(self.memory), kind=kind)
        return record_lines.read(line, reading=reading).record == record

    def _dated(self, item: Item, raw: str, kind: str) -> str:
        """A hand-written line with the day on which the journal first saw it."""
        says_when = record_lines.says_day(raw) or record_lines.HEAD.match(raw)
        by_owner = item.record.origin == Origin.OWNER
        day = "" if says_when or not by_owner else self._seen_on(item)
        if not day:
            return _ended(raw)
        self.dated.append(item.record.id)
        dated = replace(item.record, timestamp=f"{day}T00:00:00.000")
        return record_lines.write(dated, "sentence", kind=kind, day=day)

    def _seen_on(self, item: Item) -> str:
        entry = self._entries[item.line - 1] if item.line <= len(self._entries) else None
        return self.day_of(entry.at) if entry else ""

    @cached_property
    def _entries(self) -> Sequence[Entry]:
        """The change that brought each line of MEMORY.md."""
        return blame.entries_of(self.library, self.memory)

    def _seen(self, record: Record) -> tuple[str, ...]:
        """When a record was told again, with the times of the duplicates that are merged in it."""
        told = [
            f"{item.record.timestamp} {item.record.session}".strip()
            for item in self.parsed[self.memory]
            if self.merged.get(item.record.id) == record.id and item.record.timestamp
        ]
        return tuple([*record.seen, *told][-SEEN_MOST:]) if told else record.seen

    def _laid_out(self, text: str, moving: Iterable[_Line]) -> str:
        """The text with these lines in their sections."""
        titles = list(self.layout.sections)
        groups: dict[str, list[_Line]] = defaultdict(list)
        for line in moving:
            groups[line.section].append(line)
        text = _without_empty_section(text, NEW_SECTION)
        for title in sorted(groups, key=lambda each: _order(each, titles)):
            later = titles[titles.index(title) + 1 :] if title in titles else ()
            free = documents.slot(text, title, day=self._updated(groups[title]), later=later)
            added = free.lead + "".join(line.text for line in groups[title])
            if newline_of(text) == "\r\n":
                added = added.replace("\n", "\r\n")
            text = text[: free.at] + added + text[free.at :]
        return text

    def _updated(self, lines: Sequence[_Line]) -> date:
        """The day of the newest of some lines."""
        days = filter(_is_day, (self.day_of(line.item.record.timestamp) for line in lines))
        newest = max(days, default="")
        return date.fromisoformat(newest) if newest else self.library.clock.today()

    def _rewritten_log(self, name: str) -> str:
        """A log or archive without copies of records that stand elsewhere, in the short form."""
        text = self.texts[name]
        for item in reversed(self.parsed[name]):
            if item.record.kind == PASSAGE:
                continue
            if self._stands_elsewhere(item.record, name):
                self.counts["doubled"] += 1
                text = text[: item.start] + text[item.end :]
            elif self.layout.day_of(name):
                text = self._shortened(text, item)
        return text

    def _stands_elsewhere(self, record: Record, name: str) -> bool:
        """Whether the place of a record is not this log or archive, where it is a copy."""
        places = self.places[record.id]
        if self.memory in places:
            [item] = [i for i in self.parsed[self.memory] if i.record.id == record.id][:1]
            return self._log_for(item) != name
        logs = [each for each in places if self.layout.day_of(each)]
        if len(places) == 1 or not logs:
            return False
        home = min(logs) if record.kind in PASSING else self.layout.archive
        return name != (home if home in places else min(logs))

    def _shortened(self, text: str, item: Item) -> str:
        raw = text[item.start : item.end]
        if not record_lines.carries_data(raw) or record_lines.form_of(raw) != "native":
            return text
        line = record_lines.write(item.record, "log")
        if record_lines.read(line, reading=record_lines.Reading("")).record != item.record:
            return text
        self.counts["sorted"] += 1
        return _replaced(text, item, line)


def _known(library: Library, name: str, text: str) -> list[Item]:
    """The items of a text, with whose they are as the journal knows it."""
    items = library.parse(name, text).items
    known = library.reader.as_indexed(item.record for item in items)
    return [item._replace(record=record) for item, record in zip(items, known)]


def _is_day(text: str) -> bool:
    return bool(record_lines.says_day(f"({text})"))


def _said(record: Record) -> tuple[str, ...]:
    """What two memories must have in common to be one."""
    span = (record.valid_from, record.valid_to)
    whose = (record.origin, record.username, record.sensitivity)
    return record.kind, record.text, *whose, *span, *record.tags


def _order(title: str, titles: Sequence[str]) -> tuple[int, str]:
    return (titles.index(title), title) if title in titles else (len(titles), title)


def _ended(raw: str) -> str:
    return raw.replace("\r\n", "\n").rstrip("\n") + "\n"


def _replaced(text: str, item: Item, line: str) -> str:
    if "\r\n" in text[item.start : item.end]:
        line = line.replace("\n", "\r\n")
    return text[: item.start] + line + text[item.end :]


def _without(text: str, items: Iterable[Item]) -> str:
    """A text without some items, nor the second of two blank lines that meet there."""
    for item in sorted(items, key=lambda item: item.start, reverse=True):
        head, tail = text[: item.start], text[item.end :]
        if head.endswith(("\n\n", "\n\r\n")) or not head:
            blank = "\r\n" if tail.startswith("\r\n") else "\n"
            tail = tail.removeprefix(blank)
        text = head + tail
    return text


def _without_empty_section(text: str, title: str) -> str:
    """A text without a section in which nothing stands."""
    for section in documents.sections(text):
        if section.title == title and not _body(text, section):
            return text[: section.start].rstrip("\r\n") + "\n" + text[section.end :]
    return text


def _body(text: str, section: Section) -> str:
    """What stands below a heading but for its day."""
    body = text[section.body : section.end].strip()
    return "" if section.updated and "\n" not in body else body


def _check(library: Library, planned: TidyPlan) -> None:
    """Refuse a plan by which a record would be lost, changed or doubled."""
    names = library.listing().documents
    before = {name: library.text(name)[0] for name in names}
    after = before | {name: text for name, (_, text) in planned.texts.items()}
    was, now = _records(library, before), _records(library, after)
    for key, record in was.items():
        if key in planned.merged:
            continue
        found = now.get(key)
        if found is None or _essence(found) != _essence(record, found):
            raise VaultTrouble(
                f"Tidying would change {key}; nothing was done.",
                next_step="Please report it, with that line of the document.",
            )
    if added := now.keys() - was.keys():
        raise VaultTrouble(
            f"Tidying would add {min(added)}; nothing was done.",
            next_step="Please report it, with that line of the document.",
        )


def _essence(record: Record, dated: Record | None = None) -> Record:
    """A record but for what tidying may add: the day of one that had none, and when it was told."""
    timestamp = record.timestamp or (dated.timestamp if dated else "")
    return replace(record, timestamp=timestamp, seen=())


def _records(library: Library, texts: Mapping[str, str]) -> dict[str, Record]:
    """The records of some texts, each as the most trusted document has it."""
    found: dict[str, Record] = {}
    rank: Callable[[str], tuple[int, str]] = library.layout.rank
    for name in sorted(texts, key=rank, reverse=True):
        for item in _known(library, name, texts[name]):
            if item.record.kind != PASSAGE:
                found[item.record.id] = item.record
    return found
