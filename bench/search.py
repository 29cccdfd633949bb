"""What finding costs: words, vectors and context in one question, beside the bare operation.

python bench/search.py [--records 10000,100000] [--keep DIRECTORY]

Texts are stretches of Python's own documentation, in sessions of twenty.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from pydoc_data.topics import topics

import commonplace
from commonplace.memory import Memory
from commonplace.search.encoders import minilm
from commonplace.search.index import Query
from commonplace.search.words import match

WORDS = [word for text in topics.values() for word in text.split() if word.isalpha()]
"""Running English text that is wherever Python is."""
QUESTIONS = 60


def sentence(chance: random.Random) -> str:
    """About 90 characters of somebody's English, with one word that is rare."""
    at = chance.randrange(len(WORDS) - 15)
    return " ".join((*WORDS[at : at + 15], f"item{chance.randrange(5000)}"))


def question(chance: random.Random) -> str:
    at = chance.randrange(len(WORDS) - 6)
    return f"When was {' '.join(WORDS[at : at + 6])}?"


def filled(root: Path, count: int) -> Memory:
    """A vault with that many records with their vectors."""
    memory = Memory.open(root, text_limit=5000, create=True)
    chance, there = random.Random(7), memory.count()
    for start in range(there, count, 20):
        memory.session = f"session-{start // 20}"
        memory.store_all({"text": sentence(chance), "kind": "fact"} for _ in range(20))
    memory.library.refresh()
    return memory


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def embedding(memory: Memory, count: int) -> None:
    took = timed(lambda: memory.library.engine.embedder.embed_all(lambda done, total: None))
    if took > 0.5:
        print(f"vectors for {count:,} records: {took:.1f} s, {count / took:,.0f} a second")


def in_process(memory: Memory, count: int, mark: float) -> None:
    """A whole search against the bare FTS5 query of the same words."""
    chance = random.Random(3)
    db = sqlite3.connect(memory.state / "index.db")
    ours, bare = [], []
    sql = "SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rank LIMIT 20"
    asked = [question(chance) for _ in range(QUESTIONS)]
    for _ in range(QUESTIONS):
        # A process that answers has answered before: caches are filled, codes are turned.
        memory.library.find(Query(text=question(chance)))
    for text in asked:
        bare.append(timed(lambda text=text: db.execute(sql, (match(text),)).fetchall()))
        ours.append(timed(lambda text=text: memory.library.find(Query(text=text))))
    db.close()
    cpu = time.process_time()
    for text in asked:
        memory.library.find(Query(text=text))
    busy = (time.process_time() - cpu) / len(asked)
    found = memory.library.find(Query(text=asked[0]))
    one, other = statistics.median(ours), statistics.median(bare)
    print(
        f"{found.mode} search in process at {count:,}: p50 {one * 1e3:.1f} ms, best "
        f"{min(ours) * 1e3:.1f} ms, CPU {busy * 1e3:.1f} ms (mark {mark:.0f} ms); "
        f"bare FTS5 {other * 1e3:.2f} ms, ratio {one / other:.1f}"
    )


def in_server(memory: Memory, count: int) -> None:
    """The same in a process that stays, with the extra `embeddings`: it encodes questions too."""
    if minilm.is_there():
        memory.load_encoder()
        while memory.library.find(Query(text="warm")).mode.endswith("-static"):
            time.sleep(0.1)
        in_process(memory, count, 25)


def words_alone(memory: Memory, count: int) -> None:
    """The index's own search by words against the bare query."""
    chance = random.Random(4)
    db = sqlite3.connect(memory.state / "index.db")
    sql = "SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY rank LIMIT 20"
    ours, bare = [], []
    for _ in range(QUESTIONS):
        text = f"item{chance.randrange(5000)}"
        bare.append(timed(lambda text=text: db.execute(sql, (match(text),)).fetchall()))
        ours.append(timed(lambda text=text: memory.library.index.search(Query(text=text))))
    db.close()
    one, other = statistics.median(ours), statistics.median(bare)
    print(
        f"one rare word, words alone, at {count:,}: {one * 1e3:.2f} ms, bare FTS5 "
        f"{other * 1e3:.2f} ms, ratio {one / other:.1f} (mark 2)"
    )


def cold(root: Path, count: int) -> None:
    """A search from a cold shell against a Python that imports json and sqlite3."""
    compileall.compile_dir(str(Path(commonplace.__file__).parent), quiet=2)
    python = sys.executable
    command = [str(Path(python).with_name("commonplace")), "--vault", str(root)]
    commands = {
        "bare": [python, "-c", "import json, sqlite3"],
        "search": [*command, "search", "when did alice paint the kitchen?"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(15):
        for name, words in commands.items():
            times[name].append(
                timed(lambda words=words: subprocess.run(words, capture_output=True, check=True))
            )
    one, other = statistics.median(times["search"]), statistics.median(times["bare"])
    print(
        f"cold `commonplace search` at {count:,}: {one * 1e3:.0f} ms, bare {other * 1e3:.0f} ms, "
        f"ratio {one / other:.2f}, of the best {min(times['search']) / min(times['bare']):.2f} "
        "(mark 4)"
    )


def size(root: Path, count: int) -> None:
    """Once it is closed: while it is open, a log of at most 16 MB stands beside it."""
    markdown = sum(path.stat().st_size for path in root.rglob("*.md"))
    kept = (root / ".commonplace" / "index.db").stat().st_size
    print(
        f"index at {count:,}: {kept / 1e6:.1f} MB, markdown {markdown / 1e6:.1f} MB, "
        f"ratio {kept / markdown:.2f} (mark 2)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", default="10000,100000")
    parser.add_argument("--keep", default="", help="directory to fill once and use again")
    arguments = parser.parse_args()
    # So many records are more than one document may have, if nothing else is said.
    os.environ["COMMONPLACE_DOCUMENT_LIMIT"] = "0"
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(arguments.keep or temporary)
        root.mkdir(exist_ok=True)
        for count in map(int, arguments.records.split(",")):
            with filled(root / f"search-{count}", count) as memory:
                embedding(memory, count)
                memory.library.find(Query(text="warm"))
                in_process(memory, count, 8 if count <= 10_000 else 40)
                words_alone(memory, count)
                in_server(memory, count)
            size(root / f"search-{count}", count)
            cold(root / f"search-{count}", count)


if __name__ == "__main__":
    main()
