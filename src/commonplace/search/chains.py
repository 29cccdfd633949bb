"""Chains of records that replace each other, read from the index.

A record names the one it supersedes. When it leaves the documents, the older record is marked in
its own line: `replaced_by` names the one that is gone. So an older memory comes back only when
somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from commonplace.model.errors import Conflict
from commonplace.model.records import Record
from commonplace.search.index import Index

Marks = dict[str, str]
"""What becomes of `replaced_by`, by the id of the record."""


class ChainLoss(Struct, frozen=True):
    """What the loss of some records means for those that they had replaced."""

    marks: Marks
    returning: tuple[str, ...]
    """The ids of older records that nothing would replace any more without those marks."""


class Chains(Struct, frozen=True):
    """The chains of one vault."""

    index: Index

    def replaced(self, record_ids: Iterable[str]) -> set[str]:
        """Those of the ids that another record has replaced."""
        return set(self.index.replaced(record_ids))

    def older(self, record: Record) -> list[Record]:
        """The records right below this one in its chain."""
        below = self.index.get(record.supersedes) if record.supersedes else None
        names = [record.id] if below else [record.id, record.supersedes]
        found = {each.id: each for each in self.index.marked(names)}
        if below:
            found[below.record.id] = below.record
        found.pop(record.id, None)
        return list(found.values())

    def newer(self, record: Record) -> tuple[str, ...]:
        """The ids of the records right above this one in its chain that are there."""
        found = self.index.children(record.id)
        if not record.replaced_by:
            return found
        there = (record.replaced_by,) if self.index.get(record.replaced_by) else ()
        return tuple(
            sorted({*found, *(there or self.index.children(record.replaced_by))} - {record.id})
        )

    def successors(self, record: Record) -> tuple[str, ...]:
        """The same, or the id of the lost one that replaced it."""
        return self.newer(record) or tuple(filter(None, (record.replaced_by,)))

    def check_unreplaced(self, record: Record) -> None:
        """Fail when what a record is to replace was replaced by another that is there."""
        old = self.index.get(record.supersedes) if record.supersedes else None
        taken = self.newer(old.record) if old else ()
        if taken:
            raise Conflict(
                f"{record.supersedes} was replaced already, by {taken[0]}.",
                next_step=f"Read {taken[0]}; if it is wrong too, supersede {taken[0]}.",
            )

    def loss(self, leaving: Sequence[Record]) -> ChainLoss:
        """What must be marked when these records leave the documents."""
        below = {record.id: self.older(record) for record in leaving}
        inner = {each.id for found in below.values() for each in found}
        marks: Marks = {}
        returning: list[str] = []
        for record in leaving:
            if record.id in inner:
                continue
            left = {each.id: each for each in _staying(record.id, below)}
            # Where that was marked itself, the one that it names holds the chain together.
            marks |= dict.fromkeys(left, record.replaced_by or record.id)
            if not record.replaced_by and set(self.index.children(record.id)) <= below.keys():
                returning += [key for key in left if set(self.index.children(key)) <= below.keys()]
        return ChainLoss(marks, tuple(dict.fromkeys(returning)))

    def undone(self, leaving: Sequence[Record]) -> Marks:
        """The marks once these records never were: what is above them takes their place."""
        gone = {record.id for record in leaving}
        marks: Marks = {}
        for record in leaving:
            heirs = [key for key in self.newer(record) if key not in gone]
            for old in self.older(record):
                if old.id not in gone and (heirs or old.replaced_by in gone):
                    marks[old.id] = heirs[0] if heirs else ""
        return marks


def _staying(key: str, below: Mapping[str, Sequence[Record]]) -> Iterator[Record]:
    """The first records down a chain that do not leave."""
    seen, waiting = {key}, list(below[key])
    while waiting:
        record = waiting.pop()
        if record.id in seen:
            continue
        seen.add(record.id)
        if record.id in below:
            waiting += below[record.id]
        else:
            yield record
