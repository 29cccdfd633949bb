"""chromadb as its guide shows it: one collection, its MiniLM vectors (here from the endpoint)."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import chromadb
from adapter import run, told


class Endpoint(chromadb.EmbeddingFunction):
    def __init__(self, url: str = "") -> None:
        self.url = url

    def __call__(self, input: list[str]) -> Any:
        body = json.dumps({"input": list(input), "model": "m"}).encode()
        wanted = urllib.request.Request(f"{self.url}/embeddings", data=body)
        with urllib.request.urlopen(wanted) as answer:
            return [row["embedding"] for row in json.load(answer)["data"]]


def start(home: Path, endpoint: str) -> Any:
    client = chromadb.PersistentClient(
        str(home), settings=chromadb.Settings(anonymized_telemetry=False)
    )
    return client.get_or_create_collection("turns", embedding_function=Endpoint(endpoint))


def add(peer: Any, records: list[dict[str, str]]) -> None:
    for at in range(0, len(records), 100):
        batch = records[at : at + 100]
        peer.add(ids=[row["id"] for row in batch], documents=[told(row) for row in batch])


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    return list(peer.query(query_texts=[question["text"]], n_results=limit)["ids"][0])


if __name__ == "__main__":
    run(start, add, search)
