"""What the MCP door costs: time to the first answers, a call's round trip, memory.

Next to bare Python and to a server of the official SDK with one tool (`pip install 'mcp>=2'`).

    python bench/mcp.py [--rounds 15] [--calls 500]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

DOOR = """
import sys
from commonplace.doors.mcp.stdio import run

def open_memory(session):
    from commonplace.memory import Memory
    return Memory.open(sys.argv[1], session=session)

sys.exit(run(open_memory, "native", "bench"))
"""
SDK = """
from mcp.server import MCPServer

server = MCPServer("bench")

@server.tool()
def search(query: str = "") -> str:
    "Search."
    return query

server.run("stdio")
"""
CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
CALL = {"name": "search", "arguments": {"query": "tea"}}
REFUSED = {"name": "search", "arguments": {"limit": "none"}}
"""A call that goes the whole way and has no work at its end."""
TRIPS = ("ping", "call", "refused")
"""Measured by many calls, in the last round only."""
Figures = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rounds", type=int, default=15, help="starts of each server")
    parser.add_argument("--calls", type=int, default=500, help="calls for the round trip")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "vault"
        fill(root)
        report(measure(root, environment(Path(place)), options), own_work(root, options.calls))
    return 0


def environment(place: Path) -> dict[str, str]:
    """As installed: with compiled modules, but none left in the working copy."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"PYTHONPYCACHEPREFIX": str(place / "compiled")}


def fill(root: Path) -> None:
    from commonplace.memory import Memory

    with Memory.open(root, create=True) as memory:
        memory.store_all(
            {"text": f"Fact {number} about tea", "kind": "fact"} for number in range(200)
        )


def own_work(root: Path, calls: int) -> float:
    """Milliseconds that a search takes without any door."""
    from commonplace import tools
    from commonplace.memory import Memory

    with Memory.open(root, create=True) as memory:
        search = tools.table("native")["search"]
        return timed(lambda: search.call(memory, {"query": "tea"}), calls)


def timed(work: Callable[[], Any], times: int) -> float:
    spent = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return median(spent) * 1e3


def measure(
    root: Path, environ: dict[str, str], options: argparse.Namespace
) -> dict[str, list[Figures]]:
    """Every round starts each of them once, so that a busy moment hits all alike."""
    servers = {
        "bare": [sys.executable, "-c", "pass"],
        "commonplace mcp": [sys.executable, "-m", "commonplace", "--vault", str(root), "mcp"],
        "the door alone": [sys.executable, "-c", DOOR, str(root)],
        "the SDK": [sys.executable, "-c", SDK],
    }
    found: dict[str, list[Figures]] = {name: [] for name in servers}
    for number in range(options.rounds + 1):
        for name, words in list(servers.items()):
            calls = options.calls if number == options.rounds else 1
            figures = bare(words, environ) if name == "bare" else started(words, environ, calls)
            if figures is None:
                print(f"{name}: it does not start, and is left out")
                del servers[name]
            elif number:  # The first round compiles.
                found[name].append(figures)
    return found


def bare(words: list[str], environ: dict[str, str]) -> Figures:
    return {"start": timed(lambda: subprocess.run(words, env=environ, check=True), 1)}


def started(words: list[str], environ: dict[str, str], calls: int) -> Figures | None:
    """One start: milliseconds to each answer, of a ping and of a call, and megabytes at the end."""
    begun = time.perf_counter()
    with Child(words, environ) as child:
        if not child.ask("initialize", CLIENT):
            return None
        first = time.perf_counter()
        child.tell("notifications/initialized")
        child.ask("tools/list", {})
        listed = time.perf_counter()
        child.ask("tools/call", CALL)  # Opens the vault.
        return {
            "start": (first - begun) * 1e3,
            "tools": (listed - begun) * 1e3,
            "ping": timed(lambda: child.ask("ping", {}), calls),
            "call": timed(lambda: child.ask("tools/call", CALL), calls),
            "refused": timed(lambda: child.ask("tools/call", REFUSED), calls),
            "memory": resident(child.process.pid),
        }


class Child:
    """A server in a process of its own."""

    def __init__(self, words: list[str], environ: dict[str, str]) -> None:
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        self.process = subprocess.Popen(words, env=environ, stdin=pipe, stdout=pipe, stderr=nowhere)
        assert self.process.stdin
        assert self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def tell(self, method: str, **rest: Any) -> None:
        self.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, **rest}).encode() + b"\n")
        self.stdin.flush()

    def ask(self, method: str, params: Any) -> bytes:
        self.tell(method, id=1, params=params)
        return self.stdout.readline()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return float("nan")
    [line] = [line for line in status.read_text().split("\n") if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def report(found: dict[str, list[Figures]], work: float) -> None:
    middle = {
        name: {key: median(each[key] for each in rounds) for key in rounds[0]}
        | {key: rounds[-1][key] for key in TRIPS if key in rounds[-1]}
        for name, rounds in found.items()
        if rounds
    }
    base = middle.pop("bare")["start"]
    print(f"{'':16} {'first answer':>20} {'tools/list':>12} {'ping':>9} {'call':>9} {'RSS':>8}")
    print(f"{'bare Python':16} {base:>9.1f} ms {'(1.0 x)':>8}")
    for name, each in middle.items():
        ratio = f"({each['start'] / base:.1f} x)"
        print(
            f"{name:16} {each['start']:>9.1f} ms {ratio:>8} {each['tools']:>9.1f} ms"
            f" {each['ping']:>6.2f} ms {each['call']:>6.2f} ms {each['memory']:>5.0f} MB"
        )
    print(f"The search itself takes {work:.2f} ms without a door.")
    judge(middle, base)


def judge(middle: dict[str, Figures], base: float) -> None:
    """How the figures stand to the targets."""
    ours = middle.get("commonplace mcp") or middle["the door alone"]
    start, over = ours["start"] / base, ours["refused"]
    verdicts = [(f"first answer at most 4 x bare Python: {start:.1f} x", start <= 4)]
    if "the SDK" in middle:
        ratio = middle["the SDK"]["start"] / ours["start"]
        verdicts.append((f"first answer 10 x faster than the SDK's: {ratio:.1f} x", ratio >= 10))
    verdicts.append((f"a call costs under 1 ms beside its own work: {over:.2f} ms", over < 1))
    for sentence, good in verdicts:
        print("ok  " if good else "miss", sentence)


if __name__ == "__main__":
    sys.exit(main())
