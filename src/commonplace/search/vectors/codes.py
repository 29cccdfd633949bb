"""Codes in memory: those of one model, page by page, to be compared with a question's.

What is asked often is put into forms that are compared faster, and the vectors that were read stay
with their page. It does not know the tables that pages are read from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from commonplace.model.lazy import Lazy
from commonplace.search.vectors.cosine import Kept, differences, dots, signs, width_of
from commonplace.search.vectors.planes import Digits, Planes, Threes, least

if TYPE_CHECKING:
    from commonplace.search.vectors import with_numpy
else:
    with_numpy = Lazy("search.vectors.with_numpy")

PAGE_BITS = 8
"""A page has the codes of so many bits of keys: small enough to be made anew after each change."""
BLOCK_BITS = 10
"""So many are turned into planes at once, as long as none of them changes."""
WIDE_BITS = 14
"""And so many are compared at once."""
RESTED = 16
"""How often codes are compared as they are before they are put into a form that is compared faster.
Those that are written to over and over never get there.
"""
TURNED = 4
"""How many are put into such a form for one question, which takes some milliseconds."""
MANY = 100_000
"""numpy is imported for more codes than this once they have rested; for fewer it is used where it
is loaded.
"""


def are_many(count: int) -> bool:
    return count > MANY


def keys_of(page: int, slots: Sequence[int]) -> list[int]:
    """The keys of a page that have these slots in it."""
    first = page << PAGE_BITS
    if slots and slots[-1] - slots[0] == len(slots) - 1:
        return [*range(first + slots[0], first + slots[-1] + 1)]  # Nearly always none is missing.
    return [first + slot for slot in slots]


class _Rest:
    """Counts how often something was compared without a change."""

    _rests = 0

    def rested(self) -> bool:
        self._rests += 1
        return self._rests > RESTED


class Coded(NamedTuple):
    """Keys, and their codes one after another."""

    keys: list[int]
    blob: bytes


class Page(_Rest):
    """The codes of one page of keys, read when they are looked at, and the model's state when they
    were made.
    """

    def __init__(self, state: int, count: int, read: Callable[[], Coded]) -> None:
        self.state = state
        self.count = count
        self._read = read
        self.kept: dict[int, Kept] = {}
        """Vectors that were read, which are as they were for as long as the codes are."""
        self.whole = False
        """Whether all of them were."""

    @classmethod
    def of(cls, state: int, coded: Coded) -> Page:
        return cls(state, len(coded.keys), lambda: coded)

    @cached_property
    def coded(self) -> Coded:
        return self._read()


class Block(_Rest):
    """The codes of several pages, which are turned at once."""

    def __init__(self, pages: dict[int, Page], width: int) -> None:
        self.pages = pages
        self.planes: Planes | None = None
        self._width = width

    @cached_property
    def keys(self) -> list[int]:
        return [*chain.from_iterable([page.coded.keys for page in self.pages.values()])]

    @cached_property
    def matrix(self) -> with_numpy.Matrix:
        """The codes as numpy takes them."""
        return with_numpy.Matrix.of(self.codes(), self._width, self.keys)

    def turn(self) -> None:
        self.planes = Planes(self.codes(), self._width)

    def codes(self) -> bytes:
        return b"".join([page.coded.blob for page in self.pages.values()])

    def codes_of(self, places: Iterable[int]) -> bytes:
        codes, width = self.codes(), self._width
        return b"".join([codes[at * width : (at + 1) * width] for at in places])


class _Counted(NamedTuple):
    """How much the codes of some keys differ from a question's."""

    keys: list[int]
    planes: Planes | Threes
    digits: Digits


class _Wide(_Rest):
    """Turned blocks side by side."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.threes: Threes | None = None
        self._keys: list[int] = []

    def turn(self) -> None:
        self._keys = [*chain.from_iterable([block.keys for block in self.blocks])]
        self.threes = Threes([block.planes for block in self.blocks if block.planes])

    def compared(self, code: int, mask: int, *, every: bool) -> list[_Counted]:
        """With a code of which the bits of the mask count, or every one."""
        if self.threes is not None and every:
            return [_Counted(self._keys, self.threes, self.threes.differences(code))]
        return [
            _Counted(block.keys, block.planes, block.planes.differences(code, mask))
            for block in self.blocks
            if block.planes
        ]


class Compared(NamedTuple):
    """How much every code differs from a question's."""

    turned: Sequence[_Counted]
    keys: list[int]
    """Of those that were compared plainly."""
    distances: bytes

    @property
    def total(self) -> int:
        return len(self.keys) + sum([len(part.keys) for part in self.turned])

    def least(self, count: int) -> list[int]:
        """The keys of those that differ least; more where the last of them are level."""
        planes = [(part.planes, part.digits) for part in self.turned]
        turned, plain = least(planes, self.distances, count)
        found = [part.keys[at] for part, places in zip(self.turned, turned) for at in places]
        return found + [self.keys[at] for at in plain]


class Codes(_Rest):
    """The codes of one model, as they were in one state of it."""

    def __init__(
        self,
        state: int,
        blocks: dict[int, Block],
        before: Codes | None = None,
    ) -> None:
        self.state = state
        self.blocks = blocks
        self.pages = {at: page for block in blocks.values() for at, page in block.pages.items()}
        self._total = sum([page.count for page in self.pages.values()])
        self._wides: dict[int, _Wide] = before._wides if before else {}
        self._rests = before._rests if before else 0
        self._joined: with_numpy.Joined | None = None

    @classmethod
    def following(
        cls,
        before: Codes | None,
        state: int,
        noted: Mapping[int, int],
        *,
        width: int,
        read: Callable[[int], Page],
    ) -> Codes:
        """The codes in another state, in which pages have these: only those are read that changed.

        A block stays as it is, turned or not, if all of its pages do.
        """
        known = before.pages if before else {}
        pages = {
            at: known[at] if at in known and known[at].state == noted[at] else read(at)
            for at in sorted(noted)
        }
        found: dict[int, dict[int, Page]] = {}
        for at, page in pages.items():
            found.setdefault(at >> BLOCK_BITS - PAGE_BITS, {})[at] = page
        blocks = before.blocks if before else {}
        fresh = {
            at: blocks[at] if at in blocks and blocks[at].pages == some else Block(some, width)
            for at, some in found.items()
        }
        return cls(state, fresh, before)

    def compared(self, vector: bytes) -> Compared | with_numpy.Distances:
        """With all of them."""
        if self._by_numpy():
            return self._side_by_side(width_of(len(vector))).compared(vector)
        self._turn_some()
        code, mask = signs(vector)
        every = mask.bit_count() == len(vector)
        turned = [part for wide in self._wide() for part in wide.compared(code, mask, every=every)]
        plain = [block for block in self.blocks.values() if block.planes is None]
        keys = [*chain.from_iterable([block.keys for block in plain])]
        codes = b"".join([block.codes() for block in plain])
        return Compared(turned, keys, differences(codes, vector) if codes else b"")

    def _by_numpy(self) -> bool:
        there = "numpy" in sys.modules or (self.rested() and are_many(self._total))
        return bool(there and self._total and with_numpy.usable())

    def _side_by_side(self, width: int) -> with_numpy.Joined:
        if self._joined is None:
            self._joined = with_numpy.Joined(self._matrices(), width)
        return self._joined

    def _matrices(self) -> list[with_numpy.Matrix]:
        return [with_numpy.Matrix.joined([block.matrix for block in self.blocks.values()])]

    def multiply(self, vectors: Sequence[bytes], vector: bytes) -> list[int]:
        """The dot product of each of these with one, in the way that codes were compared."""
        return (with_numpy.dots if self._joined else dots)(vectors, vector)

    def _turn_some(self) -> None:
        """Put what rested into its faster form, a little at a time: no question is to take long."""
        waiting: list[Block | _Wide] = [
            *(block for block in self.blocks.values() if block.planes is None),
            *(wide for wide in self._wide() if wide.threes is None),
        ]
        for rested in islice((each for each in waiting if each.rested()), TURNED):
            rested.turn()

    def _wide(self) -> list[_Wide]:
        """What is turned, side by side; those stay as they are whose blocks do."""
        found: dict[int, list[Block]] = {}
        for at, block in self.blocks.items():
            if block.planes is not None:
                found.setdefault(at >> WIDE_BITS - BLOCK_BITS, []).append(block)
        known = self._wides
        self._wides = {
            at: known[at] if at in known and known[at].blocks == blocks else _Wide(blocks)
            for at, blocks in found.items()
        }
        return [*self._wides.values()]

    def compared_among(self, vector: bytes, allowed: frozenset[int]) -> Compared:
        """With those of these keys."""
        keys: list[int] = []
        codes = b""
        for block in self.blocks.values():
            places = [at for at, key in enumerate(block.keys) if key in allowed]
            keys += [block.keys[at] for at in places]
            codes += block.codes_of(places)
        return Compared([], keys, differences(codes, vector))

    def kept(self, keys: Sequence[int]) -> dict[int, Kept]:
        """Those of these vectors that are at hand."""
        pages = self.pages
        found = [(key, pages[key >> PAGE_BITS].kept.get(key)) for key in keys]
        return {key: row for key, row in found if row}

    def to_read_whole(self, most: int) -> list[int]:
        """A few pages that rested, all vectors of which may as well be at hand; none if those of
        all pages are more than `most`.
        """
        if self._total > most:
            return []
        partly = (at for at, page in self.pages.items() if not page.whole)
        return [*islice((at for at in partly if self.pages[at].rested()), TURNED)]

    def keep_whole(self, at: int, rows: Iterable[Kept]) -> None:
        """Have all vectors of a page at hand."""
        self.pages[at].kept = {row[0]: row for row in rows}
        self.pages[at].whole = True

    def keep(self, rows: Iterable[Kept]) -> None:
        """Have these vectors at hand from now on."""
        for row in rows:
            self.pages[row[0] >> PAGE_BITS].kept[row[0]] = row

    def let_go(self) -> None:
        """Have no vectors at hand any more."""
        for page in self.pages.values():
            page.kept, page.whole = {}, False
