"""A request read: its pass, its caller, its conditions and its JSON body, each checked."""

from __future__ import annotations

import json
from shlex import quote
from typing import Any

from starlette.requests import Request

from commonplace.doors.http.access_tokens import LINK, Pass, command_for
from commonplace.doors.http.guard import pass_of
from commonplace.doors.http.workers import Caller
from commonplace.doors.session_id import GROUP_HEADER, HEADER, LONGEST, TAINT_HEADER, taint_named
from commonplace.model.errors import BadValue, Refused
from commonplace.model.records import Origin

DEEDS = {
    "metrics": "read counts",
    "read": "read",
    "write": "write",
    "admin": "approve, mend, compact or run upkeep",
}
"""What each scope lets a token do, as a sentence says it."""


class NotAllowed(Refused):
    """A token that may not do this, or not here."""

    def __init__(self, what: str, *, scope: str, vault: str = "") -> None:
        """`vault`: the only one that a token has to open for it."""
        only = f" --for-vault {quote(vault)}" if vault else ""
        super().__init__(
            f"This token may not {what}.",
            next_step=f"'{command_for(scope)}{only}' makes one that may.",
        )


def allowed(request: Request, scope: str, *, for_all: str = "") -> Pass:
    """The pass, checked for a scope. A refusal names `for_all` instead, if it is given."""
    found = pass_of(request.scope)
    vault = request.path_params.get("vault", "")
    if found is None or not found.allows(scope):
        raise NotAllowed(f"{DEEDS[scope]} here", scope=scope)
    if not found.opens(vault):
        raise NotAllowed("open this vault", scope=for_all or scope, vault=vault)
    return found


def check_person(request: Request, deed: str) -> None:
    """Only the person says who comes in: no token, whatever its scope."""
    found = pass_of(request.scope)
    if found is None or found.origin != Origin.OWNER:
        raise Refused(
            f"Only you, logged in on the page, may {deed}: no token does.",
            next_step=f"'{LINK}' in a terminal prints a link that lets you in.",
        )


def caller_of(request: Request, found: Pass) -> Caller:
    session, group = (request.headers.get(name, "")[:LONGEST] for name in (HEADER, GROUP_HEADER))
    read = taint_named(request.headers.get(TAINT_HEADER, "")[:LONGEST])
    return Caller(found.origin, session, group, read)


def conditions(request: Request) -> dict[str, Any]:
    """The conditions in the headers: an etag, or that nothing is there yet."""
    match = request.headers.get("if-match", "*").removeprefix("W/").strip('"')
    none = {"new": True} if request.headers.get("if-none-match") == "*" else {}
    return none | ({"etag": match} if match != "*" else {})


async def body_of(request: Request) -> dict[str, Any]:
    """The arguments in a JSON body. A read has none."""
    raw = await request.body() if request.method not in ("GET", "HEAD") else b""
    if not raw:
        return {}
    try:
        body = json.loads(raw, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise BadValue("body", "it is not JSON", next_step="Send an object.") from None
    if not isinstance(body, dict):
        raise BadValue("body", "it is not an object", next_step="Send {…}.")
    return body


def _refused(name: str) -> None:
    """NaN and the infinities are Python's, not JSON's."""
    raise ValueError(name)
