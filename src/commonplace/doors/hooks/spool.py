"""Work that a session's end leaves for the next start: one small file a session.

A client kills what a session's end starts after about a second, so only this is written then. A
file is there whole or not at all, and is taken away when its work is done: work may be done twice.
It does not know what the work is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress

from commonplace.hints import Any, StrPath
from commonplace.lean import digest, unfinished

AT_ONCE = 8
"""Sessions whose work one start takes over: the person waits."""
LARGEST = 64 * 1024


def leave(state: StrPath, session: str, work: Mapping[str, Any]) -> None:
    """Write down what is left to do for a session, instead of what was left before."""
    directory = os.path.join(state, "spool")
    os.makedirs(directory, 0o700, exist_ok=True)
    path = os.path.join(directory, f"{digest(session.encode())}.json")
    fresh = unfinished(path)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, json.dumps(dict(work)).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.replace(fresh, path)


def waiting(state: StrPath) -> Iterator[dict[str, Any]]:
    """What is left to do, each taken away after its turn. One that is no such work is dropped."""
    try:
        directory = os.path.join(state, "spool")
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except OSError:
        return
    for name in names[:AT_ONCE]:
        # What is left meanwhile gets the old name, and is not taken away with this.
        taken = os.path.join(directory, f"{name.partition('.')[0]}.{os.urandom(6).hex()}.json")
        with suppress(FileNotFoundError):
            os.rename(os.path.join(directory, name), taken)
            yield _read(taken)
            os.unlink(taken)


def _read(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            work = json.loads(file.read(LARGEST))
    except (OSError, ValueError):
        return {}
    return work if isinstance(work, dict) else {}
