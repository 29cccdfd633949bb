"""Count the memories of a vault: all of them, those that fit, and what they can be sorted out by.

Every door that shows a number of memories takes it from here, so that all of them agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.memory import finding, session
from commonplace.model.records import PERSON, PROJECT
from commonplace.search.index import Query, Tally

if TYPE_CHECKING:
    from commonplace.memory import Memory


class Counts(Struct, frozen=True):
    """How many memories there are. A memory is a record that nothing has replaced."""

    memories: int
    """All of them, whatever is filtered by."""
    matching: int
    """Those that fit every filter."""
    replaced: int
    """Records that a newer one has replaced; they are not among the memories."""
    kinds: dict[str, int]
    tags: dict[str, int]
    people: dict[str, int]
    projects: dict[str, int]
    origins: dict[str, int]


def counts(memory: Memory, **filters: Any) -> Counts:
    """Count the memories, and of each filter what it could be set to, the most frequent first.

    What a filter offers is counted as if that filter were not set, but for tags: several of them
    may be asked for at once.
    """
    session.check_open(memory)
    memory.library.refresh()
    everything = session.narrowed(memory, Query(include_passages=False))
    query = finding.listing_query(memory, **filters)

    tallies = cache(memory.library.tallies)

    def told(names: Callable[[Tally], Iterable[str]], but: str = "") -> dict[str, int]:
        return _told(tallies(replace(query, **{but: ()}) if but else query), names)

    count = memory.library.count
    with_replaced = count(replace(everything, include_superseded=True))
    memories = count(everything)
    return Counts(
        memories,
        count(query),
        with_replaced - memories,
        told(lambda tally: (tally.kind,), "kinds"),
        told(plain_tags),
        told(people, "people"),
        told(projects, "projects"),
        told(lambda tally: (tally.origin,), "origins"),
    )


def _told(tallies: Iterable[Tally], names: Callable[[Tally], Iterable[str]]) -> dict[str, int]:
    """How many memories each name stands for, the most first."""
    found: Counter[str] = Counter()
    for tally in tallies:
        for name in dict.fromkeys(filter(None, names(tally))):
            found[name] += tally.number
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def people(tally: Tally) -> list[str]:
    """Whom records are by or about."""
    return [tally.username, *_after(PERSON, tally.tags)]


def projects(tally: Tally) -> list[str]:
    """What records belong to."""
    return [tally.group, *_after(PROJECT, tally.tags)]


def plain_tags(tally: Tally) -> list[str]:
    """The tags that name no person and no project."""
    return [tag for tag in tally.tags if not tag.startswith((PERSON, PROJECT))]


def _after(prefix: str, tags: Iterable[str]) -> list[str]:
    return [tag.removeprefix(prefix) for tag in tags if tag.startswith(prefix)]
