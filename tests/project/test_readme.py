"""Every command of README prints what README shows, in a new home and in order."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.terminals import in_terminal

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NEXT = "=== the next command ==="
INSTALLING = ("python3 start.py", "python3 test.py", "pip install ")
"""Commands that take a network: tests of their own run them."""


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def shown() -> dict[str, str]:
    """The commands with what README shows below each."""
    told: dict[str, str] = {}
    for language, body in blocks():
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:] if language else ():
            command, _, below = part.partition("\n")
            told[command] = below
    return told


def plain(text: str, home: Path) -> str:
    """What is the same on every machine and day."""
    text = text.replace(str(home), "/home/ada")
    text = re.sub(r"\b(today|yesterday) \d\d:\d\d\b", "today 14:30", text)
    return re.sub(r"· [0-9a-f]{8}$", "· 5e1f09c2", text, flags=re.MULTILINE)


def test_every_command_is_one_that_is_run_here_or_installs() -> None:
    for language, body in blocks():
        lines = [line for line in body.split("\n") if line and not language]
        assert all(line.startswith(INSTALLING) for line in lines), body
    assert len(shown()) >= 6


@pytest.mark.long
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    command = home / "bin" / "commonplace"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m commonplace "$@"\n')
    command.chmod(0o755)
    told = shown()
    script = "\n".join(f"{line} || echo FAILED; echo '{NEXT}'" for line in told)
    environ = {"HOME": str(home), "PATH": str(home / "bin"), "LANG": "C.UTF-8"}
    printed = in_terminal(script, environ=environ, cwd=home).text.split(f"{NEXT}\n")
    assert {line: plain(text, home) for line, text in zip(told, printed)} == {
        line: plain(text, home) for line, text in told.items()
    }


def test_it_is_short_enough_to_be_read() -> None:
    assert README.count("\n") <= 95
