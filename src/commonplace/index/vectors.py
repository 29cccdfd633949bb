"""Vectors: the most alike of many by cosine, in the standard library.

It does not know what a vector means or where it is kept: a vector is one signed byte a dimension,
with its length beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter, mul

Kept = tuple[int, float, bytes]
"""A key, the vector's length and the vector."""

AT_ONCE = 1_000_000
"""How many products a search may take; past it only the likeliest are looked at closely."""
SHORTLIST = 400


def closest(
    rows: Sequence[Kept], *, vector: bytes, norm: float, limit: int
) -> list[tuple[float, int]]:
    """Score and key of the most alike, best first; more than `limit` where the last are level."""
    used = [at for at, value in enumerate(vector) if value]
    if len(rows) * len(used) > AT_ONCE:
        rows = _likeliest(rows, vector, max(SHORTLIST, 4 * limit))
    return _best(_scored(rows, vector, norm, used), limit) if used and limit > 0 else []


def _scored(
    rows: Sequence[Kept], vector: bytes, norm: float, used: list[int]
) -> list[tuple[float, int]]:
    # Dimensions that are zero in the query add nothing. The first is taken once more, for nothing,
    # because an itemgetter of one item gives no tuple.
    pick = itemgetter(*used, 0)
    weights = (*itemgetter(*used, 0)(memoryview(vector).cast("b"))[:-1], 0)
    return [
        (sum(map(mul, pick(memoryview(kept).cast("b")), weights)) / (norm * length), key)
        for key, length, kept in rows
        if length
    ]


def _best(scored: list[tuple[float, int]], limit: int) -> list[tuple[float, int]]:
    scored.sort(reverse=True)
    last = scored[limit - 1][0] if len(scored) > limit else float("-inf")
    end = limit
    while end < len(scored) and scored[end][0] == last:
        end += 1
    return scored[:end]


def _likeliest(rows: Sequence[Kept], vector: bytes, count: int) -> Sequence[Kept]:
    """Those whose signs differ least from the query's, where the query has any."""
    signs = int.from_bytes(vector, "little")
    mask = int.from_bytes(bytes(0x80 if value else 0 for value in vector), "little")
    wanted = signs & mask

    def differing(row: Kept) -> int:
        return (int.from_bytes(row[2], "little") & mask ^ wanted).bit_count()

    return sorted(rows, key=differing)[:count]
