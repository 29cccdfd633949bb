"""MCP through the gateway: a real server, asked with a token by any of its names."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from commonplace import Memory
from commonplace.doors.http.workers import Caller, Work, answer
from tests.doors.test_gateway_api import Served
from tests.support import mcp_client
from tests.support.gateways import made

ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    """A gateway that answers to another name too, and a token to write."""
    made = Served(tmp_path_factory.mktemp("mcp"), "--name", "gateway.example")
    add = [sys.executable, "-m", "commonplace", "token", "add", "agent", "--scope", "write"]
    done = subprocess.run(add, env=made.environ, capture_output=True, text=True, check=True)
    yield made, done.stdout.strip()
    made.end()


def told(answer: Any) -> Any:
    """The message in an answer that is a stream of one event."""
    [data] = [line for line in answer.read().decode().splitlines() if line.startswith("data: ")]
    return json.loads(data.removeprefix("data: "))


@pytest.mark.parametrize("host", ["127.0.0.1:{}", "localhost:{}", "gateway.example"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/book"])
def test_who_has_a_token_speaks_mcp(served: tuple[Served, str], path: str, host: str) -> None:
    gateway, token = served
    headers = {
        "host": host.format(gateway.port),
        "origin": f"http://{host.format(gateway.port)}",
        "authorization": f"Bearer {token}",
        "accept": ACCEPT,
    }
    begun = gateway.ask("POST", path, mcp_client.initialize(), **headers)
    assert begun.status == 200
    assert told(begun)["result"]["serverInfo"]["name"] == "commonplace"
    assert begun.headers["mcp-session-id"].startswith("http-")
    gateway.ask("POST", path, mcp_client.tell("notifications/initialized"), **headers).read()
    found = gateway.ask("POST", path, mcp_client.call("search", {"query": "tea"}), **headers)
    assert "Ann likes green tea" in told(found)["result"]["content"][0]["text"]


def test_a_session_of_mcp_is_no_token(served: tuple[Served, str]) -> None:
    gateway, token = served
    headers = {"authorization": f"Bearer {token}", "accept": ACCEPT}
    gateway.ask("POST", "/mcp", mcp_client.initialize(), **headers).read()
    call = mcp_client.call("search", {"query": "tea"})
    answer = gateway.ask("POST", "/mcp", call, accept=ACCEPT, mcp_session_id="begun")
    assert answer.status == 401
    foreign = gateway.ask("POST", "/mcp", call, **headers, origin="http://evil.example")
    assert foreign.status == 403


def test_another_door_has_its_reads_answered_by_the_workers(tmp_path: Path) -> None:
    class Workers:
        async def ask(self, call: Work) -> Work:
            return call

    gateway: Any = made(tmp_path)
    assert anyio.run(gateway.beside, "book", Memory.count) is None
    gateway._workers = Workers()
    asked = anyio.run(gateway.beside, "book", Memory.count)
    assert asked == Work("book", Caller("agent"), Memory.count)
    with Memory.open(tmp_path / "book", create=True) as memory:
        memory.store("Ann likes green tea")
    assert answer(gateway.vaults, pickle.loads(pickle.dumps(asked))) == 1
    gateway.vaults.close()
