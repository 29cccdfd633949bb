"""The rows that a ranking looks at and their neighbours, kept in memory until one of them changes.

A number in the index, its state, is another one after each change to a row that was there before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from typing import Any

from commonplace.search.filters import SUPERSEDED, as_json, fits, narrow
from commonplace.search.index import Query

MOST = 16_384
"""How many rows, and how many neighbours of rows, are kept in memory at most."""
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

# What was stored at once has one time: it is looked for apart, because SQLite finds a place among
# equal times by the key alone, and would step over all of them otherwise.
BESIDE = """CASE WHEN r.session <> '' THEN coalesce((
        SELECT n.key FROM records n
        WHERE n.session = r.session AND n.session <> '' AND n.lead
            AND n.timestamp = r.timestamp AND n.key {than} r.key
        ORDER BY n.key {order} LIMIT 1
    ), (
        SELECT n.key FROM records n
        WHERE n.session = r.session AND n.session <> '' AND n.lead
            AND n.timestamp {than} r.timestamp
        ORDER BY n.timestamp {order}, n.key {order} LIMIT 1
    )) ELSE (
        SELECT n.key FROM places n
        WHERE n.document = r.within AND n.line {than} (
            SELECT min(p.line) FROM places p WHERE p.key = r.key AND p.document = r.within)
        ORDER BY n.line {order} LIMIT 1
    ) END"""
BEFORE = f"coalesce({BESIDE.format(than='<', order='DESC')}, 0)"
AFTER = f"coalesce({BESIDE.format(than='>', order='ASC')}, 0)"
BESIDE_THESE = f"""SELECT r.key, {BEFORE}, {AFTER}
    FROM (SELECT r.key, r.session, r.timestamp, {WITHIN} AS within {OF_KEYS}) r"""

Row = tuple[Any, ...]
Neighbours = tuple[int, int, int]
"""A key, and those right before and right after it, or 0."""


def columns(query: Query) -> str:
    """What a ranking decides by, as columns; none is superseded where those do not fit."""
    replaced = query.include_superseded and not query.stood_at
    return f"{SEEN}, {SUPERSEDED if replaced else 0}, {WITHIN}"


class _Kept:
    """What was read while the state of the index was this one."""

    def __init__(self, state: int | None) -> None:
        self.state = state
        self._rows: dict[tuple[Hashable, ...], dict[int, Row | None]] = {}
        self._neighbours: dict[int, Neighbours] = {}

    def rows(self, query: Query) -> dict[int, Row | None]:
        """Rows by key for queries like this, None for those that do not fit; to be added to.

        Nothing is kept for a query that few records fit.
        """
        if narrow(query)[0]:
            return {}
        wanted = (query.include_superseded, query.include_secret, query.include_passages)
        like = (*wanted, query.without_ids)
        rows = self._rows.get(like)
        if rows is None or len(rows) > MOST:
            rows = self._rows[like] = {}
        return rows

    def neighbours(self) -> dict[int, Neighbours]:
        """The neighbours of rows by key; to be added to."""
        if len(self._neighbours) > MOST:
            self._neighbours = {}
        return self._neighbours


class RowCache:
    """The rows of an index that were read; every thread may ask."""

    def __init__(self) -> None:
        self._kept = _Kept(None)

    def snapshot(self, db: sqlite3.Connection, query: Query) -> Snapshot:
        """The rows that fit a query, in the transaction that reads them."""
        found = db.execute(STATE).fetchall()
        state, upto = found[0] if found else (None, 0)
        kept = self._kept
        if state is None or state != kept.state:
            kept = self._kept = _Kept(state)
        return Snapshot(db, query, kept, upto=upto if state is not None else 0)

    def clear(self) -> None:
        self._kept = _Kept(None)


class Snapshot:
    """The rows that fit a query, read in one transaction.

    Keys above `upto` were never searched. Their rows are not kept, because they may change without
    a change of the state.
    """

    def __init__(self, db: sqlite3.Connection, query: Query, kept: _Kept, *, upto: int) -> None:
        self._condition, self._arguments = fits(query)
        self._columns = columns(query)
        self._db, self._upto = db, upto
        self._known, self._neighbours = kept.rows(query), kept.neighbours()
        self.rows: dict[int, Row] = {}
        """The rows that fit, of the keys that were asked for."""

    def fitting(self, keys: Iterable[int]) -> Mapping[int, Row]:
        """The rows so far, and those of these keys."""
        fresh, known = set(keys).difference(self.rows), self._known
        unknown = fresh.difference(known)
        found = [known[key] for key in fresh.difference(unknown)]
        self.rows.update({row[0]: row for row in found if row})
        if unknown:
            read = self._read(sorted(unknown))
            known.update({key: read.get(key) for key in unknown if key <= self._upto})
            self.rows.update(read)
        return self.rows

    def _read(self, keys: Sequence[int]) -> dict[int, Row]:
        statement = f"SELECT {self._columns} {OF_KEYS} WHERE {self._condition}"
        rows = self._db.execute(statement, (as_json(keys), *self._arguments))
        return {row[0]: row for row in rows}

    def neighbours(self, keys: Iterable[int]) -> list[Neighbours]:
        """These keys, each with the keys right before and right after it."""
        wanted, known = set(keys), self._neighbours
        unknown = wanted.difference(known)
        found = [known[key] for key in wanted.difference(unknown)]
        if unknown:
            read = self._db.execute(BESIDE_THESE, (as_json(sorted(unknown)),)).fetchall()
            # Where there is nothing yet, something may be added.
            kept = [row for row in read if row[1] and row[2] and row[0] <= self._upto]
            known.update({row[0]: row for row in kept})
            found += read
        return found


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
