"""Processes that answer calls: Python computes on one core a process.

They are forked before anything runs and share no memory with the gateway but what was there then;
a pair of sockets carries calls and answers, one at a time. When its gateway is gone, a worker ends
by itself. It does not know HTTP, nor what a call does.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import traceback
from collections.abc import Iterable
from contextlib import suppress
from socket import socket, socketpair
from time import sleep

from commonplace.clock import monotonic
from commonplace.doors.http.answers import BROKEN, Ready, problem
from commonplace.doors.http.calls import Call, answer
from commonplace.doors.http.vaults import Vaults
from commonplace.hints import Any, NoReturn

MOST = 4
"""How many there are at most unless somebody asks for more."""
PATIENCE = 3.0
"""Seconds that a worker has to finish what it does when the gateway ends."""
SIZE = 4
"""Bytes before each message that say how long it is."""
GARBAGE = 50_000
"""Objects made before Python looks for circles among them: a search makes thousands, and none."""


def usual() -> int:
    """As many as there are cores to compute on; none where one core or no fork is all there is."""
    cores = os.cpu_count() or 1
    return min(cores, MOST) if cores > 1 and hasattr(os, "fork") else 0


class Worker:
    """One process, and our end of the pair."""

    def __init__(self, vaults: Vaults, *, others: Iterable[socket]) -> None:
        self.socket, its = socketpair()
        self.over = False
        self.pid = os.fork()
        if not self.pid:
            # What it does not hold open, nobody waits for.
            for each in (self.socket, *others):
                each.close()
            _live(its, vaults)
        its.close()

    async def connect(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=self.socket)

    async def ask(self, call: Call) -> Ready:
        self._writer.write(_framed(call))
        size = int.from_bytes(await self._reader.readexactly(SIZE), "big")
        found: Ready = pickle.loads(await self._reader.readexactly(size))
        return found

    def end(self) -> None:
        """Let it finish what it does, and wait for it."""
        self.socket.close()
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
        self._idle: asyncio.Queue[Worker] = asyncio.Queue()

    async def connect(self) -> None:
        """Take up the ends of the pairs in the loop that runs now."""
        for worker in self._all:
            await worker.connect()
            self._idle.put_nowait(worker)

    async def ask(self, call: Call) -> Ready | None:
        """A worker's answer, once one has time; None when it is not there any more."""
        # Who asked may go away meanwhile: the answer is taken off the pair all the same.
        return await asyncio.shield(asyncio.ensure_future(self._asked(call)))

    async def _asked(self, call: Call) -> Ready | None:
        worker = await self._idle.get()
        try:
            return None if worker.over else await worker.ask(call)
        except (OSError, EOFError):
            worker.over = True
            return None
        finally:
            self._idle.put_nowait(worker)

    def __len__(self) -> int:
        return len(self._all)

    def close(self) -> None:
        while self._all:
            self._all.pop().end()


def _live(its: socket, vaults: Vaults) -> NoReturn:
    """Answer calls until the other end is closed."""
    # Ctrl+C goes to all of them: the gateway says when it is over.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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


def _answered(vaults: Vaults, call: Call) -> Ready:
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
