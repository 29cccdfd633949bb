"""The tables of vectors and of their codes in the SQLite file, and the search for the nearest.

`codes` is made from `vectors`, a page of keys at a time: a change of a vector makes its page anew,
in the same transaction. A model's `state` is another number after every change. It tells whether
the pages that a process keeps in memory are still good.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any
from zlib import crc32

from commonplace.model.records import Sensitivity
from commonplace.search.filters import as_json, fits, narrow
from commonplace.search.index import Asked, Query
from commonplace.search.sqlite.row_cache import first_fitting
from commonplace.search.vectors.codes import (
    PAGE_BITS,
    Coded,
    Codes,
    Page,
    keys_of,
)
from commonplace.search.vectors.cosine import (
    Kept,
    Scored,
    closest,
    code_of,
    codes_in,
    is_sparse,
    width_of,
)

KEY_BITS = 40
KEY = (1 << KEY_BITS) - 1
SHORTLIST = 200
SPARSE_SHORTLIST = 1000
"""How many the codes choose at least, for the vectors to choose from: signs say little of a vector
that is mostly zero. And half as many more than are wanted."""
AT_HAND = 16_384
"""How many vectors are kept in memory."""
NOTHING = Coded([], b"")

MODEL = "SELECT number, upto, state FROM models WHERE name = ? AND dim = ?"
MODEL_OF_NAME = "SELECT number FROM models WHERE name = ?"
ADD_MODEL = "INSERT OR IGNORE INTO models(name, dim, upto, state) VALUES(?, ?, 0, random())"
# Not counted up: after a rollback, or in a new file, a count would come to the same number again.
CHANGED = "UPDATE models SET state = random() WHERE number = ?"
STRIDE = 2048
"""Keys that may be looked through again for texts without a vector before it is noted where to
start: from the first key each time, a hundred thousand texts would take minutes."""
COUNTED_ONE_BY_ONE = 10_000
"""Of more texts than this that wait, some are counted that need none."""
# A key may go to another record once the highest are gone.
LAST_KEY = "SELECT coalesce(max(key), 0) FROM records"
STEP_BACK = f"UPDATE models SET upto = min(upto, ({LAST_KEY}))"

WITHHELD = {
    False: f"'{Sensitivity.SECRET}', '{Sensitivity.SENSITIVE}'",
    True: f"'{Sensitivity.SECRET}'",
}
"""What gets no vector, by whether an encoder may be told what is sensitive."""
WAITING = """FROM records r WHERE r.key > ? AND r.sensitivity NOT IN ({withheld})
    AND NOT EXISTS(SELECT 1 FROM vectors v WHERE v.number = ? | r.key)"""
NEWEST_FEW = f"""SELECT r.key FROM records r
    WHERE r.lead AND r.sensitivity NOT IN ({WITHHELD[True]})
    ORDER BY r.timestamp DESC, r.id DESC LIMIT ?"""
IN_WINDOW = f"""SELECT r.key, r.digest, r.text FROM records r
    WHERE r.key IN ({NEWEST_FEW}) AND NOT EXISTS(
        SELECT 1 FROM vectors v WHERE v.number = ? | r.key)
    ORDER BY r.timestamp DESC, r.id DESC"""
OF_MODEL = "number BETWEEN ? AND ?"
OUT_OF_WINDOW = f"""SELECT number & {KEY} FROM vectors
    WHERE {OF_MODEL} AND number & {KEY} NOT IN ({NEWEST_FEW})"""
# A key may have gone to another record meanwhile: the low bits of the digest tell.
CHECK_BITS = 20
CHECK = (1 << CHECK_BITS) - 1
EMBED = f"""INSERT OR REPLACE INTO vectors SELECT ? | key, ?, ? FROM records
    WHERE key = ? AND digest & {CHECK} = ?"""
PAGES = "SELECT page, state FROM codes WHERE model = ?"
PAGE = "SELECT state, sum, slots, codes FROM codes WHERE model = ? AND page = ?"
# A slot takes two bytes; to count the vectors themselves would read them all.
COUNTED = """SELECT m.name, sum(length(c.slots)) / 2
    FROM models m JOIN codes c ON c.model = m.number GROUP BY m.name ORDER BY m.name"""
SET_PAGE = "INSERT OR REPLACE INTO codes VALUES(?, ?, ?, ?, ?, ?)"
ON_PAGE = f"SELECT number & {KEY}, vector FROM vectors WHERE {OF_MODEL}"
KEPT = """SELECT j.value, v.norm, v.vector
    FROM json_each(?) j CROSS JOIN vectors v ON v.number = ? | j.value
    WHERE length(v.vector) = ?"""
FITTING = """SELECT r.key FROM json_each(?) j CROSS JOIN records r ON r.key = j.value
    WHERE {fits}"""
DUMPED = f"""SELECT r.key, r.id, r.digest, v.norm, v.vector
    FROM vectors v JOIN records r ON r.key = v.number & {KEY} WHERE v.{OF_MODEL}"""


def embed(
    db: sqlite3.Connection, model: str, dim: int, rows: Iterable[tuple[int, bytes, float]]
) -> None:
    """Store vectors. A vector whose text is gone by now is left out."""
    db.execute(ADD_MODEL, (model, dim))
    ((number, _, _),) = db.execute(MODEL, (model, dim)).fetchall()
    first = number << KEY_BITS
    kept = [(first, norm, vector, key >> CHECK_BITS, key & CHECK) for key, vector, norm in rows]
    db.executemany(EMBED, kept)
    _renew(db, number, [key for _, _, _, key, _ in kept])


def remove(db: sqlite3.Connection, keys: Sequence[int]) -> None:
    """Drop the vectors of records that are gone, and their codes."""
    for (number,) in db.execute("SELECT number FROM models").fetchall():
        _drop(db, number, keys)
    db.execute(STEP_BACK)


def _drop(db: sqlite3.Connection, number: int, keys: Iterable[int]) -> None:
    gone, first = "DELETE FROM vectors WHERE number = ?", number << KEY_BITS
    _renew(db, number, [key for key in keys if db.execute(gone, (first | key,)).rowcount])


def _renew(db: sqlite3.Connection, number: int, changed: Iterable[int]) -> None:
    """Make the codes anew of the pages that have these keys, from the vectors as they are now."""
    db.execute(CHANGED, (number,))
    (found,) = db.execute("SELECT dim, state FROM models WHERE number = ?", (number,)).fetchall()
    dim, state = found
    for at, first in _first_on_pages(changed).items():
        page = _page(db, number, at)
        # Most are made for new keys, which come after all the others: those stay as they are.
        kept = page.coded if page and page.coded.keys[-1:] < [first] else NOTHING
        keys, blob = _coded(db, number, first if kept.keys else at << PAGE_BITS, dim=dim)
        _set_page(db, number, at, state, Coded(kept.keys + keys, kept.blob + blob))


def _first_on_pages(keys: Iterable[int]) -> dict[int, int]:
    """The lowest of these keys on each page that has one."""
    found: dict[int, int] = {}
    for key in sorted(keys, reverse=True):
        found[key >> PAGE_BITS] = key
    return found


def _set_page(db: sqlite3.Connection, number: int, page: int, state: int, made: Coded) -> None:
    if not made.keys:
        db.execute("DELETE FROM codes WHERE model = ? AND page = ?", (number, page))
        return
    slots = array("H", [key - (page << PAGE_BITS) for key in made.keys]).tobytes()
    row = (number, page, state, crc32(made.blob, crc32(slots)), slots, made.blob)
    db.execute(SET_PAGE, row)


def _coded(db: sqlite3.Connection, number: int, first: int, *, dim: int) -> Coded:
    """The keys from this one to the end of its page, and the codes of their vectors."""
    rows = db.execute(ON_PAGE, _numbers_on_page(number, first)).fetchall()
    whole = [(key, vector) for key, vector in rows if len(vector) == dim]
    return Coded([key for key, _ in whole], b"".join(code_of(vector) for _, vector in whole))


def _page(db: sqlite3.Connection, number: int, page: int) -> Page | None:
    """A page as it was written; None where there is none, or it is not as it was written."""
    for state, total, slots, blob in db.execute(PAGE, (number, page)).fetchall():
        if total == crc32(blob, crc32(slots)):
            return Page(state, Coded(keys_of(page, array("H", slots)), blob), {})
    return None


def unembedded(
    db: sqlite3.Connection, model: str, *, dim: int, limit: int, sensitive: bool
) -> tuple[list[tuple[int, str]], int, int]:
    """Texts without a vector in the order of their keys, and how many there are in all.

    Also the key up to which every text that is to have a vector has one, when that is worth noting,
    or 0.
    """
    found = db.execute(MODEL, (model, dim)).fetchall()
    number, upto = found[0][:2] if found else (0, 0)
    last = _last_key(db)
    if upto == last:
        return [], 0, 0
    waiting = WAITING.format(withheld=WITHHELD[sensitive])
    columns, order = "SELECT r.key, r.digest, r.text ", " ORDER BY r.key LIMIT ?"
    first = number << KEY_BITS
    rows = db.execute(columns + waiting + order, (upto, first, limit)).fetchall()
    if not rows:
        return [], 0, last
    done, total = rows[0][0] - 1, len(rows)
    if total == limit:
        total = last - done
        if total <= COUNTED_ONE_BY_ONE:
            total = db.execute("SELECT count(*) " + waiting, (done, first)).fetchall()[0][0]
    return _keyed(rows), total, done if done - upto >= STRIDE else 0


def reached(db: sqlite3.Connection, model: str, *, dim: int, upto: int) -> None:
    """Note that every text up to this key that is to have a vector has one."""
    db.execute(ADD_MODEL, (model, dim))
    db.execute(
        f"UPDATE models SET upto = min(?, ({LAST_KEY})) WHERE name = ? AND dim = ?",
        (upto, model, dim),
    )


def window(db: sqlite3.Connection, model: str, *, size: int) -> list[tuple[int, str]]:
    """Drop the vectors of all but the newest texts; give those of these that have none."""
    found = db.execute(MODEL_OF_NAME, (model,)).fetchall()
    number = found[0][0] if found else 0
    every = (*_numbers(number), size)
    old = [key for (key,) in db.execute(OUT_OF_WINDOW, every).fetchall()]
    if old:
        _drop(db, number, old)
    return _keyed(db.execute(IN_WINDOW, (size, number << KEY_BITS)).fetchall())


def _keyed(rows: Sequence[tuple[int, int, str]]) -> list[tuple[int, str]]:
    return [(key << CHECK_BITS | digest & CHECK, text) for key, digest, text in rows]


def _numbers(model: int) -> tuple[int, int]:
    """The first and last number of a vector of this model."""
    return model << KEY_BITS, model << KEY_BITS | KEY


def _numbers_on_page(model: int, key: int) -> tuple[int, int]:
    """That of this key, and the last one of its page."""
    first = model << KEY_BITS | key
    return first, first | (1 << PAGE_BITS) - 1


def _last_key(db: sqlite3.Connection) -> int:
    return int(db.execute(LAST_KEY).fetchall()[0][0])


def counted(db: sqlite3.Connection) -> dict[str, int]:
    """How many vectors there are of each model."""
    return dict(db.execute(COUNTED).fetchall())


def dumped(db: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Every vector with its code, as `Index.dump_vectors` gives them."""
    found = []
    for number, name, dim in db.execute("SELECT number, name, dim FROM models").fetchall():
        codes = _all_codes(db, number, dim)
        rows = db.execute(DUMPED, _numbers(number)).fetchall()
        found += [(name, dim, *row, codes.pop(key, None)) for key, *row in rows]
        found += [(name, dim, str(key), 0, 0.0, b"", code) for key, code in codes.items()]
    return sorted(found)


def _all_codes(db: sqlite3.Connection, number: int, dim: int) -> dict[int, int]:
    found: dict[int, int] = {}
    for page, _ in db.execute(PAGES, (number,)).fetchall():
        for _, _, slots, blob in db.execute(PAGE, (number, page)).fetchall():
            keys = keys_of(page, array("H", slots))
            found.update(zip(keys, codes_in(blob, width_of(dim)), strict=True))
    return found


def keep_only(db: sqlite3.Connection, models: Iterable[str]) -> None:
    """Drop the vectors of every other model."""
    others = "SELECT number FROM models WHERE name NOT IN (SELECT value FROM json_each(?))"
    dropped = [number for (number,) in db.execute(others, (as_json(list(models)),)).fetchall()]
    for number in dropped:
        db.execute(f"DELETE FROM vectors WHERE {OF_MODEL}", _numbers(number))
        db.execute("DELETE FROM codes WHERE model = ?", (number,))
        db.execute("DELETE FROM models WHERE number = ?", (number,))


class Nearest:
    """What is most alike by cosine, among the records that fit a query.

    Remembers the codes of the models that were asked for; every thread may ask.
    """

    def __init__(self) -> None:
        self._codes: dict[int, Codes] = {}
        self._at_hand = 0
        self.damaged: set[tuple[int, int]] = set()
        """Models and pages whose codes were not as they had been written."""

    def find(
        self,
        db: sqlite3.Connection,
        asked: Asked,
        query: Query,
        *,
        count: int,
        fitting: Callable[[Iterable[int]], Container[int]],
    ) -> list[Scored]:
        """Cosine and key of the `count` nearest and of those level with the last, best first.

        `fitting` tells, of some keys, those that fit the query.
        """
        found = db.execute(MODEL, (asked.model, len(asked.vector))).fetchall()
        if not found or not asked.norm:
            return []
        number, _, state = found[0]
        dim = len(asked.vector)
        codes = self._level(db, number, state, dim)
        if narrow(query)[0]:
            compared = codes.compared_among(asked.vector, _allowed(db, query))
        else:
            compared = codes.compared(asked.vector)
        least_wanted = SPARSE_SHORTLIST if is_sparse(asked.vector) else SHORTLIST
        wanted = max(least_wanted, count * 3 // 2)
        while True:
            near = compared.least(wanted)
            rows = self._vectors(db, number, dim, codes, near)
            best = closest(
                rows,
                vector=asked.vector,
                norm=asked.norm,
                limit=len(rows),
                multiply=codes.multiply,
            )
            scored = first_fitting(best, fitting, count)
            if len(scored) >= count or wanted >= len(compared.keys):
                return scored
            wanted *= 4

    def _level(self, db: sqlite3.Connection, number: int, state: int, dim: int) -> Codes:
        """The codes as they are now: only the pages are read that changed."""
        codes = self._codes.get(number)
        if codes is not None and codes.state == state:
            return codes
        noted = dict(db.execute(PAGES, (number,)).fetchall())
        codes = Codes.following(
            codes,
            state,
            noted,
            width=width_of(dim),
            read=lambda page: self._read(db, number, page, dim=dim),
        )
        self._codes[number] = codes
        return codes

    def _vectors(
        self, db: sqlite3.Connection, number: int, dim: int, codes: Codes, keys: Sequence[int]
    ) -> list[Kept]:
        """The vectors of these keys: those that are not at hand are read."""
        found = codes.kept(keys)
        rest = [key for key in keys if key not in found]
        if rest:
            rows = db.execute(KEPT, (as_json(rest), number << KEY_BITS, dim)).fetchall()
            self._make_room(len(rows))
            codes.keep(rows)
            found |= {row[0]: row for row in rows}
        return [*found.values()]

    def _make_room(self, count: int) -> None:
        self._at_hand += count
        if self._at_hand > AT_HAND:
            self._at_hand = count
            for codes in [*self._codes.values()]:
                codes.let_go()

    def _read(self, db: sqlite3.Connection, number: int, page: int, *, dim: int) -> Page:
        found = _page(db, number, page)
        if found is None:
            self.damaged.add((number, page))
            found = Page(-1, _coded(db, number, page << PAGE_BITS, dim=dim), {})
        return found

    def mend(self, db: sqlite3.Connection) -> None:
        """Make anew what was found damaged."""
        while self.damaged:
            number, page = self.damaged.pop()
            _renew(db, number, [page << PAGE_BITS])


def _allowed(db: sqlite3.Connection, query: Query) -> frozenset[int]:
    condition, arguments = fits(query)
    rows = db.execute(f"SELECT r.key FROM records r WHERE {condition}", arguments)
    return frozenset(key for (key,) in rows)


def fitting_in(db: sqlite3.Connection, query: Query) -> Callable[[Iterable[int]], Container[int]]:
    """What tells which records fit a query, by a look at each."""
    condition, arguments = fits(query)
    statement = FITTING.format(fits=condition)

    def fitting(keys: Iterable[int]) -> Container[int]:
        return {key for (key,) in db.execute(statement, (as_json(list(keys)), *arguments))}

    return fitting
