"""Open names below one directory, a step at a time, and never through a link.

Where the system has no directory descriptors (Windows), paths are joined and links are looked for
first.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from commonplace.model.errors import (
    CommonplaceError,
    DiskFull,
    NoDirectory,
    NoSuchVault,
    ReadOnly,
    Unreadable,
    VaultTrouble,
    megabytes,
)
from commonplace.model.files import StrPath
from commonplace.storage.machine_files import DESCRIPTORS, LEAF, SHARED_DIRECTORY, SHARED_FILE

STEP = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
NO_ATIME = getattr(os, "O_NOATIME", 0)
NO_DIRECTORY = (errno.ENOTDIR, errno.ELOOP)
LINK = "a link, and links are not followed"
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Tree:
    """The files below `root`. Whoever forgets it closes it."""

    _descriptor = -1

    def __init__(self, root: StrPath, *, shared: bool = False) -> None:
        """`shared`: what is made is for the group of its directory too."""
        self.root = os.fspath(root)
        self.shared = shared
        self._descriptor = self._open_root() if DESCRIPTORS else -1

    def _open_root(self) -> int:
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchVault(self.root) from None
        except OSError as error:
            raise Unreadable(self.root, _reason(error)) from None

    def check_root(self) -> None:
        """Fail when the directory was moved or deleted under us: what is written would be lost."""
        try:
            found = os.stat(self.root)
        except OSError:
            raise NoSuchVault(self.root) from None
        if DESCRIPTORS and found.st_ino != self._inode():
            os.close(self._descriptor)
            self._descriptor = self._open_root()

    def _inode(self) -> int:
        try:
            return os.fstat(self._descriptor).st_ino
        except OSError as error:
            raise trouble(error, self.root, reading=True) from None

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    __del__ = close

    @contextmanager
    def directory(self, steps: list[str], *, make: bool = False) -> Iterator[int | None]:
        """A descriptor of a directory below the root; None stands for joined paths."""
        if not DESCRIPTORS:
            self._check_links(steps, make=make)
            yield None
            return
        current = self._descriptor
        try:
            for count, step in enumerate(steps, 1):
                try:
                    below = self._step(current, step, make=make)
                except OSError as error:
                    if error.errno in NO_DIRECTORY:
                        raise _in_the_way(step, current, "/".join(steps[:count])) from None
                    raise
                if current != self._descriptor:
                    os.close(current)
                current = below
            yield current
        finally:
            if current != self._descriptor:
                os.close(current)

    def _step(self, current: int, name: str, *, make: bool) -> int:
        try:
            return os.open(name, os.O_RDONLY | STEP, dir_fd=current)
        except FileNotFoundError:
            if not make:
                raise
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=current)
            if self.shared:
                os.chmod(name, SHARED_DIRECTORY, dir_fd=current)
        return os.open(name, os.O_RDONLY | STEP, dir_fd=current)

    def _check_links(self, steps: list[str], *, make: bool) -> None:
        path = self.root
        for step in steps:
            path = os.path.join(path, step)
            if make and not os.path.exists(path):
                with suppress(FileExistsError):
                    os.mkdir(path, 0o700)
            if os.path.islink(path):
                raise _in_the_way(path, None, os.path.relpath(path, self.root))

    def leaf(self, name: str, directory: int | None) -> str:
        """The name to pass to the system together with `directory`."""
        return name.rpartition("/")[2] if directory is not None else os.path.join(self.root, name)

    def open(self, name: str, flags: int, *, make: bool = False) -> int:
        """A descriptor of a plain file. Anything else by that name is an `OSError`."""
        return self.opened(name, flags, make=make)[0]

    def opened(self, name: str, flags: int, *, make: bool = False) -> tuple[int, os.stat_result]:
        """The same, with the stat of the file."""
        with self.directory(name.split("/")[:-1], make=make) as directory:
            leaf = self.leaf(name, directory)
            if directory is None and os.path.islink(leaf):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), leaf)
            descriptor = os.open(leaf, flags | LEAF, 0o600, dir_fd=directory)
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is not a plain file", name)
        if self.shared and not found.st_size and flags & os.O_CREAT:
            with suppress(PermissionError):
                os.fchmod(descriptor, SHARED_FILE)
        return descriptor, found

    def stat(self, name: str) -> os.stat_result | None:
        """The stat of a plain file; None when it is not there, an `OSError` if it is no file."""
        try:
            with self.directory(name.split("/")[:-1]) as directory:
                found = os.stat(self.leaf(name, directory), dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", name)
        return found

    def read(self, name: str, *, most: int = -1, limit: int = 0) -> bytes:
        """A file, or the start of it, without a trace in its access time where that can be had.

        A file that is longer than the limit is refused as `Unreadable`.
        """
        try:
            descriptor = self.open(name, os.O_RDONLY | NO_ATIME)
        except PermissionError:
            descriptor = self.open(name, os.O_RDONLY)
        with open(descriptor, "rb") as file:
            if limit and (size := os.fstat(descriptor).st_size) > limit:
                raise too_big(name, size=size, limit=limit)
            return file.read(most)


def too_big(name: str, *, size: int, limit: int) -> Unreadable:
    return Unreadable(
        name,
        f"it is {megabytes(size)} long, and documents are read up to {megabytes(limit)}",
        next_step="Split it into several documents, or raise the option document_limit.",
    )


class InTheWay(NotADirectoryError):
    """Something stands where a directory should be: what it is, and its name from the root on."""


def _in_the_way(step: str, above: int | None, place: str) -> InTheWay:
    found = os.stat(step, dir_fd=above, follow_symlinks=False)
    what = f"is {LINK}" if stat.S_ISLNK(found.st_mode) else "is no directory"
    return InTheWay(errno.ENOTDIR, what, place)


def trouble(error: OSError, what: str, *, reading: bool = False) -> CommonplaceError:
    """Our error for an error of the system."""
    if error.errno in FULL:
        return DiskFull(what)
    if error.errno == errno.EBADF:
        return VaultTrouble(
            "This memory was closed.", next_step="Open it again: Memory.open(path)."
        )
    if not reading and error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return ReadOnly(what)
    if isinstance(error, InTheWay):
        return NoDirectory(what, place=error.filename, why=error.strerror or "")
    return Unreadable(what, _reason(error))


def _reason(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return f"it is {LINK}"
    return (error.strerror or str(error)).lower()
