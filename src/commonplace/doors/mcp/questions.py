"""The questions that a client on stdio has not answered yet."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Timer

from msgspec import Struct

from commonplace.doors.mcp import jsonrpc, versions
from commonplace.doors.mcp.jsonrpc import Object

SECONDS = 600.0
"""How long a person has for an answer; a call that nobody answers changes nothing."""
Then = Callable[[Object], None]
"""Takes the answer to a question, as the client sent it."""
NONE = {"action": "cancel"}
"""What counts as the answer where there is none."""


class _Open(Struct, frozen=True):
    then: Then
    timer: Timer
    beating: AbstractContextManager[None]


class Questions:
    """Sends questions, and gives each its answer, once."""

    def __init__(self, send: Callable[[Object], None], *, seconds: float = SECONDS) -> None:
        self._send = send
        self._seconds = seconds
        self._count = 0
        self._open: dict[jsonrpc.Id, _Open] = {}

    def next(self) -> str:
        """The id for one more question."""
        self._count += 1
        return f"question-{self._count}"

    def ask(
        self, key: str, params: Object, then: Then, beating: AbstractContextManager[None]
    ) -> None:
        """Send a question; `then` gets its answer. `beating` is at work while it is open."""
        timer = Timer(self._seconds, self.withdraw, (key,))
        timer.daemon = True
        beating.__enter__()
        self._open[key] = _Open(then, timer, beating)
        self._send({"jsonrpc": "2.0", "id": key, "method": versions.ELICIT, "params": params})
        timer.start()  # One that was cancelled meanwhile does nothing.

    def hear(self, message: Object) -> None:
        """Take the answer to a question. One that nobody waits for any more says nothing."""
        result = message.get("result")
        reply = result if isinstance(result, dict) else NONE
        self._close(jsonrpc.id_of(message), reply)

    def withdraw(self, key: jsonrpc.Id) -> None:
        """Tell the client that nobody waits for an answer any more, which counts as none."""
        if self._close(key, NONE):
            self._send(jsonrpc.notification("notifications/cancelled", {"requestId": key}))

    def _close(self, key: jsonrpc.Id, reply: Object) -> bool:
        # Whoever takes it out is the one who answers it.
        found = self._open.pop(key, None)
        if found is None:
            return False
        found.timer.cancel()
        found.beating.__exit__(None, None, None)
        found.then(reply)
        return True
