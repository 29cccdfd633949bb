"""Codes turned on their side: one long number for each bit, which has that bit of every code.

Adding such numbers counts for thousands of codes at once how many bits differ from a question's.
To turn codes takes as long as to compare them plainly some twenty times, so it is for those that
are asked again and again. It does not know what a code is of or where it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import compress

Digits = list[int]
"""Numbers of many codes at once: the ones of all of them, the twos, the fours …"""


class Planes:
    """The bits of many codes. The first code stands in the highest place of each number."""

    def __init__(self, blob: bytes, width: int) -> None:
        columns = (blob[at::width] for at in range(width))
        bits = _digits()
        self._bits = [int(column.translate(bit), 2) for column in columns for bit in bits]
        self.count = len(blob) // width
        self.everyone = (1 << self.count) - 1

    def differences(self, code: int, mask: int) -> Digits:
        """How many bits of each code differ from this one, among those of the mask."""
        width = len(self._bits)
        signs, seen = (f"{number:0{width}b}"[::-1] for number in (code, mask))
        everyone = self.everyone
        unlike = [
            plane if sign == "0" else plane ^ everyone for plane, sign in zip(self._bits, signs)
        ]
        return _added(list(compress(unlike, map(int, seen))), [])

    def bits(self) -> list[int]:
        return self._bits


class Threes:
    """The bits of the codes of several planes, added up beforehand by three, for each way in which
    a question may have them. That leaves half of the work for when it is asked.
    """

    def __init__(self, several: Sequence[Planes]) -> None:
        self.count = sum([planes.count for planes in several])
        self.everyone = (1 << self.count) - 1
        bits = [_joined(several, column) for column in zip(*[planes.bits() for planes in several])]
        bits += [0] * (-len(bits) % 3)
        self._ways = [self._added(*bits[at : at + 3]) for at in range(0, len(bits), 3)]

    def _added(self, one: int, two: int, three: int) -> list[tuple[int, int]]:
        """Ones and twos of how many of three bits differ, for each of the eight there may be."""
        everyone = self.everyone
        odd = one ^ two ^ three
        # The question's first bit is the lowest. Where it has the opposite of three bits, so has
        # the sum of what differs.
        ones = [odd, odd ^ everyone]
        twos = [
            _most(one, two, three),
            _most(one ^ everyone, two, three),
            _most(one, two ^ everyone, three),
            _most(one ^ everyone, two ^ everyone, three),
        ]
        twos += [each ^ everyone for each in reversed(twos)]
        return [(ones[way.bit_count() % 2], twos[way]) for way in range(8)]

    def differences(self, code: int) -> Digits:
        """How many bits of each code differ from this one."""
        found = [ways[code >> 3 * at & 7] for at, ways in enumerate(self._ways)]
        return _added([one for one, _ in found], [two for _, two in found])


@cache
def _digits() -> tuple[bytes, ...]:
    """For each bit of a byte: every byte as the digit of that bit."""
    return tuple(bytes(0x30 + (value >> bit & 1) for value in range(256)) for bit in range(8))


def _joined(several: Sequence[Planes], column: Sequence[int]) -> int:
    """One bit of all codes, the first of them still in the highest place."""
    joined = 0
    for planes, bits in zip(several, column):
        joined = joined << planes.count | bits
    return joined


def _most(one: int, two: int, three: int) -> int:
    """Where at least two of three are set."""
    return one & two | (one ^ two) & three


def _added(level: list[int], carried: list[int]) -> Digits:
    """The sum of ones and zeros, three at a time: what they carry belongs to the next digit.

    `carried` is what belongs to the second digit from the start.
    """
    digits: Digits = []
    while level:
        while len(level) > 2:
            one, two, three = level.pop(), level.pop(), level.pop()
            odd = one ^ two
            level.append(odd ^ three)
            carried.append(one & two | odd & three)
        if len(level) == 2:
            carried.append(level[0] & level[1])
        digits.append(level[0] ^ level[1] if len(level) == 2 else level[0])
        level, carried = carried, []
    return digits


def least(
    turned: Sequence[tuple[Planes | Threes, Digits]], plain: bytes, count: int
) -> tuple[list[list[int]], list[int]]:
    """Where the least differences stand: in each of the planes, and in those counted plainly.

    So many, or more when the last of them are level.
    """
    level, below = [planes.everyone for planes, _ in turned], [0] * len(turned)
    farthest = found = 0
    for place in reversed(range(max((len(digits) for _, digits in turned), default=8))):
        low = [mask & ~digits[place] for mask, (_, digits) in zip(level, turned)]
        here = sum([mask.bit_count() for mask in low])
        middle = farthest + (1 << place) - 1
        if found + here + _within(plain, middle).count(1) >= count:
            level = low
            continue
        found, farthest = found + here, middle + 1
        level = [mask ^ less for mask, less in zip(level, low)]
        below = [mask | less for mask, less in zip(below, low)]
    marked = [
        f"{one | other:0{planes.count}b}" for one, other, (planes, _) in zip(level, below, turned)
    ]
    return [_places(marks.encode(), 0x31) for marks in marked], _places(_within(plain, farthest), 1)


def _within(distances: bytes, most: int) -> bytes:
    """A one for each distance that is not more, a zero for the others."""
    return distances.translate((b"\1" * (most + 1) + bytes(256))[:256])


def _places(marks: bytes, mark: int) -> list[int]:
    """Where a mark stands."""
    places: list[int] = []
    at = marks.find(mark)
    while at >= 0:
        places.append(at)
        at = marks.find(mark, at + 1)
    return places
