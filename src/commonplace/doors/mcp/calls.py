"""A request on its way to its answer: done or failed, alone or in a batch, or cancelled.

It does not know the methods, nor where the answers go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from commonplace.doors.mcp import jsonrpc, versions
from commonplace.doors.mcp.jsonrpc import Fault, Message, Object
from commonplace.model.errors import CommonplaceError

Deliver = Callable[[Object | None], None]
"""Takes the answer to a message, or None when it gets none. Called once for each message."""


class Call:
    """A request, the era it is of, and where its answer goes."""

    __slots__ = ("cancelled", "deliver", "message", "stateless")

    def __init__(self, message: Message, deliver: Deliver, *, stateless: bool) -> None:
        self.message = message
        self.deliver = deliver
        self.stateless = stateless
        self.cancelled = False

    def answer(self, work: Callable[[], Object]) -> None:
        """Do the work and deliver what comes of it, unless the client has lost interest."""
        answer = None if self.cancelled else self._answered(work)
        self.deliver(None if self.cancelled else answer)

    def _answered(self, work: Callable[[], Object]) -> Object:
        method, id = self.message.method, self.message.id
        try:
            result = work()
            return jsonrpc.success(
                id, versions.stamped(method, result) if self.stateless else result
            )
        except Exception as error:
            fault = fault_of(error)
            return jsonrpc.failure(id, versions.stateless_fault(fault) if self.stateless else fault)


class Batch:
    """The answers to the messages of one line, sent together when the last is there."""

    def __init__(self, size: int, *, send: Callable[[list[Object]], None]) -> None:
        self._left = size
        self._send = send
        self._answers: list[Object] = []
        self._adding = threading.Lock()

    def add(self, answer: Object | None) -> None:
        with self._adding:
            self._left -= 1
            if answer is not None:
                self._answers.append(answer)
            done = not self._left
        if done and self._answers:
            self._send(self._answers)


def fault_of(error: Exception) -> Fault:
    """What the client is told of an error: of one that nobody foresaw, nothing of our insides."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, CommonplaceError):
        return Fault(jsonrpc.INTERNAL_ERROR, str(error))
    if isinstance(error, RecursionError):
        return Fault(jsonrpc.INVALID_PARAMS, "This is nested too deeply.")
    _log(error)
    return Fault(jsonrpc.INTERNAL_ERROR, "Internal error")


def _log(error: Exception) -> None:
    """Tell the person at the other end of stderr."""
    import traceback

    traceback.print_exception(error)
