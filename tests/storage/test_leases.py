"""Which conversations are running: noted, held, ended, and what a kill leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.storage.leases import FileLeases, Lease
from tests.support.clocks import FixedClock

NOON = 1_763_208_000_000_000_000


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def leases(tmp_path: Path, clock: FixedClock) -> FileLeases:
    return FileLeases(tmp_path / "leases", clock=clock)


def test_nothing_runs_at_first(leases: FileLeases) -> None:
    assert leases.running() == []


def test_a_noted_conversation_runs_until_its_time_is_over(
    leases: FileLeases, clock: FixedClock
) -> None:
    leases.note("monday", seconds=60)
    assert leases.running() == [Lease("monday", "2025-11-15T12:01:00.000Z")]
    clock.sleep(61)
    assert leases.running() == []


def test_noted_again_it_goes_on(leases: FileLeases, clock: FixedClock) -> None:
    leases.note("monday", seconds=60)
    clock.sleep(59)
    leases.note("monday", seconds=60)
    clock.sleep(59)
    assert [lease.session for lease in leases.running()] == ["monday"]


def test_one_that_ended_just_now_can_be_noted_again(leases: FileLeases, clock: FixedClock) -> None:
    leases.note("monday", seconds=60)
    clock.sleep(61)
    assert leases.running() == []
    assert len(list(Path(leases.directory).iterdir())) == 1
    clock.sleep(90_000)
    assert leases.running() == []
    assert list(Path(leases.directory).iterdir()) == []


def test_many_threads_note_one_conversation_at_once(leases: FileLeases) -> None:
    with ThreadPoolExecutor(8) as threads:
        for _ in threads.map(lambda _: leases.note("monday", seconds=60), range(400)):
            pass
    assert [lease.session for lease in leases.running()] == ["monday"]
    assert len(list(Path(leases.directory).iterdir())) == 1


def test_sessions_are_told_apart_and_ended_one_by_one(leases: FileLeases) -> None:
    leases.note("monday", seconds=60)
    leases.note("../tuesday\n", seconds=60)
    leases.end("monday")
    leases.end("never begun")
    assert [lease.session for lease in leases.running()] == ["../tuesday\n"]


def test_a_held_conversation_ends_with_its_block(leases: FileLeases) -> None:
    with leases.held("monday", seconds=60), leases.held("monday", seconds=60):
        assert [lease.session for lease in leases.running()] == ["monday", "monday"]
    assert leases.running() == []
    assert list(Path(leases.directory).iterdir()) == []


def test_a_held_conversation_that_hangs_ends_after_its_time(
    leases: FileLeases, clock: FixedClock
) -> None:
    with leases.held("monday", seconds=60):
        clock.sleep(61)
        assert leases.running() == []


def test_a_file_that_says_nothing_is_no_conversation(leases: FileLeases) -> None:
    leases.note("monday", seconds=60)
    [path] = Path(leases.directory).iterdir()
    for text in ("", "{", "[]", '{"session": "a", "until": "soon"}', '{"other": 1}'):
        path.write_text(text)
        assert leases.running() == []


HOLDER = """
import sys
from commonplace.memory import Memory
with Memory.open(sys.argv[1], session="monday") as memory, memory.conversations.held(3600):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_kill_does_not_leave_a_conversation_held(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert holder.stdout
        assert holder.stdin
        assert holder.stdout.readline() == b"held\n"
        assert memory.conversations.are_running()
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
        assert not memory.conversations.are_running()
        holder.stdin.close()
        holder.stdout.close()


def test_a_memory_notes_and_ends_its_own_conversation(tmp_path: Path, clock: FixedClock) -> None:
    with Memory.open(tmp_path, session="monday", clock=clock) as memory:
        memory.conversations.note()
        clock.sleep(9 * 60)
        assert memory.conversations.are_running()
        clock.sleep(2 * 60)
        assert not memory.conversations.are_running()
        memory.conversations.note(seconds=3600)
        clock.sleep(3000)
        assert memory.conversations.are_running()
        memory.conversations.end()
        assert not memory.conversations.are_running()


def test_what_the_heartbeat_does_is_no_conversation(tmp_path: Path) -> None:
    with Memory.open(tmp_path, environ={"COMMONPLACE_AGENT": "heartbeat"}) as memory:
        memory.conversations.note()
        assert not memory.conversations.are_running()
        assert memory.conversations.record("assistant", "Reflected.").agent == "heartbeat"
