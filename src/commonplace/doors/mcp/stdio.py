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
    dialect: str | Callable[[], str],
    stdin: BinaryIO,
    stdout: BinaryIO,
    session: str = "",
) -> int:
    """Answer the client at the other end until it is done. Returns the exit code.

    `open_memory` is given a session and called by the first request that needs the vault, in the
    thread that all such requests run in. A `dialect` that has to be found out is asked for by the
    first that needs the tools: a client is answered before. `session` outweighs what the client
    says of its own.
    """
    Loop(open_memory, dialect=dialect, session=session, stdout=stdout).run(stdin)
    return 0


def run(
    open_memory: Callable[[str], Memory],
    dialect: str | Callable[[], str],
    session: str,
    *,
    notice: Callable[[], str] = str,
) -> int:
    """Serve this process's standard input and output until the input ends, or a signal comes.

    `notice` is asked once for what the person should hear with the first answer of a tool.
    """
    if os.isatty(0):
        print("commonplace: waiting for an MCP client on standard input.", file=sys.stderr)
    nowhere = os.open(os.devnull, os.O_RDWR)
    own = _taken(0, instead=nowhere), _taken(1, instead=2)
    with (
        suppress(BrokenPipeError),
        os.fdopen(own[0], "rb") as stdin,
        os.fdopen(own[1], "wb") as stdout,
    ):
        loop = Loop(open_memory, dialect=dialect, session=session, stdout=stdout, notice=notice)
        _stop_at_signals(loop, own, nowhere)
        loop.run(stdin)
        if loop.stopping:
            # A call may hang, and closing the streams would wait for it.
            os._exit(0)
    return 0


def _taken(number: int, *, instead: int) -> int:
    """A descriptor of our own for a standard one, which from now on leads elsewhere.

    So what prints by mistake does not end up in the protocol, and no child reads from it.
    """
    own = os.dup(number)
    os.dup2(instead, number)
    return own


def _stop_at_signals(loop: Loop, streams: tuple[int, int], nowhere: int) -> None:
    """End the loop at a signal, wherever it is: it finds its input at an end.

    Without an exception, which would come at any moment and could get lost where it meets a
    callback of the interpreter.
    """

    def stop(number: int, frame: object) -> None:
        loop.stopping = True
        for stream in streams:
            os.dup2(nowhere, stream)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
