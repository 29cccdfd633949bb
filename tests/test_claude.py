"""The real Claude Code, set up as a user would do it, against a scripted model on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commonplace import mishaps
from commonplace.memory import Memory
from tests.clients import QUIET, real
from tests.messages_api import MessagesApi, messages_api, text, tool

STORE = "mcp__plugin_commonplace_commonplace__store"
COMMONPLACE = Path(sys.executable).with_name("commonplace")


@dataclass
class Claude:
    """Claude Code with a home, a project, a vault and a model of its own."""

    binary: str
    home: Path
    vault: Path
    api: MessagesApi

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "test",
            **QUIET,
        }

    def run(self, *words: str) -> dict[str, Any]:
        """One `claude -p`; what it says about itself at the end."""
        project = self.home / "project"
        project.mkdir(exist_ok=True)
        done = subprocess.run(
            [self.binary, "-p", *words, "--output-format", "json", "--allowedTools", STORE],
            env=self.environ,
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def set_up(self, *words: str) -> None:
        subprocess.run(
            [COMMONPLACE, "--vault", self.vault, "setup", "claude", "--yes", *words],
            env=self.environ,
            check=True,
            capture_output=True,
        )

    def hooks(self, session: str) -> list[dict[str, Any]]:
        """What the transcript of a session says of its hooks."""
        [path] = self.home.rglob(f"{session}.jsonl")
        lines = map(json.loads, path.read_text().splitlines())
        told = [line.get("attachment", {}) for line in lines]
        return [each for each in told if each.get("type", "").startswith("hook")]

    def mishaps(self) -> list[str]:
        return mishaps.last(100, {"HOME": str(self.home)})


@pytest.fixture
def claude(tmp_path: Path) -> Iterator[Claude]:
    binary = real("claude")
    home = tmp_path / "home"
    home.mkdir()
    with messages_api() as api:
        claude = Claude(binary, home, tmp_path / "vault", api)
        with Memory.open(claude.vault, create=True) as memory:
            memory.store("Likes green tea", kind="preference")
        claude.set_up()
        yield claude
        assert api.failures == []
        assert claude.mishaps() == []


def test_a_fact_stored_in_one_run_is_in_the_first_request_of_the_next(claude: Claude) -> None:
    fact = "The boat is called Albatros and lies in Enkhuizen"
    claude.api.say(tool(STORE, {"text": fact, "kind": "fact"}), text("Noted."))
    claude.run("Remember my boat")
    first = len(claude.api.requests)
    assert fact not in claude.api.sent(0)
    claude.run("What do you know?")
    assert fact in claude.api.sent(first)
    assert "Likes green tea" in claude.api.sent(first)


def test_what_was_said_is_in_history_once(claude: Claude) -> None:
    claude.api.say(text("The answer is 42."))
    session = claude.run("What is the answer?")["session_id"]
    claude.api.say(text("It still is."))
    claude.run("Is it?", "--resume", session)
    with Memory.open(claude.vault) as memory:
        assert [(m.role, m.content) for m in memory.messages.last(session, 10)] == [
            ("user", "What is the answer?"),
            ("assistant", "The answer is 42."),
            ("user", "Is it?"),
            ("assistant", "It still is."),
        ]


def test_compacting_leaves_a_checkpoint_keeps_the_summary_and_injects_again(
    claude: Claude,
) -> None:
    claude.api.say(text("Set the jib first."))
    session = claude.run("How do I rig the boat?")["session_id"]
    claude.api.say(text("<analysis>hm</analysis>\n<summary>Rigging: jib first.</summary>"))
    claude.run("/compact", "--resume", session)
    asked = claude.api.sent(1)
    assert "Keep in the summary" in asked
    with Memory.open(claude.vault) as memory:
        kept = memory.search("", kinds=("compaction",), session=session)
        texts = {hit.record.text for hit in kept}
        assert {str(hit.record.origin) for hit in kept} == {"agent"}
    assert "Rigging: jib first." in texts
    assert any(text.startswith("Checkpoint before compaction") for text in texts)
    after = len(claude.api.requests)
    claude.run("And then?", "--resume", session)
    sent = claude.api.sent(after)
    assert "Rigging: jib first." in sent
    assert "Set the jib first." not in sent
    assert "Likes green tea" in sent
    [told] = [hook for hook in claude.hooks(session) if hook["hookName"] == "SessionStart:compact"]
    assert "Likes green tea" in json.dumps(told)


def test_a_resumed_session_is_told_only_what_has_changed(claude: Claude) -> None:
    session = claude.run("Hello")["session_id"]
    claude.run("Again", "--resume", session)
    assert claude.api.sent(1).count("Likes green tea") == 1
    with Memory.open(claude.vault) as memory:
        memory.store("Plays the viola", kind="fact")
    claude.run("Once more", "--resume", session)
    assert "Plays the viola" in claude.api.sent(2)


def test_nothing_secret_is_in_any_request(claude: Claude) -> None:
    with Memory.open(claude.vault, origin="owner") as memory:
        memory.store("The alarm code of the boat is 4711", sensitivity="secret")
        memory.store("The alarm of the boat is by Bosch", kind="fact")
    session = claude.run("What is the alarm code of the boat?")["session_id"]
    claude.run("/compact", "--resume", session)
    claude.run("And the alarm of the boat?", "--resume", session)
    assert "by Bosch" in claude.api.sent(0)
    everything = json.dumps(claude.api.requests)
    assert "4711" not in everything


def test_a_large_vault_injects_its_first_lines_whole(claude: Claude) -> None:
    with Memory.open(claude.vault, origin="owner") as memory:
        memory.update("# Soul\n\nYou are the ship's cook.\n", document="SOUL.md", mode="rewrite")
        filler = "The log of the day says nothing that anybody would ever ask for again, but "
        for start in range(0, 5000, 500):
            numbers = range(start, start + 500)
            memory.store_all({"text": f"{filler * 5}{n}", "kind": "context"} for n in numbers)
        memory.store("Never serve fish on Fridays", kind="instruction")
    size = sum(path.stat().st_size for path in claude.vault.rglob("*.md"))
    assert size > 5_000_000
    claude.run("What is for dinner?")
    sent = claude.api.sent(0)
    start = sent.index("SessionStart hook additional context")
    assert "You are the ship's cook." in sent[start:]
    assert "Never serve fish on Fridays" in sent[start:]
    assert "Preview (first 2KB)" not in sent
    assert "tool-results" not in sent


def test_without_hooks_nothing_is_brought_in(claude: Claude) -> None:
    subprocess.run(
        [COMMONPLACE, "--vault", claude.vault, "unsetup", "claude", "--yes"],
        env=claude.environ,
        check=True,
        capture_output=True,
    )
    claude.set_up("--no-hooks")
    claude.run("Hello")
    assert "Likes green tea" not in claude.api.sent(0)
