"""How long a memory holds: the days that people name, as they are written down."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.model import limits
from commonplace.model.clock import Clock, parse_stamp
from commonplace.model.errors import BadValue
from commonplace.model.lazy import Lazy
from commonplace.model.records import Record

if TYPE_CHECKING:
    from commonplace.search import times_ahead
else:
    times_ahead = Lazy("search.times_ahead")


def spelled_out(given: dict[str, Any], clock: Clock) -> dict[str, Any]:
    """The arguments of a memory with its times as stamps: a last day counts to its end."""
    if not given.get("valid_from") and not given.get("valid_to"):
        return given
    begins = from_time(given.get("valid_from") or "", clock)
    ends = to_time(given.get("valid_to") or "", clock, since=begins)
    if begins and ends and parse_stamp(ends) < parse_stamp(begins):
        raise BadValue(
            "valid_to", "it ends before it begins", next_step="Name a later end, or none."
        )
    return given | {"valid_from": begins, "valid_to": ends}


def redated(record: Record, valid_from: str, valid_to: str, clock: Clock) -> Record:
    """The record with the days that are given. An empty one stays as it is."""
    if not valid_from and not valid_to:
        return record
    given = {
        "valid_from": valid_from or record.valid_from,
        "valid_to": valid_to or record.valid_to,
    }
    return replace(record, **spelled_out(given, clock))


def from_time(text: str, clock: Clock) -> str:
    """The moment from which something holds; empty where nothing, or `never`, is said."""
    if _is_words(text):
        text = "" if text == times_ahead.NEVER else times_ahead.first_of(text, clock.today())
    return limits.check_time(text, "valid_from", zone=clock.zone)


def to_time(text: str, clock: Clock, *, since: str = "") -> str:
    """The last moment at which something holds; empty where nothing, or `never`, is said.

    How long it holds counts from `since`, where that is named.
    """
    if _is_words(text):
        counted = since and text.strip()[:1].isdecimal()
        today = date.fromisoformat(clock.day_of(since)) if counted else clock.today()
        text = "" if text == times_ahead.NEVER else times_ahead.last_of(text, today)
    return limits.check_time(text, "valid_to", zone=clock.zone, last=True)


def as_of_day(text: str, clock: Clock) -> str:
    """The day whose memory is asked for."""
    limits.check_type(text, str, "as_of")
    day = clock.named_day(text)
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        from commonplace.search.time_phrases import last_day

        try:
            return last_day(day, clock.today())
        except BadValue as error:
            raise BadValue(
                "as_of", f"{text!r} is no day that is understood", next_step=error.next_step
            ) from None


def _is_words(text: Any) -> bool:
    """Whether a time is told in words, and not as ISO 8601."""
    if not isinstance(text, str) or not text:
        return False
    try:
        parse_stamp(text)
    except ValueError:
        return True
    return False
