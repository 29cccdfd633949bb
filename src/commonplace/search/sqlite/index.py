"""The index in one SQLite file: rows, an FTS5 table over them, vectors beside them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from commonplace.model.errors import CommonplaceError
from commonplace.model.files import Known, StrPath
from commonplace.model.records import Hit, Place, Record
from commonplace.search.filters import SUPERSEDED, as_json, clean, fits, sorted_by
from commonplace.search.index import Asked, Candidate, Entry, Followed, Query, Result, Tally
from commonplace.search.rows import (
    COUNT,
    SHOWN,
    TIMESTAMP,
    IndexRow,
    Piece,
    known_of,
    known_row,
    pieces,
    rarity,
    record_of,
    row_of,
    score,
    tally_of,
)
from commonplace.search.sqlite import records as sqlite_records
from commonplace.search.sqlite.candidates import (
    EVERY,
    WordCounts,
    by_words,
    candidates,
    having_stems,
    in_order,
    stems,
)
from commonplace.search.sqlite.connections import Connections, Row, reading
from commonplace.search.sqlite.row_cache import RowCache
from commonplace.search.sqlite.schema import CATCH_UP, IS_BEHIND, SCHEMA, TABLES, VERSION
from commonplace.search.typos import Slipped
from commonplace.search.vectors import table as vector_table
from commonplace.search.words import STOP, any_of, record_terms

BATCH = 64
"""How many added records may wait for the FTS table.

Every commit that touches it writes a segment of its own, which costs more than all the rest of a
small write together. Whoever searches next takes in what waits.
"""
LATELY = 512
"""How many records have their rows remembered."""
# The row without a name is the journal's: it is on a page that every write touches anyway.
GET_JOURNAL = "SELECT digest, base FROM documents WHERE name = ''"
SET_LEVEL = """INSERT INTO documents(name, base, digest) VALUES('', ?, '')
    ON CONFLICT(name) DO UPDATE SET base = excluded.base"""
SET_MARK = """INSERT INTO documents(name, base, digest, lines) VALUES('', 0, ?, random())
    ON CONFLICT(name) DO UPDATE SET digest = excluded.digest, lines = excluded.lines"""
GET_KNOWN = """SELECT name, size, mtime_ns, inode, digest, racy, atime_ns, lines, base,
    glimpse FROM documents
    WHERE name <> ''"""
SET_KNOWN = "INSERT OR REPLACE INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

KINDS = "SELECT kind, count(*) AS n FROM records WHERE lead GROUP BY kind ORDER BY n DESC, kind"
# What a hit is made of: the leading version of a record, its places, and those of the others, which
# are looked for only where there are any at all.
PLACES = "json_group_array(json_array(p.document, p.line))"
WHOLE = f"""{SHOWN}, (SELECT {PLACES} FROM places p WHERE p.key = r.key),
    CASE WHEN EXISTS(SELECT 1 FROM records WHERE NOT lead) THEN (
        SELECT {PLACES} FROM records v CROSS JOIN places p ON p.key = v.key
        WHERE v.id = r.id AND NOT v.lead) ELSE '[]' END"""
OUTSIDE = """SELECT DISTINCT r.id FROM places p JOIN records r ON r.key = p.key
    WHERE p.document <> ?"""
CHILDREN = """SELECT DISTINCT id FROM records
    WHERE supersedes = ? AND supersedes <> '' AND lead AND id <> supersedes ORDER BY id"""

REPLACED = f"""SELECT r.id FROM json_each(?) j CROSS JOIN records r ON r.id = j.value
    WHERE r.lead AND {SUPERSEDED}"""
AMONG_REPLACED = """r.key IN (
    SELECT o.key FROM records s CROSS JOIN records o ON o.id = s.supersedes
    WHERE s.supersedes <> '' AND s.lead AND s.id <> s.supersedes
    UNION SELECT key FROM records WHERE replaced_by <> '')"""
MARKED = f"""SELECT {SHOWN} FROM json_each(?) j CROSS JOIN records r ON r.replaced_by = j.value
    WHERE r.replaced_by <> '' AND r.lead AND r.id <> r.replaced_by ORDER BY r.id"""
SAYING = f"""SELECT {SHOWN} FROM records r
    WHERE r.said = ? AND r.said <> 0 AND r.lead AND NOT {SUPERSEDED} ORDER BY r.timestamp, r.id"""
TIMED = f"""SELECT {SHOWN} FROM records r
    WHERE r.lead AND (r.valid_from <> '' OR r.valid_to <> '') ORDER BY r.id"""
# The rows are looked up for those that are wanted alone.
IN_ORDER = f"""SELECT {WHOLE} FROM (SELECT r.key {{source}}
    ORDER BY {{order}} LIMIT ? OFFSET ?) f CROSS JOIN records r ON r.key = f.key"""
TALLIES = """SELECT r.kind, r.tags, r."group", r.username, r.origin, count(*) {source}
    GROUP BY 1, 2, 3, 4, 5"""
OF_KEYS = f"""SELECT {WHOLE}, r.key FROM json_each(?) j CROSS JOIN records r ON r.key = j.value
    WHERE r.lead"""
OF_IDS = f"""SELECT {SHOWN} FROM json_each(?) j CROSS JOIN records r ON r.id = j.value
    WHERE r.lead"""
DUMP_RECORDS = f"""SELECT r.digest, r.lead, r.words, {SHOWN}, p.document, p.line
    FROM records r LEFT JOIN places p ON p.key = r.key"""
DUMP_DOCUMENTS = "SELECT name, lines, size FROM documents WHERE name <> ''"


PLACED, OTHERWISE_PLACED = COUNT, COUNT + 1
_decoded = json.JSONDecoder().raw_decode


class SqliteIndex:
    """An index in one file; in memory when there is no path."""

    without_vectors = ""

    def __init__(self, path: StrPath | None, *, rank: Callable[[str], tuple[int, str]]) -> None:
        self._rank = lru_cache(maxsize=4096)(rank)
        self._lately: dict[int, IndexRow] = {}
        self._filling: sqlite_records.Filling | None = None
        self._connections = Connections(path, schema=SCHEMA, version=VERSION)
        self._counts = WordCounts()
        self._cache = RowCache()
        self._nearest = vector_table.Nearest()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._connections.transaction():
            yield

    def is_level_with(self, journal: Followed) -> bool:
        return self._stand() == journal.stand()

    def while_level(self, search: Callable[[], Result]) -> Result | None:
        return None

    def _stand(self) -> tuple[str, int]:
        rows = self._connections.rows(GET_JOURNAL)
        return rows[0] if rows else ("", 0)

    def level(self) -> int:
        return self._stand()[1]

    def set_level(self, position: int) -> None:
        self._connections.run(SET_LEVEL, position)

    def mark(self) -> str:
        return self._stand()[0]

    def set_mark(self, mark: str) -> None:
        self._connections.run(SET_MARK, mark)

    def known(self) -> dict[str, Known]:
        return {row[0]: known_of(row) for row in self._connections.rows(GET_KNOWN)}

    def known_of(self, document: str) -> Known | None:
        rows = self._connections.rows(GET_KNOWN + " AND name = ?", document)
        return known_of(rows[0]) if rows else None

    def note(self, document: str, *, known: Known) -> None:
        self._connections.run(SET_KNOWN, *known_row(document, known))

    def add(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        with self._connections.transaction() as db:
            wanted = {line: self._row(record) for record, line in entries}
            if wanted:
                piece = min(wanted), max(wanted), wanted
                self._replace(db, document, [piece], waiting=BATCH)
            db.execute(SET_KNOWN, known_row(document, known))

    def _row(self, record: Record) -> IndexRow:
        """The row of a record, which mostly goes to a second document right after the first."""
        row = self._lately.get(id(record))
        if row is None or row.record is not record:
            if len(self._lately) >= LATELY:
                self._lately.clear()
            self._lately[id(record)] = row = row_of(record)
        return row

    def put(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        with self._connections.transaction() as db:
            if self._filling and document not in self._filling.documents:
                self._filling.put(document, entries)
            else:
                self._replace(db, document, pieces(entries, None))
            db.execute(SET_KNOWN, known_row(document, known))

    def put_lines(self, document: str, entries: Sequence[Entry], *, first: int, last: int) -> None:
        with self._connections.transaction() as db:
            wanted = {line: row_of(record) for record, line in entries}
            self._replace(db, document, [(first, last, wanted)])

    def drop(self, document: str) -> None:
        with self._connections.transaction() as db:
            self._replace(db, document, pieces((), None))
            db.execute("DELETE FROM documents WHERE name = ?", (document,))

    def _replace(
        self, db: sqlite3.Connection, document: str, pieces: Iterable[Piece], *, waiting: int = 1
    ) -> None:
        self._fill_up()
        sqlite_records.replace(db, document, pieces, rank=self._rank, waiting=waiting)

    def get(self, record_id: str) -> Hit | None:
        rows = self._connections.rows(
            f"SELECT {WHOLE} FROM records r WHERE r.id = ? AND r.lead", clean(record_id)
        )
        return self._hit(rows[0], 0.0) if rows else None

    def get_all(self, record_ids: Iterable[str]) -> dict[str, Record]:
        ids = list(record_ids)
        rows = self._connections.rows(OF_IDS, clean(as_json(ids))) if ids else ()
        return {row[0]: record_of(row) for row in rows}

    def ids_with(self, part: str, *, limit: int) -> list[str]:
        question = "SELECT DISTINCT id FROM records WHERE instr(id, ?) AND lead ORDER BY id LIMIT ?"
        return [id_ for (id_,) in self._connections.rows(question, clean(part), limit)]

    def children(self, record_id: str) -> tuple[str, ...]:
        return tuple(id_ for (id_,) in self._connections.rows(CHILDREN, clean(record_id)))

    def replaced(self, record_ids: Iterable[str]) -> set[str]:
        wanted = clean(as_json([id_ for id_ in record_ids if id_]))
        return {id_ for (id_,) in self._connections.rows(REPLACED, wanted)}

    def marked(self, record_ids: Iterable[str]) -> list[Record]:
        wanted = clean(as_json([id_ for id_ in record_ids if id_]))
        return [record_of(row) for row in self._connections.rows(MARKED, wanted)]

    def saying(self, number: int) -> list[Record]:
        return [record_of(row) for row in self._connections.rows(SAYING, number)]

    def documents_of(self, record_id: str) -> tuple[Place, ...]:
        rows = self._connections.rows(sqlite_records.WHERE_PLACED, clean(record_id))
        return self._places([(document, line) for _, document, line in rows])

    def timed(self) -> list[Record]:
        return [record_of(row) for row in self._connections.rows(TIMED)]

    def standing_outside(self, document: str) -> set[str]:
        return {id_ for (id_,) in self._connections.rows(OUTSIDE, document)}

    def _hit(self, row: Row, score: float) -> Hit:
        """What a row that begins with the whole of a record is, with its score."""
        found = _decoded(row[PLACED])[0]
        if row[OTHERWISE_PLACED] != "[]":
            found += _decoded(row[OTHERWISE_PLACED])[0]
        return Hit(record_of(row), self._places(found), score)

    def _places(self, found: list[tuple[str, int]]) -> tuple[Place, ...]:
        """Documents and lines as places, the most trusted document first."""
        if len(found) > 1:
            found.sort(key=self._trusted)
        return tuple([Place(document, line) for document, line in found])

    def _trusted(self, place: tuple[str, int]) -> tuple[tuple[int, str], int]:
        return self._rank(place[0]), place[1]

    def count(self, query: Query) -> int:
        # Fewer are replaced than not: they are counted apart, instead of asked for one by one.
        source, arguments = _source(replace(query, include_superseded=True))
        counted = f"SELECT count(*) {source}"
        with self._ready(query) as db:
            found = int(db.execute(counted, arguments).fetchall()[0][0])
            if query.include_superseded:
                return found
            replaced = db.execute(f"{counted} AND {AMONG_REPLACED}", arguments).fetchall()
            return found - int(replaced[0][0])

    def tallies(self, query: Query) -> list[Tally]:
        source, arguments = _source(query)
        with self._ready(query) as db:
            rows = db.execute(TALLIES.format(source=source), arguments).fetchall()
        return [tally_of(row) for row in rows]

    def kinds(self) -> dict[str, int]:
        with self._connections.lent() as db:
            return dict(db.execute(KINDS).fetchall())

    def search(self, query: Query) -> list[Hit]:
        with self._ready(query) as db:
            return [self._hit(row, score) for row, score in _found(db, query)]

    @contextmanager
    def _ready(self, query: Query) -> Iterator[sqlite3.Connection]:
        """A connection that sees every word a query with text may ask for."""
        with self._connections.lent() as db:
            with reading(db):
                if not query.text or not db.execute(IS_BEHIND).fetchall():
                    yield db
                    return
            self._connections.run(CATCH_UP)
            with reading(db):
                yield db

    def erase(self, record_ids: Iterable[str]) -> None:
        with self._connections.transaction() as db:
            self._fill_up()
            sqlite_records.erase(db, record_ids)
            self._connections.scrub()
        self._lately.clear()
        self._cache.clear()

    def candidates(self, query: Query, asked: Asked | None = None) -> list[Candidate]:
        with self._ready(query) as db:
            found = candidates(
                db,
                query,
                asked,
                nearest=self._nearest,
                counts=self._counts,
                cache=self._cache,
            )
        self._mend()
        return found

    def hits(self, scored: Sequence[tuple[int, float]]) -> list[Hit]:
        found = self._connections.rows(OF_KEYS, as_json([key for key, _ in scored]))
        rows = {row[-1]: row for row in found}
        return [self._hit(rows[key], score) for key, score in scored if key in rows]

    def rarity(self, words: Sequence[str]) -> dict[str, float]:
        with self._connections.lent() as db:
            total = self._counts.total(db)
            return {
                word: rarity(word, having=self._having(db, word), total=total) for word in words
            }

    def _having(self, db: sqlite3.Connection, word: str) -> int:
        expression = any_of(record_terms(word)) if word not in STOP else ""
        return self._counts.having(db, expression) if expression else 0

    def stems(self, word: Slipped) -> list[str]:
        with self._ready(Query(word.word)) as db:
            return stems(db, word)

    def having_stems(self, stems: Sequence[str], query: Query) -> list[tuple[str, int]]:
        with self._ready(query) as db:
            return having_stems(db, stems, query)

    def unembedded(
        self, model: str, *, dim: int, limit: int, sensitive: bool = True
    ) -> tuple[list[tuple[int, str]], int]:
        with self._connections.lent() as db:
            rows, total, done = vector_table.unembedded(
                db, model, dim=dim, limit=limit, sensitive=sensitive
            )
        if done:
            with self._connections.transaction() as db:
                vector_table.reached(db, model, dim=dim, upto=done)
        return rows, total

    def window(self, model: str, *, size: int) -> list[tuple[int, str]]:
        with self._connections.transaction() as db:
            return vector_table.window(db, model, size=size)

    def embed(self, model: str, *, dim: int, rows: Iterable[tuple[int, bytes, float]]) -> None:
        with self._connections.transaction() as db:
            vector_table.embed(db, model, dim, rows)

    def keep_models(self, models: Iterable[str]) -> None:
        with self._connections.transaction() as db:
            vector_table.keep_only(db, models)

    def vectors(self) -> dict[str, int]:
        with self._connections.lent() as db:
            return vector_table.counted(db)

    def nearest(self, asked: Asked, query: Query) -> list[Hit]:
        with self._connections.lent() as db:
            fitting = vector_table.fitting_in(db, query)
            scored = self._nearest.find(db, asked, query, count=query.limit, fitting=fitting)
            scores = {key: score for score, key in scored}
            found = db.execute(OF_KEYS, (as_json(list(scores)),)).fetchall()
            rows = in_order(
                [(*row, -scores[key]) for *row, key in found], id_at=0, time_at=TIMESTAMP
            )
        self._mend()
        return [self._hit(row, min(max(-row[-1], 0.0), 1.0)) for row in rows[: query.limit]]

    def _mend(self) -> None:
        if self._nearest.damaged:
            with self._connections.transaction() as db:
                self._nearest.mend(db)

    def dump(self) -> list[tuple[Any, ...]]:
        records: dict[Row, list[tuple[str, int]]] = {}
        for *row, document, line in self._connections.rows(DUMP_RECORDS):
            records.setdefault(tuple(row), []).append((document, line))
        rows = [("record", *row, tuple(sorted(places))) for row, places in records.items()]
        return sorted(rows) + sorted(
            ("document", *row) for row in self._connections.rows(DUMP_DOCUMENTS)
        )

    def dump_vectors(self) -> list[tuple[Any, ...]]:
        with self._connections.lent() as db:
            return vector_table.dumped(db)

    @contextmanager
    def anew(self) -> Iterator[None]:
        with self._connections.transaction() as db:
            db.execute("INSERT INTO fts(fts) VALUES('delete-all')")
            for table in TABLES:
                db.execute(f"DELETE FROM {table}")
            self._filling = sqlite_records.Filling(db)
            try:
                yield
                self._fill_up()
            finally:
                self._filling = None

    def _fill_up(self) -> None:
        """Have what was told at once as all else is: before anything but a new document is told."""
        filling, self._filling = self._filling, None
        if filling:
            sqlite_records.settle(filling.db, filling.finish(), rank=self._rank)

    def healthy(self) -> str:
        try:
            with self._connections.transaction() as db:
                db.execute(CATCH_UP)
                return _illness(db)
        except CommonplaceError as error:
            return str(error)

    def size(self) -> int:
        return self._connections.size()

    def close(self) -> None:
        self._connections.close()


def _found(db: sqlite3.Connection, query: Query) -> list[tuple[Row, float]]:
    """Rows of whole records and their scores."""
    words = any_of(record_terms(query.text))
    if not words:
        source, arguments = _source(query)
        said = IN_ORDER.format(source=source, order=sorted_by(query.order))
        rows = db.execute(said, (*arguments, query.limit, query.offset)).fetchall()
        return [(row, 0.0) for row in rows]
    found = by_words(db, words, query, WHOLE, EVERY, limit=query.limit)
    rows = in_order(found, id_at=0, time_at=TIMESTAMP)
    return [(row, score(-row[-1])) for row in rows[: query.limit]]


def _source(query: Query) -> tuple[str, list[Any]]:
    """FROM and WHERE for a query, and what they are bound to."""
    condition, arguments = fits(query)
    text = query.text.strip()
    words = any_of(record_terms(text))
    if words:
        join = "FROM fts CROSS JOIN records r ON r.key = fts.rowid WHERE fts MATCH ?"
        return f"{join} AND {condition}", [words, *arguments]
    if text:
        # No word in it, but perhaps an emoji or a sign.
        return f"FROM records r WHERE instr(r.text, ?) AND {condition}", [clean(text), *arguments]
    return f"FROM records r WHERE {condition}", arguments


def _illness(db: sqlite3.Connection) -> str:
    said = [str(row[0]) for row in db.execute("PRAGMA quick_check").fetchall()]
    if said != ["ok"]:
        return "; ".join(said)
    try:
        db.execute("INSERT INTO fts(fts, rank) VALUES('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        return f"The words do not fit the records: {error}."
    return ""
