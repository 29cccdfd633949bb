"""The only reader of time: now, new ids, stamps and the user's local day.

Everything else is handed a `Clock`, so that tests choose the time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as daytime
from functools import cache, lru_cache, partial
from operator import itemgetter

DayOf = Callable[[str], str]
"""Tells the day of a stamp on somebody's calendar."""
utc_day: DayOf = itemgetter(slice(10))
"""The day that a stamp begins with."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMED_ID = re.compile(r"mem-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z")
"""A record id that begins with its time in milliseconds, as `Clock.new_id` makes it."""
LAST = daytime(23, 59, 59, 999_000)
"""The last moment of a day that a stamp can tell."""


class Clock:
    """Reads the time in nanoseconds since 1970, and derives the rest from it."""

    def __init__(self, *, zone: str = "", now_ns: Callable[[], int] = time.time_ns) -> None:
        self.now_ns = now_ns
        self.zone = zone

    @property
    def is_the_systems(self) -> bool:
        """Whether other processes read the same time."""
        return self.now_ns is time.time_ns

    def now(self) -> datetime:
        return from_ns(self.now_ns())

    def stamp(self) -> str:
        return stamp(self.now())

    def today(self) -> date:
        return self.local_day(self.now())

    def local_day(self, moment: datetime) -> date:
        """The calendar day of `moment` where the user is."""
        return self.local(moment).date()

    def local(self, moment: datetime) -> datetime:
        """The same moment as clocks show it where the user is."""
        try:
            return moment.astimezone(zone_of(self.zone))
        except (OverflowError, ValueError):
            return moment  # At the edge of the calendar.

    @property
    def day_of(self) -> DayOf:
        """Tells the user's day of a stamp; of one that is not in UTC, the day that it says."""
        return utc_day if self._is_in_utc() else partial(_day_there, self.zone)

    def span(self, since: str, until: str) -> tuple[str, str]:
        """How the first and the last stamp of these days on the user's calendar begin.

        Nothing for no day, nor where they are days of UTC: then stamps begin with the days.
        """
        if self._is_in_utc():
            return "", ""
        first = since and _minute(start_of(date.fromisoformat(since), zone=self.zone))
        return first, until and _minute(end_of(date.fromisoformat(until), zone=self.zone))

    def named_day(self, text: str) -> str:
        """The user's day of a stamp as programs write it; any other text as it is."""
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return text
        return (self.local(moment) if moment.tzinfo else moment).date().isoformat()

    def _is_in_utc(self) -> bool:
        zone = zone_of(self.zone)
        return zone is UTC or (zone is None and not time.timezone and not time.daylight)

    def new_id(self, at_ns: int = 0) -> str:
        """A record id of now, or of that time: `mem-` and a uuid7, so that ids sort by time."""
        return "mem-" + uuid7(at_ns or self.now_ns())

    def new_message_id(self) -> str:
        """The id of a message: `msg-` and a uuid7."""
        return "msg-" + uuid7(self.now_ns())

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def monotonic() -> float:
    """Seconds on a clock that never goes back, for measuring how long something takes."""
    return time.monotonic()


def from_ns(nanoseconds: int) -> datetime:
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC)


def stamp(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds: `2026-11-15T14:30:00.000Z`."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="milliseconds")[:23] + "Z"


def stamp_in(record_id: str) -> str:
    """The time that a record's id tells, as `stamp` writes it; empty for any other id."""
    if not TIMED_ID.match(record_id):
        return ""
    milliseconds = int(record_id[4:12] + record_id[13:17], 16)
    try:
        return stamp(EPOCH + timedelta(milliseconds=milliseconds))
    except OverflowError:
        return ""


def parse_stamp(text: str) -> datetime:
    """Read any ISO 8601 time; one without an offset is taken as UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} lies beyond the calendar in UTC") from None


@cache
def zone_of(name: str) -> tzinfo | None:
    """The zone of that name; None, the machine's own, for the empty name."""
    if not name:
        return None
    if name.upper() == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def moment_of(day: date, clock_time: str, *, zone: str) -> datetime:
    """The moment whose UTC time is `HH:MM` and whose day in `zone` is `day`.

    Daily files are named by the local day while their lines show UTC, so the UTC date may be the
    day before or after.
    """
    hour, minute = map(int, clock_time.split(":"))
    candidates = [
        datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC) + timedelta(days=shift)
        for shift in (0, -1, 1)
    ]
    local = zone_of(zone)
    return next((c for c in candidates if c.astimezone(local).date() == day), candidates[0])


def start_of(day: date, *, zone: str) -> datetime:
    """The first moment of a day in a zone."""
    return _in_utc(datetime(day.year, day.month, day.day), zone)


def end_of(day: date, *, zone: str) -> datetime:
    """The last moment of a day in a zone; of two on the night the clocks go back, the later."""
    return _in_utc(datetime.combine(day, LAST.replace(fold=1)), zone)


def _in_utc(local: datetime, zone: str) -> datetime:
    try:
        return local.replace(tzinfo=zone_of(zone)).astimezone(UTC)
    except (OverflowError, ValueError):
        return local.replace(tzinfo=UTC)  # At the edge of the calendar.


def _minute(moment: datetime) -> str:
    return moment.isoformat()[:16]


def _day_there(zone: str, stamp: str) -> str:
    if not stamp.endswith("Z"):
        return stamp[:10]
    turn, before, after = _turn(stamp[:10], zone)
    return before if stamp < turn else after


@lru_cache(maxsize=4096)
def _turn(day: str, zone: str) -> tuple[str, str, str]:
    """When the day of a zone turns during a day of UTC, with the zone's days before and after.

    Once for all stamps of a day: there are many in a search, and few days.
    """
    try:
        before = parse_stamp(day).astimezone(zone_of(zone)).date()
        after = before + timedelta(days=1)
    except (OverflowError, ValueError):
        return "", day, day
    return _minute(start_of(after, zone=zone)), before.isoformat(), after.isoformat()


def uuid7(nanoseconds: int) -> str:
    """A version 7 UUID that sorts by time to a quarter of a microsecond.

    By hand: `uuid.uuid7` comes with Python 3.14, and importing uuid costs 8 ms.
    """
    milliseconds, rest = divmod(nanoseconds, 1_000_000)
    noise = int.from_bytes(os.urandom(8), "big") & (1 << 62) - 1
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | (rest << 12) // 1_000_000 << 64
    digits = f"{value | 0b10 << 62 | noise:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
