"""The command that prints contexts: every form of them, and what it says of each line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.context.budget import ContextLine
from commonplace.doors.cli.context import _once
from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from tests.data import EXAMPLES, example

Said = pytest.CaptureFixture[str]


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "vault"
    with Memory.open(root, session="talk", create=True) as memory:
        memory.store("Prefers tea", kind="preference")
        memory.store("the alarm code is 4711", kind="fact", sensitivity="secret")
        memory.store("tried the alarm code, 4711", sensitivity="secret")
        memory.conversations.record("user", "When is high water?")
        memory.conversations.record("assistant", "At ten past four.")
    monkeypatch.setenv("COMMONPLACE_VAULT", str(root))
    monkeypatch.setenv("COMMONPLACE_SESSION", "talk")
    return root


def printed(said: Said, *words: str) -> str:
    assert main(["context", *words]) == 0
    return said.readouterr().out


def test_the_messages_api_gets_what_it_takes(vault: Path, capsys: Said) -> None:
    words = ("--agent", "conversation", "--message", "And low?", "--format", "anthropic")
    data = json.loads(printed(capsys, *words))
    assert set(data) == {"system", "messages"}
    assert "Prefers tea" in data["system"]
    assert data["messages"] == [
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": "At ten past four."},
        {"role": "user", "content": "And low?"},
    ]


def test_chat_messages_begin_with_the_system(vault: Path, capsys: Said) -> None:
    words = ("--agent", "heartbeat", "--format", "openai")
    first, last = json.loads(printed(capsys, *words))["messages"]
    assert first["role"] == "system"
    assert (last["role"], last["content"][:19]) == ("user", "This is a heartbeat")


def test_a_dialect_that_is_none_is_refused(vault: Path, capsys: Said) -> None:
    assert main(["context", "--dialect", "zz"]) == 2
    assert "There is no dialect 'zz'. Use native, " in capsys.readouterr().err


def test_a_message_may_come_from_standard_input_and_a_prompt_from_a_file(
    vault: Path, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    (tmp_path / "prompt.md").write_text("Be kind.\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO("And low?\nAnd why?"))
    words = ("--agent", "conversation", "--message", "-", "--last", "1")
    text = printed(capsys, *words, "--system", str(tmp_path / "prompt.md"))
    assert text.startswith("Be kind.\n\n<commonplace-memory>\n")
    assert text.endswith(
        "## Conversation History\nassistant: At ten past four.\n\n"
        "## Current Message\nAnd low?\nAnd why?\n"
    )
    assert main(["context", "--system", str(tmp_path / "none.md")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_explain_lists_each_line_with_its_reason_age_and_cost_and_what_was_left_out(
    vault: Path, capsys: Said
) -> None:
    table = printed(capsys, "--explain")
    head, row, total, _, title, *out = table.rstrip("\n").split("\n")
    assert head.split() == ["age", "tokens", "section", "reason:", "line"]
    age, days, tokens, section, *rest = row.split()
    assert (age, days, section, int(tokens) > 0) == ("0", "d", "preferences", True)
    assert " ".join(rest).startswith("a preference: - 20")
    assert " preference: Prefers tea #" in row
    assert total.endswith(" tokens")
    assert title == "Left out:"
    assert {line.split()[-1].split("/")[0] for line in out} == {"memory", "MEMORY.md:"}
    assert "4711" not in table
    data = json.loads(printed(capsys, "--explain", "--json"))
    assert {line["why"] for line in data["left_out"]} == {"secret"}
    assert [line["section"] for line in data["lines"]] == ["preferences"]
    assert all(line["tokens"] > 0 for line in data["lines"])


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_status_board_can_be_written_by_command_where_a_dialect_has_one(
    tmp_path: Path, name: str, capsys: Said
) -> None:
    root = example(name, tmp_path)
    with Memory.open(root, create=True) as memory:
        board = memory.layout.status
    if not board:
        assert name in ("earl", "notebook")
        return
    vault = ("--vault", str(root))
    assert main([*vault, "update", board, "Waiting for the tide.", "--mode", "rewrite"]) == 0
    assert main([*vault, "update", board, "All quiet.", "--mode", "rewrite"]) == 0
    capsys.readouterr()
    text = printed(capsys, *vault, "--agent", "heartbeat")
    assert "\n## Status Board\nAll quiet.\n" in text


def test_an_agent_writes_the_status_board_with_the_tools_of_its_dialect(tmp_path: Path) -> None:
    from commonplace import tools

    calls = {
        "native": ("update", {"document": "STATUS.md", "content": "Busy.", "mode": "rewrite"}),
        "journal": ("rewrite_memory", {"file": "status.md", "content": "Busy."}),
    }
    for dialect, (tool, arguments) in calls.items():
        with Memory.open(tmp_path / dialect, dialect, create=True) as memory:
            tools.call(memory, tool, arguments, dialect=dialect)
            assert "## Status Board\nBusy." in memory.context(agent="heartbeat").text


def test_a_record_that_was_left_out_of_two_sections_is_told_once() -> None:
    twice = [
        ContextLine("tea", section="rules", record_id="a", why="secret"),
        ContextLine("cake", section="rules", record_id="b", why="expired"),
        ContextLine("tea", section="memory", record_id="a", why="secret"),
        ContextLine("rum", section="memory", record_id="c", why="secret"),
    ]
    assert [(line.record_id, line.why) for line in _once(twice)] == [
        ("a", "secret"),
        ("c", "secret"),
        ("b", "expired"),
    ]
