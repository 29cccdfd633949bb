"""What a save overwrote and what a person deleted, case by case."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from commonplace.library.stale_saves import (
    UNKNOWN,
    Appended,
    SaveObservation,
    doubtful,
    overwritten,
    read_before_save,
)
from commonplace.model.clock import parse_stamp


def ns(seconds: float) -> int:
    return int((datetime(2026, 1, 1, tzinfo=UTC).timestamp() + seconds) * 1e9)


def piece(key: str, *, at: float, read: float) -> Appended:
    stamp = f"2026-01-01T00:00:{at:06.3f}Z"
    return Appended(key, f"- {key}\n", stamp, ns(read) if read else 0)


EARLY, MIDDLE, LATE = (piece(key, at=at, read=1) for key, at in (("a", 2), ("b", 4), ("c", 6)))
NOW = parse_stamp("2026-01-01T00:00:30Z")
SAVED = parse_stamp("2026-01-01T00:00:20Z")

CASES = {
    "nobody read it since: all that is missing was overwritten": (
        [False, False, False],
        ns(1),
        "abc",
    ),
    "one that came later is there: the missing one was deleted": ([False, True, True], ns(1), ""),
    "it was read after the last append: the last one was deleted": ([True, True, False], ns(9), ""),
    "read since the save: nothing tells, so nothing is lost": ([True, True, False], UNKNOWN, "c"),
    "no trace of reads: young ones are put back": ([True, True, False], 0, "c"),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_put_back(case: str) -> None:
    there, read, expected = CASES[case]
    found = overwritten([EARLY, MIDDLE, LATE], there=there, read=read, saved=SAVED, now=NOW)
    assert "".join(each.id for each in found) == expected


def test_a_stale_buffer_takes_the_appends_about_its_loading_with_it() -> None:
    loaded = 5.0
    about = piece("b", at=4.995, read=1)
    after = piece("c", at=6, read=loaded)
    found = overwritten(
        [EARLY, about, after], there=[True, False, False], read=ns(loaded), saved=SAVED, now=NOW
    )
    assert [each.id for each in found] == ["b", "c"]


def test_without_traces_of_reads_an_old_record_that_is_missing_was_deleted() -> None:
    later = parse_stamp("2026-01-01T00:30:00Z")
    assert overwritten([LATE], there=[False], read=0, saved=later, now=later) == []


def test_a_read_after_the_save_hides_the_one_before_it() -> None:
    assert read_before_save(atime_ns=5, mtime_ns=4) == UNKNOWN
    assert read_before_save(atime_ns=4, mtime_ns=4) == 4
    assert read_before_save(atime_ns=0, mtime_ns=4) == 0


def test_a_piece_is_judged_by_the_first_save_that_lacks_it() -> None:
    pieces, one, two = [EARLY, LATE], ns(20), ns(21)
    first = SaveObservation().after(pieces, there=[True, False], read=ns(1), mtime_ns=one, now=NOW)
    assert first == SaveObservation(one, ("c",), ())
    again = SaveObservation.read(first.written())
    second = again.after(pieces, there=[False, False], read=ns(9), mtime_ns=two, now=NOW)
    assert second == SaveObservation(two, ("c",), ("a",))


@pytest.mark.parametrize(("after", "back"), [(-1, "c"), (0.001, "c"), (1.9, "c"), (2.1, "")])
def test_a_save_at_once_overwrote_and_one_later_that_had_read_it_deleted(
    after: float, back: str
) -> None:
    there, saved = (
        [True, True, False],
        parse_stamp("2026-01-01T00:00:06Z") + timedelta(seconds=after),
    )
    found = overwritten(
        [EARLY, MIDDLE, LATE], there=there, read=ns(6 + after), saved=saved, now=NOW
    )
    assert "".join(each.id for each in found) == back


@pytest.mark.parametrize(("age", "told"), [(59, 1), (61, 0)])
@pytest.mark.parametrize("factor", [1, 10])
def test_what_may_have_been_overwritten_is_told_by_its_age(
    age: float, told: int, factor: int
) -> None:
    saved = parse_stamp("2026-01-01T00:00:06Z") + timedelta(seconds=age * factor)
    found = doubtful([LATE], saved=saved, replaced=factor == 10)
    assert len(found) == told
