"""When something is due: cron expressions, intervals, and nights on which the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.model.clock import parse_stamp, stamp
from commonplace.model.errors import BadValue
from commonplace.upkeep.schedule import Cron, Every, read_when

BERLIN, NEW_YORK, LORD_HOWE = map(
    ZoneInfo, ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
)


def times(text: str, after: str, count: int, zone: ZoneInfo | None = None) -> list[str]:
    """The next times after a moment, each told in the zone."""
    when, moment, found = read_when(text, argument="when"), parse_stamp(after), []
    for _ in range(count):
        moment = when.after(moment, zone=zone or UTC)
        found.append(moment.astimezone(zone or UTC).strftime("%Y-%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("30 3 * * *", ["2026-11-16 03:30", "2026-11-17 03:30"]),
        ("*/20 * * * *", ["2026-11-15 12:20", "2026-11-15 12:40"]),
        ("0 9-17/4 * * *", ["2026-11-15 13:00", "2026-11-15 17:00"]),
        ("5/25 12 * * *", ["2026-11-15 12:05", "2026-11-15 12:30"]),
        ("0 0,12 * * *", ["2026-11-16 00:00", "2026-11-16 12:00"]),
        ("0 6 * * mon-fri", ["2026-11-16 06:00", "2026-11-17 06:00"]),
        ("0 6 * * 7", ["2026-11-22 06:00", "2026-11-29 06:00"]),
        ("0 6 * * SUN,wed", ["2026-11-18 06:00", "2026-11-22 06:00"]),
        ("0 0 1 jan,JUL *", ["2027-01-01 00:00", "2027-07-01 00:00"]),
        ("0 0 29 2 *", ["2028-02-29 00:00", "2032-02-29 00:00"]),
        ("0 0 31 * *", ["2026-12-31 00:00", "2027-01-31 00:00"]),
        # A day of the month and one of the week: either will do.
        ("0 0 20 * mon", ["2026-11-16 00:00", "2026-11-20 00:00"]),
        ("0 0 */10 * mon", ["2026-12-21 00:00", "2027-01-11 00:00"]),
        ("@hourly", ["2026-11-15 13:00", "2026-11-15 14:00"]),
        ("daily", ["2026-11-16 00:00", "2026-11-17 00:00"]),
        ("weekly", ["2026-11-22 00:00", "2026-11-29 00:00"]),
        ("monthly", ["2026-12-01 00:00", "2027-01-01 00:00"]),
        ("@yearly", ["2027-01-01 00:00", "2028-01-01 00:00"]),
        ("30m", ["2026-11-15 12:30", "2026-11-15 13:00"]),
        ("1d 12h", ["2026-11-17 00:00", "2026-11-18 12:00"]),
        ("2w", ["2026-11-29 12:00", "2026-12-13 12:00"]),
    ],
)
def test_the_next_times_of_a_schedule(text: str, wanted: list[str]) -> None:
    assert times(text, "2026-11-15T12:00:00Z", 2) == [f"{time} +0000" for time in wanted]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 8",
        "5-1 * * * *",
        "*/0 * * * *",
        "1,, * * * *",
        "-5 * * * *",
        "+5 * * * *",
        "٣ * * * *",
        "a-b * * * *",
        "0 0 30 2 *",
        "0 0 31 4,6 *",
        "0m",
        "30s",
        "500d",
        "1x",
    ],
)
def test_what_is_no_schedule_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(BadValue, match=r"scan_schedule: .* is no schedule"):
        read_when(text, argument="scan_schedule")


def test_a_time_that_the_clocks_skip_comes_as_much_later_on_that_day_only() -> None:
    assert times("30 2 * * *", "2026-03-28T00:00:00Z", 3, BERLIN) == [
        "2026-03-28 02:30 +0100",
        "2026-03-29 03:30 +0200",
        "2026-03-30 02:30 +0200",
    ]


def test_a_time_that_comes_twice_counts_once() -> None:
    assert times("30 2 * * *", "2026-10-24T12:00:00Z", 2, BERLIN) == [
        "2026-10-25 02:30 +0200",
        "2026-10-26 02:30 +0100",
    ]
    # Asked between the two.
    assert times("30 2 * * *", "2026-10-25T01:10:00Z", 1, BERLIN) == ["2026-10-26 02:30 +0100"]


@pytest.mark.long
@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE], ids=str)
def test_every_hour_means_every_hour_also_when_the_clocks_change(zone: ZoneInfo) -> None:
    when = read_when("15 * * * *", argument="when")
    moment = when.after(parse_stamp("2026-01-01T00:00:00Z"), zone=zone)
    gaps = set()
    for _ in range(366 * 24):
        following = when.after(moment, zone=zone)
        gaps.add(following - moment)
        moment = following
    hour, half = timedelta(hours=1), timedelta(minutes=30)
    # Lord Howe's clocks change by half an hour, either way with no quarter past in it.
    assert gaps == ({hour, hour + half} if zone is LORD_HOWE else {hour})


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE], ids=str)
def test_a_daily_time_comes_once_on_each_day_of_a_year(zone: ZoneInfo) -> None:
    for text in ("0 2 * * *", "30 1 * * *", "59 2 * * *"):
        days = [time[:10] for time in times(text, "2026-01-01T12:00:00Z", 365, zone)]
        assert len(set(days)) == 365


@st.composite
def crons(draw: st.DrawFn) -> str:
    def field(least: int, most: int) -> str:
        number = st.integers(least, most)
        pair = st.tuples(number, number).map(sorted)
        return draw(
            st.one_of(
                st.just("*"),
                st.integers(1, 20).map("*/{}".format),
                number.map(str),
                st.lists(number, min_size=1, max_size=3).map(lambda n: ",".join(map(str, n))),
                pair.map(lambda p: f"{p[0]}-{p[1]}"),
            )
        )

    return " ".join((field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 7)))


@settings(max_examples=150, deadline=None)
@given(crons(), st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)))
def test_the_next_time_is_the_first_that_fits(text: str, naive: datetime) -> None:
    when, moment = read_when(text, argument="when"), naive.replace(tzinfo=UTC)
    assert isinstance(when, Cron)
    found = when.after(moment, zone=UTC)
    assert found > moment
    assert _fits(text, found)
    # Nothing in between fits: looked at minute by minute, as far as that is quick.
    step = found - timedelta(minutes=1)
    while step > moment and found - step < timedelta(days=2):
        assert not _fits(text, step)
        step -= timedelta(minutes=1)


def _fits(text: str, moment: datetime) -> bool:
    """The rule as the manual of cron has it, told otherwise than in the code."""
    minute, hour, day, month, weekday = text.split()

    def among(field: str, value: int, least: int) -> bool:
        for part in field.split(","):
            span, _, step = part.partition("/")
            first, _, last = span.partition("-")
            low = least if span == "*" else int(first)
            high = 99 if span == "*" else int(last or first)
            if low <= value <= high and (value - low) % int(step or 1) == 0:
                return True
        return False

    by_day = among(day, moment.day, 1)
    by_weekday = any(among(weekday, n, 0) for n in {moment.isoweekday(), moment.isoweekday() % 7})
    either = not day.startswith("*") and not weekday.startswith("*")
    return (
        among(minute, moment.minute, 0)
        and among(hour, moment.hour, 0)
        and among(month, moment.month, 1)
        and ((by_day or by_weekday) if either else (by_day and by_weekday))
    )


def test_an_interval_counts_from_the_last_time_wherever_it_is() -> None:
    when = read_when("6h", argument="when")
    assert when == Every(timedelta(hours=6))
    assert stamp(when.after(parse_stamp("2026-03-29T01:00+01:00"))) == "2026-03-29T06:00:00.000Z"
