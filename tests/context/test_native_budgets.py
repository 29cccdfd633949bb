"""The native tools count an agent's stores, replacements and deletes, and nobody else's writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import tools
from commonplace.doors.cli.main import main
from commonplace.doors.http import server
from commonplace.doors.mcp import http as over_http
from commonplace.memory import Memory
from commonplace.model.records import Origin
from tests.support.mcp_client import ask, call, initialize, talk

Deeds = list[tuple[str, dict[str, Any]]]
Door = Callable[[Path, Deeds], list[bool]]
"""Does these with one vault, in one session: whether each was done."""
AT = "http://127.0.0.1:8377"


def over_mcp(vault: Path, deeds: Deeds) -> list[bool]:
    asked = [call(name, given, id=number) for number, (name, given) in enumerate(deeds, 2)]
    answers = talk(vault, initialize(), ask("tools/list", id=1), *asked)
    found = {each["id"]: each["result"] for each in answers}
    return [not found[number].get("isError") for number, _ in enumerate(deeds, 2)]


def over_mcp_http(vault: Path, deeds: Deeds) -> list[bool]:
    def open_memory(session: str) -> Memory:
        return Memory.open(vault, session=session, environ={})

    app: Any = over_http.app(open_memory, dialect="native", session="s-1", token="t")
    headers = {
        "authorization": "Bearer t",
        "accept": "application/json, text/event-stream",
        "host": "127.0.0.1:8377",
    }
    with TestClient(app, base_url=AT, headers=headers) as client:
        answers = [client.post("/mcp", json=call(*deed)).text for deed in deeds]
    return ['"isError":true' not in answer.replace(" ", "") for answer in answers]


def by_command(*words: str) -> Door:
    def door(vault: Path, deeds: Deeds) -> list[bool]:
        start = ["--vault", str(vault), "--session", "s-1", *words[:1]]
        rest = "".join(words[1:])
        return [main([*start, rest + name, json.dumps(given)]) == 0 for name, given in deeds]

    return door


AGENTS: dict[str, Door] = {
    "mcp": over_mcp,
    "mcp over http": over_mcp_http,
    "tool": by_command("tool"),
    "ipc": by_command("ipc", "tool.invoke."),
}


def stored(vault: Path, texts: list[str]) -> list[str]:
    with Memory.open(vault, create=True) as memory:
        return [memory.store(text).id for text in texts]


@pytest.mark.claim("typed.budget-native")
@pytest.mark.parametrize("door", AGENTS)
def test_an_agent_has_twenty_stores_five_replacements_and_five_deletes(
    tmp_path: Path, door: str
) -> None:
    vault = tmp_path / "vault"
    ids = stored(vault, [f"Old {number}" for number in range(12)])
    replacing = [("store", {"text": f"New {key}", "supersedes": key}) for key in ids[:6]]
    storing = [("store", {"text": f"Fact {number}"}) for number in range(16)]
    deleting = [("delete", {"id": key}) for key in ids[6:]]
    done = AGENTS[door](vault, [*replacing, *storing, *deleting])
    assert done == [True] * 5 + [False] + [True] * 15 + [False] + [True] * 5 + [False]


def by_person(vault: Path, texts: list[str]) -> list[bool]:
    words = ["--vault", str(vault), "--session", "s-1"]
    return [main([*words, "store", text]) == 0 for text in texts]


def on_the_page(vault: Path, texts: list[str], path: str = "records") -> list[bool]:
    def opened(place: str, origin: str) -> Memory:
        return Memory.open(place, origin=origin, environ={})

    made = server.gateway([str(vault)], opened, port=8377, tokens=vault.with_name("tokens.json"))
    headers = {"authorization": f"Bearer {made.tokens.add('one', 'write')}"}
    with TestClient(made.app, base_url=AT, headers=headers) as client:
        at = f"/api/vaults/{vault.name}/{path}"
        return [client.post(at, json={"text": text}).is_success for text in texts]


def by_import(vault: Path, texts: list[str]) -> list[bool]:
    with Memory.open(vault, session="s-1", origin=Origin.IMPORT) as memory:
        return [bool(memory.store_all([{"text": text}])) for text in texts]


def in_python(vault: Path, texts: list[str]) -> list[bool]:
    with Memory.open(vault, session="s-1") as memory:
        return [
            bool(tools.call(memory, "store", {"text": text}, dialect="native")) for text in texts
        ]


PEOPLE: dict[str, Callable[[Path, list[str]], list[bool]]] = {
    "a command": by_person,
    "the page": on_the_page,
    "a program over HTTP": lambda vault, texts: on_the_page(vault, texts, "tools/store"),
    "an import": by_import,
    "Python": in_python,
}


@pytest.mark.claim("typed.budget-native")
@pytest.mark.parametrize("door", PEOPLE)
def test_what_people_and_their_programs_do_is_not_counted(tmp_path: Path, door: str) -> None:
    vault = tmp_path / "vault"
    stored(vault, ["The first"])
    assert PEOPLE[door](vault, [f"Fact {number}" for number in range(25)]) == [True] * 25
    assert AGENTS["tool"](vault, [("store", {"text": "An agent's"})]) == [True]


def test_a_budget_of_none_is_no_limit(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    stored(vault, ["The first"])
    (vault / "commonplace.toml").write_text('dialect = "native"\nsession_stores = 0\n')
    deeds: Deeds = [("store", {"text": f"Fact {number}"}) for number in range(25)]
    assert over_mcp(vault, deeds) == [True] * 25
