"""Bringing a database to the shape that this commonplace knows; forward only, from many hosts.

It knows that there are steps, not what they make.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from commonplace.model.errors import NewerDatabase, NoSuchVault, ReadOnlyDatabase
from commonplace.postgres.schema import STEPS, index_of_vectors
from commonplace.postgres.server import add_vectors, probe

TRIES = 20
MADE_AT_ONCE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateSchema,
    psycopg.errors.InternalError_,
)
"""What two hosts get that make the same thing at the same moment."""


def migrate(
    connection: psycopg.Connection[Any], *, schema: str, where: str, create: bool = True
) -> None:
    """Take the steps that this database has not taken yet, each host waiting for the other.

    Where none was ever taken there is no memory, and only who may create one makes the tables.
    """
    found = _taken(connection)
    if found > len(STEPS):
        raise NewerDatabase(where, found=found, known=len(STEPS))
    if found == len(STEPS) and _has_vectors(connection):
        return
    engine = probe(connection, where)
    if found == len(STEPS) and (engine.replica or not engine.vectors):
        return
    if not found and not create:
        raise NoSuchVault(where)
    if engine.replica:
        raise ReadOnlyDatabase(where)
    if not engine.vectors:
        add_vectors(connection)
    _make_schema(connection, schema)
    engine = probe(connection, where)
    with connection.transaction():
        # Another host that takes the same steps waits here, and then finds them taken.
        connection.execute("lock table step in exclusive mode")
        for number, step in enumerate(STEPS[_taken(connection) :], _taken(connection) + 1):
            for statement in step(engine):
                connection.execute(statement)
            connection.execute("insert into step(number) values (%s)", (number,))
        if engine.vectors and not _has_vectors(connection):
            for statement in index_of_vectors(engine):
                connection.execute(statement)


def _taken(connection: psycopg.Connection[Any]) -> int:
    if connection.execute("select to_regclass('step')").fetchall() == [(None,)]:
        return 0
    return int(connection.execute("select coalesce(max(number), 0) from step").fetchall()[0][0])


def _has_vectors(connection: psycopg.Connection[Any]) -> bool:
    return connection.execute("select to_regclass('embedding')").fetchall() != [(None,)]


def _make_schema(connection: psycopg.Connection[Any], schema: str) -> None:
    # Who may not make one may use one that was made for him; "if not exists" is refused even then.
    there = connection.execute("select to_regnamespace(%s)", (schema,)).fetchall() != [(None,)]
    for left in range(TRIES, -1, -1):
        try:
            with connection.transaction():
                name = sql.Identifier(schema)
                if not there:
                    connection.execute(sql.SQL("create schema if not exists {}").format(name))
                connection.execute(
                    sql.SQL(
                        "create table if not exists {}.step("
                        "number int primary key, taken timestamptz not null default now())"
                    ).format(name)
                )
            return
        except MADE_AT_ONCE:
            if not left:
                raise
