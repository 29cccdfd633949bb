"""Setting up clients: their files keep every byte that is not ours, and get all of them back."""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.doors.cli import setup as commands
from commonplace.doors.cli.main import main
from commonplace.doors.setup import apply, command, connections, json_edit, toml_edit
from commonplace.doors.setup.apply import set_up, take_back
from commonplace.doors.setup.clients import CLIENTS, Where, hooks_shape, skill
from commonplace.doors.setup.config_files import Kind
from commonplace.doors.setup.json_edit import Broken, Flavour, WrongShape
from commonplace.doors.setup.plan import FileChange, SetupPlan, plan, receipt, undoing
from commonplace.memory import Memory
from commonplace.model.errors import (
    BadValue,
    CommonplaceError,
    Conflict,
    NotFound,
    Refused,
    VaultTrouble,
)
from tests.support import strategies
from tests.support.clients import QUIET, real

COMMAND = "/opt/commonplace/bin/commonplace"
ARGUMENTS = ["--vault", "/vaults/mine", "mcp"]
RELAXED = Flavour(comments=True, commas=True)

FILES = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "opencode": ".config/opencode/opencode.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/mcp-config.json",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
}
ENTRIES: dict[str, dict[str, Any]] = {
    "claude": {"type": "stdio", "command": COMMAND, "args": ARGUMENTS, "alwaysLoad": True},
    "codex": {"command": COMMAND, "args": ARGUMENTS, "startup_timeout_sec": 20},
    "gemini": {"command": COMMAND, "args": ARGUMENTS},
    "opencode": {"type": "local", "command": [COMMAND, *ARGUMENTS]},
    "qwen": {"command": COMMAND, "args": ARGUMENTS, "alwaysLoadTools": True},
    "copilot": {"type": "stdio", "command": COMMAND, "args": ARGUMENTS, "tools": ["*"]},
    "cline": {"command": COMMAND, "args": ARGUMENTS},
    "cursor": {"type": "stdio", "command": COMMAND, "args": ARGUMENTS},
    "vscode": {"type": "stdio", "command": COMMAND, "args": ARGUMENTS},
}
OF_CLIENTS = ("CLAUDE_", "CODEX_", "GEMINI_", "QWEN_", "COPILOT_", "CLINE_", "VSCODE_")
LEADING = (*OF_CLIENTS, "XDG_", "COMMONPLACE_")
EVENTS = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "Stop",
    "SessionEnd",
]

# Each is a file that its client reads.
ODD: dict[str, dict[str, str]] = {
    "claude": {
        "tabs": '{\n\t"numStartups": 7,\n\t"mcpServers": {\n\t\t"a": {"command": "x"}\n\t}\n}',
        "mark and returns": '\ufeff{\r\n    "mcpServers": {},\r\n    "theme": "dark"\r\n}\r\n',
        "one line": '{"mcpServers":{"a":{"command":"x"}},"theme":"dark"}',
        "twice": '{"mcpServers": {"a": {}},\n "mcpServers": {"b": {}}}\n',
        "ours by hand": '{"mcpServers": {"commonplace": {"type": "http", "url": "http://h"}}}',
        "empty": "",
        "blank": " \n",
        "other": '{\n  "theme" : "dark" }',
    },
    "codex": {
        "tables": '# mine\nmodel = "o3"\n\n[mcp_servers.a]\ncommand = "x" # c\n\n\n[tui]\nx = 1',
        "mark and returns": '\ufeffmodel = "o3"\r\n\r\n[mcp_servers]\r\n',
        "headers in texts": 'a = """\n[mcp_servers.commonplace]\n"""\nb = [\n  ["x"],\n]\n',
        "ours by hand": (
            "[mcp_servers.commonplace]\nargs = [ # mine\n  \"old\",\n] # kept\ncommand = 'old'\n"
            'enabled = false\n[mcp_servers.commonplace.env]\nKEY = "v"\n\n# of z\n[z]\n'
        ),
        "another kind": '[mcp_servers.commonplace]\nurl = "http://h"\n\n[z]\ny = 1\n',
        "empty": "",
    },
    "gemini": {
        "comments": '// mine\n{\n  /* all */\n  "mcpServers": { // of\n    "a": {} // one\n  }\n}',
        "returns": '{\r\n\t"ui": {"theme": "x"}\r\n}',
    },
    "opencode": {
        "commas": '{\n  "mcp": {\n    "a": {"type": "remote", "url": "u"}, // last\n  },\n}\n',
        "mark": '\ufeff{"theme": "x",}',
    },
    "qwen": {"comments": '{\n      "a": 1 // last\n}\n', "version": '{"$version": 4}'},
    "copilot": {"commas": '{"mcpServers": {"a": {"tools": ["*",],},},}\n'},
    "cline": {
        "switches": '{\n "mcpServers": {\n  "a": {"disabled": true, "autoApprove": []}\n }\n}'
    },
    "cursor": {"comment inside": '{\n  "mcpServers": {\n    // none yet\n  }\n}\n'},
    "vscode": {
        "inputs": '{\n\t"inputs": [\n\t\t// keys\n\t],\n\t"servers": {\n\t\t"a": {},\n\t},\n}\n',
        "after": "{} // nothing\n",
    },
}
CASES = [
    pytest.param(client, text, id=f"{client}, {name}")
    for client, texts in ODD.items()
    for name, text in texts.items()
]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and no variable that would lead out of it."""
    for name in os.environ:
        if name.startswith(LEADING):
            monkeypatch.delenv(name)
    where = tmp_path / "home"
    where.mkdir()
    monkeypatch.setenv("HOME", str(where))
    monkeypatch.setattr(commands, "find_command", lambda: COMMAND)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return where


def planned(client: str, home: Path, **more: Any) -> SetupPlan:
    given: dict[str, Any] = {
        "project": None,
        "command": COMMAND,
        "vault": "/vaults/mine",
        "dialect": "",
        "environ": {},
        "plain": True,
        "hooks": False,
        "platform": "linux",
    }
    return plan(client, home=home, **given | more)


def run(
    client: str,
    *words: str,
    undo: bool = False,
    vault: str = "/vaults/mine",
    hooks: bool = False,
    state: str = "state",
) -> int:
    """The command as the CLI runs it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--dialect", default="")
    (commands.unsetup_arguments if undo else commands.setup_arguments)(parser)
    arguments = parser.parse_args([client, *words, *([] if hooks or undo else ["--no-hooks"])])
    own = Path.home().parent / state
    return commands.SetupRun(arguments, vault=vault, own=own).run(undo=undo)


def set_up_plain(client: str, **more: Any) -> int:
    return run(client, "--yes", *(["--plain"] if client == "claude" else []), **more)


def tree(root: Path) -> dict[str, bytes | None]:
    """Every directory and file below `root`, but for the lock of a vault, which stays."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.name != "lock"
    }


def written(home: Path, client: str, text: str) -> Path:
    path = home / FILES[client]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def data_of(client: str, text: str) -> dict[str, Any]:
    if client == "codex":
        return toml_edit.value(text)
    found: dict[str, Any] = json_edit.value(text, flavour=CLIENTS[client].shape.flavour)
    return found


def without_ours(client: str, text: str) -> dict[str, Any]:
    """What the file says besides our entry; whether the servers' table is there does not count."""
    data = data_of(client, text)
    key = CLIENTS[client].shape.key
    servers = data.pop(key, {})
    return data | {key: {name: each for name, each in servers.items() if name != "commonplace"}}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_fresh_home_gets_one_file_with_one_server(client: str, home: Path) -> None:
    [change] = planned(client, home).changes
    assert change.path == home / FILES[client]
    assert change.before is None
    data = data_of(client, change.after or "")
    data.pop("$schema", None)
    assert data == {CLIENTS[client].shape.key: {"commonplace": ENTRIES[client]}}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_fresh_home_is_as_it_was_after_unsetup(client: str, home: Path) -> None:
    assert set_up_plain(client, hooks=True) == 0
    assert tree(home) != {}
    assert run(client, "--yes", undo=True) == 0
    assert tree(home) == {}
    assert tree(home.parent / "state") == {}


@pytest.mark.parametrize(("client", "text"), CASES)
def test_what_others_wrote_stays_and_ours_is_added(client: str, text: str, home: Path) -> None:
    written(home, client, text)
    [change] = planned(client, home).changes
    after = change.after or ""
    entry = data_of(client, after)[CLIENTS[client].shape.key]["commonplace"]
    assert entry | ENTRIES[client] == entry
    assert without_ours(client, after) == without_ours(client, text)
    if "ours" not in text and "commonplace" not in text:
        rest = iter(after)
        assert all(character in rest for character in text), "something was taken away"


@pytest.mark.parametrize(("client", "text"), CASES)
def test_a_second_setup_changes_nothing(client: str, text: str, home: Path) -> None:
    written(home, client, text)
    assert set_up_plain(client, hooks=True) == 0
    once = tree(home)
    assert planned(client, home, hooks=True).changes == ()
    assert set_up_plain(client, hooks=True) == 0
    assert tree(home) == once


@pytest.mark.parametrize(("client", "text"), CASES)
def test_unsetup_brings_back_every_byte(client: str, text: str, home: Path) -> None:
    written(home, client, text)
    before = tree(home)
    set_up_plain(client, hooks=True)
    assert tree(home) != before
    assert run(client, "--yes", undo=True) == 0
    assert tree(home) == before


@pytest.mark.parametrize(("client", "text"), CASES)
def test_another_vault_is_written_over_the_first_and_both_are_undone(
    client: str, text: str, home: Path
) -> None:
    path = written(home, client, text)
    before = tree(home)
    set_up_plain(client, hooks=True)
    set_up_plain(client, hooks=True, vault="/vaults/other")
    assert b"/vaults/mine" not in b"".join(each or b"" for each in tree(home).values())
    assert b"/vaults/other" in path.read_bytes()
    run(client, "--yes", undo=True)
    assert tree(home) == before


FORMS = [
    (
        '{\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}',
        '{\n\t"mcpServers": {\n\t\t"a": {},\n\t\t"commonplace": {\n\t\t\t"command": "/c",\n'
        '\t\t\t"args": [\n\t\t\t\t"--vault",\n\t\t\t\t"/v",\n\t\t\t\t"mcp"\n\t\t\t]\n'
        "\t\t}\n\t}\n}",
    ),
    (
        '{"mcpServers":{"a":{}}}',
        '{"mcpServers":{"a":{}, '
        '"commonplace": {"command": "/c", "args": ["--vault", "/v", "mcp"]}}}',
    ),
    (
        '{\r\n "a": 1 // one\r\n}\r\n',
        '{\r\n "a": 1, // one\r\n "mcpServers": {\r\n  "commonplace": {\r\n   "command": "/c",\r\n'
        '   "args": [\r\n    "--vault",\r\n    "/v",\r\n    "mcp"\r\n   ]\r\n  }\r\n }\r\n}\r\n',
    ),
    (
        '{\n  "mcpServers": {\n    "commonplace": {"args": [], "command": "/c", "trust": true}}}',
        '{\n  "mcpServers": {\n    "commonplace": {"args": ["--vault", "/v", "mcp"], '
        '"command": "/c", "trust": true}}}',
    ),
]


@pytest.mark.parametrize(("before", "after"), FORMS)
def test_an_entry_is_written_in_the_form_of_its_file(before: str, after: str, home: Path) -> None:
    written(home, "gemini", before)
    [change] = planned("gemini", home, command="/c", vault="/v").changes
    assert change.after == after


def test_what_a_person_switched_off_stays_off(home: Path) -> None:
    text = json.dumps({"mcpServers": {"commonplace": {**ENTRIES["copilot"], "tools": ["search"]}}})
    written(home, "copilot", text)
    assert planned("copilot", home).changes == ()
    text = (
        '[mcp_servers.commonplace]\nenabled = false\ncommand = "x"\nstartup_timeout_sec = 60 # s\n'
    )
    path = written(home, "codex", text)
    set_up_plain("codex")
    assert path.read_text() == (
        f'[mcp_servers.commonplace]\nenabled = false\ncommand = "{COMMAND}"\n'
        'startup_timeout_sec = 60 # s\nargs = ["--vault", "/vaults/mine", "mcp"]\n'
    )


def test_a_dialect_and_the_options_of_the_environment_go_along(home: Path) -> None:
    environ = {"COMMONPLACE_STATE_DIR": "/state", "COMMONPLACE_VAULT": "/no", "OTHER": "x"}
    for client, name in (("claude", "env"), ("opencode", "environment"), ("codex", "env")):
        [change] = planned(client, home, dialect="earl", environ=environ).changes
        entry = data_of(client, change.after or "")[CLIENTS[client].shape.key]["commonplace"]
        words = entry.get("args") or entry["command"][1:]
        assert words == ["--vault", "/vaults/mine", "--dialect", "earl", "mcp"]
        assert entry[name] == {"COMMONPLACE_STATE_DIR": "/state"}


def test_variables_and_systems_say_where_the_files_are() -> None:
    mac, windows = "darwin", "win32"
    cases: list[tuple[str, dict[str, str], str, str]] = [
        ("claude", {"CLAUDE_CONFIG_DIR": "/c"}, "linux", "/c/.claude.json"),
        ("codex", {"CODEX_HOME": "/c"}, "linux", "/c/config.toml"),
        ("gemini", {"GEMINI_CLI_HOME": "/c"}, "linux", "/c/.gemini/settings.json"),
        ("opencode", {"XDG_CONFIG_HOME": "/c"}, "linux", "/c/opencode/opencode.json"),
        ("qwen", {"QWEN_HOME": "~/q"}, "linux", "/home/me/q/settings.json"),
        ("copilot", {"COPILOT_HOME": "/c"}, "linux", "/c/mcp-config.json"),
        ("cline", {"CLINE_DIR": "/c"}, "linux", "/c/data/settings/cline_mcp_settings.json"),
        ("cline", {"CLINE_DATA_DIR": "/c"}, "linux", "/c/settings/cline_mcp_settings.json"),
        ("cline", {"CLINE_MCP_SETTINGS_PATH": "/c.json"}, "linux", "/c.json"),
        ("vscode", {"XDG_CONFIG_HOME": "/c"}, "linux", "/c/Code/User/mcp.json"),
        ("vscode", {}, mac, "/home/me/Library/Application Support/Code/User/mcp.json"),
        ("vscode", {"APPDATA": "/r"}, windows, "/r/Code/User/mcp.json"),
        ("vscode", {"VSCODE_PORTABLE": "/p"}, "linux", "/p/user-data/User/mcp.json"),
    ]
    for client, environ, platform, path in cases:
        where = Where(Path("/home/me"), environ, None, platform)
        assert CLIENTS[client].file(where) == Path(path)


def test_a_project_has_files_of_its_own(home: Path) -> None:
    project = home / "garden"
    expected = {
        "claude": [".mcp.json", ".claude/settings.local.json"],
        "codex": [".codex/config.toml", ".codex/hooks.json"],
        "gemini": [".gemini/settings.json"],
        "opencode": ["opencode.json", ".opencode/plugins/commonplace.js"],
        "qwen": [".qwen/settings.json"],
        "copilot": [".mcp.json", ".github/hooks/commonplace.json"],
        "cursor": [".cursor/mcp.json"],
        "vscode": [".vscode/mcp.json"],
    }
    for client, names in expected.items():
        changes = planned(client, home, project=project, hooks=True).changes
        assert [change.path for change in changes] == [project / name for name in names]
    with pytest.raises(BadValue, match="Cline has no servers of a project"):
        planned("cline", home, project=project)


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "opencode", "qwen", "copilot"])
def test_a_client_that_is_set_up_for_all_and_in_a_project_has_one_set_of_tools_and_a_named_block(
    client: str, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home / "project"
    project.mkdir()
    run(client, "--yes", hooks=True)
    capsys.readouterr()
    before = tree(home)
    run(client, "--yes", "--project", str(project), hooks=True, vault="/vaults/project")
    said = capsys.readouterr().out
    assert "is also set up for all projects, with the vault /vaults/mine. In this project" in said
    text = "".join(path.read_text() for path in project.rglob("*") if path.is_file())
    assert "--named" in text
    if client == "claude":
        settings = json.loads((project / ".claude/settings.local.json").read_text())
        assert settings["enabledPlugins"] == {"commonplace@skills-dir": False}
    [twice] = connections.twice_here(Where(home, {}, project))
    assert twice in said
    run(client, "--yes", "--project", str(project), undo=True)
    assert tree(home) == before
    assert connections.twice_here(Where(home, {}, project)) == []


def test_a_switch_of_ours_leaves_no_container_after_an_edit(home: Path) -> None:
    settings = home / "project/.claude/settings.local.json"
    run("claude", "--yes")
    run("claude", "--yes", "--project", str(home / "project"))
    settings.write_text(settings.read_text().replace("{", '{"mine": 1,', 1))
    run("claude", "--yes", "--project", str(home / "project"), undo=True)
    assert json.loads(settings.read_text()) == {"mine": 1}


def test_unsetup_of_one_project_leaves_the_others(home: Path) -> None:
    run("cursor", "--yes")
    for name in ("a", "b"):
        run("cursor", "--yes", "--project", str(home / name))
    run("cursor", "--yes", "--project", str(home / "a"), undo=True)
    left = {name for name, text in tree(home).items() if text is not None}
    assert left == {".cursor/mcp.json", "b/.cursor/mcp.json"}
    run("cursor", "--yes", undo=True)
    assert tree(home) == {}


def test_opencode_uses_the_file_that_is_there(home: Path) -> None:
    other = home / ".config/opencode/opencode.jsonc"
    other.parent.mkdir(parents=True)
    other.write_text("{ /* mine */ }")
    [change] = planned("opencode", home).changes
    assert change.path == other
    assert (change.after or "").startswith("{ /* mine */")


BROKEN = [
    ("claude", '{\n  "a": 1,\n  // no\n}', 3, "a comment"),
    ("claude", '{\n  "a": [1, 2,]\n}', 2, "a comma after the last entry"),
    ("claude", '{\n  "a": 1\n  "b": 2\n}', 3, "',' or '}' must be here"),
    ("claude", '{\n  "a: 1\n}', 2, "a text that does not end"),
    ("claude", '{\n  "a": 1\n', 3, "',' or '}' must be here"),
    ("claude", '{"a":\n', 2, "the end where a value must be"),
    ("claude", "[]", 1, "must be an object"),
    ("claude", '{"a": 1}\n}', 2, "more text after the end"),
    ("claude", '{"a" 1}', 1, "':' must follow the key 'a'"),
    ("claude", "{a: 1}", 1, "a key in double quotes"),
    ("claude", '{"a": ' + "[" * 500, 1, "nested too deep"),
    ("gemini", "\ufeff{}", 1, "a byte order mark"),
    ("cline", "\ufeff{}", 1, "a byte order mark"),
    ("gemini", '{"a": 1,}', 1, "a comma after the last entry"),
    ("vscode", '{"a": 1, /* }', 1, "a key in double quotes"),
    ("codex", 'a = 1\nb = "x\n', 2, "Illegal character"),
    ("codex", "a = 1\n[b\n", 2, "Expected ']'"),
    ("codex", "a = 1\na = 2\n", 2, "Cannot overwrite a value"),
]


@pytest.mark.parametrize(("client", "text", "line", "problem"), BROKEN)
def test_a_broken_file_is_named_with_its_line_and_left_alone(
    client: str, text: str, line: int, problem: str, home: Path
) -> None:
    path = written(home, client, text)
    before = tree(home.parent)
    with pytest.raises(VaultTrouble) as raised:
        set_up_plain(client)
    assert f"{path} cannot be used: line {line}: " in str(raised.value)
    assert problem in str(raised.value)
    assert tree(home.parent) == before


def test_a_value_in_the_place_of_the_servers_is_named(home: Path) -> None:
    cases = [
        ("claude", '{"mcpServers": []}', "mcpServers must be an object"),
        ("codex", "mcp_servers = 1", "mcp_servers must be a table"),
        ("codex", "mcp_servers = { a = { command = 'x' } }", "written inline"),
        ("codex", "[mcp_servers]\ncommonplace = { command = 'x' }", "written inline"),
    ]
    for client, text, problem in cases:
        written(home, client, text)
        with pytest.raises(VaultTrouble, match=problem):
            planned(client, home)


def test_a_file_that_is_no_text_is_named_with_its_line(home: Path) -> None:
    path = written(home, "cursor", "")
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(VaultTrouble, match="line 2: it is not UTF-8"):
        planned("cursor", home)
    path.unlink()
    path.mkdir()
    with pytest.raises(VaultTrouble, match="is a directory"):
        planned("cursor", home)


def test_a_read_only_file_is_refused_before_anything_is_written(home: Path) -> None:
    written(home, "codex", "").chmod(0o444)
    before = tree(home.parent)
    with pytest.raises(Refused, match="read-only"):
        set_up_plain("codex", hooks=True)
    assert tree(home.parent) == before


def test_the_mode_of_a_file_and_the_link_to_it_stay(home: Path) -> None:
    path = written(home, "cursor", "{}")
    kept = home / "dotfiles.json"
    path.rename(kept)
    kept.chmod(0o640)
    path.symlink_to(kept)
    run("cursor", "--yes")
    assert path.is_symlink()
    assert b"commonplace" in kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640
    run("cursor", "--yes", undo=True)
    assert kept.read_bytes() == b"{}"
    assert path.is_symlink()


def test_what_is_new_is_for_its_owner_only(home: Path) -> None:
    run("cursor", "--yes")
    for path in (home / ".cursor/mcp.json", home.parent / "state/setup/cursor.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dry_run_shows_the_diff_and_changes_nothing(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(home.parent)
    assert run(client, "--dry-run", "--diff", hooks=True) == 0
    shown = capsys.readouterr().out
    assert "--- /dev/null\n+++ " in shown
    assert COMMAND in shown
    notes = planned(client, home, hooks=True).notes
    lines = shown.splitlines()
    ended = lines.index("Nothing was changed.")
    assert tuple(lines[ended + 1 : ended + 1 + len(notes)]) == notes
    assert tree(home.parent) == before
    set_up_plain(client)
    before = tree(home.parent)
    assert run(client, "--dry-run", undo=True) == 0
    assert tree(home.parent) == before


def test_the_diff_is_of_the_lines_that_change(home: Path) -> None:
    path = written(home, "cursor", '{\n  "mcpServers": {}\n}\n')
    assert planned("cursor", home, command="/c", vault="/v").diff() == "\n".join(
        [
            f"--- {path}",
            f"+++ {path}",
            "@@ -1,3 +1,13 @@",
            " {",
            '-  "mcpServers": {}',
            '+  "mcpServers": {',
            '+    "commonplace": {',
            '+      "type": "stdio",',
            '+      "command": "/c",',
            '+      "args": [',
            '+        "--vault",',
            '+        "/v",',
            '+        "mcp"',
            "+      ]",
            "+    }",
            "+  }",
            " }",
        ]
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_somebody_must_have_said_yes(home: Path) -> None:
    with pytest.raises(BadValue, match="Repeat with --yes"):
        run("cursor")
    assert tree(home.parent) == {"home": None}


def test_at_a_terminal_it_asks(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, code, files in (("\n", 2, 0), ("n\n", 2, 0), ("y\n", 0, 1)):
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        assert run("cursor") == code
        assert len(list(home.rglob("mcp.json"))) == files


def test_it_says_what_it_did(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def last(*words: str, undo: bool = False) -> str:
        run("copilot", *words, undo=undo)
        return capsys.readouterr().out.splitlines()[-1]

    assert last("--yes") == "Copilot CLI is now set up."
    assert last("--yes") == "Copilot CLI is already set up."
    assert last() == "Copilot CLI is already set up."
    assert last("--yes", undo=True) == "Copilot CLI is no longer set up."
    assert last("--yes", undo=True) == "Copilot CLI is not set up."
    run("copilot", "--yes", "--json")
    said = json.loads(capsys.readouterr().out)
    assert said["client"] == "copilot"
    assert said["written"] is True
    assert [file["path"] for file in said["files"]] == [str(home / FILES["copilot"])]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_is_another_vaults_again_is_said_to_be(
    client: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(client, "--yes", hooks=True)
    first = tree(home)
    run(client, "--yes", hooks=True, vault="/vaults/other", state="other")
    capsys.readouterr()
    run(client, "--yes", undo=True, vault="/vaults/other", state="other")
    assert tree(home) == first
    title = CLIENTS[client].title
    said = capsys.readouterr().out.splitlines()
    assert f"{title} is set up for /vaults/mine again, as it was before." in said
    run(client, "--yes", undo=True)
    assert f"{title} is no longer set up." in capsys.readouterr().out.splitlines()


def test_a_relative_vault_is_written_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    run("cursor", "--yes", vault="notes")
    assert f'"{home / "notes"}"' in (home / ".cursor/mcp.json").read_text()
    run("cursor", "--yes", vault="postgresql://host/notes")
    assert '"postgresql://host/notes"' in (home / ".cursor/mcp.json").read_text()


def test_a_path_that_no_file_can_hold_is_refused(home: Path) -> None:
    for vault in ("/a\nb", "/a\udcff"):
        with pytest.raises(BadValue, match="cannot be written into a client's file"):
            planned("codex", home, vault=vault)
    odd = '/a "b" \\ c\u3000é\u2028'
    for client in ("codex", "claude"):
        [change] = planned(client, home, vault=odd).changes
        entry = data_of(client, change.after or "")[CLIENTS[client].shape.key]["commonplace"]
        assert entry["args"][1] == odd


def test_the_installed_command_is_found_next_to_python_or_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def install(*steps: str) -> Path:
        path = tmp_path.joinpath(*steps, "commonplace")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv/bin/python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(NotFound, match="not installed"):
        command.find_command()
    assert command.find_command.__name__ == "find_command"
    on_path = install("bin")
    assert command.find_command() == str(on_path)
    beside = install("venv", "bin")
    assert command.find_command() == str(beside)
    cached = install(".cache", "uv", "archive-v0", "x", "bin")
    monkeypatch.setattr(sys, "executable", str(cached.with_name("python")))
    with pytest.raises(NotFound, match="will not stay there"):
        command.find_command()


FOREIGN = [
    ("claude", '{"theme": "dark"}', lambda text: text.replace('"dark"', '"light"')),
    ("codex", 'model = "o3"\n', lambda text: text.replace("o3", "o4") + '\n[z]\ny = "1"\n'),
    ("vscode", '{\n  // mine\n  "servers": {"a": {},},\n}', lambda text: "// new\n" + text),
    ("gemini", "{}", lambda text: json.dumps({**json.loads(text), "$version": 4}, indent=4)),
]


@pytest.mark.parametrize(("client", "text", "edit"), FOREIGN)
def test_unsetup_takes_out_only_ours_when_somebody_changed_the_file(
    client: str, text: str, edit: Any, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(home, client, text)
    set_up_plain(client, hooks=True)
    changed = edit(path.read_text())
    path.write_text(changed)
    expected = without_ours(client, changed)
    expected.pop("hooks", None)
    assert run(client, "--yes", undo=True) == 0
    assert f"{path} changed since setup: only our part goes." in capsys.readouterr().out
    assert without_ours(client, path.read_text()) == expected
    assert "commonplace" not in path.read_text()


STAYS = [
    ("gemini", "{}", "{ADDED}"),
    ("gemini", '{"mcpServers": {}}', '{ADDED"mcpServers": {}}'),
    ("gemini", '{"hooks": {"AfterAgent": []}}', '{ADDED"hooks": {"AfterAgent": []}}'),
    ("gemini", '{"hooks": { /* mine */ }}', '{ADDED"hooks": { /* mine */}}'),
    ("gemini", None, "{ADDED}"),
    ("opencode", None, '{ADDED"$schema": "https://opencode.ai/config.json"}'),
    (
        "gemini",
        '{"mcpServers": {"commonplace": {"httpUrl": "http://h"}}}',
        '{ADDED"mcpServers": {"commonplace": {"httpUrl": "http://h"}}}',
    ),
]


@pytest.mark.parametrize(("client", "text", "left"), STAYS)
def test_unsetup_after_an_edit_leaves_what_was_the_persons_and_no_container_of_ours(
    client: str, text: str | None, left: str, home: Path
) -> None:
    path = home / FILES[client] if text is None else written(home, client, text)
    set_up_plain(client, hooks=True)
    path.write_text(path.read_text().replace("{", '{"added": 1,', 1))
    run(client, "--yes", undo=True)

    def bare(text: str) -> str:
        return "".join(text.split()).replace(",}", "}")

    assert bare(path.read_text()) == bare(left.replace("ADDED", '"added": 1,'))


PROSE = ["", "# Mine\n", "# Mine", "# Mine\n\n", "# Mine\r\n", "\n"]


@pytest.mark.parametrize("text", [None, *PROSE])
def test_a_block_in_agents_md_comes_and_goes_and_the_rest_stays(
    text: str | None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    path = home / "AGENTS.md"
    if text is not None:
        path.write_bytes(text.encode())
    before = tree(home)
    for edit in ("", "# More\n"):
        assert run("agents-md", "--yes") == 0
        once = path.read_bytes()
        assert once.startswith((text or "").encode())
        assert once.count(b"commonplace: begin") == 1
        assert len(once) - len(text or "") < 800
        assert run("agents-md", "--yes") == 0
        path.write_bytes(once.replace(b"Commonplace:", b"an older text:") + edit.encode())
        assert run("agents-md", "--yes") == 0
        assert path.read_bytes() == once + edit.encode()
        if edit:
            shutil.rmtree(home.parent / "state")  # Also without a receipt.
        assert run("agents-md", "--yes", undo=True) == 0
        if edit:
            assert path.read_bytes() == (text or "").encode() + edit.encode()
        else:
            assert tree(home) == before


def test_a_file_of_ours_in_which_somebody_wrote_a_comment_stays_with_it(home: Path) -> None:
    for client, note in (("gemini", "// mine\n"), ("codex", "# mine\n")):
        set_up_plain(client)
        path = home / FILES[client]
        path.write_text(note + path.read_text())
        run(client, "--yes", undo=True)
        assert path.read_text().startswith(note)
        assert "commonplace" not in path.read_text()


def test_unsetup_works_when_the_vault_is_gone(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault, other = tmp_path / "gone", tmp_path / "gone too"
    path = written(home, "gemini", '{"mcpServers": {}}')
    before = tree(home)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(home)
    for named, left in ((["--vault", str(vault)], vault), ([], other)):
        with Memory.open(left, create=True):
            pass
        assert main(["--vault", str(left), "setup", "gemini", "--yes"]) == 0
        path.write_text(path.read_text() + "\n")
        shutil.rmtree(left)
        assert main([*named, "unsetup", "gemini", "--yes"]) == 0
        path.write_text(path.read_text().removesuffix("\n"))
        assert tree(home) == before


def test_setting_up_again_after_such_a_change_can_be_undone_too(home: Path) -> None:
    path = written(home, "codex", 'model = "o3"\n')
    set_up_plain("codex")
    path.write_text("# a note\n" + path.read_text())
    set_up_plain("codex", vault="/vaults/other")
    run("codex", "--yes", undo=True)
    assert path.read_text() == '# a note\nmodel = "o3"\n'


def test_a_file_that_setup_made_goes_even_if_its_client_rewrote_it(home: Path) -> None:
    run("cline", "--yes")
    path = home / FILES["cline"]
    path.write_text(json.dumps(json.loads(path.read_text())))
    run("cline", "--yes", undo=True)
    assert tree(home) == {}


def test_unsetup_after_others_took_ours_out_says_that_nothing_is_left(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("cline", "--yes")
    (home / FILES["cline"]).write_text('{"mcpServers": {"a": {}}}')
    capsys.readouterr()
    assert run("cline", "--yes", undo=True) == 0
    assert capsys.readouterr().out.startswith("Cline is not set up.")
    assert (home / FILES["cline"]).read_text() == '{"mcpServers": {"a": {}}}'
    assert tree(home.parent / "state") == {}


def test_unsetup_without_a_receipt_takes_out_what_is_ours(home: Path) -> None:
    for client in CLIENTS:
        run(client, "--yes", hooks=True)
    set_up_plain("claude", hooks=True)
    shutil.rmtree(home.parent / "state")
    for client in CLIENTS:
        run(client, "--yes", undo=True)
    left = b"".join(text or b"" for text in tree(home).values())
    assert b"/vaults/mine" not in left
    assert b"hook " not in left


def test_unsetup_does_not_read_what_can_hold_nothing_of_ours(home: Path) -> None:
    run("claude", "--yes")
    broken = home / ".claude/settings.json"
    broken.write_text("{ broken")
    run("claude", "--yes", undo=True)
    assert {name: text for name, text in tree(home).items() if text} == {
        ".claude/settings.json": b"{ broken"
    }


def test_a_change_between_the_diff_and_the_writing_is_noticed(home: Path) -> None:
    path = written(home, "cursor", "{}")
    made = planned("cursor", home)
    path.write_text('{"mcpServers": {}}')
    with pytest.raises(Conflict, match="changed meanwhile"):
        set_up(made, state=home.parent / "state")
    assert path.read_text() == '{"mcpServers": {}}'


def test_all_files_are_written_or_none(home: Path) -> None:
    (home / "file").write_text("x")
    good = FileChange(home / "good", "old", "new", hooks_shape("codex"))
    bad = FileChange(home / "file" / "bad", None, "new", hooks_shape("codex"))
    good.path.write_text("old")
    before = tree(home.parent)
    with pytest.raises(CommonplaceError, match="Nothing was changed"):
        set_up(SetupPlan("codex", (good, bad)), state=home.parent / "state")
    assert {name: text for name, text in tree(home.parent).items() if name != "state"} == before


def test_a_receipt_holds_nothing_of_the_rest_of_the_file(home: Path) -> None:
    secret = '{\n  "mcpServers": {\n    "a": {"env": {"KEY": "sk-very-secret"}}\n  }\n}\n'
    written(home, "claude", secret)
    set_up_plain("claude")
    assert "sk-very-secret" not in (home.parent / "state/setup/claude.json").read_text()


@given(before=st.none() | st.text(), after=st.text())
def test_a_receipt_leads_back_from_any_text_to_any_other(before: str | None, after: str) -> None:
    kept = receipt(before, after, kind=Kind.JSON)
    assert kept.fits(after)
    assert kept.previous(after) == before


def hook_commands(data: Mapping[str, Any]) -> dict[str, list[str]]:
    return {
        event: [hook["command"] for group in groups for hook in group["hooks"]]
        for event, groups in data["hooks"].items()
    }


def test_hooks_are_wired_to_the_events_of_each_client(home: Path) -> None:
    names = {
        "claude": (".claude/settings.json", [*EVENTS, "PostToolUseFailure"]),
        "codex": (".codex/hooks.json", EVENTS),
        "qwen": (".qwen/settings.json", [*EVENTS, "PostToolUseFailure"]),
        "gemini": (
            ".gemini/settings.json",
            [
                "SessionStart",
                "BeforeAgent",
                "BeforeTool",
                "AfterTool",
                "PreCompress",
                "AfterAgent",
                "SessionEnd",
            ],
        ),
    }
    for client, (file, events) in names.items():
        changes = {each.path: each for each in planned(client, home, hooks=True).changes}
        commands = hook_commands(json.loads(changes[home / file].after or ""))
        assert list(commands) == events
        assert commands["SessionStart"] == [
            f"{COMMAND} --vault /vaults/mine hook session-start --client {client}"
        ]


def test_copilot_gets_a_file_of_hooks_for_either_shell(home: Path) -> None:
    _, change = planned("copilot", home, hooks=True, vault="/it's").changes
    assert change.path == home / ".copilot/hooks/commonplace.json"
    data = json.loads(change.after or "")
    assert data["version"] == 1
    assert list(data["hooks"]) == [
        "sessionStart",
        "userPromptSubmitted",
        "preToolUse",
        "postToolUse",
        "postToolUseFailure",
        "preCompact",
        "agentStop",
        "sessionEnd",
    ]
    assert data["hooks"]["preCompact"] == [
        {
            "type": "command",
            "bash": f"{COMMAND} --vault '/it'\"'\"'s' hook pre-compact --client copilot",
            "powershell": f"& '{COMMAND}' '--vault' '/it''s' 'hook' 'pre-compact'"
            " '--client' 'copilot'",
            "timeoutSec": 10,
        }
    ]


@pytest.mark.parametrize("client", ["opencode", "cline"])
def test_a_client_that_loads_scripts_gets_one_that_runs_the_hooks(client: str, home: Path) -> None:
    command = "C:\\Program Files\\cp\\commonplace.exe"
    _, change = planned(client, home, hooks=True, command=command, vault='/a "vault"').changes
    called = re.search("^const WORDS = (.*)$", change.after or "", re.MULTILINE)
    assert called
    assert json.loads(called[1]) == [
        *(command, "--vault", '/a "vault"'),
        *("hook", "EVENT", "--client", client),
    ]


def test_on_windows_a_hook_is_spelled_for_every_shell(home: Path) -> None:
    command = "C:\\Program Files\\cp\\commonplace.exe"
    changes = planned("codex", home, hooks=True, platform="win32", command=command).changes
    commands = hook_commands(json.loads(changes[1].after or ""))
    assert commands["Stop"] == [
        '"C:/Program Files/cp/commonplace.exe" --vault /vaults/mine hook stop --client codex'
    ]


def test_the_hooks_of_others_stay_where_they_are(home: Path) -> None:
    mine = f"{COMMAND} --vault /old hook stop --client claude"
    theirs = {"type": "command", "command": "make check"}
    settings = home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text(
        json.dumps(
            {
                "hooks": {
                    "Stop": [{"matcher": "", "hooks": [theirs, {"command": mine}]}],
                    "Notification": [{"hooks": [theirs]}],
                    "disabled": True,
                }
            }
        )
    )
    before = settings.read_bytes()
    set_up_plain("claude", hooks=True)
    hooks = json.loads(settings.read_text())["hooks"]
    assert hooks.pop("disabled") is True
    commands = hook_commands({"hooks": hooks})
    assert commands["Notification"] == ["make check"]
    assert commands["Stop"] == [
        "make check",
        f"{COMMAND} --vault /vaults/mine hook stop --client claude",
    ]
    settings.write_text(settings.read_text() + "\n")
    run("claude", "--yes", undo=True)
    assert json.loads(settings.read_text()) == {
        "hooks": {
            "Stop": [{"matcher": "", "hooks": [theirs]}],
            "Notification": [{"hooks": [theirs]}],
            "disabled": True,
        }
    }
    settings.write_bytes(before)
    set_up_plain("claude", hooks=True)
    run("claude", "--yes", undo=True)
    assert settings.read_bytes() == before


def test_hooks_of_another_form_are_named(home: Path) -> None:
    for text, problem in (
        ('{"hooks": []}', "hooks must be an object"),
        ('{"hooks": {"Stop": {}}}', r"hooks\.Stop must be a list"),
    ):
        written(home, "qwen", text)
        with pytest.raises(VaultTrouble, match=problem):
            planned("qwen", home, hooks=True)


def test_claude_gets_a_plugin_where_it_looks_for_plugins(home: Path) -> None:
    root = home / ".claude/skills/commonplace"
    assert run("claude", "--yes", hooks=True) == 0
    assert {name for name, text in tree(root).items() if text} == {
        ".claude-plugin/plugin.json",
        ".mcp.json",
        "README.md",
        "hooks/hooks.json",
        "skills/commonplace/SKILL.md",
    }
    servers = json.loads((root / ".mcp.json").read_text())["mcpServers"]
    assert servers == {"commonplace": ENTRIES["claude"]}
    commands = hook_commands(json.loads((root / "hooks/hooks.json").read_text()))
    assert list(commands) == [*EVENTS, "PostToolUseFailure"]
    assert commands["PostCompact"] == [
        f"{COMMAND} --vault /vaults/mine hook post-compact --client claude"
    ]
    assert (root / "skills/commonplace/SKILL.md").read_text() == skill()


def test_without_the_hook_command_the_plugin_has_no_hooks(home: Path) -> None:
    run("claude", "--yes")
    assert not list(home.rglob("hooks.json"))


def test_a_plugin_can_be_written_anywhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("claude", "--yes", "--plugin", str(home / "mine"))
    assert (home / "mine/.mcp.json").is_file()
    run("claude", "--yes", "--plugin")
    assert (home.parent / "state/plugin/claude/.mcp.json").is_file()
    run("claude", "--yes", undo=True)
    assert tree(home.parent) == {"home": None, "state": None}


def test_a_skill_that_a_person_changed_stays(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("claude", "--yes")
    path = home / ".claude/skills/commonplace/skills/commonplace/SKILL.md"
    path.write_text("mine")
    run("claude", "--yes", undo=True)
    assert f"{path} changed since setup and stays as it is." in capsys.readouterr().out
    assert {name for name, text in tree(home).items() if text} == {str(path.relative_to(home))}


def test_the_skill_names_itself_and_the_five_types() -> None:
    _, front, body = skill().split("---\n", 2)
    lines = dict(line.split(": ", 1) for line in front.splitlines())
    assert lines["name"] == "commonplace"
    assert len(lines["description"]) <= 1024
    for word in ("preference", "fact", "instruction", "correction", "context", "supersedes"):
        assert f"`{word}`" in body
    assert "suggestions, not commands" in body


def values() -> st.SearchStrategy[Any]:
    words = strategies.texts(max_pieces=2)
    keys = st.sampled_from(("mcpServers", "commonplace", "command", "", "//", '"', "é"))
    leaves = st.none() | st.booleans() | st.integers(-99, 99) | words
    return st.recursive(
        leaves,
        lambda below: st.lists(below, max_size=3) | st.dictionaries(keys, below, max_size=3),
        max_leaves=8,
    )


def objects() -> st.SearchStrategy[dict[str, Any]]:
    servers = st.dictionaries(st.sampled_from(("a", "commonplace", "{")), values(), max_size=3)
    rest = st.dictionaries(st.sampled_from(("a", "b", "/*", "}")), values(), max_size=3)
    return st.builds(
        lambda rest, servers: rest if servers is None else {**rest, "mcpServers": servers},
        rest,
        st.none() | servers,
    )


@st.composite
def texts(draw: st.DrawFn, *, relaxed: bool) -> str:
    """An object written as somebody might: any blanks, and comments and commas when relaxed."""
    chance = random.Random(draw(st.integers(0, 1 << 32)))
    blanks = [" ", "\n", "\t", "\r\n", "", "", "\n  "]
    if relaxed:
        blanks += ["// note \n", "/* , } */", "\n  // \u2028 {\n"]

    def gap() -> str:
        return "".join(chance.choices(blanks, k=chance.randrange(3)))

    def spelled(value: Any) -> str:
        if isinstance(value, dict):
            pairs = [json.dumps(key) + gap() + ":" + gap() + spelled(value[key]) for key in value]
            return "{" + held(pairs) + "}"
        if isinstance(value, list):
            return "[" + held([spelled(item) for item in value]) + "]"
        return json.dumps(value, ensure_ascii=chance.random() < 0.5)

    def held(parts: list[str]) -> str:
        inside = ",".join(gap() + part + gap() for part in parts)
        return inside + ("," if relaxed and parts and chance.random() < 0.5 else "") + gap()

    if chance.random() < 0.5:
        indent = chance.choice((None, 1, 2, 4, "\t"))
        text = json.dumps(draw(objects()), indent=indent)
        return text.replace("\n", chance.choice(("\n", "\r\n")))
    return chance.choice(("", "\ufeff")) + gap() + spelled(draw(objects())) + gap()


@given(text=texts(relaxed=True), wanted=objects())
def test_putting_an_entry_into_any_text_changes_nothing_else(text: str, wanted: Any) -> None:
    before = json_edit.value(text, flavour=RELAXED)
    after = json_edit.put(text, ("mcpServers", "commonplace"), wanted, flavour=RELAXED)
    data = json_edit.value(after, flavour=RELAXED)
    entry = data["mcpServers"].pop("commonplace")
    there = before.get("mcpServers", {}).pop("commonplace", {})
    assert data | {"mcpServers": data["mcpServers"]} == {"mcpServers": {}} | before
    assert entry == laid_over(there, wanted)
    assert json_edit.put(after, ("mcpServers", "commonplace"), wanted, flavour=RELAXED) == after


def laid_over(there: Any, wanted: Any) -> Any:
    if not (isinstance(there, dict) and isinstance(wanted, dict)):
        return wanted
    return {**there, **{key: laid_over(there.get(key), each) for key, each in wanted.items()}}


@given(text=texts(relaxed=True))
def test_dropping_an_entry_from_any_text_changes_nothing_else(text: str) -> None:
    before = json_edit.value(text, flavour=RELAXED)
    after = json_edit.drop(text, ("mcpServers", "commonplace"), flavour=RELAXED)
    before.get("mcpServers", {}).pop("commonplace", None)
    assert json_edit.value(after, flavour=RELAXED) == before


@given(text=texts(relaxed=True), item=values())
def test_adding_to_and_dropping_from_a_list_changes_nothing_else(text: str, item: Any) -> None:
    path = ("a list of ours",)
    once = json_edit.append(text, path, item, flavour=RELAXED)
    twice = json_edit.append(once, path, "second", flavour=RELAXED)
    assert json_edit.value(twice, flavour=RELAXED)[path[0]] == [item, "second"]
    one = json_edit.drop(twice, (*path, 0), flavour=RELAXED)
    assert json_edit.value(one, flavour=RELAXED)[path[0]] == ["second"]
    none = json_edit.drop(one, (*path, 0), flavour=RELAXED)
    assert json_edit.value(none, flavour=RELAXED)[path[0]] == []
    gone = json_edit.drop(none, path, flavour=RELAXED)
    assert json_edit.value(gone, flavour=RELAXED) == json_edit.value(text, flavour=RELAXED)


@given(text=texts(relaxed=False))
def test_strict_text_is_read_as_the_standard_library_reads_it(text: str) -> None:
    assert json_edit.value(text, flavour=Flavour()) == json.loads(text.removeprefix("\ufeff"))


@given(text=st.text(st.sampled_from('{}[]",:/*\\ \n1ax-.\ufeff')))
def test_no_text_is_taken_that_the_standard_library_refuses(text: str) -> None:
    try:
        value = json_edit.value(text, flavour=Flavour())
    except Broken:
        return
    bare = text.removeprefix("\ufeff")
    assert value == (json.loads(bare) if bare.strip("\ufeff \n") else {})


@given(text=texts(relaxed=True), hooks=st.booleans())
def test_any_file_comes_back_byte_for_byte(
    text: str, hooks: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    written(home, "copilot", text)
    before = tree(home)
    with tempfile.TemporaryDirectory() as state:
        set_up(planned("copilot", home, hooks=hooks), state=Path(state))
        kept = apply.load(Path(state), "copilot")
        back = undoing("copilot", home=home, project=None, environ={}, receipts=kept)
        take_back(back, state=Path(state), undone=kept)
    assert tree(home) == before


@given(text=texts(relaxed=True), added=values(), hooks=st.booleans())
def test_of_any_file_that_somebody_edits_meanwhile_all_stays_but_ours(
    text: str, added: Any, hooks: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("home")
    path = written(home, "copilot", text)
    flavour = CLIENTS["copilot"].shape.flavour

    def edited(text: str) -> str:
        return json_edit.put("// new\n" + text, ("added by hand",), added, flavour=flavour)

    with tempfile.TemporaryDirectory() as state:
        set_up(planned("copilot", home, hooks=hooks), state=Path(state))
        changed = edited(path.read_bytes().decode().removeprefix("\ufeff"))
        path.write_bytes(changed.encode())
        kept = apply.load(Path(state), "copilot")
        back = undoing("copilot", home=home, project=None, environ={}, receipts=kept)
        take_back(back, state=Path(state), undone=kept)
    expected = json_edit.value(edited(text.removeprefix("\ufeff")), flavour=flavour)
    left = path.read_bytes().decode()
    if expected.get("mcpServers", {}).get("commonplace", "") is None:
        del expected["mcpServers"]["commonplace"]  # That is no entry.
    assert json_edit.value(left, flavour=flavour) == expected
    assert left.startswith("// new\n")
    # A comment inside an entry of our name goes with it.
    assert "commonplace" in text or left.count("note") >= text.count("note")


BLOCKS = (
    "# a note\n",
    "\n",
    "[z]\n",
    'y = "[mcp_servers.commonplace]"\n',
    "w = '''\n[mcp_servers.commonplace]\n'''\n",
    'v = """\\"""" # "\n',
    "u = [ # ]\n  [1, 2], {a = ']'},\n]\n",
    "[[list]]\nx = 1\n",
    "[[list]]\n",
    '[ mcp_servers . "a.b" ] # c\ncommand = "x"\n',
    "[mcp_servers.commonplace]\n",
    "[mcp_servers.commonplace.env]\nA = 'b'\n",
    "command = 'old'\n",
    'args = [\n  "x", # y\n]\n',
    "t.s = 2024-01-01\r\n",
)


@given(st.lists(st.sampled_from(BLOCKS), max_size=8).map("".join))
def test_any_toml_keeps_what_is_not_ours(text: str) -> None:
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(Broken):
            toml_edit.put(text, ("mcp_servers", "commonplace"), {"command": "c"})
        return
    try:
        after = toml_edit.put(text, ("mcp_servers", "commonplace"), {"command": "c", "n": 1})
    except WrongShape:
        pytest.fail("none of these is inline")
    data = tomllib.loads(after)
    there = before.get("mcp_servers", {}).pop("commonplace", {})
    assert data["mcp_servers"].pop("commonplace") == {**there, "command": "c", "n": 1}
    assert data == {"mcp_servers": {}, **before}
    gone = tomllib.loads(toml_edit.drop(after, ("mcp_servers", "commonplace")))
    assert {"mcp_servers": {}, **gone} == {"mcp_servers": {}, **before}


def test_taking_our_table_out_leaves_the_comment_of_the_next_one() -> None:
    text = "[[a]]\n[mcp_servers.commonplace]\ncommand = 'x'\n\n# of z\n[z]\n[[a]]\n"
    gone = toml_edit.drop(text, ("mcp_servers", "commonplace"))
    assert gone == "[[a]]\n\n# of z\n[z]\n[[a]]\n"


def test_setup_is_light_to_import() -> None:
    script = "import sys, commonplace.doors.setup.connections; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert not {"commonplace.memory", "sqlite3", "asyncio"} & set(done.stdout.split())


SERVER = """#!{python}
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        said = {{"result": {{
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {{"tools": {{}}}},
            "serverInfo": {{"name": "commonplace", "version": "0"}},
        }}}}
    elif method == "tools/list":
        said = {{"result": {{"tools": []}}}}
    else:
        said = {{"error": {{"code": -32601, "message": "unknown"}}}}
    if "id" in asked:
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], **said}}), flush=True)
"""
LISTING = {
    "claude": ["mcp", "list"],
    "codex": ["mcp", "get", "commonplace", "--json"],
    "gemini": ["mcp", "list"],
    "opencode": ["mcp", "list"],
    "qwen": ["mcp", "list"],
    "copilot": ["mcp", "get", "commonplace", "--json"],
    "cline": ["mcp", "uninstall", "commonplace", "--json"],
}


def ask(client: str, *words: str, home: Path) -> str:
    """What the real client says, on either stream."""
    project = home.parent / "project"
    project.mkdir(exist_ok=True)
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **QUIET}
    done = subprocess.run(
        [real(client), *words],
        env=environ,
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout + done.stderr


@pytest.fixture
def server(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command by our name that answers as an MCP server must."""
    path = tmp_path / "a bin" / "commonplace"
    path.parent.mkdir()
    path.write_text(SERVER.format(python=sys.executable))
    path.chmod(0o755)
    monkeypatch.setattr(commands, "find_command", lambda: str(path))
    return path


@pytest.mark.parametrize("client", LISTING)
def test_the_real_client_lists_the_server(client: str, home: Path, server: Path) -> None:
    real(client)
    assert set_up_plain(client, vault="/vaults/my own") == 0
    said = ask(client, *LISTING[client], home=home)
    if client in ("claude", "gemini", "opencode", "qwen"):
        assert f"{server} --vault /vaults/my own mcp" in said
        assert "connected" in said.lower()
    elif client == "codex":
        found, _ = json.JSONDecoder().raw_decode(said, said.index("{"))
        assert found["transport"]["command"] == str(server)
        assert found["transport"]["args"] == ["--vault", "/vaults/my own", "mcp"]
    elif client == "copilot":
        found = json.loads(said)["commonplace"]
        assert found["command"] == str(server)
        assert found["args"] == ["--vault", "/vaults/my own", "mcp"]
    else:
        # A warning about Node may stand below it.
        found, _ = json.JSONDecoder().raw_decode(said)
        assert found == {"name": "commonplace", "status": "uninstalled"}


def test_the_real_claude_loads_the_plugin(home: Path, server: Path) -> None:
    real("claude")
    run("claude", "--yes", hooks=True)
    root = home / ".claude/skills/commonplace"
    assert "Validation passed" in ask(
        "claude", "plugin", "validate", "--strict", str(root), home=home
    )
    said = ask("claude", "mcp", "list", home=home)
    assert f"plugin:commonplace:commonplace: {server} --vault /vaults/mine mcp" in said
    assert "Connected" in said
    details = ask("claude", "plugin", "details", "commonplace@skills-dir", home=home)
    assert ", ".join(EVENTS) in details
    run("claude", "--yes", undo=True)
    assert "commonplace" not in ask("claude", "mcp", "list", home=home)


def test_the_real_codex_reads_the_hooks(home: Path, server: Path) -> None:
    binary = real("codex")
    run("codex", "--yes", hooks=True)
    calls = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "version": "0"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(home)]}},
    ]
    with subprocess.Popen(
        [binary, "app-server"],
        env={"PATH": os.environ["PATH"], "HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as codex:
        assert codex.stdin
        assert codex.stdout
        codex.stdin.write("".join(json.dumps(call) + "\n" for call in calls))
        codex.stdin.flush()
        [answer] = next(
            said["result"]["data"] for said in map(json.loads, codex.stdout) if said.get("id") == 2
        )
        codex.terminate()
    assert answer["errors"] == answer["warnings"] == []
    assert {hook["eventName"].lower() for hook in answer["hooks"]} == {
        event.lower() for event in EVENTS
    }
    assert all("'" + str(server) + "' --vault" in hook["command"] for hook in answer["hooks"])


def test_a_new_agents_md_is_for_all_who_work_on_the_project(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    umask = os.umask(0o027)
    try:
        assert run("agents-md", "--yes") == 0
    finally:
        os.umask(umask)
    assert (home / "AGENTS.md").stat().st_mode & 0o777 == 0o640
