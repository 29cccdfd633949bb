"""Commonplace through its own Python door, with nothing but the core install.

Turns are stored one by one, as the other peers get them. Who, when and which session are fields of
a record and not part of its text.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from adapter import run

from commonplace import Memory
from commonplace.doors.admin.evaluate import PastClock

LONGEST = 1_000_000
"""Characters of a turn: none is refused for its length."""
SPENT = [0.0]
"""Seconds that were taken for vectors."""


def start(home: Path, _: str) -> Any:
    home.mkdir(parents=True, exist_ok=True)
    clock = PastClock()
    return {
        "clock": clock,
        "ids": {},
        "memory": Memory.open(home, clock=clock, text_limit=LONGEST, document_limit=0, create=True),
    }


def add(peer: Any, records: list[dict[str, str]]) -> None:
    for record in sorted(records, key=lambda record: record["date"]):
        peer["clock"].put(record["date"])
        peer["memory"].session = record["session"]
        stored = peer["memory"].store(record["text"], username=record["speaker"])
        peer["ids"][stored.id] = record["id"]
    made_ready(peer)


def made_ready(peer: Any) -> None:
    """Everything in the index, with its vector: the time is that of adding, not of the searches."""
    peer["memory"].session = ""
    peer["memory"].library.refresh()
    _time_vectors(peer["memory"].library.engine.embedder.encoder())
    peer["memory"].library.engine.embedder.embed_all(lambda done, total: None)


def _time_vectors(encoder: Any) -> None:
    make = encoder.encode

    def encode(texts: Any) -> Any:
        before = time.perf_counter()
        made = make(texts)
        SPENT[0] += time.perf_counter() - before
        return made

    encoder.encode = encode


def encoding() -> float:
    return SPENT[0]


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    peer["clock"].put(question["date"])
    hits = peer["memory"].search(question["text"], limit=limit)
    return [peer["ids"].get(hit.record.id, "") for hit in hits]


if __name__ == "__main__":
    run(start, add, search, encoding)
