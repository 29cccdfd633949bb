"""Days over HTTP: what each day brought, one day to read, and how the memory grew."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Annotated, Any

from commonplace.context.tokens import estimate
from commonplace.doors.http.api.history import titled
from commonplace.doors.http.api.records import shown_hit
from commonplace.doors.http.routes import Limit, route
from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from commonplace.model.records import Hit
from commonplace.tools.tool import Argument


@route("GET", "/days", scope="read", long=True)
def list_days(memory: Memory) -> Any:
    """How many records each day brought, and the diary entries and daily logs that there are."""
    day_of = memory.clock.day_of
    counts = Counter(day_of(hit.record.timestamp) for hit in _all(memory))
    ordered = dict(sorted(counts.items()))
    return {"counts": ordered, "daily": _daily(memory), "diary": _diary(memory)}


@route("GET", "/days/{day}", scope="read", long=True)
def show_day(
    memory: Memory,
    day: Annotated[str, Argument("such as 2026-05-31", max_length=10)],
    limit: Limit = 200,
) -> Any:
    """What one day brought: its records, log, diary entries and conversations."""
    wanted = _checked(day)
    hits = sorted(_all(memory, since=wanted, until=wanted), key=lambda hit: hit.record.timestamp)
    day_of = memory.clock.day_of
    shown = hits[:limit]
    replaced = memory.library.chains.replaced(hit.record.id for hit in shown)
    diary = {name: time for name, time in _diary(memory).items() if time.startswith(wanted)}
    return {
        "day": wanted,
        "records": [shown_hit(hit) | {"replaced": hit.record.id in replaced} for hit in shown],
        "count": len(hits),
        "daily": [name for name, each in _daily(memory).items() if each == wanted],
        "diary": diary,
        "conversations": titled(
            memory,
            [
                each
                for each in memory.messages.sessions()
                if day_of(each.first) <= wanted <= day_of(each.last)
            ],
        ),
    }


def _checked(day: str) -> str:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        raise BadValue("day", f"{day!r} is no day", next_step="Use YYYY-MM-DD.") from None


def _daily(memory: Memory) -> dict[str, str]:
    """The daily logs with their days."""
    days = ((name, memory.layout.day_of(name)) for name in memory.documents())
    return {name: str(day) for name, day in days if day}


def _diary(memory: Memory) -> dict[str, str]:
    """The diary entries with their times, as the user's clock showed them."""
    times = ((name, memory.layout.diary_time(name)) for name in memory.documents())
    return {name: str(memory.clock.local(time)) for name, time in times if time}


@route("GET", "/sizes", scope="read", long=True)
def list_sizes(memory: Memory) -> Any:
    """How the memory grew: records, characters and tokens by the end of each day."""
    totals, day_of = [0, 0, 0], memory.clock.day_of
    days: dict[str, tuple[int, ...]] = {}
    records = (hit.record for hit in _all(memory))
    for record in sorted(records, key=lambda record: record.timestamp):
        for at, more in enumerate((1, len(record.text), estimate(record.text))):
            totals[at] += more
        # What does not say when it came was there before the first that does.
        if record.timestamp:
            days[day_of(record.timestamp)] = tuple(totals)
    names = ("records", "characters", "tokens")
    return {"days": [{"day": day, **dict(zip(names, sums))} for day, sums in days.items()]}


def _all(memory: Memory, **bounds: str) -> list[Hit]:
    """Every record, replaced ones too, of some days or of all."""
    return memory.search(
        "", include_superseded=True, include_passages=False, limit=1 << 30, **bounds
    )
