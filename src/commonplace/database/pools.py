"""Open connections kept for the next call, shared by all that use one server in this process.

A pool of our own: it has no threads to start for one command, says at once why a server cannot be
reached, and a forked child never uses its parent's connections. It does not know what is asked.
"""

from __future__ import annotations

import os
import threading

import psycopg
from psycopg import sql

from commonplace.database.engines import SETTINGS
from commonplace.errors import PoolFull
from commonplace.hints import Any

SIZE = 10
"""Connections of one process to one server."""
CONNECT_SECONDS = 10
IDLE_SECONDS = 60
"""How long the server lets a silent client keep a transaction, and with it a lock, open."""


class Pool:
    """The connections of one process to one database."""

    def __init__(self, server: str, schema: str, *, size: int = SIZE) -> None:
        self.server = server
        self.schema = schema
        self.size = size
        self.users = 0
        self.reached = False
        """Whether a connection was ever made."""
        self._idle: list[psycopg.Connection[Any]] = []
        self._free = threading.BoundedSemaphore(size)

    def take(self, *, seconds: float, where: str) -> psycopg.Connection[Any]:
        """An open connection; it may have broken since it was last used."""
        if not self._free.acquire(timeout=seconds):
            raise PoolFull(where, self.size, seconds)
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            return self._connect()
        except BaseException:
            self._free.release()
            raise

    def give(self, connection: psycopg.Connection[Any]) -> None:
        """Take a connection back; one in the middle of something is closed."""
        idle = psycopg.pq.TransactionStatus.IDLE
        if not connection.closed and connection.info.transaction_status == idle:
            self._idle.append(connection)
        else:
            connection.close()
        self._free.release()

    def drop_idle(self) -> None:
        """Close what is kept: one connection broke, and the others have likely broken with it."""
        while self._idle:
            self._idle.pop().close()

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(
            self.server,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            fallback_application_name="commonplace",
        )
        connection.execute(
            sql.SQL("select {}").format(
                sql.SQL(", ").join(
                    sql.SQL("set_config({}, {}, false)").format(name, value)
                    for name, value in (
                        ("search_path", f"{self.schema}, public"),
                        ("idle_in_transaction_session_timeout", f"{IDLE_SECONDS}s"),
                        ("TimeZone", "UTC"),
                        *SETTINGS.items(),
                    )
                )
            )
        )
        self.reached = True
        return connection


def cursor_of(connection: psycopg.Connection[Any]) -> psycopg.RawCursor[Any]:
    """The one cursor of a connection: it knows by now how the values of our statements are sent."""
    known: Any = connection
    try:
        found: psycopg.RawCursor[Any] = known.said
    except AttributeError:
        found = known.said = psycopg.RawCursor(connection)
    return found


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
