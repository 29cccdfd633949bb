"""mem0 without a language model (infer=False), its own vector store, MiniLM from the endpoint."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}

from adapter import run, told
from mem0 import Memory


def start(home: Path, endpoint: str) -> Any:
    os.environ["MEM0_DIR"] = str(home)
    config: dict[str, Any] = {
        "vector_store": {
            "provider": "qdrant",
            "config": {
                "path": str(home / "qdrant"),
                "embedding_model_dims": 384,
                "on_disk": True,
                "collection_name": "turns",
            },
        },
        "embedder": {
            "provider": "openai",
            "config": {
                "model": "all-MiniLM-L6-v2",
                "openai_base_url": endpoint,
                "api_key": "none",
                "embedding_dims": 384,
            },
        },
        "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": endpoint}},
        "history_db_path": str(home / "history.db"),
    }
    home.mkdir(parents=True, exist_ok=True)
    return Memory.from_config(config)


def add(peer: Any, records: list[dict[str, str]]) -> None:
    for record in records:
        peer.add(told(record), user_id="u", infer=False, metadata={"turn": record["id"]})


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    found = peer.search(question["text"], top_k=limit, filters={"user_id": "u"}, threshold=0.0)
    return [row["metadata"]["turn"] for row in found["results"]]


if __name__ == "__main__":
    run(start, add, search)
