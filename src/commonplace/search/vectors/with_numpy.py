"""Vectors made and compared by numpy, where it is installed: the same answers in less time.

Only many texts, or a process that asks again and again, gain by it: to import numpy takes longer
than some hundred comparisons without it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from commonplace.search.vectors.cosine import FARTHEST, signs, width_of

WORD = 8
"""Bytes of the numbers that bits are counted in."""
LEAST = 200
"""With fewer texts, importing numpy takes longer than it saves."""
LEAST_IMPORTED = 16
AT_ONCE = 4096
"""Pieces whose rows are in memory at once, at 1 KB each."""


def load() -> None:
    """Import numpy, where it is installed."""
    from importlib import import_module

    with suppress(ImportError):
        import_module("numpy")


def usable() -> bool:
    """Whether there is a numpy here that counts bits; older ones do not."""
    if "numpy" not in sys.modules:
        load()
    return hasattr(_numpy(), "bitwise_count")


def _numpy() -> Any:
    return sys.modules.get("numpy")


def differences(blob: bytes, vector: bytes) -> bytes:
    """What `cosine.differences` gives."""
    np = _numpy()
    width = width_of(len(vector))
    kind = "<u1" if width % WORD else "<u8"
    rows = np.frombuffer(blob, kind).reshape(len(blob) // width, -1)
    numbers = (number.to_bytes(width, "little") for number in signs(vector))
    wanted, seen = (np.frombuffer(number, kind) for number in numbers)
    found = np.zeros(len(rows), "u2")
    for at, (bits, mask) in enumerate(zip(wanted, seen)):
        found += np.bitwise_count((rows[:, at] ^ bits) & mask)
    counts: bytes = np.minimum(found, FARTHEST).astype("u1").tobytes()
    return counts


def dots(vectors: Sequence[bytes], vector: bytes) -> list[int]:
    """What `cosine.dots` gives."""
    np = _numpy()
    rows = np.frombuffer(b"".join(vectors), "i1").reshape(len(vectors), -1)
    found: list[int] = (rows @ np.frombuffer(vector, "i1").astype("i4")).tolist()
    return found


def _installed() -> bool:
    from importlib.util import find_spec

    return "numpy" in sys.modules or find_spec("numpy") is not None


def worth_it(count: int) -> bool:
    """Whether so many texts are encoded faster with numpy, and it is installed."""
    return count >= (LEAST_IMPORTED if "numpy" in sys.modules else LEAST) and _installed()


class WeightsTable:
    """The rows of a weights file as numbers. It gives the bytes that the standard library gives."""

    def __init__(self, scales: bytes, rows: bytes, *, dim: int, zero: int) -> None:
        """`zero` is the byte that stands for 0."""
        load()
        np = _numpy()
        self._zero = zero
        self._scales = np.frombuffer(scales, "<u2").astype("i4")
        self._rows = np.frombuffer(rows, "u1").reshape(-1, dim)

    def vectors(self, texts: Sequence[Sequence[int]]) -> list[tuple[bytes, float]]:
        """The vector and length of each text, given as the rows of its pieces."""
        return [vector for some in _chunks(texts) for vector in self._rounded(self._sums(some))]

    def _sums(self, texts: Sequence[Sequence[int]]) -> Any:
        np = _numpy()
        sums = np.zeros((len(texts), self._rows.shape[1]), "i8")
        lengths = np.array([len(text) for text in texts])
        there = np.flatnonzero(lengths)
        if len(there):
            pieces = np.array([row for text in texts for row in text])
            numbers = self._rows[pieces].astype("i4")
            numbers -= self._zero
            numbers *= self._scales[pieces, None]
            starts = np.cumsum(lengths[there]) - lengths[there]
            sums[there] = np.add.reduceat(numbers, starts, axis=0, dtype="i8")
        return sums

    def _rounded(self, sums: Any) -> Iterator[tuple[bytes, float]]:
        np = _numpy()
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
