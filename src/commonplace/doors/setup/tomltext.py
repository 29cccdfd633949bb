"""TOML as text that people own: changes one table and leaves the rest byte for byte.

It does not know what the values mean. The standard library reads TOML and checks each result;
this module only finds where the statements of a text begin and end.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from commonplace.doors.setup.json_edit import BLANK, MARK, Broken, WrongShape

Table = tuple[str, ...]

QUOTED = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'', re.DOTALL
)
BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Statement:
    """A table's header (with an empty key) or one `key = value` below it.

    It is `solid` up to the blanks and the comment that end its line.
    """

    table: Table
    key: Table
    start: int
    solid: int
    end: int


def value(text: str) -> dict[str, Any]:
    """What the text says."""
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        problem = str(error).partition(" (at")[0]
        raise Broken(int(line[1]) if line else text.count("\n") + 1, problem) from None


def put(text: str, table: Table, wanted: Mapping[str, Any]) -> str:
    """The text with `wanted` laid over what the table says; at the end when it is new."""
    expected = _laid_over(value(text), table, wanted)
    below = [each for each in statements(text) if each.table == table]
    if below:
        for key, each in wanted.items():
            text = _set(text, table, key, each)
    else:
        text = _appended(text, table, wanted)
    return _checked(text, expected, table)


def drop(text: str, table: Table) -> str:
    """The text without the table and those below it."""
    expected = _without(value(text), table)
    while ours := [each for each in statements(text) if each.table[: len(table)] == table]:
        text = _cut(text, ours[0].start, _block_end(text, ours[0]))
    return _checked(text, expected, table)


def _block_end(text: str, header: Statement) -> int:
    """Where the last statement below a header ends."""
    end = header.end
    for each in statements(text):
        if each.start > header.start and not each.key:
            break
        end = max(end, each.end)
    return end


def _cut(text: str, start: int, end: int) -> str:
    """The text without a block and without the blank line that set it apart."""
    before, after = text[:start], text[end:].removeprefix("\n")
    if not before.strip(MARK + BLANK):
        return before + after.lstrip("\r\n")
    if not after.strip():
        return before.rstrip("\r\n") + _newline(text)
    return before + (after.lstrip("\r\n") if before.endswith(("\n\n", "\n\r\n")) else after)


def statements(text: str) -> Iterator[Statement]:
    """Every header and every `key = value` of a text that is known to be TOML."""
    table: Table = ()
    key: Table
    place = len(MARK) if text.startswith(MARK) else 0
    while place < len(text):
        if text[place] in BLANK:
            place += 1
        elif text[place] == "#":
            place = _line_end(text, place)
        else:
            solid, end = _ends(text, place)
            if text[place] == "[":
                table, key = _chain(tomllib.loads(text[place:solid])), ()
            else:
                key = _chain(tomllib.loads(text[place : _equals(text, place)] + "= 0"))
            yield Statement(table, key, place, solid, end)
            place = end


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _ends(text: str, place: int) -> tuple[int, int]:
    """Where a statement ends, without and with its comment: at a line's end outside brackets."""
    depth, solid = 0, place
    while place < len(text) and (depth or text[place] != "\n"):
        quoted = QUOTED.match(text, place)
        if text[place] == "#":
            place = _line_end(text, place)
            continue
        depth += (text[place] in "[{") - (text[place] in "]}")
        place = quoted.end() if quoted else place + 1
        if text[place - 1] not in BLANK:
            solid = place
    return solid, place


def _equals(text: str, place: int) -> int:
    while text[place] != "=":
        quoted = QUOTED.match(text, place)
        place = quoted.end() if quoted else place + 1
    return place


def _chain(data: Any) -> Table:
    """The keys down to where there is only one value, or none."""
    names: list[str] = []
    while data and isinstance(data, dict | list):
        if isinstance(data, list):
            data = data[0]
        else:
            [(name, data)] = data.items()
            names.append(name)
    return tuple(names)


def _set(text: str, table: Table, key: str, wanted: Any) -> str:
    """The text with one value of a table that is there."""
    there = list(statements(text))
    inside = (*table, key)
    if isinstance(wanted, Mapping) and any(each.table == inside for each in there):
        for name, each in wanted.items():
            text = _set(text, inside, name, each)
        return text
    found = [each for each in there if each.table == table and each.key == (key,)]
    if not found:
        return _added(text, table, key, wanted)
    old = tomllib.loads(text[found[0].start : found[0].solid])[key]
    if isinstance(old, dict) and isinstance(wanted, Mapping):
        wanted = {**old, **wanted}
    if old == wanted:
        return text
    return text[: found[0].start] + _statement(key, wanted) + text[found[0].solid :]


def _added(text: str, table: Table, key: str, wanted: Any) -> str:
    last = [each for each in statements(text) if each.table == table][-1]
    end = len(text[: last.end].rstrip("\r"))
    return text[:end] + _newline(text) + _statement(key, wanted) + text[end:]


def _appended(text: str, table: Table, wanted: Mapping[str, Any]) -> str:
    newline = _newline(text)
    lines = [f"[{'.'.join(map(_key, table))}]"]
    lines += [_statement(key, each) for key, each in wanted.items()]
    gap = "" if not text.strip(MARK + BLANK) else newline
    if gap and not text.endswith("\n"):
        gap += newline
    return text + gap + newline.join(lines) + newline


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _statement(key: str, wanted: Any) -> str:
    return f"{_key(key)} = {_rendered(wanted)}"


def _key(name: str) -> str:
    return name if BARE.fullmatch(name) else _rendered(name)


def _rendered(wanted: Any) -> str:
    if isinstance(wanted, Mapping):
        return "{ " + ", ".join(_statement(key, each) for key, each in wanted.items()) + " }"
    if isinstance(wanted, list):
        return "[" + ", ".join(map(_rendered, wanted)) + "]"
    # Numbers, truth values and texts are written as in JSON, but for the one character DEL.
    return json.dumps(wanted, ensure_ascii=False).replace("\x7f", "\\u007f")


def _laid_over(data: dict[str, Any], table: Table, wanted: Mapping[str, Any]) -> dict[str, Any]:
    if table:
        below = data.get(table[0], {})
        if not isinstance(below, dict):
            raise WrongShape(f"{table[0]} must be a table")
        return {**data, table[0]: _laid_over(below, table[1:], wanted)}
    return {
        **data,
        **{
            key: {**data.get(key, {}), **each} if isinstance(each, Mapping) else each
            for key, each in wanted.items()
        },
    }


def _without(data: dict[str, Any], table: Table) -> dict[str, Any]:
    below = data.get(table[0])
    if not isinstance(below, dict):
        return data
    rest = {key: each for key, each in data.items() if key != table[0]}
    smaller = _without(below, table[1:]) if len(table) > 1 else {}
    return {**rest, table[0]: smaller} if smaller else rest


def _checked(text: str, expected: dict[str, Any], table: Table) -> str:
    """The text, if it says what it should. It does not when the table is written inline."""
    try:
        said = value(text)
    except Broken:
        said = {}
    if _pruned(said) != _pruned(expected):
        name = ".".join(table)
        raise WrongShape(f"{name} is written inline; write it as a table of its own, [{name}]")
    return text


def _pruned(data: Any) -> Any:
    """The data without empty tables: whether one is named does not matter here."""
    if not isinstance(data, dict):
        return data
    below = {key: _pruned(each) for key, each in data.items()}
    return {key: each for key, each in below.items() if each != {}}
