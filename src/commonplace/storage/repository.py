"""The git repository that a file is in: its root, what is checked out, and how a text is named now.

It reads a few files of git's, and runs nothing: a stranger's repository may say what git runs.
"""

from __future__ import annotations

import os
import re

from msgspec import Struct

from commonplace.storage.version_control import LENGTH, bytes_of, git_directory, indexes

REF = re.compile(rb"ref: (refs/[\w./-]{1,200})\s*\Z")
NAME = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
LONGEST_INDEX = 1 << 26
"""Bytes of git's list of files that are looked through."""
BLOB, FLAGS = 20, 2
"""Bytes of a name and of what follows it in that list."""
EXTENDED = 0x4000


class Repository(Struct, frozen=True):
    """Where the files of a repository are, and where git keeps its own."""

    root: str
    git: str
    common: str
    """Where what all of its worktrees share is."""


def repository_at(root: str) -> Repository | None:
    """The repository whose root this is."""
    named = os.path.join(root, ".git")
    if os.path.isdir(named):
        return Repository(root, named, named)
    said = bytes_of(named)
    if not said.startswith(b"gitdir:"):
        return None
    git = git_directory(root, said)
    shared = os.fsdecode(bytes_of(os.path.join(git, "commondir")).strip())
    return Repository(root, git, os.path.normpath(os.path.join(git, shared)) if shared else git)


def repository_of(path: str) -> Repository | None:
    """The repository that a file is in; None where it is in none."""
    above = os.path.dirname(path)
    while True:
        if found := repository_at(above):
            return found
        above, step = os.path.split(above)
        if not step:
            return None


def commit_of(repository: Repository) -> str:
    """The commit that is checked out; empty where that cannot be told."""
    head = bytes_of(os.path.join(repository.git, "HEAD")).strip()
    match = REF.match(head)
    if match and b".." not in match[1]:
        head = _commit_named(repository, match[1])
    return head.decode() if NAME.match(head) else ""


def _commit_named(repository: Repository, ref: bytes) -> bytes:
    loose = bytes_of(os.path.join(repository.common, os.fsdecode(ref))).strip()
    if loose:
        return loose
    for line in bytes_of(os.path.join(repository.common, "packed-refs")).splitlines():
        name, _, named = line.partition(b" ")
        if named == ref:
            return name
    return b""


def name_of(repository: Repository, blob: str) -> str:
    """The path of a file that git knows to have this text; empty where it knows none.

    `blob` is the beginning of the text's name. Of lists in git's fourth form nothing is told.
    """
    wanted = bytes.fromhex(blob)
    for path in indexes(repository.git):
        listed = bytes_of(path)[:LONGEST_INDEX]
        at = -1
        while listed[4:8] != b"\0\0\0\4" and (at := listed.find(wanted, at + 1)) >= 0:
            if name := _name_at(listed, at + BLOB):
                return name
    return ""


def _name_at(listed: bytes, at: int) -> str:
    """The name of an entry whose flags stand here; empty where none do."""
    flags = int.from_bytes(listed[at : at + FLAGS], "big")
    start = at + FLAGS + (2 if flags & EXTENDED else 0)
    name = listed[start : max(listed.find(b"\0", start), start)]
    return os.fsdecode(name) if name and len(name) == flags & LENGTH else ""
