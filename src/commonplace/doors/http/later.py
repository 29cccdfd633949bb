"""An application that is made when it is first asked for.

The MCP SDK takes a second to import, and most who open the page never speak MCP. It does not know
what the application does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Later:
    """Stands for an application until somebody asks it something."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._wanted, self._made, self._over = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._app: Any = None
        self._trouble: Exception | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._wanted.set()
        await self._made.wait()
        if self._trouble:
            raise self._trouble
        await self._app(scope, receive, send)

    async def live(self) -> None:
        """Wait to be asked, then be the application until `end`: it must live in one task."""
        await self._wanted.wait()
        if self._over.is_set():
            return
        try:
            self._app = await asyncio.to_thread(self._make)
            async with self._app.router.lifespan_context(self._app):
                self._made.set()
                await self._over.wait()
        except Exception as trouble:
            self._trouble = trouble
            self._made.set()

    def end(self) -> None:
        self._over.set()
        self._wanted.set()
