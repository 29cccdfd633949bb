"""MemPalace: a drawer a turn, its own search, MiniLM from the endpoint."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from adapter import run, told


def start(home: Path, endpoint: str) -> Any:
    os.environ |= {
        "HOME": str(home),
        "MEMPALACE_PALACE_PATH": str(home / "palace"),
        "MEMPALACE_EMBEDDING_MODEL": "openai-compat",
        "MEMPALACE_EMBEDDING_API_URL": endpoint,
        "MEMPALACE_EMBEDDING_API_MODEL": "all-MiniLM-L6-v2",
        "MEMPALACE_EMBEDDING_API_KEY": "none",
    }
    home.mkdir(parents=True, exist_ok=True)
    for name in [name for name in sys.modules if name.startswith("mempalace")]:
        del sys.modules[name]
    from mempalace import mcp_server, searcher

    return {"home": home, "server": mcp_server, "searcher": searcher, "ids": {}}


def add(peer: Any, records: list[dict[str, str]]) -> None:
    for record in records:
        text, room = told(record), record["session"] or "memories"
        done = peer["server"].tool_add_drawer(wing="turns", room=room, content=text)
        if not done.get("success"):
            raise OSError(f"it did not take a record in: {done}")
        peer["ids"][text] = record["id"]


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    palace = str(peer["home"] / "palace")
    found = peer["searcher"].search_memories(question["text"], palace, n_results=limit)
    ids = peer["ids"]
    return [ids.get(row["text"], "") for row in found["results"]]


if __name__ == "__main__":
    run(start, add, search)
