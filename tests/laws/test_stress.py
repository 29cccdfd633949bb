"""A short run of the stress: the whole of it is `python3 -m tests.laws.stress`."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.long
def test_eight_agents_and_a_person_lose_nothing_that_was_acknowledged(place: str) -> None:
    where = place if "://" in place else f"{place}/vault"
    words = ("--calls", "10", "--seed", "1", "--place", where)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.laws.stress", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stdout + ran.stderr
    assert "80 calls by 8 processes" in ran.stdout
