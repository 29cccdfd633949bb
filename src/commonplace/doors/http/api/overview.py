"""Overviews for the page: status, context with its costs, explained search, days, sizes, map."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from operator import mul
from typing import Annotated, Any, Literal

from msgspec.structs import asdict, replace

from commonplace.context.budget import Context, ContextLine
from commonplace.context.tokens import estimate
from commonplace.doors.http.api.records import shown_hit
from commonplace.doors.http.routes import IN_AN_ADDRESS, Limit, route
from commonplace.memory import Memory
from commonplace.memory.finding import Gathered
from commonplace.model.records import Hit, Origin, Record
from commonplace.search.reasons import label
from commonplace.tools.tool import Argument

ON_THE_MAP = 1500
"""Most points that are drawn: more cannot be told apart."""
SAMPLE, ROUNDS = 300, 12
Point = tuple[float, float]


@route("GET", "/status", scope="read")
def status(memory: Memory) -> Any:
    """Show what the vault holds, and whether anything is wrong."""
    told = {**memory.status(), "text_limit": memory.options.text_limit}
    if memory.origin != Origin.OWNER:
        told["troubles"] = [each for each in told["troubles"] if not _names_hidden(memory, each)]
    return told


def _names_hidden(memory: Memory, sentence: str) -> bool:
    """Whether a sentence names a document that this reader may not see."""
    names = memory.library.listing().documents
    return any(name in sentence for name in names if not memory.serves(name))


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


def _is_seen(memory: Memory, line: ContextLine) -> bool:
    is_owner = memory.origin == Origin.OWNER
    return is_owner or not line.document or memory.serves(line.document)


def _shown_line(line: ContextLine) -> dict[str, Any]:
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
    all_about: Annotated[bool, Argument("everything about it, in groups, with its count")] = False,
    limit: Limit = 20,
) -> Any:
    """Search, with how each hit was found and what was said around it."""
    if all_about:
        return _gathered(memory.all_about(text, within=within, limit=limit, explain=True))
    found = memory.search(text, within=within, limit=limit, explain=True)
    return {
        "mode": found.mode,
        "degraded": found.degraded,
        "readings": found.readings,
        "weak": found.is_weak,
        "hits": [_explained(hit) for hit in found],
        "nearest": [_explained(hit) for hit in found.nearest],
    }


def _gathered(gathered: Gathered) -> dict[str, Any]:
    return {
        "mode": gathered.found.mode,
        "degraded": gathered.found.degraded,
        "readings": gathered.found.readings,
        "weak": gathered.found.is_weak,
        "hits": [_explained(hit) | {"group": name} for name, hit in gathered.in_order()],
        "nearest": [_explained(hit) for hit in gathered.found.nearest],
        "count": gathered.count,
        "more": gathered.more,
        "groups": {name: len(hits) for name, hits in gathered.groups.items()},
    }


def _explained(hit: Hit) -> dict[str, Any]:
    return {
        **shown_hit(hit),
        "weak": hit.is_weak,
        "reasons": list(hit.reasons),
        "explain": {label(signal): round(part, 4) for signal, part in hit.why},
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
    for model, _, id, _, _, vector, *_ in memory.parts.index.dump_vectors():
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


def projected(vectors: Sequence[bytes]) -> list[Point]:
    """A point in the unit square for each vector of signed bytes.

    The axes are the two directions in which a sample of the vectors differs most, found by power
    iteration in plain Python: a fraction of a second for any number of vectors.
    """
    if not vectors:
        return []
    rows = [memoryview(vector).cast("b").tolist() for vector in vectors]
    step = max(1, len(rows) // SAMPLE)
    sample = rows[::step]
    centre = [sum(column) / len(sample) for column in zip(*sample)]
    middle = [[value - mean for value, mean in zip(row, centre)] for row in sample]
    first = _direction(middle, ())
    second = _direction(middle, (first,))
    return list(zip(_scaled(rows, first), _scaled(rows, second)))


def _direction(rows: list[list[float]], others: Sequence[list[float]]) -> list[float]:
    """The direction of the greatest spread, at right angles to the others."""
    found = [1.0 + (at * 7919 % 13) / 13 for at in range(len(rows[0]))]
    for _ in range(ROUNDS):
        dots = [_dot(row, found) for row in rows]
        found = [sum(map(mul, dots, column)) for column in zip(*rows)]
        for other in others:
            share = _dot(found, other)
            found = [value - share * along for value, along in zip(found, other)]
        length = sqrt(_dot(found, found)) or 1.0
        found = [value / length for value in found]
    return found


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return float(sum(map(mul, first, second)))


def _scaled(rows: list[list[int]], direction: list[float]) -> list[float]:
    places = [_dot(row, direction) for row in rows]
    low, high = min(places), max(places)
    return [round((place - low) / ((high - low) or 1.0), 4) for place in places]
