"""The gateway's guard, route by route: scopes, escapes, odd requests, limits and secrets.

The tables are made from the routes themselves, so that a new route is in them at once.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.cli.parser import build_parser
from commonplace.doors.http import access_tokens, guard, server
from commonplace.doors.http.api import ROUTES
from commonplace.doors.http.app import Gateway
from commonplace.doors.http.routes import Route
from commonplace.model.errors import BadValue
from tests.support.clocks import FixedClock
from tests.support.gateways import AT, HOST, PORT, client, made, opened, person

NOW = 1_800_000_000 * 10**9
SECRET = "the vault combination is 71-13-58"
LESSER = {"write": "read", "admin": "write"}
VALUES = {"name": "MEMORY.md", "moment": "2099-01-01", "decision": "approve", "deed": "strike"}


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", origin="owner", create=True) as memory:
        memory.store("Ann likes green tea", kind="preference")
    return made(tmp_path)


def path_of(route: Route, **values: str) -> str:
    path = route.full_path.replace(":path}", "}").replace("{vault}", "book")
    for name in ("name", "id", "job"):
        path = path.replace(f"{{{name}}}", values.get(name, VALUES.get(name, "x")))
    return path


def asked(browser: TestClient, route: Route, **values: str) -> Any:
    """One request for a route with every argument that it must have."""
    needed = {
        each.name: VALUES.get(each.name, "x")
        for each in route.tool.parameters
        if each.required and not route.stands_in_path(each)
    }
    rest: dict[str, Any] = {"params": needed} if route.method == "GET" else {"json": needed}
    return browser.request(route.method, path_of(route, **values), **rest)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_refuses_who_has_no_token(gateway: Gateway, route: Route) -> None:
    answer = asked(client(gateway), route)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.long
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_refuses_a_token_whose_scope_is_too_small(
    gateway: Gateway, route: Route
) -> None:
    if route.scope == "read":
        answer = asked(client(gateway, "admin", vaults=("other",)), route)
    else:
        answer = asked(client(gateway, LESSER[route.scope]), route)
    assert answer.status_code == 403
    assert answer.json()["error"] == "NotAllowed"
    with Memory.open(gateway.vaults.paths["book"]) as memory:
        assert memory.count() == 1


MAY_NOT = {
    "read": "This token may not open this vault. 'commonplace token add NAME --scope read "
    "--for-vault book' makes one that may.",
    "write": "This token may not write here. 'commonplace token add NAME --scope write' makes one "
    "that may.",
    "admin": "This token may not approve, mend, compact or run upkeep here. 'commonplace token add "
    "NAME --scope admin' makes one that may.",
}


def test_a_scope_that_is_too_small_is_told_in_a_sentence(gateway: Gateway) -> None:
    reader, elsewhere = client(gateway, "read"), client(gateway, "read", vaults=("other",))
    told = {
        "read": elsewhere.get(f"{AT}/records"),
        "write": reader.post(f"{AT}/records", json={"text": "x"}),
        "admin": reader.post(f"{AT}/upkeep/scan"),
    }
    assert {scope: answer.json()["detail"] for scope, answer in told.items()} == MAY_NOT


REFUSED = [
    ("GET", f"{AT}/records", None),
    ("POST", f"{AT}/records", {"text": "x"}),
    ("POST", f"{AT}/tools/store", {"text": "x"}),
    ("POST", f"{AT}/upkeep/scan", {}),
    ("DELETE", f"{AT}/records/mem-1", None),
]


@pytest.mark.parametrize(("method", "path", "body"), REFUSED)
@pytest.mark.parametrize("who", ["nobody", "one of another vault", "a reader"])
def test_a_refusal_names_the_command_whose_token_is_not_refused(
    gateway: Gateway, method: str, path: str, body: Any, who: str
) -> None:
    asking = {
        "nobody": lambda: client(gateway),
        "one of another vault": lambda: client(gateway, "admin", vaults=("other",)),
        "a reader": lambda: client(gateway, "read"),
    }[who]()
    answer = asking.request(method, path, json=body)
    if answer.status_code not in (401, 403):
        return
    [command, *_] = re.findall("'commonplace (token add [^']+)'", answer.json()["detail"])
    assert "…" not in command
    meant = build_parser(command.split()).parse_args(command.split())
    granted = client(gateway, meant.scope, vaults=tuple(meant.for_vault))
    again = granted.request(method, path, json=body)
    assert again.status_code != 401
    assert again.status_code != 403 or (who == "nobody" and "--scope admin" in again.text)


def test_who_has_no_token_and_whose_link_is_old_is_told_how_to_come_in(gateway: Gateway) -> None:
    nobody = client(gateway)
    for method, path, scope in (
        ("GET", f"{AT}/records", "read"),
        ("POST", f"{AT}/records", "write"),
        ("POST", "/mcp", "write"),
    ):
        told = nobody.request(method, path).json()["detail"]
        assert f"'commonplace token add NAME --scope {scope}'" in told
        assert "'commonplace serve --link'" in told
    told = nobody.post("/api/login", json={"code": "old"}).json()["detail"]
    assert "'commonplace serve --link' prints a new one" in told


def test_only_the_person_sees_and_ends_who_may_come_in(gateway: Gateway) -> None:
    gateway.tokens.add("a/../program", "write", vaults=("book",))
    for scope, status in (("", 401), ("read", 403), ("write", 403), ("admin", 403)):
        asking = client(gateway, scope)
        end = asking.post("/api/tokens/revoke", json={"name": "a/../program"})
        for answer in (asking.get("/api/tokens"), end):
            assert answer.status_code == status
            assert "a/../program" not in answer.text
            assert "'commonplace serve --link'" in answer.json()["detail"]
    owner, program = person(gateway), client(gateway, "read")
    told = owner.get("/api/tokens").json()["tokens"]
    [one] = [each for each in told if each["name"] == "a/../program"]
    assert one == {
        "name": "a/../program",
        "scope": "write",
        "vaults": ["book"],
        "origin": "agent",
        "oauth": False,
        "made": one["made"],
        "used": "",
    }
    assert one["made"]
    own = max((each for each in told if each["scope"] == "read"), key=lambda each: each["name"])
    assert program.get(f"{AT}/records").status_code == 200
    for name, status in ((own["name"], 200), (own["name"], 404), ("nobody", 404), ("", 404)):
        assert owner.post("/api/tokens/revoke", json={"name": name}).status_code == status
    assert program.get(f"{AT}/records").status_code == 401


def test_every_tool_refuses_a_token_that_may_only_read(gateway: Gateway) -> None:
    reader = client(gateway, "read")
    offered = reader.get(f"{AT}/tools").json()["tools"]
    refused = {
        each["name"]
        for each in offered
        if reader.post(f"{AT}/tools/{each['name']}", json={}).status_code == 403
    }
    assert refused == {"store", "update", "delete", "diary", "undo", "history"}


ESCAPES = (
    "..%2F..%2Fetc%2Fpasswd",
    "..%2f..%2fbook%2fMEMORY.md",
    "%2e%2e%2f%2e%2e%2fx.md",
    "..%5C..%5Cx.md",
    "%2Fetc%2Fpasswd",
    ".commonplace%2Fjournal.jsonl",
    ".commonplace%2Ftokens.md",
    "a%00.md",
    "notes%2F..%2FMEMORY.md",
    "C:%5Cx.md",
    "x" * 5000,
)


@pytest.mark.long
@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if any(each.stands_in_path(p) for p in each.tool.parameters)],
    ids=lambda route: route.name,
)
def test_no_path_parameter_leads_out_of_the_vault(
    gateway: Gateway, route: Route, escape: str
) -> None:
    around = Path(gateway.vaults.paths["book"]).parent
    before = sorted(str(each.relative_to(around)) for each in around.glob("*"))
    answer = asked(person(gateway), route, name=escape, id=escape, job=escape)
    assert answer.status_code in (400, 404), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "root:" not in answer.text
    after = sorted(str(each.relative_to(around)) for each in around.glob("*"))
    kept = {"tokens.json", "tokens.lock"}
    assert {*after} - kept == {*before} - kept


@pytest.mark.parametrize("vault", ["..", "%2e%2e", "..%2f", "book%00", "other", "BOOK"])
def test_a_vault_has_one_name(gateway: Gateway, vault: str) -> None:
    answer = person(gateway).get(f"/api/vaults/{vault}/records")
    assert answer.status_code == 404
    assert "tea" not in answer.text


ODD: dict[str, tuple[list[tuple[bytes, bytes]], int]] = {
    "two hosts": ([(b"host", HOST.encode()), (b"host", b"evil.example")], 421),
    "the same host twice": ([(b"host", HOST.encode()), (b"host", HOST.encode())], 421),
    "no host": ([], 421),
    "a forwarded host": ([(b"host", b"evil.example"), (b"x-forwarded-host", HOST.encode())], 421),
    "another cookie": ([(b"host", HOST.encode()), (b"cookie", b"commonplace2=TOKEN")], 401),
    "a token as basic": ([(b"host", HOST.encode()), (b"authorization", b"Basic TOKEN")], 401),
    "a token in a header of one's own": ([(b"host", HOST.encode()), (b"x-token", b"TOKEN")], 401),
    "an upper-case host": (
        [(b"host", b"LOCALHOST:8377"), (b"authorization", b"bearer TOKEN")],
        200,
    ),
    "our cookie among others": (
        [(b"host", HOST.encode()), (b"cookie", b"a=b; commonplace=TOKEN; c=d")],
        200,
    ),
}


@pytest.mark.anyio
@pytest.mark.parametrize("case", ODD)
async def test_odd_headers(gateway: Gateway, case: str) -> None:
    headers, status = ODD[case]
    token = gateway.tokens.add("odd", "read").encode()
    sent = [(name, value.replace(b"TOKEN", token)) for name, value in headers]
    assert (await raw(gateway, "GET", "/api/vaults", sent))[0] == status


@pytest.mark.anyio
async def test_a_token_in_the_address_is_no_token(gateway: Gateway) -> None:
    token = gateway.tokens.add("query", "admin")
    headers = [(b"host", HOST.encode())]
    for name in ("token", "access_token", "code", "authorization"):
        query = f"{name}={token}".encode()
        assert (await raw(gateway, "GET", f"{AT}/records", headers, query=query))[0] == 401


@pytest.mark.anyio
@pytest.mark.parametrize("target", ["http://evil.example/", "*", "evil.example:443"])
async def test_the_gateway_is_no_proxy(gateway: Gateway, target: str) -> None:
    status, _ = await raw(gateway, "GET", target, [(b"host", HOST.encode())])
    assert status == 400


@pytest.mark.anyio
async def test_a_body_that_hides_its_length_is_cut_at_the_limit(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BODY_LIMIT", 1000)
    token = gateway.tokens.add("long", "write").encode()
    headers = [
        (b"host", HOST.encode()),
        (b"authorization", b"Bearer " + token),
        (b"transfer-encoding", b"chunked"),
        (b"content-type", b"application/json"),
    ]
    pieces = [b'{"text": "', *[b"x" * 300] * 5, b'"}']
    status, _ = await raw(gateway, "POST", f"{AT}/records", headers, pieces=pieces)
    assert status == 413
    untyped = [each for each in headers if each[0] != b"content-type"]
    status, _ = await raw(gateway, "POST", f"{AT}/records", untyped, pieces=[b"{}"])
    assert status == 415


@pytest.mark.anyio
@pytest.mark.parametrize("length", [b"9" * 11, b"9" * 5000, b"-1", b"1e3", b"x"])
async def test_a_length_that_is_none_is_refused(gateway: Gateway, length: bytes) -> None:
    headers = [
        (b"host", HOST.encode()),
        (b"content-length", length),
        (b"content-type", b"application/json"),
    ]
    assert (await raw(gateway, "POST", "/api/login", headers))[0] == 413


async def raw(
    gateway: Gateway,
    method: str,
    path: str,
    headers: list[tuple[bytes, bytes]],
    *,
    query: bytes = b"",
    pieces: list[bytes] | None = None,
) -> tuple[int, bytes]:
    """The status and body of a request that no client would spell."""
    left = list(pieces or [b""])
    told: list[Any] = []

    async def receive() -> Any:
        piece = left.pop(0) if left else b""
        return {"type": "http.request", "body": piece, "more_body": bool(left)}

    async def send(message: Any) -> None:
        told.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query,
        "headers": headers,
        "root_path": "",
        "scheme": "http",
    }
    await gateway.app(scope, receive, send)
    body = b"".join(each.get("body", b"") for each in told)
    assert b"Traceback" not in body
    return told[0]["status"], body


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "POST"])
def test_a_path_says_which_methods_it_takes(gateway: Gateway, method: str) -> None:
    answer = person(gateway).request(method, "/api/vaults", json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/home", "/", "/assets/app.js"])
def test_a_place_of_the_page_says_which_methods_it_takes(gateway: Gateway, path: str) -> None:
    answer = person(gateway).post(path, json={})
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"
    assert answer.json()["detail"] == "Here the gateway takes GET, HEAD."


@pytest.mark.parametrize("path", ["/api/nothing", "/api/", f"{AT}/records/", f"{AT}/nothing"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_what_is_not_there_is_said_as_a_problem(gateway: Gateway, path: str, method: str) -> None:
    answer = person(gateway).request(method, path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


BODIES = {
    "no JSON": b"{",
    "a list": b"[]",
    "a number": b"7",
    "not a number": b'{"text": NaN}',
    "half a character": b'{"text": "\\ud800"}',
    "no UTF-8": b'{"text": "\xff"}',
    "a deep one": b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "a long number": b'{"text": ' + b"9" * 10_000 + b"}",
    "another type": b'{"text": {"a": 1}}',
    "an argument that is not known": b'{"text": "x", "nothing": 1}',
    "null": b'{"text": null}',
}


@pytest.mark.long
@pytest.mark.parametrize("case", BODIES)
@pytest.mark.parametrize("place", ["records", "tools/store", "undo", "documents/USER.md/append"])
def test_a_body_that_is_wrong_is_told_so(gateway: Gateway, place: str, case: str) -> None:
    headers = {"content-type": "application/json"}
    answer = person(gateway).post(f"{AT}/{place}", content=BODIES[case], headers=headers)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_login_with_a_body_that_is_wrong_is_told_so(gateway: Gateway) -> None:
    headers = {"content-type": "application/json"}
    assert client(gateway).post("/api/login", content=b"{", headers=headers).status_code == 400
    assert client(gateway).post("/api/login", json={"code": ["x"]}).status_code == 401


@pytest.mark.long
def test_too_many_requests_of_one_token_wait_and_others_do_not(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    (tmp_path / "book").mkdir()
    gateway = made(tmp_path, clock=clock)
    busy, calm = client(gateway, "read"), client(gateway, "read")
    answers = [busy.get("/api/vaults").status_code for _ in range(int(guard.BURST) + 1)]
    assert answers == [200] * int(guard.BURST) + [429]
    assert busy.get("/api/vaults").headers["retry-after"] == "1"
    assert calm.get("/api/vaults").status_code == 200
    clock.sleep(1)
    assert busy.get("/api/vaults").status_code == 200


def test_a_login_code_and_a_session_end_with_their_time(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    (tmp_path / "book").mkdir()
    gateway = made(tmp_path, clock=clock)
    old, good = gateway.tokens.login_code(), gateway.tokens.login_code()
    session = gateway.tokens.log_in(good)
    headers = {"authorization": f"Bearer {session}"}
    assert client(gateway).get("/api/vaults", headers=headers).status_code == 200
    clock.sleep(access_tokens.LOGIN_SECONDS + 1)
    assert client(gateway).post("/api/login", json={"code": old}).status_code == 401
    clock.sleep(access_tokens.SESSION_SECONDS)
    assert client(gateway).get("/api/vaults", headers=headers).status_code == 401


def test_who_logs_out_is_out(gateway: Gateway) -> None:
    browser = person(gateway)
    cookie = browser.cookies["commonplace"]
    assert browser.post("/api/logout").status_code == 200
    kept = {"cookie": f"commonplace={cookie}"}
    assert client(gateway).get("/api/vaults", headers=kept).status_code == 401


def test_a_login_code_is_no_token_and_a_token_no_login_code(gateway: Gateway) -> None:
    code, token = gateway.tokens.login_code(), gateway.tokens.add("agent", "admin")
    headers = {"authorization": f"Bearer {code}"}
    assert client(gateway).get("/api/vaults", headers=headers).status_code == 401
    headers = {"authorization": f"Bearer login {code}"}
    assert client(gateway).get("/api/vaults", headers=headers).status_code == 401
    assert client(gateway).post("/api/login", json={"code": token}).status_code == 401


def test_only_its_owner_can_reach_the_file_of_tokens(tmp_path: Path) -> None:
    kept = tmp_path / "state" / "commonplace" / "tokens.json"
    access_tokens.AccessTokens(access_tokens.FilePasses(kept), clock=FixedClock(NOW)).add(
        "agent", "read"
    )
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


MANY_TOKENS = """
import sys
from pathlib import Path
from commonplace.model.clock import Clock
from commonplace.doors.http.access_tokens import FilePasses, AccessTokens

path, name, revoked = sys.argv[1:]
tokens = AccessTokens(FilePasses(Path(path)), clock=Clock())
for number in range(15):
    tokens.add(f"{name} {number}", "read")
    if revoked:
        tokens.revoke(f"{name} {number}")
"""


def test_processes_that_change_tokens_at_once_lose_none_and_bring_none_back(tmp_path: Path) -> None:
    kept = tmp_path / "tokens.json"
    running = [
        subprocess.Popen([sys.executable, "-c", MANY_TOKENS, str(kept), name, revoked])
        for name, revoked in (("one", ""), ("two", "revoked"), ("three", ""), ("four", "revoked"))
    ]
    assert [each.wait() for each in running] == [0] * 4
    named = access_tokens.AccessTokens(
        access_tokens.FilePasses(kept), clock=FixedClock(NOW)
    ).named()
    wanted = {f"{name} {number}" for name in ("one", "three") for number in range(15)}
    assert {each.name for each in named} == wanted


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::", "gateway.example"])
def test_beyond_this_machine_a_token_must_have_been_made(tmp_path: Path, host: str) -> None:
    with pytest.raises(BadValue, match="token add"):
        made(tmp_path, host=host)
    passes = access_tokens.FilePasses(tmp_path / "tokens.json")
    access_tokens.AccessTokens(passes, clock=FixedClock(NOW)).add("phone", "read")
    assert made(tmp_path, host=host)


@pytest.mark.parametrize("scope", ["", "read"])
def test_mcp_is_for_those_who_may_write(tmp_path: Path, scope: str) -> None:
    (tmp_path / "book").mkdir()
    asked: list[str] = []
    gateway = made(tmp_path, mcp=lambda name, path: asked.append(name))
    for path in ("/mcp", "/mcp/book", "/mcp/"):
        for method in ("GET", "POST", "DELETE"):
            answer = client(gateway, scope).request(method, path)
            assert answer.status_code in (401, 403), (method, path)
    assert asked == []


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["//mcp", "/mcp//", "//mcp/book"])
async def test_mcp_spelled_oddly_is_guarded_too(tmp_path: Path, path: str) -> None:
    (tmp_path / "book").mkdir()
    gateway = made(tmp_path, mcp=lambda name, path: None)
    for method in ("GET", "POST"):
        status, _ = await raw(gateway, method, path, [(b"host", HOST.encode())])
        assert status in (401, 403)


def test_mcp_of_a_vault_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "book").mkdir()
    gateway = made(tmp_path, mcp=lambda name, path: None)
    assert client(gateway, "write").post("/mcp/nothing").status_code == 404


@pytest.fixture
def with_secrets(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", origin="owner", session="first", create=True) as memory:
        memory.store("Ann likes green tea", kind="preference")
        secret = memory.store(SECRET, kind="fact", sensitivity="secret")
        memory.store("Bea likes coffee", kind="preference")
        memory.store(f"{SECRET} now", kind="fact", sensitivity="secret", supersedes=secret.id)
    with Memory.open(tmp_path / "book", origin="web", session="first", create=True) as memory:
        memory.store_all(
            [{"text": f"Always say {SECRET}", "kind": "instruction", "sensitivity": "secret"}]
        )
    return made(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.method == "GET"], ids=lambda route: route.name
)
def test_an_agent_is_shown_no_secret_whatever_it_asks_for(
    with_secrets: Gateway, route: Route
) -> None:
    with Memory.open(with_secrets.vaults.paths["book"], origin="owner") as memory:
        hits = memory.search("", include_secret=True, include_superseded=True)
        ids = [hit.record.id for hit in hits if hit.record.sensitivity == "secret"]
    assert len(ids) == 2
    agent = client(with_secrets, "admin")
    for id in ids:
        assert SECRET not in asked(agent, route, id=id).text
    for text in (SECRET, "combination"):
        assert SECRET not in agent.get(path_of(route, id=ids[0]), params={"text": text}).text


def test_their_owner_sees_secrets_where_they_stand(with_secrets: Gateway) -> None:
    owner = person(with_secrets)
    assert SECRET in owner.get(f"{AT}/documents/MEMORY.md").text
    assert SECRET in owner.get(f"{AT}/blame/MEMORY.md").text
    assert SECRET in owner.get(f"{AT}/review").text
    assert SECRET not in owner.get(f"{AT}/search", params={"text": SECRET}).text


def test_a_conflict_shows_an_agent_no_secret(with_secrets: Gateway) -> None:
    agent = client(with_secrets, "write")
    read = agent.get(f"{AT}/documents/MEMORY.md").json()
    mine, theirs = (read["text"].replace("green tea", word) for word in ("black tea", "water"))
    owner = person(with_secrets)
    whole = owner.get(f"{AT}/documents/MEMORY.md").json()["text"].replace("green tea", "water")
    owner.put(f"{AT}/documents/MEMORY.md", json={"text": whole, "etag": read["etag"]})
    assert theirs != mine
    clash = agent.put(f"{AT}/documents/MEMORY.md", json={"text": mine, "etag": read["etag"]})
    assert clash.status_code == 412
    assert SECRET not in clash.text


@pytest.fixture
def claw(tmp_path: Path) -> TestClient:
    with Memory.open(tmp_path / "book", dialect="claw", origin="owner", create=True) as memory:
        memory.store("Ann likes green tea")
        memory.update("# User\n", document="USER.md")
    return person(
        server.gateway([str(tmp_path / "book")], opened, port=PORT, tokens=tmp_path / "t")
    )


@pytest.mark.claim("claw.gateway-reads", "claw.gateway-allowed-paths")
def test_a_claw_gateway_reads_the_memory_and_the_daily_logs(claw: TestClient) -> None:
    names = [each["name"] for each in claw.get(f"{AT}/documents").json()["documents"]]
    assert len(names) == 2
    for name in names:
        assert "green tea" in claw.get(f"{AT}/documents/{name}").json()["text"]


@pytest.mark.claim("claw.gateway-writes", "claw.gateway-allowed-paths")
@pytest.mark.parametrize("name", ["MEMORY.md", "memory/2026-02-12.md"])
def test_a_claw_gateway_writes_the_memory_and_the_daily_logs(claw: TestClient, name: str) -> None:
    done = claw.post(f"{AT}/documents/{name}/append", json={"text": "A line by hand."})
    assert done.status_code == 200
    assert "A line by hand." in claw.get(f"{AT}/documents/{name}").json()["text"]


@pytest.mark.long
@pytest.mark.claim("claw.gateway-other-paths")
@pytest.mark.parametrize(
    "name",
    [
        "USER.md",
        "memory/x.md",
        "memory/MEMORY-archive.md",
        "memory/2026-02-30.md",
        "2026-02-12.md",
        "memory/2026-02-12",
        "memory%2F..%2FUSER.md",
        "..%2FMEMORY.md",
        "%2Fetc%2Fpasswd",
        "AGENTS.md",
        "memory.md",
    ],
)
@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if any(p.name == "name" for p in each.tool.parameters)],
    ids=lambda route: route.name,
)
def test_a_claw_gateway_refuses_every_other_path(claw: TestClient, route: Route, name: str) -> None:
    answer = asked(claw, route, name=name)
    assert answer.status_code == 400
    assert answer.json()["error"] == "BadName"


@pytest.mark.claim("claw.gateway-other-paths")
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("read", {"document": "USER.md"}),
        ("update", {"document": "USER.md", "content": "- Likes rye"}),
        ("memory", {"command": "view", "path": "/memories/USER.md"}),
    ],
)
def test_a_claw_gateway_has_no_tool_of_another_dialect(
    claw: TestClient, name: str, given: dict[str, Any]
) -> None:
    answer = claw.post(f"{AT}/tools/{name}", json=given)
    assert (answer.status_code, answer.json()["error"]) == (400, "BadInput")
    assert "remember_this" in answer.json()["detail"]


def test_a_claw_gateway_lists_the_tools_that_the_session_may_call(claw: TestClient) -> None:
    def names(session: str) -> list[str]:
        answer = claw.get(f"{AT}/tools", headers={"x-commonplace-session": session})
        return [each["name"] for each in answer.json()["tools"]]

    assert (names("main"), names("shared:slack-42")) == (["remember_this"], [])
