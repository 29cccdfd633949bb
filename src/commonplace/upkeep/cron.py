"""When something is due: a cron expression of five fields, or an interval such as 30m, 6h or 1d.

It knows the calendar and time zones, not what is to be done. A time that a change of the clocks
skips comes as much later; one that comes twice counts once, unless every hour is meant.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Protocol

from msgspec import Struct

from commonplace.model.errors import BadValue

MINUTE = timedelta(minutes=1)
HORIZON = 41 * 366
"""Days to look ahead: a 29th of February that is a Sunday may be forty years away."""
NICKNAMES = {
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "midnight": "0 0 * * *",
    "weekly": "0 0 * * 0",
    "monthly": "0 0 1 * *",
    "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day", 1, 31, {}),
    ("month", 1, 12, {name: number for number, name in enumerate(MONTHS, 1)}),
    ("weekday", 0, 7, {name: number for number, name in enumerate(WEEKDAYS)}),
)
INTERVAL = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
UNITS = ("weeks", "days", "hours", "minutes", "seconds")
LONGEST = timedelta(days=366)
ENTIRE = frozenset(range(24))


class When(Protocol):
    """Says when the next time is."""

    def after(self, moment: datetime, *, zone: tzinfo | None = None) -> datetime:
        """The first time after a moment, in UTC."""


class Every(Struct, frozen=True):
    """So much time after the last."""

    span: timedelta

    def after(self, moment: datetime, *, zone: tzinfo | None = None) -> datetime:
        return moment.astimezone(UTC) + self.span


class Cron(Struct, frozen=True):
    """The times that fit five fields, on the clock of a zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def after(self, moment: datetime, *, zone: tzinfo | None = None) -> datetime:
        """The first time after a moment, in UTC; one that never comes is a `ValueError`."""
        if self.hours == ENTIRE:
            return self._after_by_the_minute(moment, zone)
        local = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        found = self._next(local)
        while (moved := _in_utc(found, zone)) <= moment:
            # The clocks went back: this time of day was there an hour ago already.
            found = self._next(found)
        return moved

    def _after_by_the_minute(self, moment: datetime, zone: tzinfo | None) -> datetime:
        """Every hour, also the one that comes twice."""
        at = moment.astimezone(UTC).replace(second=0, microsecond=0) + MINUTE
        while True:
            local = at.astimezone(zone)
            if not self._fits(local.date()):
                midnight = datetime(local.year, local.month, local.day) + timedelta(days=1)
                at = max(_in_utc(self._next(midnight - MINUTE), zone), at + MINUTE)
            elif local.minute in self.minutes:
                return at
            else:
                at += MINUTE

    def _next(self, local: datetime) -> datetime:
        """The first time after one on the wall, whatever the clocks do."""
        day, clock = local.date(), (local.hour, local.minute)
        for _ in range(HORIZON):
            if self._fits(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        if day > local.date() or (hour, minute) > clock:
                            return datetime(day.year, day.month, day.day, hour, minute)
            day += timedelta(days=1)
        raise ValueError

    def _fits(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if self.any_day or self.any_weekday:
            return by_day and by_weekday
        return by_day or by_weekday


def _in_utc(local: datetime, zone: tzinfo | None) -> datetime:
    if zone is None:
        return local.astimezone(UTC)
    return local.replace(tzinfo=zone).astimezone(UTC)


def read(text: str, *, argument: str) -> When:
    """Read a schedule. `argument` is what an error calls it."""
    try:
        return _interval(text.strip().lower()) or _cron(text.strip().lower())
    except ValueError as error:
        raise BadValue(
            argument,
            f"{text!r} is no schedule{f' ({error})' if str(error) else ''}",
            next_step='Use an interval (30m, 6h, 1d), daily, weekly or cron ("30 3 * * *").',
        ) from None


def _interval(text: str) -> Every | None:
    found = INTERVAL.fullmatch(text.replace(" ", ""))
    if not text or not found:
        return None
    amounts = {unit: int(part or 0) for unit, part in zip(UNITS, found.groups(), strict=True)}
    span = timedelta(**amounts)
    if not MINUTE <= span <= LONGEST:
        raise ValueError("it must be from 1m to 366d")
    return Every(span)


def _cron(text: str) -> Cron:
    parts = NICKNAMES.get(text.removeprefix("@"), text).split()
    if len(parts) != 5:
        raise ValueError(f"{len(parts)} fields, and cron has five")
    read_fields = [_field(part, *field) for part, field in zip(parts, FIELDS, strict=True)]
    minutes, hours, days, months, weekdays = read_fields
    found = Cron(
        minutes,
        hours,
        days,
        months,
        frozenset(day % 7 for day in weekdays),
        any_day=parts[2].startswith("*"),
        any_weekday=parts[4].startswith("*"),
    )
    try:
        found._next(datetime(2000, 1, 1))
    except ValueError:
        raise ValueError("that day never comes") from None
    return found


def _field(text: str, name: str, least: int, most: int, names: dict[str, int]) -> frozenset[int]:
    numbers: set[int] = set()
    for part in text.split(","):
        numbers.update(_range(part, name, least, most, names))
    return frozenset(numbers)


def _range(part: str, name: str, least: int, most: int, names: dict[str, int]) -> range:
    span, stepped, step = part.partition("/")
    first, ranged, last = span.partition("-")
    if span == "*":
        start, end = least, most
    else:
        start = _number(first, name, names)
        # `5/15` means from 5 on, as in `5-59/15`.
        end = _number(last, name, names) if ranged else most if stepped else start
    by = _number(step, name, {}) if stepped else 1
    if not (least <= start <= end <= most) or by < 1:
        raise ValueError(f"{part!r} is no {name}")
    return range(start, end + 1, by)


def _number(text: str, name: str, names: dict[str, int]) -> int:
    if text in names:
        return names[text]
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"{text!r} is no {name}")
    return int(text)
