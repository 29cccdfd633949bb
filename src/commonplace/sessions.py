"""What a session has used up and seen: its budgets, and whether it read untrusted content.

It belongs to the session, not to a process: a small file a session, below the state directory. It
does not know who calls.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from enum import StrEnum

from commonplace.errors import BudgetSpent
from commonplace.hints import Any, StrPath
from commonplace.lean import digest
from commonplace.values import frozen, replace


class SessionKind(StrEnum):
    """What a session is: a chat with the human, a heartbeat, or something shared with others."""

    MAIN = "main"
    HEARTBEAT = "heartbeat"
    OTHER = "other"


def session_kind(session: str) -> SessionKind:
    """The kind of a session, told from its id.

    A heartbeat's begins with `heartbeat`, a shared channel's with `shared:` or `group:`. Everything
    else, no id too, is the direct chat with the human.
    """
    if session.startswith("heartbeat"):
        return SessionKind.HEARTBEAT
    return SessionKind.OTHER if session.startswith(("shared:", "group:")) else SessionKind.MAIN


@frozen
class Session:
    """One session so far."""

    id: str
    stores: int = 0
    supersedes: int = 0
    deletes: int = 0
    tainted: bool = False
    swept: bool = False
    """Whether it was asked to look back for what it has missed."""
    told: str = ""
    """The mark of the memory that it was given last."""
    done: tuple[str, ...] = ()
    """The marks of what is done once, though a client may ask twice."""


class Sessions:
    """The sessions of one vault. Written under the vault's lock."""

    def __init__(self, directory: StrPath) -> None:
        self.directory = os.fspath(directory)
        self._nameless = Session("")
        """Without an id a session is as long as this object."""

    def read(self, session_id: str) -> Session:
        if not session_id:
            return self._nameless
        try:
            with open(self._path(session_id), "rb") as file:
                return Session(**json.loads(file.read()))
        except (OSError, ValueError, TypeError):
            return Session(session_id)

    def check(self, session_id: str, what: str, *, limit: int) -> None:
        """Fail when the budget for `what` (stores, supersedes, deletes) is spent."""
        if limit and getattr(self.read(session_id), what) >= limit:
            raise BudgetSpent(what, limit)

    def spend(self, session_id: str, *what: str) -> None:
        """Count one of each."""
        session = self.read(session_id)
        counts = {name: getattr(session, name) + 1 for name in what}
        self._write(replace(session, **counts))

    def taint(self, session_id: str) -> None:
        """Remember that the session read untrusted content. It stays so."""
        session = self.read(session_id)
        if not session.tainted:
            self._write(replace(session, tainted=True))

    def note(self, session_id: str, **changes: Any) -> None:
        """Change what is known of the session."""
        self._write(replace(self.read(session_id), **changes))

    def _write(self, session: Session) -> None:
        if not session.id:
            self._nameless = session
            return
        with suppress(FileExistsError):
            os.mkdir(self.directory, 0o700)
        path = self._path(session.id)
        fresh = f"{path.removesuffix('.json')}.{os.getpid()}.tmp"
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(json.dumps(session.__dict__).encode())
        os.replace(fresh, path)

    def _path(self, session_id: str) -> str:
        return os.path.join(self.directory, digest(session_id.encode()) + ".json")
