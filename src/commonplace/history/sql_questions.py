"""Questions in SQL over the messages: two views, limits, and how SQLite is asked.

Three things keep a statement from writing: the file is opened for reading only, every access is
looked at before the statement runs, and what runs is stopped after a time.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from commonplace.history.messages import Table
from commonplace.model.clock import monotonic
from commonplace.model.errors import BadInput, Refused
from commonplace.model.files import StrPath
from commonplace.storage import machine_files

VIEWS = (
    "messages(id, session, agent, channel, role, content, time) and "
    "sessions(session, messages, first, last)"
)
VIEW_NAMES = ("messages", "sessions")
LAST_HOUR = "SELECT time, role, content FROM messages WHERE time > {since} ORDER BY time"
IN_SQLITE = LAST_HOUR.format(since="datetime('now', '-1 hour')")
IN_POSTGRES = LAST_HOUR.format(since="now() - interval '1 hour'")
"""The same question in the words of each."""
FUNCTIONS_OF_ROWS = ("json_each", "json_tree")
CALLED_FOR_HARM = frozenset({"load_extension", "fts3_tokenizer", "sqlite_log"})
STEPS = 10_000
"""Steps of SQLite's machine between two looks at the time."""
CEILINGS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 50_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 200,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1000,
}


class SqlLimits(Struct, frozen=True):
    """How long one question may run, and how long its answer may be."""

    seconds: float = 5.0
    cell: int = 20_000
    """Characters of one cell."""
    characters: int = 1_000_000
    """Characters of all cells."""


SQL_LIMITS = SqlLimits()


def asked(path: StrPath, statement: str, *, limit: int) -> Table:
    """The rows that one SELECT gives, at most `limit` of them."""
    limits = SQL_LIMITS
    db = _opened(path)
    deadline = monotonic() + limits.seconds
    try:
        # Prepared like this, and not before, as it would keep us from preparing.
        db.set_authorizer(_allowed)
        db.set_progress_handler(lambda: monotonic() > deadline, STEPS)
        cursor = db.execute(statement)
        if cursor.description is None:
            raise bad_statement("it asks nothing")
        columns = tuple(name for name, *_ in cursor.description)
        return table(columns, cursor, limit=limit, limits=limits)
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
        if _code(error) == sqlite3.SQLITE_INTERRUPT:
            raise too_slow(limits.seconds) from None
        raise bad_statement(_problem(error)) from None
    finally:
        db.close()


def bad_statement(problem: str) -> BadInput:
    """The error for SQL that is wrong, or that does more than ask."""
    return BadInput(
        f"The statement was not run: {problem.rstrip('.')}.",
        next_step=f"Ask with one SELECT over {VIEWS}.",
    )


def too_slow(seconds: float) -> Refused:
    return Refused(
        f"The statement took over {seconds:g} s and was stopped.",
        next_step="Ask for less: fewer rows, a WHERE on session or time, no cross joins.",
    )


def _opened(path: StrPath) -> sqlite3.Connection:
    from pathlib import Path

    place = Path(path).absolute().as_uri()
    machine_files.identity(os.fspath(path))
    db = sqlite3.connect(f"{place}?mode=ro", uri=True, isolation_level=None)
    for pragma in ("query_only = ON", "trusted_schema = OFF", "cell_size_check = ON"):
        db.execute(f"PRAGMA {pragma}")
    for limit, value in CEILINGS.items():
        db.setlimit(limit, value)
    return db


def _allowed(
    action: int, first: str | None, second: str | None, _: str | None, view: str | None
) -> int:
    """Whether a statement may do this: read what the views show, compute, and nothing else."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        harmful = (second or "").lower() in CALLED_FOR_HARM
        return sqlite3.SQLITE_DENY if harmful else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_READ and _is_shown((first or "").lower(), second, view):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _is_shown(table: str, column: str | None, view: str | None) -> bool:
    # Without a column nothing but the number of rows is read; a name of the statement's own is
    # looked up in this way too.
    return not column or view in VIEW_NAMES or table in (*VIEW_NAMES, *FUNCTIONS_OF_ROWS)


def _problem(error: Exception) -> str:
    if _code(error) == sqlite3.SQLITE_AUTH:
        return f"it does what a question may not ({error})"
    return str(error)


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def table(
    columns: tuple[str, ...], found: Iterable[Sequence[Any]], *, limit: int, limits: SqlLimits
) -> Table:
    """The first rows, with cells that are not too long."""
    rows: list[tuple[Any, ...]] = []
    left, cut = limits.characters, 0
    for row in found:
        if len(rows) == limit or left < 0:
            return Table(columns, tuple(rows), more=True, cut=cut)
        shown = tuple(_cell(value, limits.cell) for value in row)
        cut += sum(value is not short for value, short in zip(row, shown) if isinstance(value, str))
        left -= sum(len(str(value)) for value in shown)
        rows.append(shown)
    return Table(columns, tuple(rows), cut=cut)


def _cell(value: Any, most: int) -> Any:
    if isinstance(value, bytes):
        value = f"x'{value[:most].hex()}'"
    if isinstance(value, str) and len(value) > most:
        return value[:most] + "…"
    return value
