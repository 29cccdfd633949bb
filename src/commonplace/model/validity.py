"""Validity: whether the time that a record names for itself has come, and is not over.

A day, as people write it, counts whole, on the user's calendar. It does not know what becomes of a
record that does not hold.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta

from msgspec import Struct

from commonplace.model.clock import Clock, DayOf, parse_stamp
from commonplace.model.records import Record


class Now(Struct, frozen=True):
    """A moment, with its day on the user's calendar and what tells the day of another."""

    moment: datetime
    day: date
    day_of: DayOf


def now_of(clock: Clock, moment: datetime | None = None) -> Now:
    """That moment, or this one."""
    moment = moment or clock.now()
    return Now(moment, clock.local_day(moment), clock.day_of)


def is_over(record: Record, now: Now) -> bool:
    return _order(record.valid_to, now) < 0


def is_to_come(record: Record, now: Now) -> bool:
    return _order(record.valid_from, now) > 0


def _order(time: str, now: Now) -> int:
    """Less than 0 for what is before now, more for what is after; 0 too for what is no time."""
    if not time:
        return 0
    try:
        if len(time) == len("2026-11-15"):
            return (date.fromisoformat(time) - now.day).days
        return int((parse_stamp(time) - now.moment) / timedelta(milliseconds=1))
    except ValueError:
        return 0  # A person's line may say no time that can be read.
