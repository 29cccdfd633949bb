"""What a rewrite takes out of a document, and whether that goes beyond what may go unasked.

Pure: it knows two texts and counts, not who writes, nor how a confirmation is given.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from commonplace.markdown import documents
from commonplace.markdown.documents import Item, Parsed
from commonplace.model.records import PASSAGE
from commonplace.trust.neutralise import one_line

WORD = re.compile(r"\w+")
GUARDRAIL = re.compile(
    r"(?i)\b(?:safety|guardrails?|rules?|instructions?|corrections?|never|always|forbidden)\b"
)
"""The headings of sections of which no line goes unasked."""
GUARDED_KINDS = frozenset(("instruction", "correction"))
SHOWN, WIDTH = 5, 60
"""Entries of which an answer tells that they were dropped, and characters of each."""
WHOLE = ""
"""In place of a section's title: the whole document."""


class Loss(Struct, frozen=True, dict=True):
    """What one text has and another lacks."""

    before: str
    after: str
    was: Parsed
    now: Parsed

    @cached_property
    def gone(self) -> list[Item]:
        """The entries that are gone rather than said in other words.

        Most of what tells such an entry from the others that go is in nothing that is new.
        """
        going = self._without_ids()
        had = {item.record.id for item in self.was.items}
        fresh = (item.record.text for item in self.now.items if item.record.id not in had)
        told = {word for text in fresh for word in _words(text)}
        often = Counter(word for item in going for word in _words(item.record.text))
        return [item for item in going if _is_lost(item, told, often)]

    def _without_ids(self) -> list[Item]:
        gone = {record.id for record in documents.dropped(self.was, self.now)}
        return [item for item in self.was.items if item.record.id in gone]

    @cached_property
    def guarded(self) -> list[str]:
        """Every line that goes, or reads otherwise, of a guardrail, instruction or correction."""
        there = {line for item in self.now.items for line in _lines(item)}
        there.update(" ".join(section.title.split()) for section in documents.sections(self.after))
        return [
            line
            for item in self.was.items
            if self._is_guarded(item)
            for line in _lines(item)
            if line not in there
        ]

    def _is_guarded(self, item: Item) -> bool:
        return item.record.kind in GUARDED_KINDS or any(
            GUARDRAIL.search(section.title)
            for section in self._sections
            if section.start <= item.start < section.end
        )

    @cached_property
    def _sections(self) -> tuple[documents.Section, ...]:
        return documents.sections(self.before)

    def _counted(self, items: list[Item] | tuple[Item, ...]) -> Counter[str]:
        """How many there are in the whole, and in each section right below its heading."""
        counts = Counter({WHOLE: len(items)})
        for item in items:
            above = [s for s in self._sections if s.start <= item.start < s.end]
            if above:
                counts[above[-1].title] += 1
        return counts

    @cached_property
    def lost(self) -> Counter[str]:
        """How many entries are gone, in the whole and by section."""
        return self._counted(self.gone)

    def exceeds(self, share: float, earlier: Mapping[str, int]) -> bool:
        """Whether more goes, of the whole or of a section, with what went earlier."""
        there = self._counted(self.was.items)
        return any(
            lost + earlier.get(where, 0) > share * (there[where] + earlier.get(where, 0))
            for where, lost in self.lost.items()
            if lost
        )

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """What goes, each in a line as it may be shown."""
        gone = (line for item in self.gone for line in _lines(item))
        return tuple(dict.fromkeys(map(one_line, (*gone, *self.guarded))))


def told(dropped: tuple[str, ...]) -> str:
    """What was dropped, in a sentence; empty when nothing was."""
    if not dropped:
        return ""
    shown = "; ".join(
        line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in dropped[:SHOWN]
    )
    more = f"; and {len(dropped) - SHOWN} more" if len(dropped) > SHOWN else ""
    lines = "1 line" if len(dropped) == 1 else f"{len(dropped)} lines"
    return f"Dropped {lines}: {shown}{more}."


def _is_lost(item: Item, told: set[str], often: Counter[str]) -> bool:
    words = _words(item.record.text)
    own = {word for word in words if often[word] == 1} or words
    return len(own & told) < len(own) / 2 or not own


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def _lines(item: Item) -> list[str]:
    """An entry as it is compared: a record is one line, prose has several."""
    text = item.record.text[item.headings :]
    parts = text.split("\n") if item.record.kind == PASSAGE else [text]
    return [line for part in parts if (line := " ".join(part.split()))]
