"""The guard at the gateway: every request passes it, and every answer leaves through it.

A page of another site, or one that had its name pointed at this machine, gets nothing: Host, Origin
and Sec-Fetch-Site must be ours, and every route but the login asks for a token.
"""

from __future__ import annotations

from asyncio import timeout, to_thread
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from commonplace.doors.http.access_tokens import LINK, AccessTokens, Pass, command_for
from commonplace.doors.http.responses import App, Scope, problem, unauthorised
from commonplace.model.clock import Clock, monotonic
from commonplace.model.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.doors.http.oauth import OAuth

COOKIE = "commonplace"
PRIVATE = ("api", "mcp", "health", "metrics")
"""What a path begins with that needs a token or the cookie."""
FAULT = "commonplace.fault"
"""Where a request keeps why its body was not read to the end."""
BODY_LIMIT = 12_000_000
"""Bytes of a request: the longest document, with room for how JSON spells it."""
BODY_SECONDS = 60.0
"""How long one may take to send that."""
RATE, BURST = 400.0, 800.0
"""Requests a second that one token may send for long, and at once."""
LIMIT_SECONDS = 5.0
"""How long it is not asked again how many requests a vault may be sent."""
MOST_LIMITS = 10_000
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
)


class Guard:
    """An application that passes on only requests that are allowed in."""

    def __init__(
        self,
        inner: App,
        *,
        tokens: AccessTokens,
        hosts: Iterable[str],
        oauth: OAuth | None,
        clock: Clock,
        probes: Mapping[str, App],
        limit: Callable[[str], int] | None = None,
    ) -> None:
        """`limit` says how many requests a minute a vault may be sent; 0: any number."""
        self._inner = inner
        self._probes = probes
        self._tokens = tokens
        self._hosts = frozenset(host.lower() for host in hosts)
        self._oauth = oauth
        self._rates = Rates(clock)
        self._limits = Limits(limit) if limit else None

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._inner(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in _first(scope)}
        probe = self._probes.get(scope["path"]) if scope["method"] in ("GET", "HEAD") else None
        if probe and self._is_own(headers):
            await probe(scope, receive, _hardened(send))
            return
        fault = self._fault(scope, headers) or await self._unknown(scope, headers)
        if fault:
            await self._refusal(scope["path"], fault)(scope, receive, _hardened(send))
            return
        await self._inner(scope, _bounded(scope, receive), _hardened(send))

    def _refusal(self, path: str, fault: tuple[int, str]) -> App:
        if fault[0] == 401 and self._oauth and path.startswith("/mcp"):
            return unauthorised(fault[1], self._oauth.challenge(path))
        return problem(*fault)

    def _is_open(self, path: str) -> bool:
        return self._oauth is not None and self._oauth.is_open(path)

    def _fault(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Why the request is refused, as a status and a sentence; None when it is not."""
        if not scope["path"].startswith("/"):
            return 400, "This is no proxy: ask for a path."
        if headers.get("host", "").lower() not in self._hosts:
            return 421, "This gateway does not answer to that host name."
        if not self._is_own(headers) and not self._is_open(scope["path"]):
            return 403, "A page of another site asked for this."
        if is_private(scope["path"]) and not _is_json(scope["method"], headers):
            return 415, "The body must be JSON: send Content-Type: application/json."
        if not _is_short(headers.get("content-length", "0")):
            return 413, f"The body is longer than {BODY_LIMIT:,} bytes."
        return None

    def _is_own(self, headers: dict[str, str]) -> bool:
        """Whether it comes from our own page, or from no page at all."""
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return False
        origin = headers.get("origin")
        if origin is None:
            return True
        scheme, _, host = origin.partition("://")
        return scheme in ("http", "https") and host.lower() == headers.get("host", "").lower()

    async def _unknown(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        token = token_of(headers)
        try:
            found = await self.find(token) if token else None
            most = await self._most(scope["path"], found)
        except CommonplaceError as error:
            return error.status, str(error)
        scope["commonplace.pass"] = found
        scope["commonplace.token"] = token if found else ""
        if found is None and not _is_public(scope["method"], scope["path"]):
            return 401, _without_token(scope)
        if not self._rates.allow(token if found else ""):
            return 429, "Too many requests: wait a second."
        if most and not self._rates.allow(f"vault {most[0]}", rate=most[1] / 60, burst=most[1]):
            return 429, f"{most[0]} may be sent {most[1]:,} requests a minute: wait a moment."
        if found and self._tokens.is_use_due(found):
            await self._note_use(token)
        return None

    async def _most(self, path: str, found: Pass | None) -> tuple[str, int] | None:
        """The vault that is asked, and how many requests a minute it may be sent, if not any."""
        vault = _vault_of(path, found) if found and self._limits else ""
        if not (found and self._limits and vault and found.opens(vault)):
            return None
        most = await self._limits.of(vault)
        return (vault, most) if most else None

    async def _note_use(self, token: str) -> None:
        """Note that a token is used. Who comes in does not hear of it if that cannot be done."""
        with suppress(CommonplaceError, OSError):
            await to_thread(self._tokens.note_use, token)

    async def find(self, token: str) -> Pass | None:
        """The pass of a token, if it is good now."""
        if self._tokens.far:
            return await to_thread(self._tokens.find, token)
        return self._tokens.find(token)


def _is_public(method: str, path: str) -> bool:
    """The page itself holds nothing private: it asks for everything with the cookie."""
    return not is_private(path) or (method, path) == ("POST", "/api/login")


def is_private(path: str) -> bool:
    """Whether the path needs a token or the cookie."""
    return path.strip("/").partition("/")[0] in PRIVATE


def scope_for(scope: Scope) -> str:
    """What a token has to be allowed for a request, as far as its method and path tell."""
    asks = scope["method"] in ("GET", "HEAD") and not scope["path"].startswith("/mcp")
    return "read" if asks else "write"


def _vault_of(path: str, found: Pass) -> str:
    """The vault that a request is about; empty where it is about none."""
    match path.strip("/").split("/"):
        case ["api", "vaults", name, *_] | ["mcp", name]:
            return name
        case ["mcp"]:
            return found.vaults[0] if found.vaults else ""
    return ""


def _without_token(scope: Scope) -> str:
    return (
        "The token is missing or no longer good: "
        f"'{command_for(scope_for(scope))}' makes one for a program; "
        f"'{LINK}' prints a link to the page."
    )


class Rates:
    """How many requests each token or vault may still have: a rate a second, and a burst."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def allow(self, who: str, *, rate: float = RATE, burst: float = BURST) -> bool:
        now = self._clock.now_ns() / 1e9
        left, since = self._left.get(who, (burst, now))
        left = min(burst, left + max(0.0, now - since) * rate)
        if len(self._left) > 10_000:
            self._left.clear()
        self._left[who] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class Limits:
    """How many requests a minute each vault may be sent, asked again every few seconds."""

    def __init__(self, find: Callable[[str], int]) -> None:
        self._find = find
        self._known: dict[str, tuple[int, float]] = {}

    async def of(self, vault: str) -> int:
        most, since = self._known.get(vault, (0, -LIMIT_SECONDS))
        if monotonic() - since >= LIMIT_SECONDS:
            most = await to_thread(self._find, vault)
            if len(self._known) > MOST_LIMITS:
                self._known.clear()
            self._known[vault] = (most, monotonic())
        return most


def token_of(headers: dict[str, str]) -> str:
    """The token a request brings: as a bearer, or in our cookie."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return token.strip()
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def pass_of(scope: Scope) -> Pass | None:
    """The pass that the guard found for a request."""
    found: Pass | None = scope.get("commonplace.pass")
    return found


def _first(scope: Scope) -> Iterable[tuple[bytes, bytes]]:
    """The headers, of which the first of a name counts; two hosts are none."""
    seen: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name == b"host" and name in seen:
            value = b""
            seen[name] = value
        seen.setdefault(name, value)
    return seen.items()


def _is_json(method: str, headers: dict[str, str]) -> bool:
    """A form of another page can send text, never JSON. What has no body needs no type."""
    has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
    kind = headers.get("content-type", "").split(";")[0].strip().lower()
    return method in ("GET", "HEAD") or not has_body or kind == "application/json"


def _is_short(length: str) -> bool:
    return length.isdecimal() and len(length) < 12 and int(length) <= BODY_LIMIT


def _bounded(scope: Scope, receive: Any) -> Any:
    """The body as far as it may go: more, or what never comes, ends like a lost connection."""
    deadline = monotonic() + BODY_SECONDS
    seen, more = 0, True

    async def bounded() -> Any:
        nonlocal seen, more
        if not more:
            return await receive()
        try:
            async with timeout(deadline - monotonic()):
                message = await receive()
        except TimeoutError:
            scope[FAULT] = 408, "The body did not come in time."
            return {"type": "http.disconnect"}
        more = message.get("more_body", False)
        seen += len(message.get("body", b""))
        if seen <= BODY_LIMIT:
            return message
        scope[FAULT] = 413, "The body is too long."
        return {"type": "http.disconnect"}

    return bounded


def _hardened(send: Any) -> Any:
    """Adds to every answer the headers that tell a browser what it must not do."""

    async def hardened(message: Any) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in message.get("headers", ())}
            more = [(name, value) for name, value in HEADERS if name not in names]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return hardened
