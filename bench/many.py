"""What the flat file of codes gives past 100,000 vectors, in one run with and without it.

python bench/many.py [--records 200000] [--keep DIRECTORY]

Vectors are random, 256 dimensions: comparing does not depend on what they mean. Every figure is
from processes of its own that take turns, those with the file and those without.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from commonplace.model.records import Record
from commonplace.model.signature import Known, Signature
from commonplace.search.index import Asked, Query
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.search.vectors import table, with_numpy

DIM = 256
MODEL = "random"
BATCH = 20_000
ROUNDS = 5
QUESTIONS = 40
CHANGES = 20
# As a vector does that is kept or dropped: its page is made anew, in another state.
SOME_PAGES = "SELECT state, page FROM codes ORDER BY random() LIMIT ?"
CHANGED_PAGE = "UPDATE codes SET state = ? WHERE page = ?"
CHANGED_MODEL = "UPDATE models SET state = random()"


def opened(path: Path) -> SqliteIndex:
    return SqliteIndex(path, rank=lambda document: (0, document))


def filled(path: Path, count: int) -> float:
    """An index of so many vectors; the share of the time that writing the flat file took."""
    index = opened(path)
    with index.anew():
        entries = [(_record(number), number + 1) for number in range(count)]
        index.put("MEMORY.md", entries, known=Known(Signature(1, 1, 1), count, 1))
    writing, flatten = 0.0, table.flatten

    def timed(*arguments: object) -> None:
        nonlocal writing
        before = time.perf_counter()
        flatten(*arguments)  # type: ignore[arg-type]
        writing += time.perf_counter() - before

    table.flatten = timed  # type: ignore[assignment]
    chance, started = random.Random(1), time.perf_counter()
    while waiting := index.unembedded(MODEL, dim=DIM, limit=BATCH)[0]:
        rows = [(key, chance.randbytes(DIM), 1200.0) for key, _ in waiting]
        index.embed(MODEL, dim=DIM, rows=rows)
    index.close()
    return writing / (time.perf_counter() - started)


def _record(number: int) -> Record:
    return Record(
        id=f"mem-{number:07}", kind="fact", timestamp="2026-11-16T00:00:00Z", text=f"text {number}"
    )


def asked(chance: random.Random) -> Asked:
    return Asked(MODEL, chance.randbytes(DIM), 1200.0)


def milliseconds(index: SqliteIndex, chance: random.Random) -> float:
    question = asked(chance)
    before = time.perf_counter()
    index.nearest(question, Query(limit=10))
    return 1000 * (time.perf_counter() - before)


def asking(path: Path, *, by_numpy: bool, mapped: bool) -> dict[str, float]:
    """A process that asks: first, again, and after changes of another's."""
    if by_numpy:
        with_numpy.load()
    if not mapped:
        table.Nearest._flat = lambda *_: None  # type: ignore[assignment, method-assign]
    index, chance = opened(path), random.Random(2)
    empty = _own_megabytes()
    first = milliseconds(index, chance)
    again = [milliseconds(index, chance) for _ in range(QUESTIONS if by_numpy else 1)]
    own = _own_megabytes() - empty
    changed = after_changes(path, index, chance) if by_numpy else [0.0]
    index.close()
    return {
        "first question, ms": first,
        "a question, ms": statistics.median(again),
        "after a change, ms": statistics.median(changed),
        "memory of its own, MB": own,
    }


def after_changes(path: Path, index: SqliteIndex, chance: random.Random) -> list[float]:
    """What a question takes after each of some changes, all of which are undone in the end."""
    other = sqlite3.connect(path, isolation_level=None)
    pages = other.execute(SOME_PAGES, (CHANGES,)).fetchall()
    took = []
    for _, page in pages:
        other.execute(CHANGED_PAGE, (chance.getrandbits(60), page))
        other.execute(CHANGED_MODEL)
        took.append(milliseconds(index, chance))
    other.executemany(CHANGED_PAGE, pages)
    other.execute(CHANGED_MODEL)
    other.close()
    return took


def _own_megabytes() -> float:
    """What no file stands behind, so that processes cannot share it."""
    for line in Path("/proc/self/smaps_rollup").read_text().splitlines():
        if line.startswith("Anonymous:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no such line")


def told(path: Path, ways: dict[str, list[str]]) -> None:
    """Medians of processes that take turns."""
    found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, flags in ways.items():
            command = [sys.executable, __file__, "--ask", str(path), *flags]
            found[way].append(json.loads(subprocess.check_output(command)))
    for figure in found["without"][0]:
        one, other = (
            statistics.median(each[figure] for each in found[way]) for way in ("mapped", "without")
        )
        if other:
            print(f"  {figure}: {one:.2f}, without the file {other:.2f}, ratio {one / other:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--keep", default="", help="directory to fill once and use again")
    parser.add_argument("--ask", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--numpy", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--mapped", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.ask:
        figures = asking(arguments.ask, by_numpy=arguments.numpy, mapped=arguments.mapped)
        print(json.dumps(figures))
        return
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments.keep or temporary)
        root.mkdir(exist_ok=True)
        path = root / f"many-{arguments.records}.db"
        if not path.exists():
            share = filled(path, arguments.records)
            print(f"writing the file while vectors are kept: {100 * share:.1f} % of the time")
        [file] = root.glob(f"{path.name}-codes-*")
        size = path.stat().st_size
        print(f"the file: {file.stat().st_size / 1e6:.1f} MB beside {size / 1e6:.0f} of the index")
        print("with numpy:")
        told(path, {"mapped": ["--numpy", "--mapped"], "without": ["--numpy"]})
        print("without it:")
        told(path, {"mapped": ["--mapped"], "without": []})


if __name__ == "__main__":
    main()
