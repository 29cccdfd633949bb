"""Postings: the records that have a word, kept in memory once the index has told them, and BM25.

FTS5 looks up how long a record is for each match of each question; here that is read once, and so
is where a word stands. Of records that are added, the words are read and the known ones told. It
knows FTS5's tables and its formula: both give the same numbers. How long a record's words stay as
they are it does not know.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log
from threading import RLock
from typing import NamedTuple

from commonplace.search.lexemes import LONGEST, Term, counted, cut_into_words
from commonplace.search.words import K1, LEAST, B

MOST = 1 << 19
"""How many postings are kept."""
STRETCH = 1024
"""How many lengths are read at once, which takes half a millisecond."""
FEW = 16
"""Records that were added of which the words are read. After more all words are read anew, each
when it is next asked for: one that many records have takes as long as the words of five to ten."""

MAKE = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.instances USING fts5vocab(main, fts, instance)"
# As one text: to have each as a row takes three times as long.
STANDING = "SELECT json_group_array(doc) FROM temp.instances WHERE term = ?"
ADDED = "SELECT key, text, words FROM records WHERE key > ? AND key <= ?"
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
    """The records that have a word: the keys of those that have it as often and are as long, which
    it gives the same.
    """

    def __init__(self, times: Mapping[int, int], lengths: Mapping[int, int]) -> None:
        self.count = len(times)
        self._alike: dict[tuple[int, int], list[int]] = {}
        for key, often in times.items():
            self._alike.setdefault((often, lengths[key]), []).append(key)

    def add(self, key: int, often: int, length: int) -> None:
        """One record more, while others may be adding up."""
        self.count += 1
        alike = self._alike.get((often, length))
        if alike:
            alike.append(key)
        else:
            self._alike = {**self._alike, (often, length): [key]}

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
        """Every record as high as this has its length here, and is told to the words."""
        self._telling = RLock()

    def read_ahead(self, db: sqlite3.Connection, upto: int) -> None:
        """Read some more lengths, and tell the words that are known who else has them."""
        start, end = self._upto, min(self._upto + STRETCH, upto)
        if start >= end:
            return
        rows = db.execute(LENGTHS, (start, end)).fetchall()
        told = self._known and end - start <= FEW
        added = db.execute(ADDED, (start, end)).fetchall() if told else []
        often = counted((text, beside) for _, text, beside in added)
        with self._telling:
            if self._upto != start:
                # Another thread came first.
                return
            self._lengths.update({key: sum(_numbers(written)) for key, written in rows})
            if not told:
                self._known, self._count = {}, 0
            for (key, *_), times in zip(added, often):
                self._tell(key, times)
            self._upto = end

    def _tell(self, key: int, times: Mapping[str, int]) -> None:
        """Tell the known words of a record that has words so often."""
        length = self._lengths.get(key)
        # None of one whose words were taken out.
        if length is not None:
            for word in times.keys() & self._known:
                self._known[word].add(key, times[word], length)
                self._count += 1

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
        for words, _ in cut:
            self._having(db, words[0], upto).add_to(scores, sizes)
        return _highest(scores, most)

    def _having(self, db: sqlite3.Connection, word: str, upto: int) -> Having:
        found = self._known.get(word)
        if found is None:
            db.execute(MAKE)
            standing = json.loads(db.execute(STANDING, (word,)).fetchall()[0][0])
            found = Having(Counter(standing), self._lengths)
            with self._telling:
                # Or it has not been told of what another thread knows by now.
                if self._upto == upto:
                    self._keep(word, found)
        return found

    def _keep(self, word: str, having: Having) -> None:
        if self._count + having.count > MOST:
            self._known, self._count = {}, 0
        self._count += having.count
        self._known[word] = having


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
