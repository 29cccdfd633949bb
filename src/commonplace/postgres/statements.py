"""Statements as the server takes them: with numbers where their values go.

psycopg would look through a long statement each time that it is said. It does not know what is
asked.
"""

from __future__ import annotations

import re
from functools import lru_cache

PLACE = re.compile(r"%(?:\((\w+)\))?s")


@lru_cache(maxsize=512)
def numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """The statement with a number for each value, and the names of those that have one, in order.

    A name that comes twice has one number; values without a name are numbered as they come.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1] or str(len(names))
        return f"${names.setdefault(name, len(names) + 1)}"

    return PLACE.sub(number, statement), tuple(names)
