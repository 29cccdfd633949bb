"""Rows of records as a ranking sees them: read once, and kept while nothing of them has changed.

It knows the table of records and the number that is another one after each change to rows that were
there before. Which rows are wanted it does not know.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Iterable, Mapping, Sequence

from commonplace.hints import Any
from commonplace.index import Query
from commonplace.index.conditions import SUPERSEDED, as_json, fits, narrow

KEPT = 16_384
"""How many rows are kept in memory."""
# The row without a name is the journal's, which every write touches anyway.
STATE = """SELECT lines, (SELECT coalesce(max(id), 0) FROM fts_docsize)
    FROM documents WHERE name = ''"""
CHANGED = """INSERT INTO documents(name, base, digest, lines) VALUES('', 0, '', random())
    ON CONFLICT(name) DO UPDATE SET lines = excluded.lines"""

SEEN = "r.key, r.id, r.kind, r.text, r.timestamp, r.session, r.username, r.channel, r.origin"
# In a session the order of time; what is in none has the lines above and below it, in its daily
# log rather than in MEMORY.md.
IN_DOCUMENT = "(SELECT max(p.document) FROM places p WHERE p.key = r.key)"
WITHIN = f"CASE WHEN r.session <> '' THEN r.session ELSE {IN_DOCUMENT} END"
OF_KEYS = "FROM json_each(?) j CROSS JOIN records r ON r.key = j.value"

Row = tuple[Any, ...]
Fitting = Callable[[Iterable[int]], Mapping[int, Row]]
"""The rows so far of those that fit a query, after a look for some keys more."""


def columns(query: Query) -> str:
    """What a ranking decides by, as columns; none is superseded where those do not fit."""
    return f"{SEEN}, {SUPERSEDED if query.include_superseded else 0}, {WITHIN}"


class Seen:
    """What was read of an index; every thread may ask."""

    def __init__(self) -> None:
        self._held: tuple[int | None, dict[tuple[bool, ...], dict[int, Row | None]]] = (None, {})
        """The number, and what was read under it, by what fits: replaced together."""

    def fitting(self, db: sqlite3.Connection, query: Query) -> Fitting:
        """What reads the rows of those keys that fit a query, for one transaction that reads."""
        condition, arguments = fits(query)
        statement = f"SELECT {columns(query)} {OF_KEYS} WHERE {condition}"
        known, upto = self._known(db, query)
        rows: dict[int, Row] = {}

        def fitting(keys: Iterable[int]) -> Mapping[int, Row]:
            fresh = set(keys).difference(rows)
            unknown = fresh.difference(known)
            found = [known[key] for key in fresh.difference(unknown)]
            if unknown:
                asked = as_json(sorted(unknown))
                read = {row[0]: row for row in db.execute(statement, (asked, *arguments))}
                # A key above all that were searched before may get another place unseen.
                known.update({key: read.get(key) for key in unknown if key <= upto})
                rows.update(read)
            rows.update({row[0]: row for row in found if row})
            return rows

        return fitting

    def _known(self, db: sqlite3.Connection, query: Query) -> tuple[dict[int, Row | None], int]:
        """What is known of rows for queries like this, to be added to, and of which keys."""
        found = db.execute(STATE).fetchall()
        state, upto = found[0] if found else (None, 0)
        if state is None or narrow(query)[0]:
            return {}, 0
        held = self._held
        if state != held[0]:
            held = self._held = (state, {})
        like = (query.include_superseded, query.include_secret, query.include_passages)
        if len(held[1].setdefault(like, {})) > KEPT:
            held[1][like] = {}
        return held[1][like], upto

    def let_go(self) -> None:
        """Keep nothing any more."""
        self._held = (None, {})


def first_fitting(
    scored: Sequence[tuple[float, int]],
    fitting: Callable[[Iterable[int]], Container[int]],
    count: int,
) -> list[tuple[float, int]]:
    """Of scores and keys, the best first, so many that fit and those level with the last of them.

    No further down is looked than it takes.
    """
    found: list[tuple[float, int]] = []
    step = count + 1 + count // 8
    for at in range(0, len(scored), step):
        some = scored[at : at + step]
        keys = fitting([key for _, key in some])
        found += [pair for pair in some if pair[1] in keys]
        if len(found) > count and found[-1][0] < found[count - 1][0]:
            break
    end = count
    while 0 < end < len(found) and found[end][0] == found[count - 1][0]:
        end += 1
    return found[:end]
