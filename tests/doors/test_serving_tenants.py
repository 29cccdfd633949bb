"""A gateway that serves all tenants of a database: new ones by their token, and each its own."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from commonplace.doors.http import server
from commonplace.doors.http.app import Gateway
from commonplace.doors.mcp import http as mcp_http
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.files import StrPath
from commonplace.postgres.tenants import Tenants
from tests.support.gateways import HOST, PORT, opened
from tests.support.postgres import url_of_server

pytestmark = pytest.mark.long


class Database:
    """The tables of one test, apart from those of others, with a gateway to all its tenants."""

    def __init__(self) -> None:
        server_url = url_of_server()
        mark = "&" if "?" in server_url else "?"
        self.url = f"{server_url}{mark}schema=t{uuid.uuid4().hex[:12]}"
        self.make("first")
        self.tenants = Tenants(self.url, clock=Clock())
        self.gateway: Gateway = server.gateway(
            self.tenants, opened, port=PORT, mcp=lambda _, path: mcp_app(path)
        )

    def of(self, name: str) -> str:
        return f"{self.url}&profile={name}"

    def make(self, name: str) -> None:
        """A tenant with one memory, made by another program."""
        with Memory.open(self.of(name), create=True) as memory:
            memory.store(f"{name} prefers tea", kind="preference")

    def client(self, *vaults: str, scope: str = "write") -> TestClient:
        name = f"{scope} {uuid.uuid4().hex[:8]}"
        token = self.gateway.tokens.add(name, scope, vaults=vaults)
        headers = {"authorization": f"Bearer {token}"}
        return TestClient(self.gateway.app, base_url=f"http://{HOST}", headers=headers)


def mcp_app(path: StrPath) -> object:
    return mcp_http.server(lambda session: opened(str(path), "agent"), dialect="native", session="")


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    yield made
    made.gateway.vaults.close()
    made.gateway.tokens.close()
    made.tenants.close()


def found(client: TestClient, tenant: str) -> list[str]:
    answer = client.get(f"/api/vaults/{tenant}/search", params={"text": "tea"})
    assert answer.status_code == 200, answer.text
    return [hit["text"] for hit in answer.json()["hits"]]


def test_a_tenant_that_was_made_later_is_there_by_its_token(database: Database) -> None:
    with database.client("second") as client:
        assert client.get("/api/vaults/second/search?text=tea").status_code == 404
        database.make("second")
        assert found(client, "second") == ["second prefers tea"]


def test_a_token_of_one_tenant_opens_no_other_and_hears_of_none(database: Database) -> None:
    database.make("second")
    with database.client("first") as client:
        refused = [client.get(f"/api/vaults/{name}/records") for name in ("second", "nobody")]
        assert [answer.status_code for answer in refused] == [403, 403]
        assert client.get("/api/vaults").json()["vaults"] == ["first"]
        over_mcp = [client.post(f"/mcp/{name}", json={}) for name in ("second", "nobody")]
        assert [answer.status_code for answer in over_mcp] == [403, 403]
        assert "second prefers" not in "".join(answer.text for answer in refused + over_mcp)


def initialized(client: TestClient, path: str) -> int:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    params |= {"clientInfo": {"name": "test", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    headers = {"accept": "application/json, text/event-stream"}
    return client.post(path, json=message, headers=headers).status_code


def test_mcp_without_a_name_is_the_tenant_of_the_token(database: Database) -> None:
    database.make("second")
    with database.client("second") as client:
        call = {"name": "search", "arguments": {"query": "tea"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        headers = {"accept": "application/json, text/event-stream"}
        answer = client.post("/mcp", json=message, headers=headers)
        assert "second prefers tea" in answer.text
        assert "first prefers tea" not in answer.text


def test_of_applications_over_mcp_only_so_many_live_at_once(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.doors.http.mcp_servers.MOST", 2)
    names = [f"tenant-{number}" for number in range(4)]
    for name in names:
        database.make(name)
    assert database.gateway.mcp
    with database.client(scope="admin") as client:
        for name in (*names, names[0]):
            assert initialized(client, f"/mcp/{name}") == 200
        assert list(database.gateway.mcp._living) == [names[3], names[0]]
        assert initialized(client, "/mcp/nobody") == 404


def test_threads_do_not_grow_with_the_tenants(database: Database) -> None:
    names = [f"tenant-{number}" for number in range(30)]
    for name in names:
        database.make(name)
    with database.client(scope="admin") as client:
        assert found(client, "first") == ["first prefers tea"]
        for _ in range(8):
            found(client, "first")
        before = threading.active_count()
        for name in names:
            assert found(client, name) == [f"{name} prefers tea"]
        assert threading.active_count() <= before + 8


def test_a_tenant_that_is_dropped_while_it_is_open_is_not_found(database: Database) -> None:
    database.make("second")
    with database.client("second") as client:
        assert found(client, "second") == ["second prefers tea"]
        with Memory.open(database.of("second")) as memory:
            assert memory.parts.database
            memory.parts.database.erase()
        answer = client.post("/api/vaults/second/records", json={"text": "It is gone"})
        assert answer.status_code == 404
