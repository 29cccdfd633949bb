"""basic-memory: a markdown note a turn, through its MCP server in this process; words and MiniLM
vectors (from the endpoint) in SQLite. Each group is a project of its own.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

from adapter import run, told

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    # Its vectors are an extension of SQLite, which many a Python is built without.
    import pysqlite3

    sys.modules |= {"sqlite3": pysqlite3, "sqlite3.dbapi2": pysqlite3.dbapi2}

LOOP = asyncio.new_event_loop()


def start(home: Path, endpoint: str) -> Any:
    return LOOP.run_until_complete(_opened(home, endpoint))


async def _opened(home: Path, endpoint: str) -> tuple[Any, str]:
    # It reads its settings when it is imported.
    os.environ |= {
        "HOME": str(home.parent),
        "BASIC_MEMORY_HOME": str(home.parent / "notes"),
        "BASIC_MEMORY_CONFIG_DIR": str(home.parent / "config"),
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_PROVIDER": "openai",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "all-MiniLM-L6-v2",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": "384",
        "OPENAI_BASE_URL": endpoint,
        "OPENAI_API_KEY": "none",
    }
    import basic_memory.mcp.tools  # noqa: F401
    from basic_memory.mcp.server import mcp
    from fastmcp import Client
    from loguru import logger

    # Its own command does not tell every step on stderr either.
    logger.remove()
    client, project = Client(mcp), f"p{home.name}"
    await client.__aenter__()
    await client.call_tool(
        "create_memory_project",
        {"project_name": project, "project_path": str(home.parent / project)},
    )
    return client, project


def add(peer: Any, records: list[dict[str, str]]) -> None:
    LOOP.run_until_complete(_added(*peer, records))


async def _added(client: Any, project: str, records: list[dict[str, str]]) -> None:
    for record in records:
        note = {"title": _title(record["id"]), "content": told(record), "directory": "turns"}
        await client.call_tool("write_note", {**note, "project": project})


def _title(turn: str) -> str:
    return turn.replace("/", "_").replace(":", "=")


def search(peer: Any, question: dict[str, str], limit: int) -> list[str]:
    return LOOP.run_until_complete(_found(*peer, question["text"], limit))


async def _found(client: Any, project: str, text: str, limit: int) -> list[str]:
    asked = {"query": text, "project": project, "page_size": limit, "output_format": "json"}
    answer = (await client.call_tool("search_notes", asked)).data
    names = [row["title"].replace("=", ":") for row in answer["results"]]
    return list(dict.fromkeys(names))


if __name__ == "__main__":
    run(start, add, search)
    # Its threads would wait for each other.
    os._exit(0)
