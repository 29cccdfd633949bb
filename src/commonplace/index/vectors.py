"""Vectors: the most alike of many by cosine, in the standard library.

It does not know what a vector means or where it is kept: a vector is one signed byte a dimension,
with its length beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import unpack

Kept = tuple[int, float, bytes]
"""A key, the vector's length and the vector."""
Scored = tuple[float, int]
"""A cosine and a key."""

PRODUCTS = 4_000_000
"""How many a search may take; past it only the likeliest are looked at closely."""
SHORTLIST = 1000
AT_ONCE = 4096
"""So many vectors stay in the processor's cache."""
FROM_ZERO = bytes(value ^ 0x80 for value in range(256))
"""Signed bytes, -128 to 127, as 0 to 255."""


def closest(rows: Sequence[Kept], *, vector: bytes, norm: float, limit: int) -> list[Scored]:
    """The most alike, best first; more than `limit` where the last of them are level."""
    weights = [(at, value) for at, value in enumerate(memoryview(vector).cast("b")) if value]
    rows = [row for row in rows if row[1]]
    if not weights or limit <= 0:
        return []
    if len(rows) * len(weights) > PRODUCTS:
        rows = _likeliest(rows, vector, max(SHORTLIST, 4 * limit))
    return _best(_scored(rows, weights, norm), limit)


def _scored(rows: Sequence[Kept], weights: list[tuple[int, int]], norm: float) -> list[Scored]:
    return [
        (dot / (norm * length), key)
        for at in range(0, len(rows), AT_ONCE)
        for (key, length, _), dot in _with_dots(rows[at : at + AT_ONCE], weights)
    ]


def _with_dots(rows: Sequence[Kept], weights: list[tuple[int, int]]) -> Iterator[tuple[Kept, int]]:
    """The dot product of each, all at once.

    One dimension of every vector is one long number with four bytes for each, so that multiplying
    and adding such numbers does it for all of them.
    """
    dim = len(rows[0][2])
    joined = b"".join(row[2] for row in rows).translate(FROM_ZERO)
    lanes = bytearray(4 * len(rows))
    above = below = 0
    for at, weight in weights:
        lanes[::4] = joined[at::dim]
        column = int.from_bytes(lanes, "little")
        if weight > 0:
            above += weight * column
        else:
            below -= weight * column
    shift = 128 * sum(weight for _, weight in weights)
    sums = zip(_taken_apart(above, len(rows)), _taken_apart(below, len(rows)), strict=True)
    return zip(rows, (more - less - shift for more, less in sums), strict=True)


def _taken_apart(number: int, count: int) -> tuple[int, ...]:
    return unpack(f"<{count}I", number.to_bytes(4 * count, "little"))


def _best(scored: list[Scored], limit: int) -> list[Scored]:
    scored.sort(reverse=True)
    end = limit
    while end < len(scored) and scored[end][0] == scored[limit - 1][0]:
        end += 1
    return scored[:end]


def _likeliest(rows: Sequence[Kept], vector: bytes, count: int) -> Sequence[Kept]:
    """Those whose signs differ least from the query's, where the query has any."""
    mask = int.from_bytes(bytes(0x80 if value else 0 for value in vector), "little")
    wanted = int.from_bytes(vector, "little") & mask

    def differing(row: Kept) -> int:
        return (int.from_bytes(row[2], "little") & mask ^ wanted).bit_count()

    return sorted(rows, key=differing)[:count]
