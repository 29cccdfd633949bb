"""MCP over HTTP: the same answers as over stdio, for whoever brings the token."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from commonplace.memory import Memory
from tests.test_mcp import with_client


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
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            httpx2.get(address)
            break
        except httpx2.TransportError:
            time.sleep(0.05)
    yield tmp_path, address, token
    child.terminate()
    child.wait(timeout=20)
    child.stdout.close()


async def looked(client: Client) -> list[Any]:
    """What a client finds: the tools, some calls, resources and prompts."""
    found: list[Any] = [tool.model_dump() for tool in (await client.list_tools()).tools]
    for name, arguments in (
        ("search", {"query": "tea"}),
        ("brief", {}),
        ("delete", {"id": "mem-none"}),
        ("search", {"limit": 0}),
    ):
        found.append((await client.call_tool(name, arguments)).model_dump(exclude={"meta"}))
    found += [each.model_dump() for each in (await client.list_resources()).resources]
    found += [each.model_dump() for each in (await client.list_prompts()).prompts]
    page = await client.read_resource("commonplace://document/MEMORY.md")
    assert isinstance(page.contents[0], mcp_types.TextResourceContents)
    found.append(page.contents[0].text)
    return found


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


@pytest.mark.parametrize("brought", ["", "Bearer wrong", "Basic abc"])
def test_without_the_token_there_is_nothing(served: tuple[Path, str, str], brought: str) -> None:
    _, address, _ = served
    headers = {"Authorization": brought} if brought else {}
    answer = httpx2.post(
        address, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}
    )
    assert (answer.status_code, "token" in answer.text) == (401, True)


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
    path = root / ".commonplace" / "token"
    assert path.read_text(encoding="ascii") == token
    assert path.stat().st_mode & 0o077 == 0
