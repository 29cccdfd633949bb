"""The schedules of a gateway: one thread for all vaults, each looked at when it is due."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.doors.http.schedules import Schedules
from commonplace.model.errors import NoSuchVault
from commonplace.storage import error_log
from commonplace.upkeep.schedule import last_runs
from tests.data import clock_at
from tests.support.clocks import FixedClock


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-15T12:00:00Z")


class Served:
    """Vaults with their schedules, and the names of those that were opened."""

    def __init__(self, directory: Path, clock: FixedClock, *names: str) -> None:
        self.directory, self.clock = directory, clock
        self.paths = [str(directory / name) for name in names]
        self.away: set[str] = set()
        self.opened: list[str] = []
        for path in self.paths:
            Memory.open(path, create=True).close()
        self.schedules = Schedules(self.open, lambda: self.paths, clock=clock)

    def open(self, path: str) -> Memory:
        self.opened.append(Path(path).name)
        if path in self.away:
            raise NoSuchVault(path)
        return Memory.open(path, origin="owner", clock=self.clock)

    def look(self) -> list[str]:
        """The vaults that are opened when it is looked once."""
        self.opened.clear()
        self.schedules.look()
        return list(self.opened)

    def write(self, name: str, text: str) -> None:
        (self.directory / name / "commonplace.toml").write_text(text, encoding="utf-8")

    def outcome(self, name: str) -> str:
        with Memory.open(self.directory / name, clock=self.clock) as memory:
            runs = last_runs(memory.notes)
        return runs["scan"].outcome if "scan" in runs else ""


@pytest.fixture
def served(tmp_path: Path, clock: FixedClock, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "log"))
    return Served(tmp_path, clock, "one", "two")


def test_a_vault_is_looked_at_once_and_then_when_its_options_change(served: Served) -> None:
    assert served.look() == ["one", "two"]
    assert served.look() == []
    served.write("two", 'scan_schedule = "6h"\n')
    assert served.look() == ["two"]
    assert (served.outcome("one"), served.outcome("two")) == ("", "done")


def test_a_vault_is_looked_at_again_when_its_next_job_is_due(served: Served) -> None:
    served.write("one", 'scan_schedule = "6h"\n')
    served.look()
    served.clock.sleep(6 * 3600 - 1)
    assert served.look() == []
    served.clock.sleep(1)
    assert served.look() == ["one"]


def test_a_file_that_cannot_be_read_keeps_no_other_vault_from_its_jobs(served: Served) -> None:
    served.write("one", 'scan_schedule = "each full moon"\n')
    served.write("two", 'scan_schedule = "6h"\n')
    assert served.look() == ["one", "two"]
    assert served.outcome("two") == "done"
    assert "each full moon" in "\n".join(error_log.last(5))
    served.write("one", 'scan_schedule = "6h"\n')
    served.clock.sleep(60)
    assert served.look() == ["one"]
    assert served.outcome("one") == "done"


def test_a_vault_that_is_away_is_tried_again_after_a_minute(served: Served) -> None:
    served.away = {served.paths[0]}
    assert served.look() == ["one", "two"]
    served.away.clear()
    assert served.look() == []
    served.clock.sleep(60)
    assert served.look() == ["one"]


def test_a_vault_that_came_later_is_looked_at_and_one_that_went_is_not(served: Served) -> None:
    served.look()
    Memory.open(served.directory / "three", create=True).close()
    served.paths = [served.paths[1], str(served.directory / "three")]
    assert served.look() == ["three"]


def test_a_clock_that_was_set_back_has_every_vault_looked_at(served: Served) -> None:
    served.look()
    served.clock.nanoseconds -= 10**9
    assert served.look() == ["one", "two"]


def test_one_thread_serves_any_number_of_vaults(tmp_path: Path, clock: FixedClock) -> None:
    served = Served(tmp_path, clock, *(f"vault-{number}" for number in range(20)))
    before = threading.active_count()
    with served.schedules:
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


def test_a_schedule_that_cannot_be_read_is_refused_before_the_gateway_says_it_serves(
    tmp_path: Path,
) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "--vault", tmp_path / "book", "serve", "--port", "0"],
        env=os.environ | {"COMMONPLACE_SCAN_SCHEDULE": "each full moon"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "Serving" not in done.stdout
    assert "'each full moon' is no schedule" in done.stderr
