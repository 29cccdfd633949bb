"""How many records have a word: counted when asked for, remembered while that is about so.

It knows the table of words in the SQLite file; what it remembers by, other indexes use, too. Of a
small index that may have changed nothing is remembered: there a record more or less matters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from commonplace.model.clock import monotonic

HAVING = "SELECT count(*) FROM fts WHERE fts MATCH ?"
IN_ALL = "SELECT coalesce(max(id), 0) FROM fts_docsize"
MANY = 1000
"""Records from which on counts are remembered."""
GROWN = 64
"""They are good until there is one record more for so many."""
SECONDS = 60.0
"""Or for so long: records that are taken out change them, too."""
MOST = 8192
UNKNOWN = -1


class Remembered:
    """Counts that were taken before; every thread may ask."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._total = 0
        self._since = 0.0
        self._at = UNKNOWN

    def good_for(self, total: int, *, at: int = UNKNOWN) -> dict[str, int]:
        """Those that are still about so when there are so many records, to be added to.

        Who knows how far the index has come says so: while it has come no further all are good.
        """
        now = monotonic()
        moved = at == UNKNOWN or at != self._at
        grown = abs(total - self._total) * GROWN > self._total or total < MANY
        old = now - self._since > SECONDS or len(self._known) >= MOST
        if old or (moved and grown):
            self._known, self._total, self._since = {}, total, now
        self._at = at
        return self._known


class Counts:
    """How many records have each of the words that were asked for; every thread may ask."""

    def __init__(self) -> None:
        self._remembered = Remembered()
        self._known: dict[str, int] = {}

    def total(self, db: sqlite3.Connection) -> int:
        """How many records there are, with gaps where some were taken out."""
        total = int(db.execute(IN_ALL).fetchall()[0][0])
        self._known = self._remembered.good_for(total)
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
