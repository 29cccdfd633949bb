"""Open the files that programs keep beside documents: never through a link, and only our own.

A vault may come from a stranger, and its journal may be a link to somebody's .bashrc. So each
directory of the machine files is opened by itself, below the one before it, and a file must be a
plain one of this user with one name.

`depth` says how many of the directories above a file are ours; those further up are the person's.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from commonplace.model.errors import ReadOnly, StrangeFile
from commonplace.model.files import StrPath

DESCRIPTORS = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
TOP = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
TOP |= getattr(os, "O_CLOEXEC", 0)
STEP = TOP | getattr(os, "O_NOFOLLOW", 0)
LISTED = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
LEAF = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
LEAF |= getattr(os, "O_NONBLOCK", 0)
NEW = os.O_CREAT | os.O_EXCL
SHARED_FILE, SHARED_DIRECTORY = 0o660, 0o2770
"""The modes where several users share a vault: their group is the directory's."""
BESIDE = ("", "-wal", "-shm", "-journal")
"""What SQLite appends to the name of its file."""
FOREIGN = "it belongs to another user"
Location = tuple[int | None, str]
"""The descriptor of a directory and a name in it; None where the name is a whole path."""

_shared: set[str] = set()


def share(directory: str) -> None:
    """Accept other users' files in a directory that the person has shared."""
    _shared.add(directory)


def widen(directory: str) -> None:
    """Let the group of a shared directory use what this user made in it before it was shared.

    From below: whoever may enter finds all of it shared.
    """
    for path, _, names in os.walk(directory, topdown=False):
        for each in (*(os.path.join(path, name) for name in names), path):
            found = os.lstat(each)
            if not flaw_of(found):
                is_directory = stat.S_ISDIR(found.st_mode)
                os.chmod(each, SHARED_DIRECTORY if is_directory else SHARED_FILE)


def is_shared(directory: str) -> bool:
    """Whether the person has shared a directory."""
    return directory in _shared


def flaw_of(found: os.stat_result, *, shared: bool = False) -> str:
    """Why a file or a directory is not used; empty when it is."""
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        return "it is no plain file"
    if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
        return "it has another name elsewhere (a hard link)"
    if not shared and found.st_uid != getattr(os, "geteuid", lambda: found.st_uid)():
        return f"{FOREIGN} ({found.st_uid})"
    return ""


def opened(path: str, flags: int, *, depth: int = 1) -> int:
    """A descriptor of a file, which is made if the flags say so."""
    with _above(path, depth) as (directory, leaf):
        with suppress(FileNotFoundError):
            return _existing(path, flags & ~os.O_CREAT, depth, (directory, leaf))
        if not flags & os.O_CREAT:
            raise FileNotFoundError(path)
        try:
            return _made(path, flags, depth, (directory, leaf))
        except FileExistsError:  # Somebody made it meanwhile.
            return _existing(path, flags & ~os.O_CREAT, depth, (directory, leaf))


def _existing(path: str, flags: int, depth: int, place: Location) -> int:
    directory, leaf = place
    # Before it is opened too: to open a device may be to do something.
    _check(path, os.stat(leaf, dir_fd=directory, follow_symlinks=False), depth)
    descriptor = os.open(leaf, flags | LEAF, dir_fd=directory)
    try:
        _check(path, os.fstat(descriptor), depth)
    except StrangeFile:
        os.close(descriptor)
        raise
    return descriptor


def _check(path: str, found: os.stat_result, depth: int) -> None:
    flaw = flaw_of(found, shared=bool(_shared) and is_shared(_top(path, depth)))
    if flaw or not stat.S_ISREG(found.st_mode):
        raise StrangeFile(path, flaw or "it is a directory")


def _top(path: str, depth: int) -> str:
    for _ in range(depth):
        path = os.path.dirname(path)
    return path


class OpenFile:
    """A file that stays open. A fork opens its own; whoever forgets it closes it."""

    def __init__(self, path: str, flags: int = os.O_RDWR | os.O_CREAT, *, depth: int = 1) -> None:
        self.path = path
        self.descriptor = -1
        self._flags = flags
        self._depth = depth
        self._process = 0

    @property
    def is_open(self) -> bool:
        """Whether this process has opened it."""
        return self._process == os.getpid()

    def open(self) -> int:
        """Open the file, anew if it is open. Returns its descriptor."""
        self.close()
        try:
            self.descriptor = opened(self.path, self._flags, depth=self._depth)
        except OSError:
            raise ReadOnly(os.path.dirname(self.path)) from None
        self._process = os.getpid()
        return self.descriptor

    def close(self) -> None:
        if self.is_open:
            os.close(self.descriptor)
        self.descriptor, self._process = -1, 0

    __del__ = close


def read(path: str, *, depth: int = 1, most: int = -1) -> bytes:
    """The bytes of a file; FileNotFoundError when there is none."""
    with open(opened(path, os.O_RDONLY, depth=depth), "rb") as file:
        return file.read(most)


def parsed(text: str | bytes) -> Any:
    """The JSON value of a machine file; a ValueError for any text that is no JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write(
    path: str, *pieces: bytes, depth: int = 1, durable: bool = False, fresh: str = ""
) -> None:
    """Put a file in place, whole or not at all. A link by that name is replaced, not followed.

    `fresh` is its path until it is whole; a name that nobody else takes where none is given.
    """
    with _above(path, depth) as (directory, leaf):
        fresh = fresh or unfinished(path)
        fresh = fresh if directory is None else os.path.basename(fresh)
        try:
            with open(_made_anew(path, depth, (directory, fresh)), "wb") as file:
                file.writelines(pieces)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(fresh, leaf, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            with suppress(OSError):
                os.unlink(fresh, dir_fd=directory)
            if error.errno == errno.EISDIR:
                raise StrangeFile(path, "it is a directory") from None
            raise


def _made(path: str, flags: int, depth: int, place: Location) -> int:
    """A new file of its user alone, or of those who share the vault."""
    if _shared and is_shared(_top(path, depth)):
        return _made_shared(flags, place)
    directory, leaf = place
    return os.open(leaf, flags | NEW | LEAF, 0o600, dir_fd=directory)


def _made_shared(flags: int, place: Location) -> int:
    """A new file that the group may use as soon as it has its name."""
    directory, leaf = place
    try:
        nameless = flags & ~NEW | getattr(os, "O_TMPFILE", NEW) | LEAF
        descriptor = os.open(os.curdir, nameless, 0o600, dir_fd=directory)
    except OSError:  # Not every system, nor every file system, makes files without a name.
        descriptor = os.open(leaf, flags | NEW | LEAF, 0o600, dir_fd=directory)
        os.fchmod(descriptor, SHARED_FILE)
        return descriptor
    try:
        os.fchmod(descriptor, SHARED_FILE)
        os.link(f"/proc/self/fd/{descriptor}", leaf, dst_dir_fd=directory, follow_symlinks=True)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _made_anew(path: str, depth: int, place: Location) -> int:
    """A new file; what a killed process left by that name goes."""
    directory, leaf = place
    with suppress(FileExistsError):
        return _made(path, os.O_WRONLY, depth, place)
    os.unlink(leaf, dir_fd=directory)
    return _made(path, os.O_WRONLY, depth, place)


def make(path: str, data: bytes = b"", *, depth: int = 1) -> bool:
    """Make a file where there is none. Returns whether that is so."""
    with _above(path, depth) as (directory, leaf):
        try:
            descriptor = _made(path, os.O_WRONLY, depth, (directory, leaf))
        except FileExistsError:
            return False
    with open(descriptor, "wb") as file:
        file.write(data)
    return True


def make_directory(path: str, *, depth: int = 1) -> None:
    """Make a directory, if there is none yet."""
    with _above(path, depth) as (directory, leaf), suppress(FileExistsError):
        os.mkdir(leaf, 0o700, dir_fd=directory)
        if is_shared(_top(path, depth)):
            os.chmod(leaf, SHARED_DIRECTORY, dir_fd=directory)


def make_private(path: StrPath) -> None:
    """Make a directory of the person's own, and those above it that are missing, for them alone."""
    if os.path.isdir(path):
        return
    if above := os.path.dirname(path):
        make_private(above)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:  # Somebody made it meanwhile, or it is a file.
        if not os.path.isdir(path):
            raise


def user_directory(environ: Mapping[str, str], variable: str, below_home: str) -> str:
    """Our directory where this user's programs keep such files; empty where no home is known."""
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    local = environ.get("LOCALAPPDATA") if sys.platform == "win32" else ""
    above = environ.get(variable) or local or (home and os.path.join(home, below_home))
    # A relative one would be looked for in the working directory, which may be a stranger's.
    return os.path.join(above, "commonplace") if os.path.isabs(above) else ""


def names_in(path: str, *, depth: int = 1) -> list[str]:
    """The names in a directory; none when it is not there."""
    try:
        with _above(path, depth) as (directory, leaf):
            if directory is None:
                return os.listdir(leaf)
            descriptor = os.open(leaf, LISTED, dir_fd=directory)
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise StrangeFile(path, "it is a link or a file, not a directory") from None
    try:
        return os.listdir(descriptor)
    finally:
        os.close(descriptor)


def look(path: str, *, depth: int = 1) -> os.stat_result | None:
    """The stat of a file; None when there is none."""
    try:
        with _above(path, depth) as (directory, leaf):
            return os.stat(leaf, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def remove(path: str, *, depth: int = 1) -> None:
    """Take a file away; FileNotFoundError when there is none."""
    with _above(path, depth) as (directory, leaf):
        os.unlink(leaf, dir_fd=directory)


def rename(path: str, name: str, *, depth: int = 1) -> None:
    """Give a file another name in its directory."""
    with _above(path, depth) as (directory, leaf):
        new = name if directory is not None else os.path.join(os.path.dirname(path), name)
        os.rename(leaf, new, src_dir_fd=directory, dst_dir_fd=directory)


def identity(path: str) -> tuple[int, int]:
    """Device and inode of a database file. It and its logs must be plain files of ours.

    Asked before and after it is opened, and found the same, nothing else was opened.
    """
    with _above(path, 1) as (directory, leaf):
        main: tuple[int, int] = (0, 0)
        for suffix in BESIDE:
            with suppress(FileNotFoundError):
                found = os.stat(leaf + suffix, dir_fd=directory, follow_symlinks=False)
                _check(path + suffix, found, 1)
                main = main if suffix else (found.st_dev, found.st_ino)
    return main


@contextmanager
def _above(path: str, depth: int) -> Iterator[Location]:
    """The directory of a file, reached from the topmost of the machine's without any link."""
    head, leaf = os.path.split(path)
    steps: list[str] = []
    for _ in range(depth):
        head, step = os.path.split(head)
        steps.insert(0, step)
    if not DESCRIPTORS:
        _check_links(head, steps)
        yield None, path
        return
    current = os.open(head or os.curdir, TOP)
    try:
        for step in filter(None, steps):
            current = _stepped(current, step, path)
        yield current, leaf
    finally:
        os.close(current)


def _stepped(current: int, step: str, path: str) -> int:
    """The directory below, instead of this one."""
    try:
        below = os.open(step, STEP, dir_fd=current)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise StrangeFile(path, f"{step} is a link or a file, not a directory") from None
        raise
    os.close(current)
    return below


def _check_links(head: str, steps: list[str]) -> None:
    for step in steps:
        head = os.path.join(head, step)
        if os.path.islink(head):
            raise StrangeFile(head, "it is a link")


def unfinished(path: str) -> str:
    """The name of a file that becomes `path` once it is whole; no other thread writes one like it.

    A killed writer leaves a hidden file, which nobody takes for the finished one.
    """
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name}.{os.getpid()}-{threading.get_ident()}.tmp")
