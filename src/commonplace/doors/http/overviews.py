"""What the page's places show: the context with its costs, a search explained, days, sizes, a map.

They call the memory and answer plain data, as `api` does; they do not know HTTP.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Any, Literal

from msgspec.structs import asdict, replace

from commonplace.context.budget import Context, Line
from commonplace.context.tokens import estimate
from commonplace.doors.http.api import IN_AN_ADDRESS, Limit, shown_hit
from commonplace.doors.http.projection import projected
from commonplace.doors.http.routes import route
from commonplace.memory import Memory
from commonplace.model.records import Hit, Origin, Record
from commonplace.tools.tool import Argument

ON_THE_MAP = 1500
"""Most points that are drawn: more cannot be told apart."""


@route("GET", "/context", scope="read")
def show_context(
    memory: Memory,
    message: Annotated[str, Argument("the message it is for", max_length=IN_AN_ADDRESS)] = "",
    agent: Annotated[
        Literal["session", "conversation", "heartbeat"], Argument("whose context")
    ] = "session",
) -> Any:
    """What an agent is given, line by line, with what it costs and what was left out."""
    context = _seen(memory, memory.context(message, agent=agent))
    return {
        "text": context.text,
        "characters": context.characters,
        "tokens": context.tokens,
        "not_shown": context.not_shown,
        "sections": _sections(context),
        "lines": [_shown_line(line) for line in context.lines],
        "left_out": [_shown_line(line) for line in context.left_out],
    }


def _seen(memory: Memory, context: Context) -> Context:
    """The context without what stands in documents that this reader may not see; owners see all."""
    lines = [line for line in context.lines if _is_seen(memory, line)]
    if len(lines) == len(context.lines):
        return context
    left_out = tuple(line for line in context.left_out if _is_seen(memory, line))
    text = "\n".join(line.text for line in lines)
    seen = {"text": text, "characters": len(text), "lines": tuple(lines), "left_out": left_out}
    return replace(context, **seen)


def _is_seen(memory: Memory, line: Line) -> bool:
    is_owner = memory.origin == Origin.OWNER
    return is_owner or not line.document or memory.serves(line.document)


def _shown_line(line: Line) -> dict[str, Any]:
    told = {name: value for name, value in asdict(line).items() if name != "count"}
    return told | {"tokens": line.tokens}


def _sections(context: Context) -> list[dict[str, Any]]:
    counts = Counter(line.section for line in context.lines)
    tokens: Counter[str] = Counter()
    for line in context.lines:
        tokens[line.section] += line.tokens
    return [{"name": name, "lines": counts[name], "tokens": tokens[name]} for name in counts]


@route("GET", "/search", scope="read")
def search(
    memory: Memory,
    text: Annotated[str, Argument("what to look for", max_length=IN_AN_ADDRESS)] = "",
    within: Annotated[
        Literal["memory", "history", "all"],
        Argument("in the memory, in what was said in conversations, or in both"),
    ] = "memory",
    limit: Limit = 20,
) -> Any:
    """What fits best, how it was found, what each signal gave and what was said around it."""
    found = memory.search(text, within=within, limit=limit, explain=True)
    return {
        "mode": found.mode,
        "degraded": found.degraded,
        "hits": [_explained(hit) for hit in found],
    }


def _explained(hit: Hit) -> dict[str, Any]:
    return {
        **shown_hit(hit),
        "explain": {signal: round(part, 4) for signal, part in hit.why},
        "around": [asdict(each) for each in hit.beside],
    }


@route("GET", "/days", scope="read", long=True)
def list_days(memory: Memory) -> Any:
    """How many records each day brought, and the diary entries and daily logs that there are."""
    day_of = memory.clock.day_of
    memory.library.refresh()
    names = memory.documents()
    daily = {name: str(day) for name in names if (day := memory.layout.day_of(name))}
    times = ((name, memory.layout.diary_time(name)) for name in names)
    diary = {name: str(memory.clock.local(time)) for name, time in times if time}
    counts = Counter(
        day_of(hit.record.timestamp)
        for hit in memory.search("", include_superseded=True, include_passages=False, limit=1 << 30)
    )
    return {"counts": dict(sorted(counts.items())), "daily": daily, "diary": diary}


@route("GET", "/sizes", scope="read", long=True)
def list_sizes(memory: Memory) -> Any:
    """How the memory grew: records, characters and tokens by the end of each day."""
    totals, day_of = [0, 0, 0], memory.clock.day_of
    days: dict[str, tuple[int, ...]] = {}
    for record in sorted(_all_records(memory), key=lambda record: record.timestamp):
        for at, more in enumerate((1, len(record.text), estimate(record.text))):
            totals[at] += more
        # What does not say when it came was there before the first that does.
        if record.timestamp:
            days[day_of(record.timestamp)] = tuple(totals)
    names = ("records", "characters", "tokens")
    return {"days": [{"day": day, **dict(zip(names, sums))} for day, sums in days.items()]}


def _all_records(memory: Memory) -> list[Record]:
    found = memory.search("", include_superseded=True, include_passages=False, limit=1 << 30)
    return [hit.record for hit in found]


@route("GET", "/map", scope="read", long=True)
def show_map(memory: Memory) -> Any:
    """The newest memories as points of a plane, where what is alike lies close together."""
    memory.search("map", limit=1)
    records = {hit.record.id: hit.record for hit in memory.search("", limit=ON_THE_MAP)}
    kept: dict[str, dict[str, bytes]] = {}
    for model, _, id, _, _, vector, *_ in memory.library.index.dump_vectors():
        if id in records:
            kept.setdefault(model, {})[id] = vector
    model, vectors = max(kept.items(), key=lambda each: len(each[1]), default=("none", {}))
    places = zip(vectors, projected(list(vectors.values())))
    return {
        "mode": model,
        "points": [
            {"id": id, "x": x, "y": y, "kind": records[id].kind, "text": records[id].text[:200]}
            for id, (x, y) in places
        ],
    }
