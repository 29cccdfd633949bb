"""What a short command takes from inside the standard library, to be spared the rest of a module.

`hashlib` loads OpenSSL, `threading` and `weakref` much besides a lock and a set: hooks and shells
would pay for that on every call, and more than for a search. Where an interpreter is made another
way, the public modules serve. It knows nothing of what is done with them.
"""

from __future__ import annotations

import os

from commonplace.model.hints import TYPE_CHECKING

__all__ = ["RLock", "WeakSet", "blake2b", "digest", "get_ident", "local", "ref", "unfinished"]

LONG = 65_536
"""Bytes from which OpenSSL is worth loading: it is several times as fast."""

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
    from threading import RLock, get_ident, local
    from weakref import WeakSet, ref
else:
    try:
        from _blake2 import blake2b
        from _thread import RLock, get_ident
        from _thread import _local as local
        from _weakref import ref
        from _weakrefset import WeakSet
    except ImportError:  # pragma: no cover - another interpreter's branch
        from hashlib import blake2b
        from threading import RLock, get_ident, local
        from weakref import WeakSet, ref

    try:
        from _sha2 import sha256
    except ImportError:  # Before Python 3.12, or another interpreter.
        try:
            from _sha256 import sha256
        except ImportError:  # pragma: no cover - another interpreter's branch
            from hashlib import sha256


def digest(data: bytes) -> str:
    """The mark by which the same bytes are known again: half of their SHA-256."""
    if len(data) < LONG:
        return sha256(data).hexdigest()[:32]
    import hashlib

    return hashlib.sha256(data).hexdigest()[:32]


def unfinished(path: str) -> str:
    """The name of a file that becomes `path` once it is whole; no other thread writes one like it.

    Who is killed meanwhile leaves it hidden, and nobody takes it for what it would have been.
    """
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.getpid()}-{get_ident()}.tmp")
