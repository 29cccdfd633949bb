"""What the doctor finds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.doctor import examine, lock_holders
from commonplace.memory import Memory


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
