"""What the doctor finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace import mishaps
from commonplace.doctor import examine, lock_holders
from commonplace.memory import Memory
from tests.clocks import SkippingClock


@pytest.fixture(autouse=True)
def no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / ".log"))


def test_a_good_vault_has_only_good_findings(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.store("likes tea")
        assert [finding for finding in examine(memory) if not finding.good] == []


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not list its locks")
def test_the_process_that_holds_the_lock_is_named(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as holder, Memory.open(tmp_path) as memory:
        holder.store("likes tea")
        memory.count()
        lock = memory.state / "lock"
        assert lock_holders(lock) == []
        with holder.library.vault.lock():
            assert lock_holders(lock) == [os.getpid()]
            [found] = [finding for finding in examine(memory) if finding.what == "lock"]
        assert (found.good, str(os.getpid()) in found.says) == (False, True)


def test_what_went_wrong_in_hooks_is_shown_for_a_week(tmp_path: Path) -> None:
    clock = SkippingClock()
    then = clock.stamp()
    mishaps.note("hook stop: Busy", at=then)
    with Memory.open(tmp_path, clock=clock) as memory:
        said = {(finding.good, finding.says) for finding in examine(memory)}
        assert (False, f"{then} hook stop: Busy") in said
        assert (False, "1 went wrong in the last 7 days") in said
        clock.sleep(8 * 86_400)
        found = [finding for finding in examine(memory) if finding.what.startswith("hook")]
        assert [(each.good, each.says) for each in found] == [(True, "none went wrong lately")]
