"""Codes and vectors compared by numpy, where it is installed: the same answers in less time.

Only a process that asks again and again gains by it: to import numpy takes longer than some hundred
comparisons without it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from commonplace.search.vectors.cosine import FARTHEST, signs, width_of

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
