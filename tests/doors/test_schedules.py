"""The schedules of a gateway: at work while it serves, begun anew when options change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.doors.http.schedules import Running, Schedules


def opened(path: str) -> Memory:
    return Memory.open(path, origin="owner", create=True)


@pytest.fixture
def running(tmp_path: Path) -> Running:
    return Running(opened, str(tmp_path / "book"))


def jobs(running: Running) -> list[str]:
    assert running.schedule is not None
    return [job.name for job in running.schedule.jobs]


def write(tmp_path: Path, text: str) -> None:
    (tmp_path / "book" / "commonplace.toml").write_text(text, encoding="utf-8")


def test_a_schedule_is_begun_anew_when_its_options_change(tmp_path: Path, running: Running) -> None:
    running.begin()
    try:
        assert jobs(running) == []
        write(tmp_path, 'scan_schedule = "weekly"\n')
        running.renew()
        assert jobs(running) == ["scan"]
        same = running.schedule
        running.renew()
        assert running.schedule is same
    finally:
        running.end()


def test_a_file_that_cannot_be_read_leaves_the_schedule_as_it_is(
    tmp_path: Path, running: Running
) -> None:
    running.begin()
    try:
        write(tmp_path, 'scan_schedule = "weekly"\n')
        running.renew()
        write(tmp_path, "scan_schedule = ")
        running.renew()
        assert jobs(running) == ["scan"]
        write(tmp_path, 'scan_schedule = "each full moon"\n')
        running.renew()
        assert jobs(running) == ["scan"]
        write(tmp_path, "")
        running.renew()
        assert jobs(running) == []
    finally:
        running.end()


def test_every_vault_has_its_schedule_while_the_gateway_serves(tmp_path: Path) -> None:
    made: list[Memory] = []

    def kept(path: str) -> Memory:
        made.append(opened(path))
        return made[-1]

    with Schedules(kept, [str(tmp_path / "one"), str(tmp_path / "two")]):
        assert [memory.root.name for memory in made] == ["one", "two"]


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
