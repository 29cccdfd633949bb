"""Roles that may read a few views and nothing else.

It does not know what the views show. Making a role is the server's business, and takes a right that
not every user of a database has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from commonplace.model.errors import MayNotMakeRoles
from commonplace.postgres.connection import Database

TRIES = 20
AT_ONCE = ("42710", "23505", "XX000", "40001", "40P01")
"""What two hosts get that make or change the same role at the same moment."""
NOT_ALLOWED = ("42501", "0LP01")
IS_OURS = """select 1 from pg_roles r where r.rolname = %s
    and pg_has_role(r.oid, 'member') and has_table_privilege(r.oid, 'messages', 'select')
    and has_schema_privilege(r.oid, %s, 'usage')"""


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def is_ours(database: Database, role: str) -> bool:
    """Whether we may ask as this role, and the role may read."""
    return bool(database.rows(IS_OURS, (role, database.place.schema)))


def make_ours(database: Database, role: str, views: Sequence[str]) -> None:
    """Make a role that we may become, or give it what it lacks."""

    def work(connection: psycopg.Connection[Any]) -> None:
        if not is_there(connection, role):
            connection.execute(f"create role {quoted(role)} nologin")
        connection.execute(f"grant {quoted(role)} to current_user")
        let_read(connection, database.place.schema, role, views)

    changed(database, work)


def is_there(connection: psycopg.Connection[Any], role: str) -> bool:
    return bool(connection.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchall())


def let_read(
    connection: psycopg.Connection[Any], schema: str, role: str, views: Sequence[str]
) -> None:
    """Let a role read these views."""
    shown = ", ".join(f"{quoted(schema)}.{quoted(view)}" for view in views)
    connection.execute(f"grant usage on schema {quoted(schema)} to {quoted(role)}")
    connection.execute(f"grant select on {shown} to {quoted(role)}")


def changed(database: Database, work: Callable[[psycopg.Connection[Any]], None]) -> None:
    """Change roles in one transaction, again when another host changed the same ones just then."""
    for left in range(TRIES, -1, -1):
        try:
            with database.bare() as connection:
                work(connection)
            return
        except psycopg.Error as error:
            code = error.sqlstate or ""
            if code in NOT_ALLOWED:
                raise MayNotMakeRoles(database.where, str(error).splitlines()[0]) from None
            if code not in AT_ONCE or not left:
                raise database.told(error) from None
