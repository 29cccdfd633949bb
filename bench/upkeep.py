"""What upkeep costs: a window on each store, and a compaction beside stores.

python bench/upkeep.py [--records 100000] [--only window,compact,served]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.upkeep.compaction.plan import last_report
from commonplace.upkeep.schedule import Run

DAY = 86_400_000_000_000
COMPACTING = """
import resource, sys, time
from contextlib import contextmanager
from commonplace.doors.cli.main import main
from commonplace.storage.locks import Lock

holds, held = [], Lock.held

@contextmanager
def timed(lock):
    with held(lock):
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        if lock.path.endswith("/lock"):
            holds.append((time.perf_counter() - wall, time.process_time() - cpu))

Lock.held = timed
main(sys.argv[1:])
print(max(wall for wall, _ in holds), max(cpu for _, cpu in holds), len(holds))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""A compaction that tells how long it held the vault's lock, and its memory."""
NAMES = ["Anna", "Bert", "Chiara", "Deniz", "Emil", "Fatima", "Georg", "Hana"]
THINGS = ["the heating", "the invoice", "the garden", "the API", "the report", "the trip"]
DEEDS = ["talked about", "decided on", "postponed", "finished", "asked for", "paid for"]


def turn(chance: random.Random, number: int) -> str:
    """A turn summary as an agent writes it."""
    who, what, did = (chance.choice(words) for words in (NAMES, THINGS, DEEDS))
    return (
        f"The user and {who} {did} {what} of project {chance.randrange(400)}; "
        f"step {number} costs {chance.randrange(5000)} euro and is due in week {number % 52}."
    )


def filled(root: Path, count: int, *, days: int = 400) -> None:
    """A vault with that many turn summaries, spread over the year before last month."""
    chance, batch = random.Random(11), 2000
    for start in range(0, count, batch):
        ago = (40 + days * (count - start) / count) * DAY
        clock = Clock(zone="UTC", now_ns=lambda ago=ago: time.time_ns() - int(ago))
        session = f"s-{start // batch % 50}"
        with Memory.open(root, "native", session, clock=clock, create=True) as memory:
            memory.store_all(
                {"text": turn(chance, number), "kind": "turn-summary"}
                for number in range(start, min(start + batch, count))
            )


def window(root: Path) -> None:
    """One store with a full window against one without, turn by turn."""
    for limit in (100, 1000, 10_000):
        chance = random.Random(3)
        plain = Memory.open(root / f"plain-{limit}", "native", create=True)
        bound = Memory.open(
            root / f"bound-{limit}", "native", memory_max_records=limit, create=True
        )
        for memory in (plain, bound):
            memory.store_all({"text": turn(chance, n), "kind": "note"} for n in range(limit))
        ours, bare = [], []
        for number in range(limit // 4 + 300):
            for memory, times in ((bound, ours), (plain, bare)):
                started = time.perf_counter()
                memory.store(turn(chance, number))
                times.append(time.perf_counter() - started)
        one, other = statistics.fmean(ours), statistics.fmean(bare)
        print(
            f"store in a full window of {limit:,} records: mean {one * 1e3:.2f} ms, without "
            f"{other * 1e3:.2f} ms, ratio {one / other:.2f}; p99 {at(ours, 0.99) * 1e3:.1f} ms, "
            f"longest {max(ours) * 1e3:.1f} ms"
        )
        plain.close()
        bound.close()


def at(times: list[float], share: float) -> float:
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]


def stores(memory: Memory, *, until: Callable[[list[float]], bool], pause: float) -> list[float]:
    """How long each of some evenly spaced stores takes, from when it was due."""
    times: list[float] = []
    due = time.perf_counter()
    while until(times):
        time.sleep(max(0.0, due - time.perf_counter()))
        memory.store(f"Stored beside it, number {len(times)}", kind="note")
        times.append(time.perf_counter() - due)
        due = max(due + pause, time.perf_counter()) if pause else time.perf_counter()
    return times


def compact(root: Path, count: int) -> None:
    """A whole run in a process of its own, while this one goes on storing 50 times a second."""
    vault = root / f"compact-{count}"
    if not vault.exists():
        filled(vault, count)
    with Memory.open(vault, "native", create=True) as memory:
        memory.search("warm")
        alone = stores(memory, until=lambda times: len(times) < 300, pause=0.02)
        words = [sys.executable, "-c", COMPACTING, "--vault", str(vault), "compact", "--force"]
        started = time.perf_counter()
        child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=os.environ)
        beside = stores(memory, until=lambda _: child.poll() is None, pause=0.02)
        took = time.perf_counter() - started
        said, _ = child.communicate()
        report = last_report(memory.notes)
    text, lock, peak = said.strip().rsplit("\n", 2)
    wall, cpu, count = map(float, lock.split())
    print(text)
    if report is None or report.status != "done":
        raise SystemExit("the compaction did not end well")
    print(
        f"compaction of {report.compacted:,} records: {took:.1f} s (mark 60), "
        f"{int(peak) / 1024:.0f} MB (mark 500), {report.summaries:,} summaries"
    )
    print(
        f"the vault's lock: held {count:.0f} times, at the longest {wall * 1e3:.0f} ms, of the "
        f"processor {cpu * 1e3:.0f} ms"
    )
    told(alone, beside)


def served(root: Path, count: int) -> None:
    """Stores of a process that serves while its schedule compacts, as the gateway has it done."""
    vault = root / f"served-{count}"
    if not vault.exists():
        filled(vault, count)
    options = {"memory_compaction_enabled": True, "memory_compaction_schedule": "1h"}
    with Memory.open(vault, "native", **options, create=True) as memory:
        memory.search("warm")
        alone = stores(memory, until=lambda times: len(times) < 300, pause=0.02)
        schedule = memory.schedule(elsewhere=True)
        ran: list[Run] = []
        started = time.perf_counter()
        loop = threading.Thread(target=schedule.loop, kwargs={"after": ran.append})
        loop.start()
        beside = stores(memory, until=lambda _: not ran, pause=0.02)
        took = time.perf_counter() - started
        schedule.stop()
        loop.join()
    print(f"scheduled in a process that serves: {ran[0].outcome} in {took:.1f} s, {ran[0].what}")
    told(alone, beside)


def told(alone: list[float], beside: list[float]) -> None:
    print(
        f"stores beside it: {len(beside):,}, median {statistics.median(beside) * 1e3:.1f} ms, p99 "
        f"{at(beside, 0.99) * 1e3:.1f} ms (mark 50), longest {max(beside) * 1e3:.0f} ms; alone "
        f"median {statistics.median(alone) * 1e3:.1f} ms, p99 {at(alone, 0.99) * 1e3:.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--only", default="window,compact,served")
    parser.add_argument("--keep", default="", help="directory to fill once and use again")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments.keep or temporary)
        root.mkdir(exist_ok=True)
        if "window" in arguments.only:
            window(root)
        if "compact" in arguments.only:
            compact(root, arguments.records)
        if "served" in arguments.only:
            served(root, arguments.records)


if __name__ == "__main__":
    main()
