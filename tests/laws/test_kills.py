"""Writers that are killed while they store."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.doors.admin import selftest
from commonplace.memory import Memory


@pytest.mark.long
@pytest.mark.claim("earl.daily-concurrent-writes")
def test_nothing_acknowledged_is_lost_when_eight_writers_are_killed_at_random(
    tmp_path: Path,
) -> None:
    report = selftest.run(tmp_path, writers=8, kills=16, seed=1, progress=lambda done, total: None)
    assert report.acknowledged > 50
    assert (report.lost, report.duplicates, report.torn, report.unlike) == ((), (), (), 0)


def test_the_check_sees_a_record_that_was_acknowledged_and_is_not_there(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.store("this one is there")
    report = selftest.check(tmp_path, {"mem-never-written"}, kills=0)
    assert not report.passed
    assert report.lost == ("mem-never-written",)
