"""The commands of the gateway: serving it, and the tokens of those who may come in."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli.main import open_memory, show, vault_path
from commonplace.doors.persons import agent_above, require_person
from commonplace.model.errors import BadValue
from commonplace.tools.tool import Answer

if TYPE_CHECKING:
    from commonplace.doors.http.access_tokens import Tokens
    from commonplace.memory import Memory

PORT = 8377
MOST_WORKERS = 64


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("vaults", nargs="*", metavar="PATH", help="vaults to serve; else --vault")
    parser.add_argument("--port", type=int, help=f"(default {PORT}; 0: any free one)")
    parser.add_argument("--host", default="127.0.0.1", help="address to bind (default: loopback)")
    parser.add_argument(
        "--name", action="append", default=[], help="another host name it answers to; may repeat"
    )
    parser.add_argument(
        "--public-url",
        default="",
        metavar="URL",
        help="the address, by HTTPS, that a proxy in front of the gateway has",
    )
    parser.add_argument(
        "--oauth",
        action="store_true",
        help="let clients of MCP ask you for access in the browser (OAuth 2.1)",
    )
    parser.add_argument(
        "--link", action="store_true", help="only print a new link for a gateway that runs already"
    )
    parser.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="processes that answer searches and other reads (default: one for each core, up to 4)",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


def serve(arguments: argparse.Namespace) -> int:
    """Serve the page, the HTTP API and MCP over HTTP, and print the link to log in."""
    from commonplace.doors.http import server
    from commonplace.doors.listening import listening

    if arguments.link:
        require_person("have the link that logs in as the owner")
        with closing(_tokens(arguments)) as tokens:
            print(_link(_running(arguments), tokens.login_code()))
        return 0
    arguments.port = PORT if arguments.port is None else arguments.port
    paths = _paths(arguments)
    for path in paths:
        _open(arguments, path, origin="owner").close()
    with listening(arguments.host, arguments.port) as listener:
        arguments.port = listener.getsockname()[1]
        made = server.gateway(
            paths,
            lambda path, origin: _open(arguments, path, origin=origin),
            port=arguments.port,
            host=arguments.host,
            names=tuple(arguments.name),
            mcp=lambda name, path: _mcp(arguments, path, partial(made.beside, name)),
            dialect=arguments.dialect,
            public_url=arguments.public_url,
            oauth=arguments.oauth,
        )
        made.fork(_workers(arguments), listener=listener)
        _note(arguments, made.vaults.paths)
        # Whoever follows the link acts as the person: an agent that starts a gateway gets none.
        link = "" if agent_above() else _link(_base(arguments), made.tokens.login_code())
        _say(arguments, made.vaults.paths, link)
        with _upkeep(arguments, paths):
            server.run(made, listener)
    return 0


def _workers(arguments: argparse.Namespace) -> int:
    from commonplace.doors.http.workers import usual

    if arguments.workers is None:
        return usual()
    if not 0 <= arguments.workers <= MOST_WORKERS:
        raise BadValue("workers", "it is too many or too few", next_step="Use 0 to 64.")
    return int(arguments.workers)


def _say(arguments: argparse.Namespace, names: Iterable[str], link: str) -> None:
    """Where the gateway is, for the person who started it."""
    print(f"Serving {', '.join(names)}.")
    print(f"Page (this link lets you in once): {link}" if link else _without_link(arguments))
    asked = ", or by OAuth" if arguments.oauth else ""
    print(f"MCP: {_base(arguments)}/mcp with a token of 'commonplace token add'{asked}.")
    print("Stop with Ctrl+C.", flush=True)
    if arguments.open and link:
        import webbrowser

        webbrowser.open(link)


def _without_link(arguments: argparse.Namespace) -> str:
    command = f"commonplace serve --link --port {arguments.port}"
    return f"Page: {_base(arguments)}; '{command}' in a terminal of your own lets you in."


@contextmanager
def _upkeep(arguments: argparse.Namespace, paths: Sequence[str]) -> Iterator[None]:
    """The schedule of each vault, at work in the background while the gateway serves."""
    memories = [_open(arguments, path, origin="owner") for path in paths]
    schedules = [memory.schedule(elsewhere=True) for memory in memories]
    for each in schedules:
        each.start()
    try:
        yield
    finally:
        for each in schedules:
            each.stop(seconds=3)
        for memory in memories:
            memory.close()


def _base(arguments: argparse.Namespace) -> str:
    if arguments.public_url:
        return str(arguments.public_url).rstrip("/")
    host = _host(arguments)
    return f"http://{f'[{host}]' if ':' in host else host}:{arguments.port}"


def _host(arguments: argparse.Namespace) -> str:
    """An address of this machine by which the gateway is reached."""
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return str(anywhere.get(arguments.host, arguments.host))


def _note(arguments: argparse.Namespace, names: Iterable[str]) -> None:
    from commonplace.doors import gateways

    gateways.note(
        gateways.Started(_host(arguments), arguments.port, _base(arguments), tuple(names))
    )


def _running(arguments: argparse.Namespace) -> str:
    """The address of the gateway that is meant: of one that runs here, unless one is named."""
    from commonplace.doors import gateways

    if arguments.public_url:
        return _base(arguments)
    if found := gateways.running(_names(arguments), port=arguments.port):
        return found.url
    arguments.port = PORT if arguments.port is None else arguments.port
    return _base(arguments)


def _names(arguments: argparse.Namespace) -> list[str]:
    from commonplace.doors.http.workers import named

    return list(named(_paths(arguments)))


def _link(base: str, code: str) -> str:
    return f"{base}/login?code={code}"


def _paths(arguments: argparse.Namespace) -> list[str]:
    return getattr(arguments, "vaults", None) or [vault_path(arguments)]


def _tokens(arguments: argparse.Namespace) -> Tokens:
    from commonplace.doors.http.access_tokens import Tokens, passes_of
    from commonplace.model.clock import Clock

    clock = Clock()
    return Tokens(passes_of(_paths(arguments), clock=clock), clock=clock)


def _open(arguments: argparse.Namespace, path: str, *, origin: str, session: str = "") -> Memory:
    named = argparse.Namespace(**{**vars(arguments), "vault": path, "session": session})
    memory = open_memory(named, for_tools=True)
    memory.origin = origin
    return memory


def _mcp(arguments: argparse.Namespace, path: str, elsewhere: Any) -> Any:
    from commonplace import tools
    from commonplace.doors.mcp import http as over_http
    from commonplace.doors.session_id import shared_session

    with _open(arguments, path, origin="agent") as memory:
        dialect = arguments.dialect or tools.dialect_of(memory.layout.name)
    return over_http.server(
        lambda session: _open(arguments, path, origin="agent", session=session),
        dialect=dialect,
        session=shared_session(arguments.session, os.environ),
        elsewhere=elsewhere,
    )


def token_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list", "revoke"))
    parser.add_argument("name", nargs="?", default="", help="who will use it")
    parser.add_argument(
        "--scope", default="read", choices=("read", "write", "admin"), help="(default read)"
    )
    parser.add_argument(
        "--for-vault", action="append", default=[], metavar="NAME", help="only this vault"
    )


def token(arguments: argparse.Namespace) -> int:
    """Make, list or revoke tokens for programs that ask the gateway. Each is shown only once."""
    with closing(_tokens(arguments)) as tokens:
        show(_done(arguments, tokens), as_json=arguments.json)
    return 0


def _done(arguments: argparse.Namespace, tokens: Tokens) -> Answer:
    if arguments.action == "add":
        if arguments.scope == "admin":
            require_person("make a token that approves")
        _check_vaults(arguments)
        made = tokens.add(arguments.name, arguments.scope, vaults=tuple(arguments.for_vault))
        return Answer({"name": arguments.name, "token": made}, made)
    if arguments.action == "revoke":
        tokens.revoke(arguments.name)
        return Answer({"revoked": arguments.name}, f"Revoked {arguments.name}.")
    listed = [each.told() for each in tokens.named()]
    lines = [f"{each['name']}  {each['scope']}{'  OAuth' * each['oauth']}" for each in listed]
    return Answer(listed, "\n".join(lines) or "There are no tokens.")


def _check_vaults(arguments: argparse.Namespace) -> None:
    """Refuse a token for a vault that neither this command nor a gateway of this user has."""
    from commonplace.doors import gateways

    served = (name for each in gateways.started() for name in each.vaults)
    known = dict.fromkeys((*_names(arguments), *served))
    if unknown := [name for name in arguments.for_vault if name not in known]:
        raise BadValue(
            "--for-vault",
            f"no gateway here has a vault {', '.join(unknown)}; known are {', '.join(known)}",
            next_step="Use one of these, or say where it is: --vault PATH.",
        )
