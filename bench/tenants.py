"""What a gateway to many tenants costs, beside one to few: python bench/tenants.py [--many 5000].

Each tenant is a profile with ten memories. For few and for many of them, one gateway is started for
all: how long until it answers, how many threads and megabytes it has after 500 tenants were
searched, the first search of a tenant beside its second, and a store and a search of a tenant.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.postgres import new_server

from commonplace.doors.http.access_tokens import AccessTokens, passes_of
from commonplace.memory import Memory
from commonplace.model.clock import Clock

MEMORIES = 10
SEARCHED = 500
ROUNDS = 200
TEXTS = [f"Memory number {number} speaks of tea, trains and the weather" for number in range(10)]


def make(url: str, first: int, count: int) -> None:
    def one(number: int) -> None:
        with Memory.open(f"{url}&profile=tenant-{number}", create=True) as memory:
            memory.store_all([{"text": text, "kind": "fact"} for text in TEXTS[:MEMORIES]])
            memory.search("tea", limit=1)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(first, count)))


class Gateway:
    """A gateway to every tenant, and one connection to it."""

    def __init__(self, url: str, home: str) -> None:
        command = [sys.executable, "-m", "commonplace", "serve", "--tenants", url, "--port", "0"]
        begun = time.perf_counter()
        environ = os.environ | {"HOME": home, "XDG_STATE_HOME": f"{home}/state"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
        assert self.process.stdout
        said = ""
        while not (found := re.search(r"127\.0\.0\.1:(\d+)", said)):
            said += self.process.stdout.readline()
        tokens = AccessTokens(passes_of([url], clock=Clock()), clock=Clock())
        self.token = tokens.add(f"bench {time.time_ns()}", "write")
        tokens.close()
        self.port = int(found[1])
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.ask("GET", "/api/vaults/tenant-0/records?limit=1")
        self.started = time.perf_counter() - begun

    def ask(self, method: str, path: str, body: Any = None) -> float:
        begun = time.perf_counter()
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "host": f"127.0.0.1:{self.port}",
        }
        data = json.dumps(body) if body is not None else None
        self.connection.request(method, path, data, headers)
        answer = self.connection.getresponse()
        said = answer.read()
        assert answer.status < 300, said
        return time.perf_counter() - begun

    def processes(self) -> Iterator[Path]:
        """The gateway and its workers, as the system tells of them."""
        own = str(self.process.pid)
        for status in Path("/proc").glob("[0-9]*/status"):
            text = status.read_text()
            if re.search(rf"^(Pid|PPid):\t{own}$", text, re.MULTILINE):
                yield status

    def size(self) -> tuple[int, float]:
        """Threads and megabytes of the gateway and its workers, shared pages counted once."""
        threads, kilobytes = 0, 0
        for status in self.processes():
            threads += int(re.findall(r"^Threads:\t(\d+)$", status.read_text(), re.MULTILINE)[0])
            rollup = status.with_name("smaps_rollup").read_text()
            kilobytes += int(re.findall(r"^Pss: +(\d+) kB$", rollup, re.MULTILINE)[0])
        return threads, kilobytes / 1024


@contextmanager
def gateway(url: str) -> Iterator[Gateway]:
    with tempfile.TemporaryDirectory() as home:
        made = Gateway(url, home)
        try:
            yield made
        finally:
            made.process.terminate()
            made.process.wait()


def measured(url: str, count: int) -> dict[str, float]:
    with gateway(url) as made:
        search = "/api/vaults/tenant-{}/search?text=tea"
        cold, warm = [], []
        for number in range(1, min(SEARCHED, count - 1) + 1):
            cold.append(made.ask("GET", search.format(number)))
            warm.append(made.ask("GET", search.format(number)))
        threads, megabytes = made.size()
        rounds = [number % count for number in range(ROUNDS)]

        def store(number: int) -> float:
            body = {"text": f"Round {time.time_ns()}"}
            return made.ask("POST", f"/api/vaults/tenant-{number}/records", body)

        return {
            "start, s": made.started,
            "threads": threads,
            "megabytes": megabytes,
            "first search, ms": 1000 * statistics.median(cold),
            "second search, ms": 1000 * statistics.median(warm),
            "store, ms": 1000 * statistics.median(map(store, rounds)),
            "search, ms": 1000
            * statistics.median(made.ask("GET", search.format(number)) for number in rounds),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=100)
    parser.add_argument("--many", type=int, default=5000)
    arguments = parser.parse_args()
    url = f"{new_server('tenants').url()}?schema=tenants"
    made, found = 0, {}
    for count in (arguments.few, arguments.many):
        make(url, made, count)
        made = count
        found[count] = measured(url, count)
    few, many = found.values()
    print(
        f"| | {arguments.few:,} tenants | {arguments.many:,} tenants | ratio |\n|---|---|---|---|"
    )
    for name in few:
        print(f"| {name} | {few[name]:.1f} | {many[name]:.1f} | {many[name] / few[name]:.2f} |")


if __name__ == "__main__":
    main()
