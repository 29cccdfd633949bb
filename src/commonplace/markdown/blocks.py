"""The blocks that a document's text is made of: list items, headings and prose.

Whatever gives a document its structure starts at the margin: a list item, a heading, a code fence,
a comment. What is indented below an item belongs to the item, so nothing in a record's text can
open or close anything outside of it. A fence, comment or front matter that is never closed is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MARKERS = ("- ", "* ", "+ ", "-\t", "*\t", "+\t")
END = r"[ \t]*\r?(?:\n|\Z)"
REST = re.compile(END)
BLANK = re.compile(rf"(?!\Z){END}")
PLAINLY = re.compile(r"[-*+][ \t](?:\*\*)?[^-*_\s]")
ITEM = re.compile(r"[-*+][ \t][^\n]*(?:\n|\Z)(?:(?:[ \t\r]*\n)*(?:  |\t)[^\n]*(?:\n|\Z))*")
RULE = re.compile(rf"(?:(?:-[ \t]*){{3,}}|(?:\*[ \t]*){{3,}}|(?:_[ \t]*){{3,}}){END}")
# One "-" alone is an empty list item here: the first line of a record may be blank.
UNDERLINE = re.compile(rf"(?:=+|--+){END}")
HEADING = re.compile(r"(#{1,6})(?=[ \t\r\n]|\Z)")
UPDATED = re.compile(rf"\*Updated: ([^*\n]*)\*{END}")
FENCE = re.compile(r"(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)(?:\n|\Z)")
FENCE_END = re.compile(rf"^(`{{3,}}|~{{3,}}){END}", re.M)
IN_COMMENT = re.compile(r"^[-*+][ \t]|<!--|-->", re.M)
# Keys and plain lists between two rules; a record among them means that it is not front matter.
YAML = r"(?:[A-Za-z_\"'][^\n]*:[^\n]*|[ \t#][^\n]*|-(?! ?[{*])[^\n]*|\r?)\n"
FRONT = re.compile(
    rf"\ufeff?---{END}(?=[A-Za-z_\"'])(?:(?!(?:---|\.\.\.){END}){YAML})+(?:---|\.\.\.){END}"
)
WORDED = re.compile(r"\w")

made = tuple.__new__
"""How a named tuple is made of all its values at half the price."""


class Block(NamedTuple):
    """One piece of a text: an item, a heading or prose, and what the scan leaves out."""

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""


class Scan:
    """A text being taken apart: where the paragraph started that the scan is in, if in one."""

    def __init__(self, text: str, *, bullets: bool = True) -> None:
        self.text = text
        self.bullets = bullets
        self.prose = -1
        self.below = False  # Nothing but blank lines lie between here and the heading above.
        self.unclosed: dict[str, int] = {}
        self.open: list[str] = []  # What would close the fences and comments that are left open.

    def blocks(self) -> Iterator[Block]:
        """What the text is made of, in order; blank lines and rules are left out."""
        text, pos = self.text, text_start(self.text)
        if front := front_matter_end(text):
            yield Block("prose", pos, front)
            pos = front
        size = len(text)
        while pos < size:
            if self.bullets and PLAINLY.match(text, pos):
                # What most documents are made of takes the shortest way.
                if self.prose >= 0:
                    yield Block("prose", self.prose, pos)
                    self.prose = -1
                self.below = False
                end = item_end(text, pos)
                yield made(Block, ("item", pos, end, 0, ""))
                pos = end
                continue
            block = self._at(pos)
            if block.kind != "line":
                if 0 <= self.prose < block.start:
                    yield Block("prose", self.prose, pos)
                self.prose = -1
                if block.kind in KEPT:
                    yield block
            elif self.prose < 0:
                self.prose = pos
            self.below = block.kind == "heading" or (self.below and block.kind == "blank")
            pos = block.end
        if self.prose >= 0:
            yield Block("prose", self.prose, pos)

    def _at(self, pos: int) -> Block:
        """What starts on the line at `pos`: "line" when it is just one more line of prose."""
        text = self.text
        first, end, kind = text[pos], -1, "prose"
        if first in "-*+_=":
            return self._marked(pos)
        if first == "#":
            if match := HEADING.match(text, pos):
                return heading_at(text, pos, len(match[1]))
        elif first in "`~":
            end = self._fence_end(pos)
        elif first == "<":
            end = self._comment_end(pos)
            # One without a word in it only keeps apart what stands above and below.
            kind = "prose" if WORDED.search(text, pos + 4, max(end, pos)) else "rule"
        elif first in " \t\r\n" and (match := BLANK.match(text, pos)):
            end, kind = match.end(), "blank"
        return Block(kind, pos, end) if end > 0 else Block("line", pos, line_end(text, pos))

    def _marked(self, pos: int) -> Block:
        """What starts with a character that marks list items, rules and underlined headings."""
        text = self.text
        if self._titled(pos) and (match := UNDERLINE.match(text, pos)):
            level = 1 if text[pos] == "=" else 2
            return Block("heading", self.prose, match.end(), level, text[self.prose : pos].strip())
        if match := RULE.match(text, pos):
            return Block("rule", pos, match.end())
        if self.below and (match := UPDATED.match(text, pos)):
            return Block("updated", pos, match.end())
        if self.bullets and text.startswith(MARKERS, pos):
            return Block("item", pos, item_end(text, pos))
        return Block("line", pos, line_end(text, pos))

    def _titled(self, pos: int) -> bool:
        """Whether the paragraph above is one line from the margin, as the title of a heading is."""
        text, prose = self.text, self.prose
        return prose >= 0 and text[prose] not in " \t" and line_end(text, prose) == pos

    def _fence_end(self, pos: int) -> int:
        """Where the fenced code ends that starts at `pos`; -1 when it is none or never closed."""
        match = FENCE.match(self.text, pos)
        fence = (match[1] or match[2]) if match else ""
        # Remembered, so that a text full of open fences is not searched to its end for each.
        if not match or len(fence) >= self.unclosed.get(fence[0], len(fence) + 1):
            return -1
        for closing in FENCE_END.finditer(self.text, match.end()):
            if closing[1].startswith(fence):
                return closing.end()
        self.unclosed[fence[0]] = len(fence)
        self.open.append(fence)
        return -1

    def _comment_end(self, pos: int) -> int:
        """Where the comment ends whose lines start at `pos`; -1 when it is none or never closed.

        Neither what list items hold nor another opening closes it: an opening that was forgotten
        must not hide the records below.
        """
        text, at = self.text, pos + 4
        if not text.startswith("<!--", pos):
            return -1
        while found := IN_COMMENT.search(text, at):
            if found[0] == "-->":
                rest = REST.match(text, found.end())
                return rest.end() if rest else -1
            if found[0] == "<!--":
                return -1
            at = item_end(text, found.start())
        self.open.append("-->")
        return -1


KEPT = frozenset(("item", "heading", "prose"))


def text_start(text: str) -> int:
    """Where the text starts: behind a byte order mark."""
    return 1 if text.startswith("\ufeff") else 0


def front_matter_end(text: str) -> int:
    """Where the front matter ends; 0 without one."""
    match = FRONT.match(text) if text.startswith(("---", "\ufeff---")) else None
    return match.end() if match and "<!--" not in match[0] else 0


def line_end(text: str, pos: int) -> int:
    return text.find("\n", pos) + 1 or len(text)


def item_end(text: str, pos: int) -> int:
    end = text.find("\n", pos) + 1 or len(text)
    if end < len(text) and text[end] in " \t\r\n" and (match := ITEM.match(text, pos)):
        return match.end()
    return end


def heading_at(text: str, pos: int, level: int) -> Block:
    end = line_end(text, pos)
    title = text[pos + level : end].strip()
    opened = title.rstrip("#")
    if not opened or opened[-1] in " \t":
        title = opened.strip()
    return Block("heading", pos, end, level, title)
