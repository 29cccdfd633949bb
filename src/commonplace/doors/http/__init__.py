"""The gateway: an HTTP API and a page where people see, search and edit their agents' memory.

It binds this machine alone unless told otherwise, and asks for a token on every route that shows
anything. It needs the extra `gateway`; the command line imports it only to serve.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socket

from commonplace.clock import Clock
from commonplace.errors import BadValue, MissingExtra
from commonplace.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.doors.http.application import Gateway
    from commonplace.memory import Memory

GRACE_SECONDS = 2
"""How long a request that is on may still take when the gateway is told to stop."""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def gateway(
    paths: list[str],
    open_memory: Callable[[str, str], Memory],
    *,
    port: int,
    host: str = "127.0.0.1",
    names: tuple[str, ...] = (),
    tokens: Path | None = None,
    clock: Clock | None = None,
    mcp: Callable[[str, str], Any] | None = None,
    dialect: str | None = None,
) -> Gateway:
    """A gateway over these vaults, ready to be served.

    `open_memory` opens a vault by its path, for an origin; `mcp` makes the MCP application of one
    from its name and path. The tools are those of `dialect`, or else of each vault's own.
    """
    try:
        from commonplace.doors.http.application import Gateway
    except ImportError:
        raise MissingExtra("The gateway", "gateway") from None
    from commonplace.doors.http.later import Later
    from commonplace.doors.http.tokens import FilePasses, Tokens, passes_of
    from commonplace.doors.http.vaults import Vaults, named

    clock = clock or Clock()
    passes = FilePasses(tokens) if tokens else passes_of(paths, clock=clock)
    kept = Tokens(passes, clock=clock)
    if host not in ("127.0.0.1", "::1", "localhost") and not kept.named():
        raise BadValue(
            "host",
            f"{host} is beyond this machine, and no token was made for those who will ask",
            next_step="'commonplace token add NAME --scope read' makes one.",
        )
    hosts = [f"{name}:{port}" for name in (*LOOPBACK, host, *names)] + list(names)
    vaults = Vaults(named(paths), open_memory)
    spoken = {name: Later(partial(mcp, name, path)) for name, path in vaults.paths.items() if mcp}
    return Gateway(vaults, kept, clock=clock, hosts=hosts, mcp=spoken, dialect=dialect)


def run(made: Gateway, listener: socket) -> None:
    """Serve until told to stop, by Ctrl+C or by whoever ends processes; both are a clean end."""
    import uvicorn

    from commonplace.doors import patience

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket] | None = None) -> None:
            made.stop()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        made.app,
        http=patience.protocol(),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])
