"""Time in questions: "two weeks ago", "last Tuesday", "in March" as days of the calendar.

It reads English, and is given the day of today. A question that names no time, or names it in
another way, has no period. Of an event ("before the move") it finds the words; the engine looks up
the day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import MAXYEAR, MINYEAR, date, timedelta
from functools import cache
from math import exp

from msgspec import Struct

from commonplace.model.errors import BadValue

LONGEST = 2000
"""Characters of a question that are looked at."""
OPEN = 30
"""Days that a period without a beginning counts as, for what is near it but not within."""
LEAPS = 9
"""So many years have a 29 February among them."""
EARLIEST, LATEST = date(MINYEAR, 1, 1), date(MAXYEAR, 12, 31)


class Period(Struct, frozen=True):
    """Days from the first to the last, both within, and the words that named them."""

    first: date
    last: date
    words: str = ""

    def closeness(self, day: date) -> float:
        """1 for a day within; else the less the farther off, measured by the period's length."""
        if self.first <= day <= self.last:
            return 1.0
        off = (self.first - day).days if day < self.first else (day - self.last).days
        length = (self.last - self.first).days if self.first > EARLIEST else OPEN
        return exp(-off / (2.0 + length / 4))


def period_in(question: str, today: date) -> Period | None:
    """The time that a question speaks of; the one named first when there are several."""
    text = " ".join(question[:LONGEST].split())
    found = _between(text, today) or _named(text, today)
    return found and _bounded(found, text, today)


class Event(Struct, frozen=True):
    """Something that happened, as a question names it, and which side of it is asked about."""

    words: str
    before: bool

    def side(self, day: date, today: date) -> Period:
        """The time before or after, with the day itself, on which people speak of both."""
        if self.before:
            return Period(EARLIEST, day, self.words)
        return Period(day, max(day, today), self.words)


def event_in(question: str) -> Event | None:
    """The event before or after which something was, as in "before the move"."""
    text = " ".join(question[:LONGEST].split())
    if not any(word in text for word in ("before", "after", "since", "until")):
        return None
    match = re.search(EVENT, text)
    return match and Event(match["words"], before=match["side"] in ("before", "until"))


def first_day(text: str, today: date) -> str:
    """The day that `since` such a text begins with."""
    return _period(text, today, "since").first.isoformat()


def last_day(text: str, today: date) -> str:
    """The day that `until` such a text ends with, itself within."""
    return _period(text, today, "until").last.isoformat()


def _period(text: str, today: date, argument: str) -> Period:
    named = "in " + " ".join(text[:LONGEST].split())
    found = _named(named, today)
    # A person who is not understood wholly means another day.
    if found is None or not {"in", "the"}.issuperset(named.replace(found.words, "", 1).split()):
        raise BadValue(
            argument,
            f"{text!r} is no day that is understood",
            next_step="Write it as 2026-03-01 or 2026-03, or in words such as March, 2025 or last "
            "week.",
        )
    return found


def _between(text: str, today: date) -> Period | None:
    """`between March and May`, `from 2021 to 2023`: from the start of one to the end of another."""
    for match in re.finditer(PAIR, text) if _words(text) & {"between", "from"} else ():
        one, other = (_named(f"in {part}", today) for part in match.groups())
        if one and other:
            if one.first > other.first and one.first.year == other.first.year:
                # The later month is the one that was nearest; the earlier is of the year before.
                one = Period(_back_a_year(one.first), _back_a_year(one.last))
            return Period(min(one.first, other.first), max(one.last, other.last), match[0])
    return None


def _named(text: str, today: date) -> Period | None:
    """The period of the pattern that matches earliest; of two in one place, the longer.

    Of a date that the calendar lacks no part is a period: 2026-02-30 does not mean all of 2026.
    """
    found: list[tuple[int, int, Period]] = []
    lacking: list[tuple[int, int]] = []
    there = _words(text)
    for signs, form, days in _forms():
        for match in re.finditer(form, text, re.IGNORECASE) if not signs.isdisjoint(there) else ():
            # A word such as `in` before it says nothing of where the time itself begins.
            start, end = match.start(1 if match.lastindex else 0), match.end()
            try:
                named = days(match, today)
            except (ValueError, OverflowError):
                lacking.append((start, end))
            else:
                found += [(start, -end, Period(*named, match[0]))] if named else []
    real = [
        each
        for each in found
        if all(-each[1] <= first or last <= each[0] for first, last in lacking)
    ]
    return min(real, key=lambda each: each[:2])[2] if real else None


Days = tuple[date, date]
Reader = Callable[["re.Match[str]", date], Days | None]


def _bounded(found: Period, text: str, today: date) -> Period:
    """`before March` and `since 2023` name one end of a period only."""
    before = text[: text.find(found.words)].lower()
    lead = {*before.split()[-1:], found.words.lower().split()[0]}
    if lead & {"before", "until", "till"}:
        return Period(_some_before(before, found.first), _day_before(found.first), found.words)
    if "after" in lead:
        return Period(found.last, max(today, found.last), found.words)
    if "since" in lead:
        return Period(found.first, max(today, found.first), found.words)
    return found


def _some_before(text: str, day: date) -> date:
    """Where `the week before` and `two days before` begin; `before` alone has no beginning."""
    match = re.search(MEASURE, text)
    if not match:
        return EARLIEST
    count = 1 if match["count"] == "the" else _number(match["count"])
    return day - timedelta(days=count * LENGTHS[match["unit"]] + 1)


def _day_before(day: date) -> date:
    return day - timedelta(days=1) if day > EARLIEST else day


COUNTED = "|a an one|two couple|three few|four several|five|six|seven|eight|nine|ten|eleven|twelve"
NUMBERS = {
    word: number for number, words in enumerate(COUNTED.split("|")) for word in words.split()
}
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NAMES_OF_MONTHS = """january february march april may june july august september october november
december"""
MONTHS = NAMES_OF_MONTHS.split()
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
LENGTHS = {"day": 1, "week": 7, "month": 30, "year": 365}

COUNT = r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
COUNT += r"|(?:a )?(?:couple(?: of)?|few|several))"
UNIT = r"(?P<unit>day|week|month|year)s?"
WEEKDAY = "(?P<weekday>" + "|".join(DAYS) + ")"
MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
MONTH += r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
DAY = r"(?P<day>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
YEAR = r"(?P<year>(?:19|20)\d\d)"
SEASON = "(?P<season>spring|summer|autumn|fall|winter)"


PAIR = r"(?i)\b(?:between|from)\s+(.{2,30}?)\s+(?:and|to|until|till|through)\s+(.{2,30})"
# What stands before `before`, which may be the first word of the period's own.
MEASURE = rf"\b(?P<count>the|{COUNT[len('(?P<count>') : -1]}) {UNIT}(?: before)?\s*\Z"
# Up to the verb that goes on with the question, or to its end.
EVENT = (
    r"\b(?P<side>before|after|since|until)\s+(?P<words>(?:the|my|our|his|her|its|their|I|we|he"
    r"|she|they|(?!\w*thing\b|morning|evening)[a-z]+ing)\b[^?,.;]{2,80}?)"
    r"(?=\s+(?:did|do|does|have|has|had|when)\b|[?,.;]|$)"
)
FOUR_DIGITS = "1234"
"""Stands for every word that begins with four digits or more."""


def _words(text: str) -> set[str]:
    words = "".join(each if each.isalnum() else " " for each in text.lower()).split()
    return {FOUR_DIGITS if word[:4].isdecimal() and len(word) > 3 else word for word in words}


@cache
def _forms() -> tuple[tuple[frozenset[str], str, Reader], ...]:
    """How time is spoken of, each form with words of which it has one.

    Compiling them all takes longer than a search, and most questions have none of the words.
    """
    last = r"\b(?:last|past|previous)"
    month = " ".join((*MONTHS, *(name[:3] for name in MONTHS), "sept"))
    year, weekday, season = FOUR_DIGITS, " ".join(DAYS), " ".join(SEASONS)
    table: tuple[tuple[str, str, Reader], ...] = (
        (year, r"\b(?P<year>\d{4})[-/](?P<month>\d\d?)[-/](?P<day>\d\d?)\b", _iso_day),
        (year, r"\b(?P<year>(?:19|20)\d\d)[-/](?P<month>\d\d)\b", _iso_month),
        (month, rf"\b{DAY}(?: of)? {MONTH}(?:,? {YEAR})?\b", _month_day),
        (month, rf"\b{MONTH} {DAY}\b(?!:)(?:,? {YEAR})?", _month_day),
        (month, rf"\b{MONTH}(?: of|,)? {YEAR}\b", _month),
        (month, rf"\b(?:in|during|of|since|before|after|until|last|this|early|late|mid)"
         rf" {MONTH}(?:(?: of|,)? {YEAR})?\b", _month),
        (month, r"\b(?:january|february|april|june|july|august|september|october|november"
         r"|december)\b", lambda match, today: _month_named(match[0].lower(), None, today)),
        (year, rf"\b(?:in|during|of|since|before|after|until) (?:the year )?{YEAR}\b", _year),
        ("yesterday", r"\bthe day before yesterday\b", lambda _, today: _one(today, 2)),
        ("yesterday", r"(?<!before )\byesterday\b", lambda _, today: _one(today, 1)),
        ("today this", r"\b(?:today|this morning|this afternoon)\b",
         lambda _, today: _one(today, 0)),
        ("last yesterday", r"\b(?:last night|yesterday evening)\b",
         lambda _, today: _one(today, 1)),
        ("ago", rf"\b{COUNT} {UNIT} ago\b", _ago),
        ("last past previous", rf"{last} {COUNT} {UNIT}\b", _lately),
        ("last previous", r"\b(?:last|previous) (?P<unit>week|month|year)\b(?!')", _calendar_last),
        ("past", r"\bpast (?P<unit>week|month|year)\b(?!')", _lately),
        ("this", r"\bthis (?P<unit>week|month|year)\b", _calendar_this),
        ("weekend", rf"{last} weekend\b|\bover the weekend\b", _weekend),
        ("weekend", r"\bthis weekend\b", _this_weekend),
        (weekday, rf"(?:{last}|\bon|\bthis) {WEEKDAY}\b", _weekday),
        (season, rf"(?:{last}|\bthis|\bthe|\bin|\bduring|\bsince) {SEASON}"
         rf"(?: (?:of )?{YEAR})?\b", _season),
        (season, rf"\b{SEASON} (?:of )?{YEAR}\b", _season),
    )  # fmt: skip
    return tuple((frozenset(signs.split()), form, days) for signs, form, days in table)


def _one(today: date, back: int) -> Days:
    day = today - timedelta(days=back)
    return day, day


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return NUMBERS[word.lower().removeprefix("a ").removesuffix(" of")]


def _ago(match: re.Match[str], today: date) -> Days:
    """Around that day: people count months and years roughly, days closely."""
    unit = match["unit"].lower()
    count = _number(match["count"])
    middle = today - timedelta(days=count * LENGTHS[unit])
    loose = timedelta(days={"day": 0, "week": 2, "month": 12, "year": 180}[unit])
    if unit == "day" and not match["count"].isdigit() and count > 1:
        loose = timedelta(days=1)
    return middle - loose, min(middle + loose, today)


def _lately(match: re.Match[str], today: date) -> Days:
    count = _number(match.groupdict().get("count") or "one")
    return today - timedelta(days=count * LENGTHS[match["unit"].lower()]), today


def _calendar_last(match: re.Match[str], today: date) -> Days:
    unit = match["unit"].lower()
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7)
        return monday, monday + timedelta(days=6)
    if unit == "month":
        end = today.replace(day=1) - timedelta(days=1)
        return end.replace(day=1), end
    return date(today.year - 1, 1, 1), date(today.year - 1, 12, 31)


def _calendar_this(match: re.Match[str], today: date) -> Days:
    unit = match["unit"].lower()
    if unit == "week":
        monday = today - timedelta(days=today.weekday())
        return monday, monday + timedelta(days=6)
    return _of_month(today.year, today.month) if unit == "month" else _of_year(today.year)


def _weekend(match: re.Match[str], today: date) -> Days:
    """The last one that is over."""
    sunday = today - timedelta(days=(today.weekday() + 1) % 7 or 7)
    return sunday - timedelta(days=1), sunday


def _this_weekend(match: re.Match[str], today: date) -> Days:
    saturday = today + timedelta(days=5 - today.weekday())
    return saturday, saturday + timedelta(days=1)


def _weekday(match: re.Match[str], today: date) -> Days:
    """The last one before today."""
    back = (today.weekday() - DAYS.index(match["weekday"].lower())) % 7 or 7
    return _one(today, back)


def _iso_day(match: re.Match[str], today: date) -> Days:
    day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    return day, day


def _iso_month(match: re.Match[str], today: date) -> Days:
    return _of_month(int(match["year"]), int(match["month"]))


def _month_day(match: re.Match[str], today: date) -> Days | None:
    if _is_verb(match["month"]):
        return None
    month, day = _month_number(match["month"]), int(match["day"])
    if match["year"]:
        return (date(int(match["year"]), month, day),) * 2
    return (_last_such(month, day, today),) * 2


def _last_such(month: int, day: int, today: date) -> date:
    """The last day of that name, which for 29 February may be years ago."""
    for year in range(today.year, today.year - LEAPS, -1):
        if day <= _of_month(year, month)[1].day and date(year, month, day) <= today:
            return date(year, month, day)
    raise ValueError("the calendar lacks it")


def _month(match: re.Match[str], today: date) -> Days | None:
    year = match.groupdict().get("year")
    return None if _is_verb(match["month"]) else _month_named(match["month"], year, today)


def _month_named(name: str, year: str | None, today: date) -> Days:
    month = _month_number(name)
    if year:
        return _of_month(int(year), month)
    return _of_month(today.year if month <= today.month else today.year - 1, month)


def _is_verb(word: str) -> bool:
    """`may` and `march` are months when they are written as names."""
    return word in ("may", "march", "mar")


def _month_number(name: str) -> int:
    return next(at for at, month in enumerate(MONTHS, 1) if month[:3] == name[:3].lower())


def _of_month(year: int, month: int) -> Days:
    after = date(year + month // 12, month % 12 + 1, 1)
    return date(year, month, 1), after - timedelta(days=1)


def _of_year(year: int) -> Days:
    return date(year, 1, 1), date(year, 12, 31)


def _year(match: re.Match[str], today: date) -> Days:
    return _of_year(int(match["year"]))


def _season(match: re.Match[str], today: date) -> Days | None:
    """Of the northern half of the earth; without a year the last one that has begun."""
    if match["season"].lower() == "fall" and match[0].lower().startswith("the "):
        return None
    start = SEASONS[match["season"].lower()]
    year = int(match["year"]) if match["year"] else today.year
    if not match["year"] and (
        date(year, start, 1) > today or match[0].lower().startswith(("last", "past", "prev"))
    ):
        year -= _season_end(year, start) >= today
    return date(year, start, 1), _season_end(year, start)


def _season_end(year: int, start: int) -> date:
    return _of_month(year + start // 12, (start + 1) % 12 + 1)[1]


def _back_a_year(day: date) -> date:
    return day.replace(year=day.year - 1, day=min(day.day, 28))
