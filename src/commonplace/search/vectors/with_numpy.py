"""Codes and vectors compared by numpy, where it is installed: the same answers in less time.

Only who asks again and again gains by it: to import numpy takes longer than some hundred
comparisons without it. It does not know where codes and vectors are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from commonplace.search.vectors.cosine import signs

WORD = 8
"""Bytes of the numbers that bits are counted in."""
AT_ONCE = 32_768
"""So many codes stay in the processor's cache while their words are compared."""
FAR = 65_535
"""Farther than any code is from another."""


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


class Matrix:
    """Codes side by side: each row has some bits of all of them. Some spans of them count."""

    def __init__(self, rows: Any, spans: Sequence[tuple[int, int]], keys: Any) -> None:
        """`keys` gives those of some places."""
        self.rows = rows
        self.spans = spans
        self.keys_at = keys

    @classmethod
    def of(cls, blob: bytes, width: int, keys: Sequence[int]) -> Matrix:
        np = _numpy()
        rows = np.frombuffer(blob, _kind(width)).reshape(len(keys), -1)
        return cls.whole(np.ascontiguousarray(rows.T), np.array(keys, "i8"))

    @classmethod
    def whole(cls, rows: Any, keys: Any) -> Matrix:
        return cls(rows, [(0, len(keys))], keys.__getitem__)

    @classmethod
    def joined(cls, parts: Sequence[Matrix]) -> Matrix:
        """Several that are whole as one."""
        np = _numpy()
        rows = np.concatenate([part.rows for part in parts], axis=1)
        return cls.whole(rows, np.concatenate([part.keys_at(slice(None)) for part in parts]))


class Joined:
    """Several matrices, compared as one."""

    def __init__(self, parts: Sequence[Matrix], width: int) -> None:
        self._parts = parts
        self._width = width

    def compared(self, vector: bytes) -> Distances:
        """How much every code differs from this vector's."""
        np = _numpy()
        numbers = (number.to_bytes(self._width, "little") for number in signs(vector))
        wanted, seen = (np.frombuffer(number, _kind(self._width)) for number in numbers)
        return Distances([(part, _differences(part, wanted, seen)) for part in self._parts])


def _differences(part: Matrix, wanted: Any, seen: Any) -> Any:
    """Of each code; `FAR` for those that do not count."""
    np = _numpy()
    found = np.full(part.rows.shape[1], FAR, "u2")
    for first, last in part.spans:
        for start in range(first, last, AT_ONCE):
            some = slice(start, min(start + AT_ONCE, last))
            found[some] = 0
            for row, bits, mask in zip(part.rows, wanted, seen):
                found[some] += np.bitwise_count((row[some] ^ bits) & mask)
    return found


class Distances:
    """How much each of many codes differs from a question's."""

    def __init__(self, parts: Sequence[tuple[Matrix, Any]]) -> None:
        self._parts = parts
        self.total = sum(last - first for part, _ in parts for first, last in part.spans)

    def least(self, count: int) -> list[int]:
        """The keys of those that differ least; more where the last of them are level."""
        np = _numpy()
        farthest = self._farthest(count)
        found: list[int] = []
        for part, distances in self._parts:
            found += part.keys_at(np.flatnonzero(distances <= farthest)).tolist()
        return found

    def _farthest(self, count: int) -> Any:
        np = _numpy()
        last = min(count, self.total) - 1
        every = np.concatenate([distances for _, distances in self._parts])
        return np.partition(every, last)[last]


def _kind(width: int) -> str:
    """The numbers that make up a code: long ones where it is made of such."""
    return "<u1" if width % WORD else "<u8"


def dots(vectors: Sequence[bytes], vector: bytes) -> list[int]:
    """The dot product of each with one."""
    np = _numpy()
    rows = np.frombuffer(b"".join(vectors), "i1").reshape(len(vectors), -1)
    found: list[int] = (rows @ np.frombuffer(vector, "i1").astype("i4")).tolist()
    return found
