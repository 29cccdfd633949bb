"""mcp-memory-service: its sqlite-vec store, words and MiniLM vectors (from the endpoint) fused."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from adapter import run, told

LOOP = asyncio.new_event_loop()


def start(home: Path, endpoint: str) -> Any:
    home.mkdir(parents=True, exist_ok=True)
    os.environ |= {
        "MCP_MEMORY_BASE_DIR": str(home),
        "MCP_EXTERNAL_EMBEDDING_URL": f"{endpoint}/embeddings",
        "MCP_EXTERNAL_EMBEDDING_MODEL": "all-MiniLM-L6-v2",
        "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec",
        "MCP_SEMANTIC_DEDUP_ENABLED": "false",
    }
    from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage

    storage = SqliteVecMemoryStorage(str(home / "memory.db"))
    LOOP.run_until_complete(storage.initialize())
    return storage


def add(peer: Any, records: list[dict[str, str]]) -> None:
    from mcp_memory_service.models.memory import Memory
    from mcp_memory_service.utils.hashing import generate_content_hash

    for record in records:
        text = told(record)
        key = generate_content_hash(text)
        memory = Memory(content=text, content_hash=key, metadata={"turn": record["id"]})
        LOOP.run_until_complete(peer.store(memory, skip_semantic_dedup=True))


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    found = LOOP.run_until_complete(peer.retrieve_hybrid(question["text"], n_results=limit))
    return [row.memory.metadata.get("turn", "") for row in found]


if __name__ == "__main__":
    run(start, add, search)
