"""Gateways over memories in PostgreSQL: several that share one database, and who may come in."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace.doors.http import server as http
from commonplace.doors.http.app import Gateway
from commonplace.memory import Memory
from commonplace.model.errors import NotFound
from tests.support import mcp_client
from tests.support.gateways import HOST, PORT, opened
from tests.support.postgres import fresh_url, new_server


def profiles(*names: str) -> list[str]:
    """A URL for each of some new profiles."""
    found = [fresh_url() for _ in names]
    for url in found:
        Memory.open(url, create=True).close()
    return found


def name_of(url: str) -> str:
    return url.rpartition("profile=")[2]


@pytest.fixture
def urls() -> list[str]:
    return profiles("alice", "bob")


@pytest.fixture
def two(urls: list[str]) -> Iterator[tuple[Gateway, Gateway]]:
    """Two gateways that know nothing of each other, over the same profiles."""
    made = [http.gateway(urls, opened, port=PORT) for _ in range(2)]
    yield made[0], made[1]
    for each in made:
        each.vaults.close()
        each.tokens.close()


def asking(gateway: Gateway, token: str = "") -> TestClient:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return TestClient(gateway.app, base_url=f"http://{HOST}", headers=headers)


def test_a_token_made_at_one_gateway_opens_its_profile_at_another(
    two: tuple[Gateway, Gateway], urls: list[str]
) -> None:
    one, other = two
    alice, bob = map(name_of, urls)
    token = one.tokens.add(f"agent of {alice}", "write", vaults=(alice,))
    said = asking(one, token).post(
        f"/api/vaults/{alice}/records", json={"text": "Likes green tea", "kind": "fact"}
    )
    assert said.status_code == 201, said.text
    found = asking(other, token).get(f"/api/vaults/{alice}/search?text=tea").json()
    assert [hit["text"] for hit in found["hits"]] == ["Likes green tea"]
    assert asking(other, token).get(f"/api/vaults/{bob}/search?text=tea").status_code == 403
    assert asking(other, token).get("/api/vaults").json()["vaults"] == [alice]
    one.tokens.revoke(f"agent of {alice}")
    assert asking(other, token).get("/api/vaults").status_code == 401
    with pytest.raises(NotFound, match="no token"):
        other.tokens.revoke(f"agent of {alice}")


@pytest.mark.parametrize(("scope", "status"), [("read", 403), ("write", 201), ("admin", 201)])
def test_a_scope_is_the_same_at_every_gateway(
    two: tuple[Gateway, Gateway], urls: list[str], scope: str, status: int
) -> None:
    one, other = two
    token = one.tokens.add(f"{scope} of {name_of(urls[0])}", scope)
    answer = asking(other, token).post(
        f"/api/vaults/{name_of(urls[0])}/records", json={"text": "A fact"}
    )
    assert answer.status_code == status


def test_a_login_link_of_one_gateway_lets_in_once_at_any(two: tuple[Gateway, Gateway]) -> None:
    one, other = two
    code = one.tokens.login_code()
    browser = asking(other)
    assert browser.post("/api/login", json={"code": code}).status_code == 200
    assert browser.get("/api/vaults").json()["who"]["scope"] == "admin"
    assert asking(one).post("/api/login", json={"code": code}).status_code == 401
    kept = {"cookie": f"commonplace={browser.cookies['commonplace']}"}
    assert asking(one).get("/api/vaults", headers=kept).status_code == 200
    assert browser.post("/api/logout", json={}).status_code == 200
    assert asking(one).get("/api/vaults", headers=kept).status_code == 401


def test_tokens_are_kept_as_hashes(two: tuple[Gateway, Gateway], urls: list[str]) -> None:
    token = two[0].tokens.add(f"hashed of {name_of(urls[0])}", "read")
    with Memory.open(urls[0], create=True) as memory:
        rows = memory.parts.in_database().rows("select hash, pass from token")
    assert rows
    assert token not in str(rows)


def test_while_the_database_is_away_nobody_comes_in_and_is_told_why() -> None:
    server = new_server("gateway")
    url = f"{server.url()}?profile=alice"
    Memory.open(url, create=True).close()
    gateway = http.gateway([url], opened, port=PORT)
    token = gateway.tokens.add("agent", "read")
    passes: Any = gateway.tokens._passes
    passes._database.seconds = 0.2
    assert asking(gateway, token).get("/api/vaults").status_code == 200
    server.stop("immediate")
    away = asking(gateway, token).get("/api/vaults")
    assert (away.status_code, "no connection" in away.json()["detail"]) == (503, True)
    server.start()
    passes._database.seconds = 20
    assert asking(gateway, token).get("/api/vaults").status_code == 200
    gateway.tokens.close()


def command(url: str, *words: str) -> list[str]:
    return [sys.executable, "-m", "commonplace", "--vault", url, *words]


@contextmanager
def served(url: str) -> Iterator[str]:
    """The address of a gateway that runs as a process of its own, with its workers."""
    process = subprocess.Popen(
        command(url, "serve", "--port", "0", "--workers", "2"), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    try:
        link = next(line for line in process.stdout if "login?code=" in line)
        found = re.search(r"http://[^/]+", link)
        assert found
        yield found[0]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(300)
        process.stdout.close()
    assert process.returncode == 0


def asked(address: str, token: str, path: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        address + path,
        data=json.dumps(body).encode() if body else None,
        headers={"authorization": f"Bearer {token}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read())


def spoken(address: str, token: str, message: dict[str, Any]) -> Any:
    """What MCP answers to one message, which may be the first that this gateway is sent."""
    headers = {
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
    }
    data = json.dumps(message).encode()
    request = urllib.request.Request(f"{address}/mcp", data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return next(json.loads(line[6:]) for line in answer if line.startswith(b"data: "))


def changes(address: str, token: str, profile: str) -> Generator[dict[str, Any], None, None]:
    """What a gateway tells of a profile's changes, from now on."""
    request = urllib.request.Request(
        f"{address}/api/vaults/{profile}/changes", headers={"authorization": f"Bearer {token}"}
    )
    with urllib.request.urlopen(request, timeout=300) as stream:
        kind = ""
        for line in stream:
            if line.startswith(b"event: "):
                kind = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                yield {"event": kind, **json.loads(line[6:])}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here; to run it: use Linux")
def test_two_served_gateways_are_one_to_those_who_ask() -> None:
    [url] = profiles("alice")
    profile = name_of(url)
    made = subprocess.run(
        command(url, "token", "add", f"two {profile}", "--scope", "write", "--for-vault", profile),
        capture_output=True,
        text=True,
        check=True,
    )
    token = made.stdout.strip()
    with ExitStack() as both:
        one, other = (both.enter_context(served(url)) for _ in range(2))
        told = changes(other, token, profile)
        assert next(told)["event"] == "ready"
        at = f"/api/vaults/{profile}"
        stored = asked(one, token, f"{at}/records", {"text": "Likes green tea", "kind": "fact"})
        change = next(told)
        assert (change["event"], change["ids"]) == ("change", [stored["id"]])
        told.close()
        begun, found = (
            spoken(address, token, said)
            for address, said in (
                (one, mcp_client.initialize()),
                (other, mcp_client.call("search", {"query": "tea"})),
            )
        )
        assert begun["result"]["serverInfo"]["name"] == "commonplace"
        assert "Likes green tea" in found["result"]["content"][0]["text"]
        for address in (other, one, other):
            hits = asked(address, token, f"{at}/search?text=tea")["hits"]
            assert [hit["id"] for hit in hits] == [stored["id"]]
