"""Every tool gives the same answer through Python, the command line, MCP and HTTP."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import tools
from commonplace.doors.http import server
from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError
from tests.support import mcp_client
from tests.support.postgres import fresh_url

CALLS: dict[str, dict[str, list[dict[str, Any]]]] = {
    "native": {
        "store": [
            {"text": "Plays chess", "tags": ["games"]},
            {"text": ""},
            {"useful": "ID"},
            {"wrong": ["ID", "mem-none"]},
        ],
        "search": [
            {"query": "tea"},
            {"limit": 0},
            {"query": "tea", "limit": "5", "tags": None, "explain": "false"},
            {"query": "tea", "limit": 5.0, "kind": None, "tags": "games"},
            {"limit": 5.5},
            {"limit": "abc"},
            {"tags": ["tea"] * 1000},
        ],
        "brief": [{}],
        "read": [{}, {"document": "USER.md"}, {"document": "../up.md"}],
        "update": [{"document": "notes.md", "content": "- new"}],
        "delete": [{"id": "ID"}, {"id": "mem-none"}],
        "diary": [{}, {"text": "A quiet day."}],
        "undo": [{}],
        "history": [
            {},
            {"action": "append", "role": "assistant", "text": "Tea is stored."},
            {"action": "append", "text": " "},
            {"action": "search", "text": "tea"},
            {"action": "forget"},
        ],
    },
    "typed": {
        "memory_store": [{"type": "fact", "content": "Plays chess"}, {"type": "x", "content": "y"}],
        "memory_search": [
            {"query": "tea"},
            {"query": None, "tags": None, "type": None, "include_superseded": "TRUE", "limit": "3"},
            {"tags": [f"tag-{number}" for number in range(1000)]},
        ],
        "memory_brief": [{}],
        "memory_delete": [{"id": "ID"}],
    },
    "earl": {
        "save_memory": [{"text": "Plays chess", "username": "ada"}],
        "search_memory": [
            {"query": "tea"},
            {"query": "nothing at all"},
            {"query": "tea", "limit": "5"},
            {"query": None},
        ],
    },
    "notebook": {
        "memory_read": [{}],
        "memory_update": [{"content": "- Plays chess"}, {"content": " "}],
    },
    "claw": {
        "remember_this": [{"text": "Plays chess"}, {}],
        "recall_memory": [{"query": "tea"}],
        "query_experiences": [{"query": "tea"}],
    },
    "journal": {
        "diary": [{}, {"text": "A quiet day."}],
        "read_memory": [{"file": "user"}],
        "rewrite_memory": [{"file": "user", "content": "I am Ada, and I play chess."}],
        "search_memory": [{"query": "chess"}, {"query": ""}],
    },
    "anthropic": {
        "memory": [
            {"command": "view", "path": "/memories"},
            {"command": "create", "path": "/memories/a.md", "file_text": "x"},
            {"command": "view", "path": "/memories/../etc"},
        ],
    },
}
EVERY = [
    pytest.param(dialect, name, arguments, id=f"{dialect} {name} {number}")
    for dialect, named in CALLS.items()
    for name, calls in named.items()
    for number, arguments in enumerate(calls)
]


def test_no_tool_is_left_out() -> None:
    assert {dialect: list(named) for dialect, named in CALLS.items()} == {
        dialect: list(tools.table(dialect)) for dialect in tools.DIALECTS
    }


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    root = tmp_path_factory.mktemp("parity") / "vault"
    return root, filled(root)


def filled(place: Path | str) -> str:
    """Put something into a vault. Returns the id of a record."""
    with Memory.open(place, session="parity", create=True) as memory:
        record = memory.store("Likes green tea", kind="preference", username="ada")
        memory.update("- I am Ada", document="USER.md")
        memory.conversations.record("user", "Please remember that I like green tea")
    return record.id


@pytest.mark.long
@pytest.mark.parametrize(("dialect", "name", "arguments"), EVERY)
def test_every_door_gives_the_same_answer(
    vault: tuple[Path, str], tmp_path: Path, dialect: str, name: str, arguments: dict[str, Any]
) -> None:
    root, record_id = vault
    given = {key: record_id if value == "ID" else value for key, value in arguments.items()}
    answers = {}
    for door, ask in DOORS.items():
        copy = tmp_path / door
        shutil.copytree(root, copy)
        answers[door] = masked(ask(copy, dialect, name, given))
    assert set(answers.values()) == {answers["python"]}


@pytest.mark.parametrize(("dialect", "name", "arguments"), EVERY)
def test_a_vault_in_postgres_gives_the_same_answer(
    vault: tuple[Path, str], tmp_path: Path, dialect: str, name: str, arguments: dict[str, Any]
) -> None:
    root, record_id = vault
    url = fresh_url()
    ids = {"files": record_id, "postgres": filled(url)}
    places: dict[str, Path | str] = {
        "files": shutil.copytree(root, tmp_path / "vault"),
        "postgres": url,
    }
    answers = {
        kind: masked(
            in_python(
                place,
                dialect,
                name,
                {key: ids[kind] if value == "ID" else value for key, value in arguments.items()},
            )
        )
        for kind, place in places.items()
    }
    assert answers["postgres"] == answers["files"]


def masked(answer: str) -> str:
    """The answer without what is new each time: ids, marks and times."""
    answer = re.sub(r"(mem|msg)-[0-9a-f-]{32,}", "ID", answer)
    answer = re.sub(r"\b[0-9a-f]{32}\b", "MARK", answer)
    answer = re.sub(r"\b\d\d:\d\d UTC\b", "TIME", answer)
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.-]+Z?", "TIME", answer)


def in_python(root: Path | str, dialect: str, name: str, arguments: dict[str, Any]) -> str:
    with Memory.open(root, session="parity", create=True) as memory:
        try:
            return str(tools.call(memory, name, arguments, dialect=dialect))
        except CommonplaceError as error:
            return str(error)


def in_a_shell(root: Path, dialect: str, name: str, arguments: dict[str, Any]) -> str:
    command = [sys.executable, "-m", "commonplace", "--vault", str(root), "--session", "parity"]
    done = subprocess.run(
        [*command, "--dialect", dialect, "tool", name, json.dumps(arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.removesuffix("\n") or done.stderr.removeprefix("commonplace: ").rstrip("\n")


def over_http(root: Path, dialect: str, name: str, arguments: dict[str, Any]) -> str:
    def opened(path: str, origin: str) -> Memory:
        return Memory.open(path, origin=origin, create=True)

    tokens = root.with_name("tokens.json")
    made = server.gateway([str(root)], opened, port=8377, tokens=tokens, dialect=dialect)
    headers = {
        "authorization": f"Bearer {made.tokens.add('parity', 'write')}",
        "x-commonplace-session": "parity",
    }
    with TestClient(made.app, base_url="http://127.0.0.1:8377", headers=headers) as client:
        answer = client.post(f"/api/vaults/{root.name}/tools/{name}", json=arguments).json()
    return str(answer["text"] if "text" in answer else answer["detail"])


DOORS = {
    "python": in_python,
    "shell": in_a_shell,
    "mcp": mcp_client.asked,
    "http": over_http,
}
