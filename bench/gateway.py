"""What the gateway costs: the first page of a cold one, its assets, and searches under load.

    python bench/gateway.py [--records 10000] [--rates 25,50,100,200] [--seconds 10] [--made] \
        [--sessions 20]

Texts are stretches of Python's own documentation, and so are the questions; with --made they are
drawn from a few syllables, some of which stand in nearly every record. The load is open loop:
requests are sent when they are due, whether or not those before were answered, and a wait counts
from when a request was due. Writes go on meanwhile, ten a second. The load comes from the same
cores, and what it takes of them is told beside. So is how long the machine itself stood still.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import core
import search
from commonplace.memory import Memory

WRITES = 10
OURS = [sys.executable, "-m", "commonplace"]


class Served:
    """A gateway in a process of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        environ = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        add = [*OURS, "token", "add", f"bench {time.time_ns()}", "--scope", "write"]
        made = subprocess.run(add, env=environ, capture_output=True, text=True, check=True)
        self.token = made.stdout.strip()
        begun = time.perf_counter()
        serve = [*OURS, "serve", str(folder / "book"), "--port", "0", *more]
        self.process = subprocess.Popen(serve, env=environ, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = [self.process.stdout.readline() for _ in range(4)]
        [link] = [word for word in " ".join(said).split() if "/login?" in word]
        self.port = int(urlsplit(link).port or 0)
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", "/")
        connection.getresponse().read()
        connection.close()
        self.first_page = time.perf_counter() - begun

    def processor_seconds(self) -> float:
        """Of the gateway and its workers."""
        first = self.process.pid
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return sum(map(_processor_seconds, (first, *map(int, children))))

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


WATCH = """
import os, select, sys, time
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
last, longest = time.perf_counter(), 0.0
while not select.select([sys.stdin], [], [], 0.002)[0]:
    now = time.perf_counter()
    last, longest = now, max(longest, now - last)
print(f"{longest * 1e3:.0f} ms at a time at most")
"""


class Standstill:
    """How long the machine itself stood still: a process that comes before all others sleeps two
    milliseconds at a time and tells its longest sleep. Only root may come first.
    """

    def __init__(self) -> None:
        words, pipe = [sys.executable, "-c", WATCH], subprocess.PIPE
        self._watching = subprocess.Popen(
            words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )

    def told(self) -> str:
        return self._watching.communicate()[0].strip() or "a time that only root can tell"


class Texts(NamedTuple):
    """What is stored and what is asked."""

    fill: Callable[[Path, int], Memory]
    sentence: Callable[[random.Random], str]
    question: Callable[[random.Random], str]


ENGLISH = Texts(search.filled, search.sentence, search.question)
MADE = Texts(
    core.filled, core.sentence, lambda chance: " ".join(core.sentence(chance).split()[-4:])
)


class Client:
    """Requests over connections that are kept, as many as there are answers awaited."""

    def __init__(self, served: Served, sessions: int) -> None:
        self._port, self._token = served.port, served.token
        names = [f"X-Commonplace-Session: bench-{number}\r\n" for number in range(sessions)]
        self._sessions = cycle(names or [""])
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, method: str, path: str, body: bytes = b"") -> int:
        """The status of one request."""
        kind = "Content-Type: application/json\r\n" if body else ""
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n{kind}"
            f"Authorization: Bearer {self._token}\r\n{next(self._sessions)}"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        while True:
            reader, writer = await self._connection()
            writer.write(head.encode() + body)
            try:
                told = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            except (asyncio.IncompleteReadError, ConnectionError):
                # It had been idle for longer than the gateway waits.
                continue
            await reader.readexactly(int(told.split("content-length: ")[1].split("\r\n")[0]))
            self._idle.append((reader, writer))
            return int(told.split()[1])

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._idle:
            return self._idle.pop()
        return await asyncio.open_connection("127.0.0.1", self._port)


async def load(
    served: Served, texts: Texts, rate: int, seconds: int, sessions: int
) -> tuple[list[float], Counter[int]]:
    """How long each search that was answered took from when it was due, and the statuses."""
    client, chance = Client(served, sessions), random.Random(rate)
    waits: list[float] = []
    statuses: Counter[int] = Counter()

    async def search(due: float) -> None:
        words = quote(texts.question(chance))
        status = await client.ask("GET", f"/api/vaults/book/search?text={words}&limit=10")
        statuses[status] += 1
        if status == 200:
            waits.append(time.perf_counter() - due)

    async def write() -> None:
        body = json.dumps({"text": texts.sentence(chance), "kind": "fact"}).encode()
        await client.ask("POST", "/api/vaults/book/records", body)

    async with asyncio.TaskGroup() as running:
        begun = time.perf_counter()
        for number in range(rate * seconds):
            due = begun + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            running.create_task(search(due))
            if number * WRITES // rate != (number - 1) * WRITES // rate:
                running.create_task(write())
    return sorted(waits), statuses


def show_load(served: Served, texts: Texts, rate: int, seconds: int, sessions: int = 0) -> None:
    standstill = Standstill()
    before, begun, ours = served.processor_seconds(), time.perf_counter(), time.process_time()
    waits, statuses = asyncio.run(load(served, texts, rate, seconds, sessions))
    took, spent = time.perf_counter() - begun, served.processor_seconds() - before
    ours = time.process_time() - ours
    median, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    print(
        f"{rate} searches a second: answered {len(waits) / took:.0f} a second, "
        f"p50 {median * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms, "
        f"CPU {spent / len(waits) * 1e3:.1f} ms a search, with {ours / len(waits) * 1e3:.1f} ms "
        f"for asking; {dict(statuses)}; the machine stood still for {standstill.told()}",
        flush=True,
    )


def show_assets() -> None:
    pages = Path(str(files("commonplace.doors.http") / "web"))
    sizes = [
        len(gzip.compress(each.read_bytes(), 9)) for each in pages.rglob("*") if each.is_file()
    ]
    print(f"assets of the page: {len(sizes)} files, {sum(sizes) / 1e3:.0f} KB compressed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rates", default="25,50,100,200")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="where to keep the vault between runs")
    parser.add_argument("--made", action="store_true", help="made texts instead of English")
    parser.add_argument("--sessions", type=int, default=0, help="in whose names it asks, in turn")
    parser.add_argument("--workers", default="", help="as `serve --workers`")
    given = parser.parse_args()
    texts = MADE if given.made else ENGLISH
    more = ("--workers", given.workers) if given.workers else ()
    show_assets()
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        memory = texts.fill(folder / "book", given.records)
        memory.library.engine.embedder.embed_all(lambda done, total: None)
        memory.close()
        firsts = []
        for _ in range(3):
            served = Served(folder, *more)
            firsts.append(served.first_page)
            served.stop()
        print(f"from start to the first page: least of 3 {min(firsts):.2f} s", flush=True)
        served = Served(folder, *more)
        try:
            show_load(served, texts, 20, 4)
            for rate in given.rates.split(","):
                show_load(served, texts, int(rate), given.seconds, given.sessions)
        finally:
            served.stop()


if __name__ == "__main__":
    main()
