"""Work that a session's end leaves for the next start: one small file a session.

A client kills the hook of a session's end after about a second, so the hook writes only this file.
A file is there whole or not at all, and goes when its work is done: work may be done twice. The
file names other files to read, so it is kept with the person's own data, not in a vault, which may
be a stranger's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from commonplace.model.errors import StrangeFile
from commonplace.model.files import StrPath, digest
from commonplace.storage import machine_files

AT_ONCE = 8
"""Sessions whose work one start takes over: the person waits."""
LARGEST = 64 * 1024
DEPTH = 2
"""The spool's directory, and the one that it is in."""


def leave(own: StrPath, session: str, work: Mapping[str, Any]) -> None:
    """Write down what is left to do for a session, instead of what was left before."""
    machine_files.make_private(own)
    directory = os.path.join(own, "spool")
    machine_files.make_directory(directory)
    path = os.path.join(directory, f"{digest(session.encode())}.json")
    machine_files.write(path, json.dumps(dict(work)).encode(), depth=DEPTH, durable=True)


def waiting(own: StrPath) -> Iterator[dict[str, Any]]:
    """What is left to do, each taken away after its turn. One that is no such work is dropped."""
    directory = os.path.join(own, "spool")
    try:
        found = machine_files.names_in(directory)
    except (OSError, StrangeFile):
        return
    for name in sorted(name for name in found if name.endswith(".json"))[:AT_ONCE]:
        # What is left meanwhile gets the old name, and is not taken away with this.
        taken = f"{name.partition('.')[0]}.{os.urandom(6).hex()}.json"
        with suppress(FileNotFoundError):
            machine_files.rename(os.path.join(directory, name), taken, depth=DEPTH)
            yield _read(os.path.join(directory, taken))
            machine_files.remove(os.path.join(directory, taken), depth=DEPTH)


def _read(path: str) -> dict[str, Any]:
    try:
        work = json.loads(machine_files.read(path, depth=DEPTH, most=LARGEST))
    except (OSError, StrangeFile, ValueError, RecursionError):
        return {}
    return work if isinstance(work, dict) else {}
