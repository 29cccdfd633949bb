"""Edit one table of a TOML text; the rest stays byte for byte.

tomlkit edits one statement at a time. Over a whole file it would move tables that stand apart, drop
the comment above the table after a deleted one, and end new lines in its own way.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from commonplace.doors.setup.json_edit import BLANK, MARK, Broken, WrongShape

Keys = tuple[str, ...]
LINE = re.compile(r"[^\n]*\n|[^\n]+")


class TomlStatement(NamedTuple):
    """The lines of a table's header (with an empty key) or of one `key = value` below it."""

    table: Keys
    key: str
    start: int
    end: int


def value(text: str) -> dict[str, Any]:
    """What the text says."""
    try:
        return tomllib.loads(text.removeprefix(MARK))
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        problem = str(error).partition(" (at")[0]
        raise Broken(int(line[1]) if line else text.count("\n") + 1, problem) from None


def put(text: str, table: Keys, wanted: Mapping[str, Any]) -> str:
    """The text with `wanted` laid over what the table says; at the end when it is new."""
    expected = below = value(text)
    for name in table:
        below = below.setdefault(name, {})
        if not isinstance(below, dict):
            raise WrongShape(f"{name} must be a table")
    below.update({key: _laid_over(below.get(key), each) for key, each in wanted.items()})
    if any(each.table == table for each in statements(text)):
        for key, each in wanted.items():
            text = _set(text, table, key, each)
    else:
        text = _appended(text, table, wanted)
    return _checked(text, expected, table)


def drop(text: str, table: Keys) -> str:
    """The text without the table and those below it, or without the value of that name."""
    expected = above = value(text)
    for name in table[:-1]:
        above = above.get(name, {})
    gone = above.pop(table[-1], None) if isinstance(above, dict) else None
    if gone is None:
        return text
    if not isinstance(gone, dict):
        return _checked(_without_value(text, table), expected, table[:-1])
    blocks = [list(block) for _, block in groupby(statements(text), lambda each: each.table)]
    for block in reversed(blocks):
        if block[0].table[: len(table)] == table:
            text = _cut(text, block[0].start, block[-1].end)
    return _checked(text, expected, table)


def _without_value(text: str, keys: Keys) -> str:
    """The text without one `key = value`, and without its table where that was all of it."""
    below = [each for each in statements(text) if each.table == keys[:-1]]
    found = next((each for each in below if each.key == keys[-1]), None)
    if found is None:
        return text
    if len(below) == 2 and not below[0].key:
        return _cut(text, below[0].start, found.end)
    return text[: found.start] + text[found.end :]


def _cut(text: str, start: int, end: int) -> str:
    """The text without a block and without the blank line that set it apart."""
    before, after = text[:start], text[end:]
    if not before.strip(MARK + BLANK):
        return before + after.lstrip("\r\n")
    if not after.strip():
        return re.sub(r"(?<=\n)[\r\n]+\Z", "", before)
    return before + (after.lstrip("\r\n") if before.endswith(("\n\n", "\n\r\n")) else after)


def statements(text: str) -> Iterator[TomlStatement]:
    """Every header and every `key = value` of a text that is known to be TOML.

    A statement ends with the first line up to which it can be read by itself.
    """
    table: Keys = ()
    start = len(MARK) if text.startswith(MARK) else 0
    for line in LINE.finditer(text, start):
        try:
            said = tomllib.loads(text[start : line.end()])
        except tomllib.TOMLDecodeError:
            continue
        if said:
            is_header = text[start : line.end()].lstrip().startswith("[")
            table = _header(said) if is_header else table
            yield TomlStatement(table, "" if is_header else next(iter(said)), start, line.end())
        start = line.end()


def _header(said: Any) -> Keys:
    """The keys down to the empty table that a header names."""
    names: list[str] = []
    while said:
        [(name, said)] = said.items()
        names.append(name)
        said = said[0] if isinstance(said, list) else said
    return tuple(names)


def _set(text: str, table: Keys, key: str, wanted: Any) -> str:
    """The text with one value of a table that is there."""
    import tomlkit

    there = list(statements(text))
    inside = (*table, key)
    if isinstance(wanted, Mapping) and any(each.table == inside for each in there):
        for name, each in wanted.items():
            text = _set(text, inside, name, each)
        return text
    below = [each for each in there if each.table == table]
    found = next((each for each in below if each.key == key), None)
    if found is None:
        end = below[-1].end
        before = text[:end] if text[:end].endswith("\n") else text[:end] + _newline(text)
        return before + _statement(key, wanted) + _newline(text) + text[end:]
    statement = tomlkit.parse(text[found.start : found.end])
    old = statement.unwrap()[key]
    wanted = _laid_over(old, wanted)
    if old == wanted:
        return text
    statement[key] = _inline(wanted)
    return text[: found.start] + statement.as_string() + text[found.end :]


def _appended(text: str, table: Keys, wanted: Mapping[str, Any]) -> str:
    import tomlkit

    newline = _newline(text)
    lines = [f"[{tomlkit.key(table).as_string()}]"]
    lines += [_statement(key, each) for key, each in wanted.items()]
    gap = "" if not text.strip(MARK + BLANK) else newline
    if gap and not text.endswith("\n"):
        gap += newline
    return text + gap + newline.join(lines) + newline


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _statement(key: str, wanted: Any) -> str:
    import tomlkit

    return tomlkit.dumps({key: _inline(wanted)}).removesuffix("\n")


def _inline(wanted: Any) -> Any:
    import tomlkit

    if not isinstance(wanted, Mapping):
        return wanted
    table = tomlkit.inline_table()
    table.update(wanted)
    return table


def _laid_over(old: Any, wanted: Any) -> Any:
    return {**old, **wanted} if isinstance(old, dict) and isinstance(wanted, Mapping) else wanted


def _checked(text: str, expected: dict[str, Any], table: Keys) -> str:
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
