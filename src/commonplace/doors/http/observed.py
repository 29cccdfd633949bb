"""Every request of the gateway as those who watch it see it: its route, status and time.

A route is the path as the gateway spells it, such as /api/vaults/{vault}/search: neither a name nor
what was asked for is in it, and there are only so many.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from commonplace.doors.http.guard import pass_of
from commonplace.doors.http.health import PROBES
from commonplace.doors.http.responses import App, Scope
from commonplace.doors.session_id import HEADER, LONGEST
from commonplace.model.clock import Clock, monotonic

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
OTHER = "other"
"""The method of a request that has none of these, and the route of one that was refused before."""


class ObservedRequest(Struct, frozen=True):
    """A request whose answer has begun, or that ended without any."""

    method: str
    route: str
    status: int
    """0 where nothing was answered: whoever asked went away."""
    seconds: float
    """Until the answer began: a stream goes on for as long as anybody listens."""
    session: str = ""
    token: str = ""
    """The name of the token that it brought."""


Watcher = Callable[[ObservedRequest], None]


class Observed:
    """An application that tells each request to those who watch."""

    def __init__(self, inner: App, watchers: Sequence[Watcher]) -> None:
        self._inner = inner
        self._watchers = watchers

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        begun, is_told = monotonic(), False

        def tell(status: int) -> None:
            nonlocal is_told
            is_told = True
            seen = _seen(scope, status, monotonic() - begun)
            for watcher in self._watchers:
                watcher(seen)

        async def telling(message: Any) -> None:
            if message["type"] == "http.response.start":
                tell(message["status"])
            await send(message)

        try:
            await self._inner(scope, receive, telling)
        finally:
            if not is_told:
                tell(0)


def _seen(scope: Scope, status: int, seconds: float) -> ObservedRequest:
    method = scope["method"] if scope["method"] in METHODS else OTHER
    session = dict(scope["headers"]).get(HEADER.lower().encode(), b"").decode("latin-1")
    found = pass_of(scope)
    token = found.name if found else ""
    return ObservedRequest(method, route_of(scope), status, seconds, session[:LONGEST], token)


def route_of(scope: Scope) -> str:
    """The path of a request as the gateway spells it."""
    if route := scope.get("route"):
        return re.sub(r":\w+}", "}", route.path)
    path: str = scope["path"]
    if path in PROBES:
        return path
    return "/mcp" if path.strip("/").partition("/")[0] == "mcp" else OTHER


class RequestLog:
    """One line a request on the error output, as JSON or as text."""

    def __init__(self, form: str, *, clock: Clock) -> None:
        self._line = _as_json if form == "json" else _as_text
        self._clock = clock

    def __call__(self, seen: ObservedRequest) -> None:
        print(self._line(self._clock.stamp(), seen), file=sys.stderr, flush=True)


def _as_json(at: str, seen: ObservedRequest) -> str:
    told = {
        "time": at,
        "method": seen.method,
        "route": seen.route,
        "status": seen.status,
        "ms": round(seen.seconds * 1000, 1),
    }
    return json.dumps(told | ({"session": seen.session} if seen.session else {}))


def _as_text(at: str, seen: ObservedRequest) -> str:
    # As JSON spells it, no session can break the line or colour the terminal.
    session = f" session={json.dumps(seen.session)}" if seen.session else ""
    milliseconds = f"{seen.seconds * 1000:.1f}"
    return f"{at} {seen.method} {seen.route} {seen.status} {milliseconds} ms{session}"
