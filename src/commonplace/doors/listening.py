"""The sockets that doors take connections at. It does not know what is said over them."""

from __future__ import annotations

from socket import AF_INET, AF_INET6, IPPROTO_TCP, TCP_NODELAY, create_server, socket

from commonplace.model.errors import CannotListen


def listening(host: str, port: int) -> socket:
    """A socket that takes connections there; port 0 is any that is free."""
    family = AF_INET6 if ":" in host else AF_INET
    try:
        listener = create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise CannotListen(host, port, error) from None
    # Those it accepts take it over. Without it the second part of an answer waits 40 ms for the
    # other side to say that it has the first; asyncio sees to that for its own listeners alone.
    listener.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    return listener
