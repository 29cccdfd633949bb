"""Days as a person names them for how long something holds: "2w", "3 months", "until March".

What has no year lies ahead. It reads English, and is given the day of today.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, date, timedelta

from commonplace.model.errors import BadValue
from commonplace.search.time_phrases import (
    DAY,
    DAYS,
    MONTH,
    MONTHS,
    NUMBERS,
    Period,
    first_day,
    last_day,
)

NEVER = "never"
"""Takes a time away that was set before."""
HOW = (
    "Use ISO 8601, such as 2026-11-15, or words such as 2w, 3 months, tomorrow, friday, next week "
    "or March 2027."
)
UNITS = {"d": "day", "w": "week", "m": "month", "y": "year"}
COUNTED = (
    r"(?:in |for )?(?P<count>\d{1,4}|an?|" + "|".join(each for each in NUMBERS if len(each) > 2)
) + r") ?(?P<unit>day|week|month|year|d|w|m|y)s?(?: from now)?"
NAMED = r"(?:the )?(?P<which>this|next|end of|end of the) (?P<unit>week|month|year)"
YEAR = r"(?P<year>\d{4})"
FORMS: tuple[tuple[str, Callable[[re.Match[str], date], Period]], ...] = (
    (r"today|tonight", lambda _, today: Period(today, today)),
    (r"tomorrow", lambda _, today: _one(today + timedelta(days=1))),
    (r"(?:the )?day after tomorrow", lambda _, today: _one(today + timedelta(days=2))),
    (COUNTED, lambda match, today: _one(_counted(match, today))),
    ("(?:on )?(?P<weekday>" + "|".join(DAYS) + ")", lambda match, today: _weekday(match, today)),
    (NAMED, lambda match, today: _unit(match, today)),
    (rf"{YEAR}-(?P<number>\d\d)", lambda match, _: _month(*map(int, match.groups()))),
    (YEAR, lambda match, _: _year(int(match["year"]))),
)
COMING: tuple[tuple[str, Callable[[re.Match[str], date], Period]], ...] = (
    (rf"(?:the )?{DAY}(?: of)? {MONTH}(?:,? {YEAR})?", lambda match, today: _date(match, today)),
    (rf"{MONTH} {DAY}(?:,? {YEAR})?", lambda match, today: _date(match, today)),
    (rf"(?:in |end of )?{MONTH}(?:,? {YEAR})?", lambda match, today: _named_month(match, today)),
)
"""Without a year the next such is meant, if it is an end. A beginning may be the last such."""


def first_of(text: str, today: date) -> str:
    """The day from which something holds, for a text that names one; without a year the nearest."""
    if found := _read(text, today, FORMS):
        return found.first.isoformat()
    coming = _read(text, today, COMING)
    try:
        last = date.fromisoformat(_past(text, today, first_day, "valid_from"))
    except BadValue:
        if coming is None:
            raise
        return coming.first.isoformat()
    days = [last, *([coming.first] if coming else [])]
    return min(days, key=lambda day: abs(day - today)).isoformat()


def last_of(text: str, today: date) -> str:
    """The last day on which something holds, for a text that names one."""
    found = _read(text, today, (*FORMS, *COMING))
    return found.last.isoformat() if found else _past(text, today, last_day, "valid_to")


def _past(text: str, today: date, read: Callable[[str, date], str], argument: str) -> str:
    try:
        return read(text, today)
    except BadValue:
        raise BadValue(argument, f"{text!r} is no time", next_step=HOW) from None


def _read(
    text: str, today: date, forms: tuple[tuple[str, Callable[[re.Match[str], date], Period]], ...]
) -> Period | None:
    said = " ".join(text.lower().split())
    for form, days in forms:
        if match := re.fullmatch(form, said):
            try:
                return days(match, today)
            except (ValueError, OverflowError):
                return None  # The calendar lacks it.
    return None


def _one(day: date) -> Period:
    return Period(day, day)


def _counted(match: re.Match[str], today: date) -> date:
    said = match["count"]
    count = int(said) if said.isdecimal() else NUMBERS[said]
    unit = UNITS[match["unit"][0]]
    if unit in ("day", "week"):
        return today + timedelta(days=count * (7 if unit == "week" else 1))
    return _months_on(today, count * (12 if unit == "year" else 1))


def _months_on(day: date, count: int) -> date:
    """The same day of a later month, or the last one of a month that is shorter."""
    months = day.year * 12 + day.month - 1 + count
    end = _month(months // 12, months % 12 + 1).last
    return end.replace(day=min(day.day, end.day))


def _weekday(match: re.Match[str], today: date) -> Period:
    ahead = (DAYS.index(match["weekday"]) - today.weekday()) % 7
    return _one(today + timedelta(days=ahead or 7))


def _unit(match: re.Match[str], today: date) -> Period:
    found = _whole(match, today)
    return _one(found.last) if match["which"].startswith("end") else found


def _whole(match: re.Match[str], today: date) -> Period:
    on = 1 if match["which"] == "next" else 0
    if match["unit"] == "week":
        first = today + timedelta(days=7 * on - today.weekday())
        return Period(first, first + timedelta(days=6))
    if match["unit"] == "year":
        return _year(today.year + on)
    first = _months_on(today.replace(day=1), on)
    return _month(first.year, first.month)


def _date(match: re.Match[str], today: date) -> Period:
    month, day = _number(match["month"]), int(match["day"])
    if match["year"]:
        return _one(date(int(match["year"]), month, day))
    years = (year for year in range(today.year, MAXYEAR) if _has(year, month, day))
    coming = (date(year, month, day) for year in years)
    return _one(next(each for each in coming if each >= today))


def _has(year: int, month: int, day: int) -> bool:
    return day <= _month(year, month).last.day


def _named_month(match: re.Match[str], today: date) -> Period:
    month = _number(match["month"])
    if match["year"]:
        return _month(int(match["year"]), month)
    return _month(today.year + (month < today.month), month)


def _number(name: str) -> int:
    return next(at for at, month in enumerate(MONTHS, 1) if month[:3] == name[:3])


def _month(year: int, month: int) -> Period:
    first = date(year, month, 1)
    after = date(year + month // 12, month % 12 + 1, 1)
    return Period(first, after - timedelta(days=1))


def _year(year: int) -> Period:
    if not MINYEAR <= year <= MAXYEAR:
        raise ValueError("the calendar lacks it")
    return Period(date(year, 1, 1), date(year, 12, 31))
