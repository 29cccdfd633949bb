"""The row that an index stores for a record: `row_of` makes it, `record_of` reads it back.

Every index stores the same values. Two documents may have different versions of one record, each of
which has a row: `differing` decides which rows of a document must be written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from math import log
from operator import attrgetter
from typing import Any, NamedTuple

from commonplace.model.files import Known, Signature
from commonplace.model.records import DEFAULTS, Record, wording_key
from commonplace.search.filters import listed, unlisted
from commonplace.search.index import Entry, Tally
from commonplace.search.words import STOP, indexed

AT_ONCE = 2000
"""How many lines of a document are compared at once: the garbage collector slows down more."""
HALFWAY = 4.0
"""The BM25 that makes a score of one half."""
COMMON = 0.5
"""The rarity of a stop word, which nobody counts."""
END = 1 << 62
"""A line after every line."""

FIELDS = Record.__struct_fields__
COUNT = len(FIELDS)
TIMESTAMP, CONFIDENCE = map(FIELDS.index, ("timestamp", "confidence"))
LISTED = tuple(
    at for at, default in enumerate(DEFAULTS.get(name) for name in FIELDS) if default == ()
)
COLUMNS = ", ".join(f'"{name}"' for name in FIELDS)
SHOWN = ", ".join(f'r."{name}"' for name in FIELDS)

Row = tuple[Any, ...]
Identity = tuple[str, int]
"""A record's id and the digest of all its fields: one version of it."""

_fields_of = attrgetter(*FIELDS)


class IndexRow(NamedTuple):
    """One version of a record, as values for the columns of an index."""

    identity: Identity
    record: Record
    values: list[Any]

    @property
    def words(self) -> str:
        """What is searched beside the text."""
        return indexed(self.record)

    @property
    def said(self) -> int:
        """The number of its words and kind, if it is of a kind that lasts."""
        return wording_key(self.record)


Piece = tuple[int, int, dict[int, IndexRow]]
"""The first and last line of a part of a document, and what is to stand there."""
Standing = tuple[int, Identity]
"""The key of the row that stands on a line, and its identity."""


def row_of(record: Record) -> IndexRow:
    values = list(_fields_of(record))
    for at in LISTED:
        values[at] = listed(values[at])
    confidence = float(values[CONFIDENCE])
    values[CONFIDENCE] = repr(confidence)
    # A copy takes half as long as to say each time how long it is to be.
    digest = _empty.copy()
    digest.update("\0".join(values).encode())
    values[CONFIDENCE] = confidence
    number = int.from_bytes(digest.digest(), "big", signed=True)
    return _made(IndexRow, ((values[0], number), record, values))


_empty = blake2b(digest_size=8)
_made = tuple.__new__


def _row_once(record: Record, known: dict[int, IndexRow] | None) -> IndexRow:
    """The row of a record, made once while a whole index is filled."""
    if known is None:
        return row_of(record)
    found = known.get(id(record))
    if found is None:
        found = known[id(record)] = row_of(record)
    return found


def pieces(entries: Iterable[Entry], known: dict[int, IndexRow] | None) -> Iterator[Piece]:
    """The lines of a whole document, some at a time."""
    wanted = {line: record for record, line in entries}
    lines = sorted(wanted)
    first = 0
    for at in range(0, max(len(lines), 1), AT_ONCE):
        last = lines[at + AT_ONCE] - 1 if at + AT_ONCE < len(lines) else END
        part = {line: wanted[line] for line in lines[at : at + AT_ONCE]}
        yield first, last, {line: _row_once(record, known) for line, record in part.items()}
        first = last + 1


def differing(
    standing: Mapping[int, Standing], wanted: Mapping[int, IndexRow]
) -> tuple[dict[int, IndexRow], dict[int, Standing]]:
    """What comes to some lines, and what leaves them."""
    kept = {
        line for line, (_, it) in standing.items() if line in wanted and wanted[line].identity == it
    }
    fresh = {line: it for line, it in wanted.items() if line not in kept}
    left = {line: old for line, old in standing.items() if line not in kept}
    return fresh, left


def record_of(row: Row) -> Record:
    """The record whose values begin a row."""
    values = list(row[:COUNT])
    for at in LISTED:
        values[at] = unlisted(values[at])
    return Record(*values)


def tally_of(row: Row) -> Tally:
    """The count that a row is of: kind, tags, group, username, origin, how many."""
    kind, tags, *rest = row
    return Tally(kind, unlisted(tags), *rest)


def known_of(row: Row) -> Known:
    """What is known of the document that a row is of."""
    _, size, mtime_ns, inode, digest, racy, atime_ns, lines, base, glimpse = row
    signature = Signature(size, mtime_ns, int(inode), digest, bool(racy), atime_ns)
    return Known(signature, lines, base, glimpse)


def known_row(document: str, known: Known) -> Row:
    # An inode may need all of 64 bits, one more than the numbers of a database have.
    it = known.signature
    inode = str(it.inode)
    seen = (it.size, it.mtime_ns, inode, it.digest, int(it.racy), it.atime_ns)
    return (document, *seen, known.lines, known.base, known.glimpse)


def score(bm25: float) -> float:
    """Between 0 and 1, and never 0: a word that most records have gives a BM25 next to nothing."""
    return (bm25 + 1.0) / (bm25 + HALFWAY + 2.0)


def rarity(word: str, *, having: int, total: int) -> float:
    """How rare a word is that so many of all records have; more, where others add some now."""
    lacking = max(total - having, 0)
    return COMMON if word in STOP else log(1.0 + (lacking + 0.5) / (having + 0.5))
