"""OAuth 2.1 for `/mcp`: a client asks, the person says yes or no, and what was said can be ended.

The whole flow is gone through with the SDK's own client; what an honest client never does is asked
for by hand.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.http import access_tokens as tokens
from commonplace.doors.http import grants
from commonplace.doors.http import server as http
from commonplace.doors.http.app import Gateway
from commonplace.doors.http.grants import Grants, Issued
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue
from tests.doors.test_gateway_api import Served
from tests.support.clocks import FixedClock
from tests.support.gateways import HOST, client, made, person
from tests.support.mcp_client import call
from tests.support.races import at_once

BACK = "http://127.0.0.1:4321/callback"
NOW = 1_800_000_000 * 10**9
URL = "https://memory.example"
VERIFIER = "a verifier that nobody else knows, of forty-three characters or more"
CHALLENGE = base64.urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    Memory.open(tmp_path / "book", create=True).close()
    return made(tmp_path, oauth=True, mcp=lambda name, path: None)


def registered(asking: TestClient, **told: Any) -> Any:
    given = {"redirect_uris": [BACK], "client_name": "Claude", **told}
    return asking.post("/register", json=given)


def asked_for(asking: TestClient, client_id: str, **told: Any) -> Any:
    given = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": BACK,
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "state": "the state",
        **told,
    }
    kept = {name: value for name, value in given.items() if value is not None}
    return asking.get("/authorize", params=kept, follow_redirects=False)


def question(asking: TestClient, client_id: str, **told: Any) -> dict[str, str]:
    """What the page at which a person is asked gets in its address."""
    answer = asked_for(asking, client_id, **told)
    assert answer.status_code == 302
    assert urlsplit(answer.headers["location"]).path == "/consent"
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def sent_back(gateway: Gateway, given: dict[str, Any], *, allowed: bool = True) -> dict[str, str]:
    """What the client is sent back with after a person has said so."""
    answer = person(gateway).post("/api/consent", json={**given, "allowed": allowed})
    assert answer.status_code == 200, answer.text
    to = answer.json()["to"]
    assert to.startswith(f"{BACK}?")
    return dict(parse_qsl(urlsplit(to).query))


def exchanged(asking: TestClient, client_id: str, code: str, **told: str) -> Any:
    given = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        **told,
    }
    return asking.post("/token", data=given)


def granted(gateway: Gateway, asking: TestClient) -> tuple[str, dict[str, str]]:
    """A client that was granted what it asked for, and its tokens."""
    client_id = registered(asking).json()["client_id"]
    code = sent_back(gateway, question(asking, client_id))["code"]
    answer = exchanged(asking, client_id, code)
    assert answer.status_code == 200, answer.text
    return client_id, answer.json()


class Kept:
    """Where the SDK's client keeps what it has."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Person:
    """Whoever is sent to the address that the client opens in a browser."""

    def __init__(self, served: Served, *, allows: bool = True) -> None:
        self.served = served
        self.cookie = served.log_in()
        self.allows = allows
        self.asked: list[Any] = []
        self.back: dict[str, str] = {}

    async def follow(self, address: str) -> None:
        async with httpx2.AsyncClient() as web:
            cross = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
            page = await web.get(address, headers=cross, follow_redirects=True)
            assert "<!doctype html>" in page.text
            where = urlsplit(str(page.url))
            base = f"http://127.0.0.1:{self.served.port}"
            cookie = {"cookie": self.cookie}
            told = await web.get(f"{base}/api/consent?{where.query}", headers=cookie)
            self.asked.append(told.json())
            given = {**dict(parse_qsl(where.query)), "allowed": self.allows}
            answer = await web.post(f"{base}/api/consent", json=given, headers=cookie)
        self.back = dict(parse_qsl(urlsplit(answer.json()["to"]).query))

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self.back["code"], state=self.back.get("state"), iss=self.back.get("iss")
        )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    made = Served(tmp_path_factory.mktemp("oauth"), "--oauth")
    yield made
    made.end()


def commanded(served: Served, *words: str) -> str:
    command = [sys.executable, "-m", "commonplace", "token", *words]
    done = subprocess.run(command, env=served.environ, capture_output=True, text=True, check=True)
    return done.stdout


def test_the_sdks_own_client_goes_through_the_whole_flow(served: Served) -> None:
    at = f"http://127.0.0.1:{served.port}/mcp"
    kept, somebody = Kept(), Person(served)
    metadata = OAuthClientMetadata.model_validate(
        {"redirect_uris": [BACK], "client_name": "The SDK's client"}
    )

    async def search(mode: str, *, overdue: bool = False) -> list[str]:
        """What is found, twice; in between the token may be over."""
        auth = OAuthClientProvider(at, metadata, kept, somebody.follow, somebody.come_back)
        found = []
        async with (
            httpx2.AsyncClient(auth=auth, timeout=120) as web,
            Client(streamable_http_client(at, http_client=web), mode=mode) as mcp,
        ):
            for _ in range(2):
                found.append(str(await mcp.call_tool("search", {"query": "tea"})))
                auth.context.token_expiry_time = 1.0 if overdue else None
        return [each for each in found if "Ann likes green tea" in each]

    assert len(anyio.run(search, "legacy")) == 2
    assert somebody.asked == [
        {"client": "The SDK's client", "to": "127.0.0.1", "local": True, "vault": "book"}
    ]
    assert kept.client is not None
    assert (kept.client.client_secret, kept.client.token_endpoint_auth_method) == (None, "none")
    # The token that it has is used again, and renewed when it is over, without the person.
    first = kept.tokens
    assert len(anyio.run(search, "auto")) == 2
    assert kept.tokens == first
    assert len(anyio.run(partial(search, "legacy", overdue=True))) == 2
    assert kept.tokens != first
    assert len(somebody.asked) == 1
    assert "The SDK's client  write  OAuth" in commanded(served, "list")
    # What is ended is asked for anew.
    commanded(served, "revoke", "The SDK's client")
    assert "SDK" not in commanded(served, "list")
    assert len(anyio.run(search, "legacy")) == 2
    assert len(somebody.asked) == 2


def test_where_to_get_a_token_is_told(gateway: Gateway) -> None:
    for path in ("/mcp", "/mcp/book"):
        refused = client(gateway).post(path, json=call("search"))
        assert refused.status_code == 401
        [where] = refused.headers["www-authenticate"].split('"')[1::2]
        told = client(gateway).get(where).json()
        assert told["resource"] == f"http://{HOST}{path}"
        [server] = told["authorization_servers"]
        below = client(gateway).get(f"{server}/.well-known/oauth-authorization-server").json()
        assert below["issuer"] == server == f"http://{HOST}"
        assert below["code_challenge_methods_supported"] == ["S256"]


def test_without_being_asked_for_there_is_none_of_it(tmp_path: Path) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    plain = made(tmp_path, mcp=lambda name, path: None)
    for path in ("/authorize", "/consent", "/.well-known/oauth-authorization-server"):
        assert client(plain).get(path).status_code == 404
    assert client(plain).post("/register", json={"redirect_uris": [BACK]}).status_code == 404
    assert client(plain).post("/mcp").headers["www-authenticate"] == "Bearer"
    assert person(plain).get("/api/consent").status_code == 404


def test_a_token_of_oauth_opens_mcp_of_its_vault_and_nothing_else(tmp_path: Path) -> None:
    for name in ("book", "other"):
        Memory.open(tmp_path / name, create=True).close()
    paths = [str(tmp_path / "book"), str(tmp_path / "other")]
    gateway = http.gateway(
        paths,
        lambda path, origin: Memory.open(path, origin=origin),
        port=8377,
        tokens=tmp_path / "tokens.json",
        mcp=lambda name, path: None,
        oauth=True,
    )
    asking = client(gateway)
    client_id = registered(asking).json()["client_id"]
    given = question(asking, client_id, resource=f"http://{HOST}/mcp/other")
    told = person(gateway).get("/api/consent", params=given).json()
    assert told["vault"] == "other"
    token = exchanged(asking, client_id, sent_back(gateway, given)["code"]).json()["access_token"]
    bearer = {"authorization": f"Bearer {token}"}
    assert asking.post("/mcp/book", headers=bearer).status_code == 403
    for path in ("/api/vaults", "/api/vaults/other/records", "/api/openapi.json", "/api/consent"):
        assert asking.get(path, headers=bearer).status_code == 403, path
    found = gateway.tokens.find(token)
    assert found is not None
    assert (found.scope, found.vaults, found.origin) == ("write", ("other",), "agent")
    elsewhere = asked_for(asking, client_id, resource="https://evil.example/mcp")
    assert "error=invalid_target" in elsewhere.headers["location"]


@pytest.mark.parametrize("scope", ["", "read", "write", "admin"])
def test_only_the_person_says_yes(gateway: Gateway, scope: str) -> None:
    asking = client(gateway, scope)
    given = question(asking, registered(asking).json()["client_id"])
    for answer in (
        asking.get("/api/consent", params=given),
        asking.post("/api/consent", json={**given, "allowed": True}),
    ):
        assert answer.status_code == (403 if scope else 401)


def test_a_page_of_another_site_cannot_say_yes(gateway: Gateway) -> None:
    browser = person(gateway)
    given = question(browser, registered(browser).json()["client_id"]) | {"allowed": True}
    for headers in ({"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert browser.post("/api/consent", json=given, headers=headers).status_code == 403
    assert browser.post("/api/consent", data=given).status_code == 415


def test_who_refuses_sends_the_client_back_with_nothing(gateway: Gateway) -> None:
    asking = client(gateway)
    given = question(asking, registered(asking).json()["client_id"])
    for said in (False, "true", 1, None):
        answer = person(gateway).post("/api/consent", json={**given, "allowed": said})
        back = dict(parse_qsl(urlsplit(answer.json()["to"]).query))
        assert back == {"error": "access_denied", "state": "the state", "iss": f"http://{HOST}"}
    assert gateway.tokens.named() == []


@pytest.mark.parametrize(
    "other",
    [
        {"client_id": "nobody"},
        {"redirect_uri": f"{BACK}/further"},
        {"redirect_uri": f"{BACK}?more=1"},
        {"redirect_uri": "http://127.0.0.1:4322/callback"},
        {"redirect_uri": "https://evil.example/"},
        {"redirect_uri": "javascript:alert(1)"},
        {"code_challenge": ""},
        {"resource": "https://evil.example/mcp"},
        {"redirect_uri": 7},
    ],
)
def test_what_is_said_yes_to_is_what_was_asked(gateway: Gateway, other: dict[str, Any]) -> None:
    asking = client(gateway)
    given = {**question(asking, registered(asking).json()["client_id"]), **other}
    for answer in (
        person(gateway).get("/api/consent", params=given),
        person(gateway).post("/api/consent", json={**given, "allowed": True}),
    ):
        assert (answer.status_code, answer.json()["error"]) == (404, "NoSuchRequest")


@pytest.mark.parametrize(
    "told",
    [
        {"code_challenge": None},
        {"code_challenge_method": "plain"},
        {"response_type": "token"},
    ],
)
def test_without_a_challenge_nobody_is_asked(gateway: Gateway, told: dict[str, Any]) -> None:
    asking = client(gateway)
    answer = asked_for(asking, registered(asking).json()["client_id"], **told)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith(f"{BACK}?error=")


@pytest.mark.parametrize(
    "uri",
    [
        f"{BACK}/x",
        f"{BACK}?x=1",
        "http://127.0.0.1:4322/callback",
        "http://localhost:4321/callback",
    ],
)
def test_nobody_is_sent_but_to_what_was_registered(gateway: Gateway, uri: str) -> None:
    asking = client(gateway)
    answer = asked_for(asking, registered(asking).json()["client_id"], redirect_uri=uri)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")


REDIRECTS = {
    "https://claude.ai/api/mcp/auth_callback": True,
    "https://chatgpt.com/connector_platform_oauth_redirect": True,
    "http://localhost:1234/callback": True,
    "http://[::1]:1234/callback": True,
    "cursor://anysphere.cursor-mcp/oauth/callback": True,
    "com.example.app:/oauth": True,
    "http://memory.example/callback": False,
    "http://127.0.0.1.evil.example/": False,
    "https://user@claude.ai/": False,
    "https://claude.ai/#fragment": False,
    "javascript:alert(1)": False,
    "JavaScript://claude.ai/%0aalert(1)": False,
    "data:text/html,x": False,
    "file:///etc/passwd": False,
    "blob:https://claude.ai/x": False,
}


@pytest.mark.parametrize("uri", REDIRECTS)
def test_a_client_is_where_it_can_only_be_the_users(gateway: Gateway, uri: str) -> None:
    answer = registered(client(gateway), redirect_uris=[uri])
    assert answer.status_code == (201 if REDIRECTS[uri] else 400)


def test_a_client_has_no_secret_and_no_scope_of_its_own(gateway: Gateway) -> None:
    wanted = {"token_endpoint_auth_method": "client_secret_post", "scope": "openid admin"}
    told = registered(client(gateway), **wanted).json()
    assert told["token_endpoint_auth_method"] == "none"
    assert told.get("client_secret") is None
    assert told["scope"] == "write"


def test_what_a_client_calls_itself_is_made_harmless(gateway: Gateway) -> None:
    asking = client(gateway)
    name = "Evil\u202e\x1b[31m" + "x" * 300
    client_id = registered(asking, client_name=name).json()["client_id"]
    shown = person(gateway).get("/api/consent", params=question(asking, client_id)).json()
    assert len(shown["client"]) <= 60
    assert shown["client"].isprintable()
    assert registered(asking, client_name="x" * 5000).status_code == 400
    assert registered(asking, redirect_uris=[f"{BACK}/{n}" for n in range(11)]).status_code == 400


def test_a_code_is_good_once_for_its_client_with_its_verifier(gateway: Gateway) -> None:
    asking = client(gateway)
    client_id = registered(asking).json()["client_id"]
    other = registered(asking).json()["client_id"]
    code = sent_back(gateway, question(asking, client_id))["code"]
    for told in (
        {"code_verifier": VERIFIER + "x"},
        {"client_id": other},
        {"redirect_uri": "http://127.0.0.1:4322/callback"},
        {"code": code + "x"},
    ):
        assert exchanged(asking, **{"client_id": client_id, "code": code} | told).status_code == 400
    issued = exchanged(asking, client_id, code)
    assert issued.status_code == 200
    assert issued.headers["cache-control"] == "no-store"
    assert exchanged(asking, client_id, code).json()["error"] == "invalid_grant"
    assert gateway.tokens.find(issued.json()["access_token"]) is not None


def test_a_token_for_the_next_is_good_once(gateway: Gateway) -> None:
    asking = client(gateway)
    client_id, first = granted(gateway, asking)
    given = {"grant_type": "refresh_token", "client_id": client_id}
    second = asking.post("/token", data={**given, "refresh_token": first["refresh_token"]})
    assert second.status_code == 200
    assert second.json()["refresh_token"] != first["refresh_token"]
    assert gateway.tokens.find(second.json()["access_token"]) is not None
    again = asking.post("/token", data={**given, "refresh_token": first["refresh_token"]})
    assert again.json()["error"] == "invalid_grant"
    wrong = asking.post("/token", data={**given, "refresh_token": second.json()["access_token"]})
    assert wrong.json()["error"] == "invalid_grant"
    [named] = gateway.tokens.named()
    assert (named.name, named.scope, named.vaults) == ("Claude", "write", ("book",))


def test_a_client_ends_what_it_was_granted_and_not_what_others_were(gateway: Gateway) -> None:
    asking = client(gateway)
    client_id, mine = granted(gateway, asking)
    _, theirs = granted(gateway, asking)
    for kind in ("access_token", "refresh_token"):
        asking.post("/revoke", data={"client_id": client_id, "token": theirs[kind]})
    assert gateway.tokens.find(theirs["access_token"]) is not None
    done = asking.post("/revoke", data={"client_id": client_id, "token": mine["refresh_token"]})
    assert done.status_code == 200
    assert gateway.tokens.find(mine["access_token"]) is None
    assert [each.name for each in gateway.tokens.named()] == ["Claude 2"]


def test_nothing_of_it_is_kept_that_opens_anything(gateway: Gateway, tmp_path: Path) -> None:
    asking = client(gateway)
    client_id = registered(asking).json()["client_id"]
    code = sent_back(gateway, question(asking, client_id))["code"]
    kept = (tmp_path / "tokens.json").read_text()
    assert code not in kept
    issued = exchanged(asking, client_id, code).json()
    kept = (tmp_path / "tokens.json").read_text()
    assert issued["access_token"] not in kept
    assert issued["refresh_token"] not in kept
    for key in json.loads(kept):
        assert gateway.tokens.find(key) is None
        assert gateway.tokens.find(key.rpartition(" ")[2]) is None


@pytest.fixture
def kept(place: str, tmp_path: Path) -> Iterator[tokens.Passes]:
    if "://" in place:
        Memory.open(place, environ={}, create=True).close()
        found = tokens.passes_of([place], clock=Clock())
    else:
        found = tokens.FilePasses(tmp_path / "tokens.json")
    # Whatever else was kept in this database is none of these tests' business.
    found.change(lambda passes: passes.clear())
    yield found
    found.close()


def added(given: Grants, number: int = 0) -> str:
    """A code for a client that was registered."""
    given.add_client(f"client-{number}", "Claude", "{}")
    return given.add_code("Claude", vault="book", told={"client": f"client-{number}"})


def test_codes_tokens_and_grants_are_over_when_their_time_is(kept: tokens.Passes) -> None:
    clock = FixedClock(NOW)
    given, known = Grants(kept, clock=clock), tokens.AccessTokens(kept, clock=clock)

    def later(seconds: int) -> None:
        clock.sleep(seconds + 1)

    code = added(given)
    later(grants.CODE_SECONDS)
    assert (given.code(code), given.exchange(code)) == (None, None)
    issued = given.exchange(added(given))
    assert issued is not None
    assert known.find(issued.access) is not None
    later(grants.ACCESS_SECONDS)
    assert known.find(issued.access) is None
    assert given.refresh(issued.refresh) is not None
    later(grants.REFRESH_SECONDS)
    assert (given.refresh(issued.refresh), given.renew(issued.refresh)) == (None, None)
    added(given)
    assert known.named() == []


def test_what_is_sent_again_later_ends_the_grant(kept: tokens.Passes) -> None:
    clock = FixedClock(NOW)
    given, known = Grants(kept, clock=clock), tokens.AccessTokens(kept, clock=clock)
    for number, spends in enumerate(("code", "refresh")):
        code = added(given, number)
        issued = given.exchange(code)
        assert issued is not None
        newer = given.renew(issued.refresh)
        assert newer is not None
        seconds_time = getattr(given, spends)
        spent = code if spends == "code" else issued.refresh
        assert seconds_time(spent) is None
        # Who sends it twice in a moment may not have heard of the answer.
        assert known.find(newer.access) is not None
        clock.sleep(grants.GRACE_SECONDS + 1)
        assert seconds_time(spent) is None
        assert known.find(newer.access) is None
        assert given.renew(newer.refresh) is None


def test_clients_are_limited_and_those_stay_that_were_granted_something(
    kept: tokens.Passes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "MOST_CLIENTS", 5)
    given = Grants(kept, clock=FixedClock(NOW))
    assert given.exchange(added(given, 0)) is not None
    for number in range(1, 20):
        given.add_client(f"client-{number}", "x", "{}")
    there = [number for number in range(20) if given.client(f"client-{number}")]
    assert there == [0, 16, 17, 18, 19]
    for number in (16, 17, 18, 19):
        assert given.exchange(added(given, number)) is not None
    with pytest.raises(grants.TooManyClients):
        given.add_client("another", "x", "{}")


def test_a_client_that_renews_without_end_fills_nothing(kept: tokens.Passes) -> None:
    given = Grants(kept, clock=FixedClock(NOW))
    issued = given.exchange(added(given))
    for _ in range(60):
        assert issued is not None
        issued = given.renew(issued.refresh)
    assert len([each for each in kept.all().values() if each.grant]) <= 3 + 20 + 2


def test_of_many_who_bring_one_code_or_token_one_gets_something(kept: tokens.Passes) -> None:
    given = Grants(kept, clock=FixedClock(NOW))
    code = added(given)
    got: list[Issued | None] = []
    at_once(lambda _: got.append(given.exchange(code)), 8)
    [first] = [each for each in got if each]
    got.clear()
    at_once(lambda _: got.append(given.renew(first.refresh)), 8)
    assert len([each for each in got if each]) == 1
    grants_there = [key for key in kept.all() if key.startswith(tokens.GRANT)]
    assert len(grants_there) == 1


def test_many_who_register_and_are_granted_at_once_all_have_it(kept: tokens.Passes) -> None:
    given, known = (
        Grants(kept, clock=FixedClock(NOW)),
        tokens.AccessTokens(kept, clock=FixedClock(NOW)),
    )
    got: list[Issued | None] = []
    at_once(lambda number: got.append(given.exchange(added(given, number))), 8)
    assert len([each for each in got if each and known.find(each.access)]) == 8
    assert sorted(each.name for each in known.named()) == sorted(
        ["Claude", *(f"Claude {number}" for number in range(2, 9))]
    )


@pytest.mark.parametrize(
    "url",
    ["http://memory.example", "memory.example", "https://", "https://x.example/below", "ftp://x.y",
     "https://x.example?x=1", "https://user@x.example"],
)  # fmt: skip
def test_an_address_for_others_is_a_host_by_https(tmp_path: Path, url: str) -> None:
    (tmp_path / "book").mkdir()
    with pytest.raises(BadValue, match="public-url"):
        made(tmp_path, public_url=url)


def test_behind_a_proxy_the_gateway_answers_to_the_address_that_others_know(
    tmp_path: Path,
) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    gateway = made(tmp_path, oauth=True, public_url=f"{URL}/", mcp=lambda name, path: None)
    asking = TestClient(gateway.app, base_url=URL)
    told = asking.get("/.well-known/oauth-authorization-server").json()
    assert (told["issuer"], told["token_endpoint"]) == (URL, f"{URL}/token")
    client_id = registered(asking).json()["client_id"]
    asked = asked_for(asking, client_id, resource=f"{URL}/mcp")
    assert asked.headers["location"].startswith(f"{URL}/consent?")
    code = gateway.tokens.login_code()
    entered = asking.post("/api/login", json={"code": code}).headers["set-cookie"]
    assert "Secure" in entered
    at_home = client(gateway).post("/api/login", json={"code": gateway.tokens.login_code()})
    assert "Secure" not in at_home.headers["set-cookie"]
