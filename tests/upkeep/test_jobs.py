"""Upkeep beside a process that serves: done by another, which never outlives it."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.doors.admin import doctor
from commonplace.model.errors import CutShort, VaultTrouble
from commonplace.upkeep import jobs
from commonplace.upkeep.compaction import plan
from commonplace.upkeep.jobs import COMPACT_NOW, HERE
from commonplace.upkeep.schedule import last_runs
from tests.doors.test_gateway_api import Served
from tests.upkeep.test_compact import old_notes
from tests.upkeep.test_window import held

WAITING = """
import os, sys, time
with open(sys.argv[1] + ".tmp", "w") as file:
    file.write(f"{os.getppid()} {os.getpid()}")
os.rename(sys.argv[1] + ".tmp", sys.argv[1])
while os.path.exists(sys.argv[1]):
    time.sleep(0.02)
"""
"""A summarizer that says who asked it, and waits until that is taken away."""
DUE: Any = {"memory_compaction_enabled": True, "memory_compaction_schedule": "1h"}


class Slow:
    """A compaction that goes on until it is let go."""

    def __init__(self, tmp_path: Path) -> None:
        self.file = tmp_path / "asked"
        words = [sys.executable, "-c", WAITING, str(self.file)]
        self.options: Any = {
            **DUE,
            "summarizer": "command",
            "summarizer_command": shlex.join(words),
        }

    def processes(self) -> list[int]:
        """The process that compacts, once it does, and the one that it asks."""
        wait_until(self.file.exists)
        return [int(word) for word in self.file.read_text(encoding="utf-8").split()]

    def process(self) -> int:
        return self.processes()[0]

    def let_go(self) -> None:
        self.file.unlink()


def wait_until(true: Any) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def is_running(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Slow]:
    made = Slow(tmp_path)
    yield made
    made.file.unlink(missing_ok=True)


def opened(path: Path, **options: Any) -> Memory:
    return Memory.open(path, "claw", environ={}, **options, create=True)


def test_the_other_process_has_the_options_that_this_one_was_given(tmp_path: Path) -> None:
    records = old_notes(tmp_path)
    with opened(tmp_path, long_memory_path="memory/LONG.md", **DUE) as memory:
        [run] = memory.schedule(elsewhere=True).once()
        assert (run.outcome, run.what) == ("done", "8 records became 1 summaries")
        [summary] = held(memory, "memory/LONG.md")
        assert summary.sources == tuple(record.id for record in records)


def test_this_process_stores_and_finds_while_another_compacts(tmp_path: Path, slow: Slow) -> None:
    old_notes(tmp_path / "vault")
    with opened(tmp_path / "vault", **slow.options) as memory:
        schedule = memory.schedule(elsewhere=True)
        schedule.start()
        assert slow.process() != os.getpid()
        stored = memory.store("Said meanwhile: the ferry leaves at noon")
        assert stored.id in [hit.record.id for hit in memory.search("ferry")]
        slow.let_go()
        wait_until(lambda: last_runs(memory.notes)["compaction"].outcome == "done")
        schedule.stop(seconds=30)
        assert stored in held(memory)


def until(held: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not held():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_an_append_over_a_threshold_has_another_process_compact(tmp_path: Path, slow: Slow) -> None:
    old_notes(tmp_path / "vault")
    with opened(
        tmp_path / "vault", **slow.options, memory_compaction_threshold_records=8
    ) as memory:
        memory.store("One more")
        assert slow.process() != os.getpid()
    slow.let_go()
    with opened(tmp_path / "vault") as memory:
        until(lambda: plan.last_report(memory.notes))
        assert len(held(memory, "LONGMEMORY.md")) == 1


def test_a_killed_process_leaves_all_as_it_was_and_the_next_tick_begins_again(
    tmp_path: Path, slow: Slow
) -> None:
    old_notes(tmp_path / "vault")
    with opened(tmp_path / "vault", **slow.options) as memory:
        before = memory.read().text
        schedule = memory.schedule(elsewhere=True)
        working = threading.Thread(target=schedule.once)
        working.start()
        os.kill(slow.process(), signal.SIGKILL)
        working.join()
        [run] = last_runs(memory.notes).values()
        assert run.outcome == "failed"
        assert "it was ended by SIGKILL" in run.what
        assert memory.read().text.startswith(before)
        [told] = [each for each in doctor.examine(memory) if each.what == "upkeep"]
        assert (told.good, run.what in told.says) == (False, True)
    with opened(tmp_path / "vault", **DUE) as memory:
        [run] = memory.schedule(elsewhere=True).once()
        assert (run.outcome, run.cut) == ("done", 0)


def test_a_killed_process_that_an_append_called_for_is_in_the_log(
    tmp_path: Path, slow: Slow
) -> None:
    old_notes(tmp_path / "vault")
    options = slow.options | {"memory_compaction_threshold_records": 8}
    with opened(tmp_path / "vault", **options) as memory:
        memory.store("One more")
        os.kill(slow.process(), signal.SIGKILL)
    with opened(tmp_path / "vault") as memory:
        until(lambda: plan.last_report(memory.notes))
        report = plan.last_report(memory.notes)
    assert report is not None
    assert (report.status, "SIGKILL" in report.why) == ("failed", True)


def test_what_went_wrong_elsewhere_is_told_in_its_own_words(tmp_path: Path) -> None:
    options = {"heartbeat_schedule": "1h", "heartbeat_command": "no-such-program"}
    with opened(tmp_path, **options) as memory:
        [run] = memory.schedule(elsewhere=True).once()
        assert (run.outcome, run.what[:23]) == ("failed", "failed: no-such-program")
        with pytest.raises(VaultTrouble, match="no-such-work"):
            memory.job_processes.run("no-such-work")


def test_stopping_ends_the_process_and_what_it_did_comes_again(tmp_path: Path, slow: Slow) -> None:
    old_notes(tmp_path / "vault")
    with opened(tmp_path / "vault", **slow.options) as memory:
        schedule = memory.schedule(elsewhere=True)
        schedule.start()
        processes = slow.processes()
        schedule.stop(seconds=30)
        wait_until(lambda: not any(map(is_running, processes)))
        run = last_runs(memory.notes)["compaction"]
        assert (run.outcome, run.cut) == ("failed", 1)
        with pytest.raises(CutShort, match="it was to end"):
            memory.job_processes.run(COMPACT_NOW)


def test_stopping_ends_the_command_of_a_heartbeat_too(tmp_path: Path) -> None:
    told = tmp_path / "told"
    text = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(3600)"
    command = shlex.join([sys.executable, "-c", text])
    with opened(tmp_path / "vault", heartbeat_schedule="1h", heartbeat_command=command) as memory:
        schedule = memory.schedule(elsewhere=True)
        schedule.start()
        wait_until(lambda: told.exists() and told.read_text(encoding="utf-8"))
        schedule.stop(seconds=30)
        assert not is_running(int(told.read_text(encoding="utf-8")))


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_gateway_that_ends_leaves_no_process_behind(
    tmp_path: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch, how: signal.Signals
) -> None:
    old_notes(tmp_path / "book", dialect="native")
    for name, value in slow.options.items():
        monkeypatch.setenv(f"COMMONPLACE_{name.upper()}", str(value))
    served = Served(tmp_path)
    try:
        processes = slow.processes()
        body = {"text": "Said meanwhile"}
        stored = served.ask("POST", "/api/vaults/book/records", body, cookie=served.log_in())
        assert stored.status in (200, 201), stored.read()
        assert all(map(is_running, processes))
        served.process.send_signal(how)
        served.process.wait(timeout=120)
        wait_until(lambda: not any(map(is_running, processes)))
    finally:
        served.end()


def test_where_no_process_can_be_started_it_is_done_here_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = old_notes(tmp_path)
    monkeypatch.setattr(jobs, "ENTRY", "commonplace.no_such_module")
    with opened(tmp_path, **DUE) as memory:
        [run] = memory.schedule(elsewhere=True).once()
        assert (run.outcome, run.what) == ("done", f"8 records became 1 summaries ({HERE})")
        [summary] = held(memory, "LONGMEMORY.md")
        assert summary.sources == tuple(record.id for record in records)


def test_a_file_where_it_was_started_does_not_pass_for_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "commonplace.py").write_text("raise SystemExit(1)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with opened(tmp_path / "vault", scan_schedule="1h") as memory:
        [run] = memory.schedule(elsewhere=True).once()
        assert (run.outcome, run.what) == ("done", "nothing was found")
