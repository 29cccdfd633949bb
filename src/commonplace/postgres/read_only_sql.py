"""SQL that only reads: one question of ours, and logins for programs such as psql.

A role of our own asks, in a transaction that reads. A statement could give itself our rights back
by calling a function, so only functions that compute may be called, and what runs is stopped after
a time. A reader is a login of its own: the table of readers says which profile it sees, it owns
nothing, may write nothing, and its statements end in time. Making a role takes a right that not
every user of a database has.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
from msgspec import Struct

from commonplace.history.messages import Table
from commonplace.history.sql_questions import SQL_LIMITS, VIEW_NAMES, bad_statement, table, too_slow
from commonplace.model.errors import BadValue, DatabaseTrouble, NotFound
from commonplace.postgres.connection import Database
from commonplace.postgres.server import Interrupted, may_succeed_again

LONGEST = 100_000
DEEPEST = 200
MOST_COLUMNS = 200
FETCHED = 50
"""Rows that are fetched at once, before their length is looked at."""
TOKEN = re.compile(
    r"""(?xs)
    (?P<gap> \s+ | --[^\n\r]* )
    | (?P<text> [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' )
    | (?P<name> "(?:[^"]|"")*" | [^\W\d][\w$]* )
    | (?P<sign> . )
    """
)
# Each can hide a part of the statement from whoever does not read it just as PostgreSQL does.
HIDING = re.compile(r"""(?x) /\* | \$ | &" """)
CALLED_FREELY = """age array_to_json array_to_string concat concat_ws date date_part date_trunc
extract format generate_series json_agg json_build_array json_build_object json_object_agg jsonb_agg
jsonb_build_array jsonb_build_object jsonb_object_agg length now phraseto_tsquery plainto_tsquery
random row_to_json text time timestamp timestamptz timezone to_char to_date to_json to_jsonb
to_number to_timestamp to_tsquery to_tsvector ts_headline websearch_to_tsquery"""
COMPUTING = frozenset(CALLED_FREELY.split())
"""Functions that compute, though the answer may hang on the time zone or the language."""
# What PostgreSQL calls immutable reads nothing and changes nothing.
OTHERS = """select distinct proname from pg_proc
    where proname = any(%s) and provolatile <> 'i' order by proname"""
STOPPED = "57014"
NO_FAULT_OF_THE_STATEMENT = ("53", "57", "58", "XX")
READER_NAME = re.compile(r"[a-z][a-z0-9_]{0,29}\Z")
READER_SECONDS = 10
"""How long a statement of a reader may take, unless it sets another time for itself."""
READER_CONNECTIONS = 5
READER_SETTINGS = {
    "default_transaction_read_only": "on",
    "idle_in_transaction_session_timeout": "60s",
    "TimeZone": "UTC",
}
KEEP = "insert into reader(role, profile) values (%s, %s) on conflict do nothing"
READERS = "select role::text from reader where profile = %s order by role"
TRIES = 20
AT_ONCE = ("42710", "23505", "XX000", "40001", "40P01")
"""What two hosts get that make or change the same role at the same moment."""
NOT_ALLOWED = ("42501", "0LP01")
IS_OURS = """select 1 from pg_roles r where r.rolname = %s
    and pg_has_role(r.oid, 'member') and has_table_privilege(r.oid, 'messages', 'select')
    and has_schema_privilege(r.oid, %s, 'usage')"""


def ask(database: Database, statement: str, *, limit: int) -> Table:
    """The first rows that one SELECT over the views gives."""
    try:
        asked = _question(statement)
        asker = _asker(database)
        return database.again(lambda: _asked(database, asked, asker, limit))
    except _Unfit as unfit:
        raise bad_statement(str(unfit)) from None


def _asked(database: Database, asked: _Question, asker: str, limit: int) -> Table:
    try:
        with database.bare(undone=True) as connection:
            connection.execute("set transaction read only")
            _check_functions(connection, asked.names)
            connection.execute("set local standard_conforming_strings = on")
            connection.execute("set local timezone = 'UTC'")
            connection.execute(f"set local statement_timeout = {int(SQL_LIMITS.seconds * 1000)}")
            # Elsewhere in a cluster nobody asks but the owner, for this role.
            connection.execute("set local citus.propagate_set_commands = 'none'")
            connection.execute(f"set local role {_quoted(asker)}")
            # A cursor takes nothing but a question, and sent as binary it is one statement.
            connection.execute(f"declare asked no scroll cursor for {asked.text}", binary=True)
            return _answer(connection, limit)
    except psycopg.Error as error:
        raise _judged(error, database, SQL_LIMITS.seconds) from None


def _answer(connection: psycopg.Connection[Any], limit: int) -> Table:
    found = connection.execute("fetch 0 from asked")
    columns = tuple(column.name for column in found.description or ())
    if not columns:
        raise _Unfit("it asks nothing")
    if len(columns) > MOST_COLUMNS:
        raise _Unfit(f"it asks for more than {MOST_COLUMNS} columns")
    rows: list[tuple[Any, ...]] = []
    characters = 0
    # One more than is shown tells that there are more.
    while len(rows) <= limit and characters <= SQL_LIMITS.characters:
        some = connection.execute(f"fetch {min(FETCHED, limit + 1 - len(rows))} from asked")
        if not some.rowcount:
            break
        rows += [tuple(map(_plain, row)) for row in some.fetchall()]
        characters = sum(len(str(value)) for row in rows for value in row)
    return table(columns, rows, limit=limit, limits=SQL_LIMITS)


def _plain(value: Any) -> Any:
    """A value as SQLite would tell it: a text, a number or nothing."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ", "milliseconds")
    return value if isinstance(value, str | int | float | bytes | None) else str(value)


def _judged(error: psycopg.Error, database: Database, seconds: float) -> Exception:
    code = error.sqlstate or ""
    if code == STOPPED:
        return too_slow(seconds)
    if may_succeed_again(error):
        return Interrupted(error)
    if not code or code.startswith(NO_FAULT_OF_THE_STATEMENT):
        return database.error_for(error)
    return _Unfit(error.diag.message_primary or "it is wrong")


class _Unfit(Exception):
    """What is wrong with a statement."""


class _Question(Struct, frozen=True):
    text: str
    names: tuple[str, ...]
    """What stands before a parenthesis: functions, and names of its own."""


def _question(statement: str) -> _Question:
    """The statement, when it looks like one question."""
    if len(statement) > LONGEST:
        raise _Unfit(f"it is longer than {LONGEST} characters")
    if "\0" in statement or not _encodable(statement):
        raise _Unfit("it has a character that no text has")
    text = statement.strip().rstrip(";").rstrip()
    tokens = [match for match in TOKEN.finditer(text) if match.lastgroup != "gap"]
    _check_shape([match["sign"] for match in tokens])
    _check_signs(tokens)
    names = [_name(match) for match in tokens]
    for name in names:
        if name.startswith("pg_") or name == "information_schema":
            raise _Unfit(f"it reads {name}")
    called = (name for name, after in zip(names, tokens[1:]) if name and after["sign"] == "(")
    return _Question(text, tuple(dict.fromkeys(called)))


def _check_signs(tokens: Sequence[Any]) -> None:
    shown = "".join(match[0][:1] if match["text"] else match[0] for match in tokens)
    for hiding in HIDING.findall(shown):
        raise _Unfit(f"it has {hiding} outside of a text")


def _name(match: Any) -> str:
    name = str(match["name"] or "")
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def _check_shape(signs: Any) -> None:
    depth = 0
    for sign in signs:
        depth += (sign == "(") - (sign == ")")
        if sign == ";":
            raise _Unfit("it is more than one statement")
        if depth > DEEPEST:
            raise _Unfit(f"it is nested more than {DEEPEST} deep")


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_functions(connection: psycopg.Connection[Any], names: Sequence[str]) -> None:
    for (name,) in connection.execute(OTHERS, (list(names),)).fetchall():
        if name not in COMPUTING:
            raise _Unfit(f"it calls {name}, which a question may not")


def _asker(database: Database) -> str:
    """The role that asks for us: ours alone, and made when it is first wanted."""
    [who] = database.rows("select current_user::text, current_database()::text")
    digest = hashlib.sha256("\0".join((*who, database.place.schema)).encode()).hexdigest()
    name = f"commonplace_asker_{digest[:12]}"
    if not database.rows(IS_OURS, (name, database.place.schema)):
        _make_asker(database, name)
    return name


class ReaderLogin(Struct, frozen=True):
    """A login that reads, with the URL that psql takes. The password is in it, and nowhere else."""

    role: str
    url: str


def make_reader(database: Database, name: str) -> ReaderLogin:
    """Make a reader of this profile; one of that name gets a new password."""
    role, password = _role(database, _checked(name)), secrets.token_urlsafe(24)

    def work(connection: psycopg.Connection[Any]) -> None:
        verb = "alter" if _is_there(connection, role) else "create"
        hidden = connection.pgconn.encrypt_password(
            password.encode(), role.encode(), b"scram-sha-256"
        ).decode()
        connection.execute(
            f"{verb} role {_quoted(role)} login noinherit connection limit {READER_CONNECTIONS} "
            f"password '{hidden}'"
        )
        limits = {"statement_timeout": f"{READER_SECONDS}s", "search_path": database.place.schema}
        for setting, value in {**READER_SETTINGS, **limits}.items():
            connection.execute(f"alter role {_quoted(role)} set {setting} = '{value}'")
        _let_read(connection, database, role)
        connection.execute(KEEP, (role, database.profile))

    _change_roles(database, work)
    return ReaderLogin(role, database.place.url_for(role, password))


def readers_of(database: Database) -> list[str]:
    """The names of the readers of this profile."""
    before, after = _role(database, "\0").split("\0")
    found = (role for (role,) in database.rows(READERS, (database.profile,)))
    return [role.removeprefix(before).removesuffix(after) for role in found]


def revoke_reader(database: Database, name: str) -> str:
    """Take a reader of this profile away. A session that it still has can read nothing more."""
    role, schema = _role(database, _checked(name)), _quoted(database.place.schema)

    def work(connection: psycopg.Connection[Any]) -> None:
        if not _is_there(connection, role):
            raise NotFound(
                f"There is no reader {name} of this memory.",
                next_step="'commonplace history reader --list' shows those there are.",
            )
        connection.execute("delete from reader where role = %s", (role,))
        for things in (f"schema {schema}", _views(database)):
            connection.execute(f"revoke all on {things} from {_quoted(role)}")
        connection.execute(f"drop role {_quoted(role)}")

    _change_roles(database, work)
    return role


def _role(database: Database, name: str) -> str:
    """Roles belong to the whole server: the name says which profile the reader is of."""
    return f"commonplace_{name}_{database.profile[-12:]}"


def _checked(name: str) -> str:
    if not READER_NAME.match(name):
        raise BadValue(
            "name", f"{name!r} is not the name of a reader", next_step="Use a-z, 0-9 and '_'."
        )
    return name


def _make_asker(database: Database, role: str) -> None:
    """Make a role that we may become, or give it what it lacks."""

    def work(connection: psycopg.Connection[Any]) -> None:
        if not _is_there(connection, role):
            connection.execute(f"create role {_quoted(role)} nologin")
        connection.execute(f"grant {_quoted(role)} to current_user")
        _let_read(connection, database, role)

    _change_roles(database, work)


def _is_there(connection: psycopg.Connection[Any], role: str) -> bool:
    return bool(connection.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchall())


def _let_read(connection: psycopg.Connection[Any], database: Database, role: str) -> None:
    """Let a role read the views."""
    schema = _quoted(database.place.schema)
    connection.execute(f"grant usage on schema {schema} to {_quoted(role)}")
    connection.execute(f"grant select on {_views(database)} to {_quoted(role)}")


def _views(database: Database) -> str:
    schema = _quoted(database.place.schema)
    return ", ".join(f"{schema}.{_quoted(view)}" for view in VIEW_NAMES)


def _quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _change_roles(database: Database, work: Callable[[psycopg.Connection[Any]], None]) -> None:
    """Change roles in one transaction, again when another host changed the same ones just then."""
    for left in range(TRIES, -1, -1):
        try:
            with database.bare() as connection:
                work(connection)
            return
        except psycopg.Error as error:
            code = error.sqlstate or ""
            if code in NOT_ALLOWED:
                raise DatabaseTrouble(
                    database.where,
                    f"no role was made that only reads ({str(error).splitlines()[0]})",
                    next_step="Have an administrator run ALTER ROLE … CREATEROLE for the URL's "
                    "user.",
                ) from None
            if code not in AT_ONCE or not left:
                raise database.error_for(error) from None
