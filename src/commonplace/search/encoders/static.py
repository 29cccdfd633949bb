"""The static encoder: a text's vector is the mean of its pieces' rows, in the standard library.

Rows are added as whole numbers, a field of 64 bits a dimension: one addition of Python's does all
dimensions at once, and it is exact, so that every machine gives the same vector. It does not know
where vectors are kept or how rare a word is in a vault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from os.path import dirname, join
from struct import Struct
from typing import TYPE_CHECKING

from commonplace.model.lazy import Lazy
from commonplace.search.encoders import Weigh
from commonplace.search.encoders.rounding import rounded
from commonplace.search.encoders.weights import ZERO, Weights
from commonplace.search.encoders.wordpiece import pieces, words

if TYPE_CHECKING:
    from commonplace.search.encoders import bulk
else:
    bulk = Lazy("search.encoders.bulk")

FILE = join(dirname(__file__), "static.bin")
FIELD = 8
"""Bytes a dimension: a row's byte, its scale and a word's weight leave room for 2**24 words."""
UNIT = 256
HEAVIEST = 256.0
"""A word of a query weighs whole 256ths, up to this."""
KEPT_WORDS = 4096
"""Words whose sum is kept in memory, at 2 KB each."""
KEPT_CUTS = 65536
"""Words whose pieces are kept in memory when many texts are encoded."""
Sum = tuple[int, int]
"""Rows added up, with how often zero was added to each field."""


class StaticEncoder:
    """Vectors from a table of rows that comes with the package."""

    leaves_machine = False

    def __init__(self, path: str = "") -> None:
        self._weights = Weights(path or FILE)
        self.model, self.dim = self._weights.name, self._weights.dim
        self._numbers = Struct(f"<{self.dim}Q")
        self._word = lru_cache(KEPT_WORDS)(self._summed)
        self._cut = lru_cache(KEPT_CUTS)(self._pieces)
        self._table: bulk.Table | None = None

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        if bulk.worth_it(len(texts)):
            return self._in_bulk(texts)
        return [self._vector(self._added(words(text))) for text in texts]

    def _in_bulk(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        if self._table is None:
            self._table = bulk.Table(self._weights)
        return self._table.vectors([self._rows(text) for text in texts])

    def _rows(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._cut, words(text))))

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        """The vector of a question, each word as heavy as `weigh` says.

        Signs weigh nothing then: how rare they are says nothing.
        """
        if weigh is None:
            return self._vector(self._added(words(text)))
        total = zeros = 0
        told = list(filter(str.isalnum, words(text)))
        worth = weigh(told)
        for word in told:
            weight = round(UNIT * min(max(worth[word], 0.0), HEAVIEST))
            number, zero = self._word(word)
            total += weight * number
            zeros += weight * zero
        return self._vector((total, zeros))

    def _added(self, found: list[str]) -> Sum:
        total = zeros = 0
        # More than half of a long text's words stand in it before.
        for word, times in Counter(found).items():
            number, zero = self._word(word)
            total += times * number if times > 1 else number
            zeros += times * zero
        return total, zeros

    def _summed(self, word: str) -> Sum:
        """The rows of one word's pieces, added up."""
        weights = self._weights
        total = zeros = 0
        for row in self._pieces(word):
            scale = weights.scale(row)
            spread = bytearray(FIELD * self.dim)
            spread[::FIELD] = weights.row(row)
            total += scale * int.from_bytes(spread, "little")
            zeros += scale
        return total, zeros

    def _pieces(self, word: str) -> list[int]:
        return pieces(word, self._weights.find, longest=self._weights.longest)

    def _vector(self, summed: Sum) -> tuple[bytes, float]:
        total, zeros = summed
        zero = ZERO * zeros
        return rounded([number - zero for number in self._numbers.unpack(self._fields(total))])

    def _fields(self, total: int) -> bytes:
        return total.to_bytes(FIELD * self.dim, "little")
