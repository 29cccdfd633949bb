"""What looking a vault over and recalling from memory cost, beside the bare operation in one run.

python bench/upkeep_scan.py [--records 10000,100000] [--only scan,recall]
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import upkeep
from commonplace.memory import Memory
from commonplace.upkeep.scan import KINDS, ScannedVault
from core import filled, sentence


def timed(work: Callable[[], object]) -> float:
    """Seconds of the processor, which a busy machine does not change much."""
    started = time.process_time()
    work()
    return time.process_time() - started


def typical(work: Callable[[], object], rounds: int) -> float:
    return sorted(timed(work) for _ in range(rounds))[rounds // 2]


def scan(root: Path, count: int) -> None:
    """A whole scan, then its parts, each on what those before it have read already."""
    upkeep.filled(root, count)
    with Memory.open(root, "native", create=True) as memory:
        memory.library.refresh()
        print(f"scan of {count:,}: {timed(memory.scan):.1f} s of the processor, of which")
        parts = list[tuple[str, float]]()
        gc.disable()  # As a scan does.
        started = time.process_time()
        seen = ScannedVault(memory.library, now=memory.clock.now())
        parts.append(("reading the index", time.process_time() - started))
        for kind, find in KINDS.items():
            if kind != "contradiction":  # Looked for in another layout.
                parts.append((kind, timed(lambda find=find: list(find(seen)))))
        gc.enable()
    for name, seconds in sorted(parts, key=lambda part: -part[1]):
        print(f"  {name:<20} {seconds:.2f} s")


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
    print(f"the fingerprint: {typical(memory.library.fingerprint, 201) * 1e3:.3f} ms")


def experiences(memory: Memory) -> None:
    """The first taking in, of the 2,000 newest, and a question."""
    print(f"experiences, first 2,000: {timed(memory.take_in_experiences):.1f} s, ", end="")
    print(f"kept {memory.experiences.count():,}, ", end="")
    print(f"find {typical(lambda: memory.experiences.find('balo item42', 10), 5) * 1e3:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", default="10000,100000")
    parser.add_argument("--only", default="scan,recall")
    arguments = parser.parse_args()
    counts = [int(count) for count in arguments.records.split(",")]
    with tempfile.TemporaryDirectory() as where:
        root = Path(where)
        for count in counts if "scan" in arguments.only else ():
            scan(root / f"scan-{count}", count)
        if "recall" in arguments.only:
            with filled(root / "recall", counts[-1]) as memory:
                recall(memory)
                experiences(memory)


if __name__ == "__main__":
    main()
