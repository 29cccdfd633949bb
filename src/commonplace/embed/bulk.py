"""Many sums of a static encoder made into vectors at once, where numpy is installed.

The bytes are those that the standard library gives. It does not know what was added up.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from commonplace.embed.weights import ZERO

LEAST = 200
"""With fewer texts, importing numpy takes longer than it saves."""
LEAST_IMPORTED = 16


def worth_it(count: int) -> bool:
    if "numpy" in sys.modules:
        return count >= LEAST_IMPORTED
    return count >= LEAST and find_spec("numpy") is not None


def rounded_all(sums: Sequence[tuple[bytes, int]], dim: int) -> list[tuple[bytes, float]]:
    """The vector and length of each sum: a field of 64 bits a dimension, and its zeros."""
    np: Any = import_module("numpy")
    fields = np.frombuffer(b"".join(total for total, _ in sums), "<u8").reshape(-1, dim)
    zeros = np.array([ZERO * zero for _, zero in sums], np.int64)
    numbers = fields.astype(np.int64) - zeros[:, None]
    most = np.abs(numbers).max(1, keepdims=True)
    whole = np.rint(127 * numbers / np.maximum(most, 1)).astype(np.int8)
    wide = whole.astype(np.int32)
    lengths = np.sqrt((wide * wide).sum(1).astype(np.float64))
    return list(zip(map(bytes, whole), lengths.tolist()))
