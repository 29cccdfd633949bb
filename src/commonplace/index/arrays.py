"""Codes and vectors compared by numpy, where it is installed: the same answers in less time.

Only who asks again and again gains by it: to import numpy takes longer than some hundred
comparisons without it. It does not know where codes and vectors are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress

from commonplace.hints import Any
from commonplace.index.vectors import signs

WORD = 8
"""Bytes of the numbers that bits are counted in."""


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
    """Codes side by side: each row has some bits of all of them."""

    def __init__(self, blob: bytes, width: int, keys: Sequence[int]) -> None:
        np = _numpy()
        rows = np.frombuffer(blob, _kind(width)).reshape(len(keys), -1)
        self.rows = np.ascontiguousarray(rows.T)
        self.keys = np.array(keys, "i8")


class Joined:
    """Several matrices as one."""

    def __init__(self, parts: Sequence[Matrix], width: int) -> None:
        np = _numpy()
        self._rows = np.concatenate([part.rows for part in parts], axis=1)
        self._keys = np.concatenate([part.keys for part in parts])
        self._width = width

    def compared(self, vector: bytes) -> Distances:
        """How much every code differs from this vector's."""
        np = _numpy()
        numbers = (number.to_bytes(self._width, "little") for number in signs(vector))
        wanted, seen = (np.frombuffer(number, _kind(self._width)) for number in numbers)
        total = np.zeros(len(self._keys), "u2")
        for row, bits, mask in zip(self._rows, wanted, seen):
            total += np.bitwise_count((row ^ bits) & mask)
        return Distances(self._keys, total)


class Distances:
    """How much each of many codes differs from a question's."""

    def __init__(self, keys: Any, distances: Any) -> None:
        self._keys = keys
        self._distances = distances
        self.total = len(keys)

    def least(self, count: int) -> list[int]:
        """The keys of those that differ least; more where the last of them are level."""
        found: list[int] = self._keys[self._distances <= self._farthest(count)].tolist()
        return found

    def _farthest(self, count: int) -> Any:
        np = _numpy()
        last = min(count, self.total) - 1
        return np.partition(self._distances, last)[last]


def _kind(width: int) -> str:
    """The numbers that make up a code: long ones where it is made of such."""
    return "<u1" if width % WORD else "<u8"


def dots(vectors: Sequence[bytes], vector: bytes) -> list[int]:
    """The dot product of each with one."""
    np = _numpy()
    rows = np.frombuffer(b"".join(vectors), "i1").reshape(len(vectors), -1)
    found: list[int] = (rows @ np.frombuffer(vector, "i1").astype("i4")).tolist()
    return found
