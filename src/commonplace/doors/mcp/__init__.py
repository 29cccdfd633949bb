"""MCP over stdio: a loop of our own on the standard library, because start-up decides.

Clients drop a server that does not answer within a second, so nothing is imported here before the
first answer but what that answer needs. Where the vault is, whoever starts it knows.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from commonplace.doors.mcp.loop import Loop

if TYPE_CHECKING:
    from commonplace.memory import Memory

__all__ = ["run", "serve"]


def serve(
    open_memory: Callable[[str], Memory],
    *,
    dialect: str,
    stdin: BinaryIO,
    stdout: BinaryIO,
    session: str = "",
) -> int:
    """Answer the client at the other end until it is done. Returns the exit code.

    `open_memory` is given a session and called by the first request that needs the vault, in the
    thread that all such requests run in. `session` outweighs what the client says of its own. An
    interrupt goes on to the caller, after the call that is running has had a moment to end.
    """
    Loop(open_memory, dialect=dialect, session=session, stdout=stdout).run(stdin)
    return 0


def run(open_memory: Callable[[str], Memory], dialect: str, session: str) -> int:
    """Serve this process's standard input and output until either ends, or a signal comes."""
    if os.isatty(0):
        print("commonplace: waiting for an MCP client on standard input.", file=sys.stderr)
    stdin = _taken(0, instead=os.open(os.devnull, os.O_RDONLY))
    stdout = _taken(1, instead=2)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)
    with suppress(BrokenPipeError), os.fdopen(stdin, "rb") as reader:
        writer = os.fdopen(stdout, "wb")
        try:
            serve(open_memory, dialect=dialect, session=session, stdin=reader, stdout=writer)
        except KeyboardInterrupt:
            # The memory is closed. Closing the stream could wait for a client that reads no more.
            os._exit(0)
        writer.close()
    return 0


def _taken(number: int, *, instead: int) -> int:
    """A descriptor of our own for a standard one, which from now on leads elsewhere.

    So what prints by mistake does not end up in the protocol, and no child reads from it.
    """
    own = os.dup(number)
    os.dup2(instead, number)
    return own


def _stop(number: int, _: object) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt
