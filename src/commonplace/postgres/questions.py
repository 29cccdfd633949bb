"""One question in SQL, asked by a role that may read a few views and nothing else.

It knows which statements are questions, not what the views show. A role of our own asks, in a
transaction that reads; as a statement could give itself our rights back by calling a function, only
functions that compute may be called; and what runs is stopped after a time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg
from msgspec import Struct

from commonplace.model.errors import BadStatement, TooSlow
from commonplace.postgres.connection import Database
from commonplace.postgres.roles import is_ours, make_ours, quoted
from commonplace.postgres.troubles import Interrupted, may_succeed_again

LONGEST = 100_000
DEEPEST = 200
MOST_COLUMNS = 200
AT_ONCE = 50
"""Rows that are fetched before their length is looked at."""
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


class Answer(Struct, frozen=True):
    """What a question found, as far as it was asked for."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class Limits(Struct, frozen=True):
    """How much one question may take."""

    seconds: float
    rows: int
    characters: int


def ask(
    database: Database, statement: str, *, views: Sequence[str], limits: Limits, said: str
) -> Answer:
    """The first rows that one SELECT over these views gives.

    `said` is how the views are shown to whoever asked something else.
    """
    try:
        asked = _question(statement)
        asker = _asker(database, views)
        return database.again(lambda: _asked(database, asked, asker, limits))
    except _Unfit as unfit:
        raise BadStatement(str(unfit), views=said) from None


def _asked(database: Database, asked: _Question, asker: str, limits: Limits) -> Answer:
    try:
        with database.bare(undone=True) as connection:
            connection.execute("set transaction read only")
            _check_functions(connection, asked.names)
            connection.execute("set local standard_conforming_strings = on")
            connection.execute("set local timezone = 'UTC'")
            connection.execute(f"set local statement_timeout = {int(limits.seconds * 1000)}")
            connection.execute(f"set local role {quoted(asker)}")
            # A cursor takes nothing but a question, and sent as binary it is one statement.
            connection.execute(f"declare asked no scroll cursor for {asked.text}", binary=True)
            return _answer(connection, limits)
    except psycopg.Error as error:
        raise _judged(error, database, limits.seconds) from None


def _answer(connection: psycopg.Connection[Any], limits: Limits) -> Answer:
    found = connection.execute("fetch 0 from asked")
    columns = tuple(column.name for column in found.description or ())
    if not columns:
        raise _Unfit("it asks nothing")
    if len(columns) > MOST_COLUMNS:
        raise _Unfit(f"it asks for more than {MOST_COLUMNS} columns")
    rows: list[tuple[Any, ...]] = []
    characters = 0
    while len(rows) < limits.rows and characters <= limits.characters:
        some = connection.execute(f"fetch {min(AT_ONCE, limits.rows - len(rows))} from asked")
        if not some.rowcount:
            break
        rows += [tuple(map(_plain, row)) for row in some.fetchall()]
        characters = sum(len(str(value)) for row in rows for value in row)
    return Answer(columns, rows)


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
        return TooSlow(seconds)
    if may_succeed_again(error):
        return Interrupted(error)
    if not code or code.startswith(NO_FAULT_OF_THE_STATEMENT):
        return database.told(error)
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


def _asker(database: Database, views: Sequence[str]) -> str:
    """The role that asks for us: ours alone, and made when it is first wanted."""
    [who] = database.rows("select current_user::text, current_database()::text")
    digest = hashlib.sha256("\0".join((*who, database.place.schema)).encode()).hexdigest()
    name = f"commonplace_asker_{digest[:12]}"
    if not is_ours(database, name):
        make_ours(database, name, views)
    return name
