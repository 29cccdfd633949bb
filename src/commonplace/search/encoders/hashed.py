"""Hash-based vectors: words and letter triples counted into 256 buckets, in the standard library.

Texts are alike when they share words or parts of words, whatever these mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import log
from zlib import crc32

from commonplace.search.encoders import Weigh, rounded

DIM = 256
WORD = re.compile(r"\w+")
WHOLE, SHORT, PART = 1.0, 0.2, 0.35
"""What a word weighs, one of up to three letters, and each part of one."""
UNSPACED = "\u0e00"
"""From Thai on, most scripts put no space between words: the parts say more than the whole."""


class HashedEncoder:
    """Vectors that need no model."""

    model = "hashed-256-1"
    dim = DIM
    leaves_machine = False

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        return [_encoded(text) for text in texts]

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        return _encoded(text)


def _encoded(text: str) -> tuple[bytes, float]:
    words = WORD.findall(text.casefold())
    counts = Counter(feature for word in words for feature in _features(word))
    buckets = [0.0] * DIM
    for (bucket, weight), count in counts.items():
        buckets[bucket] += weight * (1.0 + log(count))
    return rounded(buckets)


@lru_cache(maxsize=8192)
def _features(word: str) -> tuple[tuple[int, float], ...]:
    """The buckets of a word and of its parts, with signs that let strangers cancel out."""
    if word >= UNSPACED:
        whole, part, size = PART, WHOLE, 2
    else:
        whole = SHORT if len(word) <= 3 else WHOLE
        part, size = PART * whole, 3
    parts = (_hashed(f"{size}{each}", part) for each in _parts(f" {word} ", size))
    return (_hashed(word, whole), *parts)


def _hashed(feature: str, weight: float) -> tuple[int, float]:
    number = crc32(feature.encode("utf-8", "surrogatepass"))
    return number % DIM, weight if number & 0x80000000 else -weight


def _parts(word: str, size: int) -> Iterator[str]:
    return (word[at : at + size] for at in range(len(word) - size + 1))
