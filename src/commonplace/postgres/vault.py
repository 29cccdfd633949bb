"""Documents as rows of PostgreSQL: in pieces, so that an append is one small insert.

The lock is a transaction: all that is done under it happens when it is let go, or not at all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from commonplace.markdown.layouts import Layout, check_name
from commonplace.model.clock import Clock
from commonplace.model.errors import Busy, NoSuchDocument
from commonplace.postgres.connection import Database
from commonplace.postgres.server import Interrupted
from commonplace.storage.progress import Progress, progress_in, text_of
from commonplace.storage.vault import Cancelled, Listing, Moved, Staged, Stat

LIST = "select name, size, changed from document where profile = %s"
FIND = "select size, changed from document where profile = %s and name = %s"
# One statement, and so one moment: the pieces are those of that document.
READ = """
select (
    select string_agg(data, ''::bytea order by at) from piece
    where profile = %(profile)s and document = %(name)s
) from document where profile = %(profile)s and name = %(name)s
"""
ENDS = """
select substr(data, greatest(length(data) - 1, 1)) from piece
where profile = %s and document = %s order by at desc limit 2
"""
LENGTHEN = """
with longer as (
    update document set size = size + %(more)s, changed = %(now)s
    where profile = %(profile)s and name = %(name)s and size = %(at)s returning name
)
insert into piece(profile, document, at, data)
select %(profile)s, name, %(at)s, %(data)s from longer returning at
"""
MAKE = """
insert into document(profile, name, size, changed) values (%s, %s, %s, %s)
on conflict do nothing returning name
"""
RENEW = "update document set size = %s, changed = %s where profile = %s and name = %s"
ADD = "insert into piece(profile, document, at, data) values (%s, %s, %s, %s)"
CLEAR = "delete from piece where profile = %s and document = %s"
REMOVE = "delete from document where profile = %s and name = %s returning name"


class PostgresVault:
    """The documents of one layout in one profile."""

    transactional = True

    def __init__(self, database: Database, *, layout: Layout, clock: Clock) -> None:
        self.layout = layout
        self._database = database
        self._clock = clock
        self._threads = threading.RLock()

    @contextmanager
    def lock(self, *, undone: Callable[[], None] | None = None) -> Iterator[None]:
        if self._database.is_locked:
            # Who took it first is told what becomes of it.
            yield
            return
        # The threads of a process wait here, and not each with a connection of its own.
        if not self._threads.acquire(timeout=self._database.seconds):
            raise Busy(self._database.where, self._database.seconds)
        try:
            with self._database.locked():
                yield
        except BaseException as error:
            if undone:
                undone()
            if isinstance(error, Interrupted):
                raise Cancelled(self._database.error_for(error.error)) from None
            raise
        finally:
            self._threads.release()

    def close(self) -> None:
        """The connections are the database's."""

    def listing(self) -> Listing:
        self._database.check_open()
        found = self._database.rows(LIST, (self._database.profile,))
        found.sort(key=lambda row: _order(row[0]))
        return Listing(
            {name: _stat(size, at) for name, size, at in found if self.layout.holds(name)}, {}
        )

    def stat(self, name: str) -> Stat | None:
        found = self._database.rows(FIND, (self._database.profile, check_name(name)))
        return _stat(*found[0]) if found else None

    def read(self, name: str) -> bytes:
        self._database.check_open()
        named = {"profile": self._database.profile, "name": check_name(name)}
        found = self._database.rows(READ, named)
        if not found:
            raise NoSuchDocument(name)
        return bytes(found[0][0] or b"")

    def tail(self, name: str, *, size: int) -> bytes:
        found = self._database.rows(ENDS, (self._database.profile, check_name(name)))
        return b"".join(data for (data,) in reversed(found))[-2:]

    def append(self, name: str, data: bytes, *, like: Stat | None) -> Stat:
        check_name(name)
        with self._database.locked():
            if like is None:
                return self._made(name, data)
            if not data:
                return like
            now, profile = self._clock.now_ns(), self._database.profile
            named = {"profile": profile, "name": name, "at": like.size, "data": data}
            if not self._database.rows(LENGTHEN, {**named, "more": len(data), "now": now}):
                raise Moved(name)
            return _stat(like.size + len(data), now)

    def _made(self, name: str, data: bytes) -> Stat:
        now, profile = self._clock.now_ns(), self._database.profile
        if not self._database.rows(MAKE, (profile, name, len(data), now)):
            raise Moved(name)
        self._put(name, data)
        return _stat(len(data), now)

    def _put(self, name: str, data: bytes) -> None:
        """The whole text as one piece; nothing is no piece, or the next would have its place."""
        if data:
            self._database.rows(ADD, (self._database.profile, name, 0, data))

    def cut(self, name: str, *, at: int, size: int) -> None:
        with self._database.locked():
            data = self.read(name)
            self.replace(name, data[:at], expected=data)

    def stage(self, name: str, data: bytes) -> Staged:
        return Staged(name, data)

    def unstage(self, staged: Staged) -> None:
        """Nothing was written."""

    def replace(
        self,
        name: str,
        data: bytes,
        *,
        expected: bytes | None,
        like: Stat | None = None,
        staged: Staged | None = None,
    ) -> Stat:
        with self._database.locked():
            found = self.read(name) if self.stat(name) else None
            if found is None:
                return self._made(name, data)
            if found != expected:
                raise Moved(name)
            now, profile = self._clock.now_ns(), self._database.profile
            self._database.rows(CLEAR, (profile, name))
            self._put(name, data)
            self._database.rows(RENEW, (len(data), now, profile, name))
            return _stat(len(data), now)

    def remove(self, name: str) -> None:
        with self._database.locked():
            row = (self._database.profile, check_name(name))
            self._database.rows(CLEAR, row)
            if not self._database.rows(REMOVE, row):
                raise NoSuchDocument(name)

    def sweep(self, needles: Sequence[bytes]) -> int:
        """A dead writer leaves nothing."""
        return 0

    def sync(self, name: str) -> None:
        """What is committed is on disk."""

    def being_edited(self, name: str) -> bool:
        return False


class ProgressRow:
    """The progress of the documents in the row of their profile, saved with each write."""

    boot = home = ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> Progress:
        return progress_in(self._database.head().marks)

    def save(self, progress: Progress) -> None:
        self._database.set_head(marks=text_of(progress))

    def close(self) -> None:
        """The row is the database's."""


def _order(name: str) -> list[tuple[bool, str]]:
    """As in a directory that is walked: its documents before those of the directories in it."""
    *directories, leaf = name.split("/")
    return [*((True, each) for each in directories), (False, leaf)]


def _stat(size: int, changed: int) -> Stat:
    return Stat(size, changed, 0, stamped=True)
