"""MCP over stdio: a loop of our own, because start-up decides.

Clients drop a server that does not answer within a second, so nothing is imported here before the
first answer but what that answer needs. Requests that need the memory run one after another in a
thread of their own; the loop answers the others at once. Nothing that comes in ends the loop but
the end of the stream.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cached_property
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, BinaryIO

from commonplace.doors.mcp import jsonrpc, methods, versions
from commonplace.doors.mcp.jsonrpc import Batch, Fault, Object, RpcMessage
from commonplace.doors.session_id import group_of, new_session, session_of, taint_of

if TYPE_CHECKING:
    from commonplace.doors.mcp.questions import Questions
    from commonplace.memory import Memory
    from commonplace.tools.tool import Tool

LARGEST_BATCH = 1000
PULSE_SECONDS = 1.0
PATIENCE = 2.0
"""Seconds that a running call has left after a signal: clients kill soon after."""
Job = Callable[[], None]
OPEN = 4
"""How many sessions' memories stay open: Codex sends several threads through one server."""
Ask = Callable[["PendingRequest", Object], None]
"""Takes a call with the question that it needs answered."""
Deliver = Callable[[Object | None], None]
"""Takes the answer to a message, or None when it gets none. Called once for each message."""


def run(
    open_memory: Callable[[str], Memory],
    dialect: str | Callable[[], str],
    session: str,
    *,
    notice: Callable[[], str] = str,
) -> int:
    """Serve this process's standard input and output until the input ends, or a signal comes.

    `open_memory` is given a session and called by the first request that needs the vault, in the
    thread that all such requests run in. A `dialect` that has to be found out is asked for by the
    first request that needs the tools. `session` outweighs the session that the client names.
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
        self.client = ""
        self.capabilities: Object = {}
        self.gone = False
        self.stopping = False
        self._own_session = new_session("mcp")
        self._stdout = stdout
        self._writing = threading.Lock()
        self._calls: dict[jsonrpc.Id, PendingRequest] = {}
        self._notice = notice
        self._questions: Questions | None = None
        self._worker = MemoryThread(open_memory, first=self._warm_up)

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
            if message is None:
                if self._questions:
                    self._questions.hear(value)
                deliver(None)
                return
            if message.id is None:
                self._heed(message)
                deliver(None)
                return
            if batched and message.method == "initialize":
                raise Fault(jsonrpc.INVALID_REQUEST, "initialize may not be part of a batch.")
            self._take_request(message, deliver)
        except Fault as fault:
            deliver(jsonrpc.failure(jsonrpc.id_of(value), fault))

    def _heed(self, message: RpcMessage) -> None:
        """Take a notification. Only a cancellation asks for something."""
        if message.method == "notifications/cancelled":
            call = self._calls.get(jsonrpc.id_of({"id": message.params.get("requestId")}))
            if call is not None:
                call.cancelled = True
                if self._questions:
                    self._questions.withdraw(call.question)

    def _take_request(self, message: RpcMessage, deliver: Deliver) -> None:
        method, stateless = message.method, versions.is_stateless(message.method, message.meta)
        call = PendingRequest(message, deliver, stateless=stateless)
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
        """Whether a request needs no memory. A list of tools does where sessions differ.

        Which tools there are may go wrong here, and does again where it is said.
        """
        with suppress(Exception):
            if method == "tools/list" and any(each.obstacle for each in self.offered().values()):
                return False
        return method in methods.AT_ONCE

    def _at_once(self, message: RpcMessage) -> Object:
        result = methods.AT_ONCE[message.method](message.params, self.offered)
        if message.method == "initialize":
            self.version = result["protocolVersion"]
            self.client = methods.client_of(message.params)
            said = message.params.get("capabilities")
            asks = self.version in versions.ELICITING
            self.capabilities = said if asks and isinstance(said, dict) else {}
        return result

    def _with_memory(self, call: PendingRequest) -> None:
        """Answer a call, in the worker's thread."""
        message = call.message
        session = self.session or session_of(message.meta, self.environ) or self._own_session

        def work() -> Object:
            method = methods.WITH_MEMORY[message.method]
            with self._pulse(call):
                result = method(
                    self._params(call), self.offered, lambda: self._memory(session, message.meta)
                )
            told = message.method == "tools/call" and not versions.is_question(result)
            return self._noticed(result) if told else result

        if call.answer(work, ask=self._ask) and self._calls.get(message.id) is call:
            del self._calls[message.id]

    def _params(self, call: PendingRequest) -> Object:
        """The params of a call; what the handshake and an answer said, as other eras put it."""
        if call.stateless:
            return call.message.params
        meta = {**call.message.meta, versions.CAPABILITIES_KEY: self.capabilities}
        return {**call.message.params, "_meta": meta, **call.reply}

    def _ask(self, call: PendingRequest, result: Object) -> None:
        """Send the question that a call needs answered, and make the call again then."""
        from commonplace.doors.mcp.questions import Questions

        self._questions = self._questions or Questions(self.send)
        [(name, asked)] = result["inputRequests"].items()

        def then(reply: Object) -> None:
            call.reply = {"inputResponses": {name: reply}, "requestState": result["requestState"]}
            self._worker.do(lambda: self._with_memory(call))

        call.question = self._questions.next()
        self._questions.ask(call.question, asked["params"], then, self._pulse(call))
        if call.cancelled:  # Since it was looked at last.
            self._questions.withdraw(call.question)

    def _noticed(self, result: Object) -> Object:
        """The first answer of a tool, followed by a notice for the person."""
        said, self._notice = self._notice(), str
        return {**result, "content": result["content"] + methods.texts(said)} if said else result

    def _memory(self, session: str, meta: Object) -> Memory:
        """The memory of a session. One that no client names may be that of the client's hooks."""
        from commonplace.doors import caller

        memory = self._worker.memory(session, group_of(meta))
        if session == self._own_session:
            hooked = caller.noted_session(memory.notes, self._above)
            memory = memory.for_session(hooked, main=memory.main) if hooked else memory
        said = meta.get(versions.CLIENT_KEY)
        memory.client = self.client or methods.client_of({"clientInfo": said})
        caller.mark_tainted(memory, taint_of(meta))
        return memory

    @cached_property
    def _above(self) -> list[str]:
        """The processes above this one, among them the client's."""
        from commonplace.doors.processes import keys_above

        return list(keys_above())

    def _pulse(self, call: PendingRequest) -> AbstractContextManager[None]:
        """Progress, every second that the call takes, if its sender asked for it."""
        token = call.message.meta.get("progressToken")
        if jsonrpc.id_of({"id": token}) is None:
            return nullcontext()

        def beat(_: int) -> None:
            if not call.cancelled:
                call.beats += 1
                said = f"Still at work after {call.beats} s"
                params = {"progressToken": token, "progress": call.beats, "message": said}
                self.send(jsonrpc.notification("notifications/progress", params))

        return Pulse(beat, seconds=PULSE_SECONDS)


class PendingRequest:
    """A request, the era it is of, and where its answer goes."""

    __slots__ = (
        *("beats", "cancelled", "deliver", "message"),
        *("question", "reply", "stateless"),
    )

    def __init__(self, message: RpcMessage, deliver: Deliver, *, stateless: bool) -> None:
        self.message = message
        self.deliver = deliver
        self.stateless = stateless
        self.cancelled = False
        self.beats = 0
        self.question: jsonrpc.Id = None
        """The question that was sent for it last."""
        self.reply: Object = {}
        """What a call that is made again brings along: the answer to that question."""

    def answer(self, work: Callable[[], Object], *, ask: Ask | None = None) -> bool:
        """Do the work and deliver what comes of it, unless the client has lost interest.

        What comes of it in an era with a handshake may be a question, which `ask` is given.
        Returns whether something was delivered.
        """
        answer = None if self.cancelled else self._answered(work)
        result: Object = {} if self.cancelled or not answer else answer.get("result", {})
        if ask and not self.stateless and versions.is_question(result):
            ask(self, result)
            return False
        self.deliver(None if self.cancelled else answer)
        return True

    def _answered(self, work: Callable[[], Object]) -> Object:
        method, id = self.message.method, self.message.id
        try:
            result = work()
            return jsonrpc.success(
                id, versions.stamped(method, result) if self.stateless else result
            )
        except Exception as error:
            fault = jsonrpc.fault_of(error)
            return jsonrpc.failure(id, versions.stateless_fault(fault) if self.stateless else fault)


class MemoryThread:
    """One thread that opens the memory when a job asks for it, and closes it at the end."""

    def __init__(self, open_memory: Callable[[str], Memory], *, first: Job) -> None:
        self._open_memory = open_memory
        self._first = first
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._memories: dict[tuple[str, str], Memory] = {}
        self._hurried = False
        self._thread = threading.Thread(target=self._work, name="memory", daemon=True)

    def begin(self) -> None:
        """Start with the first job, unless that was done already."""
        if self._thread.ident is None:
            self._thread.start()

    def do(self, job: Job) -> None:
        self._jobs.put(job)

    def end(self) -> None:
        """Finish the jobs in the queue, then close the memory and end."""
        self._jobs.put(None)
        self.begin()

    def hurry(self) -> None:
        """End after the job that is being done."""
        self._hurried = True

    def has_ended(self, *, within: float) -> bool:
        """Wait that many seconds at most for the end."""
        self._thread.join(within)
        return not self._thread.is_alive()

    def memory(self, session: str, group: str = "") -> Memory:
        """The memory of a session. Only jobs may ask for it: it belongs to their thread.

        `group` is the one that its client names; empty: that of the server.
        """
        memory = self._memories.pop((session, group), None) or self._opened(session, group)
        self._memories[session, group] = memory
        while len(self._memories) > OPEN:
            self._memories.pop(next(iter(self._memories))).close()
        return memory

    def _opened(self, session: str, group: str) -> Memory:
        memory = self._open_memory(session)
        memory.for_agents = True
        memory.group = group or memory.group
        return memory

    def _work(self) -> None:
        try:
            self._first()
            while (job := self._jobs.get()) and not self._hurried:
                job()
        finally:
            for memory in self._memories.values():
                memory.close()


class Pulse:
    """Calls `beat` with 1, 2, 3 … every so many seconds while its block is at work."""

    def __init__(self, beat: Callable[[int], None], *, seconds: float) -> None:
        self._beat = beat
        self._seconds = seconds
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="pulse", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _tick(self) -> None:
        count = 1
        while not self._done.wait(self._seconds):
            self._beat(count)
            count += 1
