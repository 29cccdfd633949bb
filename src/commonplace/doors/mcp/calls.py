"""A request on its way to its answer: done or failed, alone or in a batch, or cancelled.

It does not know the methods, nor where the answers go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from commonplace.doors.mcp import eras, wire
from commonplace.doors.mcp.wire import Fault, Message, Object
from commonplace.errors import CommonplaceError

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
            return wire.success(id, eras.stamped(method, result) if self.stateless else result)
        except Fault as fault:
            return wire.failure(id, eras.stateless_fault(fault) if self.stateless else fault)
        except CommonplaceError as error:
            return wire.failure(id, Fault(wire.INTERNAL_ERROR, str(error)))
        except RecursionError:
            return wire.failure(id, Fault(wire.INVALID_PARAMS, "This is nested too deeply."))
        except Exception:
            _log()
            return wire.failure(id, Fault(wire.INTERNAL_ERROR, "Internal error"))


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


def _log() -> None:
    """Tell the person at the other end of stderr; the client learns nothing of our insides."""
    import traceback

    traceback.print_exc()
