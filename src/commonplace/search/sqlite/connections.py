"""Connections to one SQLite file: lent to threads, closed before a fork, reopened with the file.

A damaged index, or one of another version, is replaced by an empty one, because it can be filled
again. A file of data, such as the history, is migrated instead and never replaced.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from threading import RLock, local
from time import sleep
from typing import Any
from weakref import WeakSet, ref

from commonplace.model.errors import Busy, DiskFull, ReadOnly, StrangeFile, VaultTrouble
from commonplace.model.files import StrPath
from commonplace.storage import machine_files

WAIT_SECONDS = 10.0
PRAGMAS = (
    "synchronous = NORMAL",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "cache_size = -32000",
    # Moving the log into the file costs two waits for the disk: four times less often than usual.
    "wal_autocheckpoint = 4000",
)
ROOM = 65_536
"""Bytes that SQLite wants at once, with some to spare."""
REFUSALS = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
TRIES, PAUSE_SECONDS = 25, 0.02
"""How often a file of a shared vault is opened again, and after how long."""
PAGES = "page_count * page_size FROM pragma_page_count(), pragma_page_size()"
Row = tuple[Any, ...]


class _Held(local):
    """The transaction that this thread is in."""

    db: sqlite3.Connection | None = None
    scrub = False


class Connections:
    """As many connections to one file as are used at once; a single one when it is in memory."""

    def __init__(
        self,
        path: StrPath | None,
        *,
        schema: Sequence[str] = (),
        version: int = 0,
        migrate: Callable[[sqlite3.Connection, str], None] | None = None,
    ) -> None:
        """`migrate` brings a file of data up to date; without it the file can be made anew."""
        self.path = os.fspath(path) if path else None
        self._schema = schema
        self._version = version
        self._migrate = migrate
        self._self = ref(self, _close_forgotten)
        self._start()
        with self.lent():
            pass

    def _start(self) -> None:
        self._idle: list[sqlite3.Connection] = []
        _idle_of[self._self] = self._idle
        self._held = _Held()
        self._writing = RLock()
        # The one in memory serves a thread at a time.
        self._using: AbstractContextManager[object] = nullcontext() if self.path else self._writing

    @contextmanager
    def lent(self, *, begin: str = "") -> Iterator[sqlite3.Connection]:
        """The connection of this thread's transaction, or one that nobody uses just now.

        `begin` is the statement that begins a transaction of its own.
        """
        if self._held.db is not None:
            yield self._held.db
            return
        idle = self._idle
        try:
            with self._using:
                db = self._begun(begin)
                try:
                    yield db
                finally:
                    self._give(db, idle)
        except sqlite3.DatabaseError as error:
            if _is_damage(error) and not self._migrate:
                self._replace_file()
            raise _in_our_words(error, self.path, kept=bool(self._migrate)) from error

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection whose writes are kept all or not at all; one inside another joins it."""
        if self._held.db is not None:
            yield self._held.db
            return
        with self._writing, self.lent(begin="BEGIN IMMEDIATE") as db:
            self._held.db = db
            try:
                yield db
                db.execute("COMMIT")
                if self._held.scrub:
                    self._cut_log(db)
            finally:
                self._held.db, self._held.scrub = None, False
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def rows(self, sql: str, *arguments: Any) -> list[Row]:
        with self.lent() as db:
            return db.execute(sql, arguments).fetchall()

    def run(self, sql: str, *arguments: Any) -> None:
        with self.transaction() as db:
            db.execute(sql, arguments)

    def scrub(self) -> None:
        """Leave no trace, once the open transaction ends, of what it deleted."""
        self._held.scrub = True

    def _cut_log(self, db: sqlite3.Connection) -> None:
        """Move the log into the file and cut it to nothing, so that no old page is left in it."""
        (busy, *_), *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if busy:
            raise VaultTrouble(
                f"The records are erased, but another program reads {self.path} and keeps copies "
                "of them in its log.",
                next_step="Close what reads it and erase them again.",
            )

    def size(self) -> int:
        """Bytes that the file takes, or the memory."""
        if self.path is None:
            return int(self.rows(f"SELECT {PAGES}")[0][0])
        files = [f"{self.path}{suffix}" for suffix in ("", "-wal", "-shm")]
        return sum(os.path.getsize(file) for file in files if os.path.exists(file))

    def close(self) -> None:
        """Close those that nobody uses; they open again when they are wanted."""
        while self._idle:
            self._idle.pop().close()

    def _begun(self, begin: str) -> sqlite3.Connection:
        """A connection that has begun its transaction.

        SQLite makes its shared memory before it gives the group the right to write there. A user
        of a shared vault who comes between the two is refused until the file is opened again.
        """
        shared = self.path and machine_files.is_shared(os.path.dirname(self.path))
        for _ in range(TRIES if shared else 0):
            try:
                return self._begin(begin)
            except sqlite3.DatabaseError as error:
                if _code(error) not in REFUSALS:
                    raise
            # All of this process share what was opened first.
            for each in list(_living):
                if each.path == self.path:
                    each.close()
            sleep(PAUSE_SECONDS)
        return self._begin(begin)

    def _begin(self, begin: str) -> sqlite3.Connection:
        db = self._take()
        try:
            if begin:
                db.execute(begin)
        except sqlite3.DatabaseError:
            self._give(db, self._idle)
            raise
        return db

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop() if self.path else self._idle[0]
        except IndexError:
            return self._open()

    def _give(self, db: sqlite3.Connection, idle: list[sqlite3.Connection]) -> None:
        if idle is not self._idle:
            db.close()
        elif self.path or not idle:
            idle.append(db)

    def _open(self) -> sqlite3.Connection:
        _living.add(self)
        try:
            return _opened(self.path, self._prepare)
        except sqlite3.DatabaseError as error:
            if self._migrate or not _is_damage(error):
                raise
        self._replace_file()
        return _opened(self.path, self._prepare)

    def _prepare(self, db: sqlite3.Connection) -> None:
        for pragma in PRAGMAS:
            db.execute(f"PRAGMA {pragma}")
        if self._migrate:
            # What is acknowledged must outlive the machine, not only the process.
            db.execute("PRAGMA synchronous = FULL")
            _use_log(db)
            self._migrate(db, str(self.path or "the history in memory"))
        elif _version(db) != self._version:
            _use_log(db)
            _create(db, self._schema, self._version)

    def _replace_file(self) -> None:
        self.close()
        self._start()
        for suffix in ("-wal", "-shm", "") if self.path else ():
            with told_of_disk(self.path), suppress(FileNotFoundError):
                machine_files.remove(f"{self.path}{suffix}")

    def before_fork(self) -> None:
        if self.path:
            self.close()

    def after_fork(self) -> None:
        if self.path:
            _inherited.append((self._idle, self._held))
            self._start()


@contextmanager
def reading(db: sqlite3.Connection) -> Iterator[None]:
    """Has several statements see the file in one state, and lock it but once."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("COMMIT")


class _OtherVersion(sqlite3.DatabaseError):
    """A file that is fine, but not ours as we make it now."""


def _opened(path: str | None, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    if path:
        # Only a file that was not there: closing a descriptor beside SQLite's own drops every lock
        # that this process has on the file, and whoever closes next deletes the log under us.
        with told_of_disk(path):
            machine_files.make(path)
    before = machine_files.identity(path) if path else None
    db = sqlite3.connect(
        path or ":memory:", timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        prepare(db)
        if path and before != machine_files.identity(path):
            raise StrangeFile(path, "it was exchanged while it was opened")
    except BaseException:
        db.close()
        raise
    return db


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchall()[0][0])


def _use_log(db: sqlite3.Connection, attempts: int = 100) -> None:
    """Switch the file to a write-ahead log, which fails at once while another process does."""
    try:
        db.execute("PRAGMA journal_mode = WAL").fetchall()
    except sqlite3.OperationalError:
        if not attempts:
            raise
        db.execute("BEGIN EXCLUSIVE")
        db.execute("COMMIT")
        _use_log(db, attempts - 1)


def _create(db: sqlite3.Connection, schema: Sequence[str], version: int) -> None:
    db.execute("BEGIN IMMEDIATE")
    # Another process may have done it meanwhile.
    if _version(db) != version:
        if db.execute("SELECT 1 FROM sqlite_master").fetchall():
            raise _OtherVersion("the file is of another version")
        for statement in schema:
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")
    db.execute("COMMIT")


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    return isinstance(error, _OtherVersion) or _code(error) in (
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
    )


def _code(error: sqlite3.DatabaseError) -> int:
    """The error's code, without what further divides it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _in_our_words(error: sqlite3.DatabaseError, path: str | None, *, kept: bool) -> Exception:
    where = str(path or "the database in memory")
    code = _code(error)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and path and _is_full(path)):
        return DiskFull(where)
    if code in REFUSALS:
        return ReadOnly(where)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy(where, WAIT_SECONDS)
    if kept and _is_damage(error):
        return VaultTrouble(
            f"{where} is damaged ({error}). It was left as it is.",
            next_step="Move it away, keep it for repair, and load your last dump into a new one.",
        )
    if _is_damage(error):
        return VaultTrouble(
            f"The index {where} was damaged ({error}); it starts anew.",
            next_step="Try again: it is filled from the documents, and no memory is lost.",
        )
    if code == sqlite3.SQLITE_IOERR:
        return VaultTrouble(
            f"The disk fails at {where} ({error}).",
            next_step="Look after the disk, then run 'commonplace doctor'.",
        )
    return error


def _is_full(path: str) -> bool:
    """Whether there is no room for what SQLite keeps beside a file, even to read it."""
    found = os.statvfs(os.path.dirname(path))
    return found.f_bavail * found.f_frsize < ROOM


@contextmanager
def told_of_disk(path: str | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        raise (DiskFull if full else ReadOnly)(str(path)) from error


# A connection must not live on in a forked child: SQLite's locks belong to the process, and the
# parent would take away the log that the child writes to.
_living: WeakSet[Connections] = WeakSet()
_inherited: list[Any] = []
"""What was in use during a fork: to close it would take its locks from the parent."""


_idle_of: dict[ref[Connections], list[sqlite3.Connection]] = {}
"""From Python 3.13 on a connection complains when it is forgotten open, so it must not go together
with those who forgot it."""


def _close_forgotten(gone: ref[Connections]) -> None:
    for db in _idle_of.pop(gone, ()):
        db.close()


def _before_fork() -> None:
    for connections in list(_living):
        connections.before_fork()


def _after_fork() -> None:
    for connections in list(_living):
        connections.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
