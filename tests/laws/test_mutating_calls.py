"""A sample of what `python3 -m tests.laws.failing_calls --all` tries: every call made to fail."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError, ToBeFinished
from tests.laws.failing_calls import DEEDS, run
from tests.support.clocks import SkippingClock
from tests.support.programs import needed

SAMPLE = 24


@pytest.mark.parametrize("deed", DEEDS)
def test_a_call_that_fails_leaves_the_old_or_the_new_and_the_answer_was_true(deed: str) -> None:
    needed("cc", "gcc", package="gcc")
    broken, counts = run(deed, sample=SAMPLE, seed=18)
    assert broken == []
    assert counts["calls"] > 20
    assert sum(counts["outcomes"].values()) == SAMPLE


@pytest.mark.parametrize("error", [errno.EPERM, errno.EIO, errno.ENOSYS, errno.EROFS, errno.EINVAL])
def test_a_store_succeeds_where_the_file_system_keeps_no_time_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(os, "utime", fail)
    with Memory.open(tmp_path, create=True, clock=SkippingClock()) as memory:
        ids = [memory.store(f"number {number}", kind="fact").id for number in range(9)]
    with Memory.open(tmp_path, create=True, clock=SkippingClock()) as memory:
        found = {hit.record.id: hit.record.origin for hit in memory.search(limit=20)}
        assert found == dict.fromkeys(ids, "agent")
        assert memory.read().text.count("number") == 9
        assert {entry.op for entry in memory.log()} == {"add"}


@pytest.mark.parametrize("text", ["Nothing was changed.", ""])
def test_what_can_not_be_taken_back_is_told_to_be_finished_and_nothing_else(text: str) -> None:
    told = str(ToBeFinished(CommonplaceError(f"The disk fails. {text}".strip())))
    assert "it will be finished at the next start" in told
    assert "Nothing was changed" not in told
