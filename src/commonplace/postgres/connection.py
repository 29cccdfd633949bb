"""One profile's rows in one PostgreSQL database: statements, transactions, and calls that resume.

A statement joins the transaction of its thread. When the server goes away in the middle of one,
the transaction is `Interrupted` and its work must be done again from the start; `repeated` does
that. Whether a commit that was cut off counts is asked of the server, and never guessed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import Clock, monotonic, uuid7
from commonplace.model.errors import (
    CommonplaceError,
    MissingExtra,
    NoSuchVault,
    QuotaSpent,
    ReadOnly,
    TenantClosed,
)

try:
    import psycopg
except ModuleNotFoundError:
    raise MissingExtra("A memory in PostgreSQL", "postgres") from None

from commonplace.postgres.pool import Pool, PoolConnection, join, leave, said
from commonplace.postgres.schema import Upgraded, left_over, migrate
from commonplace.postgres.server import Engine, Interrupted, error_for, may_succeed_again, probe
from commonplace.postgres.urls import DatabaseUrl

Result = TypeVar("Result")
Row = tuple[Any, ...]
Values = Sequence[Any] | Mapping[str, Any]

VALUE = re.compile(r"%(?:\((\w+)\))?s")
PAUSE = 0.05
LONGEST_PAUSE = 1.0
FIND_PROFILE = "select profile::text from profile_name where name = %s"
# Two hosts may open a profile for the first time at once: the first name stands.
NAME_PROFILE = "insert into profile_name(name, profile) values (%s, %s) on conflict do nothing"
MAKE_PROFILE = "insert into profile(profile, journal) values (%s, %s) on conflict do nothing"
OF_HEAD = "dialect, journal, ended, marks, state, renamed, most_records, most_bytes"
# The row is the lock of its profile.
LOCK = f"select {OF_HEAD} from profile where profile = %s for update"
# The row is there if its transaction was committed, and only then. The number that the server gives
# a transaction proves nothing: after a crash it may give it to another one.
NOTE_COMMIT = "insert into committed(profile, mark) values (%s, %s)"
FIND_COMMIT = "select 1 from committed where profile = %s and mark = %s"
CLEAR_COMMITS = """
delete from committed where profile = %s and mark < %s and at < now() - interval '1 day'
"""
DAY_NS = 86_400 * 10**9
HEAD = f"select {OF_HEAD} from profile where profile = %s"
SET_HEAD = """
update profile set dialect = %s, journal = %s, ended = %s, marks = %s where profile = %s
"""
COUNTS = """
select (select coalesce(max(l.records), 0) from level l where l.profile = %(profile)s),
    (select coalesce(sum(d.size), 0)::bigint from document d where d.profile = %(profile)s)
"""
READ_ONLY, SUSPENDED, MOVED, DROPPED = "read-only", "suspended", "moved", "dropped"
"""States of a tenant; one that is open has none."""
OF_READ_ONLY = {"journal", "ended"}
"""What stays as it is in a tenant that is read-only: its index is kept level all the same."""
TABLES = """
select table_name from information_schema.columns join information_schema.tables
using (table_schema, table_name)
where table_schema = %s and column_name = 'profile' and table_type = 'BASE TABLE'
"""
# A connection from before there was a cluster tells its servers nothing. Whoever has one opens
# another one at the next call.
END_OTHERS = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and usename = current_user and pid <> pg_backend_pid()
    and backend_type = 'client backend' and application_name not like 'citus%'
"""
# Only pages with something to clear are looked at, whoever else has the table is not waited for.
SWEEP = "vacuum (skip_locked)"
OUR_TABLES = """select string_agg(format('%%I.%%I', schemaname, tablename), ', ')
    from pg_tables where schemaname = %s"""


class Head(Struct, frozen=True):
    """What a profile's own row says."""

    dialect: str
    """The layout of its documents; empty before they have one."""
    journal: str
    """The identity of its journal."""
    ended: int
    """Where the journal ends."""
    marks: str
    """How far documents and index have come, as whoever keeps that writes it."""
    state: str = ""
    """Whether the operator lets it be read and written; empty: both."""
    renamed: str = ""
    """The name that it was given in place of its first one."""
    most_records: int = 0
    """How many records it may have; 0: any number."""
    most_bytes: int = 0
    """How many bytes its documents and its journal may have."""


class Database:
    """The rows of one profile, for any number of threads."""

    def __init__(self, place: DatabaseUrl, pool: Pool, *, clock: Clock, seconds: float) -> None:
        self.place = place
        self.where = place.shown()
        self.profile = ""
        self.engine = Engine(0)
        self.seconds = seconds
        """How long to wait for a lock, a free connection or a server that is starting again."""
        self._pool = pool
        self._clock = clock
        self._cleared = False
        """Whether old proofs of commits were cleared away since this was opened."""
        self._threads = threading.local()

    @classmethod
    def open(
        cls, place: DatabaseUrl, *, clock: Clock, seconds: float = 30.0, create: bool = True
    ) -> Database:
        """Connect, bring the tables to their shape, and find the profile or make it."""
        database = cls(place, join(place.server, place.schema), clock=clock, seconds=seconds)

        def find(connection: PoolConnection) -> None:
            database.profile = database._find_profile(connection, create=create)

        return database._reached(create=create, then=find)

    @classmethod
    def open_whole(cls, place: DatabaseUrl, *, clock: Clock, seconds: float = 30.0) -> Database:
        """The same without a profile, for what belongs to no one of them: tenants and tokens."""
        database = cls(place, join(place.server, place.schema), clock=clock, seconds=seconds)
        return database._reached(create=False, then=lambda connection: None)

    def _reached(self, *, create: bool, then: Callable[[PoolConnection], None]) -> Database:
        try:
            self.again(lambda: self._set_up(create=create, then=then))
        except BaseException:
            leave(self._pool)
            raise
        return self

    @classmethod
    def upgrade(
        cls, place: DatabaseUrl, *, clock: Clock, seconds: float = 30.0, spread: bool = False
    ) -> Upgraded:
        """Take the steps that the tables lack, whoever's profiles are in them.

        Where there are no tables there is nothing to upgrade.
        """
        pool = join(place.server, place.schema)
        database = cls(place, pool, clock=clock, seconds=seconds)
        try:
            return database.again(lambda: database._upgraded(spread=spread))
        finally:
            leave(pool)

    def _upgraded(self, *, spread: bool) -> Upgraded:
        schema, where = self.place.schema, self.where
        try:
            with self._borrow() as connection, self._begun(connection):
                taken = migrate(connection, schema=schema, where=where, create=False, spread=spread)
                if spread and taken:
                    connection.execute(END_OTHERS)
                return Upgraded(taken, left_over(connection, probe(connection, where)))
        except psycopg.Error as error:
            raise self._cannot_connect(error) from None

    def _set_up(self, *, create: bool, then: Callable[[PoolConnection], None]) -> None:
        try:
            with self._borrow() as connection, self._begun(connection):
                migrate(connection, schema=self.place.schema, where=self.where, create=create)
                self.engine = probe(connection, self.where)
                then(connection)
        except psycopg.Error as error:
            raise self._cannot_connect(error) from None

    def _cannot_connect(self, error: psycopg.Error) -> Exception:
        """A server that this process has reached before is starting again; others are not there."""
        return self._interrupted_or_error(error) if self._pool.reached else self.error_for(error)

    def _find_profile(self, connection: PoolConnection, *, create: bool) -> str:
        name = self.place.profile
        if create and not self.engine.replica:
            found = connection.execute(FIND_PROFILE, (name,)).fetchall()
            if not found:
                with connection.transaction():
                    connection.execute(NAME_PROFILE, (name, self.new_uuid()))
        found = connection.execute(FIND_PROFILE, (name,)).fetchall()
        if not found:
            raise NoSuchVault(self.where)
        profile = str(found[0][0])
        self._set_profile(connection, profile)
        if not connection.execute(
            "select 1 from profile where profile = %s", (profile,)
        ).fetchall():
            with connection.transaction():
                connection.execute(MAKE_PROFILE, (profile, self.new_uuid()))
        return profile

    def beside(self, name: str, profile: str) -> Database:
        """The rows of this profile of the same database, for as long as this one is open."""
        place = replace(self.place, profile=name)
        other = Database(place, self._pool, clock=self._clock, seconds=self.seconds)
        other.profile, other.engine = profile, self.engine
        return other

    def close(self) -> None:
        leave(self._pool)

    def erase(self) -> None:
        """Remove all that this profile has, and the profile itself."""

        def work() -> None:
            self.rows(LOCK, (self.profile,))
            for (table,) in self.rows(TABLES, (self.place.schema,)):
                self.rows(f'delete from "{table}" where profile = %s', (self.profile,))

        self.repeated(work)

    def new_uuid(self) -> str:
        return uuid7(self._clock.now_ns())

    def error_for(self, error: psycopg.Error) -> CommonplaceError:
        return error_for(error, where=self.where, seconds=self.seconds)

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is in a transaction of this database."""
        return getattr(self._threads, "connection", None) is not None

    def rows(self, statement: str, arguments: Values = ()) -> list[Row]:
        """The rows that a statement returns.

        Outside a transaction it is sent again when the server went away, so it must do no harm when
        it runs twice.
        """
        if self.in_transaction:
            return self._execute(self._threads.connection, statement, arguments)
        return self.again(lambda: self._once(statement, arguments))

    def many(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """The same statement for each of several rows, in this thread's transaction."""
        with self._guarded(), self._threads.connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def _once(self, statement: str, arguments: Values) -> list[Row]:
        # Not `with self._borrow()`: around a short statement that costs as much as to send it.
        connection = self._take()
        try:
            if not connection.told_each_time:
                return self._execute(connection, statement, arguments)
            with self._guarded(), self._begun(connection):
                return self._execute(connection, statement, arguments)
        finally:
            self._pool.give(connection)

    def _execute(self, connection: PoolConnection, statement: str, arguments: Values) -> list[Row]:
        text, names = numbered(statement)
        if isinstance(arguments, Mapping):
            arguments = [arguments[name] for name in names]
        try:
            cursor = connection.raw_cursor
            cursor.execute(text, arguments, binary=True)
            found = cursor.pgresult
            return cursor.fetchall() if found and found.nfields else []
        except psycopg.Error as error:
            raise self._note_error(error) from None

    def sweep(self) -> None:
        """Clear deleted rows away now, as far as the server lets us: it does so itself later."""
        with suppress(psycopg.Error), self._borrow() as connection:
            ((tables,),) = connection.execute(OUR_TABLES, (self.place.schema,)).fetchall()
            connection.execute(f"{SWEEP} {tables}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing for the statements of this thread inside; one inside another joins it.

        `Interrupted` when the server went away before it was done.
        """
        if self.in_transaction:
            yield
            return
        with self._transaction(), self._guarded():
            yield

    @contextmanager
    def locked(self) -> Iterator[None]:
        """A transaction that no other locked one of this profile runs beside."""
        if self.is_locked:
            yield
            return
        with self.transaction():
            found = self._threads.head = self._head_by(LOCK)
            self._threads.counted = None
            try:
                yield
                head = self._threads.head
                if head != found:
                    values = (head.dialect, head.journal, head.ended, head.marks)
                    self.rows(SET_HEAD, (*values, self.profile))
                    self._check_quota(head)
                self._note_commit()
            finally:
                self._threads.head = None

    def _check_quota(self, head: Head) -> None:
        """Refuse what makes a tenant larger than it may be. What takes records away goes on."""
        before = self._threads.counted
        if before is None:
            return
        records, size = self._counts()
        if 0 < head.most_records < records and before < records:
            raise QuotaSpent(self.place.profile, "records", there=records, most=head.most_records)
        size += head.ended
        if 0 < head.most_bytes < size and before <= records:
            raise QuotaSpent(self.place.profile, "bytes", there=size, most=head.most_bytes)

    def _counts(self) -> tuple[int, int]:
        """How many records there are, and how many bytes the documents have."""
        [(records, size)] = self.rows(COUNTS, {"profile": self.profile})
        return records, size

    def _note_commit(self) -> None:
        """Leave the row that proves this transaction, should the answer to its commit be lost."""
        self._check_sound(self._threads.connection)
        mark = self.new_uuid()
        self.rows(NOTE_COMMIT, (self.profile, mark))
        self._threads.mark = mark
        if not self._cleared:
            # Marks are made of the time: the old ones are found without looking at the others.
            oldest = uuid7(self._clock.now_ns() - DAY_NS)
            self.rows(CLEAR_COMMITS, (self.profile, oldest))
            self._cleared = True

    @property
    def is_locked(self) -> bool:
        """Whether this thread holds the lock of the profile."""
        return getattr(self._threads, "head", None) is not None

    def head(self) -> Head:
        """The profile's own row; under the lock, what it will say when that is let go."""
        if self.is_locked:
            held: Head = self._threads.head
            return held
        return self._head_by(HEAD)

    def _head_by(self, statement: str) -> Head:
        rows = self.rows(statement, (self.profile,))
        head = Head(*rows[0]) if rows else None
        # It may have been dropped or renamed while this had it open.
        if not head or head.state == DROPPED or head.renamed not in ("", self.place.profile):
            raise NoSuchVault(self.where)
        if head.state in (SUSPENDED, MOVED):
            raise TenantClosed(self.place.profile, moved=head.state == MOVED)
        return head

    def check_open(self) -> None:
        """An error says so where nothing may be read any more."""
        self.head()

    def check_written(self) -> None:
        """An error says so where nothing may be written any more."""
        if self.head().state:
            raise self.read_only()

    def read_only(self) -> ReadOnly:
        """What to say to who wants to write what can only be read."""
        name = self.place.profile
        return ReadOnly(
            f"The memory {name}",
            next_step="It is read-only for now. Ask who runs its database, who opens it "
            f"('commonplace tenants URL open {name}').",
        )

    def set_head(self, **changes: Any) -> None:
        """Change the profile's own row, under the lock. It is written once, at the end of it."""
        head = self.head()
        if head.state == READ_ONLY and not OF_READ_ONLY.isdisjoint(changes):
            raise self.read_only()
        has_quota = head.most_records or head.most_bytes
        if "ended" in changes and has_quota and self._threads.counted is None:
            self._threads.counted = self._counts()[0]
        self._threads.head = replace(head, **changes)

    def set_dialect(self, name: str) -> None:
        """Note the layout of the profile's documents."""

        def work() -> None:
            with self.locked():
                self.set_head(dialect=name)

        self.repeated(work)

    def repeated(self, work: Callable[[], Result]) -> Result:
        """Do work in one transaction, from the start again while the server goes away."""

        def once() -> Result:
            with self.transaction():
                return work()

        return once() if self.in_transaction else self.again(once)

    @contextmanager
    def bare(self, *, undone: bool = False) -> Iterator[psycopg.Connection[Any]]:
        """A connection in a transaction whose errors are the server's own."""
        with self._borrow() as connection, connection.transaction(force_rollback=undone):
            if connection.told_each_time:
                self._tell(connection)
            yield connection

    def again(self, once: Callable[[], Result]) -> Result:
        """Call `once` until it is not `Interrupted`, or the time is over."""
        deadline, pause = monotonic() + self.seconds, PAUSE
        while True:
            try:
                return once()
            except Interrupted as interrupted:
                if monotonic() > deadline:
                    raise self.error_for(interrupted.error) from None
            self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._borrow() as connection:
            self._threads.connection = connection
            self._threads.mark = self._threads.error = None
            try:
                self._begin(connection)
                yield
                self._check_sound(connection)
                self._commit(connection)
            except psycopg.Error as error:
                raise self._interrupted_or_error(error) from None
            finally:
                self._threads.connection = None
                if not connection.closed:
                    with suppress(psycopg.Error):
                        connection.rollback()

    def _check_sound(self, connection: psycopg.Connection[Any]) -> None:
        """Raise the error that somebody swallowed: the server would answer a commit with a rollback
        and no error.
        """
        if connection.info.transaction_status == psycopg.pq.TransactionStatus.INERROR:
            raise self._threads.error

    def _commit(self, connection: psycopg.Connection[Any]) -> None:
        try:
            connection.execute("commit")
        except psycopg.Error as error:
            mark = self._threads.mark
            if mark is None or not may_succeed_again(error) or not self._is_committed(mark):
                raise

    def _is_committed(self, mark: str) -> bool:
        """Ask the server whether a locked transaction whose commit was cut off has happened."""
        self._pool.drop_idle()
        self._threads.connection = None

        def once() -> bool:
            with self.transaction():
                # A server that has not noticed that nobody listens still holds the lock.
                self.rows(LOCK, (self.profile,))
                return bool(self.rows(FIND_COMMIT, (self.profile, mark)))

        return self.again(once)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise self._note_error(error) from None

    def _note_error(self, error: psycopg.Error) -> Exception:
        """The error to raise, kept for the end of this thread's transaction."""
        judged = self._interrupted_or_error(error)
        # The first one counts: those after it only say that there was one.
        self._threads.error = getattr(self._threads, "error", None) or judged
        return judged

    def _interrupted_or_error(self, error: psycopg.Error) -> Exception:
        if may_succeed_again(error):
            self._pool.drop_idle()
            return Interrupted(error)
        return self.error_for(error)

    @contextmanager
    def _borrow(self) -> Iterator[PoolConnection]:
        """A connection that sees the rows of this profile."""
        connection = self._take()
        try:
            yield connection
        finally:
            self._pool.give(connection)

    def _take(self) -> PoolConnection:
        """The same; the caller gives it back to the pool."""
        try:
            connection = self._pool.take(seconds=self.seconds, where=self.where)
        except psycopg.Error as error:
            raise self._cannot_connect(error) from None
        try:
            if self.profile and not connection.told_each_time:
                self._set_profile(connection, self.profile)
        except BaseException as error:
            self._pool.give(connection)
            raise self._note_error(error) if isinstance(error, psycopg.Error) else error from None
        return connection

    def _set_profile(self, connection: PoolConnection, profile: str) -> None:
        if connection.told_each_time:
            self._tell(connection, profile)
        elif connection.serves != (wanted := (profile, self.seconds)):
            connection.execute(said(self._own_settings(profile), "set"), prepare=False)
            connection.serves = wanted

    def _own_settings(self, profile: str = "") -> dict[str, str]:
        # No time at all would be to wait for ever.
        wait = f"{max(1, int(self.seconds * 1000))}ms"
        return {"commonplace.profile": profile or self.profile, "lock_timeout": wait}

    @contextmanager
    def _begun(self, connection: PoolConnection) -> Iterator[None]:
        """A transaction that is told what our statements count on."""
        self._begin(connection)
        try:
            yield
            connection.execute("commit")
        finally:
            if not connection.closed:
                connection.rollback()

    def _begin(self, connection: PoolConnection) -> None:
        beginning = self._pool.beginning(connection, self._own_settings())
        connection.execute(beginning, prepare=False)

    def _tell(self, connection: PoolConnection, profile: str = "") -> None:
        """Set for one transaction what a connection of our own is set to once."""
        told = self._pool.told(connection, self._own_settings(profile))
        connection.execute(told, prepare=False)

    @property
    def is_pooled(self) -> bool:
        """Whether a pooler stands between here and the server."""
        with self._borrow() as connection:
            return connection.pooled


@lru_cache(maxsize=512)
def numbered(statement: str) -> tuple[str, tuple[str, ...]]:
    """The statement with `$1`, `$2` … for its values, and the names of the values in order.

    psycopg would look through a long statement each time it is sent. A name that comes twice has
    one number; values without a name are numbered as they come.
    """
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1] or str(len(names))
        return f"${names.setdefault(name, len(names) + 1)}"

    return VALUE.sub(number, statement), tuple(names)
