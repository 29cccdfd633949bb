"""The commands of every day, as a person types them at a terminal and as a script pipes them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.doors.cli.main import COMMANDS, EVERYDAY, GROUPS, main
from commonplace.doors.cli.pages import day_in_words
from commonplace.memory import Memory

STYLE = re.compile(r"\x1b\[[0-9;]*m")
At = Callable[..., str]
COMMANDLESS = {"COMMONPLACE_SESSION", "COMMONPLACE_DIALECT", "CLAUDE_CODE_SESSION_ID"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    with Memory.open(tmp_path / "vault", create=True, origin="owner") as memory:
        memory.store("The cat is called Mouse", kind="fact", tags=("home",))
        memory.store("Deploy on Tuesdays only", kind="instruction")
    return tmp_path / "vault"


def environment(vault: Path, columns: int = 80) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in COMMANDLESS}
    return kept | {
        "COMMONPLACE_VAULT": str(vault),
        "COLUMNS": str(columns),
        "TERM": "xterm",
        "XDG_DATA_HOME": str(vault.parent / "data"),
    }


@pytest.fixture
def typed(vault: Path) -> At:
    """Type commands in one terminal. Returns what it shows, without colours."""

    def run(*commands: str, columns: int = 80, answer: str = "") -> str:
        script = "; ".join(f"{sys.executable} -m commonplace {each}" for each in commands)
        main, side = pty.openpty()
        os.set_blocking(main, False)
        shell = subprocess.Popen(
            ["sh", "-c", f"stty cols {columns}; {script}"],
            stdin=side,
            stdout=side,
            stderr=side,
            env=environment(vault, columns),
            start_new_session=True,
        )
        os.close(side)
        if answer:
            os.write(main, f"{answer}\n".encode())
        shown = b""
        while select.select([main], [], [], 60)[0]:
            try:
                part = os.read(main, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        shell.wait(60)
        os.close(main)
        return STYLE.sub("", shown.decode()).replace("\r\n", "\n")

    return run


@pytest.fixture
def piped(vault: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "commonplace", *words],
            env=environment(vault),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


Piped = Callable[..., subprocess.CompletedProcess[str]]


def test_the_command_alone_shows_the_ten_of_every_day(piped: Piped) -> None:
    shown = piped()
    assert shown.returncode == 0
    names = [name for group in EVERYDAY.values() for name in group]
    assert len(names) == 10
    assert [name for name in names if f"\n  {name}" not in shown.stdout] == []


def test_help_shows_every_command_once_in_the_group_of_its_purpose(piped: Piped) -> None:
    shown = piped("help", "--all").stdout
    rows = [line.split()[0] for line in shown.split("\n") if line.startswith("  ")]
    assert sorted(rows) == sorted(COMMANDS)
    assert [title for title in GROUPS if title not in shown.split("\n")] == []


@pytest.mark.parametrize(
    ("guess", "meant"),
    [
        ("add", "remember"),
        ("save", "remember"),
        ("note", "remember"),
        ("find", "search"),
        ("grep", "search"),
        ("serach", "search"),
        ("ls", "list"),
        ("lst", "list"),
        ("cat", "show"),
        ("get", "show"),
        ("rm", "remove"),
        ("del", "remove"),
        ("change", "edit"),
        ("revert", "undo"),
        ("stats", "status"),
        ("web", "serve"),
        ("ui", "serve"),
        ("approve", "review"),
        ("erase", "forget"),
        ("connect", "setup"),
        ("rember", "remember"),
    ],
)
def test_a_guessed_name_is_answered_with_the_right_command(
    capsys: pytest.CaptureFixture[str], guess: str, meant: str
) -> None:
    assert main([guess]) == 2
    assert f"Did you mean 'commonplace {meant}'?" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [80, 120])
def test_memories_are_listed_by_day_within_the_width_and_without_machinery(
    typed: At, columns: int
) -> None:
    words = "The very long story of how the dog came to live with us " * 3
    shown = typed(f"remember '{words}'", "list", columns=columns)
    listed = shown[shown.index("\nToday\n") :]
    assert "Deploy on Tuesdays only" in listed
    assert max(map(len, shown.split("\n"))) <= columns
    assert "mem-" not in shown
    assert "you" in listed


def test_a_number_of_the_last_list_and_last_stand_for_a_memory(typed: At) -> None:
    shown = typed("search Mouse", "show 1", "remove 1", "list", "edit last 'Deploy on Fridays'")
    assert shown.count("The cat is called Mouse") == 3
    assert "Deploy on Tuesdays only\nnow says\nDeploy on Fridays" in shown
    assert "no memory was listed as 7" in typed("list", "show 7")


def test_undo_and_redo_print_the_text_that_they_take_back(typed: At) -> None:
    shown = typed("remove last", "undo", "redo", "list")
    assert shown.count("Deploy on Tuesdays only") == 3
    assert "Taken back (removed today" in shown
    assert "Made again (removed today" in shown


def test_delete_shows_the_text_and_asks(typed: At) -> None:
    refused = typed("delete last", "list", answer="n")
    assert "Erase it for good?" in refused
    assert "Nothing was erased." in refused
    assert refused.count("Deploy on Tuesdays only") == 2
    assert "Deploy on Tuesdays only" not in typed("delete last --yes", "list")


def test_the_log_tells_what_was_said_and_by_whom(typed: At) -> None:
    shown = typed("remember 'Milk is in the second fridge'", "log")
    assert "remembered: Milk is in the second fridge\n    you · today" in shown


def test_edit_opens_the_editor_and_undo_brings_the_old_text_back(
    typed: At, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/Tuesdays/Mondays/ "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    monkeypatch.delenv("VISUAL", raising=False)
    shown = typed("edit last", "list", "undo", "list")
    assert "now says\nDeploy on Mondays only" in shown
    assert shown.rstrip().split("Today\n")[-1].count("Deploy on Tuesdays only") == 1


def test_an_editor_that_fails_changes_nothing(typed: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.delenv("VISUAL", raising=False)
    assert "false left no text. Nothing was changed." in typed("edit last")


def test_the_export_is_one_file_that_is_never_overwritten(piped: Piped, tmp_path: Path) -> None:
    path = tmp_path / "all.md"
    assert piped("export", str(path)).stdout == f"Wrote 2 memories to {path}.\n"
    text = path.read_text(encoding="utf-8")
    assert "- The cat is called Mouse (fact, #home)\n- Deploy on Tuesdays only" in text
    again = piped("export", str(path))
    assert (again.returncode, path.read_text(encoding="utf-8")) != (0, "")
    assert "is there already" in again.stderr
    lines = [json.loads(line) for line in piped("export", "--jsonl").stdout.splitlines()]
    assert [line["text"] for line in lines] == [
        "The cat is called Mouse",
        "Deploy on Tuesdays only",
    ]


def test_piped_lists_keep_full_ids_and_json(piped: Piped) -> None:
    assert piped("list").stdout.count("[mem-") == 2
    assert [each["kind"] for each in json.loads(piped("list", "--json").stdout)] == [
        "instruction",
        "fact",
    ]
    assert json.loads(piped("tags", "--json").stdout)["tags"] == {"home": 1}


def test_days_are_told_in_words() -> None:
    from datetime import date

    today = date(2026, 11, 18)
    days = [date(2026, 11, 18), date(2026, 11, 17), date(2026, 11, 14), date(2026, 3, 3)]
    told = [day_in_words(day, today) for day in [*days, date(2025, 3, 3)]]
    assert told == ["today", "yesterday", "Saturday", "3 March", "3 March 2025"]


def test_everything_about_something_is_listed_under_its_kinds(typed: At) -> None:
    shown = typed("search --all-about cat")
    assert "may be about “cat”." in shown
    assert "\nfact (" in shown.replace("\r", "")
    assert "The cat is called Mouse" in shown


def test_the_numbers_of_a_hit_are_shown_where_they_are_asked_for(typed: At) -> None:
    assert "by words +" not in typed("search cat")
    assert "by words +" in typed("search cat --explain")


def test_a_poor_answer_says_how_to_look_further(typed: At) -> None:
    assert "To look further:" in typed("search 'quarterly revenue spreadsheet'")
