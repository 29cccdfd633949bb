"""The gateway as one web application: API, page, stream of changes and MCP behind one guard.

It knows Starlette. What a route answers it takes from `api`, and tools from the same table that
every door reads.
"""

from __future__ import annotations

import gzip
import mimetypes
import re
from asyncio import get_running_loop
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from functools import cache, partial
from importlib.resources import files
from pathlib import Path as FilePath
from socket import socket
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Match
from starlette.routing import Route as Path

from commonplace import __version__, tools
from commonplace.doors.http import event_stream, openapi
from commonplace.doors.http.access_tokens import LINK, SESSION_SECONDS, AccessTokens, Pass
from commonplace.doors.http.api import ROUTES, RouteCall, ToolCall
from commonplace.doors.http.guard import COOKIE, FAULT, Guard, is_private, pass_of, scope_for
from commonplace.doors.http.health import LIVE, READY, Health
from commonplace.doors.http.mcp_servers import McpServers
from commonplace.doors.http.metrics import KIND, Gauge, Metrics
from commonplace.doors.http.observed import METHODS, Observed, RequestLog, Watcher
from commonplace.doors.http.operations import Operations
from commonplace.doors.http.requests import (
    NotAllowed,
    allowed,
    body_of,
    caller_of,
    check_person,
    conditions,
)
from commonplace.doors.http.responses import (
    BROKEN,
    App,
    Ready,
    Scope,
    answered,
    as_json,
    problem,
    problem_of,
)
from commonplace.doors.http.routes import Route
from commonplace.doors.http.workers import Call, Caller, Vaults, Work, Workers, answer
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue, CommonplaceError
from commonplace.model.options import shown_value
from commonplace.model.records import Origin

if TYPE_CHECKING:
    from commonplace.doors.http.oauth import OAuth
    from commonplace.memory import Memory

THREADS = 8
MOST_DESCRIBED = 24
"""Vaults whose tools the description of the API lists: tenants of a database have the same."""
POSITION = re.compile(r"[0-9]{1,15}")
PAGES = files("commonplace.doors.http") / "web"
PLACES = (
    "home",
    "memory",
    "documents",
    "days",
    "map",
    "trash",
    "agents",
    "told",
    "conversations",
    "review",
    "activity",
    "upkeep",
    "settings",
    "search",
)
APART = ("login", "consent")
"""What a path of the page may begin with, and be: any other is nothing that the gateway has."""
NOTHING = "The gateway has nothing here: /api/openapi.json says what it has."
Sent = Response | App
"""What an endpoint returns: both are applications to Starlette."""


class DocumentConvertor(Convertor[str]):
    """A document's name in a path: with slashes, but not what is done to a document after it."""

    regex = ".*(?<!/append)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("document", DocumentConvertor())


class Gateway:
    """The state that all requests share, and the routes."""

    def __init__(
        self,
        vaults: Vaults,
        tokens: AccessTokens,
        *,
        clock: Clock,
        hosts: Iterable[str],
        mcp: McpServers | None,
        dialect: str | None = None,
        oauth: OAuth | None = None,
        public_url: str = "",
        log: str = "",
        limit: Callable[[str], int] | None = None,
    ) -> None:
        self.vaults = vaults
        self.oauth = oauth
        self.public_url = public_url
        self.tokens = tokens
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="gateway")
        self.mcp = mcp
        self.dialect = dialect
        self._watches: dict[str, event_stream.Watch] = {}
        self._dialects: dict[str, str] = {}
        self._workers: Workers | None = None
        self._own = self._application()
        self.health = Health(vaults, tokens)
        self._guard = Guard(
            self._inside,
            tokens=tokens,
            hosts=hosts,
            oauth=oauth,
            clock=clock,
            probes={LIVE: self.health.live, READY: self.health.ready},
            limit=limit,
        )
        self.metrics = Metrics()
        self.operations = Operations(self.metrics)
        logs: list[Watcher] = [RequestLog(log, clock=clock)] if log else []
        self.app = Observed(self._guard, [self.metrics.saw, *logs])

    async def _inside(self, scope: Scope, receive: Any, send: Any) -> None:
        """MCP at `/mcp/VAULT`, and at `/mcp` for the vault of the token; the rest is ours."""
        parts = scope.get("path", "").strip("/").split("/")
        found = pass_of(scope)
        answer: App
        if scope["type"] != "http" or parts[0] != "mcp" or len(parts) > 2 or not self.mcp:
            answer = self._own
            if refused := _beyond(found, scope):
                answer = problem_of(NotAllowed(refused, scope=scope_for(scope)))
            await answer(scope, receive, send)
            return
        vault = parts[1] if len(parts) > 1 else await self.work(self._first_for, found)
        try:
            if found is None or not found.allows("write") or not found.opens(vault):
                raise NotAllowed("use the tools of this vault", scope="write", vault=vault)
            await self.work(self.vaults.path, vault)
        except CommonplaceError as error:
            await problem_of(error)(scope, receive, send)
            return
        scope = {**scope, "path": "/mcp", "headers": _as_here(scope)}
        await self.mcp.of(vault)(scope, receive, send)

    def _first_for(self, found: Pass | None) -> str:
        """The vault that is meant by who names none: the first that the token opens."""
        return found.vaults[0] if found and found.vaults else next(iter(self.vaults.paths), "")

    def fork(self, count: int, *, listener: socket) -> None:
        """Start processes that answer reads. To be called before any thread starts."""
        self._workers = Workers(self.vaults, count, listener=listener) if count else None

    def stop(self) -> None:
        """Be asked no more: end the event streams and the sessions over MCP."""
        self.health.is_stopping = True
        for watch in self._watches.values():
            watch.end()
        if self.mcp:
            self.mcp.end()

    def _application(self) -> Starlette:
        consents = (
            Path("/api/consent", self._ask_consent, methods=["GET"]),
            Path("/api/consent", self._take_consent, methods=["POST"]),
        )
        routes: list[Path] = [
            *(
                Path(each.full_path, self._endpoint(each), methods=[each.method], name=each.name)
                for each in ROUTES
            ),
            Path("/api/login", self._log_in, methods=["POST"]),
            Path("/api/logout", self._log_out, methods=["POST"]),
            *(consents if self.oauth else ()),
            Path("/api/vaults", self._list_vaults),
            Path("/api/tokens", self._list_tokens),
            Path("/api/tokens", self._make_token, methods=["POST"]),
            Path("/api/tokens/revoke", self._revoke_token, methods=["POST"]),
            Path("/api/openapi.json", self._openapi),
            Path("/health", self._health),
            Path("/metrics", self._metrics),
            Path("/api/vaults/{vault}/tools", self._list_tools),
            Path("/api/vaults/{vault}/tools/{tool}", self._call_tool, methods=["POST"]),
            Path("/api/vaults/{vault}/changes", self._changes),
            Path("/api/vaults/{vault}/export/{form}", self._export),
            Path("/api/vaults/{vault}/backup", self._back_up),
        ]
        nowhere = Path("/api/{rest:path}", _nowhere(routes), methods=METHODS)
        return Starlette(
            routes=[
                *routes,
                *(self.oauth.routes() if self.oauth else ()),
                nowhere,
                Path("/{name:path}", self._page, methods=METHODS),
            ],
            exception_handlers={
                CommonplaceError: _told,
                ClientDisconnect: _cut_short,
                HTTPException: _told_wrong,
                Exception: _broken,
            },
            lifespan=self._lifespan,
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            if self._workers:
                await self._workers.connect()
            async with self.mcp.running() if self.mcp else nullcontext():
                yield
                self.stop()
        finally:
            # What has not begun by now belongs to requests that were given up.
            self.pool.shutdown(wait=True, cancel_futures=True)
            self.health.close()
            self.vaults.close()
            self.tokens.close()
            if self._workers:
                self._workers.close()

    async def work(self, function: Callable[..., Any], *given: Any) -> Any:
        """Run slow work on a thread."""
        return await get_running_loop().run_in_executor(self.pool, partial(function, *given))

    def _endpoint(self, route: Route) -> Any:
        async def endpoint(request: Request) -> Sent:
            found = allowed(request, route.scope)
            call = self._call(route, request, found, await body_of(request))
            return await self._done(route.name, call, only_asks=route.only_asks)

        return endpoint

    async def _done(self, name: str, call: RouteCall | ToolCall, *, only_asks: bool) -> Sent:
        """The answer to a route or a tool, which is counted."""
        work = partial(self._answer, call, only_asks=only_asks)
        return await self.operations.done(call.vault, name, call.given, work)

    async def _answer(self, call: Call, *, only_asks: bool) -> Ready:
        """The answer to a call: a worker's to what only asks, else one from a thread of ours."""
        said = await self._workers.ask(call) if self._workers and only_asks else None
        ready: Ready = said or await self.work(answer, self.vaults, call)
        return ready

    async def beside(self, vault: str, deed: Callable[[Memory], Any]) -> Any:
        """A worker's answer to a request over MCP; None if there are no workers."""
        work = Work(vault, Caller(Origin.AGENT), deed)
        return await self._workers.ask(work) if self._workers else None

    def _call(self, route: Route, request: Request, found: Pass, body: dict[str, Any]) -> RouteCall:
        path = {name: str(value) for name, value in request.path_params.items()}
        if "etag" in (each.name for each in route.tool.parameters):
            body = conditions(request) | body
        query = {name: request.query_params.getlist(name) for name in request.query_params}
        given = route.arguments(path, query, body)
        return RouteCall(route.name, path["vault"], caller_of(request, found), given)

    async def _dialect(self, vault: str) -> str:
        """The dialect of a vault's tools: the one asked for, or the vault's own."""

        def own() -> str:
            return tools.dialect_of(self.vaults.memory(vault, Caller(Origin.AGENT)).layout.name)

        if vault not in self._dialects:
            self._dialects[vault] = self.dialect or await self.work(own)
        return self._dialects[vault]

    async def _call_tool(self, request: Request) -> Sent:
        """Any tool of the vault's dialect."""
        found = allowed(request, "read", for_all="write")
        vault, name = request.path_params["vault"], request.path_params["tool"]
        dialect = await self._dialect(vault)
        only_asks = tools.own(name, dialect=dialect).read_only
        if not only_asks and not found.allows("write"):
            raise NotAllowed("write", scope="write", vault=vault)
        call = ToolCall(name, dialect, vault, caller_of(request, found), await body_of(request))
        return await self._done(name, call, only_asks=only_asks)

    async def _list_tools(self, request: Request) -> Sent:
        """The tools of the vault's dialect that the session may have."""
        found = allowed(request, "read")
        vault, caller = request.path_params["vault"], caller_of(request, found)
        dialect = await self._dialect(vault)
        memory = await self.work(self.vaults.memory, vault, caller)
        own = [_shown(each) for each in _table(dialect) if each.is_for(memory)]
        return answered({"dialect": dialect, "tools": own})

    def _open_to(self, found: Pass | None) -> list[str]:
        return [name for name in self.vaults.paths if found and found.opens(name)]

    async def _list_vaults(self, request: Request) -> Sent:
        found = pass_of(request.scope)
        names = await self.work(self._open_to, found)
        who = {"name": found.name, "scope": found.scope} if found else None
        told = {"vaults": names, "who": who, "version": __version__}
        if found and found.origin == Origin.OWNER:
            told["places"] = {
                name: shown_value(path)
                for name, path in (await self.work(lambda: dict(self.vaults.paths))).items()
                if name in names
            }
        return answered(told)

    async def _health(self, request: Request) -> Sent:
        """What is wrong with the gateway and the vaults that the token opens."""
        found = pass_of(request.scope)
        if found is None or not found.allows("read"):
            raise NotAllowed("read here", scope="read")
        away, late = await self.health.away(), await self.work(self.health.late)
        schedules = self.health.schedules
        told = {
            "away": {name: why for name, why in away.items() if found.opens(name)},
            "late": {name: what for name, what in late.items() if found.opens(name)},
            "workers": {"wanted": len(self._workers or ()), "gone": self._gone()},
            "upkeep": "none" if schedules is None else "on" if schedules.runs else "ended",
        }
        wrong = told["away"] or told["late"] or self._gone() or told["upkeep"] == "ended"
        return answered({"ok": not wrong, **told})

    async def _metrics(self, request: Request) -> Sent:
        """What was counted, for Prometheus."""
        found = pass_of(request.scope)
        if found is None or found.vaults:
            # What all vaults are asked tells one tenant about the others.
            raise NotAllowed("read the counts of all vaults", scope="metrics")
        told = self.metrics.text(self._gauges())
        return Response(told, headers={"content-type": KIND, "cache-control": "no-store"})

    def _gauges(self) -> list[Gauge]:
        workers = self._workers
        states = workers.states if workers else {}
        listeners = sum(map(len, self._watches.values()))
        opened = self.vaults.open + (workers.open if workers else 0)
        return [
            Gauge(
                "commonplace_workers",
                "Processes that answer reads.",
                {(("state", state),): count for state, count in states.items()},
            ),
            Gauge(
                "commonplace_waiting_calls",
                "Calls that wait for a worker.",
                {(): workers.waiting if workers else 0},
            ),
            Gauge("commonplace_open_memories", "Memories open in all processes.", {(): opened}),
            Gauge("commonplace_event_streams", "Listeners to streams of changes.", {(): listeners}),
        ]

    def _gone(self) -> int:
        """How many processes that answer reads have ended."""
        return self._workers.gone if self._workers else 0

    async def _openapi(self, request: Request) -> Sent:
        vaults = (await self.work(self._open_to, pass_of(request.scope)))[:MOST_DESCRIBED]
        offered = {name: _table(await self._dialect(name)) for name in vaults}
        return answered(openapi.document(ROUTES, offered, version=__version__))

    async def _changes(self, request: Request) -> Sent:
        """The stream of changes, from where the listener left off, while the pass is good."""
        own = caller_of(request, allowed(request, "read"))
        vault, caller = request.path_params["vault"], Caller(Origin.AGENT)
        # Who may not see the log hears nothing of what is added to it.
        await self.work(lambda: self.vaults.memory(vault, own).log(limit=1))

        async def look(position: int) -> Any:
            return await self.work(
                lambda: event_stream.since(self.vaults.memory(vault, caller), position)
            )

        async def may_listen() -> bool:
            found = await self._guard.find(request.scope["commonplace.token"])
            return found is not None and found.allows("read") and found.opens(vault)

        last = request.headers.get("last-event-id", "")
        end = await self.work(lambda: event_stream.end_of(self.vaults.memory(vault, caller)))
        start = int(last) if POSITION.fullmatch(last) else end
        stream = self._watches.setdefault(vault, event_stream.Watch(look)).stream(start)
        told = event_stream.heard(stream, may_listen)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(told, media_type="text/event-stream", headers=headers)

    async def _export(self, request: Request) -> Sent:
        """Every memory in one file, to be kept by the person's browser."""
        from commonplace.doors.admin.export import FORMS, exported

        check_person(request, "carry the memories away")
        caller = caller_of(request, allowed(request, "admin"))
        vault, form = request.path_params["vault"], request.path_params["form"]
        if form not in FORMS:
            raise BadValue("form", f"{form!r} is not known", next_step=f"Use {', '.join(FORMS)}.")
        text, _ = await self.work(lambda: exported(self.vaults.memory(vault, caller), form))
        return Response(text.encode(), headers=_download(f"{vault}.{FORMS[form]}"))

    async def _back_up(self, request: Request) -> Sent:
        """The whole vault in one file that was read back and compared."""
        from commonplace.doors.admin.backup import back_up, backup_name

        check_person(request, "make a backup")
        caller = caller_of(request, allowed(request, "admin"))
        vault, place = request.path_params["vault"], TemporaryDirectory(prefix="commonplace-")

        def made() -> FilePath:
            memory = self.vaults.memory(vault, caller)
            file = FilePath(place.name, backup_name(memory))
            back_up(memory, file)
            return file

        try:
            file = await self.work(made)
        except BaseException:
            place.cleanup()
            raise
        gone = BackgroundTask(place.cleanup)
        return FileResponse(file, headers=_download(file.name), background=gone)

    async def _log_in(self, request: Request) -> Sent:
        """Exchange the code of a login link for a cookie."""
        body = await body_of(request)
        token = await self.work(self.tokens.log_in, str(body.get("code", "")))
        if not token:
            said = f"This link was used already or is too old: '{LINK}' prints a new one."
            return problem(401, said)
        answer = _plain({"ok": True})
        answer.set_cookie(
            COOKIE,
            token,
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            path="/",
            secure=f"https://{request.headers['host']}" == self.public_url,
        )
        return answer

    async def _ask_consent(self, request: Request) -> Sent:
        """What a client of OAuth wants, for the person who is to say whether it may."""
        check_person(request, "say yes to a client")
        assert self.oauth is not None, "the route is there with it alone"
        return answered(await self.oauth.asked(dict(request.query_params)))

    async def _take_consent(self, request: Request) -> Sent:
        """Send a client of OAuth back with what the person said."""
        check_person(request, "say yes to a client")
        assert self.oauth is not None, "the route is there with it alone"
        given = await body_of(request)
        allowed = given.get("allowed") is True
        return answered({"to": await self.oauth.answered(given, allowed=allowed)})

    async def _list_tokens(self, request: Request) -> Sent:
        """The tokens by their names, and what was granted to clients of OAuth."""
        check_person(request, "see who has a token")
        return answered({"tokens": [each.told() for each in await self.work(self.tokens.named)]})

    async def _make_token(self, request: Request) -> Sent:
        """Make a token for a program. The answer is the only one that has it."""
        check_person(request, "make a token")
        given = await body_of(request)
        name, scope = str(given.get("name", "")).strip(), str(given.get("scope", ""))
        vaults = given.get("vaults", [])
        if not isinstance(vaults, list):
            raise BadValue("vaults", "it is not a list", next_step="Send their names.")
        for each in vaults:
            await self.work(self.vaults.path, str(each))
        token = await self.work(lambda: self.tokens.add(name, scope, vaults=tuple(vaults)))
        return answered({"name": name, "token": token}, 201)

    async def _revoke_token(self, request: Request) -> Sent:
        """End a token, or what was granted to a client of OAuth, by its name."""
        check_person(request, "end a token")
        name = str((await body_of(request)).get("name", ""))
        await self.work(self.tokens.revoke, name)
        return answered({"revoked": name})

    async def _log_out(self, request: Request) -> Sent:
        await self.work(self.tokens.log_out, request.scope.get("commonplace.token", ""))
        answer = _plain({"ok": True})
        answer.delete_cookie(COOKIE, path="/")
        return answer

    async def _page(self, request: Request) -> Sent:
        """A file of the page, or the page itself at one of its places."""
        name = request.path_params["name"] or "index.html"
        is_place = name.partition("/")[0] in PLACES or name in APART
        found = name in _files() or (is_place and (name != "consent" or self.oauth is not None))
        asks, sees = request.method in ("GET", "HEAD"), request.headers.get("accept", "")
        if not found and not (asks and "text/html" in sees):
            return problem(404, NOTHING)
        if not asks:
            return _takes(("GET", "HEAD"))
        packed = "gzip" in request.headers.get("accept-encoding", "")
        # Who sees a page is told by the page itself that nothing is there.
        shown = name if name in _files() else "index.html"
        return _file(shown, packed=packed, status=200 if found else 404)


def _beyond(found: Pass | None, scope: Scope) -> str:
    """What a pass for one purpose is used for beyond it; empty where it is not."""
    if found is None or scope["type"] != "http" or not is_private(scope["path"]):
        return ""
    if found.grant:
        return "do anything but use MCP"
    counts = found.allows("read") or scope["path"] == "/metrics"
    return "" if counts else "do anything but read counts"


def _as_here(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers for the MCP server, which knows this machine's names alone: ours are judged.

    Who asks is told by what stays the same, of a client of OAuth by its grant.
    """
    found = pass_of(scope)
    who = found.grant if found and found.grant else scope["commonplace.token"]
    judged = (b"host", b"origin", b"authorization")
    return [
        (b"host", b"127.0.0.1:80"),
        (b"authorization", f"Bearer {who}".encode()),
        *(each for each in scope["headers"] if each[0] not in judged),
    ]


def _nowhere(routes: Iterable[Path]) -> Any:
    """The answer for a path or a method below /api that does not exist."""

    async def endpoint(request: Request) -> Sent:
        there = [each for each in routes if each.matches(request.scope)[0] != Match.NONE]
        if not there:
            return problem(404, NOTHING)
        return _takes(way for each in there for way in each.methods or ())

    return endpoint


def _takes(methods: Iterable[str]) -> Sent:
    """The answer to a wrong method, with the methods that are allowed."""
    ways = ", ".join(sorted(methods))
    return problem(405, f"Here the gateway takes {ways}.", allow=ways)


def _plain(data: Any) -> Response:
    """Data as an answer that can bring a cookie."""
    return Response(
        as_json(data), headers={"cache-control": "no-store"}, media_type="application/json"
    )


def _download(name: str) -> dict[str, str]:
    """The headers of a file that a browser keeps instead of showing it."""
    kept = f"attachment; filename*=utf-8''{quote(name, safe='')}"
    kind = "application/gzip" if name.endswith(".gz") else "text/plain; charset=utf-8"
    return {"content-disposition": kept, "content-type": kind, "cache-control": "no-store"}


def _table(dialect: str) -> Iterable[Any]:
    return tools.table(dialect).values()


def _shown(tool: Any) -> Mapping[str, Any]:
    return {"name": tool.name, "description": tool.description, "schema": tool.schema()}


@cache
def _files() -> frozenset[str]:
    """The files of the page by their paths: no other path leads to a file."""
    folders = ("", "assets/", "assets/places/")
    return frozenset(
        folder + each.name
        for folder in folders
        for each in (PAGES / folder).iterdir()
        if each.is_file()
    )


def _file(name: str, *, packed: bool, status: int = 200) -> Response:
    """A file of the page, packed for those who can unpack it."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = {"cache-control": "no-cache", "vary": "accept-encoding"}
    headers |= {"content-encoding": "gzip"} if packed else {}
    return Response(_content(name, packed=packed), status, media_type=kind, headers=headers)


@cache
def _content(name: str, *, packed: bool) -> bytes:
    found = (PAGES / name).read_bytes()
    return gzip.compress(found, 9) if packed else found


async def _told(request: Request, error: Any) -> Any:
    return problem_of(error)


async def _cut_short(request: Request, error: Any) -> Any:
    """The body was too long or too slow; who has gone away reads nothing of this."""
    return problem(*request.scope.get(FAULT, (400, "The body is not whole.")))


async def _told_wrong(request: Request, error: Any) -> Any:
    if error.status_code == 405:
        return _takes(error.headers["Allow"].split(", "))
    return problem(error.status_code, str(error.detail))


async def _broken(request: Request, error: Exception) -> Any:
    """Whoever asked learns nothing of our insides; the person at the terminal does."""
    return problem(500, BROKEN)
