"""What a gateway to a claw vault shows: the memory and the daily logs, to the main session.

The tables are made of every route that reads, every resource and every tool that reads, so that a
new one is in them at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import Memory, tools
from commonplace.doors.http.api import ROUTES
from commonplace.doors.http.app import Gateway
from commonplace.doors.http.routes import Route
from commonplace.doors.mcp import methods
from commonplace.doors.mcp.jsonrpc import Fault
from commonplace.model.errors import CommonplaceError
from tests.data import example
from tests.support.gateways import AT, client, made, person

INSIDE = "The safe is behind the parrot"
OUTSIDE = {
    "USER.md": "fears",
    "SOUL.md": "beak",
    "LONGMEMORY.md": "egg",
    "archive.md": "feather",
    "memory/MEMORY-archive.md": "cracker",
}
"""Documents that are not for a gateway, each with a word that stands nowhere else."""
HIDDEN = (*OUTSIDE.values(), "USER.md", "SOUL.md", "LONGMEMORY", "archive")
READS = [each for each in ROUTES if each.method == "GET"]
OTHERS = ("discord:123", "cron:1", "group:family")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A claw vault with records and prose inside and outside of what a gateway serves."""
    directory = tmp_path_factory.mktemp("rights")
    book = Path(example("claw", str(directory / "made"))).rename(directory / "book")
    with Memory.open(book, origin="owner") as memory:
        memory.store(INSIDE)
        memory.conversations.record("user", INSIDE, session="main")
        line = (book / "MEMORY.md").read_text(encoding="utf-8").splitlines()[-1]
        for name, word in OUTSIDE.items():
            told = json.loads(line.removeprefix("- "))
            told |= {"id": f"mem-{word}-outside", "text": f"The parrot and the {word}"}
            text = f"# Parrot\n\nThe parrot {word} in prose\n\n- {json.dumps(told)}\n"
            (book / name).write_text(text, encoding="utf-8")
        memory.library.refresh()
        assert {hit.record.id for hit in memory.search("parrot")} >= {"mem-fears-outside"}
    return directory


@pytest.fixture
def gateway(root: Path) -> Gateway:
    (root / "tokens.json").unlink(missing_ok=True)
    return made(root)


def addresses(route: Route, inside: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A route for everything that it may be asked for, with each way to ask."""
    ids = (inside, *(f"mem-{word}-outside" for word in OUTSIDE.values()))
    names = ("MEMORY.md", *OUTSIDE)
    path = route.full_path.replace("{vault}", "book")
    for old, values in (
        ("{id}", ids),
        ("{name:path}", names),
        ("{name:document}", names),
        ("{day}", (date.today().isoformat(),)),
    ):
        if old in path:
            targets = [path.replace(old, value) for value in values]
            break
    else:
        targets = [path]
    taken = {each.name for each in route.tool.parameters}
    ways: tuple[dict[str, Any], ...] = (
        {"text": "parrot", "within": "all"},
        {"text": "", "passages": True, "superseded": True},
        {"message": "parrot", "agent": "conversation"},
        {"document": "USER.md"},
    )
    for target in targets:
        for way in ways:
            given = way | {"moment": "2099-01-01T00:00:00Z", "session": ""}
            given |= {"session": "main"} if route.name == "list_messages" else {}
            yield target, {name: value for name, value in given.items() if name in taken and value}


def record_of(root: Path) -> str:
    with Memory.open(root / "book", origin="owner") as memory:
        return memory.search("safe")[0].record.id


@pytest.mark.claim("claw.gateway-other-paths")
@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
def test_no_route_shows_what_stands_outside_of_what_the_layout_serves(
    root: Path, gateway: Gateway, route: Route
) -> None:
    reader = client(gateway, "read")
    # A prompt tells the agent how documents are called.
    words = OUTSIDE.values() if route.name == "show_context" else HIDDEN
    for path, given in addresses(route, record_of(root)):
        answer = reader.get(path, params=given)
        if answer.status_code == 200:
            assert [word for word in words if word in answer.text] == [], (path, given)


@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
def test_the_page_reaches_no_document_that_the_layout_does_not_serve(
    root: Path, gateway: Gateway, route: Route
) -> None:
    """The owner is told of troubles, of every option, and what an agent is given, whole."""
    browser = person(gateway)
    whole = ("status", "show_context", "list_options")
    for path, given in addresses(route, record_of(root)):
        answer = browser.get(path, params=given)
        if answer.status_code == 200 and route.name not in whole:
            assert [word for word in HIDDEN if word in answer.text] == [], (path, given)


@pytest.mark.claim("claw.main-session-said", "claw.inject-not-in-shared")
@pytest.mark.parametrize("session", OTHERS)
@pytest.mark.parametrize("route", READS, ids=lambda route: route.name)
def test_no_route_shows_anything_to_a_session_that_the_memory_is_kept_from(
    root: Path, gateway: Gateway, route: Route, session: str
) -> None:
    inside = record_of(root)
    reader = client(gateway, "admin")
    for path, given in addresses(route, inside):
        answer = reader.get(path, params=given, headers={"x-commonplace-session": session})
        words = ("parrot", "MEMORY.md", *HIDDEN)
        assert answer.status_code != 200 or not any(word in answer.text for word in words)


def test_a_session_that_the_memory_is_kept_from_hears_no_changes(gateway: Gateway) -> None:
    named = {"x-commonplace-session": OTHERS[0]}
    assert client(gateway, "read").get(f"{AT}/changes", headers=named).status_code == 403


def test_a_session_that_the_memory_is_kept_from_still_stores(gateway: Gateway) -> None:
    named = {"x-commonplace-session": OTHERS[0]}
    writer = client(gateway, "write")
    assert writer.post(f"{AT}/records", json={"text": "Said"}, headers=named).status_code == 201
    for method, path in (("PUT", "documents/MEMORY.md"), ("POST", "documents/MEMORY.md/append")):
        answer = writer.request(method, f"{AT}/{path}", json={"text": "x"}, headers=named)
        assert answer.status_code == 403


def test_the_stream_of_changes_tells_of_served_documents_alone(root: Path) -> None:
    from commonplace.doors.http import event_stream

    with Memory.open(root / "book") as memory:
        whole, _ = event_stream.since(memory, 0)
        memory.bounded = True
        end, told = event_stream.since(memory, 0)
    assert end == whole
    assert told
    assert [word for word in HIDDEN if word in json.dumps(told)] == []


ASKED: list[tuple[str, dict[str, Any]]] = [
    ("resources/list", {}),
    ("resources/read", {"uri": methods.BRIEF}),
    *(("resources/read", {"uri": methods.DOCUMENT + name}) for name in OUTSIDE),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": methods.TEMPLATE},
            "argument": {"name": "name", "value": ""},
        },
    ),
    *(
        ("tools/call", {"name": each.name, "arguments": given, "dialect": dialect})
        for dialect in tools.DIALECTS
        for each in tools.table(dialect).values()
        if each.read_only
        for given in (
            {},
            {"query": "parrot"},
            {"query": "parrot", "within": "all"},
            *({"document": name} for name in OUTSIDE),
            *({"file": name} for name in OUTSIDE),
            *({"path": f"/memories/{name}"} for name in ("", *OUTSIDE)),
        )
    ),
]


@pytest.mark.parametrize("session", ["", OTHERS[0]])
def test_mcp_through_a_gateway_shows_no_more(root: Path, session: str) -> None:
    """Whatever the tools are: a gateway may be started with those of another dialect."""
    seen = 0
    with Memory.open(root / "book") as memory:
        reader = memory.for_session(session)
        reader.bounded = reader.for_agents = True
        for method, given in ASKED:
            dialect = given.get("dialect", "claw")
            answer = _answered(method, given, dialect, reader)
            seen += "parrot" in answer
            words = (*HIDDEN, "parrot") if session else HIDDEN
            assert [word for word in words if word in answer] == [], (method, given)
    assert bool(seen) == (not session)


def _answered(method: str, given: dict[str, Any], dialect: str, reader: Memory) -> str:
    """What is told; nothing for what is refused."""
    asked = {name: value for name, value in given.items() if name != "dialect"}
    try:
        found = methods.WITH_MEMORY[method](asked, lambda: tools.table(dialect), lambda: reader)
    except (CommonplaceError, Fault):
        return ""
    return "" if found.get("isError") else json.dumps(found)


def test_a_client_of_the_gateway(gateway: Gateway) -> None:
    """What is served is there: the tests above would pass over an empty vault."""
    reader: TestClient = client(gateway, "read")
    assert "parrot" in reader.get(f"{AT}/search", params={"text": "parrot"}).text
    assert "parrot" in reader.get(f"{AT}/documents/MEMORY.md").text
    assert "parrot" in reader.get(f"{AT}/context", params={"message": "parrot"}).text
