"""Rules that stand as lists in a file for agents, such as CLAUDE.md, and the moments they name.

It reads English. What it finds are suggestions: a person decides on each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from commonplace.model.errors import BadValue
from commonplace.model.moments import check_moments

ITEM = re.compile(r"(\s*)(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)")
HEADING = re.compile(r"#{1,6}\s+(.*\S)")
FENCE = re.compile(r"\s*(?:```|~~~)")
CODE = re.compile(r"`([^`\n]+)`")
EMPHASIS = re.compile(r"\*\*|__")
ORDER = re.compile(
    r"\b(?:always|never|must|do not|don['’]t|only|before|after|instead of|not|avoid|make sure|"
    r"ensure|prefer)\b",
    re.IGNORECASE,
)
IMPERATIVES = """
add ask build call change check commit create delete edit fix follow format generate install keep
lint make move open prefer push put read regenerate remove rename restart review run set start stop
test update use verify wait write
"""
VERBS = frozenset(IMPERATIVES.split())
"""Words that a rule begins with."""
CONDITION = re.compile(
    r"(?:when|whenever|if|once|while)\b(?P<you>\s+you\b)?.*?[,:]\s+(?P<deed>[A-Za-z]+)",
    re.IGNORECASE,
)
"""A condition, and the first word of what is to be done then."""
MOMENT_BEFORE = re.compile(
    r"\b(?:before|when|after|whenever|if|never|not|don['’]t|avoid|instead of|than|editing|changing|"
    r"touching|calling|running|using|with)\b[^`.;,]{0,24}\Z",
    re.IGNORECASE,
)
"""What stands before the code that says when, rather than what is to be done."""
TOOL = re.compile(r"(?:mcp__[\w*-]+|Bash|Edit|Write|Read|WebFetch|WebSearch|NotebookEdit|Task)\Z")
COMMAND = re.compile(r"[a-z][\w.+-]*(?: [^|&;<>$]+)?\Z")
PATH = re.compile(r"[\w.*~/\\-]+\Z")
WORDS_OF_COMMAND = 3


class ListedRule(Struct, frozen=True):
    """A rule of a list, and the moments that it seems to be about."""

    text: str
    line: int
    """Its first line, counted from 1."""
    last: int = 0
    when: tuple[str, ...] = ()
    heading: str = ""

    @property
    def is_rule(self) -> bool:
        """Whether it reads like a rule."""
        first = re.match(r"[A-Za-z]+", self.text)
        begins = bool(first and first[0].lower() in VERBS)
        return begins or ORDER.search(self.text) is not None or _is_condition(self.text)


def list_items(text: str) -> list[ListedRule]:
    """The list items of a file, whether or not they read like rules."""
    return list(_items(text))


def _items(text: str) -> Iterator[ListedRule]:
    heading, fenced = "", False
    parts: list[str] = []
    started = 0

    def ended() -> Iterator[ListedRule]:
        if parts:
            said = " ".join(parts)
            last = started + len(parts) - 1
            yield ListedRule(EMPHASIS.sub("", said), started, last, _moments(said), heading)
            parts.clear()

    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
            yield from ended()
        elif fenced:
            continue
        elif found := HEADING.match(line):
            yield from ended()
            heading = found[1]
        elif found := ITEM.match(line):
            yield from ended()
            parts.append(found[2])
            started = number
        elif not line.strip():
            yield from ended()
        elif parts and line[:1].isspace():
            parts.append(line.strip())
        else:
            yield from ended()
    yield from ended()


def _is_condition(text: str) -> bool:
    """Whether it says what to do when something is so."""
    found = CONDITION.match(text)
    return bool(found and (found["you"] or found["deed"].lower() in VERBS))


def _moments(text: str) -> tuple[str, ...]:
    """The moment that the code in a rule names: the one it warns of, or else the first."""
    found = [(code, moment) for code in CODE.finditer(text) if (moment := _moment(code[1]))]
    warned = [moment for code, moment in found if MOMENT_BEFORE.search(text[: code.start()])]
    return tuple((warned or [moment for _, moment in found])[:1])


def _moment(code: str) -> str:
    """What a piece of code says of a moment; empty where it says nothing."""
    code = " ".join(code.split())
    if TOOL.match(code) or ("(" in code and TOOL.match(code.partition("(")[0])):
        said = code
    elif PATH.match(code) and ("/" in code or "." in code.strip(".")):
        said = f"path:{code}"
    elif COMMAND.match(code):
        words = [word for word in code.split() if not word.startswith(("<", "["))]
        said = f"Bash({' '.join(words[:WORDS_OF_COMMAND])}*)"
    else:
        return ""
    try:
        return check_moments([said])[0]
    except BadValue:
        return ""
