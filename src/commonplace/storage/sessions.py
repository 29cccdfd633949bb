"""Sessions: what each has spent of its budgets, and whether it has read untrusted content.

This belongs to the session and not to a process, so each session is a note.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.model.errors import BudgetSpent
from commonplace.model.files import digest
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes
from commonplace.trust.neutralise import one_line

DIRECTORY = "sessions"
MOST_DONE = 32
"""Marks that are kept: a client asks twice soon, or not at all."""
MOST_TAINTS = 64
"""How many different things that a session has read are kept by name, the newest."""
LONGEST_NAME = 200
UNNAMED = "untrusted content"
"""What a session has read of which nobody said the name."""


class SessionKind(StrEnum):
    """What a session is: a chat with the human, a heartbeat, or something shared with others."""

    MAIN = "main"
    HEARTBEAT = "heartbeat"
    OTHER = "other"


def session_kind(session: str, *, main: bool = False, named: str = "") -> SessionKind:
    """The kind of a session: what was said of it, and else what its id tells.

    `main` says that it is the direct chat with the human, `named` are the ids of further ones.
    Without either, main is a session without an id and the one called `main`. A heartbeat's id
    begins with `heartbeat`.
    """
    if session.startswith("heartbeat"):
        return SessionKind.HEARTBEAT
    if main or session in ("", SessionKind.MAIN) or _is_named(session, named):
        return SessionKind.MAIN
    return SessionKind.OTHER


def _is_named(session: str, named: str) -> bool:
    """Whether one of these names, with commas between them, is the session's; `*` is any text."""
    from fnmatch import fnmatchcase

    return any(fnmatchcase(session, each.strip()) for each in named.split(",") if each.strip())


class Session(Struct, frozen=True):
    """One session so far."""

    id: str
    stores: int = 0
    supersedes: int = 0
    deletes: int = 0
    taints: tuple[tuple[str, str], ...] = ()
    """What it read that is not the user's own words: the name of each, and when it was first."""
    swept: bool = False
    """Whether it was asked to look back for what it has missed."""
    compacting: bool = False
    """Whether its client has begun a compaction, and nothing was announced since."""
    off_record: bool = False
    """Whether its turn began in a pause: then its end is not recorded either."""
    done: tuple[str, ...] = ()
    """The marks of what is done once, though a client may ask twice."""
    client: str = ""
    """The program whose agent it is, as the program calls itself."""

    @property
    def tainted(self) -> bool:
        """Whether it has read anything that may have told it what to do."""
        return bool(self.taints)


class Sessions:
    """The sessions of one vault. Written under the vault's lock."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._nameless = Session("")
        """Without an id a session is as long as this object."""

    def read(self, session_id: str) -> Session:
        if not session_id:
            return self._nameless
        try:
            return _session(parsed(self._notes.read(_name(session_id)) or b""))
        except (ValueError, TypeError):
            return Session(session_id)

    def spend(self, session_id: str, limits: Mapping[str, int], *, client: str = "") -> None:
        """Count one of each (stores, supersedes, deletes), or fail and count none.

        A limit of 0 is none. A `client` that is known is noted with it.
        """
        session = self.read(session_id)
        if client:
            session = replace(session, client=named(client))
        for name, limit in limits.items():
            if limit and getattr(session, name) >= limit:
                raise BudgetSpent(name, limit)
        self._write(_counted(session, limits, by=1))

    def give_back(self, session_id: str, names: Iterable[str]) -> None:
        """Take back what `spend` counted: the write was not done."""
        self._write(_counted(self.read(session_id), names, by=-1))

    def taint(self, session_id: str, what: str, *, at: str) -> None:
        """Remember that the session read something untrusted, by its name. It stays so."""
        session, name = self.read(session_id), named(what)
        if name not in dict(session.taints):
            taints = (*session.taints, (name, at))[-MOST_TAINTS:]
            self._write(replace(session, taints=taints))

    def note(self, session_id: str, **changes: Any) -> None:
        """Change what is known of the session."""
        self._write(replace(self.read(session_id), **changes))

    def begin(self, session_id: str, mark: str) -> bool:
        """Note something that is done once. False when it is done, or being done, already."""
        session = self.read(session_id)
        if mark in session.done:
            return False
        self._write(replace(session, done=(*session.done, mark)[-MOST_DONE:]))
        return True

    def leave_off(self, session_id: str, mark: str) -> None:
        """Note that it was not done after all."""
        session = self.read(session_id)
        self._write(replace(session, done=tuple(each for each in session.done if each != mark)))

    def _write(self, session: Session) -> None:
        if not session.id:
            self._nameless = session
        else:
            self._notes.write(_name(session.id), json.dumps(asdict(session)).encode())


def named(what: str) -> str:
    """The name of what was read, as one line of limited length."""
    line = one_line(what)
    return (line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 1] + "…") or UNNAMED


def _session(kept: dict[str, Any]) -> Session:
    """A session as it was noted; older notes say that it is tainted, and not by what.

    They also have the mark of what it was told, which stands in the ledger now.
    """
    kept.pop("told", "")
    taints = kept.pop("taints", [])
    if kept.pop("tainted", False) and not taints:
        taints = [(UNNAMED, "")]
    return Session(**kept, taints=tuple((str(what), str(at)) for what, at in taints))


def _counted(session: Session, names: Iterable[str], *, by: int) -> Session:
    return replace(session, **{name: max(0, getattr(session, name) + by) for name in names})


def _name(session_id: str) -> str:
    return f"{DIRECTORY}/{digest(session_id.encode())}.json"
