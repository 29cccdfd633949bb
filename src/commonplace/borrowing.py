"""Machine state that cannot be written, as a copy in a directory of this process's own.

So the past of a vault on a read-only disk can be read, and its index follow the documents. It does
not know what the files say; whoever borrows must not write to the vault.
"""

from __future__ import annotations

import os
import shutil
from tempfile import mkdtemp

PREFIX = "commonplace-"
VERSIONS = "versions"
"""Kept texts are many and never change: they are linked to, not copied."""


def borrowed(state: str) -> str:
    """The copy of a state directory; an empty one where nothing can be read of it."""
    own, state = mkdtemp(prefix=PREFIX), os.path.abspath(state)
    try:
        names = os.listdir(state)
    except OSError:
        return own
    for name in names:
        _copy(os.path.join(state, name), os.path.join(own, name))
    return own


def _copy(path: str, to: str) -> None:
    linked = os.path.basename(path) == VERSIONS
    try:
        if os.path.isdir(path):
            shutil.copytree(path, to, copy_function=os.symlink if linked else shutil.copyfile)
            for directory, _, _ in os.walk(to):
                os.chmod(directory, 0o700)
        elif os.path.isfile(path):
            shutil.copyfile(path, to)
    except (OSError, shutil.Error):
        # What this user may not read is as if it were not there.
        return
