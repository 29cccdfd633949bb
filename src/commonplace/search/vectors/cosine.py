"""Find the most alike of many vectors by cosine, in the standard library.

A vector is one signed byte a dimension, with its length beside it. Its code is the sign of every
dimension as one number: how many bits of two codes differ tells roughly, and fast, how far two
vectors are apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import mul
from struct import unpack

Kept = tuple[int, float, bytes]
"""A key, the vector's length and the vector."""
Scored = tuple[float, int]
"""A cosine and a key."""
Multiply = Callable[[Sequence[bytes], bytes], list[int]]
"""What gives the dot product of each of many vectors with one."""

AT_ONCE = 4096
"""So many vectors stay in the processor's cache."""
NARROW = 256
"""Dimensions up to which a dot product fits into three bytes."""
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


def columns_of(blob: bytes, width: int) -> list[bytes]:
    """The first byte of every code in a blob, the second byte of every code, and so on."""
    return [blob[at::width] for at in range(width)]


def differences(columns: Sequence[bytes], vector: bytes) -> bytes:
    """How many signs differ from the vector's, where the vector has any, for each code.

    A byte of every code at a time: a table turns it into its count of differences, and long
    numbers are added up that have the counts of all codes in them, in two bytes each.
    """
    width, count = len(columns), len(columns[0])
    wanted, seen = (number.to_bytes(width, "little") for number in signs(vector))
    total = 0
    for first in range(0, width, IN_A_BYTE):
        part = 0
        for at in range(first, min(first + IN_A_BYTE, width)):
            column = columns[at].translate(_counts(wanted[at], seen[at]))
            part += int.from_bytes(column, "little")
        lanes = bytearray(2 * count)
        lanes[::2] = part.to_bytes(count, "little")
        total += int.from_bytes(lanes, "little")
    counts = unpack(f"<{count}H", total.to_bytes(2 * count, "little"))
    try:
        return bytes(counts)
    except ValueError:
        return bytes([min(each, FARTHEST) for each in counts])


def least(distances: bytes, count: int) -> list[int]:
    """Where the least distances stand: so many, or more when the last of them are level."""
    nearest, farthest = 0, FARTHEST
    while nearest < farthest:
        middle = (nearest + farthest) // 2
        if _within(distances, middle).count(1) >= count:
            farthest = middle
        else:
            nearest = middle + 1
    marks, found = _within(distances, farthest), []
    at = marks.find(1)
    while at >= 0:
        found.append(at)
        at = marks.find(1, at + 1)
    return found


def _within(distances: bytes, most: int) -> bytes:
    """A one for each distance that is not more, a zero for the others."""
    return distances.translate((b"\1" * (most + 1) + bytes(256))[:256])


def _counts(wanted: int, seen: int) -> bytes:
    """For every byte how many of the bits that are seen differ from the wanted ones."""
    unlike = EVERY ^ int.from_bytes(bytes((wanted,)) * 256, "little")
    unlike &= int.from_bytes(bytes((seen,)) * 256, "little")
    return unlike.to_bytes(256, "little").translate(ONES)


def is_sparse(vector: bytes) -> bool:
    """Whether many of its dimensions have no sign."""
    return vector.count(0) * SPARSE > len(vector)


def closest(
    rows: Sequence[Kept],
    *,
    vector: bytes,
    norm: float,
    limit: int,
    multiply: Multiply | None = None,
) -> list[Scored]:
    """The most alike, best first; more than `limit` where the last of them are level.

    `multiply` is `dots`, or another way to the same numbers.
    """
    rows = [row for row in rows if row[1]]
    if not any(vector) or limit <= 0:
        return []
    return _best(_scored(rows, vector, norm, multiply or dots), limit)


def _scored(rows: Sequence[Kept], vector: bytes, norm: float, multiply: Multiply) -> list[Scored]:
    scored: list[Scored] = []
    for at in range(0, len(rows), AT_ONCE):
        some = rows[at : at + AT_ONCE]
        found = multiply([kept for _, _, kept in some], vector)
        scored += [(dot / (norm * length), key) for (key, length, _), dot in zip(some, found)]
    return scored


def dots(vectors: Sequence[bytes], vector: bytes) -> list[int]:
    """The dot product of each with one, all at once.

    One dimension of all of them is one long number with a lane for each, so that multiplying and
    adding such numbers does it for every one.
    """
    lane = 3 if len(vector) <= NARROW else 4
    width = lane * len(vectors)
    # In the middle of its lane no sum runs into the next one, whatever its sign.
    middle = 1 << 8 * lane - 1
    weights = {at: value for at, value in enumerate(memoryview(vector).cast("b")) if value}
    start = (middle - 128 * sum(weights.values())).to_bytes(lane, "little") * len(vectors)
    columns = _columns(vectors, weights, lane)
    total = int.from_bytes(start, "little") + sum(map(mul, weights.values(), columns))
    data = total.to_bytes(width, "little")
    numbers = bytearray(4 * len(vectors))
    for at in range(lane):
        numbers[at::4] = data[at::lane]
    return [dot - middle for dot in unpack(f"<{len(vectors)}I", numbers)]


def _columns(vectors: Sequence[bytes], dimensions: Iterable[int], lane: int) -> list[int]:
    """Some dimensions of all vectors, as numbers from 0 to 255 in lanes of one long number."""
    width = lane * len(vectors)
    lanes = bytearray(width * len(vectors[0]))
    for at, vector in enumerate(vectors):
        lanes[lane * at :: width] = vector.translate(FROM_ZERO)
    return [int.from_bytes(lanes[at * width : (at + 1) * width], "little") for at in dimensions]


def _best(scored: list[Scored], limit: int) -> list[Scored]:
    scored.sort(reverse=True)
    end = limit
    while end < len(scored) and scored[end][0] == scored[limit - 1][0]:
        end += 1
    return scored[:end]
