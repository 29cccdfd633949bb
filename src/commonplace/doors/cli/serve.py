"""The commands that start the other doors: `mcp`, `hook`, `serve`, and `token` for the gateway.

A client drops an MCP server that needs a second to answer. So nothing is imported here that the
first answer does not need; the vault, its dialect and its tools are looked for on request.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, closing, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from commonplace.doors.cli.main import complain, open_memory, show, tool_dialect, vault_path
from commonplace.model.errors import BadValue, MissingExtra, NoSuchVault, TenantClosed

if TYPE_CHECKING:
    from commonplace.doors.http.access_tokens import AccessTokens
    from commonplace.doors.http.app import Gateway
    from commonplace.memory import Memory
    from commonplace.postgres.tenants import Tenants
    from commonplace.storage.notes import FileNotes
    from commonplace.tools.tool import Answer

PORT = 8377
MOST_WORKERS = 64
GATEWAYS = "gateways.json"
MOST_GATEWAYS = 32
"""Gateways that are remembered, those that were started last."""
COLLECTORS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""The variables that say where spans are collected."""
CONNECT_SECONDS = 1.0
"""How long a gateway on this machine may take to be connected to."""


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--http", type=int, metavar="PORT", help="serve on 127.0.0.1 over streamable HTTP instead"
    )


def mcp(arguments: argparse.Namespace) -> int:
    """Serve the tools over MCP on standard input and output, until the input ends."""
    named = cache(lambda: _of_agents(arguments))
    if arguments.http is not None:
        return _over_http(named())
    from commonplace.doors.mcp.stdio import run

    return run(
        lambda session: _open_for_agents(named(), session),
        arguments.dialect or (lambda: _tools_dialect(named())),
        arguments.session,
        notice=lambda: str(named().notice),
    )


def _of_agents(arguments: argparse.Namespace) -> argparse.Namespace:
    """The arguments with the vault named: a working directory that nobody trusted is left out."""
    from commonplace.doors.which_vault import agents_path, left_out

    notice = left_out(arguments.vault)
    complain([notice] if notice else [])
    path = agents_path(arguments.vault, arguments.dialect)
    return argparse.Namespace(**{**vars(arguments), "vault": path, "notice": notice})


def _open_for_agents(arguments: argparse.Namespace, session: str) -> Memory:
    """The vault for one session. Whoever speaks MCP is an agent, whatever the terminal."""
    from commonplace.doors.session_id import is_clients_own

    main = arguments.main or (
        arguments.http is None and is_clients_own(session, arguments.session, os.environ)
    )
    named = argparse.Namespace(**{**vars(arguments), "session": session, "main": main})
    memory = open_memory(named, for_tools=True)
    memory.origin = "agent"
    memory.load_encoder()
    return memory


def _over_http(arguments: argparse.Namespace) -> int:
    from commonplace.doors.connections import listen
    from commonplace.doors.mcp import http
    from commonplace.doors.session_id import shared_session

    with _open_for_agents(arguments, arguments.session) as memory:
        token = http.token_in(Path(memory.parts.own()))
    application = http.app(
        lambda session: _open_for_agents(arguments, session),
        dialect=arguments.dialect or _tools_dialect(arguments),
        session=shared_session(arguments.session, os.environ),
        token=token,
    )
    listener = listen("127.0.0.1", arguments.http)
    port = listener.getsockname()[1]
    print(f"MCP at http://127.0.0.1:{port}/mcp, Authorization: Bearer {token}", flush=True)
    http.serve(application, listener)
    return 0


def _tools_dialect(arguments: argparse.Namespace) -> str:
    try:
        return tool_dialect(arguments)
    except NoSuchVault:
        # The tools are listed all the same; calling one says what is missing.
        return "native"


def hook_arguments(parser: argparse.ArgumentParser) -> None:
    from commonplace.doors.hooks.main import CLIENTS, EVENTS

    parser.add_argument("event", choices=EVENTS, help="what happened")
    parser.add_argument("--client", choices=CLIENTS, default="claude", help="whose hook it is")
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="an option, as set up"
    )
    parser.add_argument(
        "--named", action="store_true", help="name the vault that the memory is from"
    )


def hook(arguments: argparse.Namespace) -> int:
    """Answer a client's hook: JSON on standard input, the client's own form on standard output.

    It ends with 0 whatever happens; 'commonplace doctor' shows what went wrong.
    """
    from commonplace.doors.hooks.main import HookCommand, run

    return run(
        HookCommand(
            event=arguments.event,
            client=arguments.client,
            vault=arguments.vault,
            dialect=arguments.dialect,
            session=arguments.session,
            options=tuple(arguments.set),
        )
    )


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
    parser.add_argument(
        "--log",
        choices=("json", "text"),
        default="",
        help="write a line for each request: its time, route, status, duration and session",
    )
    parser.add_argument(
        "--telemetry",
        action="store_true",
        help="send spans by OpenTelemetry, also where OTEL_EXPORTER_OTLP_ENDPOINT is not set",
    )
    parser.add_argument(
        "--tenants",
        action="store_true",
        help="serve every profile of the PostgreSQL database that PATH names, also those to come",
    )


def serve(arguments: argparse.Namespace) -> int:
    """Serve the page, the HTTP API and MCP over HTTP, and print the link to log in."""
    from commonplace.doors.caller import agent_above, require_person
    from commonplace.doors.connections import listen
    from commonplace.doors.http import server
    from commonplace.doors.http.schedules import Schedules
    from commonplace.model.clock import Clock

    if arguments.link:
        require_person("have the link that logs in as the owner")
        with closing(_tokens(arguments)) as tokens:
            print(_link(_running(arguments), tokens.login_code()))
        return 0
    arguments.port = PORT if arguments.port is None else arguments.port
    paths = _tenants(arguments) if arguments.tenants else _paths(arguments)
    _check_schedules(arguments, paths)
    telemetry = _telemetry(arguments)
    with listen(arguments.host, arguments.port) as listener:
        arguments.port = listener.getsockname()[1]
        made = server.gateway(
            paths,
            lambda path, origin: _open_served(arguments, path, origin=origin),
            port=arguments.port,
            host=arguments.host,
            names=tuple(arguments.name),
            mcp=lambda name, path: _mcp_served(arguments, name, path, made),
            dialect=arguments.dialect,
            public_url=arguments.public_url,
            oauth=arguments.oauth,
            log=arguments.log,
        )
        made.fork(_workers(arguments), listener=listener)
        served = {} if arguments.tenants else made.vaults.paths
        _note(arguments, served)
        # Whoever follows the link acts as the person: an agent that starts a gateway gets none.
        link = "" if agent_above() else _link(_base(arguments), made.tokens.login_code())
        _say(arguments, list(served), link)
        schedules = Schedules(
            lambda path: _open_served(arguments, path, origin="owner"),
            made.vaults.paths.values,
            clock=Clock(),
            after=made.metrics.ran,
        )
        with telemetry as made.operations.trace, schedules:
            made.health.schedules = schedules
            server.run(made, listener)
    return 0


def _check_schedules(arguments: argparse.Namespace, paths: list[str] | Tenants) -> None:
    """Refuse a schedule that cannot be read before anything is said to run."""
    is_database = isinstance(paths, Mapping)
    # What is closed or being dropped now keeps nobody from serving the others.
    closed = (TenantClosed, NoSuchVault) if is_database else (TenantClosed,)
    for path in paths.values() if isinstance(paths, Mapping) else paths:
        try:
            with _open_served(arguments, path, origin="owner") as memory:
                memory.schedule()
        except closed:
            continue
        if is_database:
            return  # Options are the same for all tenants.


def _tenants(arguments: argparse.Namespace) -> Tenants:
    """The tenants of the one database that is named."""
    from commonplace.model.clock import Clock
    from commonplace.model.options import is_url

    [path, *others] = _paths(arguments)
    if others or not is_url(path):
        raise BadValue(
            "--tenants", "it takes one database", next_step="Name it: postgresql://host/database."
        )
    if arguments.oauth:
        raise BadValue(
            "--oauth",
            "it asks one person, and tenants are many",
            next_step="Give each tenant a token: 'commonplace token add NAME --for-vault TENANT'.",
        )
    from commonplace.postgres.tenants import Tenants

    return Tenants(path, clock=Clock())


def _telemetry(arguments: argparse.Namespace) -> AbstractContextManager[Any]:
    """What sends spans, where it is asked for: by the option, or by the variables of all programs.

    Without the extra those variables, which a whole cluster may have set, are not meant for us.
    """
    if not (arguments.telemetry or any(map(os.environ.get, COLLECTORS))):
        return nullcontext()
    try:
        from commonplace.doors.http.telemetry import tracing
    except ImportError:
        if arguments.telemetry:
            raise MissingExtra("Telemetry", "telemetry") from None
        return nullcontext()
    return tracing()


def _workers(arguments: argparse.Namespace) -> int:
    from commonplace.doors.http.workers import usual

    if arguments.workers is None:
        return usual()
    if not 0 <= arguments.workers <= MOST_WORKERS:
        raise BadValue("workers", "it is too many or too few", next_step="Use 0 to 64.")
    return int(arguments.workers)


def _say(arguments: argparse.Namespace, names: Iterable[str], link: str) -> None:
    """Where the gateway is, for the person who started it."""
    print(f"Serving {', '.join(names) or 'every tenant of the database'}.")
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


def _base(arguments: argparse.Namespace) -> str:
    if arguments.public_url:
        return str(arguments.public_url).rstrip("/")
    host = _host(arguments)
    return f"http://{f'[{host}]' if ':' in host else host}:{arguments.port}"


def _host(arguments: argparse.Namespace) -> str:
    """An address of this machine by which the gateway is reached."""
    anywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return str(anywhere.get(arguments.host, arguments.host))


def _note(arguments: argparse.Namespace, vaults: Mapping[str, str]) -> None:
    places = tuple(map(_place, vaults.values()))
    base = _base(arguments)
    _note_gateway(StartedGateway(_host(arguments), arguments.port, base, tuple(vaults), places))


def _place(path: str) -> str:
    """What tells a vault from another, however it was named; nothing with a password in it."""
    from commonplace.model.options import is_url, shown_value
    from commonplace.opening import find_root

    if is_url(path):
        return str(shown_value(path))
    return os.path.realpath(find_root(os.path.expanduser(path)))


def running_page(place: str) -> str:
    """The address of a gateway that runs here and serves this vault; empty when none does."""
    wanted = _place(place)
    serving = (each for each in _started_gateways() if wanted in each.places)
    return next((each.url for each in serving if each.is_running()), "")


def _running(arguments: argparse.Namespace) -> str:
    """The address of the gateway that is meant: of one that runs here, unless one is named."""
    if arguments.public_url:
        return _base(arguments)
    if found := _running_gateway(_names(arguments), port=arguments.port):
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


def _tokens(arguments: argparse.Namespace) -> AccessTokens:
    from commonplace.doors.http.access_tokens import AccessTokens, passes_of
    from commonplace.model.clock import Clock

    clock = Clock()
    return AccessTokens(passes_of(_paths(arguments), clock=clock), clock=clock)


def _open_served(
    arguments: argparse.Namespace, path: str, *, origin: str, session: str = ""
) -> Memory:
    named = argparse.Namespace(**{**vars(arguments), "vault": path, "session": session})
    memory = open_memory(named, for_tools=True)
    memory.origin = origin
    memory.load_encoder()
    return memory


def _mcp_served(arguments: argparse.Namespace, name: str, path: str, made: Gateway) -> Any:
    from commonplace import tools
    from commonplace.doors.mcp import http as over_http
    from commonplace.doors.session_id import shared_session

    with _open_served(arguments, path, origin="agent") as memory:
        dialect = arguments.dialect or tools.dialect_of(memory.layout.name)
    return over_http.server(
        lambda session: _open_served(arguments, path, origin="agent", session=session),
        dialect=dialect,
        session=shared_session(arguments.session, os.environ),
        elsewhere=partial(made.beside, name),
        observed=partial(made.operations.done, name),
    )


def token_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("add", "list", "revoke"), help="what to do")
    parser.add_argument("name", nargs="?", default="", help="who will use it")
    parser.add_argument(
        "--scope",
        default="read",
        choices=("metrics", "read", "write", "admin"),
        help="what it lets a program do (default read); metrics: read counts alone",
    )
    parser.add_argument(
        "--for-vault", action="append", default=[], metavar="NAME", help="only this vault"
    )


def token(arguments: argparse.Namespace) -> int:
    """Make, list or revoke tokens for programs that ask the gateway. Each is shown only once."""
    with closing(_tokens(arguments)) as tokens:
        show(_token_done(arguments, tokens), as_json=arguments.json)
    return 0


def _token_done(arguments: argparse.Namespace, tokens: AccessTokens) -> Answer:
    from commonplace.tools.tool import Answer

    if arguments.action == "add":
        if arguments.scope == "admin":
            from commonplace.doors.caller import require_person

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
    served = (name for each in _started_gateways() for name in each.vaults)
    known = dict.fromkeys((*_names(arguments), *served))
    tenants = _tenants_of(vault_path(arguments))
    unknown = [name for name in arguments.for_vault if name not in known and name not in tenants]
    if unknown:
        raise BadValue(
            "--for-vault",
            f"no gateway here has a vault {', '.join(unknown)}; known are {', '.join(known)}",
            next_step="Use one of these, or say where it is: --vault PATH.",
        )


def _tenants_of(place: str) -> Mapping[str, str]:
    """The profiles beside a vault in PostgreSQL; none of one in files."""
    from commonplace.model.clock import Clock
    from commonplace.model.options import is_url

    if not is_url(place):
        return {}
    from commonplace.postgres.tenants import Tenants

    return Tenants(place, clock=Clock())


class StartedGateway(Struct, frozen=True):
    """A gateway that was started, and may run still."""

    host: str
    port: int
    url: str
    """The address by which people reach it."""
    vaults: tuple[str, ...]
    places: tuple[str, ...] = ()
    """Where these vaults are; empty of a gateway that an older version started."""

    def is_running(self) -> bool:
        from socket import create_connection

        try:
            create_connection((self.host, self.port), timeout=CONNECT_SECONDS).close()
        except OSError:
            return False
        return True


def _note_gateway(started: StartedGateway) -> None:
    """Remember a gateway in place of any that was at its address."""
    notes = _gateway_notes()
    os.makedirs(notes.directory, 0o700, exist_ok=True)

    def changed(data: bytes | None) -> bytes:
        others = [each for each in _gateways_in(data) if _address(each) != _address(started)]
        newest = [*others, started][-MOST_GATEWAYS:]
        return msgspec.json.encode(newest)

    notes.change(GATEWAYS, changed)


def _started_gateways() -> list[StartedGateway]:
    """Those that were started, the newest first."""
    return _gateways_in(_gateway_notes().read(GATEWAYS))[::-1]


def _running_gateway(vaults: Iterable[str], *, port: int | None) -> StartedGateway | None:
    """The newest that runs, at a port if one is named; sooner one that has these vaults."""
    wanted = set(vaults)
    found = [each for each in _started_gateways() if port in (None, each.port)]
    found.sort(key=lambda each: not wanted <= set(each.vaults))
    return next((each for each in found if each.is_running()), None)


def _gateway_notes() -> FileNotes:
    from commonplace.doors.http.access_tokens import tokens_file
    from commonplace.storage.notes import FileNotes

    return FileNotes(os.path.realpath(tokens_file().parent))


def _address(started: StartedGateway) -> tuple[str, int]:
    return started.host, started.port


def _gateways_in(data: bytes | None) -> list[StartedGateway]:
    try:
        return msgspec.json.decode(data or b"[]", type=list[StartedGateway])
    except msgspec.DecodeError:
        return []
