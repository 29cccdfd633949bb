"""The schedule of upkeep: what runs when, once, and what is told of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from commonplace.doors.admin import doctor
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, NoServer, VaultTrouble
from commonplace.storage import error_log
from commonplace.storage.locks import Lock
from commonplace.storage.notes import FileNotes
from commonplace.upkeep.schedule import Job, Run, Schedule, last_runs, read_when
from tests.data import clock_at
from tests.support.clocks import FixedClock

HOUR = 3600


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-15T12:00:00Z")


class Bench:
    """A schedule whose jobs only note that they ran."""

    def __init__(self, state: Path, clock: FixedClock, **jobs: str) -> None:
        self.ran: list[str] = []
        self.ailing: set[str] = set()
        self.state = state
        self.schedule = Schedule(
            [
                Job(name, read_when(when, argument=name), self._job(name))
                for name, when in jobs.items()
            ],
            notes=FileNotes(state),
            clock=clock,
        )

    def _job(self, name: str) -> Any:
        def run() -> str:
            self.ran.append(name)
            if name in self.ailing:
                raise VaultTrouble("the disk\nis full")
            return "did it"

        return run

    def once(self, *names: str) -> list[str]:
        self.ran.clear()
        self.schedule.once(*names)
        return list(self.ran)


def test_an_interval_runs_at_once_and_then_when_it_is_over(
    tmp_path: Path, clock: FixedClock
) -> None:
    bench = Bench(tmp_path, clock, scan="6h")
    assert bench.once() == ["scan"]
    clock.sleep(6 * HOUR - 1)
    assert bench.once() == []
    clock.sleep(1)
    assert bench.once() == ["scan"]


def test_a_cron_expression_waits_for_its_time_and_misses_none(
    tmp_path: Path, clock: FixedClock
) -> None:
    bench = Bench(tmp_path, clock, scan="0 3 * * *")
    assert bench.once() == []
    clock.sleep(15 * HOUR)
    assert bench.once() == ["scan"]
    # Off for three days: what was missed runs once.
    clock.sleep(80 * HOUR)
    assert bench.once() == ["scan"]
    assert bench.once() == []


def test_times_are_those_of_the_users_zone(tmp_path: Path) -> None:
    clock = clock_at("2026-11-15T12:00:00Z", zone="America/New_York")
    bench = Bench(tmp_path, clock, scan="30 7 * * *")
    assert bench.once() == []
    clock.sleep(HOUR // 2)
    assert bench.once() == ["scan"]


def test_a_failing_job_does_not_stop_the_others_and_comes_again_when_it_is_due(
    tmp_path: Path, clock: FixedClock
) -> None:
    bench = Bench(tmp_path, clock, compaction="1h", scan="1h")
    bench.ailing.add("compaction")
    assert bench.once() == ["compaction", "scan"]
    runs = last_runs(FileNotes(tmp_path))
    assert (runs["compaction"].outcome, runs["compaction"].what) == ("failed", "the disk is full")
    assert runs["scan"].outcome == "done"
    assert bench.once() == []
    clock.sleep(HOUR)
    bench.ailing.clear()
    bench.once()
    assert last_runs(FileNotes(tmp_path))["compaction"].outcome == "done"


def test_the_job_named_runs_whether_or_not_it_is_due(tmp_path: Path, clock: FixedClock) -> None:
    bench = Bench(tmp_path, clock, compaction="1h", scan="1h")
    bench.once()
    assert bench.once("scan") == ["scan"]


def test_only_one_process_runs_the_jobs(tmp_path: Path, clock: FixedClock) -> None:
    bench = Bench(tmp_path, clock, scan="1h")
    other = Lock(tmp_path / "upkeep.lock", seconds=0, clock=clock)
    with other.held():
        assert bench.once() == []
    assert bench.once() == ["scan"]


def test_a_run_that_ended_with_its_process_is_begun_again_but_not_for_ever(
    tmp_path: Path, clock: FixedClock
) -> None:
    bench = Bench(tmp_path, clock, scan="1h")
    bench.once()
    for wanted in (["scan"], ["scan"], []):
        runs = last_runs(FileNotes(tmp_path))
        cut = runs["scan"].cut
        half = {"scan": asdict(runs["scan"]) | {"outcome": "running"}}
        (tmp_path / "upkeep.json").write_text(json.dumps(half), encoding="utf-8")
        kill_in_the_middle(bench)
        assert bench.ran == wanted, cut
    clock.sleep(HOUR)
    assert bench.once() == ["scan"]
    assert last_runs(FileNotes(tmp_path))["scan"].cut == 0


def kill_in_the_middle(bench: Bench) -> None:
    """Run what is due, and die before anything is noted of how it went."""

    class Killed(BaseException):
        pass

    [job] = bench.schedule.jobs

    def run() -> str:
        job.run()
        raise Killed

    bench.ran.clear()
    bench.schedule.jobs = [Job(job.name, job.when, run)]
    try:
        bench.schedule.once()
    except Killed:
        pass
    finally:
        bench.schedule.jobs = [job]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"scan": 1}', b'{"scan": {"name": 1}}'])
def test_a_damaged_file_counts_as_never_run(
    tmp_path: Path, clock: FixedClock, damage: bytes
) -> None:
    bench = Bench(tmp_path, clock, scan="1h")
    bench.once()
    (tmp_path / "upkeep.json").write_bytes(damage)
    assert bench.once() == ["scan"]


def test_a_clock_that_was_set_back_stops_nothing(tmp_path: Path, clock: FixedClock) -> None:
    bench = Bench(tmp_path, clock, scan="1d")
    clock.sleep(400 * 24 * HOUR)
    bench.once()
    clock.sleep(-400 * 24 * HOUR)
    assert bench.once() == ["scan"]
    assert bench.once() == []


def test_the_loop_runs_what_is_due_in_a_thread_until_it_is_stopped(
    tmp_path: Path, clock: FixedClock
) -> None:
    done = threading.Event()
    job = Job("scan", read_when("1h", argument="scan"), lambda: done.set() or "did it")  # type: ignore[func-returns-value]
    schedule = Schedule([job], notes=FileNotes(tmp_path), clock=clock)
    schedule.start()
    assert done.wait(30)
    schedule.stop(seconds=30)
    assert last_runs(FileNotes(tmp_path))["scan"].outcome == "done"


class CutOff(FileNotes):
    """Notes whose server is away for the first few reads."""

    def __init__(self, directory: Path, *, reads: int) -> None:
        super().__init__(directory)
        self.left = reads

    def read(self, name: str) -> bytes | None:
        self.left -= 1
        if self.left >= 0:
            raise NoServer("postgresql://away", "it is away", next_step="Wait.")
        return super().read(name)


def test_the_loop_goes_on_after_an_outage_and_logs_it(
    tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "log"))
    monkeypatch.setattr("commonplace.upkeep.schedule.FIRST_PAUSE", 0.001)
    done = threading.Event()
    job = Job("scan", read_when("1h", argument="scan"), lambda: done.set() or "did it")  # type: ignore[func-returns-value]
    schedule = Schedule([job], notes=CutOff(tmp_path, reads=3), clock=clock)
    schedule.start()
    assert done.wait(30)
    schedule.stop(seconds=30)
    assert len([line for line in error_log.last(10) if "upkeep:" in line]) == 3


def test_status_and_doctor_say_which_job_is_late(memory: Memory, clock: FixedClock) -> None:
    memory.schedule().once("scan")
    clock.sleep(6 * HOUR + 300)
    assert memory.schedule().late() == []
    clock.sleep(600)
    late = (
        "The job scan is late: it was due at 2026-11-15T18:00Z. 'commonplace serve' or "
        "'commonplace upkeep --loop' runs it."
    )
    assert memory.schedule().late() == [late]
    assert late in memory.status()["troubles"]
    found = [each for each in doctor.examine(memory) if each.what == "upkeep"]
    assert (late, "commonplace upkeep --once") in [(each.says, each.fix) for each in found]


OPTIONS: Any = {
    "memory_compaction_enabled": True,
    "memory_compaction_schedule": "0 3 * * *",
    "experience_store_enabled": True,
    "scan_schedule": "6h",
    "heartbeat_schedule": "30m",
    "heartbeat_command": f"{sys.executable} -c pass",
}


@pytest.fixture
def memory(tmp_path: Path, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(
        tmp_path / "vault", "claw", session="main", clock=clock, **OPTIONS, create=True
    ) as memory:
        yield memory


def jobs(memory: Memory, **options: Any) -> dict[str, Any]:
    with Memory.open(memory.root, clock=memory.clock, **options) as other:
        return {job.name: job.when for job in other.schedule().jobs}


@pytest.mark.claim("claw.compaction-in-background")
def test_the_options_say_what_runs_and_when(memory: Memory) -> None:
    nightly, daily = read_when("0 3 * * *", argument=""), read_when("daily", argument="")
    assert jobs(memory) == {}
    assert jobs(memory, memory_compaction_enabled=True) == {"compaction": daily}
    assert jobs(memory, memory_compaction_enabled=True, memory_compaction_schedule="") == {}
    assert jobs(memory, memory_compaction_schedule="0 3 * * *") == {}
    assert {job.name: job.when for job in memory.schedule().jobs} == {
        "compaction": nightly,
        "experiences": nightly,
        "scan": read_when("6h", argument=""),
        "heartbeat": read_when("30m", argument=""),
    }
    assert jobs(memory, experience_store_enabled=True) == {"experiences": daily}
    with pytest.raises(BadValue, match="scan_schedule: 'noon' is no schedule"):
        jobs(memory, scan_schedule="noon")


@pytest.mark.claim("claw.experience-schedule")
def test_experiences_are_taken_in_when_compaction_runs(memory: Memory, clock: FixedClock) -> None:
    memory.store("The deploy failed because the disk was full")
    schedule = memory.schedule()
    schedule.once()
    assert memory.experiences.count() == 0
    clock.sleep(16 * HOUR)
    ran = {run.name: run for run in schedule.once()}
    assert ran["compaction"].at[:16] == ran["experiences"].at[:16]
    assert ran["experiences"].what == "1 taken in, 1 in all"
    assert memory.experiences.count() == 1


@pytest.mark.claim("claw.experience-alone")
def test_experiences_are_taken_in_where_nothing_is_compacted(
    tmp_path: Path, clock: FixedClock
) -> None:
    options: Any = {"experience_store_enabled": True, "memory_compaction_schedule": "1h"}
    with Memory.open(tmp_path / "vault", "claw", clock=clock, **options, create=True) as memory:
        memory.store("The deploy failed because the disk was full")
        assert [run.name for run in memory.schedule().once()] == ["experiences"]
        assert memory.experiences.count() == 1


def test_the_scan_tells_what_it_found(memory: Memory) -> None:
    memory.store("On holiday", valid_to="2026-01-01")
    [run] = memory.schedule().once("scan")
    assert run.what == "1 stale: 'commonplace scan' lists them"


def test_a_heartbeat_whose_command_fails_is_a_failed_job(memory: Memory, clock: FixedClock) -> None:
    [run] = memory.schedule().once("heartbeat")
    assert run.outcome == "done"
    with Memory.open(
        memory.root, clock=clock, heartbeat_schedule="1h", heartbeat_command="no-such-program"
    ) as other:
        [run] = other.schedule().once("heartbeat")
    assert (run.outcome, run.what[:23]) == ("failed", "failed: no-such-program")


def test_status_and_doctor_show_a_job_that_failed(memory: Memory, clock: FixedClock) -> None:
    bench = Bench(memory.state, clock, scan="1h")
    bench.once()
    assert memory.status()["upkeep"] == "scan done 2026-11-15T12:00:00Z (did it)"
    bench.ailing.add("scan")
    bench.once("scan")
    assert memory.status()["upkeep"] == "scan failed 2026-11-15T12:00:00Z (the disk is full)"
    [finding] = [found for found in doctor.examine(memory) if found.what == "upkeep"]
    assert (finding.good, finding.says, finding.fix) == (
        False,
        "scan failed on 2026-11-15: the disk is full",
        "commonplace upkeep --once --job scan",
    )


def command(root: Path, *words: str, **options: str) -> list[str]:
    return [sys.executable, "-m", "commonplace", "--vault", str(root), "upkeep", *words]


def environ(**options: str) -> dict[str, str]:
    return os.environ | {f"COMMONPLACE_{name.upper()}": value for name, value in options.items()}


def ran(root: Path, *words: str, **options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(root, *words),
        env=environ(**options),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_command_runs_what_is_due_and_says_what_it_did(memory: Memory) -> None:
    root = memory.root
    shown = ran(root, "--once", "--json", scan_schedule="1h", experience_store_enabled="true")
    assert shown.returncode == 0, shown.stderr
    runs = [Run(**run) for run in json.loads(shown.stdout)]
    assert [(run.name, run.outcome) for run in runs] == [("scan", "done")]
    again = ran(root, "--once", scan_schedule="1h")
    assert (again.returncode, again.stdout) == (0, "Nothing was due.\n")
    named = ran(root, "--once", "--job", "scan", scan_schedule="1h")
    assert " scan done in " in named.stdout
    listed = ran(root, scan_schedule="1h")
    assert listed.stdout.startswith("scan         next 20")
    nothing = ran(root)
    assert nothing.stdout.startswith("Nothing is scheduled: set memory_compaction_schedule")


def test_a_failed_job_makes_the_exit_code_1_and_an_unknown_one_2(memory: Memory) -> None:
    options = {"heartbeat_schedule": "1h", "heartbeat_command": "no-such-program"}
    failed = ran(memory.root, "--once", **options)
    assert failed.returncode == 1
    assert "heartbeat failed in" in failed.stdout
    unknown = ran(memory.root, "--once", "--job", "dusting", scan_schedule="1h")
    assert unknown.returncode == 2
    assert "no job 'dusting' is switched on. Use scan." in unknown.stderr


def test_the_loop_ends_when_it_is_asked_to(memory: Memory) -> None:
    process = subprocess.Popen(
        command(memory.root, "--loop", "--json"),
        env=environ(scan_schedule="1h"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["name"] == "scan"
    process.send_signal(signal.SIGTERM)
    assert process.wait(300) == 0
    process.stdout.close()


SIGNALLED = """
import os, signal, threading
from commonplace.doors.cli.terminal import stopped_by_signals
over = threading.Event()
stopped_by_signals(over.set)
with over._cond:  # As at one moment of every wait.
    os.kill(os.getpid(), signal.SIGTERM)
print(over.wait(10))
"""


def test_a_signal_stops_what_is_just_about_to_wait() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "True\n", done.stderr
