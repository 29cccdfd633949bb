"""What records rest on: cite a file or a document, renew it, drop it, and say what went stale."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.library import revising
from commonplace.library.citations import SINKS, Citations, CitationStanding, Freshness
from commonplace.library.revising import Revised
from commonplace.model import citations
from commonplace.model.errors import BadValue
from commonplace.model.records import Hit, Record, SearchResult
from commonplace.trust import permission

if TYPE_CHECKING:
    from commonplace.memory import Memory


def citations_of(memory: Memory) -> Citations:
    """What makes and checks citations for a vault."""
    from commonplace.storage.trusted import trusted

    parts = memory.parts
    root = parts.root if parts.database is None else ""
    return Citations(
        memory.library,
        root=root,
        own=parts.own,
        trusted=lambda: bool(root) and trusted(root) is not None,
    )


def made(memory: Memory, evidence: Sequence[str]) -> tuple[str, ...]:
    """The citations of what somebody names, as records carry them."""
    if isinstance(evidence, str) or not isinstance(evidence, Sequence):
        raise BadValue("evidence", f"{evidence!r} is no list", next_step='Send ["src/app.py:12"].')
    if len(evidence) > citations.MOST:
        said = f"{len(evidence)} of them, and at most {citations.MOST} are kept"
        raise BadValue("evidence", said, next_step="Keep those that tell most.")
    base = "" if memory.bounded else os.getcwd()
    cited = [
        memory.citations.cited(each, base=base, outside=not memory.bounded) for each in evidence
    ]
    memory.citations.keep()
    return tuple(dict.fromkeys(map(citations.written, cited)))


def cite(memory: Memory, record_id: str, evidence: Sequence[str]) -> Revised:
    """Let a record rest on further files or documents; of one that it rests on, anew."""
    new = made(memory, evidence)
    places = {_place(each) for each in new}

    def change(record: Record) -> Record:
        kept = [each for each in record.citations if _place(each) not in places]
        return replace(record, citations=(*kept, *new)[-citations.MOST :])

    return _changed(memory, record_id, change)


def renew(memory: Memory, record_id: str, places: Sequence[str] = ()) -> Revised:
    """Cite the same lines as they are now, at these places or at all. What is fresh stays."""
    record = memory.get(record_id).record
    _check_rests_on(record, places)
    fresh = {
        each: _renewed(memory, each)
        for each in record.citations
        if (not places or _place(each) in places)
        and memory.citations.standing(each).state != Freshness.FRESH
    }
    memory.citations.keep()

    def change(record: Record) -> Record:
        now = (fresh.get(each, each) for each in record.citations)
        return replace(record, citations=tuple(dict.fromkeys(now)))

    return _changed(memory, record.id, change)


def _renewed(memory: Memory, text: str) -> str:
    return citations.written(memory.citations.renewed(text, outside=not memory.bounded))


def drop(memory: Memory, record_id: str, places: Sequence[str] = ()) -> Revised:
    """Let a record rest on these places no longer; without any, on none."""
    _check_rests_on(memory.get(record_id).record, places)

    def change(record: Record) -> Record:
        kept = (each for each in record.citations if places and _place(each) not in places)
        return replace(record, citations=tuple(kept))

    return _changed(memory, record_id, change)


def _check_rests_on(record: Record, places: Sequence[str]) -> None:
    unknown = set(places) - {_place(each) for each in record.citations}
    if unknown:
        raise BadValue(
            "evidence",
            f"it does not rest on {min(unknown)!r}",
            next_step="'commonplace cite ID' lists what it rests on.",
        )


def standings(memory: Memory, record: Record) -> list[CitationStanding]:
    """What a record cites, each with what has become of it."""
    found = [memory.citations.standing(each) for each in record.citations]
    memory.citations.keep()
    return found


def stale(memory: Memory, records: Iterable[Record]) -> dict[str, str]:
    """What is to be said of records that rest on something stale, by their ids."""
    told: dict[str, str] = {}
    for record in records:
        found = map(memory.citations.standing, record.citations)
        if said := next((each.sentence() for each in found if each.is_stale), ""):
            told[record.id] = said
    memory.citations.keep()
    return told


def sunk(memory: Memory, found: SearchResult, *, by_score: bool) -> None:
    """Say of hits what they rest on that went stale, and let those sink a little."""
    told = stale(memory, (hit.record for hit in found if hit.record.citations))
    if told:
        found[:] = [_told(hit, told.get(hit.record.id, "")) for hit in found]
        if by_score:
            found.sort(key=lambda hit: hit.score, reverse=True)


def _told(hit: Hit, said: str) -> Hit:
    return replace(hit, stale=said, score=hit.score * SINKS) if said else hit


def _place(text: str) -> str:
    citation = citations.read(text)
    return citation.place if citation else text


def _changed(memory: Memory, record_id: str, change: revising.Change) -> Revised:
    permission.check_cites(memory.author.origin)
    key = permission.check_record(memory.get(record_id)).id
    return revising.revise(memory.library, {key: change}, author=memory.author)
