"""Many vectors of a static encoder at once, where numpy is installed.

The bytes are those that the standard library gives. It does not know how texts are cut.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from commonplace.search.encoders.weights import ZERO, Weights

LEAST = 200
"""With fewer texts, importing numpy takes longer than it saves."""
LEAST_IMPORTED = 16
AT_ONCE = 4096
"""Pieces whose rows are in memory at once, at 1 KB each."""


def installed() -> bool:
    from importlib.util import find_spec

    return "numpy" in sys.modules or find_spec("numpy") is not None


def worth_it(count: int) -> bool:
    return count >= (LEAST_IMPORTED if "numpy" in sys.modules else LEAST) and installed()


class Table:
    """The rows of a weights file as numbers."""

    def __init__(self, weights: Weights) -> None:
        from importlib import import_module

        self._numpy: Any = import_module("numpy")
        scales, rows = weights.arrays()
        self._scales = self._numpy.frombuffer(scales, "<u2").astype("i4")
        self._rows = self._numpy.frombuffer(rows, "u1").reshape(-1, weights.dim)

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[tuple[bytes, float]]:
        """The vector and length of each text, given as the rows of its pieces."""
        return [vector for some in _chunks(texts) for vector in self._rounded(self._sums(some))]

    def _sums(self, texts: Sequence[Sequence[int]]) -> Any:
        np = self._numpy
        sums = np.zeros((len(texts), self._rows.shape[1]), "i8")
        lengths = np.array([len(text) for text in texts])
        there = np.flatnonzero(lengths)
        if len(there):
            pieces = np.array([row for text in texts for row in text])
            numbers = self._rows[pieces].astype("i4")
            numbers -= ZERO
            numbers *= self._scales[pieces, None]
            starts = np.cumsum(lengths[there]) - lengths[there]
            sums[there] = np.add.reduceat(numbers, starts, axis=0, dtype="i8")
        return sums

    def _rounded(self, sums: Any) -> Iterator[tuple[bytes, float]]:
        np = self._numpy
        most = np.abs(sums).max(1, keepdims=True)
        whole = np.rint(127 * sums / np.maximum(most, 1)).astype("i1")
        wide = whole.astype("i4")
        lengths = np.sqrt((wide * wide).sum(1).astype("f8"))
        return zip(map(bytes, whole), lengths.tolist())


def _chunks(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Texts that are added up together; a longer one is alone."""
    chunk: list[Sequence[int]] = []
    size = 0
    for text in texts:
        if chunk and size + len(text) > AT_ONCE:
            yield chunk
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
    if chunk:
        yield chunk
