"""What one PostgreSQL server has and the next has not, and what its errors mean.

Plain PostgreSQL, Citus and managed servers run the same tables and statements. What differs between
them is told by `Engine`; how tables are spread over a cluster is in `distribution`.
"""

from __future__ import annotations

from typing import Any

import psycopg
from msgspec import Struct

from commonplace.model.errors import (
    Busy,
    CommonplaceError,
    DatabaseTrouble,
    DiskFull,
    NoServer,
    ReadOnly,
)

OLDEST = 140000
OLDEST_VECTORS = (0, 8)
"""Before pgvector 0.8 a search among one profile's vectors finds a third of what it should."""
GRAPHS = (256, 384, 512, 768, 1024)
"""The dimensions whose vectors can be in a graph, when they are many; others are compared each."""
SETTINGS = {
    # The nearest of all profiles may be none of the one that is asked for: then look on.
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "200",
    # To compile a statement takes longer than any of ours.
    "jit": "off",
}
"""What is set for every connection, known to the server or not: for each server of a cluster."""
CLUSTER = {
    # From then on the servers of a cluster are told what a transaction is told.
    "citus.propagate_set_commands": "local",
    # Whatever concerns several servers at once (roles, tables) is done in one transaction.
    "citus.multi_shard_modify_mode": "sequential",
}
"""What is set for every connection where clients connect; elsewhere than in a cluster it says
nothing.
"""
OWN = "profile = nullif(current_setting('commonplace.profile', true), '')::uuid"
"""The rows that a connection may see: those of the profile it has named."""
AGAIN = frozenset(("40001", "40P01", "57P01", "57P02", "57P03", "57P05", "25P03"))
"""Codes after which the same work may succeed: two got in each other's way, or a restart."""
LOST_WORKER = (
    "failure on connection marked as essential",
    "could not commit transaction for shard",
    "connection to the remote node",
)
"""How a cluster says, under no code of its own, that one of its servers went away."""


class Engine(Struct, frozen=True):
    """One server, as far as it matters here."""

    version: int
    vectors: tuple[int, ...] = ()
    """The version of pgvector; empty without one that is new enough."""
    replica: bool = False
    citus: bool = False
    without_vectors: str = ""
    """Why no vectors are kept here; empty when they are."""


def probe(connection: psycopg.Connection[Any], where: str) -> Engine:
    """Ask a server what it is."""
    version, replica = connection.execute(
        "select current_setting('server_version_num')::int, pg_is_in_recovery()"
    ).fetchall()[0]
    if version < OLDEST:
        raise DatabaseTrouble(
            where,
            f"it is PostgreSQL {version // 10000}, and {OLDEST // 10000} is the oldest that will "
            "do",
            next_step="Update the server, or keep the memory in files.",
        )
    extensions = dict(connection.execute("select extname, extversion from pg_extension").fetchall())
    vectors = _numbers(extensions.get("vector", ""))
    new_enough = vectors if vectors >= OLDEST_VECTORS else ()
    return Engine(version, new_enough, replica, "citus" in extensions, _lacking(vectors))


def _lacking(vectors: tuple[int, ...]) -> str:
    if vectors >= OLDEST_VECTORS:
        return ""
    found = (
        f"pgvector {'.'.join(map(str, vectors))} is too old" if vectors else "it has no pgvector"
    )
    needed = ".".join(map(str, OLDEST_VECTORS))
    return (
        f"the database keeps no vectors, since {found}. With pgvector {needed} or newer, after "
        "'create extension vector', or 'alter extension vector update', it does."
    )


def add_vectors(connection: psycopg.Connection[Any]) -> None:
    """Add pgvector to the database where it can be had; without it words answer alone."""
    try:
        with connection.transaction():
            connection.execute("create extension if not exists vector")
    except psycopg.Error:
        # Not installed, not ours to add, or added by somebody else at this very moment.
        return


def kept_apart(*tables: str, forced: bool = True, seen: str = OWN) -> list[str]:
    """Statements after which each profile's rows of these tables are its own.

    What is not `forced` holds for every role but the one that made the tables: PostgreSQL uses no
    index of words for rows that it has to check first. `seen` is which of the rows may be read.
    """
    made = []
    for table in tables:
        made.append(f"alter table {table} enable row level security")
        if forced:
            made.append(f"alter table {table} force row level security")
        made.append(f"create policy own on {table} using ({seen}) with check ({OWN})")
    return made


def graph_of_vectors(dim: int) -> str:
    """The statement that makes the graph of one dimension, which has only what is marked for it."""
    return (
        f"create index embedding_graph_{dim} on embedding "
        f"using hnsw ((vector::halfvec({dim})) halfvec_cosine_ops) where graph = {dim}"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


class Interrupted(Exception):
    """The transaction came to nothing through no fault of its own: do it again from the start."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.error = error


def may_succeed_again(error: psycopg.Error) -> bool:
    """Whether the connection broke, or the server gave up what it may not give up next time."""
    if error.sqlstate == "XX000":
        return any(said in str(error) for said in LOST_WORKER)
    if error.sqlstate:
        return error.sqlstate in AGAIN or error.sqlstate.startswith("08")
    return isinstance(error, psycopg.OperationalError)


def error_for(error: psycopg.Error, *, where: str, seconds: float) -> CommonplaceError:
    """Our error for an error of the server."""
    code, said = error.sqlstate or "", _first_line(error)
    if code == "25006":
        return takes_no_writes(where)
    if code == "55P03":
        return Busy(where, seconds)
    if code in ("53100", "54000"):
        return DiskFull(where)
    if code.startswith("28") or "password" in said or ("role " in said and "exist" in said):
        return NoServer(where, said, next_step="Check the user and the password in the URL.")
    if code == "3D000" or ("database " in said and "does not exist" in said):
        return NoServer(where, said, next_step="Make it with 'createdb', or name another one.")
    if code == "53300" or "too many c" in said:
        return NoServer(where, said, next_step="Raise max_connections there, or try again later.")
    if not code and isinstance(error, psycopg.OperationalError):
        return NoServer(where, said, next_step="Check that the server runs and the URL names it.")
    return DatabaseTrouble(where, said, next_step="'commonplace doctor' says more.")


def takes_no_writes(where: str) -> ReadOnly:
    return ReadOnly(
        where,
        next_step="The server takes no writes, as a replica does: name the primary in the URL.",
    )


def no_cluster(where: str) -> DatabaseTrouble:
    return DatabaseTrouble(
        where,
        "the database has no Citus",
        next_step="Say 'create extension citus' there and name its servers, then try again.",
    )


def _first_line(error: psycopg.Error) -> str:
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return said.rpartition("FATAL:")[2].strip().rstrip(".")
