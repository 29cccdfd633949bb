"""Documents as files: appended whole or not at all, replaced at once or not at all."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache

from commonplace.markdown.layouts import DEPTH, SKIPPED, Layout, check_name, copy_of, is_plain
from commonplace.model.clock import Clock
from commonplace.model.errors import NoSuchDocument, Unreadable
from commonplace.model.files import StrPath
from commonplace.storage.locks import Lock
from commonplace.storage.machine_files import DESCRIPTORS, LEAF, SHARED_FILE, is_shared
from commonplace.storage.safe_paths import NO_ATIME, Tree, too_big, trouble
from commonplace.storage.vault import Listing, Moved, Staged, Stat

SETTLED = 0.05
"""Seconds without a write after which a text counts as saved."""
SPARE = 16
"""A document is still read that is longer than its limit by this part of it."""
LEFTOVER = re.compile(r"\.mem-[0-9a-f-]+\.tmp")
"""A text that was to take a document's place; a writer that is killed leaves it there."""
CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What a file system says that knows no such call."""
EXCHANGE = 2
"""The kernel's flag for renameat2: the two names change places."""


class FileVault:
    """The markdown files of one layout below one directory."""

    transactional = False

    def __init__(
        self,
        root: StrPath,
        *,
        state: StrPath,
        layout: Layout,
        clock: Clock,
        lock_seconds: float = 30.0,
        limit: int = 0,
    ) -> None:
        """`limit` is how many bytes a document may have; 0: any number."""
        self.root = os.fspath(root)
        self.layout = layout
        self._clock = clock
        # What was put back, and what a person adds by hand, may go a little beyond it.
        self._limit = limit + limit // SPARE
        self._tree = Tree(root, shared=is_shared(os.fspath(state)))
        self._lock = Lock(os.path.join(state, "lock"), seconds=lock_seconds, clock=clock)
        self._keeps_atime = bool(NO_ATIME) and not _without_atime(root)

    def lock(self, *, undone: Callable[[], None] | None = None) -> AbstractContextManager[None]:
        return self._lock.held()

    def close(self) -> None:
        self._lock.close()
        self._tree.close()

    def listing(self) -> Listing:
        self._tree.check_root()
        listing = Listing({}, {})
        self._walk([], listing)
        return listing

    def _walk(self, steps: list[str], into: Listing) -> None:
        below: list[str] = []
        try:
            with self._tree.directory(steps) as directory:
                where = directory if directory is not None else os.path.join(self.root, *steps)
                with os.scandir(where) as entries:
                    for entry in sorted(entries, key=lambda found: found.name):
                        name = "/".join((*steps, entry.name))
                        if self._is_document(entry, name):
                            self._list(name, entry.stat(follow_symlinks=False), into)
                        elif self._is_directory(entry, steps):
                            below.append(entry.name)
        except FileNotFoundError:
            return
        except OSError as error:
            # A directory that cannot be read is not an empty one: let it be heard.
            into.unreadable["/".join((*steps, ""))] = str(
                trouble(error, "/".join(steps), reading=True)
            )
        for name in below:
            self._walk([*steps, name], into)

    def _list(self, name: str, found: os.stat_result, into: Listing) -> None:
        if original := copy_of(name):
            into.copies[name] = original
        elif self._limit and found.st_size > self._limit:
            why = too_big(name, size=found.st_size, limit=self._limit)
            into.unreadable[name] = str(why)
        else:
            into.documents[name] = self._stat(found)

    def _is_document(self, entry: os.DirEntry[str], name: str) -> bool:
        return (
            name.endswith(".md")
            and is_plain(entry.name)
            and self.layout.holds(name)
            and entry.is_file(follow_symlinks=False)
        )

    def _is_directory(self, entry: os.DirEntry[str], steps: list[str]) -> bool:
        return (
            len(steps) + 2 <= DEPTH
            and is_plain(entry.name)
            and entry.name not in SKIPPED
            and self.layout.holds("/".join((*steps, entry.name, "x.md")))
            and entry.is_dir(follow_symlinks=False)
        )

    def stat(self, name: str) -> Stat | None:
        check_name(name)
        try:
            found = self._tree.stat(name)
        except OSError as error:
            raise trouble(error, name, reading=True) from None
        return self._stat(found) if found else None

    def _stat(self, found: os.stat_result) -> Stat:
        atime = found.st_atime_ns if self._keeps_atime else 0
        return Stat(found.st_size, found.st_mtime_ns, found.st_ino, atime)

    def _stamped(self, descriptor: int, before: os.stat_result) -> Stat:
        """Give a file we wrote the exact time, which the system's own, in ticks of 4 ms, is not.

        So a write of the same length within the same tick is still seen to be another's. `before`
        is how it looked before the write, which does not count as a read.
        """
        now = self._clock.now_ns()
        # Some file systems can't (FUSE, SMB): then a doubtful time is settled by the text.
        with suppress(OSError):
            os.utime(descriptor, ns=(before.st_atime_ns, now))
        found = os.fstat(descriptor)
        atime = found.st_atime_ns if self._keeps_atime else 0
        stamped = found.st_mtime_ns == now
        return Stat(found.st_size, found.st_mtime_ns, found.st_ino, atime, stamped)

    def read(self, name: str) -> bytes:
        try:
            return self._tree.read(check_name(name), limit=self._limit)
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchDocument(name) from None
        except OSError as error:
            raise trouble(error, name, reading=True) from None

    def tail(self, name: str, *, size: int) -> bytes:
        try:
            descriptor = self._tree.open(check_name(name), os.O_RDONLY | NO_ATIME)
        except PermissionError:
            return self.read(name)[-2:]
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise trouble(error, name, reading=True) from None
        try:
            return os.pread(descriptor, 2, max(0, size - 2))
        finally:
            os.close(descriptor)

    def append(self, name: str, data: bytes, *, like: Stat | None) -> Stat:
        at = like.size if like else 0
        try:
            descriptor, found = self._tree.opened(
                check_name(name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, make=like is None
            )
        except OSError as error:
            raise trouble(error, name) from None
        try:
            if not _is_like(found, like):
                raise Moved(name)
            if found.st_nlink > 1:
                return self._append_apart(name, data)
            _write_all(descriptor, data, at=at)
            stat_now = self._stamped(descriptor, found)
            if not self._is_in_place(name, found):
                raise Moved(name)
            if stat_now.size != at + len(data):
                # Somebody saved it meanwhile, which our time must not hide.
                self._stamped(descriptor, found)
            return stat_now
        except OSError as error:
            raise trouble(error, name) from None
        finally:
            os.close(descriptor)

    def _append_apart(self, name: str, data: bytes) -> Stat:
        """Append to a document whose file has other names: those are not ours to write to."""
        old = self.read(name)
        return self.replace(name, old + data, expected=old)

    def _is_in_place(self, name: str, opened: os.stat_result) -> bool:
        """Whether a name still stands for the file that was opened: else that one is nowhere."""
        found = self._tree.stat(name)
        return found is not None and found.st_ino == opened.st_ino

    def cut(self, name: str, *, at: int, size: int) -> None:
        try:
            self._cut(check_name(name), at, size)
        except OSError:
            data = self.read(name)
            if len(data) == size:
                self.replace(name, data[:at], expected=data)

    def _cut(self, name: str, at: int, size: int) -> None:
        descriptor = self._tree.open(name, os.O_WRONLY)
        try:
            if os.fstat(descriptor).st_size == size:
                os.ftruncate(descriptor, at)
        finally:
            os.close(descriptor)

    def stage(self, name: str, data: bytes) -> Staged:
        check_name(name)
        _renameat2()  # Loading it takes long, and the next step may be taken under a lock.
        try:
            with self._tree.directory(name.split("/")[:-1], make=True) as directory:
                fresh = self._tree.leaf(_beside(name, self._clock.new_id()), directory)
                mode = self._mode_of(self._tree.leaf(name, directory), directory)
                self._write_new(fresh, data, directory, mode=mode)
                return Staged(name, data, fresh)
        except OSError as error:
            raise trouble(error, name) from None

    def unstage(self, staged: Staged) -> None:
        with (
            suppress(FileNotFoundError),
            self._tree.directory(staged.name.split("/")[:-1]) as directory,
        ):
            _clear_away(staged.path, directory)

    def replace(
        self,
        name: str,
        data: bytes,
        *,
        expected: bytes | None,
        like: Stat | None = None,
        staged: Staged | None = None,
    ) -> Stat:
        # To compare a long text with itself takes long, too.
        if staged is None or not (data is staged.data or data.startswith(staged.data)):
            fresh = self.stage(name, data)
            try:
                return self.replace(name, data, expected=expected, like=like, staged=fresh)
            finally:
                self.unstage(fresh)
        try:
            with self._tree.directory(name.split("/")[:-1], make=True) as directory:
                return self._replace(staged, data, expected, like, directory)
        except OSError as error:
            raise trouble(error, name) from None

    def _replace(
        self,
        staged: Staged,
        data: bytes,
        expected: bytes | None,
        like: Stat | None,
        directory: int | None,
    ) -> Stat:
        leaf, fresh = self._tree.leaf(staged.name, directory), staged.path
        stat_now = self._lengthen(fresh, data[len(staged.data) :], directory)
        old = _swap(fresh, leaf, directory)
        if old and not self._is_expected(old, expected, like, directory):
            # Somebody saved it at this moment. Theirs comes first, and ours is made from it.
            _swap(fresh, leaf, directory)
            if not _is_like(os.stat(fresh, dir_fd=directory, follow_symlinks=False), stat_now):
                _swap(fresh, leaf, directory)
            raise Moved(staged.name)
        _sync_directory(directory)
        return stat_now

    def _is_expected(
        self, leaf: str, expected: bytes | None, like: Stat | None, directory: int | None
    ) -> bool:
        """Whether the file that was in place is the one that the caller means to replace."""
        if like:
            return _is_like(os.stat(leaf, dir_fd=directory, follow_symlinks=False), like)
        with open(_opened_unseen(leaf, directory), "rb") as file:
            return file.read() == (expected or b"")

    def _lengthen(self, leaf: str, data: bytes, directory: int | None) -> Stat:
        """Bring a staged text up to date, and give it its time."""
        flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(leaf, flags, dir_fd=directory)
        try:
            before = os.fstat(descriptor)
            _write_all(descriptor, data, at=before.st_size)
            found = self._stamped(descriptor, before)
            if data:
                os.fsync(descriptor)
            return found
        finally:
            os.close(descriptor)

    def _mode_of(self, leaf: str, directory: int | None) -> int:
        try:
            found = os.stat(leaf, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return SHARED_FILE if self._tree.shared else 0o600
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(leaf, "it is not a plain file")
        if not os.access(leaf, os.W_OK, dir_fd=directory):
            # To put another file in its place would get round what its owner decided.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), leaf)
        return stat.S_IMODE(found.st_mode)

    @staticmethod
    def _write_new(leaf: str, data: bytes, directory: int | None, *, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(leaf, flags, 0o600, dir_fd=directory)
        try:
            _write_all(descriptor, data, at=0)
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        except OSError:
            _clear_away(leaf, directory)
            raise
        finally:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        check_name(name)
        try:
            with self._tree.directory(name.split("/")[:-1]) as directory:
                os.unlink(self._tree.leaf(name, directory), dir_fd=directory)
                _sync_directory(directory)
        except FileNotFoundError:
            raise NoSuchDocument(name) from None
        except OSError as error:
            raise trouble(error, name) from None

    def sweep(self, needles: Sequence[bytes]) -> int:
        found = 0
        for directory, _, names in os.walk(self.root):
            for name in filter(LEFTOVER.match, names):
                try:
                    found += _delete_if(os.path.join(directory, name), needles)
                except OSError as error:
                    raise trouble(error, name) from None
        return found

    def sync(self, name: str) -> None:
        with suppress(FileNotFoundError):
            descriptor = self._tree.open(name, os.O_RDONLY | NO_ATIME)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            with self._tree.directory(name.split("/")[:-1]) as directory:
                _sync_directory(directory)

    def being_edited(self, name: str) -> bool:
        directory, _, leaf = name.rpartition("/")
        marks = (f".{leaf}.swp", f".#{leaf}")
        return any(os.path.lexists(os.path.join(self.root, directory, mark)) for mark in marks)


def _opened_unseen(leaf: str, directory: int | None) -> int:
    """A file to read, which leaves no trace in its access time where that is ours to say."""
    try:
        return os.open(leaf, os.O_RDONLY | NO_ATIME, dir_fd=directory)
    except PermissionError:
        return os.open(leaf, os.O_RDONLY, dir_fd=directory)


def _is_like(found: os.stat_result, like: Stat | None) -> bool:
    if like is None:
        return found.st_size == 0
    there = (found.st_size, found.st_mtime_ns, found.st_ino)
    return there == (like.size, like.mtime_ns, like.inode)


def _write_all(descriptor: int, data: bytes, *, at: int) -> None:
    """One write as a rule; what was written in part is taken back before the error goes up."""
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:] if written else data)
    except OSError:
        if written and os.fstat(descriptor).st_size == at + written:
            os.ftruncate(descriptor, at)
        raise


def _clear_away(leaf: str, directory: int | None) -> None:
    """Take away a file that served its purpose. One that stays is a leftover, which is no error."""
    for _ in range(2):
        try:
            os.unlink(leaf, dir_fd=directory)
        except FileNotFoundError:
            return
        except OSError:
            continue


def _delete_if(path: str, needles: Sequence[bytes]) -> bool:
    """Delete a file in which one of these is."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        return False
    with open(os.open(path, os.O_RDONLY | LEAF), "rb") as file:
        text = file.read()
    there = any(needle in text for needle in needles)
    if there:
        os.unlink(path)
    return there


def _beside(name: str, token: str) -> str:
    directory, slash, _ = name.rpartition("/")
    return f"{directory}{slash}.{token}.tmp"


def _swap(fresh: str, leaf: str, directory: int | None) -> str:
    """Put the fresh file in place. Returns the name under which the old one is still there."""
    if _exchange(fresh, leaf, directory):
        return fresh
    kept = fresh + ".old"
    try:
        os.link(leaf, kept, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        os.replace(fresh, leaf, src_dir_fd=directory, dst_dir_fd=directory)
        return ""
    try:
        os.replace(fresh, leaf, src_dir_fd=directory, dst_dir_fd=directory)
        os.rename(kept, fresh, src_dir_fd=directory, dst_dir_fd=directory)
    except OSError:
        _clear_away(kept, directory)
        raise
    return fresh


def _exchange(fresh: str, leaf: str, directory: int | None) -> bool:
    """Let the two names change places in one step, where the system can.

    With link and rename a file that an editor renames into place in between would be lost.
    """
    rename = _renameat2()
    if directory is None or not DESCRIPTORS or rename is None:
        return False
    done = rename(directory, os.fsencode(fresh), directory, os.fsencode(leaf), EXCHANGE)
    return bool(done == 0)


@lru_cache(maxsize=1)
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes

    found: Callable[[int, bytes, int, bytes, int], int] | None
    found = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    return found


def _sync_directory(directory: int | None) -> None:
    if directory is not None:
        try:
            os.fsync(directory)
        except OSError as error:
            if error.errno not in CANNOT:
                raise


def _without_atime(root: StrPath) -> bool:
    """Whether the file system does not say when a file was read."""
    return bool(os.statvfs(root).f_flag & getattr(os, "ST_NOATIME", 0))
