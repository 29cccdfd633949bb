"""Postings: the records that have a word, kept in memory once the index has told them, and BM25.

FTS5 looks up how long a record is for each match of each question; here that is read once, and so
is where a word stands. It knows FTS5's tables and its formula: both give the same numbers. How long
a record's words stay as they are it does not know.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log

from commonplace.hints import NamedTuple
from commonplace.index.lexemes import LONGEST, Term, cut_into_words
from commonplace.index.words import K1, LEAST, B

MOST = 1 << 19
"""How many postings are kept."""
STRETCH = 1024
"""How many lengths are read at once, which takes half a millisecond."""

MAKE = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab(main, fts, instance)"
# As one text: to have each as a row takes three times as long.
STANDING = "SELECT json_group_array(doc) FROM temp.instances WHERE term = ?"
IS_NEWER = "SELECT 1 FROM fts WHERE fts MATCH ? AND rowid > ? LIMIT 1"
LENGTHS = "SELECT id, sz FROM fts_docsize WHERE id > ? AND id <= ?"
# FTS5 keeps there how many records there are, and how many words in each column of all of them.
SIZES = "SELECT block FROM fts_data WHERE id = 1"


class Sizes(NamedTuple):
    """How many records there are, and how many words one has on the average."""

    records: int
    average: float

    def rarity(self, having: int) -> float:
        """What a word counts that so many have; more than there are, where others add some now."""
        lacking = max(self.records - having, 0)
        return max(log((lacking + 0.5) / (having + 0.5)), LEAST)


class Having:
    """The records up to a key that have a word: the keys of those that have it as often and are as
    long, which it gives the same.
    """

    def __init__(self, times: Mapping[int, int], lengths: Mapping[int, int], upto: int) -> None:
        self.upto = upto
        self.count = len(times)
        self._alike: dict[tuple[int, int], list[int]] = {}
        for key, often in times.items():
            self._alike.setdefault((often, lengths[key]), []).append(key)

    def add_to(self, scores: dict[int, float], sizes: Sizes) -> None:
        """Add to each record's score what the word gives it."""
        rarity, average = sizes.rarity(self.count), sizes.average
        for (often, length), keys in self._alike.items():
            gain = rarity * (often * (K1 + 1.0) / (often + K1 * (1 - B + B * length / average)))
            for key in keys:
                scores[key] = scores.get(key, 0.0) + gain


class Postings:
    """Those of the words that were asked for; every thread may ask."""

    def __init__(self) -> None:
        self._known: dict[str, Having] = {}
        self._count = 0
        self._lengths: dict[int, int] = {}
        self._upto = 0
        """Every record as high as this has its length here."""

    def read_ahead(self, db: sqlite3.Connection, upto: int) -> None:
        """Read some more lengths."""
        start, end = self._upto, min(self._upto + STRETCH, upto)
        if start < end:
            rows = db.execute(LENGTHS, (start, end)).fetchall()
            self._lengths.update({key: sum(_numbers(written)) for key, written in rows})
            self._upto = end

    def best(
        self, db: sqlite3.Connection, terms: Sequence[str], *, upto: int, most: int
    ) -> list[tuple[float, int]] | None:
        """BM25 and key of the best that have any of these terms, the best first.

        None where only FTS5 can tell: of words side by side, of beginnings, or as long as not every
        record's length was read.
        """
        if self._upto < upto:
            return None
        cut = cut_into_words(terms)
        if not all(map(_is_word, cut)):
            return None
        sizes = _sizes(db)
        scores: dict[int, float] = {}
        for term, (words, _) in zip(terms, cut):
            self._having(db, term, words[0], upto).add_to(scores, sizes)
        return _highest(scores, most)

    def _having(self, db: sqlite3.Connection, term: str, word: str, upto: int) -> Having:
        known = self._known.get(word)
        if known and known.upto < upto and not db.execute(IS_NEWER, (term, known.upto)).fetchall():
            known.upto = upto
        if known and known.upto >= upto:
            return known
        db.execute(MAKE)
        times = Counter(json.loads(db.execute(STANDING, (word,)).fetchall()[0][0]))
        if self._count + len(times) > MOST:
            self._known, self._count = {}, 0
        self._count += len(times)
        found = self._known[word] = Having(times, self._lengths, upto)
        return found


def _highest(scores: dict[int, float], most: int) -> list[tuple[float, int]]:
    """The highest scores with their keys; of those that are level with the last, the first keys."""
    order = sorted(scores, key=scores.__getitem__, reverse=True)
    if len(order) > most and scores[order[most]] == scores[order[most - 1]]:
        order = sorted(sorted(scores), key=scores.__getitem__, reverse=True)
    return [(scores[key], key) for key in order[:most]]


def _is_word(term: Term) -> bool:
    return len(term.words) == 1 and not term.is_beginning and len(term.words[0]) < LONGEST


def _sizes(db: sqlite3.Connection) -> Sizes:
    numbers = [number for (block,) in db.execute(SIZES).fetchall() for number in _numbers(block)]
    records, *lengths = numbers or (0,)
    return Sizes(records, sum(lengths) / records if records else 0.0)


def _numbers(written: bytes) -> Iterator[int]:
    """Numbers as SQLite writes them one after another, seven bits a byte, the last below 128.

    None of these is so large that it needs a ninth byte, which would have eight.
    """
    number = 0
    for byte in written:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            yield number
            number = 0
