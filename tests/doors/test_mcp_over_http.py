"""MCP over HTTP: the same answers as over stdio, for whoever brings the token."""

from __future__ import annotations

import errno
import json
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient

from commonplace.doors.mcp import http
from commonplace.doors.mcp.http import McpRequest
from commonplace.doors.mcp.versions import VERSION_KEY
from commonplace.doors.session_id import shared_session
from commonplace.memory import Memory
from tests.doors.test_mcp import with_client
from tests.support.mcp_client import (
    ENVELOPE,
    HANDSHAKE,
    STATELESS,
    ask,
    ask_stateless,
    call,
    initialize,
    opener,
    talk,
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str, str]]:
    """A vault, the address it is served at, and its token."""
    with Memory.open(tmp_path) as memory:
        memory.store("Likes green tea", kind="preference")
    port = free_port()
    command = [sys.executable, "-m", "commonplace", "--vault", str(tmp_path), "mcp"]
    child = subprocess.Popen([*command, "--http", str(port)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    token = child.stdout.readline().rsplit(" ", 1)[1].strip()
    address = f"http://127.0.0.1:{port}/mcp"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            httpx2.get(address)
            break
        except httpx2.TransportError:
            time.sleep(0.05)
    yield tmp_path, address, token
    child.terminate()
    child.wait(timeout=120)
    child.stdout.close()


async def looked(client: Client) -> list[Any]:
    """What a client finds: the tools, some calls, resources and prompts."""
    found: list[Any] = [tool.model_dump() for tool in (await client.list_tools()).tools]
    for name, arguments in (
        ("search", {"query": "tea"}),
        ("brief", {}),
        ("delete", {"id": "mem-none"}),
        ("search", {"limit": 0}),
        ("search", {"query": "tea", "limit": "5", "tags": None, "explain": "true"}),
        ("search", {"query": "tea", "limit": 5.0, "kind": None}),
        ("search", {"limit": 5.5}),
    ):
        found.append((await client.call_tool(name, arguments)).model_dump(exclude={"meta"}))
    found += [each.model_dump() for each in (await client.list_resources()).resources]
    found += [each.model_dump() for each in (await client.list_prompts()).prompts]
    page = await client.read_resource("commonplace://document/MEMORY.md")
    assert isinstance(page.contents[0], mcp_types.TextResourceContents)
    found.append(page.contents[0].text)
    return found


@pytest.mark.long
def test_a_port_that_is_taken_is_said_to_be_before_anything_is_promised(
    served: tuple[Path, str, str],
) -> None:
    root, address, _ = served
    port = address.rpartition(":")[2].removesuffix("/mcp")
    command = [sys.executable, "-m", "commonplace", "--vault", str(root), "mcp", "--http", port]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (6, "")
    assert f"Nothing can be served at 127.0.0.1:{port}" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_answers_are_those_of_the_stdio_door(served: tuple[Path, str, str], mode: str) -> None:
    root, address, token = served

    async def over_http() -> list[Any]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers) as web:
            transport = streamable_http_client(address, http_client=web)
            async with Client(transport, mode=mode) as client:
                return await looked(client)

    assert anyio.run(over_http) == with_client(root, mode, looked)


@pytest.mark.long
@pytest.mark.parametrize("brought", ["", "Bearer wrong", "Basic abc"])
def test_without_the_token_there_is_nothing(served: tuple[Path, str, str], brought: str) -> None:
    _, address, _ = served
    headers = {"Authorization": brought} if brought else {}
    answer = httpx2.post(
        address, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}
    )
    assert (answer.status_code, "token" in answer.text) == (401, True)


@pytest.mark.long
def test_a_foreign_host_or_origin_is_refused_even_with_the_token(
    served: tuple[Path, str, str],
) -> None:
    _, address, token = served
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
        }
        assert httpx2.post(address, headers=headers | header, json=body).status_code in (403, 421)


def test_the_token_is_for_its_owner_alone(served: tuple[Path, str, str]) -> None:
    root, _, token = served
    with Memory.open(root) as memory:
        path = Path(memory.parts.own()) / "token"
    assert path.read_text(encoding="ascii") == token
    assert path.stat().st_mode & 0o077 == 0


ACCEPT = {"accept": "application/json, text/event-stream"}
OLD = {"mcp-protocol-version": HANDSHAKE[-1]}
NEW = {"mcp-protocol-version": STATELESS}
NUMBERS = count()


@contextmanager
def asked(open_memory: Callable[[str], Memory] | Path, **given: Any) -> Iterator[TestClient]:
    """A client of a server in this process."""
    if isinstance(open_memory, Path):
        Memory.open(open_memory, create=True).close()
        open_memory = opener(open_memory, session_stores=1)
    options: dict[str, Any] = {"dialect": "typed", "session": ""} | given
    at: Any = http.server(open_memory, **options)
    with TestClient(at, base_url="http://127.0.0.1:8000", headers=ACCEPT) as web:
        yield web


def told(answer: Any) -> Any:
    """The message in an answer, which is one event or JSON alone."""
    [data] = [line for line in answer.text.splitlines() if line.startswith(("data: ", "{"))]
    return json.loads(data.removeprefix("data: "))


def stored(web: TestClient, text: str, *, meta: Any = None, **headers: str) -> bool:
    """Whether a store was let through; a session has one. No text is stored twice."""
    message = call("memory_store", {"type": "fact", "content": f"{text} {next(NUMBERS)}"})
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    message["params"] |= {"_meta": meta} if meta else {}
    return not told(web.post("/mcp", json=message, headers=OLD | headers))["result"]["isError"]


@pytest.mark.parametrize("message", [call("memory_brief"), ask("resources/list")])
@pytest.mark.parametrize("era", [HANDSHAKE[-1], STATELESS])
def test_what_nobody_foresaw_is_an_internal_error_without_details(
    message: Any, era: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(session: str) -> Memory:
        raise OSError(errno.ENOSPC, "No space left on device", "/srv/the secret of the house")

    if era == STATELESS:
        message = {**message, "params": {**message.get("params", {}), "_meta": ENVELOPE}}
    named = {"mcp-method": message["method"], "mcp-name": message.get("params", {}).get("name", "")}
    with asked(fail) as web:
        answer = web.post("/mcp", json=message, headers={"mcp-protocol-version": era, **named})
    assert told(answer)["error"] == {"code": -32603, "message": "Internal error"}
    assert "the secret of the house" in capsys.readouterr().err


def test_many_clients_call_at_once(tmp_path: Path) -> None:
    def call_twice(number: int) -> list[bool]:
        return [stored(web, "A", x_commonplace_session=f"{number}") for _ in range(2)]

    with asked(tmp_path) as web, ThreadPoolExecutor(8) as threads:
        assert list(threads.map(call_twice, range(40))) == [[True, False]] * 40


def begun(web: TestClient) -> dict[str, str]:
    """What a client sends with each call after its first, as the protocol asks it to."""
    first = web.post("/mcp", json=initialize())
    return OLD | {"mcp-session-id": first.headers["mcp-session-id"]}


def test_clients_that_name_no_session_have_one_each_from_their_first_call_on(
    tmp_path: Path,
) -> None:
    with asked(tmp_path) as web:
        one, other = begun(web), begun(web)
        assert [stored(web, "A", **each) for each in (one, other, one, other)] == [
            True, True, False, False,
        ]  # fmt: skip
        assert "mcp-session-id" not in web.post("/mcp", json=call("x"), headers=one).headers


def test_a_session_that_the_client_names_outweighs_the_one_it_was_given(tmp_path: Path) -> None:
    with asked(tmp_path) as web:
        client = begun(web)
        codex = {"x-codex-turn-metadata": {"thread_id": "t-1"}}
        ways: list[dict[str, Any]] = [
            {},
            {"x-commonplace-session": "monday"},
            {"meta": codex},
            {"meta": {"session": "tuesday"}, "x-commonplace-session": "monday"},
        ]
        assert [stored(web, "A", **client, **way) for way in ways] == [True] * 4
        assert [stored(web, "B", **client, **way) for way in ways] == [False] * 4
    with Memory.open(tmp_path) as memory:
        sessions = {hit.record.session for hit in memory.search()}
    assert sessions == {client["mcp-session-id"], "monday", "t-1", "tuesday"}


@pytest.mark.parametrize(
    "way",
    [
        {"x-commonplace-tainted": "https://a.example"},
        {"meta": {"commonplace/tainted": "https://a.example"}},
    ],
)
def test_a_host_says_what_the_session_has_read(tmp_path: Path, way: dict[str, Any]) -> None:
    with asked(tmp_path) as web:
        assert stored(web, "A", **{"x-commonplace-session": "monday"}, **way)
        assert stored(web, "A", **{"x-commonplace-session": "tuesday"})
    with Memory.open(tmp_path) as memory:
        [(what, _)] = memory.sessions.read("monday").taints
        assert what == "https://a.example"
        assert not memory.sessions.read("tuesday").tainted


def test_who_never_says_hello_shares_the_session_of_the_server(tmp_path: Path) -> None:
    with asked(tmp_path) as web:
        assert [stored(web, "A"), stored(web, "B")] == [True, False]


def test_a_session_given_to_the_server_is_that_of_all_who_name_none(tmp_path: Path) -> None:
    with asked(tmp_path, session="sunday") as web:
        assert stored(web, "A", **begun(web))
        assert not stored(web, "B", **begun(web))
        assert stored(web, "C", x_commonplace_session="monday")
    with Memory.open(tmp_path) as memory:
        assert {hit.record.session for hit in memory.search()} == {"sunday", "monday"}


@pytest.mark.parametrize(
    ("given", "environ", "session"),
    [
        ("", {}, ""),
        ("sunday", {"CLAUDE_CODE_SESSION_ID": "claude"}, "sunday"),
        ("claude", {"CLAUDE_CODE_SESSION_ID": "claude"}, ""),
        ("mine", {"COMMONPLACE_SESSION": "mine"}, "mine"),
    ],
)
def test_the_session_in_which_a_server_was_started_is_not_that_of_its_clients(
    given: str, environ: dict[str, str], session: str
) -> None:
    assert shared_session(given, environ) == session


def test_each_client_takes_back_its_own_change(tmp_path: Path) -> None:
    with asked(tmp_path, dialect="native") as web:
        one, other = begun(web), begun(web)
        for client, text in ((one, "Likes tea"), (other, "Likes rye")):
            web.post("/mcp", json=call("store", {"text": text}), headers=client)
        web.post("/mcp", json=call("undo"), headers=one)
    with Memory.open(tmp_path) as memory:
        assert [hit.record.text for hit in memory.search()] == ["Likes rye"]


def test_nobody_is_kept_waiting_for_messages_that_never_come(tmp_path: Path) -> None:
    with asked(tmp_path) as web:
        answer = web.get("/mcp", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


WRONG: dict[str, tuple[Any, dict[str, str]]] = {
    "no protocol": ({"id": 1, "method": "ping"}, {}),
    "an id that is null": ({"jsonrpc": "2.0", "id": None, "method": "ping"}, {}),
    "an id that is true": ({"jsonrpc": "2.0", "id": True, "method": "ping"}, {}),
    "params in a list": (ask("ping", []), {}),
    "a method that is a number": ({"jsonrpc": "2.0", "id": 1, "method": 7}, {}),
    "a version that is a number": (
        ask("prompts/list", {"_meta": {VERSION_KEY: 3}}),
        {"mcp-protocol-version": STATELESS},
    ),
    "a version without capabilities": (
        ask("prompts/list", {"_meta": {VERSION_KEY: STATELESS}}),
        {"mcp-protocol-version": STATELESS},
    ),
    "a version to come": (
        ask("prompts/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2030-01-01"}}),
        {"mcp-protocol-version": "2030-01-01"},
    ),
    "a version to come, in the body alone": (
        ask("prompts/list", {"_meta": {**ENVELOPE, VERSION_KEY: "2030-01-01"}}),
        {},
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_message_that_is_wrong_is_refused_as_over_stdio(tmp_path: Path, case: str) -> None:
    message, headers = WRONG[case]
    with asked(tmp_path, dialect="native") as web:
        answer = web.post("/mcp", json=message, headers=headers)
    assert answer.status_code == 400
    assert [answer.json()] == talk(tmp_path, message)


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-29", "latest"])
def test_a_version_in_the_header_that_nobody_speaks_is_refused(
    tmp_path: Path, version: str
) -> None:
    with asked(tmp_path) as web:
        answer = web.post(
            "/mcp", json=ask("prompts/list"), headers={"mcp-protocol-version": version}
        )
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32022)


@pytest.mark.parametrize("header", ["", *HANDSHAKE])
def test_a_header_that_disagrees_with_the_body_is_refused(tmp_path: Path, header: str) -> None:
    headers = {"mcp-protocol-version": header} if header else {}
    with asked(tmp_path) as web:
        answer = web.post("/mcp", json=ask_stateless("prompts/list"), headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[]", b"7", b"[" * 100_000, b'{"a": NaN}'])
def test_a_body_that_is_no_message_is_refused(tmp_path: Path, body: bytes) -> None:
    kind = {"content-type": "application/json"}
    with asked(tmp_path) as web:
        answer = web.post("/mcp", content=body, headers=kind)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in (-32700, -32600)


def test_the_server_names_itself_and_takes_a_level_of_logging(tmp_path: Path) -> None:
    [begins, level] = initialize(), ask("logging/setLevel", {"level": "debug"})
    with asked(tmp_path, dialect="native") as web:
        begun_here = told(web.post("/mcp", json=begins))["result"]
        [over_stdio, _] = talk(tmp_path, begins, level)
        assert begun_here["serverInfo"] == over_stdio["result"]["serverInfo"]
        # The SDK leaves extensions out of revisions that did not name them yet.
        known = over_stdio["result"]["capabilities"].keys() - {"extensions"}
        assert begun_here["capabilities"].keys() == known
        assert told(web.post("/mcp", json=level, headers=OLD))["result"] == {}
        loud = ask("logging/setLevel", {"level": "loud"})
        assert told(web.post("/mcp", json=loud, headers=OLD))["error"]["code"] == -32602


@pytest.mark.parametrize("asking", [ask, ask_stateless])
def test_skills_are_those_of_the_stdio_door(tmp_path: Path, asking: Callable[..., Any]) -> None:
    uri = "skill://commonplace/SKILL.md"
    requests = [asking("skills/list", {}), asking("skills/get", {"uri": uri})]
    with asked(tmp_path, dialect="native") as web:
        for request in requests:
            headers = OLD if asking is ask else {**NEW, "mcp-method": request["method"]}
            here = told(web.post("/mcp", json=request, headers=headers))["result"]
            [over_stdio] = talk(tmp_path, request)
            assert here.items() <= over_stdio["result"].items()
            assert here.keys() >= {"resultType", "ttlMs", "cacheScope"}
        unknown = asking("skills/get", {"uri": "skill://other/SKILL.md"})
        answer = told(web.post("/mcp", json=unknown, headers=headers))
    assert answer["error"]["code"] == -32602


MADE_UP = (
    "nonsense",
    "http-0123456789abcdef",
    "http-0123456789abcdef-0123456789abcdef",
    "-",
    "http-",
)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize("given", MADE_UP)
def test_a_session_that_nobody_was_given_is_not_found(
    tmp_path: Path, given: str, method: str
) -> None:
    named = {"mcp-session-id": given}
    with asked(tmp_path) as web:
        answer = web.request(method, "/mcp", json=call("memory_brief"), headers=OLD | named)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32600)


def test_the_session_of_another_credential_is_not_found(tmp_path: Path) -> None:
    with asked(tmp_path) as web:
        web.headers["authorization"] = "Bearer mine"
        mine = begun(web)
        assert stored(web, "A", **mine)
        web.headers["authorization"] = "Bearer yours"
        assert web.post("/mcp", json=call("memory_brief"), headers=mine).status_code == 404


def test_a_session_is_known_after_a_restart(tmp_path: Path) -> None:
    with asked(tmp_path) as web:
        client = begun(web)
        assert stored(web, "A", **client)
    with asked(tmp_path) as web:
        assert not stored(web, "B", **client)


READ = {
    "tools/list": {},
    "resources/list": {},
    "resources/read": {"uri": "commonplace://document/MEMORY.md"},
    "tools/call": {"name": "search", "arguments": {"query": "tea"}},
    "completion/complete": {
        "ref": {"type": "ref/resource", "uri": "commonplace://document/{+name}"},
        "argument": {"name": "name", "value": ""},
    },
}
"""A request of every method that only asks the memory."""


def sent_away(root: Path, went: list[str]) -> Callable[[McpRequest], Awaitable[Any]]:
    """Has requests answered as another process would: they are sent there and back as bytes."""

    async def elsewhere(asked: McpRequest) -> Any:
        went.append(asked.method)
        with Memory.open(root, create=False) as memory:
            told = pickle.loads(pickle.dumps(asked))(memory)
        return pickle.loads(pickle.dumps(told))

    return elsewhere


@pytest.mark.parametrize("method", READ)
def test_what_only_asks_is_answered_elsewhere_and_the_same(tmp_path: Path, method: str) -> None:
    with Memory.open(tmp_path, create=True) as memory:
        memory.store("Likes green tea", kind="preference")
    went: list[str] = []
    answers = []
    for elsewhere in (None, sent_away(tmp_path, went)):
        with asked(opener(tmp_path), dialect="native", elsewhere=elsewhere) as web:
            answers.append(told(web.post("/mcp", json=ask(method, READ[method]), headers=OLD)))
    assert went == [method]
    assert answers[0] == answers[1]
    assert "result" in answers[0]


def test_what_writes_and_what_is_wrong_is_answered_here(tmp_path: Path) -> None:
    Memory.open(tmp_path, create=True).close()
    went: list[str] = []
    with asked(opener(tmp_path), dialect="native", elsewhere=sent_away(tmp_path, went)) as web:
        for message in (
            call("store", {"text": "Likes green tea"}),
            call("nothing"),
            ask("prompts/list"),
            ask("ping"),
        ):
            web.post("/mcp", json=message, headers=OLD)
        assert went == []
        missing = ask("resources/read", {"uri": "commonplace://document/none.md"})
        answer = told(web.post("/mcp", json=missing, headers=OLD))
    assert answer["error"]["code"] == -32002
    with Memory.open(tmp_path) as memory:
        assert memory.count() == 1


@pytest.mark.parametrize("said", [None, "an answer of no form"])
def test_what_nobody_answers_elsewhere_is_answered_here(tmp_path: Path, said: Any) -> None:
    async def elsewhere(asked: McpRequest) -> Any:
        return said

    Memory.open(tmp_path, create=True).close()
    with asked(opener(tmp_path), dialect="native", elsewhere=elsewhere) as web:
        answer = told(web.post("/mcp", json=call("brief"), headers=OLD))
    assert not answer["result"]["isError"]


def test_of_fifty_reads_none_waits_for_another(tmp_path: Path) -> None:
    """All are under way before the first is answered: who would wait for one would wait forever."""
    Memory.open(tmp_path, create=True).close()
    went: list[str] = []
    answer = sent_away(tmp_path, went)
    there = 0

    async def elsewhere(asked: McpRequest) -> Any:
        nonlocal there
        there += 1
        while there < 50:
            await anyio.sleep(0)
        return await answer(asked)

    def search(number: int) -> bool:
        message = call("search", {"query": f"tea {number}"})
        return "result" in told(web.post("/mcp", json=message, headers=OLD))

    with (
        asked(opener(tmp_path), dialect="native", elsewhere=elsewhere) as web,
        ThreadPoolExecutor(50) as threads,
    ):
        assert all(threads.map(search, range(50)))


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "action", "asked"), [("auto", "accept", 1), ("auto", "decline", 1), ("legacy", "", 0)]
)
def test_the_person_is_asked_in_the_era_in_which_a_call_can_be_made_again(
    served: tuple[Path, str, str], mode: str, action: str, asked: int
) -> None:
    root, address, token = served
    with Memory.open(root) as memory:
        [key] = [hit.record.id for hit in memory.listed()]
    questions: list[str] = []

    async def reply(context: Any, params: Any) -> Any:
        questions.append(params.message)
        content = {"confirm": True} if action == "accept" else None
        return mcp_types.ElicitResult.model_validate({"action": action, "content": content})

    async def erase() -> str:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers) as web:
            transport = streamable_http_client(address, http_client=web)
            async with Client(transport, mode=mode, elicitation_callback=reply) as client:
                done: Any = await client.call_tool("delete", {"id": key})
                return str(done.content[0].text)

    told = anyio.run(erase)
    assert (len(questions), "nothing was changed" in told) == (asked, action == "decline")
    with Memory.open(root) as memory:
        assert memory.count() == (1 if action == "decline" else 0)
