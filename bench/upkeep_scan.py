"""What looking a vault over and recalling from memory cost, beside the bare operation in one run.

python bench/upkeep_scan.py [--records 100000]
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from commonplace.memory import Memory
from commonplace.upkeep.scan import KINDS
from core import filled, sentence


def timed(work: Callable[[], object]) -> float:
    """Seconds of the processor, which a busy machine does not change much."""
    started = time.process_time()
    work()
    return time.process_time() - started


def typical(work: Callable[[], object], rounds: int) -> float:
    return sorted(timed(work) for _ in range(rounds))[rounds // 2]


def scan(memory: Memory, count: int) -> None:
    """All kinds, and each by itself, against reading every document once."""
    library = memory.library
    names = list(library.vault.listing().documents)
    parse = timed(lambda: [library.parse(name, library.text(name)[0]) for name in names])
    whole = timed(memory.scan)
    print(
        f"scan of {count:,}: {whole:.1f} s, "
        f"parsing its documents {parse:.1f} s, {whole / parse:.1f} x"
    )
    for kind in KINDS:
        print(f"  {kind:<15} {timed(lambda kind=kind: memory.scan(kind)):.2f} s")


def recall(memory: Memory) -> None:
    """A question asked again, against one asked for the first time."""
    chance = random.Random(5)
    questions = [sentence(chance) for _ in range(30)]
    memory.recall(questions[0])
    time.sleep(0.1)
    first = [timed(lambda q=q: memory.recall(q)) for q in questions[1:]]
    again = [timed(lambda q=q: memory.recall(q)) for q in questions[1:]]
    one, other = sorted(first)[14], sorted(again)[14]
    print(
        f"recall of 3,000 vectors: {one * 1e3:.2f} ms, "
        f"again {other * 1e3:.3f} ms, {one / other:.0f} x"
    )
    print(f"a glance: {typical(memory.library.glance, 201) * 1e3:.3f} ms")


def experiences(memory: Memory) -> None:
    """The first taking in, of the 2,000 newest, and a question."""
    print(f"experiences, first 2,000: {timed(memory.take_in_experiences):.1f} s, ", end="")
    print(f"kept {memory.experiences.count():,}, ", end="")
    print(f"find {typical(lambda: memory.experiences.find('balo item42', 10), 5) * 1e3:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    count = parser.parse_args().records
    with tempfile.TemporaryDirectory() as where, filled(Path(where), count) as memory:
        scan(memory, count)
        recall(memory)
        experiences(memory)


if __name__ == "__main__":
    main()
