"""memsearch: a markdown file a turn; words and MiniLM vectors (from the endpoint) in Milvus."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from adapter import run, told
from memsearch import MemSearch

LOOP = asyncio.new_event_loop()


def start(home: Path, endpoint: str) -> Any:
    (home / "notes").mkdir(parents=True, exist_ok=True)
    search = MemSearch(
        [home / "notes"],
        embedding_provider="openai",
        embedding_model="all-MiniLM-L6-v2",
        embedding_base_url=endpoint,
        embedding_api_key="none",
        milvus_uri=str(home / "milvus.db"),
    )
    return home, search


def add(peer: Any, records: list[dict[str, str]]) -> None:
    home, search = peer
    for record in records:
        name = record["id"].replace("/", "_").replace(":", "=")
        (home / "notes" / f"{name}.md").write_text(told(record) + "\n")
    LOOP.run_until_complete(search.index())


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    found = LOOP.run_until_complete(peer[1].search(question["text"], top_k=limit))
    names = [Path(row["source"]).stem.replace("=", ":") for row in found]
    return list(dict.fromkeys(names))


if __name__ == "__main__":
    run(start, add, search)
