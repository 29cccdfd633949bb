"""The file of a static encoder: a vocabulary that is looked up in place, a row of bytes a piece.

Opening it reads a header and nothing else. It does not know how texts are cut or rows put together.

    header     magic, name, dim, rows, slots, longest piece in characters, bytes of the spellings
    slots      hash table: crc32 of a spelling -> row + 1, the next slots when that one is taken
    starts     where each row's spelling begins, and where the last one ends
    spellings  UTF-8, one after the other
    scales     what the row's bytes are multiplied with
    rows       a byte a dimension: 128 is nothing

All numbers are little-endian.
"""

from __future__ import annotations

from collections.abc import Sequence
from mmap import ACCESS_READ, mmap
from struct import Struct, pack
from zlib import crc32

from commonplace.model.errors import BadModel, NoSuchModel

MAGIC = b"static\x00\x01"
HEADER = Struct("<8s32s5I")
WORD = Struct("<I")
SPAN = Struct("<2I")
SCALE = Struct("<H")
ZERO = 128


class Weights:
    """A weights file, open."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self._bytes = mmap(file.fileno(), 0, access=ACCESS_READ)
        except FileNotFoundError:
            raise NoSuchModel("static", path) from None
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
