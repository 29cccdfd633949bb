"""Whether version control has files of a directory: those may have come from somebody else.

It reads the lists of files that git, Mercurial, Jujutsu and Subversion keep. It runs none of them:
a stranger's repository may say what they run.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from commonplace.model.files import StrPath

LISTS = (".hg/dirstate", ".jj/working_copy/tree_state", ".svn/wc.db")
"""Where others than git have the names of their files, each in full."""
MOST = 1 << 28
FIXED, HASH, LONG_HASH = 42, 20, 32
"""Bytes of an entry of git's index before its name, without the hash of the file."""
EXTENDED, LENGTH = 0x4000, 0xFFF


def is_kept(root: StrPath, name: str) -> bool:
    """Whether any file below `root`/`name` is in a list of a repository at `root` or above."""
    above, below = os.path.realpath(root), f"{name}/"
    while True:
        if _is_in_git(above, below) or any(_is_in(above, each, below) for each in LISTS):
            return True
        above, step = os.path.split(above)
        if not step:
            return False
        below = f"{step}/{below}"


def _is_in(above: str, listed: str, below: str) -> bool:
    return os.fsencode(below).lower() in bytes_of(os.path.join(above, listed)).lower()


def _is_in_git(above: str, below: str) -> bool:
    directory = os.path.join(above, ".git")
    if not os.path.lexists(directory):
        return False
    if not os.path.isdir(directory):
        directory = git_directory(above, bytes_of(directory))
    return any(
        _is_listed(bytes_of(path), os.fsencode(below).lower()) for path in indexes(directory)
    )


def git_directory(above: str, said: bytes) -> str:
    """Where the repository of a worktree or a submodule is."""
    named = os.fsdecode(said.removeprefix(b"gitdir:").strip().split(b"\0")[0])
    return os.path.join(above, named)


def indexes(directory: str) -> Iterator[str]:
    """The list of git, and the part of it that it may keep in a file of its own."""
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        if name == "index" or name.startswith("sharedindex."):
            yield os.path.join(directory, name)


def _is_listed(index: bytes, below: bytes) -> bool:
    if index[:4] != b"DIRC":
        return False
    if int.from_bytes(index[4:8], "big") == 4:
        return any(name.lower().startswith(below) for name in _compressed_names(index))
    lowered, at = index.lower(), -1
    while (at := lowered.find(below, at + 1)) >= 0:
        if _is_name(index, at):
            return True
    return False


def _is_name(index: bytes, at: int) -> bool:
    """Whether a name begins here, and not in the middle of another: its length stands before it."""
    length = index.find(b"\0", at) - at
    noted = (int.from_bytes(index[at - back : at - back + 2], "big") for back in (2, 4))
    return any(flags & LENGTH == min(length, LENGTH) for flags in noted)


def _compressed_names(index: bytes) -> Iterator[bytes]:
    """The names of the fourth version, each told by how it differs from the one before it."""
    for size in (HASH, LONG_HASH):
        at, name = 12, b""
        for _ in range(int.from_bytes(index[8:12], "big")):
            flags = int.from_bytes(index[at + 40 + size : at + FIXED + size], "big")
            at += FIXED + size + (2 if flags & EXTENDED else 0)
            cut, at = _number(index, at)
            end = index.find(b"\0", at)
            if end < 0:
                break
            name, at = name[: len(name) - cut] + index[at:end], end + 1
            yield name


def _number(index: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value, more = 0, True
    while more and at < len(index):
        byte, at = index[at], at + 1
        value, more = (value << 7) | (byte & 0x7F), bool(byte & 0x80)
        value += more
    return value, at


def bytes_of(path: str) -> bytes:
    """What a plain file says; nothing when there is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            return file.read(MOST)
    except (OSError, ValueError):
        return b""
