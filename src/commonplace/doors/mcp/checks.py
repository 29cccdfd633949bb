"""What is wrong with a request over HTTP, before the SDK has it: what the stdio loop would say.

And whose a session's id is: it carries a sign that only who brings the same credential can have got
from us, so that nothing has to be kept, and an id that is made up or another's is none.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from commonplace.doors.mcp import jsonrpc, versions
from commonplace.doors.mcp.jsonrpc import Fault, Message, Object
from commonplace.doors.session_id import new_session

App = Callable[[Any, Any, Any], Awaitable[None]]
ID = "mcp-session-id"
VERSION = "mcp-protocol-version"
HEADER_MISMATCH = -32020
NOT_FOUND = Fault(jsonrpc.INVALID_REQUEST, "Session not found: begin again with initialize.")
LARGEST = 4 << 20
"""Bytes of a request: the SDK takes no more."""
SIGN = 16
"""Characters of a sign."""


class Checked:
    """An application that lets through to the SDK's what is a request of ours.

    Each client that begins is given an id. Nothing is ever said but in answers, so who would listen
    for more is told that there is none.
    """

    def __init__(self, app: App) -> None:
        self._inner = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        credential = headers.get("authorization", "")
        if scope["method"] == "GET":
            told = {"error": "method_not_allowed", "detail": "Here is nothing to listen to: POST."}
            await refuse(send, 405, told, (b"allow", b"POST"))
        elif ID in headers and not is_signed(headers[ID], credential):
            await refuse(send, 404, jsonrpc.failure(None, NOT_FOUND))
        elif scope["method"] == "POST":
            await self._post(headers, credential, scope, receive, send)
        else:
            await self._inner(scope, receive, send)

    async def _post(
        self, headers: Mapping[str, str], credential: str, scope: Any, receive: Any, send: Any
    ) -> None:
        body = await _whole(receive)
        if body is None:
            await refuse(send, 413, {"error": "too_long", "detail": "The body is too long."})
            return
        try:
            message = _checked(headers, body)
        except Fault as fault:
            await refuse(send, 400, jsonrpc.failure(_id_in(body), fault))
            return
        if message is not None and message.method == "initialize":
            send = _welcoming(send, signed(new_session("http"), credential))
        await self._inner(scope, _again(body, receive), send)


def _checked(headers: Mapping[str, str], body: bytes) -> Message | None:
    """The message of a request, if all around it is as the protocol has it."""
    value = jsonrpc.parse(body)
    if isinstance(value, list):
        raise Fault(jsonrpc.INVALID_REQUEST, "Over HTTP a request is one message.")
    message = jsonrpc.message_of(value)
    asks = message if message is not None and message.id is not None else None
    stateless = asks is not None and versions.is_stateless(asks.method, asks.meta)
    version = headers.get(VERSION, "")
    if version and version not in versions.HANDSHAKE + versions.STATELESS:
        known = {"supported": [*versions.HANDSHAKE, *versions.STATELESS], "requested": version}
        raise Fault(versions.UNSUPPORTED_VERSION, "Unsupported protocol version", known)
    if stateless and version not in versions.STATELESS:
        raise Fault(HEADER_MISMATCH, f"The header {VERSION} is not the version in _meta.")
    return message


def _text(header: bytes) -> str:
    return header.decode("latin-1")


def _id_in(body: bytes) -> jsonrpc.Id:
    try:
        return jsonrpc.id_of(jsonrpc.parse(body))
    except Fault:
        return None


def signed(session: str, credential: str) -> str:
    """A session's id with its sign."""
    return f"{session}-{_sign(session, credential)}"


def is_signed(given: str, credential: str) -> bool:
    """Whether an id was given out by us to who brings this credential."""
    session, _, sign = given.rpartition("-")
    return hmac.compare_digest(sign.encode(), _sign(session, credential).encode())


def _sign(session: str, credential: str) -> str:
    return hmac.new(credential.encode(), session.encode(), "sha256").hexdigest()[:SIGN]


async def _whole(receive: Any) -> bytes | None:
    """The body; None when it is too long, or nobody is there to send it."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if message["type"] == "http.disconnect" or len(body) > LARGEST:
            return None
    return body


def _again(body: bytes, receive: Any) -> Any:
    """What the next one receives: the body that was read, and then what comes."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return left.pop() if left else await receive()

    return again


def _welcoming(send: Any, session: str) -> Any:
    """Sends an answer that is good with the id of the session that it begins."""

    async def welcoming(message: Any) -> None:
        if message["type"] == "http.response.start" and message["status"] == 200:
            given = (ID.encode(), session.encode())
            message = {**message, "headers": [*message["headers"], given]}
        await send(message)

    return welcoming


async def refuse(send: Any, status: int, said: Object, *headers: tuple[bytes, bytes]) -> None:
    """Send an answer of our own, in JSON."""
    kind = (b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": [kind, *headers]})
    await send({"type": "http.response.body", "body": jsonrpc.encoded(said)})
