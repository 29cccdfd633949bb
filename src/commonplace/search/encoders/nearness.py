"""How near two words lie by an encoder's vectors.

It does not know what the words are compared for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import mul

from commonplace.search.encoders import Encoder

Signed = tuple[memoryview, float]


def nearness(encoder: Encoder) -> Callable[[str, str], float]:
    """A function of two words: the cosine of their vectors, and 0 where there is none."""

    @cache
    def vector(word: str) -> Signed:
        [(data, length)] = encoder.encode([word])
        return memoryview(data).cast("b"), length

    def near(one: str, other: str) -> float:
        (first, long), (second, wide) = vector(one), vector(other)
        return sum(map(mul, first, second)) / (long * wide) if long and wide else 0.0

    return near
