"""What encoders cost: open, encode one, encode 10,000, memory: python bench/encoders.py.

Each runs in processes of its own; processor time, the best of three, beside bare operations.
"""

from __future__ import annotations

import subprocess
import sys

ROUNDS = 3
TEXTS = """
import random
chosen = random.Random(1)
known = [''.join(chosen.choices('aeilnorst', k=chosen.randint(2, 9))) for _ in range(8000)]
known += 'the a of to in and is my we for on with tea house work dog music sister'.split() * 150
texts = [' '.join(chosen.choices(known, k=20)) for _ in range(10_000)]
"""
CLOCK = """
from time import process_time as now
import resource
"""
ONE = "What did Caroline say about the adoption agency last summer?"
STATIC = """
from commonplace.search.encoders import static
from commonplace.search.vectors import with_numpy
with_numpy.worth_it = lambda count: {numpy} and count > 16
start = now(); encoder = static.StaticEncoder(); opened = now() - start
"""
HASHED = """
from commonplace.search.encoders.hashed import HashedEncoder
start = now(); encoder = HashedEncoder(); opened = now() - start
"""
MEASURE = f"""
start = now(); encoder.encode_query({ONE!r}); first = now() - start
start = now(); encoder.encode_query({ONE!r}); again = now() - start
start = now(); encoder.encode(texts); many = now() - start
print(opened, first, again, many, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
MINILM = """
from commonplace.search.encoders import minilm
start = now(); encoder = minilm.opened(); opened = now() - start
"""
FEWER = "encode(texts[:200]); many = 50 * (now() - start)"
"""All of them would take minutes."""
BARE = """
start = now(); cut = [text.lower().split() for text in texts]; many = now() - start
print(0, 0, 0, many, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
PROGRAMS = {
    "bare: lower and split": BARE,
    "hashed": HASHED + MEASURE,
    "static": STATIC.format(numpy=False) + MEASURE,
    "static, numpy": STATIC.format(numpy=True) + MEASURE,
    "minilm": MINILM + MEASURE.replace("encode(texts); many = now() - start", FEWER),
}


def main() -> None:
    print("| | open | first question | the next | 10,000 texts of 20 words | memory |")
    print("|---|---|---|---|---|---|")
    for name, program in PROGRAMS.items():
        opened, first, again, many, memory = best(CLOCK + TEXTS + program)
        print(
            f"| {name} | {1e3 * opened:.2f} ms | {1e3 * first:.2f} ms | {1e3 * again:.2f} ms | "
            f"{many:.2f} s | {memory:.0f} MB |"
        )


def best(program: str) -> list[float]:
    runs = [
        [float(each) for each in subprocess.check_output([sys.executable, "-c", program]).split()]
        for _ in range(ROUNDS)
    ]
    return [min(column) for column in zip(*runs)]


if __name__ == "__main__":
    main()
