"""Vectors: the most alike of many by cosine, in the standard library.

It does not know what a vector means or where it is kept: a vector is one signed byte a dimension,
with its length beside it. Its code is the sign of every dimension as one number: how many bits of
two codes differ tells roughly, and fast, how far two vectors are apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import unpack

Kept = tuple[int, float, bytes]
"""A key, the vector's length and the vector."""
Scored = tuple[float, int]
"""A cosine and a key."""

AT_ONCE = 4096
"""So many vectors stay in the processor's cache."""
MIDDLE = 1 << 31
FROM_ZERO = bytes(value ^ 0x80 for value in range(256))
"""Signed bytes, -128 to 127, as 0 to 255."""
SIGNS = bytes(0x31 if value & 0x80 else 0x30 for value in range(256))
"""Signed bytes as the digits of their signs."""
EVERY = int.from_bytes(bytes(range(256)), "little")
ONES = bytes(map(int.bit_count, range(256)))
"""Bytes as the counts of their bits."""
IN_A_BYTE = 31
"""Counts of so many bytes' bits, added up, stay within a byte."""
SPARSE = 8
"""A vector with one zero in so many has signs to leave out of the comparison."""
FARTHEST = 255
"""Distances are kept in a byte each; what is farther apart is never wanted."""


def code_of(vector: bytes) -> bytes:
    """The signs of a vector, a bit each."""
    return int(vector.translate(SIGNS), 2).to_bytes(width_of(len(vector)), "little")


def width_of(dim: int) -> int:
    """Bytes of a code."""
    return (dim + 7) // 8


def codes_in(blob: bytes, width: int) -> list[int]:
    """The codes that stand one after another in a blob."""
    made = int.from_bytes
    return [made(blob[at : at + width], "little") for at in range(0, len(blob), width)]


def signs(vector: bytes) -> tuple[int, int]:
    """The code of a vector, and a mask of the bits that count: all, unless many are of zeros."""
    code = int(vector.translate(SIGNS), 2)
    if is_sparse(vector):
        return code, int(bytes(0x31 if value else 0x30 for value in vector), 2)
    return code, (1 << len(vector)) - 1


def differences(blob: bytes, vector: bytes) -> bytes:
    """How many signs differ from the vector's, where the vector has any, for each code in a blob.

    A byte of every code at a time: a table turns it into its count of differences, and long
    numbers are added up that have the counts of all codes in them, in two bytes each.
    """
    width = width_of(len(vector))
    count = len(blob) // width
    wanted, seen = (number.to_bytes(width, "little") for number in signs(vector))
    total = 0
    for first in range(0, width, IN_A_BYTE):
        part = 0
        for at in range(first, min(first + IN_A_BYTE, width)):
            column = blob[at::width].translate(_counts(wanted[at], seen[at]))
            part += int.from_bytes(column, "little")
        lanes = bytearray(2 * count)
        lanes[::2] = part.to_bytes(count, "little")
        total += int.from_bytes(lanes, "little")
    counts = unpack(f"<{count}H", total.to_bytes(2 * count, "little"))
    try:
        return bytes(counts)
    except ValueError:
        return bytes([min(each, FARTHEST) for each in counts])


def _counts(wanted: int, seen: int) -> bytes:
    """For every byte how many of the bits that are seen differ from the wanted ones."""
    unlike = EVERY ^ int.from_bytes(bytes((wanted,)) * 256, "little")
    unlike &= int.from_bytes(bytes((seen,)) * 256, "little")
    return unlike.to_bytes(256, "little").translate(ONES)


def is_sparse(vector: bytes) -> bool:
    """Whether many of its dimensions have no sign."""
    return vector.count(0) * SPARSE > len(vector)


def closest(rows: Sequence[Kept], *, vector: bytes, norm: float, limit: int) -> list[Scored]:
    """The most alike, best first; more than `limit` where the last of them are level."""
    weights = [(at, value) for at, value in enumerate(memoryview(vector).cast("b")) if value]
    rows = [row for row in rows if row[1]]
    if not weights or limit <= 0:
        return []
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
    and adding such numbers does it for all of them. Dimensions of one weight are added first.
    """
    dim, count = len(rows[0][2]), len(rows)
    joined = b"".join([row[2] for row in rows]).translate(FROM_ZERO)
    lanes = bytearray(4 * count)
    sums: dict[int, int] = {}
    for at, weight in weights:
        lanes[::4] = joined[at::dim]
        column = int.from_bytes(lanes, "little")
        sums[abs(weight)] = sums.get(abs(weight), 0) + (column if weight > 0 else -column)
    # In the middle of its four bytes no sum runs into the next one, whatever its sign.
    start = MIDDLE - 128 * sum([weight for _, weight in weights])
    total = int.from_bytes(start.to_bytes(4, "little") * count, "little")
    total += sum([weight * column for weight, column in sums.items()])
    dots = unpack(f"<{count}I", total.to_bytes(4 * count, "little"))
    return zip(rows, (dot - MIDDLE for dot in dots), strict=True)


def _best(scored: list[Scored], limit: int) -> list[Scored]:
    scored.sort(reverse=True)
    end = limit
    while end < len(scored) and scored[end][0] == scored[limit - 1][0]:
        end += 1
    return scored[:end]
