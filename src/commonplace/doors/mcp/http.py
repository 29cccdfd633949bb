"""MCP over streamable HTTP, on the official SDK (extra `mcp`), behind a token.

`methods` answers, as it does over stdio. A request is checked before the SDK sees it, with the
sentences of the stdio loop. A session's id carries a signature made with the client's credential:
nothing has to be kept, and an invented id, or another client's, is none.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from commonplace.doors import caller
from commonplace.doors.mcp import jsonrpc, methods, prompts, versions
from commonplace.doors.mcp.jsonrpc import Fault, Object, RpcMessage, fault_of
from commonplace.doors.session_id import (
    GROUP_HEADER,
    HEADER,
    LONGEST,
    TAINT_HEADER,
    group_of,
    new_session,
    session_of,
    taint_named,
    taint_of,
)
from commonplace.model.errors import MissingExtra
from commonplace.model.files import digest
from commonplace.storage import machine_files

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.tools.tool import Tool

App = Callable[[Any, Any, Any], Awaitable[None]]
Elsewhere = Callable[["McpRequest"], Awaitable[Any]]
"""Has a request answered by another process; None, or something else, when it could not be."""
Observed = Callable[[str, Object, Callable[[], Awaitable["McpAnswer"]]], Awaitable["McpAnswer"]]
"""Has a tool with its arguments called, and sees how it went."""
RESULTS = {
    "tools/list": ("on_list_tools", "ListToolsResult"),
    "tools/call": ("on_call_tool", "CallToolResult"),
    "resources/list": ("on_list_resources", "ListResourcesResult"),
    "resources/templates/list": ("on_list_resource_templates", "ListResourceTemplatesResult"),
    "resources/read": ("on_read_resource", "ReadResourceResult"),
    "prompts/list": ("on_list_prompts", "ListPromptsResult"),
    "prompts/get": ("on_get_prompt", "GetPromptResult"),
    "completion/complete": ("on_completion", "CompleteResult"),
}
"""For each method, what the SDK calls its handler and its result."""
FURTHER = {
    "logging/setLevel": ("SetLevelRequestParams", "EmptyResult"),
    "server/discover": ("RequestParams", "DiscoverResult"),
}
"""What the SDK would do otherwise, or warns of: what each takes and answers."""
OF_EXTENSIONS = {"skills/list": "PaginatedRequestParams", "skills/get": "ReadResourceRequestParams"}
"""What the SDK has no types for: what each takes; the answer goes out as it is."""
PATH = "/mcp"
ID = "mcp-session-id"
VERSION = "mcp-protocol-version"
HEADER_MISMATCH = -32020
NOT_FOUND = Fault(jsonrpc.INVALID_REQUEST, "Session not found: begin again with initialize.")
LARGEST = 4 << 20
"""Bytes of a request: the SDK takes no more."""
SIGN = 16
"""Characters of a sign."""


def app(open_memory: Callable[[str], Memory], *, dialect: str, session: str, token: str) -> App:
    """The web application: MCP at `/mcp`, for whoever brings the token."""
    return guarded(server(open_memory, dialect=dialect, session=session), token=token)


def server(
    open_memory: Callable[[str], Memory],
    *,
    dialect: str,
    session: str,
    elsewhere: Elsewhere | None = None,
    observed: Observed | None = None,
) -> App:
    """The SDK's server over our table of tools, as a web application.

    A call belongs to the session that it names, or a header; else to the `session` that is given,
    or that of the client by the id it got, or one of the server. What only asks is answered
    `elsewhere`, where there is such a place: Python computes on one core a process. `observed`
    calls each tool.
    """
    try:
        import mcp_types
        from mcp.server.lowlevel import Server
    except ImportError:
        raise MissingExtra("MCP over HTTP", "mcp") from None
    held = _Answerer(open_memory, session, elsewhere, observed)
    handlers = {
        name: _handler(method, getattr(mcp_types, result), dialect, held)
        for method, (name, result) in RESULTS.items()
    }
    made: Any = Server(**versions.server_info(), instructions=prompts.INSTRUCTIONS, **handlers)
    for method, (taken, result) in FURTHER.items():
        handler = _handler(method, getattr(mcp_types, result), dialect, held)
        made.add_request_handler(method, getattr(mcp_types, taken), handler)
    for method, taken in OF_EXTENSIONS.items():
        handler = _handler(method, None, dialect, held)
        made.add_request_handler(method, getattr(mcp_types, taken), handler)
    made.extensions = dict(methods.EXTENSIONS)
    # Nothing has to come back to the process that it came to before.
    application: Any = made.streamable_http_app(stateless_http=True)
    application.add_middleware(_Checked)
    welcoming: App = application
    return welcoming


class _Answerer:
    """The memory, opened by the first call that needs it, and who asks it."""

    def __init__(
        self,
        open_memory: Callable[[str], Memory],
        session: str,
        elsewhere: Elsewhere | None,
        observed: Observed | None,
    ) -> None:
        self._open = open_memory
        self._session = session
        self._elsewhere = elsewhere
        self._observed = observed
        self._own_session = new_session("http")
        self._opening = threading.Lock()
        self._memory: Memory | None = None

    async def answer(self, asked: McpRequest) -> McpAnswer:
        if self._observed is None or asked.method != "tools/call":
            return await self._answer(asked)
        name, given = asked.given.get("name"), asked.given.get("arguments")
        arguments = given if isinstance(given, dict) else {}
        return await self._observed(str(name), arguments, partial(self._answer, asked))

    async def _answer(self, asked: McpRequest) -> McpAnswer:
        from anyio.to_thread import run_sync

        told = await self._elsewhere(asked) if self._elsewhere and asked.only_asks else None
        # Where the vault cannot be opened there either, it is said here.
        return (
            told if isinstance(told, McpAnswer) else await run_sync(asked.answered, self._recalled)
        )

    def _recalled(self) -> Memory:
        with self._opening:
            self._memory = self._memory or self._open("")
        return self._memory

    def asked(self, method: str, given: Object, dialect: str, context: Any) -> McpRequest:
        """The request, with whose it is."""
        headers = context.request.headers
        # The environment is not the client's, and names no session of theirs.
        named = session_of(context.meta, {}) or headers.get(HEADER) or self._session
        # Clients without a handshake name nothing: those of one token are told apart by nobody.
        shared = f"{self._own_session}-{digest(headers.get('authorization', '').encode())[:8]}"
        return McpRequest(
            method,
            given,
            dialect,
            session=(named or headers.get(ID) or shared)[:LONGEST],
            main=not named,
            group=(group_of(context.meta) or headers.get(GROUP_HEADER, ""))[:LONGEST],
            read=(
                taint_of(context.meta),
                taint_named(headers.get(TAINT_HEADER, "")[:LONGEST]),
            ),
        )


def _handler(method: str, result: Any, dialect: str, held: _Answerer) -> Any:
    """What the SDK awaits for a method: our own answer, made elsewhere, as its type if any."""

    async def handle(context: Any, params: Any) -> Any:
        from mcp.shared.exceptions import MCPError

        given = params.model_dump(by_alias=True, exclude_none=True, mode="json") if params else {}
        # With a handshake, the process that hears of a client's capabilities answers no call.
        stateless = context.protocol_version in versions.STATELESS
        given["_meta"] = dict(context.meta or {}) if stateless else {}
        try:
            told = await held.answer(held.asked(method, given, dialect, context))
            found = told.result_or_fault()
        except Exception as error:
            fault = fault_of(error)
            if stateless:
                fault = versions.stateless_fault(fault)
            raise MCPError(fault.code, fault.message, fault.data) from None
        if versions.is_question(found):
            from mcp_types import InputRequiredResult

            return InputRequiredResult.model_validate(found, by_name=False)
        return result.model_validate(found, by_name=False) if result else found

    return handle


class McpAnswer(Struct, frozen=True):
    """What comes of a request: its result, or what the fault is made of."""

    result: Object
    fault: tuple[int, str, Any] | None = None

    @property
    def trouble(self) -> str:
        """What kind of error it is, in a word; empty where it is none."""
        if self.fault:
            return str(self.fault[0])
        return "refused" if self.result.get("isError") else ""

    def result_or_fault(self) -> Object:
        if self.fault:
            raise Fault(*self.fault)
        return self.result


class McpRequest(Struct, frozen=True):
    """A method with its params, for one session, and what the host says that it has read."""

    method: str
    given: Object
    dialect: str
    session: str
    main: bool
    group: str
    read: tuple[str | None, ...] = ()

    @property
    def only_asks(self) -> bool:
        """Whether nothing is changed: then it matters to nobody else when it is answered."""
        if self.method != "tools/call":
            return self.method in methods.WITH_MEMORY
        tool = self._offered().get(str(self.given.get("name")))
        return tool is not None and tool.read_only

    def __call__(self, memory: Memory) -> McpAnswer:
        """The answer, of a memory that any session's may be made of."""
        return self.answered(lambda: memory)

    def answered(self, recall: methods.Recall) -> McpAnswer:
        """The same; the memory is opened by what needs it."""
        try:
            return McpAnswer(self._answer(recall))
        except Exception as error:
            fault = fault_of(error)
            return McpAnswer({}, (fault.code, fault.message, fault.data))

    def _answer(self, recall: methods.Recall) -> Object:
        if self.method not in methods.WITH_MEMORY:
            return methods.AT_ONCE[self.method](self.given, self._offered)
        return methods.WITH_MEMORY[self.method](
            self.given, self._offered, lambda: self._own(recall())
        )

    def _own(self, memory: Memory) -> Memory:
        own = memory.for_session(self.session, main=self.main, group=self.group)
        own.bounded = own.for_agents = True
        meta = self.given.get("_meta", {})
        own.client = methods.client_of({"clientInfo": meta.get(versions.CLIENT_KEY)})
        for each in self.read:
            caller.mark_tainted(own, each)
        return own

    def _offered(self) -> dict[str, Tool]:
        return methods.tools_of(self.dialect)


class _Checked:
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


def _checked(headers: Mapping[str, str], body: bytes) -> RpcMessage | None:
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


def guarded(inner: App, *, token: str) -> App:
    """The application for requests that bring the token, and nothing for any other."""
    expected = f"Bearer {token}".encode()

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        brought = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and scope["path"].rstrip("/") != PATH:
            await refuse(send, 404, {"error": "not_found", "detail": f"MCP is at {PATH}."})
        elif scope["type"] != "http" or hmac.compare_digest(brought, expected):
            await inner(scope, receive, send)
        else:
            told = "The token is missing or wrong: 'commonplace mcp --http PORT' prints it."
            said = {"error": "invalid_token", "detail": told}
            await refuse(send, 401, said, (b"www-authenticate", b"Bearer"))

    return outer


def token_in(state: Path) -> str:
    """The token of a vault, made at first use and readable by its owner alone."""
    path = str(state / "token")
    machine_files.make_private(state)
    machine_files.make(path, secrets.token_urlsafe(32).encode())
    return machine_files.read(path).decode("ascii", "replace").strip()


def serve(application: App, listener: socket) -> None:
    """Serve until told to stop."""
    try:
        import uvicorn
    except ImportError:
        raise MissingExtra("MCP over HTTP", "mcp") from None
    from commonplace.doors import connections

    config = uvicorn.Config(application, http=connections.protocol(), log_level="warning")
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
