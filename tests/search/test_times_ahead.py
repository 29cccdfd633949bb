"""Days as a person names them for how long something holds."""

from __future__ import annotations

from datetime import date

import pytest

from commonplace.model.errors import BadValue
from commonplace.search.times_ahead import first_of, last_of

WEDNESDAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2w", "2026-12-02", "2026-12-02"),
        ("2 Weeks", "2026-12-02", "2026-12-02"),
        ("in three days", "2026-11-21", "2026-11-21"),
        ("a year", "2027-11-18", "2027-11-18"),
        ("3 months", "2027-02-18", "2027-02-18"),
        ("today", "2026-11-18", "2026-11-18"),
        ("tomorrow", "2026-11-19", "2026-11-19"),
        ("the day after tomorrow", "2026-11-20", "2026-11-20"),
        ("wednesday", "2026-11-25", "2026-11-25"),
        ("on Friday", "2026-11-20", "2026-11-20"),
        ("next week", "2026-11-23", "2026-11-29"),
        ("this month", "2026-11-01", "2026-11-30"),
        ("end of the month", "2026-11-30", "2026-11-30"),
        ("next year", "2027-01-01", "2027-12-31"),
        ("2026-12", "2026-12-01", "2026-12-31"),
        ("2027", "2027-01-01", "2027-12-31"),
        ("march 2027", "2027-03-01", "2027-03-31"),
        ("March", "2027-03-01", "2027-03-31"),
        ("1 December", "2026-12-01", "2026-12-01"),
        ("dec 24, 2026", "2026-12-24", "2026-12-24"),
        ("yesterday", "2026-11-17", "2026-11-17"),
    ],
)
def test_a_day_is_read_as_people_name_it(text: str, first: str, last: str) -> None:
    assert (first_of(text, WEDNESDAY), last_of(text, WEDNESDAY)) == (first, last)


def test_without_a_year_an_end_lies_ahead_and_a_beginning_is_the_nearest() -> None:
    assert last_of("October", WEDNESDAY) == "2027-10-31"
    assert first_of("October", WEDNESDAY) == "2026-10-01"


def test_a_month_that_is_shorter_ends_earlier() -> None:
    assert last_of("a month", date(2027, 1, 31)) == "2027-02-28"
    assert last_of("29 February", WEDNESDAY) == "2028-02-29"


@pytest.mark.parametrize("text", ["soon", "9999 years", "31 February 2027", "2026-13", "2 w x"])
def test_what_is_no_day_is_refused_with_days_that_are(text: str) -> None:
    for read in (first_of, last_of):
        with pytest.raises(BadValue, match="Use ISO 8601, such as 2026-11-15, or words such as 2w"):
            read(text, WEDNESDAY)
