"""The command that starts the MCP door. Apart, because its first answer may not wait for imports.

Clients drop a server that needs a second to answer: the vault, its dialect and its tools are looked
for when a request needs them.
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.model.errors import NoSuchVault

if TYPE_CHECKING:
    from commonplace.memory import Memory

ABOUT = "Serve the tools over MCP on standard input and output, until the input ends."


def add(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the parser of `mcp`."""
    parser = commands.add_parser(
        "mcp", help=ABOUT, description=ABOUT, parents=[shared], allow_abbrev=False
    )
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve on 127.0.0.1 over streamable HTTP instead"
    )
    parser.set_defaults(run=mcp)


def mcp(arguments: argparse.Namespace) -> int:
    named = cache(lambda: _of_agents(arguments))
    if arguments.http is not None:
        return _over_http(named())
    from commonplace.doors.mcp.stdio import run

    return run(
        lambda session: _open(named(), session),
        arguments.dialect or (lambda: _dialect(named())),
        arguments.session,
        notice=lambda: str(named().notice),
    )


def _of_agents(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments with the vault named: a working directory that nobody trusted is left out."""
    from commonplace.doors.cli.main import complain
    from commonplace.doors.which_vault import agents_path, left_out

    notice = left_out(arguments.vault)
    complain([notice] if notice else [])
    path = agents_path(arguments.vault, arguments.dialect)
    return argparse.Namespace(**{**vars(arguments), "vault": path, "notice": notice})


def _open(arguments: argparse.Namespace, session: str) -> Memory:
    """The vault for one session. Whoever speaks MCP is an agent, whatever the terminal."""
    from commonplace.doors.cli.main import open_memory
    from commonplace.doors.session_id import is_clients_own

    main = arguments.main or (
        arguments.http is None and is_clients_own(session, arguments.session, os.environ)
    )
    named = argparse.Namespace(**{**vars(arguments), "session": session, "main": main})
    memory = open_memory(named, for_tools=True)
    memory.origin = "agent"
    return memory


def _over_http(arguments: argparse.Namespace) -> int:
    from commonplace.doors.listening import listening
    from commonplace.doors.mcp import http
    from commonplace.doors.session_id import shared_session

    with _open(arguments, arguments.session) as memory:
        token = http.token_in(Path(memory.parts.own()))
    application = http.app(
        lambda session: _open(arguments, session),
        dialect=arguments.dialect or _dialect(arguments),
        session=shared_session(arguments.session, os.environ),
        token=token,
    )
    listener = listening("127.0.0.1", arguments.http)
    port = listener.getsockname()[1]
    print(f"MCP at http://127.0.0.1:{port}/mcp, Authorization: Bearer {token}", flush=True)
    http.serve(application, listener)
    return 0


def _dialect(arguments: argparse.Namespace) -> str:
    from commonplace.doors.cli.main import tool_dialect

    try:
        return tool_dialect(arguments)
    except NoSuchVault:
        # The tools are listed all the same; calling one says what is missing.
        return "native"
