"""The same methods over streamable HTTP, on the official SDK (extra `mcp`), behind a token.

It knows the SDK and the web; what a method answers it takes from `methods`, as the stdio loop does.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from commonplace.doors.mcp import prompts, versions
from commonplace.doors.mcp.asked import Asked, Told
from commonplace.doors.mcp.calls import fault_of
from commonplace.doors.mcp.checks import ID, App, Checked, refuse
from commonplace.doors.mcp.jsonrpc import Object
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

Elsewhere = Callable[[Asked], Awaitable[Any]]
"""Has a request answered by another process; None, or something else, when it could not be."""
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
PATH = "/mcp"


def app(open_memory: Callable[[str], Memory], *, dialect: str, session: str, token: str) -> App:
    """The web application: MCP at `/mcp`, for whoever brings the token."""
    return guarded(server(open_memory, dialect=dialect, session=session), token=token)


def server(
    open_memory: Callable[[str], Memory],
    *,
    dialect: str,
    session: str,
    elsewhere: Elsewhere | None = None,
) -> App:
    """The SDK's server over our table of tools, as a web application.

    A call belongs to the session that it names, or a header; else to the `session` that is given,
    or that of the client by the id it got, or one of the server. What only asks is answered
    `elsewhere`, where there is such a place: Python computes on one core a process.
    """
    try:
        import mcp_types
        from mcp.server.lowlevel import Server
    except ImportError:
        raise MissingExtra("MCP over HTTP", "mcp") from None
    held = _Held(open_memory, session, elsewhere)
    handlers = {
        name: _handler(method, getattr(mcp_types, result), dialect, held)
        for method, (name, result) in RESULTS.items()
    }
    made: Any = Server(**versions.server_info(), instructions=prompts.INSTRUCTIONS, **handlers)
    for method, (taken, result) in FURTHER.items():
        handler = _handler(method, getattr(mcp_types, result), dialect, held)
        made.add_request_handler(method, getattr(mcp_types, taken), handler)
    # Nothing has to come back to the process that it came to before.
    application: Any = made.streamable_http_app(stateless_http=True)
    application.add_middleware(Checked)
    welcoming: App = application
    return welcoming


class _Held:
    """The memory, opened by the first call that needs it, and who asks it."""

    def __init__(
        self, open_memory: Callable[[str], Memory], session: str, elsewhere: Elsewhere | None
    ) -> None:
        self._open = open_memory
        self._session = session
        self._elsewhere = elsewhere
        self._own_session = new_session("http")
        self._opening = threading.Lock()
        self._memory: Memory | None = None

    async def answer(self, asked: Asked) -> Told:
        from anyio.to_thread import run_sync

        told = await self._elsewhere(asked) if self._elsewhere and asked.only_asks else None
        # Where the vault cannot be opened there either, it is said here.
        return told if isinstance(told, Told) else await run_sync(asked.answered, self._recalled)

    def _recalled(self) -> Memory:
        with self._opening:
            self._memory = self._memory or self._open("")
        return self._memory

    def asked(self, method: str, given: Object, dialect: str, context: Any) -> Asked:
        """The request, with whose it is."""
        headers = context.request.headers
        # The environment is not the client's, and names no session of theirs.
        named = session_of(context.meta, {}) or headers.get(HEADER) or self._session
        # Clients without a handshake name nothing: those of one token are told apart by nobody.
        shared = f"{self._own_session}-{digest(headers.get('authorization', '').encode())[:8]}"
        return Asked(
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


def _handler(method: str, result: Any, dialect: str, held: _Held) -> Any:
    """What the SDK awaits for a method: our own answer, made elsewhere, as its type."""

    async def handle(context: Any, params: Any) -> Any:
        from mcp.shared.exceptions import MCPError

        given = params.model_dump(by_alias=True, exclude_none=True, mode="json") if params else {}
        try:
            told = await held.answer(held.asked(method, given, dialect, context))
            found = told.result_or_fault()
        except Exception as error:
            fault = fault_of(error)
            if context.protocol_version in versions.STATELESS:
                fault = versions.stateless_fault(fault)
            raise MCPError(fault.code, fault.message, fault.data) from None
        return result.model_validate(found, by_name=False)

    return handle


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
    from commonplace.doors import patience

    config = uvicorn.Config(application, http=patience.protocol(), log_level="warning")
    server = uvicorn.Server(config)
    with suppress(KeyboardInterrupt):
        server.run(sockets=[listener])
