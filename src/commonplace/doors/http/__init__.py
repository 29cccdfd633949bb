"""The gateway: an HTTP API and a page where people see, search and edit their agents' memory.

It binds this machine alone unless told otherwise, and asks for a token on every route that shows
anything. It needs the extra `gateway`; the command line imports it only to serve.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.clock import Clock
from commonplace.errors import BadValue, MissingExtra

if TYPE_CHECKING:
    from commonplace.doors.http.application import Gateway
    from commonplace.doors.http.vaults import Reader
    from commonplace.memory import Memory

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def gateway(
    paths: list[str],
    open_memory: Callable[[str, Reader], Memory],
    *,
    port: int,
    host: str = "127.0.0.1",
    names: tuple[str, ...] = (),
    tokens: Path | None = None,
    clock: Clock | None = None,
    mcp: Callable[[str, str], Any] | None = None,
) -> Gateway:
    """A gateway over these vaults, ready to be served.

    `mcp` makes the MCP application of one vault from its name and path.
    """
    try:
        from commonplace.doors.http.application import Gateway
    except ImportError:
        raise MissingExtra("The gateway", "gateway") from None
    from commonplace.doors.http.later import Later
    from commonplace.doors.http.tokens import Tokens, tokens_file
    from commonplace.doors.http.vaults import Vaults, named

    clock = clock or Clock()
    kept = Tokens(tokens or tokens_file(), clock=clock)
    if host not in ("127.0.0.1", "::1", "localhost") and not kept.named():
        raise BadValue(
            "host",
            f"{host} is beyond this machine, and no token was made for those who will ask",
            next_step="'commonplace token add NAME --scope read' makes one.",
        )
    hosts = [f"{name}:{port}" for name in (*LOOPBACK, host, *names)] + list(names)
    vaults = Vaults(named(paths), open_memory)
    spoken = {name: Later(partial(mcp, name, path)) for name, path in vaults.paths.items() if mcp}
    return Gateway(vaults, kept, clock=clock, hosts=hosts, mcp=spoken)


def run(application: Any, *, host: str, port: int) -> None:
    """Serve until told to stop."""
    import uvicorn

    uvicorn.run(
        application,
        host=host,
        port=port,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=3,
    )
