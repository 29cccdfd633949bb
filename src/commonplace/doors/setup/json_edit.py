"""Edit one spot of a JSON text; the rest stays byte for byte.

Comments, trailing commas and a byte order mark are kept where the reader of the file takes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]

MARK = "\ufeff"
BLANK = " \t\r\n"
DEEPEST = 100
CLOSING = {"{": "}", "[": "]"}
SPACE = re.compile(r"[ \t\r\n]+")
COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
ATOM = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Broken(Exception):
    """Text that its reader would not take, with the line and what is wrong there."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(f"line {line}: {problem}")


class WrongShape(Exception):
    """A value that stands where something else must."""


@dataclass(frozen=True)
class Flavour:
    """What a reader takes beyond JSON."""

    comments: bool = False
    commas: bool = False
    mark: bool = True


@dataclass(frozen=True)
class Node:
    """One value: where it stands, what it is and what it holds."""

    start: int
    end: int
    value: Any
    children: tuple[Child, ...] = ()


@dataclass(frozen=True)
class Child:
    """A member of an object (with its key) or an item of an array."""

    key: str
    start: int
    node: Node


def read(text: str, *, flavour: Flavour) -> Node:
    """The whole text as one value. A text of nothing but blanks is an empty object."""
    if not text.strip(MARK + BLANK):
        return Node(len(text), len(text), {})
    return _Reader(text, flavour).document()


def value(text: str, *, flavour: Flavour) -> Any:
    return read(text, flavour=flavour).value


def at(node: Node, path: Path) -> Node | None:
    """The value below `node` that `path` names; of keys that stand twice the last counts."""
    if not path:
        return node
    if isinstance(path[0], int):
        return at(node.children[path[0]].node, path[1:])
    named = [child.node for child in node.children if child.key == path[0]]
    return at(named[-1], path[1:]) if named and isinstance(node.value, dict) else None


def put(text: str, path: Path, wanted: Any, *, flavour: Flavour) -> str:
    """The text with `wanted` at `path`; an object is laid over the one that is there."""
    root = read(text, flavour=flavour)
    found = at(root, path)
    if found is None:
        return _grown(text, root, path, wanted)
    if isinstance(found.value, dict) and isinstance(wanted, Mapping):
        for key, each in wanted.items():
            text = put(text, (*path, key), each, flavour=flavour)
        return text
    return text if _same(found.value, wanted) else _replaced(text, root, found, wanted)


def replace(text: str, path: Path, wanted: Any, *, flavour: Flavour) -> str:
    """The text with `wanted`, and nothing of what was there, at a `path` that exists."""
    root = read(text, flavour=flavour)
    found = at(root, path)
    return text if found is None else _replaced(text, root, found, wanted)


def append(text: str, path: Path, item: Any, *, flavour: Flavour) -> str:
    """The text with one more item in the array at `path`, which is made when it is missing."""
    root = read(text, flavour=flavour)
    found = at(root, path)
    if found is None:
        return _grown(text, root, path, [item])
    if not isinstance(found.value, list):
        raise WrongShape(f"{_spelled(path)} must be a list")
    return _inserted(text, found, "", item, _style(text, root))


def drop(text: str, path: Path, *, flavour: Flavour) -> str:
    """The text without the value at `path`."""
    while True:
        holder = at(read(text, flavour=flavour), path[:-1])
        index = None if holder is None else _index(holder, path[-1])
        if holder is None or index is None:
            return text
        text = _removed(text, holder, index)
        if isinstance(path[-1], int):
            return text


def _index(holder: Node, step: str | int) -> int | None:
    if isinstance(step, int):
        return step if isinstance(holder.value, list) and step < len(holder.children) else None
    places = [place for place, child in enumerate(holder.children) if child.key == step]
    return places[-1] if places and isinstance(holder.value, dict) else None


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _spelled(path: Path) -> str:
    return ".".join(map(str, path)) or "the file"


def _grown(text: str, root: Node, path: Path, wanted: Any) -> str:
    """The text with `wanted` at a path of which the end, or all, is not there yet."""
    depth = next(length for length in reversed(range(len(path))) if at(root, path[:length]))
    holder = at(root, path[:depth])
    if holder is None or not isinstance(holder.value, dict):
        raise WrongShape(f"{_spelled(path[:depth])} must be an object")
    for key in reversed(path[depth + 1 :]):
        wanted = {key: wanted}
    if holder.start == holder.end:
        return text + json.dumps({path[depth]: wanted}, indent=2, ensure_ascii=False) + "\n"
    label = json.dumps(path[depth], ensure_ascii=False) + ": "
    return _inserted(text, holder, label, wanted, _style(text, root))


@dataclass(frozen=True)
class _Style:
    """How the file is laid out, as far as can be seen."""

    newline: str
    unit: str
    on_lines: bool


def _style(text: str, root: Node) -> _Style:
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text[root.start : root.end]
    indented = re.search(r"\n([ \t]+)[^ \t\r\n]", body)
    return _Style(newline, indented[1] if indented else "  ", not root.children or "\n" in body)


def _rendered(value: Any, style: _Style, *, indent: str, on_lines: bool) -> str:
    if not on_lines:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=style.unit)
    return lines.replace("\n", style.newline + indent)


def _replaced(text: str, root: Node, node: Node, wanted: Any) -> str:
    on_lines = "\n" in text[node.start : node.end]
    indent = _indent(text, node.start)
    new = _rendered(wanted, _style(text, root), indent=indent, on_lines=on_lines)
    return text[: node.start] + new + text[node.end :]


def _inserted(text: str, holder: Node, label: str, wanted: Any, style: _Style) -> str:
    """The text with one more child at the end of `holder`."""
    if not holder.children:
        return _filled(text, holder, label, wanted, style)
    last, close = holder.children[-1].node.end, holder.end - 1
    solid = _solid(text, close)
    first_on_line = "\n" in text[holder.start : holder.children[0].start]
    on_lines = first_on_line or "\n" in text[solid:close]
    indent = _indent(text, holder.start) + style.unit
    if first_on_line:
        indent = _indent(text, holder.children[0].start)
    lead = style.newline + indent if on_lines else " "
    new = lead + label + _rendered(wanted, style, indent=indent, on_lines=on_lines)
    if _comma(text, last) is not None:
        return text[:solid] + new + "," + text[solid:]
    return text[:last] + "," + text[last:solid] + new + text[solid:]


def _filled(text: str, holder: Node, label: str, wanted: Any, style: _Style) -> str:
    """The text with the first child of an empty `holder`, after any comment in it."""
    close = holder.end - 1
    solid = _solid(text, close)
    base = _indent(text, holder.start)
    indent = base + style.unit
    new = label + _rendered(wanted, style, indent=indent, on_lines=style.on_lines)
    if style.on_lines:
        new = style.newline + indent + new + style.newline + base
    return text[:solid] + new + text[close:]


def _removed(text: str, holder: Node, index: int) -> str:
    """The text without one child of `holder`, with the comma and the blanks that go with it."""
    child = holder.children[index]
    start, end = _solid(text, child.start), child.node.end
    comma = _comma(text, end)
    after = end if comma is None else comma + 1
    if "\n" in text[start : child.start] and text[after:].split("\n")[0].strip(BLANK):
        # What follows on the line must not be drawn up behind a comment on the line above.
        start = child.start
        after += len(text[after:]) - len(text[after:].lstrip(" \t"))
    inside = text[holder.start + 1 : start] + text[after : holder.end - 1]
    if len(holder.children) == 1 and not inside.strip(BLANK):
        return text[: holder.start + 1] + text[holder.end - 1 :]
    before = _comma(text, holder.children[index - 1].node.end) if index else None
    if comma is None and before is not None:
        return text[:before] + text[before + 1 : start] + text[after:]
    return text[:start] + text[after:]


def _solid(text: str, end: int) -> int:
    """Where the blanks before `end` begin."""
    return len(text[:end].rstrip(BLANK))


def _indent(text: str, place: int) -> str:
    """The blanks at the start of the line on which `place` is."""
    line = text[text.rfind("\n", 0, place) + 1 : place].lstrip(MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _comma(text: str, place: int) -> int | None:
    """Where the comma after a child is; None when there is none."""
    while blank := SPACE.match(text, place) or COMMENT.match(text, place):
        place = blank.end()
    return place if text[place : place + 1] == "," else None


class _Reader:
    """Reads one text from front to back."""

    def __init__(self, text: str, flavour: Flavour) -> None:
        self.text = text
        self.flavour = flavour

    def document(self) -> Node:
        marked = self.text.startswith(MARK)
        if marked and not self.flavour.mark:
            raise Broken(1, "a byte order mark, which is not read here")
        node = self._value(self._skip(len(MARK) if marked else 0), depth=0)
        rest = self._skip(node.end)
        if rest < len(self.text):
            raise self._broken(rest, "more text after the end")
        if not isinstance(node.value, dict):
            raise self._broken(node.start, "the file must be an object")
        return node

    def _broken(self, place: int, problem: str) -> Broken:
        return Broken(self.text.count("\n", 0, place) + 1, problem)

    def _skip(self, place: int) -> int:
        """The next place that is neither blank nor comment."""
        while True:
            if blank := SPACE.match(self.text, place):
                place = blank.end()
            elif comment := COMMENT.match(self.text, place):
                if not self.flavour.comments:
                    raise self._broken(place, "a comment, which is not read here")
                place = comment.end()
            else:
                return place

    def _value(self, place: int, *, depth: int) -> Node:
        first = self.text[place : place + 1]
        if first in CLOSING:
            return self._holder(place, depth=depth + 1)
        return self._string(place) if first == '"' else self._atom(place)

    def _string(self, place: int) -> Node:
        try:
            value, end = json.JSONDecoder().raw_decode(self.text, place)
        except ValueError:
            raise self._broken(place, "a text that does not end, or not as JSON has it") from None
        return Node(place, end, value)

    def _atom(self, place: int) -> Node:
        found = ATOM.match(self.text, place)
        if not found:
            what = repr(self.text[place : place + 1]) if place < len(self.text) else "the end"
            raise self._broken(place, f"{what} where a value must be")
        try:
            return Node(place, found.end(), json.loads(found[0]))
        except ValueError:
            raise self._broken(place, "a number that is too long") from None

    def _holder(self, start: int, *, depth: int) -> Node:
        if depth > DEEPEST:
            raise self._broken(start, "it is nested too deep")
        is_object = self.text[start] == "{"
        close = CLOSING[self.text[start]]
        children: list[Child] = []
        place = self._skip(start + 1)
        while self.text[place : place + 1] != close:
            key, below = self._key(place) if is_object else ("", place)
            node = self._value(below, depth=depth)
            children.append(Child(key, place, node))
            place = self._next(node.end, close)
        held = [child.node.value for child in children]
        keys = [child.key for child in children]
        value = dict(zip(keys, held)) if is_object else held
        return Node(start, place + 1, value, tuple(children))

    def _key(self, place: int) -> tuple[str, int]:
        if self.text[place : place + 1] != '"':
            raise self._broken(place, "a key in double quotes must be here")
        key = self._string(place)
        colon = self._skip(key.end)
        if self.text[colon : colon + 1] != ":":
            raise self._broken(colon, f"':' must follow the key {key.value!r}")
        return key.value, self._skip(colon + 1)

    def _next(self, place: int, close: str) -> int:
        """Where the next child or the closing bracket is."""
        place = self._skip(place)
        mark = self.text[place : place + 1]
        if mark == close:
            return place
        if mark != ",":
            raise self._broken(place, f"',' or {close!r} must be here")
        after = self._skip(place + 1)
        if self.text[after : after + 1] == close and not self.flavour.commas:
            raise self._broken(place, "a comma after the last entry, which is not read here")
        return after
