"""What the core costs, as ratios beside the bare operation in the same run.

python bench/core.py [--records 100000] [--only store,cold,search,rebuild]
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import commonplace
from commonplace.memory import Memory
from commonplace.search.index import Query
from commonplace.search.words import match

BARE = "import json, sqlite3"
WORDS = [
    f"{a}{b}{c}" for a in "bcdfgklmprst" for b in "aeiou" for c in ("n", "r", "st", "lo", "mi")
]


def sentence(chance: random.Random) -> str:
    """About 90 characters with a long-tailed vocabulary, like people's notes."""
    words = [WORDS[min(int(chance.paretovariate(0.6)), len(WORDS)) - 1] for _ in range(12)]
    return " ".join((*words, f"item{chance.randrange(5000)}"))


def filled(root: Path, count: int) -> Memory:
    """A vault with that many records, stored in batches as an import does."""
    memory = Memory.open(root, text_limit=5000, create=True)
    chance, there = random.Random(7), memory.count()
    for start in range(there, count, 2000):
        size = min(2000, count - start)
        memory.store_all({"text": sentence(chance), "kind": "fact"} for _ in range(size))
    # The index and no vectors: a search would have them made beside what is measured next.
    memory.library.refresh()
    # Or the system would write all that down while something else is measured.
    os.sync()
    return memory


def median(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def store(root: Path, counts: tuple[int, int]) -> None:
    """One acknowledged store against one raw append + fsync of the same bytes, turn by turn."""
    ratios = []
    for count in counts:
        with filled(root / f"store-{count}", count) as memory:
            chance = random.Random(1)
            raw = os.open(root / "raw.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            ours, bare = [], []
            for _ in range(400):
                text, before = sentence(chance), memory.library.journal.end()
                started = time.perf_counter()
                memory.store(text, kind="fact")
                ours.append(time.perf_counter() - started)
                data = b"x" * (memory.library.journal.end() - before)
                started = time.perf_counter()
                os.write(raw, data)
                os.fsync(raw)
                bare.append(time.perf_counter() - started)
            os.close(raw)
        one, other = statistics.median(ours), statistics.median(bare)
        ratios.append(one)
        print(
            f"store at {count:>7,} records: {one * 1e3:.3f} ms, raw append + fsync "
            f"{other * 1e3:.3f} ms, ratio {one / other:.2f} (mark 1.5)"
        )
    print(f"store at {counts[1]:,} against {counts[0]:,}: {ratios[1] / ratios[0]:.2f} (mark 1.3)")


def cost(words: Sequence[str], data: str = "") -> tuple[float, float]:
    """Seconds of one run: of the processor, and by the clock on the wall."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, input=data.encode(), stdout=subprocess.DEVNULL, check=True)
    waited, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used, waited


def turn_by_turn(
    runs: Mapping[str, Sequence[str]], rounds: int, said: Callable[[int], str] = lambda number: ""
) -> None:
    """Run the commands in turn and print the least of each beside that of the first.

    What else the machine does falls on all of them; the processor's time hardly feels it.
    """
    # As after an install: pip compiles what it installs.
    compileall.compile_dir(str(Path(commonplace.__file__).parent), quiet=2)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, words in runs.items():
            found[name].append(cost(words, said(number)))
    least = {name: [min(each) for each in zip(*times)] for name, times in found.items()}
    bare = next(iter(least.values()))
    for name, (used, waited) in least.items():
        print(
            f"{name:>27}: processor {used * 1e3:6.1f} ms, {used / bare[0]:4.2f} x; "
            f"waited {waited * 1e3:6.1f} ms, {waited / bare[1]:4.2f} x"
        )


def cold(root: Path, count: int) -> None:
    """Commands from a cold shell against a Python that imports json and sqlite3."""
    vault = root / f"cold-{count}"
    with filled(vault, count) as memory:
        memory.rebuild()  # With a vector for each, as a vault in use has them.
    ours = [str(Path(sys.executable).with_name("commonplace")), "--vault", str(vault)]
    commands = {
        "bare": [sys.executable, "-c", BARE],
        "search": [*ours, "search", "item42 balo"],
        "brief": [*ours, "brief"],
    }
    turn_by_turn(commands, 25)


def search(root: Path, count: int) -> None:
    """Search by words in process against the bare FTS5 query on the same data."""
    with filled(root / f"store-{count}", count) as memory:
        path = memory.state / "index.db"
        db = sqlite3.connect(path)
        chance = random.Random(3)
        for label, size in (("one rare word", 0), ("three words", 3), ("six words", 6)):
            queries = [
                " ".join([f"item{chance.randrange(5000)}", *chance.sample(WORDS[20:], size)])
                for _ in range(40)
            ]
            ours, bare = [], []
            for text in queries:
                sql = "SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rank LIMIT 20"
                started = time.perf_counter()
                db.execute(sql, (match(text),)).fetchall()
                bare.append(time.perf_counter() - started)
                started = time.perf_counter()
                memory.library.index.search(Query(text=text))
                ours.append(time.perf_counter() - started)
            one, other = statistics.median(ours), statistics.median(bare)
            print(
                f"search {label} at {count:,} records: {one * 1e3:.2f} ms, bare FTS5 "
                f"{other * 1e3:.2f} ms, ratio {one / other:.2f} (mark 2)"
            )
        db.close()


def rebuild(root: Path, count: int) -> None:
    """Records a second, one process; their vectors are `bench/search.py`'s row."""
    with filled(root / f"store-{count}", count) as memory:
        started, cpu = time.perf_counter(), time.process_time()
        memory.library.rebuild(lambda done, total: None)
        took, busy = time.perf_counter() - started, time.process_time() - cpu
        print(
            f"rebuild of {count:,} records: {took:.1f} s, {count / took:,.0f} records/s, "
            f"{count / busy:,.0f} a CPU second (mark 20,000)"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--only", default="store,cold,search,rebuild")
    parser.add_argument("--keep", default="", help="directory to fill once and use again")
    arguments = parser.parse_args()
    # So many records are more than one document may have, if nothing else is said.
    os.environ["COMMONPLACE_DOCUMENT_LIMIT"] = "0"
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments.keep or temporary)
        root.mkdir(exist_ok=True)
        for name in arguments.only.split(","):
            if name == "store":
                store(root, (1000, arguments.records))
            elif name == "cold":
                cold(root, 10_000)
            else:
                {"search": search, "rebuild": rebuild}[name](root, arguments.records)


if __name__ == "__main__":
    main()
