"""Candidates: what may answer a question, with all that a ranking needs to decide between them.

The best by words and the best by vectors, and what stands beside them: a short reply has few words
of its own. It knows the tables of the index; which candidate is better it does not know.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from itertools import islice

from commonplace.hints import Any
from commonplace.index import BEST, Asked, Candidate, Query
from commonplace.index.conditions import SUPERSEDED, as_json, fits
from commonplace.index.nearest import Nearest
from commonplace.index.words import match

LEADING = 40
"""So many of the best of each sort bring what stands beside them."""
LEVEL = 100
"""How many matches that are level with the last to look at, to take the newest of them."""

BY_WORDS = """SELECT r.key, r.id, r.timestamp, fts.rank
    FROM fts CROSS JOIN records r ON r.key = fts.rowid
    WHERE fts MATCH ? AND {fits} ORDER BY fts.rank"""
SEEN = f"""r.key, r.id, r.kind, r.text, r.timestamp, r.session, r.username, r.channel, r.origin,
    {SUPERSEDED}"""
# In a session the order of time; what is in none has the lines above and below it, in its daily
# log rather than in MEMORY.md.
IN_DOCUMENT = "(SELECT max(p.document) FROM places p WHERE p.key = r.key)"
BESIDE = """CASE WHEN r.session <> '' THEN (
        SELECT n.key FROM records n
        WHERE n.session = r.session AND n.session <> ''
            AND (n.timestamp, n.key) {than} (r.timestamp, r.key) AND n.lead
        ORDER BY n.timestamp {order}, n.key {order} LIMIT 1
    ) ELSE (
        SELECT n.key FROM places n
        WHERE n.document = r.within AND n.line {than} (
            SELECT min(p.line) FROM places p WHERE p.key = r.key AND p.document = r.within)
        ORDER BY n.line {order} LIMIT 1
    ) END"""
BEFORE = f"coalesce({BESIDE.format(than='<', order='DESC')}, 0)"
AFTER = f"coalesce({BESIDE.format(than='>', order='ASC')}, 0)"
WITHIN = f"CASE WHEN r.session <> '' THEN r.session ELSE {IN_DOCUMENT} END"
OF_KEYS = "FROM json_each(?) j CROSS JOIN records r ON r.key = j.value"
CHOSEN = f"SELECT {SEEN}, {WITHIN} {OF_KEYS}"
FITTING = f"{CHOSEN} WHERE {{fits}}"
BESIDE_THESE = f"""SELECT r.key, {BEFORE}, {AFTER}
    FROM (SELECT r.key, r.session, r.timestamp, {WITHIN} AS within {OF_KEYS}) r"""

UNFOUND = (0.0, -1)
UNKNOWN = -1

Row = tuple[Any, ...]


def candidates(
    db: sqlite3.Connection, nearest: Nearest, query: Query, asked: Asked | None
) -> list[Candidate]:
    """The best of each kind and their neighbours, in no order that means anything."""
    words = _by_words(db, query)
    alike = (
        {key: score for score, key in nearest.find(db, asked, query, count=BEST)} if asked else {}
    )
    rows = _of_keys(db, CHOSEN, {*words, *alike})
    order = _in_order_of(alike, rows)[:BEST]
    ranks = {key: rank for rank, key in enumerate(order)}
    chosen = [row for row in rows if row[0] in words or row[0] in ranks]
    before, after = _beside(db, {*order[:LEADING], *islice(words, LEADING)})
    condition, arguments = fits(query)
    near = ({*before.values(), *after.values()} - {0, UNKNOWN}).difference(words, ranks)
    chosen += _of_keys(db, FITTING.format(fits=condition), near, *arguments)
    made = tuple.__new__
    return [
        made(
            Candidate,
            (
                *row,
                before.get(row[0], UNKNOWN),
                after.get(row[0], UNKNOWN),
                *words.get(row[0], UNFOUND),
                alike.get(row[0], 0.0),
                ranks.get(row[0], -1),
            ),
        )
        for row in chosen
    ]


def _in_order_of(scores: dict[int, float], rows: Sequence[Row]) -> list[int]:
    """The keys of these rows that have a score, the highest first, then the newest."""
    scored = [(row[0], row[1], row[4], -scores[row[0]]) for row in rows if row[0] in scores]
    return [row[0] for row in in_order(scored, id_at=1, time_at=2)]


def _by_words(db: sqlite3.Connection, query: Query) -> dict[int, tuple[float, int]]:
    """BM25 and rank of the best, by key; the newest first where they are level."""
    words = match(query.text)
    if not words:
        return {}
    condition, arguments = fits(query)
    cursor = db.execute(BY_WORDS.format(fits=condition), (words, *arguments))
    rows = in_order(first_of(cursor, BEST), id_at=1, time_at=2)
    return {row[0]: (-row[-1], rank) for rank, row in enumerate(rows[:BEST])}


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
    rows.sort(key=lambda row: row[id_at])
    rows.sort(key=lambda row: row[time_at], reverse=True)
    rows.sort(key=lambda row: row[-1])
    return rows
