"""Processes that answer calls: Python computes on one core a process.

They are forked before anything runs and share no memory with the gateway but what was there then;
a pair of sockets carries calls and answers, one at a time. A call goes to a worker that is idle, or
waits its turn. When its gateway is gone, a worker ends by itself. It does not know HTTP, nor what a
call does.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from socket import SHUT_RDWR, socket, socketpair
from time import sleep
from typing import Any, NoReturn

from commonplace.doors.http.calls import Call, ToolCall, Work, answer
from commonplace.doors.http.responses import BROKEN, problem
from commonplace.doors.http.vaults import Vaults
from commonplace.model.clock import monotonic
from commonplace.model.errors import Refused
from commonplace.search.vectors import with_numpy

MOST = 4
"""How many there are at most unless somebody asks for more."""
PATIENCE = 3.0
"""Seconds that a worker has to finish what it does when the gateway ends."""
WAITING = 256
"""Calls that may wait for a worker. To wait behind more takes longer than to ask again."""
NEW = 64
"""Calls in which a worker comes to have at hand what most calls need: rows, vectors, words."""
SIZE = 4
"""Bytes before each message that say how long it is."""
GARBAGE = 50_000
"""Objects made before Python looks for circles among them: a search makes thousands, and none."""


def usual() -> int:
    """As many as there are cores to compute on; none where one core or no fork is all there is."""
    cores = os.cpu_count() or 1
    return min(cores, MOST) if cores > 1 and hasattr(os, "fork") else 0


class Overloaded(Refused):
    """More is asked than the workers can answer."""

    status = 503

    def __init__(self) -> None:
        super().__init__("Too many others wait for an answer.", next_step="Ask again in a second.")


Awaited = asyncio.Future[Any]
"""The answer of a worker; None when it is not there any more."""


class Worker(asyncio.Protocol):
    """One process, and our end of the pair."""

    def __init__(self, vaults: Vaults, *, others: Iterable[socket]) -> None:
        self.socket, its = socketpair()
        self._told = bytearray()
        self.asked = 0
        """How many calls it has had."""
        self._answer: Awaited | None = None
        self._transport: asyncio.Transport | None = None
        self.pid = os.fork()
        if not self.pid:
            # What it does not hold open, nobody waits for.
            for each in (self.socket, *others):
                each.close()
            _live(its, vaults)
        its.close()

    async def connect(
        self, *, idle: Callable[[Worker], None], gone: Callable[[Worker], None]
    ) -> None:
        """Take up our end in the loop that runs now, and say when it is idle and when gone."""
        self._idle, self._gone = idle, gone
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, sock=self.socket)
        idle(self)

    def ask(self, call: Call | ToolCall | Work, answer: Awaited) -> None:
        """Let it answer a call. Whoever waits for that may go away meanwhile."""
        assert self._transport is not None, "it was connected"
        self._answer = answer
        self.asked += 1
        self._transport.write(_framed(call))

    def data_received(self, data: bytes) -> None:
        self._told += data
        # Not even the size is there, or not all that it says.
        if len(self._told) < SIZE + int.from_bytes(self._told[:SIZE].ljust(SIZE, b"\xff"), "big"):
            return
        found = pickle.loads(self._told[SIZE:])
        self._told.clear()
        self._answered(found)
        self._idle(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._gone(self)
        self._answered(None)

    def _answered(self, found: Any) -> None:
        if self._answer and not self._answer.done():
            self._answer.set_result(found)
        self._answer = None

    def end(self) -> None:
        """Let it finish what it does, and wait for it."""
        with suppress(OSError):
            self.socket.shutdown(SHUT_RDWR)
        # The loop, if one has it, has still to let go of it.
        (self._transport or self.socket).close()
        deadline = monotonic() + PATIENCE
        with suppress(ChildProcessError):
            while not os.waitpid(self.pid, os.WNOHANG)[0]:
                if monotonic() > deadline:
                    os.kill(self.pid, signal.SIGKILL)
                sleep(0.01)


class Workers:
    """All of them. With none left, or none from the start, nobody answers."""

    def __init__(self, vaults: Vaults, count: int, *, listener: socket) -> None:
        self._all: list[Worker] = []
        for _ in range(count):
            ours = [worker.socket for worker in self._all]
            self._all.append(Worker(vaults, others=[listener, *ours]))
        self._there: set[Worker] = set()
        self._idle: list[Worker] = []
        self._long: set[Worker] = set()
        """Those that are at a long call."""
        self._waiting: deque[tuple[Call | ToolCall | Work, Awaited]] = deque()

    async def connect(self) -> None:
        """Take up the ends of the pairs in the loop that runs now."""
        for worker in self._all:
            self._there.add(worker)
            await worker.connect(idle=self._has_time, gone=self._is_gone)

    async def ask(self, call: Call | ToolCall | Work) -> Any:
        """A worker's answer, in the order of asking; None when there is nobody to give one.

        Long calls leave one worker, where there are several, to what is quick.
        """
        if not self._there:
            return None
        if len(self._waiting) >= WAITING and (call.long or not self._idle):
            raise Overloaded
        answer: Awaited = asyncio.get_running_loop().create_future()
        self._waiting.append((call, answer))
        self._hand_out()
        return await answer

    def _hand_out(self) -> None:
        """Give those who have time what has waited longest."""
        while self._idle and (found := self._next()):
            call, answer = found
            if not answer.done():
                worker = self._free()
                worker.ask(call, answer)
                if call.long:
                    self._long.add(worker)

    def _free(self) -> Worker:
        """One that is new, so that all of them know the vaults before there is much to do; then the
        last that was at work, which still has at hand what most calls need.
        """
        new = min(self._idle, key=lambda worker: worker.asked)
        worker = new if new.asked < NEW else self._idle[-1]
        self._idle.remove(worker)
        return worker

    def _next(self) -> tuple[Call | ToolCall | Work, Awaited] | None:
        """What has waited longest of what may be begun now."""
        full = len(self._long) >= max(1, len(self._there) - 1)
        for at, waiting in enumerate(self._waiting):
            if not (full and waiting[0].long):
                del self._waiting[at]
                return waiting
        return None

    def _has_time(self, worker: Worker) -> None:
        self._long.discard(worker)
        self._idle.append(worker)
        self._hand_out()

    def _is_gone(self, worker: Worker) -> None:
        """Go on with the others; with none of them, nobody waits any more."""
        self._there.discard(worker)
        self._long.discard(worker)
        self._idle = [each for each in self._idle if each is not worker]
        while self._waiting and not self._there:
            _, answer = self._waiting.popleft()
            if not answer.done():
                answer.set_result(None)
        self._hand_out()

    def __len__(self) -> int:
        return len(self._all)

    def close(self) -> None:
        while self._all:
            self._all.pop().end()


def _live(its: socket, vaults: Vaults) -> NoReturn:
    """Answer calls until the other end is closed."""
    # Ctrl+C goes to all of them: the gateway says when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with_numpy.load()
    gc.freeze()
    gc.set_threshold(GARBAGE)
    try:
        with its, its.makefile("rwb") as pair, suppress(OSError):
            while call := _read(pair):
                pair.write(_framed(_answered(vaults, call)))
                pair.flush()
        vaults.close()
    finally:
        os._exit(0)


def _answered(vaults: Vaults, call: Call | ToolCall | Work) -> Any:
    try:
        return answer(vaults, call)
    except Exception:
        # A fault of ours must not take the process along; the person at the terminal sees it.
        traceback.print_exc()
        return problem(500, BROKEN)


def _framed(message: Any) -> bytes:
    told = pickle.dumps(message)
    return len(told).to_bytes(SIZE, "big") + told


def _read(pair: Any) -> Any:
    """The next message; None at the end."""
    size = pair.read(SIZE)
    return pickle.loads(pair.read(int.from_bytes(size, "big"))) if len(size) == SIZE else None
