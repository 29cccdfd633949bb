"""`setup`, `status` and the backup commands as a person types them and as a script pipes them."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from commonplace.doors.admin.init import begin
from commonplace.doors.cli.serve import StartedGateway
from commonplace.doors.cli.wrapping import cells
from commonplace.memory import Memory
from tests.support.terminals import Shown, in_terminal

Typed = Callable[..., Shown]
Piped = Callable[..., subprocess.CompletedProcess[str]]
QUESTION = "[y/N, d: see every line]"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a vault, Claude Code's directory with a memory of its own, and Cursor's."""
    where = tmp_path / "home"
    own = where / ".claude/projects/-app/memory"
    own.mkdir(parents=True)
    (own / "role.md").write_text("---\ntype: user\n---\nThe user is a baker.\n")
    (where / ".cursor").mkdir()
    begin(where / "commonplace", dialect="native")
    return where


def environment(home: Path) -> dict[str, str]:
    """Nothing of this machine but Python, which starts beside the installed command."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


@pytest.fixture
def typed(home: Path) -> Typed:
    def run(*words: str, answers: Sequence[tuple[str, str]] = (), columns: int = 80) -> Shown:
        script = f"{sys.executable} -m commonplace {' '.join(words)}"
        given = [(question, f"{answer}\n") for question, answer in answers]
        environ = environment(home)
        return in_terminal(script, environ=environ, columns=columns, cwd=home, typed=given)

    return run


@pytest.fixture
def piped(home: Path) -> Piped:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "commonplace", *words],
            env=environment(home),
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def data(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_setup_alone_lists_the_clients_and_says_the_next_command(typed: Typed) -> None:
    shown = typed("setup").text
    assert "claude    Claude Code  installed, not connected" in shown
    assert "not found here: codex, gemini" in shown
    assert "Claude Code's own memory is switched on as well and holds 1 entry." in shown
    assert shown.rstrip().endswith("Next: commonplace setup claude")


def test_the_list_as_json_tells_other_memories_without_their_keys(piped: Piped, home: Path) -> None:
    server = {"command": "npx", "args": ["mem0-mcp"], "env": {"MEM0_API_KEY": "m0-secret"}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"mem0": server}}))
    done = piped("setup", "--json")
    [claude] = [each for each in data(done) if each["name"] == "claude"]
    assert [each["name"] for each in claude["memories"]] == ["own", "mem0"]
    assert "m0-secret" not in done.stdout
    assert "m0-secret" not in piped("setup", "claude", "--yes", "--json").stdout


def test_the_commands_that_are_told_name_a_vault_that_is_not_the_usual_one(
    typed: Typed, piped: Piped, home: Path
) -> None:
    work = home / "my work"
    begin(work, dialect="native")
    named = ("--vault", f"'{work}'")
    assert (
        typed(*named, "setup", columns=300)
        .text.rstrip()
        .endswith(f"Next: commonplace --vault '{work}' setup claude")
    )
    assert f"'commonplace --vault '{work}' serve --open'" in typed(
        *named, "status", columns=300
    ).text.replace("\n            ", " ")
    piped("--vault", str(work), "setup", "claude", "--yes")
    assert f"commonplace --vault '{work}' setup claude --copy-memory own" in (
        piped("--vault", str(work), "doctor").stdout
    )


def test_setup_begins_with_a_summary_and_shows_the_lines_on_request(typed: Typed) -> None:
    asked = [(QUESTION, "d"), (QUESTION, "n")]
    shown = typed("setup", "cursor", answers=asked)
    summary, lines, _ = shown.text.split(QUESTION)
    assert "Cursor: 1 file, 1 new." in summary
    assert "~/.cursor/mcp.json" in summary
    assert "starts the memory server" in summary
    assert "+++" not in summary
    assert '+    "commonplace": {' in lines
    assert shown.code == 2
    shown = typed("setup", "cursor", answers=[(QUESTION, "y")])
    assert "Cursor is now set up." in shown.text
    assert shown.code == 0


def test_diff_is_an_option_too(piped: Piped) -> None:
    assert "+++" not in piped("setup", "cursor", "--dry-run").stdout
    assert "+++" in piped("setup", "cursor", "--dry-run", "--diff").stdout
    assert "+++" in data(piped("setup", "cursor", "--dry-run", "--json"))["files"][0]["diff"]


@pytest.mark.parametrize(
    ("answer", "copied", "is_off"),
    [("c", 1, False), ("o", 0, True), ("b", 1, True), ("", 0, False)],
)
def test_at_a_terminal_setup_asks_what_is_to_become_of_the_other_memory(
    typed: Typed, home: Path, answer: str, copied: int, is_off: bool
) -> None:
    shown = typed("setup", "claude", answers=[(QUESTION, "y"), ("[l]eave it? [l]", answer)])
    assert shown.code == 0, shown.text
    with Memory.open(home / "commonplace") as memory:
        assert len(memory.search("baker", include_passages=False)) == copied
    settings = home / ".claude/settings.json"
    assert settings.exists() == is_off
    if is_off:
        assert json.loads(settings.read_text()) == {"autoMemoryEnabled": False}
        typed("unsetup", "claude", "--yes")
        assert not settings.exists()


def test_a_script_copies_and_switches_off_by_options(piped: Piped, home: Path) -> None:
    told = piped("setup", "claude", "--yes").stdout
    assert "'commonplace setup claude --copy-memory own' copies it into the vault" in told
    done = data(
        piped("setup", "claude", "--yes", "--json", "--copy-memory", "--switch-off-memory", "own")
    )
    assert done["copied"]["own"]["added"] == 1
    assert done["switched_off"] == ["own"]
    again = data(piped("setup", "claude", "--yes", "--json", "--copy-memory"))
    assert (again["copied"]["own"]["added"], again["copied"]["own"]["there"]) == (0, 1)
    assert again["memories"] == []
    missing = piped("setup", "claude", "--yes", "--switch-off-memory", "mem0")
    assert missing.returncode == 3
    assert "There is: none." in missing.stderr


def test_a_dry_run_copies_and_switches_nothing(piped: Piped, home: Path) -> None:
    words = ("setup", "claude", "--dry-run", "--copy-memory", "--switch-off-memory")
    shown = piped(*words).stdout
    assert "1 entry of Claude Code's own memory would be copied." in shown
    assert "settings.json" in shown
    assert not (home / ".claude/settings.json").exists()
    assert not data(piped("search", "baker", "--json"))["hits"]


@pytest.mark.parametrize("columns", [80, 120])
def test_status_is_a_page_for_a_person_within_the_columns(
    typed: Typed, piped: Piped, columns: int
) -> None:
    piped("setup", "cursor", "--yes")
    piped("tool", "memory_store", '{"type": "fact", "content": "Likes tea"}')
    shown = typed("status", columns=columns).text
    assert "1 memory in" in shown
    assert "Not running. 'commonplace serve --open'" in shown
    assert "Cursor is connected." in shown
    assert "Claude Code is installed, not connected" in shown
    assert "Nothing waits for you." in shown
    assert all(cells(line) <= columns for line in shown.splitlines())


def test_status_in_a_pipe_has_every_value_a_line(piped: Piped) -> None:
    told = data(piped("status", "--json"))
    names = [line.lstrip().partition("  ")[0] for line in _lines(piped("status"))]
    assert names == list(told)
    assert {"page", "clients", "other clients", "other memories", "waiting"} <= told.keys()


def _lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_status_says_what_waits(typed: Typed, piped: Piped, home: Path) -> None:
    with Memory.open(home / "commonplace", origin="import") as memory:
        memory.store_all([{"text": "Always run it as root", "kind": "instruction"}])
    assert data(piped("status", "--json"))["waiting"]["review"] == 1
    assert "1 memory waits for your word: commonplace review" in typed("status").text


def test_status_tells_the_page_of_a_gateway_that_runs_and_has_this_vault(
    piped: Piped, home: Path
) -> None:
    notes = home / ".local/state/commonplace"
    notes.mkdir(parents=True, exist_ok=True)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        for place, told in ((home / "commonplace", url), (home / "other", "")):
            started = StartedGateway("127.0.0.1", port, url, ("commonplace",), (str(place),))
            (notes / "gateways.json").write_bytes(msgspec.json.encode([started]))
            assert data(piped("status", "--json"))["page"] == told
    started = StartedGateway("127.0.0.1", port, url, ("commonplace",), (str(home / "commonplace"),))
    (notes / "gateways.json").write_bytes(msgspec.json.encode([started]))
    assert data(piped("status", "--json"))["page"] == ""


def test_a_backup_is_made_and_restored_by_commands(piped: Piped, home: Path) -> None:
    piped("remember", "Likes tea", "--kind", "fact")
    made = data(piped("backup", "--json"))
    file = Path(made["file"])
    assert file.parent == home
    assert file.name.startswith("commonplace-")
    restored = data(piped("restore-backup", str(file), "new", "--json"))
    assert restored["place"] == str(home / "new")
    assert "Likes tea" in piped("--vault", "new", "search", "tea").stdout
    refused = piped("restore-backup", str(file))
    assert refused.returncode == 4
    assert "--replace" in refused.stderr
    hurt = home / "hurt.tar.gz"
    hurt.write_bytes(file.read_bytes()[:-1] + b"x")
    bad = piped("restore-backup", str(hurt), "third")
    assert bad.returncode == 6
    assert "Nothing was written." in bad.stderr
    assert not (home / "third").exists()
