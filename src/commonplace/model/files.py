"""Paths, the digest of bytes, and the name of a file that is not whole yet."""

from __future__ import annotations

import hashlib
import os
import threading

StrPath = str | os.PathLike[str]


def digest(data: bytes) -> str:
    """Half of the SHA-256 of some bytes: equal bytes have an equal digest."""
    return hashlib.sha256(data).hexdigest()[:32]


def unfinished(path: str) -> str:
    """The name of a file that becomes `path` once it is whole; no other thread writes one like it.

    A killed writer leaves a hidden file, which nobody takes for the finished one.
    """
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.getpid()}-{threading.get_ident()}.tmp")
