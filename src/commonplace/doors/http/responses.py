"""An answer that is ready to be sent: its status, its headers and its bytes.

Any thread or process can make one; it is an ASGI application that sends itself.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from msgspec import Struct

from commonplace.model.errors import CommonplaceError, WouldLose

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]
Header = tuple[bytes, bytes]

TITLES = {
    400: "The request is wrong",
    401: "Not logged in",
    403: "Refused",
    404: "Not there",
    405: "Not done here",
    408: "Too slow",
    409: "It changed, or must be confirmed",
    412: "It changed meanwhile",
    413: "Too long",
    415: "Not JSON",
    421: "Wrong host",
    429: "Too much",
    500: "The vault is in trouble",
    501: "Not installed",
    503: "Not now",
    507: "The disk is full",
}


BROKEN = "Something is wrong with the gateway; its terminal says what."


class Ready(Struct, frozen=True):
    """An answer, as an application of its own."""

    status: int
    headers: tuple[Header, ...]
    body: bytes

    @property
    def trouble(self) -> str:
        """The status of an error; empty where it is none."""
        return str(self.status) if self.status >= 400 else ""

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        length = (b"content-length", b"%d" % len(self.body))
        headers = [*self.headers, length]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


def as_json(data: Any) -> bytes:
    """Data as JSON; halves of characters, which UTF-8 cannot spell, as escapes."""
    try:
        return _ENCODE(data).encode()
    except UnicodeEncodeError:
        return json.dumps(data).encode()


_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def answered(data: Any, status: int = 200, *, etag: str = "") -> Ready:
    """Data as an answer that no cache keeps."""
    marked = ((b"etag", f'"{etag}"'.encode()),) if etag else ()
    return Ready(status, (*_kind(b"application/json"), *marked), as_json(data))


def problem(status: int, sentence: str, **more: Any) -> Ready:
    """An answer that says what is wrong, in the form of RFC 9457."""
    told = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status}
    headers = list(_kind(b"application/problem+json"))
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    if status == 408:
        headers.append((b"connection", b"close"))
    if status == 405:
        headers.append((b"allow", str(more.get("allow", "")).encode()))
    return Ready(status, tuple(headers), as_json({**told, "detail": sentence, **more}))


def unauthorised(sentence: str, challenge: str) -> Ready:
    """The answer to a request without a token, with where to get one."""
    told = problem(401, sentence)
    others = (each for each in told.headers if each[0] != b"www-authenticate")
    return Ready(401, (*others, (b"www-authenticate", challenge.encode())), told.body)


def problem_of(error: CommonplaceError, **more: Any) -> Ready:
    """The answer for an error of ours: its own sentence, and what a program needs to go on."""
    if isinstance(error, WouldLose):
        more |= {"confirm": error.token, "diff": error.diff, "guarded": error.guarded}
    return problem(error.status, str(error), error=type(error).__name__, **more)


def _kind(media: bytes) -> tuple[Header, ...]:
    return (b"content-type", media), (b"cache-control", b"no-store")
