"""A short run of the stress on PostgreSQL: the whole of it is `bench/postgres_stress.py`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.postgres import need_binaries

SCRIPT = Path(__file__).parents[2] / "bench" / "postgres_stress.py"


def test_agents_on_a_server_that_is_restarted_lose_nothing_and_see_no_other_profile() -> None:
    need_binaries()
    words = ("--calls", "160", "--profiles", "5", "--processes", "2")
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), *words], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    assert "160 calls by 8 connections" in ran.stdout
    assert "calls that failed: 0\nlost, leaked or wrong: 0\n" in ran.stdout
