"""Files as values: paths, the digest of bytes, the signature of a document."""

from __future__ import annotations

import hashlib
import os

from msgspec import Struct

StrPath = str | os.PathLike[str]


def digest(data: bytes) -> str:
    """Half of the SHA-256 of some bytes: equal bytes have an equal digest."""
    return hashlib.sha256(data).hexdigest()[:32]


class Signature(Struct, frozen=True):
    """What tells, without reading it, that a document is still the one that was read."""

    size: int
    mtime_ns: int
    inode: int
    digest: str = ""
    racy: bool = False
    """Whether it was written so short ago that a later change may have left the same time."""
    atime_ns: int = 0
    """When somebody else had last read it."""


class Known(Struct, frozen=True):
    """What the index knows of one document."""

    signature: Signature
    lines: int
    base: int
    """The journal position of its last whole text."""
    glimpse: str = ""
    """What was seen of outside saves that are not taken in yet, as whoever notes it writes it."""
