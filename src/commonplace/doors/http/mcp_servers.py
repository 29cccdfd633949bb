"""The MCP applications of a gateway's vaults, each made at the first request to it.

The MCP SDK takes a second to import, and most people who open the page never speak MCP. A bounded
number of them lives: the one that was asked least recently ends when another begins.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

MOST = 32
"""Applications that live at once."""


class McpServers:
    """The applications by the names of their vaults."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        self._make = make
        self._living: OrderedDict[str, McpServer] = OrderedDict()
        self._tasks: asyncio.TaskGroup | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Let applications live, until this ends."""
        async with asyncio.TaskGroup() as self._tasks:
            yield
            self.end()

    def of(self, vault: str) -> McpServer:
        """The application of a vault, which begins to live now if it does not yet."""
        assert self._tasks is not None, "applications live while the gateway runs"
        server = self._living.pop(vault, None)
        if server is None or server.is_over:
            server = McpServer(partial(self._make, vault))
            self._tasks.create_task(server.live())
        self._living[vault] = server
        while len(self._living) > MOST:
            self._living.popitem(last=False)[1].end()
        return server

    def end(self) -> None:
        """End them all."""
        for server in self._living.values():
            server.end()


class McpServer:
    """One application, from its first request on."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made, self._over = asyncio.Event(), asyncio.Event()
        self._asked = 0
        """Requests that it is answering."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._app: Any = None
        self._trouble: Exception | None = None

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._asked += 1
        self._idle.clear()
        try:
            await self._made.wait()
            if self._trouble:
                raise self._trouble
            await self._app(scope, receive, send)
        finally:
            self._asked -= 1
            if not self._asked:
                self._idle.set()

    async def live(self) -> None:
        """Be the application until `end`, and until it has answered: it lives in one task."""
        try:
            self._app = await asyncio.to_thread(self._make)
            async with self._app.router.lifespan_context(self._app):
                self._made.set()
                await self._over.wait()
                await self._idle.wait()
        except Exception as trouble:
            self._trouble = trouble
            self._made.set()
            self.end()

    def end(self) -> None:
        self._over.set()
