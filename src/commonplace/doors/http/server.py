"""The gateway: an HTTP API and a page where people see, search and edit their agents' memory.

It binds this machine alone unless told otherwise, and asks for a token on every route that shows
anything. It needs the extra `gateway`; the command line imports it only to serve.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any

from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue, MissingExtra

if TYPE_CHECKING:
    from commonplace.doors.http.app import Gateway
    from commonplace.doors.http.workers import Vaults
    from commonplace.memory import Memory
    from commonplace.postgres.tenants import Tenants

GRACE_SECONDS = 8
"""How long a request that is on may still take when the gateway is told to stop: whoever ends
containers kills after ten.
"""
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def gateway(
    paths: Sequence[str] | Tenants,
    open_memory: Callable[[str, str], Memory],
    *,
    port: int,
    host: str = "127.0.0.1",
    names: tuple[str, ...] = (),
    tokens: Path | None = None,
    clock: Clock | None = None,
    mcp: Callable[[str, str], Any] | None = None,
    dialect: str | None = None,
    public_url: str = "",
    oauth: bool = False,
    log: str = "",
) -> Gateway:
    """A gateway over these vaults, ready to be served.

    `paths` are where they are, or all tenants of a database. `open_memory` opens a vault by its
    path, for an origin; `mcp` makes the MCP application of one from its name and path. The tools
    are those of `dialect`, or else of each vault's own.
    `public_url` is the address that a proxy in front has; with `oauth`, clients may ask the person
    there for tokens. `log` is the form of the lines that tell of each request; none without it.
    """
    try:
        from commonplace.doors.http.app import Gateway
    except ImportError:
        raise MissingExtra("The gateway", "gateway") from None
    from commonplace.doors.http.access_tokens import (
        AccessTokens,
        FilePasses,
        command_for,
        passes_of,
    )
    from commonplace.doors.http.mcp_servers import McpServers
    from commonplace.doors.http.workers import Vaults, named

    clock = clock or Clock()
    places = paths if isinstance(paths, Sequence) else [paths.place.url()]
    passes = FilePasses(tokens) if tokens else passes_of(places, clock=clock)
    kept = AccessTokens(passes, clock=clock)
    if host not in ("127.0.0.1", "::1", "localhost") and not kept.named():
        raise BadValue(
            "host",
            f"{host} is beyond this machine, and no token was made for those who will ask",
            next_step=f"'{command_for('read')}' makes one.",
        )
    public_url = checked_url(public_url) if public_url else ""
    names = (*names, *([public_url.partition("://")[2]] if public_url else ()))
    hosts = [f"{name}:{port}" for name in (*LOOPBACK, host, *names)] + list(names)
    vaults = Vaults(named(paths) if isinstance(paths, Sequence) else paths, open_memory)
    spoken = McpServers(partial(_made, mcp, vaults)) if mcp else None
    granting = None
    if oauth:
        from commonplace.doors.http.grants import Grants
        from commonplace.doors.http.oauth import OAuth

        at = public_url or f"http://127.0.0.1:{port}"
        granting = OAuth(Grants(passes, clock=clock), url=at, vaults=list(vaults.paths))
    return Gateway(
        vaults,
        kept,
        clock=clock,
        hosts=hosts,
        mcp=spoken,
        dialect=dialect,
        oauth=granting,
        public_url=public_url,
        log=log,
        limit=None if isinstance(paths, Sequence) else paths.requests,
    )


def _made(mcp: Callable[[str, str], Any], vaults: Vaults, name: str) -> Any:
    """The MCP application of a vault by its name."""
    return mcp(name, vaults.path(name))


def checked_url(given: str) -> str:
    """The address that others know a gateway by: a host, by HTTPS or on this machine."""
    from urllib.parse import urlsplit

    parts = urlsplit(given)
    local = parts.scheme == "http" and parts.hostname in ("127.0.0.1", "localhost", "::1")
    if not parts.hostname or not (local or parts.scheme == "https"):
        raise BadValue(
            "public-url",
            f"{given!r} is not an address by HTTPS",
            next_step="Name the one that a proxy in front has, such as https://memory.example.",
        )
    if parts.path not in ("", "/") or parts.query or parts.fragment or parts.username:
        raise BadValue(
            "public-url", "it is more than a host", next_step="Give the gateway a host of its own."
        )
    return f"{parts.scheme}://{parts.netloc}".lower()


def run(made: Gateway, listener: socket) -> None:
    """Serve until told to stop, by Ctrl+C or by whoever ends processes; both are a clean end."""
    import uvicorn

    from commonplace.doors import connections

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket] | None = None) -> None:
            made.stop()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        made.app,
        http=connections.protocol(),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        Server(config).run(sockets=[listener])
