"""Which session a call belongs to: the one id that budgets, taint and undo hang on.

It does not know what a session is for, nor which door asks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence

CLAUDE = "CLAUDE_CODE_SESSION_ID"
NAMED = ("COMMONPLACE_SESSION", CLAUDE)
KEYS = ("threadid", "thread", "sessionid", "session", "conversationid", "conversation")
"""How clients call it, best first: in Codex the tasks of a session share its id, not the thread."""
LONGEST = 200
HEADER = "x-commonplace-session"
"""How a caller over HTTP names it."""
GROUP_HEADER = "x-commonplace-group"
GROUP_KEYS = ("groupid", "group", "chatid", "chat")
"""How a group is named that what is stored belongs to, over HTTP and in `_meta`."""
TAINT_HEADER = "x-commonplace-tainted"
TAINT_KEY = "tainted"
"""How a host says that the session has read untrusted content: by its name, or by `true`."""
NO = ("", "0", "false", "no")
YES = ("1", "true", "yes")


def session_of(meta: object, environ: Mapping[str, str]) -> str:
    """The session that the environment names, or else what the client sent; empty if neither.

    `meta` is a request's `_meta` or a hook's input. Codex sends `threadId`, and the ids of the turn
    below `x-codex-turn-metadata`, as an object or as its JSON.
    """
    for name in NAMED:
        if environ.get(name):
            return environ[name]
    return _named_in(meta, KEYS)


def group_of(meta: object) -> str:
    """The group that the client sent; empty when it sent none."""
    return _named_in(meta, GROUP_KEYS)


def taint_of(meta: object) -> str | None:
    """The untrusted text that a request says its session has read; None if it says none."""
    for key, value in meta.items() if isinstance(meta, Mapping) else ():
        if _spelt(str(key)) == TAINT_KEY:
            return taint_named("true" if value is True else value if _is_plain(value) else "")
    return None


def taint_named(said: str) -> str | None:
    """The name of the untrusted text in a host's words; empty if it gives no name."""
    said = said.strip()
    if said.lower() in NO:
        return None
    return "" if said.lower() in YES else said


def _named_in(meta: object, keys: Sequence[str]) -> str:
    told = list(_told(meta, depth=2))
    return next((value for key in keys for name, value in told if name == key), "")


def is_clients_own(session: str, named: str, environ: Mapping[str, str]) -> bool:
    """Whether a client that was connected by `setup` chose the id, and not whoever started it."""
    return session != named or session == environ.get(CLAUDE)


def shared_session(given: str, environ: Mapping[str, str]) -> str:
    """The session that a server was given for its clients; empty if it is only its starter's own.

    A client that starts a server for others leaves its id in the environment unasked.
    """
    return "" if given == environ.get(CLAUDE) else given


def new_session(door: str) -> str:
    """An id for a caller that has none: one for each start of the door."""
    return f"{door}-{os.urandom(8).hex()}"


def _told(meta: object, *, depth: int) -> Iterator[tuple[str, str]]:
    """Every plain text in `meta` with its key, spelt alike; what is nested comes last."""
    if not isinstance(meta, Mapping) or not depth:
        return
    for key, value in meta.items():
        if _is_plain(value):
            yield _spelt(str(key)), value
    for value in meta.values():
        yield from _told(_opened(value), depth=depth - 1)


def _spelt(key: str) -> str:
    return key.rpartition("/")[2].replace("-", "").replace("_", "").lower()


def _is_plain(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable()


def _opened(value: object) -> object:
    if not isinstance(value, str) or not value.startswith("{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None
