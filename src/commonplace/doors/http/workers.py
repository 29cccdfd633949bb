"""The vaults that a gateway serves, and the processes that answer calls to them.

Python computes on one core a process. Workers are forked before anything else runs; a pair of
sockets carries calls and answers, one at a time. A call goes to an idle worker, or waits its turn.
When its gateway is gone, a worker ends by itself. Threads and processes share no memory object: the
vault's locks are made for that. Nothing here knows HTTP, or what a call does.
"""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from socket import SHUT_RDWR, socket, socketpair
from time import sleep
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from msgspec import Struct

from commonplace.doors.caller import mark_tainted
from commonplace.doors.http.responses import BROKEN, problem, problem_of
from commonplace.model.clock import monotonic
from commonplace.model.errors import CommonplaceError, NoSuchVault, NotFound, Refused
from commonplace.model.options import is_url
from commonplace.search.vectors import with_numpy
from commonplace.storage import option_edits

if TYPE_CHECKING:
    from commonplace.memory import Memory

MOST_TOLD = 12
"""Vaults that are named to who asks for another."""
OPEN = 16
"""How many memories a thread keeps open."""
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


class NoSuchName(NotFound):
    """A name that no vault of this gateway has."""

    def __init__(self, name: str, known: Mapping[str, str]) -> None:
        told = ", ".join(islice(known, MOST_TOLD))
        more = " and others" if len(known) > MOST_TOLD else ""
        super().__init__(f"This gateway has no vault {name!r}.", next_step=f"It has {told}{more}.")


class Caller(Struct, frozen=True):
    """For whom a memory is opened: the origin of what they write, and their session and group."""

    origin: str
    session: str = ""
    group: str = ""
    read: str | None = None
    """What the session has read that is untrusted, if its host says so."""


class Held(NamedTuple):
    """A memory that is open, and how the files looked that set its options."""

    memory: Memory
    stand: option_edits.Stand


class Vaults:
    """Vaults by name, opened when they are first asked for, by their path and for an origin."""

    def __init__(self, paths: Mapping[str, str], open_memory: Callable[[str, str], Memory]) -> None:
        self.paths = paths
        self._open = open_memory
        self._local = threading.local()
        self._all: list[Memory] = []
        self._guard = threading.Lock()

    def memory(self, name: str, caller: Caller) -> Memory:
        """The memory of this thread for a caller of a vault.

        All sessions of one origin share one that is open, with what it remembers of its index.
        """
        held: dict[tuple[str, str], Held] = self._local.__dict__.setdefault("held", {})
        found = self._renewed(name, caller.origin, held.pop((name, caller.origin), None))
        held[name, caller.origin] = found
        while len(held) > OPEN:
            self._close(held.pop(next(iter(held))).memory)
        memory = found.memory
        bounded = memory.for_session(caller.session, group=caller.group)
        bounded.bounded = True
        mark_tainted(bounded, caller.read)
        return bounded

    def let_go(self, name: str, caller: Caller) -> None:
        """Close this thread's memory of a vault: it is there no more, or another by its name."""
        held: dict[tuple[str, str], Held] = self._local.__dict__.get("held", {})
        if found := held.pop((name, caller.origin), None):
            self._close(found.memory)

    @property
    def open(self) -> int:
        """How many memories are open in this process."""
        return len(self._all)

    def close(self) -> None:
        for memory in list(self._all):
            memory.stop_upkeep()
        for memory in list(self._all):
            self._close(memory)

    def _renewed(self, name: str, origin: str, held: Held | None) -> Held:
        """What is held, or the vault opened anew where its files set other options by now."""
        if held and held.stand == option_edits.stand(held.memory.root_path):
            return held
        try:
            opened = self._opened(name, origin)
        except CommonplaceError:
            if held is None:
                raise
            # Somebody is in the middle of an edit: what was set before goes on.
            return Held(held.memory, option_edits.stand(held.memory.root_path))
        if held:
            self._close(held.memory)
        return opened

    def path(self, name: str) -> str:
        """Where the vault of this name is."""
        try:
            return self.paths[name]
        except KeyError:
            raise NoSuchName(name, self.paths) from None

    def _opened(self, name: str, origin: str) -> Held:
        path = self.path(name)
        before = option_edits.stand(path)
        memory = self._open(path, origin)
        with self._guard:
            self._all.append(memory)
        is_root = memory.root_path == path
        return Held(memory, before if is_root else option_edits.stand(memory.root_path))

    def _close(self, memory: Memory) -> None:
        with self._guard:
            self._all.remove(memory)
        memory.close()


class Call(Protocol):
    """What a request wants of a vault, apart from HTTP: pickled, so that any process answers it."""

    @property
    def vault(self) -> str: ...

    @property
    def caller(self) -> Caller: ...

    @property
    def long(self) -> bool:
        """Whether it reads everything: quick calls must not wait for several of these."""

    def run(self, memory: Memory) -> Any: ...


class Work(Struct, frozen=True):
    """What another door wants of a vault: done by who has it, and told as that door has it."""

    long = False
    vault: str
    caller: Caller
    deed: Callable[[Memory], Any]

    def run(self, memory: Memory) -> Any:
        return self.deed(memory)


def answer(vaults: Vaults, call: Call) -> Any:
    """What comes of a call; what goes wrong is told in its own words."""
    try:
        try:
            return call.run(vaults.memory(call.vault, call.caller))
        except NoSuchVault:
            vaults.let_go(call.vault, call.caller)
            return call.run(vaults.memory(call.vault, call.caller))
    except CommonplaceError as error:
        return problem_of(error)


def named(paths: Iterable[str]) -> dict[str, str]:
    """A short name for each: its last part or its profile, with a number where two are the same."""
    found: dict[str, str] = {}
    for path in paths:
        base = _last_part(path) or "vault"
        name, number = base, 2
        while name in found:
            name, number = f"{base}-{number}", number + 1
        found[name] = path
    return found


def _last_part(path: str) -> str:
    if not is_url(path):
        return Path(path).expanduser().resolve().name
    from commonplace.postgres.urls import parse_url

    return parse_url(path).profile


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
        self.open = 0
        """How many memories it had open when it answered last."""
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

    def ask(self, call: Call, answer: Awaited) -> None:
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
        found, self.open = pickle.loads(self._told[SIZE:])
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
        self._waiting: deque[tuple[Call, Awaited]] = deque()

    async def connect(self) -> None:
        """Take up the ends of the pairs in the loop that runs now."""
        for worker in self._all:
            self._there.add(worker)
            await worker.connect(idle=self._has_time, gone=self._is_gone)

    async def ask(self, call: Call) -> Any:
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

    def _next(self) -> tuple[Call, Awaited] | None:
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

    @property
    def gone(self) -> int:
        """How many have ended although the gateway runs."""
        return len(self._all) - len(self._there)

    @property
    def states(self) -> dict[str, int]:
        """How many of them do what."""
        idle = len(self._idle)
        return {"busy": len(self._there) - idle, "idle": idle, "gone": self.gone}

    @property
    def waiting(self) -> int:
        """How many calls wait for one."""
        return len(self._waiting)

    @property
    def open(self) -> int:
        """How many memories those have open that are there."""
        return sum(worker.open for worker in self._there)

    def __len__(self) -> int:
        return len(self._all)

    def close(self) -> None:
        while self._all:
            self._all.pop().end()


def _live(its: socket, vaults: Vaults) -> NoReturn:
    """Answer calls until the other end is closed."""
    # Ctrl+C goes to all of them, and so may a stop: the gateway says when it is over.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    with_numpy.load()
    gc.freeze()
    gc.set_threshold(GARBAGE)
    try:
        with its, its.makefile("rwb") as pair, suppress(OSError):
            while call := _read(pair):
                pair.write(_framed((_answered(vaults, call), vaults.open)))
                pair.flush()
        vaults.close()
    finally:
        os._exit(0)


def _answered(vaults: Vaults, call: Call) -> Any:
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
