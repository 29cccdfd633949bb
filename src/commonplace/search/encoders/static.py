"""The static encoder: a text's vector is the mean of its pieces' rows, in the standard library.

Rows are added as whole numbers, a field of 64 bits a dimension: one addition of Python's does all
dimensions at once, and it is exact, so that every machine gives the same vector.

The weights file has a vocabulary that is looked up in place, and a row of bytes for each piece.
Opening it reads the header alone. All numbers are little-endian.

    header     magic, name, dim, rows, slots, longest piece in characters, bytes of the spellings
    slots      hash table: crc32 of a spelling -> row + 1, the next slots when that one is taken
    starts     where each row's spelling begins, and where the last one ends
    spellings  UTF-8, one after the other
    scales     what the row's bytes are multiplied with
    rows       a byte a dimension: 128 is nothing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from mmap import ACCESS_READ, mmap
from os.path import dirname, join
from struct import Struct, pack
from typing import TYPE_CHECKING
from zlib import crc32

from commonplace.model.errors import BadModel
from commonplace.search.encoders import Weigh, rounded
from commonplace.search.encoders.wordpiece import pieces, words

if TYPE_CHECKING:
    from commonplace.search.vectors.with_numpy import WeightsTable

FILE = join(dirname(__file__), "static.bin")
MAGIC = b"static\x00\x01"
HEADER = Struct("<8s32s5I")
WORD = Struct("<I")
SPAN = Struct("<2I")
SCALE = Struct("<H")
ZERO = 128

FIELD = 8
"""Bytes a dimension: a row's byte, its scale and a word's weight leave room for 2**24 words."""
UNIT = 256
HEAVIEST = 256.0
"""A word of a query weighs whole 256ths, up to this."""
KEPT_WORDS = 4096
"""Words whose sum is kept in memory, at 2 KB each."""
KEPT_CUTS = 65536
"""Words whose pieces are kept in memory when many texts are encoded."""
Sum = tuple[int, int]
"""Rows added up, with how often zero was added to each field."""


class WeightsFile:
    """A weights file, open."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self._bytes = mmap(file.fileno(), 0, access=ACCESS_READ)
        except FileNotFoundError:
            raise BadModel(path, "there is no such file") from None
        except (OSError, ValueError) as error:
            raise BadModel(path, str(error)) from None
        if len(self._bytes) < HEADER.size or self._bytes[: len(MAGIC)] != MAGIC:
            raise BadModel(path, "it is not a weights file of this version")
        _, name, self.dim, self.count, slots, self.longest, spelled = HEADER.unpack_from(
            self._bytes
        )
        self.name = name.rstrip(b"\x00").decode("utf-8", "replace")
        self._mask = slots - 1
        self._starts = HEADER.size + WORD.size * slots
        self._spellings = self._starts + WORD.size * (self.count + 1)
        self._scales = self._spellings + spelled
        self._rows = self._scales + SCALE.size * self.count
        if len(self._bytes) != self._rows + self.dim * self.count or not self.dim or not slots:
            raise BadModel(path, "it is not as long as it says")

    def find(self, piece: str) -> int:
        """The row of a piece; -1 when there is none."""
        wanted = piece.encode("utf-8", "replace")
        slot = crc32(wanted)
        for step in range(self._mask + 1):
            at = HEADER.size + WORD.size * (slot + step & self._mask)
            row: int = WORD.unpack_from(self._bytes, at)[0] - 1
            if row < 0:
                return -1
            if self._spelling(row) == wanted:
                return row
        return -1

    def spelling(self, row: int) -> str:
        return self._spelling(row).decode("utf-8")

    def _spelling(self, row: int) -> bytes:
        first, last = SPAN.unpack_from(self._bytes, self._starts + WORD.size * row)
        return self._bytes[self._spellings + first : self._spellings + last]

    def scale(self, row: int) -> int:
        scale: int = SCALE.unpack_from(self._bytes, self._scales + SCALE.size * row)[0]
        return scale

    def row(self, row: int) -> bytes:
        at = self._rows + self.dim * row
        return self._bytes[at : at + self.dim]

    def arrays(self) -> tuple[bytes, bytes]:
        """All scales and all rows."""
        return self._bytes[self._scales : self._rows], self._bytes[self._rows :]


class StaticEncoder:
    """Vectors from a table of rows that comes with the package."""

    leaves_machine = False

    def __init__(self, path: str = "") -> None:
        self._weights = WeightsFile(path or FILE)
        self.model, self.dim = self._weights.name, self._weights.dim
        self._numbers = Struct(f"<{self.dim}Q")
        self._word = lru_cache(KEPT_WORDS)(self._summed)
        self._cut = lru_cache(KEPT_CUTS)(self._pieces)
        self._table: WeightsTable | None = None

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        from commonplace.search.vectors import with_numpy

        if with_numpy.worth_it(len(texts)):
            return self._in_bulk(texts)
        return [self._vector(self._added(words(text))) for text in texts]

    def _in_bulk(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        from commonplace.search.vectors.with_numpy import WeightsTable

        if self._table is None:
            scales, rows = self._weights.arrays()
            self._table = WeightsTable(scales, rows, dim=self.dim, zero=ZERO)
        return self._table.vectors([self._rows(text) for text in texts])

    def _rows(self, text: str) -> list[int]:
        return list(chain.from_iterable(map(self._cut, words(text))))

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        """The vector of a question, each word as heavy as `weigh` says.

        Signs weigh nothing then: how rare they are says nothing.
        """
        if weigh is None:
            return self._vector(self._added(words(text)))
        total = zeros = 0
        told = list(filter(str.isalnum, words(text)))
        worth = weigh(told)
        for word in told:
            weight = round(UNIT * min(max(worth[word], 0.0), HEAVIEST))
            number, zero = self._word(word)
            total += weight * number
            zeros += weight * zero
        return self._vector((total, zeros))

    def _added(self, found: list[str]) -> Sum:
        total = zeros = 0
        # More than half of a long text's words stand in it before.
        for word, times in Counter(found).items():
            number, zero = self._word(word)
            total += times * number if times > 1 else number
            zeros += times * zero
        return total, zeros

    def _summed(self, word: str) -> Sum:
        """The rows of one word's pieces, added up."""
        weights = self._weights
        total = zeros = 0
        for row in self._pieces(word):
            scale = weights.scale(row)
            spread = bytearray(FIELD * self.dim)
            spread[::FIELD] = weights.row(row)
            total += scale * int.from_bytes(spread, "little")
            zeros += scale
        return total, zeros

    def _pieces(self, word: str) -> list[int]:
        return pieces(word, self._weights.find, longest=self._weights.longest)

    def _vector(self, summed: Sum) -> tuple[bytes, float]:
        total, zeros = summed
        zero = ZERO * zeros
        return rounded([number - zero for number in self._numbers.unpack(self._fields(total))])

    def _fields(self, total: int) -> bytes:
        return total.to_bytes(FIELD * self.dim, "little")


def written(
    name: str, *, spellings: Sequence[str], scales: Sequence[int], rows: Sequence[bytes]
) -> bytes:
    """A weights file. A row's bytes are its numbers + 128."""
    spelled = [each.encode("utf-8") for each in spellings]
    starts = [0]
    for each in spelled:
        starts.append(starts[-1] + len(each))
    slots = _slots(spelled)
    header = HEADER.pack(
        MAGIC,
        name.encode("utf-8"),
        len(rows[0]),
        len(rows),
        len(slots),
        max(map(len, spellings)),
        starts[-1],
    )
    return b"".join(
        (
            header,
            pack(f"<{len(slots)}I", *slots),
            pack(f"<{len(starts)}I", *starts),
            *spelled,
            pack(f"<{len(scales)}H", *scales),
            *rows,
        )
    )


def _slots(spelled: Sequence[bytes]) -> list[int]:
    size = 1 << (2 * len(spelled)).bit_length()
    slots = [0] * size
    for row, each in enumerate(spelled):
        slot = crc32(each) % size
        while slots[slot]:
            slot = (slot + 1) % size
        slots[slot] = row + 1
    return slots
