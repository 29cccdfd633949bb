"""Write the rows of records and of their places in SQLite, in the transaction of the caller."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from commonplace.model.records import Record
from commonplace.search.filters import as_json, clean
from commonplace.search.index import Entry
from commonplace.search.rows import (
    COLUMNS,
    FIELDS,
    Identity,
    IndexRow,
    Piece,
    Row,
    differing,
    row_of,
)
from commonplace.search.sqlite.row_cache import CHANGED
from commonplace.search.sqlite.schema import CATCH_UP, INDEXES, WAITING
from commonplace.search.vectors import table as vector_table

Rank = Callable[[str], tuple[int, str]]
"""How much a document is trusted, the lowest the most."""

STANDING = """SELECT p.line, p.key, r.id, r.digest FROM places p JOIN records r ON r.key = p.key
    WHERE p.document = ? AND p.line BETWEEN ? AND ?"""
SET_PLACE = "INSERT OR REPLACE INTO places VALUES(?, ?, ?)"
SET_PLACES = "INSERT INTO places SELECT ?, CAST(key AS INTEGER), value FROM json_each(?)"
CLEAR_PLACE = "DELETE FROM places WHERE document = ? AND line = ?"
IS_PLACED = "SELECT 1 FROM places WHERE key = ? LIMIT 1"

VARIANTS = "SELECT key, digest FROM records WHERE id = ?"
VARIANTS_OF_ALL = """SELECT id, digest, key FROM records
    WHERE id IN (SELECT value FROM json_each(?))"""
NEXT_KEY = "SELECT coalesce(max(key), 0) + 1 FROM records"
INSERT = f"""INSERT INTO records(key, digest, lead, words, said, {COLUMNS})
    VALUES(?, ?, ?, ?, ?{", ?" * len(FIELDS)})"""

WAS_SEARCHED = "SELECT 1 WHERE ? <= (SELECT coalesce(max(id), 0) FROM fts_docsize)"
IS_EARLIER = "SELECT 1 WHERE ? < (SELECT max(timestamp) FROM records WHERE lead)"
IS_BEFORE_THE_LAST = "SELECT 1 FROM places WHERE document = ? AND line > ? LIMIT 1"
ARE_WAITING = f"SELECT 1 {WAITING} LIMIT ?"
GATHER = "INSERT INTO fts(fts, rank) VALUES('hashsize', ?)"
GATHERED, GATHERED_AT_ONCE = 1 << 20, 8 << 20
"""Bytes of words that FTS5 gathers before it writes a segment: by itself, and in a rebuild."""
UNWORD = """INSERT INTO fts(fts, rowid, text, words)
    SELECT 'delete', key, text, words FROM records WHERE key = ?"""

OTHERWISE = "SELECT DISTINCT id FROM records WHERE NOT lead"
WHERE_PLACED = """SELECT r.key, p.document, p.line FROM records r JOIN places p ON p.key = r.key
    WHERE r.id = ?"""
SET_LEAD = "UPDATE records SET lead = (key = ?) WHERE id = ?"


def replace(
    db: sqlite3.Connection,
    document: str,
    pieces: Iterable[Piece],
    *,
    rank: Rank,
    waiting: int = 1,
) -> None:
    """Make these pieces of a document hold just this.

    Fewer records than `waiting` wait for the FTS table.
    """
    left: set[int] = set()
    touched: set[str] = set()
    for first, last, wanted in pieces:
        keys, ids = _replace_piece(db, document, wanted, first=first, last=last)
        left |= keys
        touched |= ids
    _remove_unplaced(db, left)
    if waiting == 1 or len(db.execute(ARE_WAITING, (waiting,)).fetchall()) == waiting:
        db.execute(CATCH_UP)
    otherwise = (id_ for (id_,) in db.execute(OTHERWISE).fetchall())
    settle(db, touched.intersection(otherwise), rank=rank)


def settle(db: sqlite3.Connection, ids: Iterable[str], *, rank: Rank) -> None:
    """Decide which version of a record leads: of two in one document, the later."""
    for id_ in ids:
        placed = db.execute(WHERE_PLACED, (id_,)).fetchall()
        lead, *_ = min(placed, key=lambda row: (rank(row[1]), -row[2]))
        db.execute(SET_LEAD, (lead, id_))


def erase(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Remove every version of these records, and their words from all that FTS5 keeps."""
    db.execute(CATCH_UP)
    for id_ in ids:
        _remove(db, [key for key, _ in db.execute(VARIANTS, (clean(id_),)).fetchall()])
    # Also when no row was left: what an earlier write took out is still in FTS5's segments.
    db.execute("INSERT INTO fts(fts) VALUES('optimize')")


def _replace_piece(
    db: sqlite3.Connection, document: str, wanted: dict[int, IndexRow], *, first: int, last: int
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


def _keys(db: sqlite3.Connection, wanted: Iterable[IndexRow]) -> dict[Identity, int]:
    """The key of each, with a row made for those that have none."""
    missing = {row.identity: row for row in wanted}
    keys = _variants(db, missing)
    new = [row for identity, row in missing.items() if identity not in keys]
    if _is_change(db, keys.values(), new):
        db.execute(CHANGED)
    ids = {id_ for id_, _ in keys}
    next_key = db.execute(NEXT_KEY).fetchall()[0][0]
    rows: list[Row] = []
    for key, row in enumerate(new, next_key):
        keys[row.identity] = key
        rows.append(_row(row, key=key, lead=row.identity[0] not in ids))
        ids.add(row.identity[0])
    db.executemany(INSERT, rows)
    return keys


def _is_between(db: sqlite3.Connection, document: str, lines: Iterable[int]) -> bool:
    """Whether something comes between lines that are there, which were beside each other."""
    first = min(lines, default=0)
    return bool(first and db.execute(IS_BEFORE_THE_LAST, (document, first)).fetchall())


def _is_change(db: sqlite3.Connection, there: Iterable[int], new: Sequence[IndexRow]) -> bool:
    """Whether what is told changes what may have been seen: by one more place of what was there, by
    a successor, or by an earlier time, which may come between two of a session.

    What nobody has searched yet nobody has seen.
    """
    if any(row.record.supersedes or row.record.replaced_by for row in new):
        return True
    first = min((row.record.timestamp for row in new), default=None)
    if first is not None and db.execute(IS_EARLIER, (first,)).fetchall():
        return True
    lowest = min(there, default=0)
    return bool(lowest and db.execute(WAS_SEARCHED, (lowest,)).fetchall())


def _row(row: IndexRow, *, lead: bool, key: int | None = None) -> Row:
    return (key, row.identity[1], int(lead), row.words, row.said, *row.values)


def _variants(db: sqlite3.Connection, identities: Iterable[Identity]) -> dict[Identity, int]:
    """Every version of the records with these ids."""
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
    vector_table.remove(db, [key for (key,) in rows])


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
            row = row_of(record)
            key = keys.get(row.identity)
            if key is None:
                key = keys[row.identity] = len(keys) + 1
                yield _row(row, key=key, lead=self._is_first(record.id))
            known[id(record)] = key, record

    def _is_first(self, id_: str) -> bool:
        """Whether no other version came before; which of several leads is settled at the end."""
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
