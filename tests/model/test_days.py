"""Days are those of the user's calendar, wherever the user is.

In Los Angeles it is Monday evening, 16 November 2026, and in UTC Tuesday; in Auckland the other way
round it is Tuesday while UTC has Monday.
"""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from commonplace.doors.cli.main import main
from commonplace.doors.http.api.days import list_days, list_sizes
from commonplace.markdown.layouts import LAYOUTS
from commonplace.memory import Memory
from commonplace.model.clock import Clock, utc_day
from commonplace.model.options import is_url
from commonplace.tools.native import brief, search
from tests.data import clock_at, written
from tests.support.clocks import FixedClock

WEST, EAST = "America/Los_Angeles", "Pacific/Auckland"
HOUR = 3600
EVENING = "2026-11-17T03:28:00Z"
"""Monday 19:28 in Los Angeles."""
MORNING = "2026-11-16T19:30:00Z"
"""Tuesday 8:30 in Auckland."""


def there(place: Path | str, moment: str, zone: str) -> tuple[Memory, FixedClock]:
    clock = clock_at(moment, zone=zone)
    return Memory.open(place, "native", clock=clock, environ={}, create=True), clock


def put(place: str, name: str, text: str) -> None:
    """A document that somebody else wrote."""
    if is_url(place):
        written(place, {name: text.encode()}, layout=LAYOUTS["native"])
    else:
        path = Path(place, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def texts(memory: Memory, query: str, **bounds: str) -> list[str]:
    return sorted(hit.record.text for hit in memory.search(query, **bounds))


@pytest.mark.parametrize(("zone", "moment"), [(WEST, EVENING), (EAST, MORNING)])
def test_what_is_stored_today_is_of_today(place: str, zone: str, moment: str) -> None:
    memory, clock = there(place, moment, zone)
    with memory:
        memory.store("Peel the garlic")
        for bounds in (
            {"until": "today"},
            {"since": "today"},
            {"since": "today", "until": "today"},
        ):
            assert texts(memory, "garlic", **bounds) == ["Peel the garlic"]
        assert texts(memory, "garlic", until="yesterday") == []
        clock.sleep(24 * HOUR)
        assert texts(memory, "garlic", since="yesterday", until="yesterday") == ["Peel the garlic"]
        assert texts(memory, "garlic", since="today") == []


def test_a_day_begins_and_ends_at_the_users_midnight(place: str) -> None:
    memory, clock = there(place, "2026-11-16T07:59:59Z", WEST)
    with memory:
        for name, seconds in (("before", 1), ("first", 24 * HOUR - 2), ("last", 2), ("after", 0)):
            memory.store(f"Tea {name}")
            clock.sleep(seconds)
        assert texts(memory, "tea", since="2026-11-16", until="2026-11-16") == [
            "Tea first",
            "Tea last",
        ]
        assert texts(memory, "", until="2026-11-15") == ["Tea before"]
        assert texts(memory, "tea", since="2026-11-17") == ["Tea after"]


@pytest.mark.in_files
@pytest.mark.parametrize(
    ("zone", "day", "first", "last"),
    [
        ("UTC", "2026-11-16", "", ""),
        (WEST, "2026-11-16", "2026-11-16T08:00", "2026-11-17T07:59"),
        (WEST, "2026-03-08", "2026-03-08T08:00", "2026-03-09T06:59"),
        (WEST, "2026-11-01", "2026-11-01T07:00", "2026-11-02T07:59"),
        ("Asia/Kolkata", "2026-11-16", "2026-11-15T18:30", "2026-11-16T18:29"),
        # At midnight the clocks go forward, and back.
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00", "2026-04-24T20:59"),
        ("Africa/Cairo", "2026-10-29", "2026-10-28T21:00", "2026-10-29T21:59"),
        (WEST, "9999-12-31", "9999-12-31T08:00", "9999-12-31T23:59"),
        (EAST, "0001-01-01", "0001-01-01T00:00", "0001-01-01T12:20"),
    ],
)
def test_the_stamps_of_a_day_are_those_between_two_midnights(
    zone: str, day: str, first: str, last: str
) -> None:
    assert Clock(zone=zone).span(day, day) == (first, last)


ZONES = ("UTC", WEST, EAST, "Asia/Kolkata", "Europe/London", "Africa/Cairo", "America/Havana")


@pytest.mark.long
@pytest.mark.parametrize("zone", ZONES)
def test_the_day_of_a_stamp_is_that_of_the_calendar_all_year(zone: str) -> None:
    clock = clock_at("2026-01-01T00:05:00Z", zone=zone)
    for _ in range(365 * 24 * 2):
        clock.sleep(HOUR // 2)
        assert clock.day_of(clock.stamp()) == clock.today().isoformat()


def test_a_stamp_that_is_not_in_utc_is_of_the_day_that_it_says() -> None:
    day_of = Clock(zone=WEST).day_of
    for stamp in ("2026-11-16", "2026-11-16T03:00:00+01:00", "2026-11-16 07:00"):
        assert day_of(stamp) == "2026-11-16"
    assert (day_of(""), day_of("yesterday")) == ("", "yesterday")
    assert day_of("x" * 11 + "12:00:00Z") == "x" * 10
    assert Clock(zone="UTC").day_of is utc_day


LINE = '- Pears of {day} <!-- {{"id":"mem-{number}","kind":"note","timestamp":"{stamp}"}} -->\n'
FOREIGN = ("2026-11-16", "2026-11-16T03:00:00+01:00", "2026-11-17T03:28:00Z", "2026-11-16T08:00Z")
OTHERS = ("2026-11-17", "2026-11-15T20:00:00-08:00", "2026-11-17T08:00:00Z", "")


def test_what_others_stamped_is_found_by_its_day(place: str) -> None:
    stamps = [*(("Monday", each) for each in FOREIGN), *(("no", each) for each in OTHERS)]
    lines = (
        LINE.format(day=day, number=number, stamp=stamp)
        for number, (day, stamp) in enumerate(stamps)
    )
    put(place, "MEMORY.md", "# Memory\n\n" + "".join(lines))
    memory, _ = there(place, EVENING, WEST)
    with memory:
        assert texts(memory, "pears", since="today", until="today") == ["Pears of Monday"] * 4
        for number, (day, _) in enumerate(stamps):
            reasons = memory.why_not(f"mem-{number}", "pears", since="today", until="today").reasons
            assert bool(reasons) == (day == "no")


def test_a_line_without_a_time_is_of_the_day_of_its_log(place: str) -> None:
    put(place, "memory/2026-11-16.md", "- Prune the roses\n\nRoses are prose.\n")
    for zone, moment in ((WEST, EVENING), (EAST, MORNING)):
        memory, _ = there(place, moment, zone)
        with memory:
            memory.rebuild()
            monday = {"since": "2026-11-16", "until": "2026-11-16"}
            assert len(texts(memory, "roses", **monday)) == 2
            assert texts(memory, "roses", since="2026-11-17") == []
            assert "- 2026-11-16 note: Prune the roses" in search.run(memory, "roses").text


def test_a_line_without_a_time_is_of_the_same_day_wherever_the_user_goes(place: str) -> None:
    put(place, "memory/2026-11-10.md", "# Tuesday\n\n- Ate a fig\n")
    for zone in ("UTC", WEST, EAST):
        memory, _ = there(place, EVENING, zone)
        with memory:
            assert texts(memory, "fig", since="2026-11-10", until="2026-11-10") == ["Ate a fig"]


def test_a_stamp_as_programs_write_it_is_of_the_users_day(place: str) -> None:
    memory, _ = there(place, EVENING, WEST)
    with memory:
        memory.store("Peel the garlic")
        for since in (EVENING, "2026-11-16T19:28:00-08:00", "2026-11-16T10:00"):
            assert texts(memory, "garlic", since=since, until=since) == ["Peel the garlic"]
        assert texts(memory, "garlic", until="2026-11-15T10:00") == []


def test_a_question_means_days_of_the_users_calendar(place: str) -> None:
    memory, clock = there(place, "2026-11-15T03:00:00Z", WEST)
    with memory:
        stored = memory.store("Walked around the lake")
        clock.sleep(48 * HOUR)
        memory.store("Rested")
        parts = {}
        for question in ("yesterday", "on Saturday", "2 days ago"):
            hit = memory.search(f"Who walked around the lake {question}?", explain=True)[0]
            assert hit.record == stored
            parts[question] = dict(hit.why)["in_period"]
        assert parts["on Saturday"] == parts["2 days ago"] > parts["yesterday"]


def test_what_is_shown_has_the_users_day(place: str) -> None:
    memory, _ = there(place, EVENING, WEST)
    with memory:
        memory.store("Peel the garlic", kind="fact")
        assert search.run(memory, "garlic").text.startswith("- 2026-11-16 fact: Peel")
        assert "- 2026-11-16 fact: Peel" in brief.run(memory).text
        assert "2026-11-17" not in memory.context().text
        assert "- 2026-11-16 fact: Peel the garlic" in memory.context().text


def test_the_calendar_of_the_gateway_is_the_users(place: str) -> None:
    memory, _ = there(place, EVENING, WEST)
    with memory:
        memory.store("Peel the garlic")
        memory.write_diary("A quiet evening.")
        told = list_days.run(memory, {})
        assert told["counts"] == {"2026-11-16": 1}
        assert told["daily"] == {"memory/2026-11-16.md": "2026-11-16"}
        assert told["diary"] == {"diary/2026-11-17T03-28-00.md": "2026-11-16 19:28:00-08:00"}
        assert [each["day"] for each in list_sizes.run(memory, {})["days"]] == ["2026-11-16"]


def test_a_diary_entry_is_of_the_users_day(place: str) -> None:
    memory, clock = there(place, EVENING, WEST)
    with memory:
        name = memory.write_diary("A quiet evening.").document
        assert name == "diary/2026-11-17T03-28-00.md"
        assert memory.diary("2026-11-16") == memory.diary("2026-11") == [name]
        assert memory.diary("2026-11-17") == []
        assert memory.diary("2026-11-17T03") == memory.diary(name) == [name]
        clock.sleep(HOUR)
        assert texts(memory, "quiet", since="today", until="today") == ["A quiet evening."]


def test_the_last_evening_of_a_year_is_summed_up_with_it(place: str) -> None:
    memory, clock = there(place, "2026-01-01T03:28:00Z", WEST)
    with memory:
        memory.write_diary("Fireworks.")
        assert memory.roll_up_diary() == ()
        clock.sleep(24 * HOUR)
        assert memory.roll_up_diary() == ("diary/2025.md",)
        text = memory.read("diary/2025.md").text
        assert "## December\n\n**2025-12-31 19:28** Fireworks" in text


def test_what_was_said_is_found_by_the_users_day(place: str) -> None:
    memory, clock = there(place, EVENING, WEST)
    with memory:
        memory.conversations.record("user", "Which tea is best?")
        assert memory.search("tea", within="history", since="today", until="today")
        assert memory.search("", within="all", until="today")
        clock.sleep(12 * HOUR)
        assert memory.search("tea", within="history", since="today") == []


def test_a_day_until_which_something_holds_is_the_users(place: str) -> None:
    memory, clock = there(place, EVENING, WEST)
    with memory:
        memory.store("On holiday", kind="fact", valid_to="2026-11-17")
        memory.store("Back at work", kind="fact", valid_from="2026-11-18")
        clock.sleep(28 * HOUR)
        assert "On holiday" in memory.context().text
        assert "Back at work" not in memory.context().text
        assert memory.brief()[0].text == "On holiday"
        assert memory.scan("stale") == []
        clock.sleep(HOUR)
        assert "On holiday" not in memory.context().text
        assert "Back at work" in memory.context().text
        assert memory.brief()[0].text == "Back at work"
        assert "valid until 2026-11-17" in memory.scan("stale")[0].what


def test_a_day_that_a_person_wrote_holds_as_long(place: str) -> None:
    kept = '<!-- {"id":"mem-1","kind":"fact","valid_to":"2026-11-17"} -->'
    put(place, "MEMORY.md", f"# Memory\n\n- On holiday {kept}\n")
    memory, clock = there(place, EVENING, WEST)
    with memory:
        assert memory.get("mem-1").record.valid_to == "2026-11-17"
        clock.sleep(28 * HOUR)
        assert "On holiday" in memory.context().text
        assert memory.scan("stale") == []
        clock.sleep(HOUR)
        assert "On holiday" not in memory.context().text
        assert "valid until 2026-11-17" in memory.scan("stale")[0].what


def test_a_summary_names_the_users_days(place: str) -> None:
    memory, clock = there(place, "2026-01-01T03:28:00Z", WEST)
    with memory:
        for number in range(12):
            memory.store(f"Note number {number} of the evening")
        clock.sleep(200 * 24 * HOUR)
        plan, _ = memory.plan_compaction()
        assert [summary.text[:10] for summary in plan.summaries] == ["2025-12-31"]


@pytest.mark.long
@pytest.mark.in_files
def test_the_day_of_the_machine_counts_where_no_zone_is_set(tmp_path: Path) -> None:
    """Of two zones half a day from UTC, one always has another day than UTC has."""
    days = set()
    for zone in ("AAA+12", "BBB-12"):
        environ = {**os.environ, "TZ": zone, "COMMONPLACE_VAULT": str(tmp_path / zone)}
        for words, said in (
            (["init"], str(tmp_path)),
            (["store", "Peel the garlic"], "Stored"),
            (["search", "garlic", "--since", "today", "--until", "today"], "Peel the garlic"),
            (["search", "garlic", "--until", "yesterday"], "Nothing found"),
        ):
            told = subprocess.run(
                [sys.executable, "-m", "commonplace", *words],
                env=environ,
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            assert said in told
            days |= {told[2:12]} if said.startswith("Peel") else set()
    one, other = sorted(map(date.fromisoformat, days))
    assert other - one == timedelta(days=1)


@pytest.mark.in_files
def test_the_diary_of_a_day_is_listed_by_the_zone_of_the_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TIMEZONE", WEST)
    memory, _ = there(tmp_path, EVENING, WEST)
    with memory:
        memory.write_diary("Hello.")
    assert main(["--vault", str(tmp_path), "diary", "list", "2026-11-16"]) == 0
    assert capsys.readouterr().out == "diary/2026-11-17T03-28-00.md\n"
