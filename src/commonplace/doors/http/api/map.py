"""The map over HTTP: the newest memories as points, by what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from commonplace.doors.http.plane import plane_of
from commonplace.doors.http.routes import route
from commonplace.memory import Memory
from commonplace.model.records import Record
from commonplace.search.words import ALL_FOREIGN_STOPS, words_of

ON_THE_MAP = 1500
"""Most points that are drawn: more cannot be told apart."""
SHOWN = 160
"""Characters of a memory that a point brings along."""


@route("GET", "/map", scope="read", long=True)
def show_map(memory: Memory) -> Any:
    """The newest memories as points of a plane, where what is alike lies close together.

    `waiting` counts those that have no vector yet: they get it in the background.
    """
    # A question gives vectors to those that have none, for a moment.
    memory.search("map", limit=1)
    every = memory.search("", include_superseded=True, include_passages=False, limit=1 << 30)
    records = {hit.record.id: hit.record for hit in every[:ON_THE_MAP]}
    vectors = _vectors(memory, records)
    placed = [records[id] for id in vectors]
    plane = plane_of([*vectors.values()], [*map(_telling, placed)])
    replaced = memory.library.chains.replaced(vectors)
    return {
        "count": len(every),
        "waiting": len(records) - len(placed),
        "points": [
            _point(record, place, memory.clock.day_of(record.timestamp), record.id in replaced)
            for record, place in zip(placed, plane.points)
        ],
        "groups": [
            {
                "x": each.x,
                "y": each.y,
                "radius": each.radius,
                "label": each.label,
                "ids": [placed[at].id for at in each.members],
            }
            for each in plane.islands
        ],
        "replaced": [[old, new] for old, new in _links(placed) if old in vectors],
    }


def _vectors(memory: Memory, records: Mapping[str, Record]) -> dict[str, bytes]:
    """The vectors of records by the model that most of them have one of, oldest record first."""
    kept: dict[str, dict[str, bytes]] = {}
    for model, _, id, _, _, vector, *_ in memory.parts.index.dump_vectors():
        if id in records:
            kept.setdefault(model, {})[id] = vector
    return dict(sorted(max(kept.values(), key=len, default={}).items()))


def _point(record: Record, place: tuple[float, float], day: str, replaced: bool) -> dict[str, Any]:
    return {
        "id": record.id,
        "x": place[0],
        "y": place[1],
        "kind": record.kind,
        "text": record.text[:SHOWN],
        "tags": list(record.tags),
        "day": day,
        "replaced": replaced,
    }


def _telling(record: Record) -> list[str]:
    """The words of a memory, and its tags, that may name the group it is in."""
    words = (word for word in words_of(record.text) if word not in ALL_FOREIGN_STOPS)
    return [*record.tags, *(word for word in words if len(word) > 2 and not word[0].isdigit())]


def _links(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Each record that was replaced, with the one that replaced it."""
    there = {record.id for record in records}
    for record in records:
        if record.supersedes:
            yield record.supersedes, record.id
        elif record.replaced_by in there:
            yield record.id, record.replaced_by
