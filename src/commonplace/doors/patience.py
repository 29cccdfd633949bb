"""How long a connection may stay open without asking for anything.

It knows uvicorn's connections, and nothing of what is asked over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import Protocol

SECONDS = 10.0
"""Until the headers of a request are there: from the beginning, or from the last answer on."""
MOST = 512
"""Connections that may wait at once. Of more, the one that has waited longest is closed."""


def protocol() -> type[Protocol]:
    """Uvicorn's own protocol, for one server, that closes what asks for nothing."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    inherited: Any = AutoHTTPProtocol
    waiting: dict[Patient, Any] = {}
    """Connections with their timers, those first that have waited longest."""

    class Patient(inherited):  # type: ignore[misc]
        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def connection_lost(self, error: Exception | None) -> None:
            self._wait_no_more()
            super().connection_lost(error)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        def _wait(self) -> None:
            self._wait_no_more()
            waiting[self] = self.loop.call_later(SECONDS, self.be_late)
            while len(waiting) > MOST:
                next(iter(waiting)).be_late()

        def _wait_no_more(self) -> None:
            if self in waiting:
                waiting.pop(self).cancel()

        def be_late(self) -> None:
            """Close the connection, unless a request came and is being answered."""
            self._wait_no_more()
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Patient
