"""Logins for programs of one's own, such as psql, that read one profile's views and nothing else.

It does not know what the views show. A reader sees its profile because the table of readers says
so, and not by what it sets; it owns nothing, may write nothing, and its statements end in time.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

import psycopg
from msgspec import Struct

from commonplace.history.tables import VIEW_NAMES
from commonplace.model.errors import BadValue, NoSuchReader
from commonplace.postgres.connection import Database
from commonplace.postgres.roles import changed, is_there, let_read, quoted

NAME = re.compile(r"[a-z][a-z0-9_]{0,29}\Z")
SECONDS = 10
"""How long a statement of a reader may take, unless it sets another time for itself."""
CONNECTIONS = 5
SETTINGS = {
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "60s",
    "TimeZone": "UTC",
}
KEEP = "insert into reader(role, profile) values (%s, %s) on conflict do nothing"
READERS = "select role::text from reader where profile = %s order by role"


class Reader(Struct, frozen=True):
    """A login that reads, with the URL that psql takes. The password is in it, and nowhere else."""

    role: str
    url: str


def make_reader(database: Database, name: str) -> Reader:
    """Make a reader of this profile; one of that name gets a new password."""
    role, password = _role(database, _checked(name)), secrets.token_urlsafe(24)

    def work(connection: psycopg.Connection[Any]) -> None:
        verb = "alter" if is_there(connection, role) else "create"
        hidden = connection.pgconn.encrypt_password(
            password.encode(), role.encode(), b"scram-sha-256"
        ).decode()
        connection.execute(
            f"{verb} role {quoted(role)} login noinherit connection limit {CONNECTIONS} "
            f"password '{hidden}'"
        )
        limits = {"statement_timeout": f"{SECONDS}s", "search_path": database.place.schema}
        for setting, value in {**SETTINGS, **limits}.items():
            connection.execute(f"alter role {quoted(role)} set {setting} = '{value}'")
        let_read(connection, database.place.schema, role, VIEW_NAMES)
        connection.execute(KEEP, (role, database.profile))

    changed(database, work)
    return Reader(role, database.place.url_for(role, password))


def readers_of(database: Database) -> list[str]:
    """The names of the readers of this profile."""
    before, after = _role(database, "\0").split("\0")
    found = (role for (role,) in database.rows(READERS, (database.profile,)))
    return [role.removeprefix(before).removesuffix(after) for role in found]


def revoke_reader(database: Database, name: str) -> str:
    """Take a reader of this profile away. A session that it still has can read nothing more."""
    role, schema = _role(database, _checked(name)), quoted(database.place.schema)

    def work(connection: psycopg.Connection[Any]) -> None:
        if not is_there(connection, role):
            raise NoSuchReader(name)
        connection.execute("delete from reader where role = %s", (role,))
        for things in (f"schema {schema}", f"all tables in schema {schema}"):
            connection.execute(f"revoke all on {things} from {quoted(role)}")
        connection.execute(f"drop role {quoted(role)}")

    changed(database, work)
    return role


def _role(database: Database, name: str) -> str:
    """Roles belong to the whole server: the name says which profile the reader is of."""
    return f"commonplace_{name}_{database.profile[-12:]}"


def _checked(name: str) -> str:
    if not NAME.match(name):
        raise BadValue(
            "name", f"{name!r} is not the name of a reader", next_step="Use a-z, 0-9 and '_'."
        )
    return name
