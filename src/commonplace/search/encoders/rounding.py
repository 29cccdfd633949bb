"""Numbers as signed bytes: a vector needs no more to be compared.

It does not know what the numbers mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from struct import pack


def rounded(values: Sequence[float]) -> tuple[bytes, float]:
    """The values so scaled that the largest is 127 or -127, and the length of those bytes."""
    most = max(map(abs, values), default=0.0)
    whole = [round(127 * value / most) for value in values] if most else [0] * len(values)
    return pack(f"{len(whole)}b", *whole), sqrt(sum([value * value for value in whole]))
