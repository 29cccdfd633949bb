"""The loop: reads messages, answers at once or hands them to the worker, takes cancellations.

It does not know what the methods do. Nothing that comes in ends it but the end of the stream.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO

from commonplace.doors.mcp import jsonrpc, methods, versions
from commonplace.doors.mcp.calls import Batch, Call, Deliver
from commonplace.doors.mcp.jsonrpc import Fault, Message, Object
from commonplace.doors.mcp.worker import Pulse, Worker
from commonplace.doors.session_id import group_of, new_session, session_of, taint_of

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.tools.tool import Tool

LARGEST_BATCH = 1000
PULSE_SECONDS = 1.0
PATIENCE = 2.0
"""Seconds that a running call has left after a signal: clients kill soon after."""


class Loop:
    """One client, from its first line to its last."""

    def __init__(
        self,
        open_memory: Callable[[str], Memory],
        *,
        dialect: str | Callable[[], str],
        session: str,
        stdout: BinaryIO,
        environ: Mapping[str, str] = os.environ,
        notice: Callable[[], str] = str,
    ) -> None:
        self.dialect = dialect
        self.session = session
        self.environ = environ
        self.version = ""
        self.gone = False
        self.stopping = False
        self._own_session = new_session("mcp")
        self._stdout = stdout
        self._writing = threading.Lock()
        self._calls: dict[jsonrpc.Id, Call] = {}
        self._notice = notice
        self._worker = Worker(open_memory, first=self._warm_up)

    def run(self, stdin: BinaryIO) -> None:
        """Answer until the client has nothing more to say, or somebody sets `stopping`."""
        for line in jsonrpc.lines(stdin):
            if self.stopping or self.gone:
                break
            self.take(line)
            self._worker.begin()
        self._worker.end()
        while not self._worker.has_ended(within=0.1):
            if self.stopping:
                self._worker.hurry()
                self._worker.has_ended(within=PATIENCE)
                break

    def _warm_up(self) -> None:
        """Import the tools while the client reads our first answer."""
        # What goes wrong here goes wrong again, and is said, when somebody asks for the tools.
        with suppress(Exception):
            self.offered()

    def offered(self) -> dict[str, Tool]:
        """The tools of the dialect, which may have to be found out first."""
        if not isinstance(self.dialect, str):
            self.dialect = self.dialect()
        return methods.tools_of(self.dialect)

    def send(self, value: Object | list[Object]) -> None:
        """Write one line. A client that reads no more has left."""
        data = jsonrpc.encoded(value)
        try:
            with self._writing:
                self._stdout.write(data)
                self._stdout.flush()
        except (OSError, ValueError):
            self.gone = True

    def take(self, line: bytes) -> None:
        """Answer one line, now or later."""
        try:
            value = jsonrpc.parse(line)
            if isinstance(value, list):
                self._take_batch(value)
            else:
                self._take_one(value, self._deliver)
        except Fault as fault:
            self.send(jsonrpc.failure(None, fault))

    def _deliver(self, answer: Object | None) -> None:
        if answer is not None:
            self.send(answer)

    def _take_batch(self, values: list[Any]) -> None:
        if self.version not in versions.BATCHED:
            raise Fault(jsonrpc.INVALID_REQUEST, f"Batches are not part of {self.version}.")
        if not 0 < len(values) <= LARGEST_BATCH:
            raise Fault(jsonrpc.INVALID_REQUEST, f"A batch holds 1 to {LARGEST_BATCH:,} messages.")
        batch = Batch(len(values), send=self.send)
        for value in values:
            self._take_one(value, batch.add, batched=True)

    def _take_one(self, value: Any, deliver: Deliver, *, batched: bool = False) -> None:
        try:
            message = jsonrpc.message_of(value)
            if message is None or message.id is None:
                self._heed(message)
                deliver(None)
                return
            if batched and message.method == "initialize":
                raise Fault(jsonrpc.INVALID_REQUEST, "initialize may not be part of a batch.")
            self._take_request(message, deliver)
        except Fault as fault:
            deliver(jsonrpc.failure(jsonrpc.id_of(value), fault))

    def _heed(self, message: Message | None) -> None:
        """Heed a notification: of all there are, only a cancellation asks for something."""
        if message is not None and message.method == "notifications/cancelled":
            call = self._calls.get(jsonrpc.id_of({"id": message.params.get("requestId")}))
            if call is not None:
                call.cancelled = True

    def _take_request(self, message: Message, deliver: Deliver) -> None:
        method, stateless = message.method, versions.is_stateless(message.method, message.meta)
        call = Call(message, deliver, stateless=stateless)
        if method in (methods.HANDSHAKE_ONLY if stateless else methods.STATELESS_ONLY):
            raise Fault(
                jsonrpc.UNKNOWN_METHOD, f"{method} is not a method of this protocol version."
            )
        if self._is_at_once(method):
            call.answer(lambda: self._at_once(message))
        elif method in methods.WITH_MEMORY:
            self._calls[message.id] = call
            self._worker.do(lambda: self._with_memory(call))
        else:
            raise Fault(jsonrpc.UNKNOWN_METHOD, f"There is no method {method}.")

    def _is_at_once(self, method: str) -> bool:
        """Whether the memory is not asked: for a list of tools it is where sessions have their own.

        Which tools there are may go wrong here, and does again where it is said.
        """
        with suppress(Exception):
            if method == "tools/list" and any(each.obstacle for each in self.offered().values()):
                return False
        return method in methods.AT_ONCE

    def _at_once(self, message: Message) -> Object:
        result = methods.AT_ONCE[message.method](message.params, self.offered)
        if message.method == "initialize":
            self.version = result["protocolVersion"]
        return result

    def _with_memory(self, call: Call) -> None:
        """Answer a call, in the worker's thread."""
        message = call.message
        session = self.session or session_of(message.meta, self.environ) or self._own_session

        def work() -> Object:
            method = methods.WITH_MEMORY[message.method]
            with self._pulse(call):
                result = method(
                    message.params, self.offered, lambda: self._memory(session, message.meta)
                )
            return self._noticed(result) if message.method == "tools/call" else result

        call.answer(work)
        if self._calls.get(message.id) is call:
            del self._calls[message.id]

    def _noticed(self, result: Object) -> Object:
        """The first answer of a tool, with what the person should hear behind it."""
        said, self._notice = self._notice(), str
        return {**result, "content": result["content"] + methods.texts(said)} if said else result

    def _memory(self, session: str, meta: Object) -> Memory:
        """The memory of a session. One that no client names may be that of the client's hooks."""
        from commonplace.doors import attached

        memory = self._worker.memory(session, group_of(meta))
        if session == self._own_session:
            hooked = attached.session_of(memory.notes, self._above)
            memory = memory.for_session(hooked, main=memory.main) if hooked else memory
        attached.mark(memory, taint_of(meta))
        return memory

    @cached_property
    def _above(self) -> list[str]:
        """The processes above this one, among them the client's."""
        from commonplace.doors.runs import keys_above

        return list(keys_above())

    def _pulse(self, call: Call) -> AbstractContextManager[None]:
        """Progress, every second that the call takes, if its sender asked for it."""
        token = call.message.meta.get("progressToken")
        if jsonrpc.id_of({"id": token}) is None:
            return nullcontext()

        def beat(count: int) -> None:
            if not call.cancelled:
                said = f"Still at work after {count} s"
                params = {"progressToken": token, "progress": count, "message": said}
                self.send(jsonrpc.notification("notifications/progress", params))

        return Pulse(beat, seconds=PULSE_SECONDS)
