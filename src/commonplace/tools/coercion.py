"""Values that mean what a tool's schema asks for, though they are spelt otherwise.

Models send `"5"` and `5.0` for 5, and a text for a list of one. Here is what is taken for what;
what else is wrong with a value it does not know.
"""

from __future__ import annotations

import json
from typing import Any

DIGITS = 40
"""How long a number may be spelt: longer ones are no counts."""
SAID = {"true": True, "false": False}


def coerced(value: Any, kind: str) -> Any:
    """The value as this JSON type where it plainly means one; otherwise as it came."""
    if kind in ("integer", "number"):
        return _number(value, whole=kind == "integer")
    if kind == "boolean" and isinstance(value, str):
        return SAID.get(value.strip().lower(), value)
    if kind == "array" and isinstance(value, str):
        return _texts(value)
    return value


def _number(value: Any, *, whole: bool) -> Any:
    if isinstance(value, bool):
        return value
    number = _spelt(value) if isinstance(value, str) else value
    if whole and isinstance(number, float):
        return int(number) if number.is_integer() else value
    if not whole and isinstance(number, int):
        # A whole number beyond every float is as wrong as infinity.
        return float(number) if abs(number) < 1 << 1000 else float("inf")
    return number


def _spelt(text: str) -> Any:
    """The number that a text spells; the text itself when it spells none."""
    if len(text) > DIGITS or not text.isascii() or "_" in text:
        return text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _texts(value: str) -> list[Any]:
    """A text that is no list as a list of one; a list that came as its JSON as that list."""
    if value.lstrip().startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        if isinstance(found, list):
            return found
    return [value] if value.strip() else []
