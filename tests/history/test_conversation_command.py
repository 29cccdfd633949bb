"""`commonplace conversation -- COMMAND`: no heartbeat begins while an agent runs in a shell."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.upkeep.heartbeat import Heartbeat

TALKS = """import os, sys, time
open(sys.argv[1], "w").write(os.environ["COMMONPLACE_SESSION"])
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
sys.exit(7)
"""
CATCHES = """import os, signal, sys, time
def caught(number, frame):
    sys.exit(40 + number)
for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1"):
    signal.signal(getattr(signal, name), caught)
open(sys.argv[1], "w").close()
while True:
    time.sleep(0.01)
"""


def until(held: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not held():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def start(place: str, *words: str, **rest: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "commonplace", "--vault", place, "conversation", *words]
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=environ, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **rest
    )


@pytest.mark.claim("journal.conversation-held-from-shell", "journal.heartbeat-skips-busy")
def test_no_heartbeat_begins_while_the_command_runs(place: str, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    with Memory.open(place, "journal", "program", create=True) as memory:
        beating = Heartbeat(memory, [sys.executable, "-c", "pass"])
        with start(
            place, "--session", "talk", "--", sys.executable, "-c", TALKS, str(begun), str(go)
        ) as running:
            until(lambda: begun.exists() and begun.read_text())
            assert begun.read_text() == "talk"
            assert [lease.session for lease in memory.conversations.leases.running()] == ["talk"]
            assert beating.tick().outcome == "skipped"
            memory.for_session("talk").conversations.note()
            go.touch()
            assert running.wait(60) == 7
        assert memory.conversations.leases.running() == []
        assert beating.tick().outcome == "done"


@pytest.mark.claim("journal.conversation-held-from-shell")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGUSR1"])
def test_signals_are_passed_on_and_the_code_is_the_commands(tmp_path: Path, name: str) -> None:
    Memory.open(tmp_path / "vault", create=True).close()
    begun = tmp_path / "begun"
    with start(str(tmp_path / "vault"), "--", sys.executable, "-c", CATCHES, str(begun)) as running:
        until(begun.exists)
        running.send_signal(getattr(signal, name))
        assert running.wait(60) == 40 + getattr(signal, name)
    with Memory.open(tmp_path / "vault") as memory:
        assert memory.conversations.leases.running() == []


@pytest.mark.claim("journal.conversation-held-from-shell")
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(0)", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os.kill(os.getpid(), 9)", 137),
    ],
)
def test_the_exit_code_is_that_of_the_command(tmp_path: Path, code: str, expected: int) -> None:
    Memory.open(tmp_path, create=True).close()
    with start(str(tmp_path), "--", sys.executable, "-c", code) as running:
        assert running.wait(60) == expected


def test_what_is_no_program_is_told_and_leaves_no_conversation(tmp_path: Path) -> None:
    Memory.open(tmp_path, create=True).close()
    for command, code in (("no-such-program-at-all", 127), (str(tmp_path), 2)):
        with start(str(tmp_path), "--", command) as running:
            said = running.communicate(timeout=60)[1]
            assert (running.returncode, command in said) == (code, True)
    with Memory.open(tmp_path) as memory:
        assert memory.conversations.leases.running() == []


def test_the_streams_and_the_words_are_the_commands_own(tmp_path: Path) -> None:
    Memory.open(tmp_path, create=True).close()
    echo = "import sys; print(sys.argv[1:], sys.stdin.read())"
    with start(str(tmp_path), "--", sys.executable, "-c", echo, "--json", "search") as running:
        assert running.communicate("hello", timeout=60)[0] == "['--json', 'search'] hello\n"


def test_a_kill_of_the_command_leaves_no_conversation(tmp_path: Path) -> None:
    Memory.open(tmp_path / "vault", create=True).close()
    begun, go = tmp_path / "begun", tmp_path / "go"
    with start(
        str(tmp_path / "vault"), "--", sys.executable, "-c", TALKS, str(begun), str(go)
    ) as running:
        until(begun.exists)
        running.kill()
        running.wait(60)
        with Memory.open(tmp_path / "vault") as memory:
            assert memory.conversations.leases.running() == []
        go.touch()
