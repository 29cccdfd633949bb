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
from commonplace.postgres.server import CLUSTER, SETTINGS

SIZE = 10
"""Connections of one process to one server."""
CONNECT_SECONDS = 10
IDLE_SECONDS = 60
"""How long the server lets a silent client keep a transaction, and with it a lock, open."""


WHOSE = "select pg_backend_pid(), exists(select 1 from pg_extension where extname = 'citus')"


class PoolConnection(psycopg.Connection[Any]):
    """A connection of a pool."""

    pooled = False
    """Whether a pooler gives each transaction a session of the server that others use as well."""
    told_each_time = False
    """Whether a transaction has to be told its settings: a pooler's session keeps none, and a
    cluster passes none on to its servers but those of the transaction.
    """
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
        ((pid, has_citus),) = connection.execute(WHOSE).fetchall()
        connection.pooled = pid != connection.info.backend_pid
        connection.told_each_time = connection.pooled or has_citus
        if connection.pooled:
            connection.prepare_threshold = None
        else:
            connection.execute(said(self._settings, "set"), prepare=False)
        self.reached = True
        return connection

    @property
    def _settings(self) -> dict[str, str]:
        """What our statements count on, wherever they are sent."""
        return {
            **CLUSTER,
            "search_path": f"{self.schema}, public",
            "idle_in_transaction_session_timeout": f"{IDLE_SECONDS}s",
            "TimeZone": "UTC",
            **SETTINGS,
        }

    def beginning(self, connection: PoolConnection, others: Mapping[str, str]) -> str:
        """What begins a transaction in which our statements and these settings count."""
        return f"begin; {self.told(connection, others)}" if connection.told_each_time else "begin"

    def told(self, connection: PoolConnection, others: Mapping[str, str]) -> str:
        """One statement that makes these settings for the transaction, and what it has to be told.

        As one block: of several statements in one message a cluster would repeat all for each.
        """
        ours = self._settings if connection.pooled else SETTINGS
        return f"do $told$ begin {said({**ours, **others}, 'set local')} end $told$"


def said(settings: Mapping[str, str], verb: str) -> str:
    """Statements that make settings."""
    each = (
        f"{verb} {name} = {', '.join(_literal(part) for part in value.split(', '))};"
        for name, value in settings.items()
    )
    return " ".join(each)


def _literal(value: str) -> str:
    return sql.Literal(value).as_string()


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
