"""Keep the experiences: the records that were unlike all records before them.

A small note holds their vectors and ids, and none of their words. It can be made again.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library.library import Library
from commonplace.model.records import COMPACTION, PASSAGE, Hit, Record, Sensitivity
from commonplace.search.encoders import Encoder
from commonplace.search.index import Query
from commonplace.search.vectors.cosine import closest
from commonplace.storage.journal import Op
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes

NAME = "experiences.json"
RECENT = 2000
"""The newest records that are looked at in one go: more are no news."""
MOST = 5000
"""Experiences that are kept; beyond it the oldest go."""


class Experience(Struct, frozen=True):
    """The id of a record and its vector."""

    id: str
    vector: bytes
    norm: float


class Shelf(Struct, frozen=True):
    """What the note holds."""

    model: str = ""
    journal: str = ""
    """The journal in which `upto` is a position."""
    upto: int = 0
    """How far in the journal records have been looked at."""
    kept: tuple[Experience, ...] = ()


class Experiences:
    """The experiences of one vault."""

    def __init__(self, library: Library, notes: Notes, *, encoder: Encoder) -> None:
        self._library = library
        self._notes = notes
        self._encoder = encoder

    def are_there(self) -> bool:
        """Whether records were ever taken in."""
        return self._notes.has(NAME)

    def count(self) -> int:
        return len(self._load().kept)

    def records(self) -> list[Record]:
        """All of them, the oldest first; those that were compacted too."""
        ids = [each.id for each in self._load().kept]
        gone = {key: hit.record for key, hit in self._compacted(ids).items()}
        found = gone | self._library.index.get_all(ids)
        return [found[key] for key in ids if key in found]

    def take_in(self, *, threshold: float) -> list[Record]:
        """Look at what is new, and keep what is less alike to all that is kept. Returns those.

        The vault is locked only while the note is written.
        """
        self._library.refresh()
        shelf, end = self._load(), self._library.journal.end()
        fresh = _unlike(self._encoded(self._news(shelf)), shelf.kept, threshold)

        def work() -> list[Record]:
            # Somebody may have forgotten one of them meanwhile, or kept one like it.
            now = self._load()
            hits = {each.id: self._library.index.get(each.id) for each in fresh}
            there = [each for each in fresh if hits[each.id]]
            added = _unlike(there, now.kept, threshold) if now.kept != shelf.kept else there
            self._save(replace(now, upto=max(now.upto, end), kept=(*now.kept, *added)[-MOST:]))
            return [hit.record for each in added if (hit := hits[each.id])]

        return self._library.locked(work)

    def find(self, message: str, limit: int) -> list[Record]:
        """The experiences most like a message, the best first."""
        return [hit.record for hit in self.nearest(message, limit=limit)]

    def nearest(self, message: str, *, limit: int) -> list[Hit]:
        """The same with how alike each is, and where it stands."""
        self._library.refresh()
        kept = self._load().kept
        [(vector, norm)] = self._encoder.encode([message])
        rows = [(at, each.norm, each.vector) for at, each in enumerate(kept)]
        found: list[Hit] = []
        gone = self._compacted([each.id for each in kept])
        for score, at in closest(rows, vector=vector, norm=norm, limit=len(rows)):
            if len(found) == limit or score <= 0:
                break
            hit = self._library.index.get(kept[at].id) or gone.get(kept[at].id)
            if (
                hit
                and _may_be_shown(hit.record)
                and not self._library.index.replaced([hit.record.id])
            ):
                found.append(replace(hit, score=min(score, 1.0)))
        return found

    def _compacted(self, ids: Sequence[str]) -> dict[str, Hit]:
        """Those that became part of a summary, as they were, with where the summary stands."""
        there = self._library.index.get_all(ids)
        lost = {key for key in ids if key not in there}
        if not lost:
            return {}
        made = Query(kinds=(COMPACTION,), include_superseded=True, limit=1 << 30)
        summed = {
            key: hit
            for hit in self._library.index.search(made)
            for key in hit.record.sources
            if key in lost
        }
        gone = self._library.eraser.departed(lambda record: record.id in summed) if summed else {}
        return {key: Hit(each.record, summed[key].places, 0.0) for key, each in gone.items()}

    def forget(self, ids: Iterable[str]) -> int:
        """Erase the vectors of records, under the caller's lock. Returns how many there were."""
        if not self.are_there():
            return 0
        shelf, gone = self._load(), set(ids)
        kept = tuple(each for each in shelf.kept if each.id not in gone)
        if len(kept) < len(shelf.kept):
            self._save(replace(shelf, kept=kept))
        return len(shelf.kept) - len(kept)

    def _news(self, shelf: Shelf) -> list[Record]:
        """The records to look at, oldest first: those the journal tells of, at first all."""
        known = {each.id for each in shelf.kept}
        if shelf.upto:
            ids = self._journalled(shelf.upto)
            hits = [hit for key in ids if (hit := self._library.index.get(key))]
        else:
            hits = self._library.index.search(Query(include_passages=False, limit=RECENT))[::-1]
        return [
            hit.record
            for hit in hits[-RECENT:]
            if hit.record.id not in known and _may_be_shown(hit.record)
        ]

    def _journalled(self, since: int) -> list[str]:
        told = (
            key
            for entry in self._library.journal.entries(since=since)
            if entry.op != Op.HOLD
            for key in entry.ids
        )
        return list(dict.fromkeys(told))

    def _encoded(self, news: list[Record]) -> list[Experience]:
        vectors = self._encoder.encode([record.text for record in news])
        return [
            Experience(record.id, vector, norm)
            for record, (vector, norm) in zip(news, vectors, strict=True)
        ]

    def _load(self) -> Shelf:
        """The note; an empty shelf where it is missing, damaged or of another model or journal."""
        empty = Shelf(self._encoder.model, self._library.journal.mark())
        try:
            value: dict[str, Any] = parsed(self._notes.read(NAME) or b"")
            kept = tuple(
                Experience(key, b64decode(vector), float(norm))
                for key, vector, norm in value["kept"]
            )
            shelf = Shelf(value["model"], value["journal"], int(value["upto"]), kept)
        except (ValueError, KeyError, TypeError):
            return empty
        if shelf.model != empty.model:
            return empty
        return shelf if shelf.journal == empty.journal else replace(empty, kept=shelf.kept)

    def _save(self, shelf: Shelf) -> None:
        rows = [[each.id, b64encode(each.vector).decode(), each.norm] for each in shelf.kept]
        value = {
            "model": shelf.model,
            "journal": shelf.journal,
            "upto": shelf.upto,
            "kept": rows,
        }
        self._notes.write(NAME, json.dumps(value).encode(), durable=True)


def _unlike(
    news: Iterable[Experience], kept: Sequence[Experience], threshold: float
) -> list[Experience]:
    """Those that are less alike to all that is kept, and to those before them."""
    rows = [(at, each.norm, each.vector) for at, each in enumerate(kept)]
    fresh: list[Experience] = []
    for each in news:
        best = closest(rows, vector=each.vector, norm=each.norm, limit=1) if rows else []
        if each.norm and (not best or best[0][0] < threshold):
            rows.append((len(rows), each.norm, each.vector))
            fresh.append(each)
    return fresh


def _may_be_shown(record: Record) -> bool:
    shown = record.kind != PASSAGE and record.sensitivity != Sensitivity.SECRET
    return shown and not record.is_checkpoint
