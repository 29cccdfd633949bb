"""What the core costs here beside another checkout, in instructions of the processor.

    python bench/against.py DIRECTORY [--only store,search,…] [--rounds 2]

Each row of `bench/core.py` is run under `valgrind` by both checkouts in turn, with a fixed hash
seed. What else the machine does changes no count, so it may run on a busy one. A count of one
operation is the difference of a long and a short run, divided: starting Python is not in it. The
waits for the disk are not in it either. The exit code is 1 when a row is over `--mark` (1.1).
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ENVIRON = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
MILLION = 1e6
SIZE = 3_000
"""Records of the vaults that are searched."""

START = """
import inspect, random, sys
sys.path.insert(0, sys.argv[3])
from core import WORDS, sentence
from commonplace.search.index import Query
from commonplace.memory import Memory

root, count = sys.argv[1], int(sys.argv[2])
may_create = "create" in inspect.signature(Memory.open).parameters
memory = Memory.open(root, **({"create": True} if may_create else {}))
chance = random.Random(count)
"""
FILL = """
memory.store_all({"text": sentence(chance), "kind": "fact"} for _ in range(count))
memory.rebuild()
memory.close()
"""
STORE = """
# The same text twice would be stored once.
there = memory.count()
for number in range(there, there + count):
    memory.store(f"{sentence(chance)} {number}", kind="fact")
memory.close()
"""
SEARCH = """
for number in range(count):
    words = chance.sample(WORDS[20:], WORDS_BESIDE)
    memory.library.index.search(Query(text=" ".join([f"item{chance.randrange(5000)}", *words])))
memory.close()
"""
REBUILD = """
for number in range(count):
    memory.library.rebuild(lambda done, total: None)
memory.close()
"""
LOOPS = {
    "store at 1,000 records": (1_000, STORE, 20, 120),
    "search one rare word": (SIZE, SEARCH.replace("WORDS_BESIDE", "0"), 10, 60),
    "search three words": (SIZE, SEARCH.replace("WORDS_BESIDE", "3"), 10, 60),
    "search six words": (SIZE, SEARCH.replace("WORDS_BESIDE", "6"), 10, 60),
    "rebuild of 1,000 records": (1_000, REBUILD, 1, 3),
}
COLD = {"cold search": ("search", "item42 balo"), "cold brief": ("brief",)}


class Checkout:
    """One of the two, with vaults that it filled itself."""

    def __init__(self, directory: Path, vaults: Path) -> None:
        self.environ = {**ENVIRON, "PYTHONPATH": str(directory / "src"), "HOME": str(vaults)}
        self.vaults = vaults
        compiled = [sys.executable, "-m", "compileall", "-q", str(directory / "src")]
        subprocess.run(compiled, check=True, stdout=subprocess.DEVNULL)

    def vault(self, size: int) -> str:
        """A vault with that many records."""
        path = self.vaults / str(size)
        if not path.exists():
            path.mkdir(parents=True)
            self._run(self._python(START + FILL, path, size))
        return str(path)

    def loop(self, size: int, code: str, few: int, many: int) -> float:
        """Instructions of one turn of a loop."""
        root = self.vault(size)
        runs = [self._python(START + code, root, count) for count in (few, many)]
        short, long = map(self._count, runs)
        return (long - short) / (many - few)

    def cold(self, words: tuple[str, ...]) -> float:
        """Instructions of a whole command."""
        ours = [sys.executable, "-m", "commonplace", "--vault", self.vault(SIZE), *words]
        return self._count(ours)

    def _python(self, code: str, *given: object) -> list[str]:
        return [sys.executable, "-c", code, *map(str, given), str(HERE / "bench")]

    def _count(self, words: list[str]) -> float:
        said = self._run([*VALGRIND, *words])
        found = re.search(r"I\s+refs:\s+([\d,]+)", said)
        assert found is not None, said
        return float(found[1].replace(",", ""))

    def _run(self, words: list[str]) -> str:
        done = subprocess.run(words, env=self.environ, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stderr


def measured(checkout: Checkout, name: str) -> float:
    return checkout.loop(*LOOPS[name]) if name in LOOPS else checkout.cold(COLD[name])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the checkout to compare with")
    parser.add_argument("--only", default="", help="rows that have this in their name")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--mark", type=float, default=1.1)
    given = parser.parse_args()
    over = 0
    with tempfile.TemporaryDirectory() as directory:
        here = Checkout(HERE, Path(directory) / "here")
        there = Checkout(given.other.resolve(), Path(directory) / "there")
        for name in (name for name in (*LOOPS, *COLD) if given.only in name):
            rounds = [(measured(here, name), measured(there, name)) for _ in range(given.rounds)]
            ours, theirs = (min(each) for each in zip(*rounds))
            ratio = ours / theirs
            over += ratio > given.mark
            print(
                f"{name:>26}: {ours / MILLION:9.3f} million here, {theirs / MILLION:9.3f} there, "
                f"ratio {ratio:.3f}{' OVER' if ratio > given.mark else ''}",
                flush=True,
            )
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
