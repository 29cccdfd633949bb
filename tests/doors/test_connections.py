"""Connections that ask for nothing, or never to the end, are not kept open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from commonplace.doors import connections
from commonplace.doors.connections import listen
from commonplace.doors.http import guard
from tests.support.gateways import made

PARTS = {
    "nothing": b"",
    "half a word": b"GE",
    "no end of headers": b"GET /api/vaults HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    "a second request after a first": b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHo",
}
ENOUGH = 300.0


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def serving(app: Any) -> AsyncIterator[tuple[int, Any]]:
    """A server with the protocol that both doors have: its port, and its connections."""
    with listen("127.0.0.1", 0) as listener:
        config = uvicorn.Config(
            app, http=connections.protocol(), log_level="critical", timeout_keep_alive=10**6
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server._serve([listener]))
        try:
            yield listener.getsockname()[1], server.server_state.connections
        finally:
            server.should_exit = server.force_exit = True
            await task


async def empty(scope: Any, receive: Any, send: Any) -> None:
    """An application that has answered before it was asked to the end."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.mark.anyio
@pytest.mark.parametrize("part", PARTS)
async def test_a_connection_that_asks_for_nothing_is_closed(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "SECONDS", 0.05)
    async with serving(empty) as (port, _), asyncio.timeout(ENOUGH):
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(100)]
        for _, writer in pairs:
            writer.write(PARTS[part])
        for reader, writer in pairs:
            # What was sent to a connection that is closed is answered with a reset.
            with suppress(ConnectionError):
                await reader.read()
            writer.close()


@pytest.mark.anyio
async def test_of_too_many_that_wait_the_first_is_closed_and_who_asks_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connections, "SECONDS", ENOUGH)
    monkeypatch.setattr(connections, "MOST", 10)
    async with serving(empty) as (port, _), asyncio.timeout(ENOUGH):
        pairs = [await asyncio.open_connection("127.0.0.1", port) for _ in range(25)]
        for reader, _ in pairs[:15]:
            assert await reader.read() == b""
        for reader, writer in pairs[15:]:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"204" in await reader.readuntil(b"\r\n\r\n")
        for _, writer in pairs:
            writer.close()


@pytest.mark.anyio
async def test_who_waits_for_an_answer_is_not_sent_away() -> None:
    asked, answer = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            asked.set()
            await answer.wait()
            await empty(scope, receive, send)

    async with serving(slow) as (port, connections), asyncio.timeout(ENOUGH):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        await asked.wait()
        [asking] = connections
        asking.be_late()
        answer.set()
        assert b"204" in await reader.readuntil(b"\r\n\r\n")
        writer.close()


@pytest.mark.anyio
async def test_a_body_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)
    gateway = made(tmp_path)
    token = gateway.tokens.add("slow", "write")
    told: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        told.append(message)

    headers = {
        "host": "127.0.0.1:8377",
        "authorization": f"Bearer {token}",
        "content-type": "application/json",
        "content-length": "10",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/vaults/book/records",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "root_path": "",
        "scheme": "http",
    }
    async with asyncio.timeout(ENOUGH):
        await gateway.app(scope, receive, send)
    assert told[0]["status"] == 408
    assert (b"connection", b"close") in told[0]["headers"]
