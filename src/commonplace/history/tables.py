"""What a question in SQL may ask for, and as much of the answer as is shown.

It knows the two views and how long an answer may be, not what is asked or how.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from commonplace.history.messages import Table

VIEWS = (
    "messages(id, session, agent, channel, role, content, time) and "
    "sessions(session, messages, first, last)"
)
VIEW_NAMES = ("messages", "sessions")
LAST_HOUR = "SELECT time, role, content FROM messages WHERE time > {since} ORDER BY time"
IN_SQLITE = LAST_HOUR.format(since="datetime('now', '-1 hour')")
IN_POSTGRES = LAST_HOUR.format(since="now() - interval '1 hour'")
"""The same question in the words of each."""


class Bounds(Struct, frozen=True):
    """How much one question may take."""

    seconds: float = 5.0
    cell: int = 20_000
    """Characters of one cell."""
    characters: int = 1_000_000
    """Characters of all cells."""


BOUNDS = Bounds()


def table(
    columns: tuple[str, ...], found: Iterable[Sequence[Any]], *, limit: int, bounds: Bounds
) -> Table:
    """The first rows, with cells that are not too long."""
    rows: list[tuple[Any, ...]] = []
    left, cut = bounds.characters, 0
    for row in found:
        if len(rows) == limit or left < 0:
            return Table(columns, tuple(rows), more=True, cut=cut)
        shown = tuple(_cell(value, bounds.cell) for value in row)
        cut += sum(value is not short for value, short in zip(row, shown) if isinstance(value, str))
        left -= sum(len(str(value)) for value in shown)
        rows.append(shown)
    return Table(columns, tuple(rows), cut=cut)


def _cell(value: Any, most: int) -> Any:
    if isinstance(value, bytes):
        value = f"x'{value[:most].hex()}'"
    if isinstance(value, str) and len(value) > most:
        return value[:most] + "…"
    return value
