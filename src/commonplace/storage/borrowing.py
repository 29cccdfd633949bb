"""Machine state that cannot be written, as a copy in a directory of this process's own.

So the past of a vault on a read-only disk can be read, and its index follow the documents. Kept
texts are many and never change: they are read where they are. It does not know what the files say;
whoever borrows must not write to the vault.
"""

from __future__ import annotations

import os
import stat
from tempfile import mkdtemp

from commonplace.model.errors import StrangeFile
from commonplace.storage import machine_files

PREFIX = "commonplace-"
VERSIONS = "versions"


def borrowed(state: str) -> str:
    """The copy of a state directory; an empty one where nothing can be read of it."""
    own = os.path.realpath(mkdtemp(prefix=PREFIX))
    _copy(os.path.abspath(state), own, depth=0)
    return own


def _copy(directory: str, to: str, *, depth: int) -> None:
    """Copy what this user may read, and what is ours: the rest is as if it were not there."""
    try:
        names = machine_files.names_in(directory, depth=depth)
    except (OSError, StrangeFile):
        return
    for name in names:
        if depth or name != VERSIONS:
            _copy_one(os.path.join(directory, name), os.path.join(to, name), depth=depth + 1)


def _copy_one(path: str, to: str, *, depth: int) -> None:
    try:
        found = machine_files.look(path, depth=depth)
        if found and stat.S_ISDIR(found.st_mode):
            os.mkdir(to, 0o700)
            _copy(path, to, depth=depth)
        elif found:
            data = machine_files.read(path, depth=depth)
            machine_files.write(to, data)
    except (OSError, StrangeFile):
        return
