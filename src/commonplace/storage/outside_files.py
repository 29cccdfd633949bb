"""Read a file outside of the vault that somebody cited: plain, not too long, and behind no link.

What it says goes nowhere: who calls this makes a hash of it.
"""

from __future__ import annotations

import os
from functools import cache

from commonplace.model.errors import CommonplaceError
from commonplace.storage.safe_paths import Tree

MOST = 8 << 20
"""Bytes of a file that are read."""
NEVER = ("/proc", "/sys", "/dev")
"""Where files are made up while they are read."""
FAR = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "9p", "davfs", "autofs")
)
NETWORKED = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs", "fuse.gvfs")
"""File systems of other machines: a look at one may take for ever."""
MOUNTS = "/proc/self/mounts"


class Unseen(OSError):
    """A file that is not looked at at all."""


class SeenFile:
    """A file as one look finds it, and what it says where that is asked for."""

    def __init__(self, tree: Tree, name: str) -> None:
        self._tree, self._name = tree, name
        found = tree.stat(name)
        self.there = found is not None
        self.size = found.st_size if found else 0
        self.mtime_ns = found.st_mtime_ns if found else 0

    def read(self) -> bytes:
        """What the file says. One that is too long is an `OSError`."""
        if self.size > MOST:
            raise OSError(f"it is longer than {MOST >> 20} MB")
        return self._tree.read(self._name, most=MOST)


def look(path: str) -> SeenFile:
    """A look at an absolute path. What is no plain file, or may not be seen, is an `OSError`."""
    drive, rest = os.path.splitdrive(path)
    if drive.startswith(("\\\\", "//")) or is_far(path):
        raise Unseen("it is on another machine")
    if any(path == each or path.startswith(f"{each}/") for each in NEVER):
        raise Unseen("it is no file of a disk")
    try:
        return SeenFile(Tree(drive + os.sep), rest.replace(os.sep, "/").strip("/"))
    except CommonplaceError as error:
        raise Unseen(str(error)) from None


def is_far(path: str) -> bool:
    """Whether a path is on another machine's disk, as far as this system tells without a look."""
    mounts = _mounts()
    within = [at for at in mounts if path == at or path.startswith(at.rstrip("/") + "/")]
    kind = mounts[max(within, key=len)] if within else ""
    return kind in FAR or kind.startswith(NETWORKED)


@cache
def _mounts() -> dict[str, str]:
    """The kinds of file systems by where they are mounted; nothing where no system tells."""
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split(" ") for line in file]
    except OSError:
        return {}
    return {row[1].replace("\\040", " "): row[2] for row in rows if len(row) > 2}
