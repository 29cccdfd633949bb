"""Records as a ranking sees them, and what stands beside them: read once, ahead where there is a
reason to, and kept while nothing of them has changed.

It knows the tables of records and places, and the number that is another one after each change to
what was there before. Which records are wanted it does not know.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from commonplace.model.lazy import Lazy
from commonplace.search.filters import SUPERSEDED, as_json, fits, narrow
from commonplace.search.index import Query
from commonplace.search.words import any_of

if TYPE_CHECKING:
    from commonplace.search.sqlite import postings
    from commonplace.search.sqlite.postings import Postings
else:
    postings = Lazy("search.sqlite.postings")

MOST = 16_384
"""How many of each are kept in memory, at least until the next look."""
RESTED = 4
"""Looks without a change after which rows are read ahead: most commands look once."""
STRETCH = 512
"""How many rows are then read ahead a look, which takes two milliseconds. One by one, as they are
found, each costs half as much again, and a hundred questions find new ones."""
# The row without a name is the journal's, which every write touches anyway.
STATE = """SELECT lines, (SELECT coalesce(max(id), 0) FROM fts_docsize)
    FROM documents WHERE name = ''"""
CHANGED = """INSERT INTO documents(name, base, digest, lines) VALUES('', 0, '', random())
    ON CONFLICT(name) DO UPDATE SET lines = excluded.lines"""

# Not by `rank`, for which FTS5 prepares a statement of its own each time.
SCORED = """SELECT rowid AS key, bm25(fts) AS score FROM fts
    WHERE fts MATCH ? ORDER BY score LIMIT ?"""

SEEN = "r.key, r.id, r.kind, r.text, r.timestamp, r.session, r.username, r.channel, r.origin"
# In a session the order of time; what is in none has the lines above and below it, in its daily
# log rather than in MEMORY.md.
IN_DOCUMENT = "(SELECT max(p.document) FROM places p WHERE p.key = r.key)"
WITHIN = f"CASE WHEN r.session <> '' THEN r.session ELSE {IN_DOCUMENT} END"
OF_KEYS = "FROM json_each(?) j CROSS JOIN records r ON r.key = j.value"
OF_STRETCH = "FROM records r WHERE r.key > ? AND r.key <= ? AND"

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
Beside = tuple[int, int, int]
"""A key, and those right before and right after it, or 0."""


def columns(query: Query) -> str:
    """What a ranking decides by, as columns; none is superseded where those do not fit."""
    return f"{SEEN}, {SUPERSEDED if query.include_superseded else 0}, {WITHIN}"


class Rows:
    """Rows by their keys, None for those that do not fit, and how often they were looked at."""

    def __init__(self) -> None:
        self.by_key: dict[int, Row | None] = {}
        self.looks = 0
        self.upto = 0
        """Every key as high as this one was read ahead."""


class Kept:
    """What was read while the number was this one."""

    def __init__(self, state: int | None) -> None:
        self.state = state
        self._beside: dict[int, Beside] = {}
        self._rows: dict[tuple[bool, ...], Rows] = {}

    def rows(self, query: Query) -> Rows:
        """Those for queries like this, to be added to; none for one that few records fit."""
        if narrow(query)[0]:
            return Rows()
        like = (query.include_superseded, query.include_secret, query.include_passages)
        rows = self._rows.get(like)
        if rows is None or len(rows.by_key) > MOST:
            rows = self._rows[like] = Rows()
        rows.looks += 1
        return rows

    @cached_property
    def postings(self) -> Postings:
        return postings.Postings()

    def beside(self) -> dict[int, Beside]:
        """What stands beside others, likewise."""
        if len(self._beside) > MOST:
            self._beside = {}
        return self._beside


class Seen:
    """What was read of an index; every thread may ask."""

    def __init__(self) -> None:
        self._kept = Kept(None)

    def look(self, db: sqlite3.Connection, query: Query) -> Look:
        """A look at the records for a query, in the transaction that reads them."""
        found = db.execute(STATE).fetchall()
        state, upto = found[0] if found else (None, 0)
        kept = self._kept
        if state is None or state != kept.state:
            kept = self._kept = Kept(state)
        look = Look(db, query, kept, upto=upto if state is not None else 0)
        look.read_ahead()
        return look

    def let_go(self) -> None:
        """Keep nothing any more."""
        self._kept = Kept(None)


class Look:
    """One look at the records, in one transaction. Keys above `upto` were never searched: what is
    read of them is not kept, because it may change without anybody saying so.
    """

    def __init__(self, db: sqlite3.Connection, query: Query, kept: Kept, *, upto: int) -> None:
        self._condition, self._arguments = fits(query)
        self._columns = columns(query)
        self._db, self._upto, self._kept = db, upto, kept
        self._known, self._beside = kept.rows(query), kept.beside()
        self.rows: dict[int, Row] = {}
        """Those that fit the query, of the keys that were looked for."""

    def fitting(self, keys: Iterable[int]) -> Mapping[int, Row]:
        """The rows so far, after a look for these keys, too."""
        fresh, known = set(keys).difference(self.rows), self._known.by_key
        unknown = fresh.difference(known)
        found = [known[key] for key in fresh.difference(unknown)]
        self.rows.update({row[0]: row for row in found if row})
        if unknown:
            read = self._read(f"{OF_KEYS} WHERE", as_json(sorted(unknown)))
            known.update({key: read.get(key) for key in unknown if key <= self._upto})
            self.rows.update(read)
        return self.rows

    def by_words(self, terms: Sequence[str], most: int) -> list[tuple[float, int]]:
        """BM25 and key of so many that match any of these terms best, whether they fit or not."""
        if self._is_kept():
            found = self._kept.postings.best(self._db, terms, upto=self._upto, most=most)
            if found is not None:
                return found
        rows = self._db.execute(SCORED, (any_of(terms), most)).fetchall()
        return [(-score, key) for key, score in rows]

    def _is_kept(self) -> bool:
        """Whether everything can be kept, and others come to look at it."""
        return self._known.looks > RESTED and self._upto <= MOST

    def read_ahead(self) -> None:
        """Keep some more rows, and how long their texts are."""
        if not self._is_kept():
            return
        self._kept.postings.read_ahead(self._db, self._upto)
        known = self._known
        end = min(known.upto + STRETCH, self._upto)
        if known.upto < end:
            known.by_key.update(dict.fromkeys(range(known.upto + 1, end + 1)))
            known.by_key.update(self._read(OF_STRETCH, known.upto, end))
            known.upto = end

    def _read(self, which: str, *arguments: object) -> dict[int, Row]:
        statement = f"SELECT {self._columns} {which} {self._condition}"
        rows = self._db.execute(statement, (*arguments, *self._arguments))
        return {row[0]: row for row in rows}

    def beside(self, keys: Iterable[int]) -> list[Beside]:
        """These keys with what stands right before and right after each."""
        wanted, known = set(keys), self._beside
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
