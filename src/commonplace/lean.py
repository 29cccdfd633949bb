"""What a short command takes from inside the standard library, to be spared the rest of a module.

`hashlib` loads OpenSSL, `threading` and `weakref` much besides a lock and a set: hooks and shells
would pay for that on every call, and more than for a search. Where an interpreter is made another
way, the public modules serve. It knows nothing of what is done with them.
"""

from __future__ import annotations

from commonplace.hints import TYPE_CHECKING

__all__ = ["RLock", "WeakSet", "blake2b", "digest", "local", "ref"]

LONG = 65_536
"""Bytes from which OpenSSL is worth loading: it is several times as fast."""

if TYPE_CHECKING:
    from hashlib import blake2b, sha256
    from threading import RLock, local
    from weakref import WeakSet, ref
else:
    try:
        from _blake2 import blake2b
        from _thread import RLock
        from _thread import _local as local
        from _weakref import ref
        from _weakrefset import WeakSet
    except ImportError:  # pragma: no cover - another interpreter's branch
        from hashlib import blake2b
        from threading import RLock, local
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
