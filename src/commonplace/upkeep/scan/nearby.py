"""Looks for records that say nearly the same as a new one, or something that disagrees with it."""

from __future__ import annotations

from msgspec import Struct

from commonplace.library.library import Library
from commonplace.model.records import LASTING, Record, is_over, now_of
from commonplace.search.index import Query
from commonplace.upkeep.scan import contradictions, duplicates

LOOKED_AT = 20
"""The records with the most words in common that a new one is compared with."""


class Nearby(Struct, frozen=True):
    """The ids of records beside which a new one stands."""

    alike: tuple[str, ...] = ()
    disagreeing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What to do about them, in words; empty without any."""
        told = [f"{key} says nearly the same: {_way(key)}" for key in self.alike]
        told += [f"{key} says something else of it: {_way(key)}" for key in self.disagreeing]
        return " ".join(told)


def _way(key: str) -> str:
    return f"if this replaces it, store it again with supersedes {key}."


def nearby(library: Library, record: Record) -> Nearby:
    """What stands beside a record that was just stored."""
    if record.kind not in LASTING:
        return Nearby()
    library.refresh()
    query = Query(record.text, kinds=tuple(sorted(LASTING)), limit=LOOKED_AT)
    now = now_of(library.clock)
    others = {
        hit.record.id: hit.record
        for hit in library.index.search(query)
        if hit.record.id not in (record.id, record.supersedes)
        and hit.record.username == record.username
        and not is_over(hit.record, now)
    }
    differing = tuple(key for key, other in others.items() if _disagree(record, other))
    groups = (duplicates.alike({"": record.text, key: it.text}) for key, it in others.items())
    alike = [key for key, found in zip(others, groups) if found and key not in differing]
    return Nearby(tuple(alike), differing)


def _disagree(one: Record, other: Record) -> bool:
    theirs = {saying.key: saying for saying in contradictions.sayings(other.text)}
    return any(
        ours.key in theirs and contradictions.disagree(ours, theirs[ours.key])
        for ours in contradictions.sayings(one.text)
    )
