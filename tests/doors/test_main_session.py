"""Claw's main session: who says which it is, and that every other gets nothing through any door."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.doors.mcp import methods
from commonplace.doors.mcp.jsonrpc import Fault
from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError, NoSuchRecord, Refused
from commonplace.storage.sessions import SessionKind, session_kind
from commonplace.tools.claw import MemoryStore, Runtime, loadSessionMemoryContext, offered
from tests.data import example
from tests.support.gateways import AT, client, made

OTHERS = ("discord:123", "cron:1", "shared:slack-42", "group:family", "0190-some-id", "mainly")
DOCUMENT = f"{methods.DOCUMENT}MEMORY.md"
PLANTED = "The safe is behind the parrot"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    book = Path(example("claw", str(tmp_path / "made"))).rename(tmp_path / "book")
    with Memory.open(book, origin="owner") as memory:
        memory.store(PLANTED)
        memory.conversations.record("user", PLANTED, session="main")
        (memory.root / "LONGMEMORY.md").write_text("- Long ago the parrot was an egg\n")
        (memory.root / "USER.md").write_text("The user fears parrots\n")
        return memory.root


@pytest.mark.claim("claw.main-session-said")
@pytest.mark.parametrize(
    ("session", "given", "kind"),
    [
        ("", {}, SessionKind.MAIN),
        ("main", {}, SessionKind.MAIN),
        ("heartbeat", {"main": True}, SessionKind.HEARTBEAT),
        ("heartbeat-7", {}, SessionKind.HEARTBEAT),
        ("discord:123", {"named": "telegram:*, discord:123"}, SessionKind.MAIN),
        ("telegram:7", {"named": "telegram:*, discord:123"}, SessionKind.MAIN),
        ("discord:1234", {"named": "telegram:*, discord:123"}, SessionKind.OTHER),
        ("discord:123", {"named": " , "}, SessionKind.OTHER),
        ("discord:123", {"main": True}, SessionKind.MAIN),
        *((session, {}, SessionKind.OTHER) for session in OTHERS),
    ],
)
def test_which_session_is_main_is_said(
    session: str, given: dict[str, Any], kind: SessionKind
) -> None:
    assert session_kind(session, **given) == kind


def answers(memory: Memory) -> list[str]:
    """What each way to read gives, or what it refuses with."""
    record = next(iter(memory.library.index.search(_all())), None)
    key = record.record.id if record else "mem-none00"
    ways: list[Any] = [
        lambda: memory.search("parrot"),
        lambda: memory.search("parrot", within="all"),
        lambda: memory.search("parrot", within="history"),
        lambda: memory.recall("parrot"),
        lambda: memory.recall_experiences("parrot"),
        lambda: memory.brief(),
        lambda: memory.get(key),
        lambda: memory.read("MEMORY.md"),
        lambda: memory.read("USER.md"),
        lambda: memory.documents(),
        lambda: memory.log(),
        lambda: memory.history(key),
        lambda: memory.blame("MEMORY.md"),
        lambda: memory.text_at("MEMORY.md", memory.clock.now()),
        lambda: memory.context("parrot").text,
        lambda: memory.context("parrot", dialect="native").text,
        lambda: memory.context("parrot", agent="conversation", system="x").text,
        lambda: memory.relevant("parrot").text,
        lambda: memory.conversations.search("parrot", session=""),
        lambda: memory.conversations.last(session="main"),
        lambda: memory.conversations.ask("SELECT content FROM messages").rows,
        lambda: methods.list_resources({}, dict, lambda: memory),
        lambda: methods.read_resource({"uri": DOCUMENT}, dict, lambda: memory),
        lambda: methods.read_resource({"uri": methods.BRIEF}, dict, lambda: memory),
    ]
    found = []
    for way in ways:
        try:
            found.append(str(way()))
        except (CommonplaceError, Fault) as error:
            found.append(f"refused: {error}")
    return found


def _all() -> Any:
    from commonplace.search.index import Query

    return Query("safe parrot")


@pytest.mark.claim("claw.main-session-said", "claw.inject-not-in-shared")
@pytest.mark.parametrize("session", OTHERS)
def test_another_session_gets_nothing_by_any_way(root: Path, session: str) -> None:
    with Memory.open(root, session=session) as memory:
        memory.library.refresh()
        for answer in answers(memory):
            assert "safe is behind" not in answer
            assert "fears" not in answer
            assert "egg" not in answer
            assert "MEMORY.md" not in answer or answer.startswith("refused")
        assert offered(memory) == ()
        stored = MemoryStore(memory).append({"sessionId": session, "text": "Said in the channel"})
        assert stored["sessionId"] == session


@pytest.mark.claim("claw.main-session-said")
def test_a_session_that_was_said_to_be_main_gets_everything(root: Path) -> None:
    for given in ({"main": True}, {"main_sessions": "discord:*"}, {"origin": "owner"}):
        with Memory.open(root, session="discord:123", **given) as memory:
            memory.library.refresh()
            assert any("safe is behind" in answer for answer in answers(memory))
            assert memory.search("safe parrot")
    with Memory.open(root, session="main") as memory:
        assert memory.for_session("discord:123").is_shut
        assert not memory.for_session("discord:123", main=True).is_shut
        assert not memory.for_session("discord:123", main=True).for_session("discord:123").is_shut


def test_sessions_of_other_layouts_are_all_alike(tmp_path: Path) -> None:
    with Memory.open(tmp_path, session="discord:123", create=True) as memory:
        memory.store(PLANTED)
        assert memory.search("safe")
        assert memory.documents()


@pytest.mark.claim("claw.main-session-said")
def test_the_runtime_says_which_session_is_main(root: Path) -> None:
    runtime = Runtime(
        getSessionMemoryContext=loadSessionMemoryContext, getProfileRoot=lambda: str(root)
    )
    said = [{"role": "user", "content": "Hello"}]
    for session, given, told in (
        ("main", None, True),
        ("", None, True),
        ("chat-7", None, False),
        ("chat-7", True, True),
        ("main", False, False),
    ):
        built = runtime.buildMessages(session, said, isMainSession=given)
        assert any(PLANTED in each["content"] for each in built) is told


def mcp(root: Path, *words: str, meta: dict[str, str], **environ: str) -> str:
    """What a client over stdio is answered that lists and reads the documents."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}),
        ("tools/list", {}),
        ("resources/read", {"uri": DOCUMENT}),
        ("tools/call", {"name": "search", "arguments": {"query": "safe"}}),
    ]
    lines = [
        json.dumps(
            {"jsonrpc": "2.0", "id": at, "method": name, "params": {**params, "_meta": meta}}
        )
        for at, (name, params) in enumerate(asked)
    ]
    command = [sys.executable, "-m", "commonplace", "--vault", str(root), *words, "mcp"]
    env = {"HOME": str(root.parent), "PATH": "/usr/bin:/bin", **environ}
    done = subprocess.run(
        [*command, "--dialect", "native"],
        input="\n".join(lines) + "\n",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.claim("claw.main-session-said")
def test_a_client_over_stdio_is_main_whatever_its_id_unless_whoever_starts_it_names_another(
    root: Path,
) -> None:
    other = "discord:123"
    assert "safe is behind" in mcp(root, meta={})
    assert "safe is behind" in mcp(root, meta={"sessionId": "0190-some-id"})
    assert "safe is behind" in mcp(root, meta={}, CLAUDE_CODE_SESSION_ID="0190-some-id")
    assert "safe is behind" not in mcp(root, "--session", other, meta={})
    assert "safe is behind" not in mcp(root, meta={}, COMMONPLACE_SESSION=other)
    assert "safe is behind" in mcp(root, "--session", other, "--main", meta={})


@pytest.mark.claim("claw.main-session-said")
def test_a_hook_of_a_client_is_main_whatever_its_id(root: Path) -> None:
    def told(**environ: str) -> str:
        words = ["hook", "session-start", "--client", "claude"]
        return subprocess.run(
            [sys.executable, "-m", "commonplace", "--vault", str(root), *words],
            input=json.dumps({"session_id": "0190-some-id"}),
            env={"HOME": str(root.parent), "PATH": "/usr/bin:/bin", **environ},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert "safe is behind" in told()
    assert "safe is behind" not in told(COMMONPLACE_SESSION="discord:123")


@pytest.mark.claim("claw.main-session-said", "claw.gateway-other-paths")
def test_search_and_records_of_the_gateway_follow_the_list_of_documents(
    root: Path, tmp_path: Path
) -> None:
    gateway = made(tmp_path)
    browser = client(gateway, "read")
    with Memory.open(root, origin="owner") as memory:
        [egg] = [hit.record.id for hit in memory.search("egg")]
    ways = (
        "records?text=parrot&passages=true",
        "search?text=parrot",
        "search?text=fears",
        "records?document=USER.md&passages=true",
        f"records/{egg}",
    )
    shown = [browser.get(f"{AT}/{way}").text for way in ways]
    assert "safe is behind" in shown[0]
    assert "safe is behind" in shown[1]
    assert not any("fears parrots" in each or "was an egg" in each for each in shown)
    for session in OTHERS:
        headers = {"x-commonplace-session": session}
        told = [browser.get(f"{AT}/{way}", headers=headers).text for way in (*ways, "documents")]
        told += [browser.get(f"{AT}/{way}", headers=headers).text for way in ("days", "sizes")]
        assert not any(word in each for each in told for word in ("safe is", "fears p", 'egg"'))
        assert not any('"name":"MEMORY.md"' in each.replace(" ", "") for each in told)


def test_a_bounded_memory_has_no_record_that_stands_elsewhere(root: Path) -> None:
    with Memory.open(root) as memory:
        [egg] = memory.search("egg")
        memory.bounded = True
        with pytest.raises(NoSuchRecord):
            memory.get(egg.record.id)
        assert memory.search("egg") == []
        assert memory.search("safe parrot")


def test_the_refusal_names_the_option(root: Path) -> None:
    with Memory.open(root, session="cron:1") as memory, pytest.raises(Refused) as refusal:
        memory.search("parrot")
    assert "main_sessions" in str(refusal.value)
