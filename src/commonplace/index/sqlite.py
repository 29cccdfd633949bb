"""The index in one SQLite file: rows, an FTS5 table over them, vectors beside them.

It does not know what a document is but a name, nor what the journal is but a number.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from zlib import crc32

from commonplace.errors import CommonplaceError
from commonplace.hints import TYPE_CHECKING, Any, StrPath
from commonplace.index import Asked, Candidate, Entry, Followed, Known, Query, Result
from commonplace.index.candidates import EVERY, by_words, candidates, in_order
from commonplace.index.conditions import IS_BEHAVIORAL, as_json, clean, fits
from commonplace.index.connections import Connections, Row, reading
from commonplace.index.counts import Counts
from commonplace.index.seen import CHANGED, Seen
from commonplace.index.tellings import (
    COLUMNS,
    COUNT,
    FIELDS,
    SHOWN,
    TIMESTAMP,
    Identity,
    Piece,
    Told,
    differing,
    known_of,
    known_row,
    pieces,
    rarity,
    record_of,
    score,
    telling,
)
from commonplace.index.words import STOP, TOKENIZER, match
from commonplace.lazily import Lazy
from commonplace.records import Hit, Place, Record
from commonplace.values import replace

if TYPE_CHECKING:
    from commonplace.index import nearest
    from commonplace.index.nearest import Nearest
else:
    nearest = Lazy("index.nearest")

EDITION = 3
"""To be raised when the same tables are filled otherwise. A file of other tables or of another
edition is dropped.
"""
BATCH = 64
"""How many added records may wait for the FTS table.

Every commit that touches it writes a segment of its own, which costs more than all the rest of a
small write together. Whoever searches next takes in what waits.
"""
LATELY = 512
"""How many records are remembered as they were told."""
SCHEMA = (
    """CREATE TABLE documents(
        name TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, inode TEXT, digest TEXT,
        racy INTEGER, atime_ns INTEGER, lines INTEGER, base INTEGER,
        glimpse TEXT
    ) WITHOUT ROWID""",
    f"CREATE TABLE records(key INTEGER PRIMARY KEY, digest, lead, words, {COLUMNS})",
    "CREATE UNIQUE INDEX records_by_id ON records(id, digest)",
    # With what is counted and chosen by, so that nobody reads the rows for that.
    "CREATE INDEX records_by_time ON records(timestamp, kind, sensitivity) WHERE lead",
    # Few, and asked for whenever a session starts.
    f"CREATE INDEX records_on_behavior ON records(timestamp) WHERE lead AND {IS_BEHAVIORAL}",
    "CREATE INDEX records_by_session ON records(session, timestamp) WHERE session <> '' AND lead",
    "CREATE INDEX records_by_superseded ON records(supersedes) WHERE supersedes <> ''",
    "CREATE INDEX records_told_otherwise ON records(id) WHERE NOT lead",
    """CREATE TABLE places(document TEXT, line INTEGER, key INTEGER, PRIMARY KEY(document, line))
        WITHOUT ROWID""",
    "CREATE INDEX places_by_key ON places(key)",
    """CREATE TABLE models(
        number INTEGER PRIMARY KEY, name TEXT, dim INTEGER, upto INTEGER, state INTEGER,
        UNIQUE(name, dim))""",
    # Numbered by model and key: rows that come in the order of their number fill their pages.
    "CREATE TABLE vectors(number INTEGER PRIMARY KEY, norm REAL, vector BLOB)",
    """CREATE TABLE codes(
        model INTEGER, page INTEGER, state INTEGER, sum INTEGER, slots BLOB, codes BLOB,
        PRIMARY KEY(model, page))""",
    f"""CREATE VIRTUAL TABLE fts USING fts5(
        text, words, content='records', content_rowid='key',
        tokenize="{TOKENIZER}"
    )""",
)
VERSION = crc32(f"{EDITION} {SCHEMA}".encode()) & 0x7FFFFFFF
INDEXES = {
    made.partition(" ON ")[0].rpartition(" ")[2]: made for made in SCHEMA if " INDEX " in made
}
TABLES = ("documents", "records", "places", "models", "vectors", "codes")
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

STANDING = """SELECT p.line, p.key, r.id, r.digest FROM places p JOIN records r ON r.key = p.key
    WHERE p.document = ? AND p.line BETWEEN ? AND ?"""
SET_PLACE = "INSERT OR REPLACE INTO places VALUES(?, ?, ?)"
SET_PLACES = "INSERT INTO places SELECT ?, CAST(key AS INTEGER), value FROM json_each(?)"
CLEAR_PLACE = "DELETE FROM places WHERE document = ? AND line = ?"
IS_PLACED = "SELECT 1 FROM places WHERE key = ? LIMIT 1"

KINDS = "SELECT kind, count(*) AS n FROM records WHERE lead GROUP BY kind ORDER BY n DESC, kind"
VARIANTS = "SELECT key, digest FROM records WHERE id = ?"
VARIANTS_OF_ALL = """SELECT id, digest, key FROM records
    WHERE id IN (SELECT value FROM json_each(?))"""
NEXT_KEY = "SELECT coalesce(max(key), 0) + 1 FROM records"
INSERT = f"""INSERT INTO records(key, digest, lead, words, {COLUMNS})
    VALUES(?, ?, ?, ?{", ?" * len(FIELDS)})"""

# FTS5's own table of sizes has a row for each row that it holds, and new keys are the highest.
WAITING = "FROM records WHERE key > (SELECT coalesce(max(id), 0) FROM fts_docsize)"
IS_BEHIND = f"SELECT 1 {WAITING} LIMIT 1"
WAS_SEARCHED = "SELECT 1 WHERE ? <= (SELECT coalesce(max(id), 0) FROM fts_docsize)"
IS_EARLIER = "SELECT 1 WHERE ? < (SELECT max(timestamp) FROM records WHERE lead)"
IS_BEFORE_THE_LAST = "SELECT 1 FROM places WHERE document = ? AND line > ? LIMIT 1"
ARE_WAITING = f"SELECT 1 {WAITING} LIMIT ?"
CATCH_UP = f"INSERT INTO fts(rowid, text, words) SELECT key, text, words {WAITING}"
GATHER = "INSERT INTO fts(fts, rank) VALUES('hashsize', ?)"
GATHERED, GATHERED_AT_ONCE = 1 << 20, 8 << 20
"""Bytes of words that FTS5 gathers before it writes a segment: by itself, and in a rebuild."""
UNWORD = """INSERT INTO fts(fts, rowid, text, words)
    SELECT 'delete', key, text, words FROM records WHERE key = ?"""

OTHERWISE = "SELECT DISTINCT id FROM records WHERE NOT lead"
WHERE_TOLD = """SELECT r.key, p.document, p.line FROM records r JOIN places p ON p.key = r.key
    WHERE r.id = ?"""
SET_LEAD = "UPDATE records SET lead = (key = ?) WHERE id = ?"

# What a hit is made of: the leading telling of a record, its places, and those of the others.
PLACES = "json_group_array(json_array(p.document, p.line))"
WHOLE = f"""{SHOWN}, (SELECT {PLACES} FROM places p WHERE p.key = r.key),
    (SELECT {PLACES} FROM records v CROSS JOIN places p ON p.key = v.key
        WHERE v.id = r.id AND NOT v.lead)"""
OUTSIDE = """SELECT DISTINCT r.id FROM places p JOIN records r ON r.key = p.key
    WHERE p.document <> ?"""
CHILDREN = """SELECT DISTINCT id FROM records
    WHERE supersedes = ? AND supersedes <> '' AND lead AND id <> supersedes ORDER BY id"""

REPLACED = """SELECT DISTINCT supersedes FROM records
    WHERE supersedes IN (SELECT value FROM json_each(?)) AND supersedes <> ''
    AND lead AND id <> supersedes"""
AMONG_REPLACED = """r.id IN (SELECT s.supersedes FROM records s
    WHERE s.supersedes <> '' AND s.lead AND s.id <> s.supersedes)"""
# The rows are looked up for those that are wanted alone.
NEWEST = f"""SELECT {WHOLE} FROM (SELECT r.key {{source}}
    ORDER BY r.timestamp DESC, r.id DESC LIMIT ?) f CROSS JOIN records r ON r.key = f.key"""
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
        self._told_lately: dict[int, Told] = {}
        self._filling: Filling | None = None
        self._connections = Connections(path, schema=SCHEMA, version=VERSION)
        self._counts = Counts()
        self._seen = Seen()

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
            wanted = {line: self._tell(record) for record, line in entries}
            if wanted:
                piece = min(wanted), max(wanted), wanted
                self._replace(db, document, [piece], waiting=BATCH)
            db.execute(SET_KNOWN, known_row(document, known))

    def _tell(self, record: Record) -> Told:
        """As it is told; a record mostly goes to a second document right after the first."""
        told = self._told_lately.get(id(record))
        if told is None or told.record is not record:
            if len(self._told_lately) >= LATELY:
                self._told_lately.clear()
            self._told_lately[id(record)] = told = telling(record)
        return told

    def put(self, document: str, entries: Sequence[Entry], *, known: Known) -> None:
        with self._connections.transaction() as db:
            if self._filling and document not in self._filling.documents:
                self._filling.put(document, entries)
            else:
                self._replace(db, document, pieces(entries, None))
            db.execute(SET_KNOWN, known_row(document, known))

    def put_lines(self, document: str, entries: Sequence[Entry], *, first: int, last: int) -> None:
        with self._connections.transaction() as db:
            wanted = {line: telling(record) for record, line in entries}
            self._replace(db, document, [(first, last, wanted)])

    def drop(self, document: str) -> None:
        with self._connections.transaction() as db:
            self._replace(db, document, pieces((), None))
            db.execute("DELETE FROM documents WHERE name = ?", (document,))

    def _replace(
        self, db: sqlite3.Connection, document: str, pieces: Iterable[Piece], *, waiting: int = 1
    ) -> None:
        """Make these pieces of a document hold just this.

        Fewer records than `waiting` wait for the FTS table.
        """
        self._fill_up()
        left: set[int] = set()
        touched: set[str] = set()
        for first, last, wanted in pieces:
            keys, ids = _replace_piece(db, document, wanted, first=first, last=last)
            left |= keys
            touched |= ids
        _remove_unplaced(db, left)
        if waiting == 1 or len(db.execute(ARE_WAITING, (waiting,)).fetchall()) == waiting:
            db.execute(CATCH_UP)
        self._settle(db, touched.intersection(id_ for (id_,) in db.execute(OTHERWISE).fetchall()))

    def _settle(self, db: sqlite3.Connection, ids: Iterable[str]) -> None:
        """Decide which telling of a record leads: of two in one document, the later."""
        for id_ in ids:
            told = db.execute(WHERE_TOLD, (id_,)).fetchall()
            lead, *_ = min(told, key=lambda row: (self._rank(row[1]), -row[2]))
            db.execute(SET_LEAD, (lead, id_))

    def get(self, record_id: str) -> Hit | None:
        rows = self._connections.rows(
            f"SELECT {WHOLE} FROM records r WHERE r.id = ? AND r.lead", clean(record_id)
        )
        return self._hit(rows[0], 0.0) if rows else None

    def get_all(self, record_ids: Iterable[str]) -> dict[str, Record]:
        ids = list(record_ids)
        rows = self._connections.rows(OF_IDS, clean(as_json(ids))) if ids else ()
        return {row[0]: record_of(row) for row in rows}

    def children(self, record_id: str) -> tuple[str, ...]:
        return tuple(id_ for (id_,) in self._connections.rows(CHILDREN, clean(record_id)))

    def replaced(self, record_ids: Iterable[str]) -> set[str]:
        wanted = clean(as_json([id_ for id_ in record_ids if id_]))
        return {id_ for (id_,) in self._connections.rows(REPLACED, wanted)}

    def documents_of(self, record_id: str) -> tuple[Place, ...]:
        rows = self._connections.rows(WHERE_TOLD, clean(record_id))
        return self._places([(document, line) for _, document, line in rows])

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
            db.execute(CATCH_UP)
            for id_ in record_ids:
                _remove(db, [key for key, _ in db.execute(VARIANTS, (clean(id_),)).fetchall()])
            # Also when no row was left: what an earlier put took out is still in FTS5's segments.
            db.execute("INSERT INTO fts(fts) VALUES('optimize')")
            self._connections.scrub()
        self._told_lately.clear()
        self._seen.let_go()

    def candidates(self, query: Query, asked: Asked | None = None) -> list[Candidate]:
        with self._ready(query) as db:
            found = candidates(
                db,
                query,
                asked,
                nearest=self._nearest,
                counts=self._counts,
                seen=self._seen,
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
        expression = match(word) if word not in STOP else ""
        return self._counts.having(db, expression) if expression else 0

    def unembedded(
        self, model: str, *, dim: int, limit: int, sensitive: bool = True
    ) -> tuple[list[tuple[int, str]], int]:
        with self._connections.lent() as db:
            rows, total, done = nearest.unembedded(
                db, model, dim=dim, limit=limit, sensitive=sensitive
            )
        if done:
            with self._connections.transaction() as db:
                nearest.reached(db, model, dim=dim, upto=done)
        return rows, total

    def window(self, model: str, *, size: int) -> list[tuple[int, str]]:
        with self._connections.transaction() as db:
            return nearest.window(db, model, size=size)

    def embed(self, model: str, *, dim: int, rows: Iterable[tuple[int, bytes, float]]) -> None:
        with self._connections.transaction() as db:
            nearest.embed(db, model, dim, rows)

    def keep_models(self, models: Iterable[str]) -> None:
        with self._connections.transaction() as db:
            nearest.keep_only(db, models)

    def vectors(self) -> dict[str, int]:
        with self._connections.lent() as db:
            return nearest.counted(db)

    def nearest(self, asked: Asked, query: Query) -> list[Hit]:
        with self._connections.lent() as db:
            fitting = nearest.fitting_in(db, query)
            scored = self._nearest.find(db, asked, query, count=query.limit, fitting=fitting)
            scores = {key: score for score, key in scored}
            found = db.execute(OF_KEYS, (as_json(list(scores)),)).fetchall()
            rows = in_order(
                [(*row, -scores[key]) for *row, key in found], id_at=0, time_at=TIMESTAMP
            )
        self._mend()
        return [self._hit(row, min(max(-row[-1], 0.0), 1.0)) for row in rows[: query.limit]]

    @cached_property
    def _nearest(self) -> Nearest:
        return nearest.Nearest()

    def _mend(self) -> None:
        if self._nearest.damaged:
            with self._connections.transaction() as db:
                self._nearest.mend(db)

    def dump(self) -> list[tuple[Any, ...]]:
        records: dict[Row, list[tuple[str, int]]] = {}
        for *row, document, line in self._connections.rows(DUMP_RECORDS):
            records.setdefault(tuple(row), []).append((document, line))
        told = [("record", *row, tuple(sorted(places))) for row, places in records.items()]
        return sorted(told) + sorted(
            ("document", *row) for row in self._connections.rows(DUMP_DOCUMENTS)
        )

    def dump_vectors(self) -> list[tuple[Any, ...]]:
        with self._connections.lent() as db:
            return nearest.dumped(db)

    @contextmanager
    def anew(self) -> Iterator[None]:
        with self._connections.transaction() as db:
            db.execute("INSERT INTO fts(fts) VALUES('delete-all')")
            for table in TABLES:
                db.execute(f"DELETE FROM {table}")
            self._filling = Filling(db)
            try:
                yield
                self._fill_up()
            finally:
                self._filling = None

    def _fill_up(self) -> None:
        """Have what was told at once as all else is: before anything but a new document is told."""
        filling, self._filling = self._filling, None
        if filling:
            self._settle(filling.db, filling.finish())

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


class Filling:
    """An empty index that is told of whole documents, in one transaction.

    Nothing is looked up in it: what it was told is remembered here. The indexes on its tables are
    made at the end, which takes half as long as to keep them right row by row.
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.documents: set[str] = set()
        self._keys: dict[Identity, int] = {}
        self._ids: set[str] = set()
        self._otherwise: set[str] = set()
        self._told: dict[int, tuple[int, Record]] = {}
        """The key of each record by its own identity: most stand in two documents."""
        for name in INDEXES:
            db.execute(f"DROP INDEX {name}")

    def put(self, document: str, entries: Iterable[Entry]) -> None:
        self.documents.add(document)
        wanted = {line: record for record, line in entries}
        lines = sorted(wanted)
        self.db.executemany(INSERT, self._rows(wanted[line] for line in lines))
        # In one statement, which takes a third of the time.
        placed = {line: self._told[id(wanted[line])][0] for line in lines}
        self.db.execute(SET_PLACES, (document, as_json(placed)))

    def _rows(self, records: Iterable[Record]) -> Iterator[Row]:
        """Rows of those that were not told yet."""
        keys, known = self._keys, self._told
        for record in records:
            if id(record) in known:
                continue
            told = telling(record)
            key = keys.get(told.identity)
            if key is None:
                key = keys[told.identity] = len(keys) + 1
                yield _row(told, key=key, lead=self._is_first(record.id))
            known[id(record)] = key, record

    def _is_first(self, id_: str) -> bool:
        """Whether no other telling came before; which of several leads is settled at the end."""
        first = id_ not in self._ids
        (self._ids if first else self._otherwise).add(id_)
        return first

    def finish(self) -> set[str]:
        """Make it an index as any other; give the ids of what is told in several ways."""
        for made in INDEXES.values():
            self.db.execute(made)
        self.db.execute(GATHER, (GATHERED_AT_ONCE,))
        self.db.execute(CATCH_UP)
        self.db.execute(GATHER, (GATHERED,))
        return self._otherwise


def _replace_piece(
    db: sqlite3.Connection, document: str, wanted: dict[int, Told], *, first: int, last: int
) -> tuple[set[int], set[str]]:
    """Write what differs; give the keys that lost a place and the ids that gained or lost one."""
    rows = db.execute(STANDING, (document, first, last)).fetchall()
    standing = {line: (key, (id_, digest)) for line, key, id_, digest in rows}
    fresh, left = differing(standing, wanted)
    if left or _is_between(db, document, fresh):
        db.execute(CHANGED)
    keys = _keys(db, fresh.values())
    db.executemany(SET_PLACE, [(document, at, keys[it.identity]) for at, it in fresh.items()])
    db.executemany(CLEAR_PLACE, [(document, line) for line in left if line not in wanted])
    ids = {it.identity[0] for it in fresh.values()} | {id_ for _, (id_, _) in left.values()}
    return {key for key, _ in left.values()}, ids


def _keys(db: sqlite3.Connection, tolds: Iterable[Told]) -> dict[Identity, int]:
    """The key of each, with a row made for those that have none."""
    missing = {told.identity: told for told in tolds}
    keys = _variants(db, missing)
    new = [told for identity, told in missing.items() if identity not in keys]
    if _is_change(db, keys.values(), new):
        db.execute(CHANGED)
    ids = {id_ for id_, _ in keys}
    next_key = db.execute(NEXT_KEY).fetchall()[0][0]
    rows: list[Row] = []
    for key, told in enumerate(new, next_key):
        keys[told.identity] = key
        rows.append(_row(told, key=key, lead=told.identity[0] not in ids))
        ids.add(told.identity[0])
    db.executemany(INSERT, rows)
    return keys


def _is_between(db: sqlite3.Connection, document: str, lines: Iterable[int]) -> bool:
    """Whether something comes between lines that are there, which were beside each other."""
    first = min(lines, default=0)
    return bool(first and db.execute(IS_BEFORE_THE_LAST, (document, first)).fetchall())


def _is_change(db: sqlite3.Connection, there: Iterable[int], new: Sequence[Told]) -> bool:
    """Whether what is told changes what may have been seen: by one more place of what was there, by
    a successor, or by an earlier time, which may come between two of a session.

    What nobody has searched yet nobody has seen.
    """
    if any(told.record.supersedes for told in new):
        return True
    first = min((told.record.timestamp for told in new), default=None)
    if first is not None and db.execute(IS_EARLIER, (first,)).fetchall():
        return True
    lowest = min(there, default=0)
    return bool(lowest and db.execute(WAS_SEARCHED, (lowest,)).fetchall())


def _row(told: Told, *, lead: bool, key: int | None = None) -> Row:
    return (key, told.identity[1], int(lead), told.words, *told.values)


def _variants(db: sqlite3.Connection, identities: Iterable[Identity]) -> dict[Identity, int]:
    """Every telling of the records with these ids."""
    ids = as_json([id_ for id_, _ in identities])
    return {(id_, digest): key for id_, digest, key in db.execute(VARIANTS_OF_ALL, (ids,))}


def _remove_unplaced(db: sqlite3.Connection, keys: Iterable[int]) -> None:
    alone = [key for key in keys if not db.execute(IS_PLACED, (key,)).fetchall()]
    if alone:
        # What FTS5 is told to delete must be in it, word for word.
        db.execute(CATCH_UP)
        _remove(db, alone)


def _remove(db: sqlite3.Connection, keys: Iterable[int]) -> None:
    rows = [(key,) for key in keys]
    db.execute(CHANGED)
    db.executemany(UNWORD, rows)
    for table in ("places", "records"):
        db.executemany(f"DELETE FROM {table} WHERE key = ?", rows)
    nearest.remove(db, [key for (key,) in rows])


def _found(db: sqlite3.Connection, query: Query) -> list[tuple[Row, float]]:
    """Rows of whole records and their scores."""
    words = match(query.text)
    if not words:
        source, arguments = _source(query)
        newest = NEWEST.format(source=source)
        return [(row, 0.0) for row in db.execute(newest, (*arguments, query.limit)).fetchall()]
    found = by_words(db, words, query, WHOLE, EVERY, limit=query.limit)
    rows = in_order(found, id_at=0, time_at=TIMESTAMP)
    return [(row, score(-row[-1])) for row in rows[: query.limit]]


def _source(query: Query) -> tuple[str, list[Any]]:
    """FROM and WHERE for a query, and what they are bound to."""
    condition, arguments = fits(query)
    text = query.text.strip()
    words = match(text)
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
