"""Commonplace through its own Python door, with nothing but the core install."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from adapter import run

from commonplace import Memory
from commonplace.clock import Clock


class TurnClock(Clock):
    """A clock that stands at the turn that is being stored."""

    at = datetime.fromisoformat("2024-01-01T00:00:00+00:00")

    def now(self) -> datetime:
        return self.at

    def now_ns(self) -> int:
        return int(self.at.timestamp() * 1e9)


def start(home: Path, _: str) -> Any:
    home.mkdir(parents=True, exist_ok=True)
    return {"home": home, "ids": {}, "memory": Memory.open(home, clock=TurnClock(zone="UTC"))}


def add(peer: Any, records: list[dict[str, str]]) -> None:
    memory, clock = peer["memory"], peer["memory"].clock
    for record in records:
        clock.at = datetime.fromisoformat(record["date"])
        memory.session = record["session"]
        stored = memory.store(record["text"][:20000], username=record["speaker"])
        peer["ids"][stored.id] = record["id"]


def search(peer: Any, question: str, limit: int) -> list[str]:
    hits = peer["memory"].search(question, limit=limit, include_passages=False)
    return [peer["ids"].get(hit.record.id, "") for hit in hits]


if __name__ == "__main__":
    run(start, add, search)
