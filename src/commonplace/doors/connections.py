"""The connections of an HTTP server: the socket it listens at, and how long one may stay idle."""

from __future__ import annotations

from socket import AF_INET, AF_INET6, IPPROTO_TCP, TCP_NODELAY, create_server, socket
from typing import TYPE_CHECKING, Any

from commonplace.model.errors import VaultTrouble

if TYPE_CHECKING:
    from asyncio import Protocol

SECONDS = 10.0
"""Until the headers of a request are there: from the beginning, or from the last answer on."""
MOST = 512
"""Connections that may wait at once. Of more, the one that has waited longest is closed."""


def listen(host: str, port: int) -> socket:
    """A socket that takes connections there; port 0 is any that is free."""
    family = AF_INET6 if ":" in host else AF_INET
    try:
        listener = create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise VaultTrouble(
            f"Nothing can be served at {host}:{port}: {why}.",
            next_step="If a gateway runs there already, 'commonplace serve --link' prints a link "
            "to it; else choose another port.",
        ) from None
    # Those it accepts take it over. Without it the second part of an answer waits 40 ms for the
    # other side to say that it has the first; asyncio sees to that for its own listeners alone.
    listener.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    return listener


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
