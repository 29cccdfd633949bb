"""What PostgreSQL says when something is wrong, as errors of ours.

It knows codes and classes of errors, not what was being done.
"""

from __future__ import annotations

import psycopg

from commonplace.model.errors import (
    Busy,
    CommonplaceError,
    DatabaseTrouble,
    DiskFull,
    NoServer,
    ReadOnlyDatabase,
)

AGAIN = frozenset(("40001", "40P01", "57P01", "57P02", "57P03", "57P05", "25P03"))
"""Codes after which the same work may succeed: two got in each other's way, or a restart."""


class Interrupted(Exception):
    """The transaction came to nothing through no fault of its own: do it again from the start."""

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(str(error))
        self.error = error


def may_succeed_again(error: psycopg.Error) -> bool:
    """Whether the connection broke, or the server gave up what it may not give up next time."""
    if error.sqlstate:
        return error.sqlstate in AGAIN or error.sqlstate.startswith("08")
    return isinstance(error, psycopg.OperationalError)


def told(error: psycopg.Error, *, where: str, seconds: float) -> CommonplaceError:
    """The sentence for an error of the server."""
    code, said = error.sqlstate or "", _first_line(error)
    if code == "25006":
        return ReadOnlyDatabase(where)
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


def _first_line(error: psycopg.Error) -> str:
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    return said.rpartition("FATAL:")[2].strip().rstrip(".")
