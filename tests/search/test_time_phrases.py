"""Time in questions, as days of the calendar. Today is Wednesday, 17 May 2023."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.model.errors import BadValue
from commonplace.search.time_phrases import Event, Period, event_in, first_day, last_day, period_in

TODAY = date(2023, 5, 17)

SENTENCES = [
    ("What did I do last Tuesday?", "2023-05-16", "2023-05-16"),
    ("Whom did I meet on Wednesday?", "2023-05-10", "2023-05-10"),
    ("What happened in March?", "2023-03-01", "2023-03-31"),
    ("What happened in June?", "2022-06-01", "2022-06-30"),
    ("What did she plan in June 2023?", "2023-06-01", "2023-06-30"),
    ("Where was I two weeks ago?", "2023-05-01", "2023-05-05"),
    ("What did I buy 10 days ago?", "2023-05-07", "2023-05-07"),
    ("What did I cook a couple of days ago?", "2023-05-14", "2023-05-16"),
    ("What did I say yesterday?", "2023-05-16", "2023-05-16"),
    ("And the day before yesterday?", "2023-05-15", "2023-05-15"),
    ("Who called last night?", "2023-05-16", "2023-05-16"),
    ("What did we decide in 2021?", "2021-01-01", "2021-12-31"),
    ("Where did we go this summer?", "2022-06-01", "2022-08-31"),
    ("Where did we go last winter?", "2022-12-01", "2023-02-28"),
    ("What broke in the winter of 2021?", "2021-12-01", "2022-02-28"),
    ("What happened on 5 May?", "2023-05-05", "2023-05-05"),
    ("What happened on May 25th?", "2022-05-25", "2022-05-25"),
    ("What happened on October 13, 2021?", "2021-10-13", "2021-10-13"),
    ("What is noted for 2023-04-01?", "2023-04-01", "2023-04-01"),
    ("What is noted for 2023-04?", "2023-04-01", "2023-04-30"),
    ("Which books did I read from 2022-12 to 2023-02?", "2022-12-01", "2023-02-28"),
    ("What happened on February 29?", "2020-02-29", "2020-02-29"),
    ("In March 35 people came", "2023-03-01", "2023-03-31"),
    ("Which books did I read between March and May?", "2023-03-01", "2023-05-31"),
    ("How cold was it from November to February?", "2022-11-01", "2023-02-28"),
    ("What did I do last week?", "2023-05-08", "2023-05-14"),
    ("What did I do last month?", "2023-04-01", "2023-04-30"),
    ("What did I do in the past month?", "2023-04-17", "2023-05-17"),
    ("How often did I run in the last four months?", "2023-01-17", "2023-05-17"),
    ("Which bike did I fix the past weekend?", "2023-05-13", "2023-05-14"),
    ("What did we paint over the weekend?", "2023-05-13", "2023-05-14"),
    ("What is new since April?", "2023-04-01", "2023-05-17"),
    ("What did I know before March?", "0001-01-01", "2023-02-28"),
    ("What did he do the week before May 10, 2023?", "2023-05-02", "2023-05-09"),
]


@pytest.mark.parametrize(("question", "first", "last"), SENTENCES)
def test_a_question_names_days(question: str, first: str, last: str) -> None:
    found = period_in(question, TODAY)
    assert found is not None
    assert (found.first.isoformat(), found.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    "question",
    [
        "What may I do?",
        "Do they march to the shop?",
        "When did the cat fall off the roof?",
        "What is the last thing that I said?",
        "Is it 99999 days ago?",
        "What is 5/6?",
        "",
        "\x00 ago ago ago",
    ],
)
def test_a_question_without_a_time_has_no_period(question: str) -> None:
    assert period_in(question, TODAY) is None


LACKING = ("2023-02-31", "2023-13-45", "2023-13", "2023/02/30", "30 February 2023", "June 31")


@pytest.mark.parametrize("day", LACKING)
def test_a_day_that_the_calendar_lacks_is_no_day_nor_any_part_of_it(day: str) -> None:
    assert period_in(f"What was on {day}?", TODAY) is None
    assert period_in(f"What was in {day}?", TODAY) is None
    with pytest.raises(BadValue, match="is no day that is understood"):
        first_day(day, TODAY)


def test_a_day_is_the_closer_the_nearer_it_is() -> None:
    march = Period(date(2023, 3, 1), date(2023, 3, 31))
    days = [date(2023, 3, 15), date(2023, 4, 3), date(2023, 4, 20), date(2022, 3, 15)]
    closeness = [march.closeness(day) for day in days]
    assert closeness[0] == 1.0
    assert closeness == sorted(closeness, reverse=True)
    assert closeness[-1] < 0.01


def test_since_and_until_take_days_and_words() -> None:
    assert first_day("2023-04-02", TODAY) == "2023-04-02"
    assert first_day("March", TODAY) == "2023-03-01"
    assert first_day("the last two weeks", TODAY) == "2023-05-03"
    assert last_day(" Last  week", TODAY) == "2023-05-14"


def test_since_and_until_a_month_take_its_first_and_last_day() -> None:
    assert (first_day("2023-02", TODAY), last_day("2023-02", TODAY)) == ("2023-02-01", "2023-02-28")


@pytest.mark.parametrize("text", ["whenever", "2023-1345", "2023-04-021", "45 June", "March or so"])
def test_since_and_until_take_nothing_that_is_understood_in_part(text: str) -> None:
    with pytest.raises(BadValue, match="is no day that is understood") as told:
        last_day(text, TODAY)
    assert "2026-03" in str(told.value)


def test_what_comes_after_a_time_without_a_beginning_is_far_from_it() -> None:
    period = period_in("What did we do before 2021?", TODAY)
    assert period is not None
    assert period.closeness(date(1999, 5, 5)) == 1
    assert period.closeness(date(2021, 1, 5)) > 0.5
    assert period.closeness(date(2021, 12, 5)) < 0.01


EVENTS = [
    ("What was the rent before the move?", Event("the move", before=True)),
    ("Where did she live after her divorce?", Event("her divorce", before=False)),
    ("How often did I swim since starting at the gym?", Event("starting at the gym", before=False)),
    ("How many days before my party did I order it?", Event("my party", before=True)),
    ("What did I use until I bought the kiln, if any?", Event("I bought the kiln", before=True)),
    ("Do this before anything else", None),
    ("beforehand the move", None),
    ("What is the afternoon like?", None),
    ("", None),
]


@pytest.mark.parametrize(("question", "event"), EVENTS)
def test_a_question_may_name_an_event(question: str, event: Event | None) -> None:
    assert event_in(question) == event


def test_the_side_of_an_event_has_its_own_day() -> None:
    day = date(2023, 3, 1)
    assert Event("the move", before=True).side(day, TODAY).last == day
    after = Event("the move", before=False).side(day, TODAY)
    assert (after.first, after.last) == (day, TODAY)
