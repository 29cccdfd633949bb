"""The codes of one model in memory, in pages, to be compared with the code of a question.

The vectors that were read stay with the page of their codes. Both go when the page has changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from commonplace.search.vectors.cosine import (
    Kept,
    Multiply,
    columns_of,
    differences,
    dots,
    least,
)

PAGE_BITS = 8
"""A page has the codes of so many bits of keys: small enough to be made anew after each change."""
RESTED = 16
"""How often codes are compared before numpy is imported for them."""
MANY = 20_000
"""numpy is imported for more codes than this; for fewer it is used where it is loaded already."""


def keys_of(page: int, slots: Sequence[int]) -> list[int]:
    """The keys of a page that have these slots in it."""
    first = page << PAGE_BITS
    if slots and slots[-1] - slots[0] == len(slots) - 1:
        return [*range(first + slots[0], first + slots[-1] + 1)]  # Nearly always none is missing.
    return [first + slot for slot in slots]


class Coded(NamedTuple):
    """Keys, and their codes one after another."""

    keys: list[int]
    blob: bytes


class Page(NamedTuple):
    """The codes of one page of keys, the model's state when they were made, and the vectors that
    were read since.
    """

    state: int
    coded: Coded
    vectors: dict[int, Kept]


class Compared(NamedTuple):
    """How much every code differs from the code of a question."""

    keys: Sequence[int]
    distances: bytes

    def least(self, count: int) -> list[int]:
        """The keys of those that differ least; more where the last of them are level."""
        return [self.keys[at] for at in least(self.distances, count)]


class Codes:
    """The codes of one model, as they were in one state of it."""

    def __init__(self, state: int, pages: Mapping[int, Page], width: int, looks: int = 0) -> None:
        self.state = state
        self.pages = pages
        self._width = width
        self._looks = looks

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
        """The codes in another state, in which pages have these: only changed pages are read."""
        known = before.pages if before else {}
        pages = {
            at: known[at] if at in known and known[at].state == noted[at] else read(at)
            for at in sorted(noted)
        }
        return cls(state, pages, width, before._looks if before else 0)

    @cached_property
    def _all(self) -> Coded:
        """The codes of all pages."""
        found = [page.coded for page in self.pages.values()]
        keys = [*chain.from_iterable([coded.keys for coded in found])]
        return Coded(keys, b"".join([coded.blob for coded in found]))

    @cached_property
    def _columns(self) -> list[bytes]:
        return columns_of(self._all.blob, self._width)

    def compared(self, vector: bytes) -> Compared:
        """How much all of them differ from a vector's code."""
        self._looks += 1
        if not self._all.keys:
            return Compared([], b"")
        if self.by_numpy():
            from commonplace.search.vectors import with_numpy

            return Compared(self._all.keys, with_numpy.differences(self._all.blob, vector))
        return Compared(self._all.keys, differences(self._columns, vector))

    def compared_among(self, vector: bytes, allowed: frozenset[int]) -> Compared:
        """How much those of these keys do."""
        width = self._width
        keys, blob = self._all
        places = [at for at, key in enumerate(keys) if key in allowed]
        codes = b"".join([blob[at * width : (at + 1) * width] for at in places])
        return Compared([keys[at] for at in places], differences(columns_of(codes, width), vector))

    @property
    def multiply(self) -> Multiply:
        """What gives the dot products of vectors with one."""
        if self.by_numpy():
            from commonplace.search.vectors import with_numpy

            return with_numpy.dots
        return dots

    def by_numpy(self) -> bool:
        """Whether numpy is loaded, or worth the time to import it, and is installed."""
        if "numpy" not in sys.modules and (self._looks <= RESTED or len(self._all.keys) <= MANY):
            return False
        from commonplace.search.vectors import with_numpy

        return with_numpy.usable()

    def kept(self, keys: Sequence[int]) -> dict[int, Kept]:
        """Those of these vectors that are in memory."""
        pages = self.pages
        found = [(key, pages[key >> PAGE_BITS].vectors.get(key)) for key in keys]
        return {key: row for key, row in found if row}

    def keep(self, rows: Iterable[Kept]) -> None:
        """Keep these vectors in memory."""
        for row in rows:
            self.pages[row[0] >> PAGE_BITS].vectors[row[0]] = row

    def let_go(self) -> None:
        """Keep no vectors in memory any more."""
        for page in self.pages.values():
            page.vectors.clear()
