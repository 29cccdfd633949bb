"""Collect the candidates for a question: the best by words, the best by vectors, their neighbours.

Neighbours are candidates because a short reply has few words of its own. Also counts how many
records have a word.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING

from commonplace.model.clock import monotonic
from commonplace.search.filters import as_json, fits, narrow
from commonplace.search.index import BEST, FORMS, NEAREST, STEEP, Asked, Candidate, Query
from commonplace.search.sqlite.row_cache import Row, RowCache, Snapshot, first_fitting
from commonplace.search.words import any_of, cut_terms_of, record_terms

if TYPE_CHECKING:
    from commonplace.search.typos import Slipped
    from commonplace.search.vectors.table import Nearest

LEADING = 40
"""So many of the best, by both sorts together, bring what stands beside them."""
LEVEL = 100
"""How many matches that are level with the last to look at, to take the newest of them."""

# Not by `rank`, for which FTS5 prepares a statement of its own each time.
SCORED = """SELECT rowid AS key, bm25(fts) AS score FROM fts
    WHERE fts MATCH ? ORDER BY score LIMIT ?"""
# Sorted by itself, and for the rows that are wanted alone the records are looked up.
BY_WORDS = f"""SELECT {{columns}}, f.score
    FROM ({SCORED}) f CROSS JOIN records r ON r.key = f.key WHERE {{fits}}"""
HAVING_WORDS = """SELECT r.key
    FROM fts CROSS JOIN records r ON r.key = fts.rowid
    WHERE fts MATCH ? AND {fits} ORDER BY fts.rowid DESC LIMIT ?"""
EVERY = -1
"""No limit."""
SHARES = tuple(STEEP / (STEEP + rank) for rank in range(BEST))
"""What a rank counts for who leads."""
STEMS = """SELECT term FROM stems WHERE term >= ? AND term < ?
    UNION SELECT term FROM stems WHERE term IN (SELECT value FROM json_each(?))"""
HAVING_STEM = f"""SELECT r.text || ' ' || r.tags || ' ' || r.username,
        (SELECT doc FROM stems WHERE term = ?)
    FROM stem_places p CROSS JOIN records r ON r.key = p.doc WHERE p.term = ? AND {{fits}}
    LIMIT {FORMS}"""
LAST_LETTER = "\U0010ffff"
UNFOUND = (0.0, -1)
UNKNOWN = -1
HAVING = "SELECT count(*) FROM fts WHERE fts MATCH ?"
IN_ALL = "SELECT coalesce(max(id), 0) FROM fts_docsize"
MANY = 1000
"""Records from which on counts are cached: in a smaller index one record more or less matters."""
GROWN = 64
"""Counts are good until there is one record more for so many."""
SECONDS = 60.0
"""Or for so long: records that are removed change them, too."""
MOST_COUNTS = 8192
NOWHERE = -1


def candidates(
    db: sqlite3.Connection,
    query: Query,
    asked: Asked | None,
    *,
    nearest: Nearest,
    counts: WordCounts,
    cache: RowCache,
) -> list[Candidate]:
    """The best of each kind and their neighbours, in no order that means anything."""
    snapshot = cache.snapshot(db, query)
    words = _by_words(db, query, counts, snapshot)
    alike: dict[int, float] = {}
    if asked:
        found = nearest.find(db, asked, query, count=NEAREST, fitting=snapshot.fitting)
        alike = {key: score for score, key in found}
    order = _in_order_of(alike, snapshot.rows)[:NEAREST]
    ranks = {key: rank for rank, key in enumerate(order)}
    beside = snapshot.neighbours({*order[:LEADING], *islice(words, LEADING)})
    before, after = told_beside(beside)
    leading = _leading([words, ranks])
    near = {key for one, *both in beside if one in leading for key in both} - {0}
    rows = snapshot.fitting(near)
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


def _leading(sorts: Iterable[Iterable[int]]) -> set[int]:
    """Of keys in the order of several sorts, those that are furthest ahead in all together."""
    ahead: dict[int, float] = {}
    for keys in sorts:
        for share, key in zip(SHARES, keys):
            ahead[key] = ahead.get(key, 0.0) + share
    return set(sorted(ahead, key=ahead.__getitem__, reverse=True)[:LEADING])


def _in_order_of(scores: Mapping[int, float], rows: Mapping[int, Row]) -> list[int]:
    """The keys that have a score, the highest first, then the newest."""
    if len({*scores.values()}) == len(scores):
        return sorted(scores, key=scores.__getitem__, reverse=True)
    scored = [(key, rows[key][1], rows[key][4], -score) for key, score in scores.items()]
    return [row[0] for row in in_order(scored, id_at=1, time_at=2)]


def _by_words(
    db: sqlite3.Connection, query: Query, counts: WordCounts, snapshot: Snapshot
) -> dict[int, tuple[float, int]]:
    """BM25 and rank of the best, the best first; the newest first where they are level.

    Words that most records have are left out while there are others, and bring what is newest
    where the others bring too little.
    """
    asked = record_terms(query.text)
    if not asked:
        return {}
    common = counts.common(db, asked)
    scores = _best_by_words(db, query, [term for term in asked if term not in common], snapshot)
    keys = _in_order_of(scores, snapshot.fitting(scores))
    if common and len(keys) < BEST:
        condition, arguments = fits(query)
        having = HAVING_WORDS.format(fits=condition)
        more = db.execute(having, (any_of(common), *arguments, BEST)).fetchall()
        keys += [key for (key,) in more if key not in scores]
    best = keys[:BEST]
    snapshot.fitting(best)
    return {key: (scores.get(key, 0.0), rank) for rank, key in enumerate(best)}


def _best_by_words(
    db: sqlite3.Connection, query: Query, asked: Sequence[str], snapshot: Snapshot
) -> dict[int, float]:
    """The BM25 of the best that fit, and of those that are level with the last."""
    most = BEST + LEVEL
    if not narrow(query)[0]:
        rows = db.execute(SCORED, (any_of(asked), most)).fetchall()
        scored = [(-score, key) for key, score in rows]
        found = first_fitting(scored, snapshot.fitting, BEST)
        if len(found) >= BEST or len(scored) < most:
            return {key: score for score, key in found}
    # A filter that few records pass needs all of them.
    every = by_words(db, any_of(asked), query, "r.key", EVERY, limit=BEST)
    return {key: -score for key, score in every}


def by_words(
    db: sqlite3.Connection, words: str, query: Query, columns: str, most: int, *, limit: int
) -> list[Row]:
    """Of so many that match best the first `limit` that fit, and those that are level with the
    last: these columns and the BM25, below zero.
    """
    condition, arguments = fits(query)
    statement = BY_WORDS.format(columns=columns, fits=condition)
    return first_of(db.execute(statement, (words, most, *arguments)), limit)


def stems(db: sqlite3.Connection, word: Slipped) -> list[str]:
    """The stems that begin as a misspelt word does, or that it may be undone to."""
    undone = [term.words[0] for each in cut_terms_of(word.undone) for term in each]
    bounds = (word.beginning, word.beginning + LAST_LETTER)
    return [term for (term,) in db.execute(STEMS, (*bounds, as_json(undone)))]


def having_stems(
    db: sqlite3.Connection, found: Sequence[str], query: Query
) -> list[tuple[str, int]]:
    """Texts of records that have one of these stems and fit, and how many records have the stem."""
    condition, arguments = fits(query)
    statement = HAVING_STEM.format(fits=condition)
    every = (db.execute(statement, (stem, stem, *arguments)).fetchall() for stem in found)
    return [row for rows in every for row in rows]


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


class CountCache:
    """How many records have a word, cached until the index has changed noticeably.

    Every thread may ask.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._total = 0
        self._since = 0.0
        self._at = NOWHERE

    def good_for(self, total: int, *, at: int = NOWHERE) -> dict[str, int]:
        """The counts that are still good when there are so many records; to be added to.

        `at` is how far the index has come, where that is known. All are good until it moves.
        """
        now = monotonic()
        moved = at == NOWHERE or at != self._at
        grown = abs(total - self._total) * GROWN > self._total or total < MANY
        old = now - self._since > SECONDS or len(self._known) >= MOST_COUNTS
        if old or (moved and grown):
            self._known, self._total, self._since = {}, total, now
        self._at = at
        return self._known


class WordCounts:
    """How many records have each of the words that were asked for; every thread may ask."""

    def __init__(self) -> None:
        self._cache = CountCache()
        self._known: dict[str, int] = {}

    def total(self, db: sqlite3.Connection) -> int:
        """How many records there are, with gaps where some were taken out."""
        total = int(db.execute(IN_ALL).fetchall()[0][0])
        self._known = self._cache.good_for(total)
        return total

    def having(self, db: sqlite3.Connection, expression: str) -> int:
        """How many records match; `total` was asked for before."""
        known = self._known
        if expression not in known:
            known[expression] = int(db.execute(HAVING, (expression,)).fetchall()[0][0])
        return known[expression]

    def common(self, db: sqlite3.Connection, terms: Sequence[str]) -> list[str]:
        """The terms that more than half of many records have: for these FTS5 gives next to nothing.

        None when all of them are such.
        """
        total = self.total(db)
        if total < MANY or len(terms) < 2:
            return []
        # In small letters, as their rarity was asked for: they match the same.
        found = [term for term in terms if self.having(db, term.lower()) * 2 > total]
        return found if len(found) < len(terms) else []
