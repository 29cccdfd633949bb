"""Open connections kept for the next call, shared by all that use one server in this process.

psycopg_pool was tried instead: it starts four threads for one command, a child process uses its
parent's connections, and of a server that cannot be reached it only says that a time is over. All
three matter here (commands, the gateway's forks, error sentences), so the pool stays our own.
Where another pooler stands before the server, such as PgBouncer, a connection keeps nothing from
one transaction to the next.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import psycopg
from psycopg import sql

from commonplace.model.errors import NoServer
from commonplace.postgres.server import SETTINGS

SIZE = 10
"""Connections of one process to one server."""
CONNECT_SECONDS = 10
IDLE_SECONDS = 60
"""How long the server lets a silent client keep a transaction, and with it a lock, open."""


IN_TRANSACTION = sql.SQL("true")


class PoolConnection(psycopg.Connection[Any]):
    """A connection of a pool."""

    pooled = False
    """Whether a pooler gives each transaction a session of the server that others use as well."""
    serves: tuple[str, float] | None = None
    """The profile it is set to, and how many seconds it may wait for a lock."""

    @cached_property
    def raw_cursor(self) -> psycopg.RawCursor[Any]:
        """The cursor of all our statements: it has learned how their values are sent."""
        return psycopg.RawCursor(self)


class Pool:
    """The connections of one process to one database."""

    def __init__(self, server: str, schema: str, *, size: int = SIZE) -> None:
        self.server = server
        self.schema = schema
        self.size = size
        self.users = 0
        self.reached = False
        """Whether a connection was ever made."""
        self._idle: list[PoolConnection] = []
        self._free = threading.BoundedSemaphore(size)

    def take(self, *, seconds: float, where: str) -> PoolConnection:
        """An open connection; it may have broken since it was last used."""
        if not self._free.acquire(timeout=seconds):
            raise NoServer(
                where,
                f"all {self.size} connections of this process have been in use for {seconds:.0f} s",
                next_step="Try again, or do less at the same time.",
            )
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._connect()
        except BaseException:
            self._free.release()
            raise

    def give(self, connection: PoolConnection) -> None:
        """Take a connection back; one in the middle of something is closed."""
        # A closed one has no status that is known.
        if connection.pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        self._free.release()

    def drop_idle(self) -> None:
        """Close what is kept: one connection broke, and the others have likely broken with it."""
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> PoolConnection:
        connection = PoolConnection.connect(
            self.server,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            fallback_application_name="commonplace",
        )
        # A pooler answers for a server process that it does not name: there nothing must stay set.
        named = connection.info.backend_pid
        told = self.settings({}, is_local=sql.SQL("pg_backend_pid() <> {}").format(named))
        ((pid, *_),) = connection.execute(told).fetchall()
        connection.pooled = pid != named
        if connection.pooled:
            connection.prepare_threshold = None
        self.reached = True
        return connection

    def settings(self, others: Mapping[str, str], *, is_local: sql.Composable) -> sql.Composed:
        """The statement that sets what our statements count on, for a transaction or for long."""
        wanted = {
            "search_path": f"{self.schema}, public",
            "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
            "TimeZone": "UTC",
            **SETTINGS,
            **others,
        }
        each = sql.SQL("set_config({}, {}, {})")
        said = [each.format(name, value, is_local) for name, value in wanted.items()]
        return sql.SQL("select pg_backend_pid(), {}").format(sql.SQL(", ").join(said))


_pools: dict[tuple[int, str, str], Pool] = {}
_guard = threading.Lock()


def join(server: str, schema: str) -> Pool:
    """The pool of this process for a server; `leave` it when done."""
    with _guard:
        pool = _pools.setdefault((os.getpid(), server, schema), Pool(server, schema))
        pool.users += 1
        return pool


def leave(pool: Pool) -> None:
    """Close the connections when nobody of this process uses them any more."""
    with _guard:
        pool.users -= 1
        if not pool.users:
            pool.drop_idle()
            _pools.pop((os.getpid(), pool.server, pool.schema), None)
