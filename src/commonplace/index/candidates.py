"""Candidates: what may answer a question, with all that a ranking needs to decide between them.

The best by words and the best by vectors, and what stands beside them: a short reply has few words
of its own. It knows the tables of the index; which candidate is better it does not know.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter

from commonplace.hints import TYPE_CHECKING, Any
from commonplace.index import BEST, Asked, Candidate, Query
from commonplace.index.conditions import SUPERSEDED, as_json, fits, narrow
from commonplace.index.counts import Counts, counted
from commonplace.index.words import any_of, terms

if TYPE_CHECKING:
    from commonplace.index.nearest import Nearest

LEADING = 40
"""So many of the best of each sort bring what stands beside them."""
LEVEL = 100
"""How many matches that are level with the last to look at, to take the newest of them."""

SEEN = "r.key, r.id, r.kind, r.text, r.timestamp, r.session, r.username, r.channel, r.origin"
# In a session the order of time; what is in none has the lines above and below it, in its daily
# log rather than in MEMORY.md.
IN_DOCUMENT = "(SELECT max(p.document) FROM places p WHERE p.key = r.key)"
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
WITHIN = f"CASE WHEN r.session <> '' THEN r.session ELSE {IN_DOCUMENT} END"
OF_KEYS = "FROM json_each(?) j CROSS JOIN records r ON r.key = j.value"
FITTING = f"SELECT {{columns}} {OF_KEYS} WHERE {{fits}}"
# Sorted by itself, and for the rows that are wanted alone the records are looked up.
# Not by `rank`, for which FTS5 prepares a statement of its own each time.
BY_WORDS = """SELECT {columns}, f.score
    FROM (SELECT rowid AS key, bm25(fts) AS score FROM fts
        WHERE fts MATCH ? ORDER BY score LIMIT ?) f
    CROSS JOIN records r ON r.key = f.key WHERE {fits}"""
HAVING_WORDS = """SELECT {columns}, 0.0
    FROM fts CROSS JOIN records r ON r.key = fts.rowid
    WHERE fts MATCH ? AND {fits} ORDER BY fts.rowid DESC LIMIT ?"""
BESIDE_THESE = f"""SELECT r.key, {BEFORE}, {AFTER}
    FROM (SELECT r.key, r.session, r.timestamp, {WITHIN} AS within {OF_KEYS}) r"""

EVERY = -1
"""No limit."""
UNFOUND = (0.0, -1)
UNKNOWN = -1

Row = tuple[Any, ...]


def candidates(
    db: sqlite3.Connection, query: Query, asked: Asked | None, *, nearest: Nearest, counts: Counts
) -> list[Candidate]:
    """The best of each kind and their neighbours, in no order that means anything."""
    condition, arguments = fits(query)
    statement = FITTING.format(columns=_seen(query), fits=condition)
    rows: dict[int, Row] = {}
    words: dict[int, tuple[float, int]] = {}
    for rank, row in enumerate(_by_words(db, query, counts)):
        rows[row[0]] = row[:-1]
        words[row[0]] = (-row[-1], rank)

    def fitting(keys: Iterable[int]) -> Container[int]:
        fresh = _of_keys(db, statement, set(keys).difference(rows), *arguments)
        rows.update({row[0]: row for row in fresh})
        return rows

    alike: dict[int, float] = {}
    if asked:
        found = nearest.find(db, asked, query, count=BEST, fitting=fitting)
        alike = {key: score for score, key in found}
    order = _in_order_of(alike, rows)[:BEST]
    ranks = {key: rank for rank, key in enumerate(order)}
    before, after = _beside(db, {*order[:LEADING], *islice(words, LEADING)})
    near = {*before.values(), *after.values()} - {0, UNKNOWN}
    fitting(near)
    made = tuple.__new__
    return [
        made(
            Candidate,
            (
                *rows[key],
                before.get(key, UNKNOWN),
                after.get(key, UNKNOWN),
                *words.get(key, UNFOUND),
                alike.get(key, 0.0),
                ranks.get(key, -1),
            ),
        )
        for key in {*words, *ranks, *near.intersection(rows)}
    ]


def _seen(query: Query) -> str:
    """What a ranking decides by, as columns; none is superseded where those do not fit."""
    return f"{SEEN}, {SUPERSEDED if query.include_superseded else 0}, {WITHIN}"


def _in_order_of(scores: dict[int, float], rows: Mapping[int, Row]) -> list[int]:
    """The keys that have a score, the highest first, then the newest."""
    scored = [(key, rows[key][1], rows[key][4], -score) for key, score in scores.items()]
    return [row[0] for row in in_order(scored, id_at=1, time_at=2)]


def _by_words(db: sqlite3.Connection, query: Query, counts: Counts) -> list[Row]:
    """Rows with their BM25 below zero, the best first; the newest first where they are level.

    Words that most records have are left out while there are others, and bring what is newest
    where the others bring too little.
    """
    asked = terms(query.text)
    if not asked:
        return []
    common = counts.common(db, asked)
    rows = _best_by_words(db, query, [term for term in asked if term not in common])
    if common and len(rows) < BEST:
        condition, arguments = fits(query)
        there = {row[0] for row in rows}
        having = HAVING_WORDS.format(columns=_seen(query), fits=condition)
        more = db.execute(having, (any_of(common), *arguments, BEST)).fetchall()
        rows += [row for row in more if row[0] not in there]
    return rows[:BEST]


def _best_by_words(db: sqlite3.Connection, query: Query, asked: Sequence[str]) -> list[Row]:
    # Of the first so many mostly enough fit; a filter that few records pass needs all of them.
    words, columns, most = any_of(asked), _seen(query), BEST + LEVEL
    rows = by_words(db, words, query, columns, EVERY if narrow(query)[0] else most, limit=BEST)
    if len(rows) < BEST and not narrow(query)[0] and counted(db, words) > most:
        rows = by_words(db, words, query, columns, EVERY, limit=BEST)
    return in_order(rows, id_at=1, time_at=4)


def by_words(
    db: sqlite3.Connection, words: str, query: Query, columns: str, most: int, *, limit: int
) -> list[Row]:
    """Of so many that match best the first `limit` that fit, and those that are level with the
    last: these columns and the BM25, below zero.
    """
    condition, arguments = fits(query)
    statement = BY_WORDS.format(columns=columns, fits=condition)
    return first_of(db.execute(statement, (words, most, *arguments)), limit)


def _of_keys(db: sqlite3.Connection, sql: str, keys: Iterable[int], *arguments: Any) -> list[Row]:
    return db.execute(sql, (as_json(sorted(keys)), *arguments)).fetchall()


def _beside(db: sqlite3.Connection, keys: Iterable[int]) -> tuple[dict[int, int], dict[int, int]]:
    return told_beside(_of_keys(db, BESIDE_THESE, keys))


def told_beside(rows: Sequence[Row]) -> tuple[dict[int, int], dict[int, int]]:
    """What stands right before and right after each of these, and of that in turn."""
    before = {after: key for key, _, after in rows if after}
    after = {before: key for key, before, _ in rows if before}
    before.update({key: one for key, one, _ in rows})
    after.update({key: one for key, _, one in rows})
    return before, after


def first_of(cursor: sqlite3.Cursor, limit: int) -> list[Row]:
    """The first rows, and those after them whose last column is level with the last of them."""
    rows = cursor.fetchmany(max(limit, 0))
    for _ in range(LEVEL if rows else 0):
        row = cursor.fetchone()
        if row is None or row[-1] != rows[limit - 1][-1]:
            break
        rows.append(row)
    cursor.close()
    return rows


def in_order(rows: list[Row], *, id_at: int, time_at: int) -> list[Row]:
    """Lowest score first; of those that are level the newest, then by id."""
    rows.sort(key=itemgetter(id_at))
    rows.sort(key=itemgetter(time_at), reverse=True)
    rows.sort(key=itemgetter(-1))
    return rows
