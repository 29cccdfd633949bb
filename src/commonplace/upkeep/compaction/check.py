"""Check that a compaction did what it may, and nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from commonplace.library.library import Library
from commonplace.library.record_reader import decoded
from commonplace.markdown.documents import Parsed
from commonplace.model.records import PASSAGE
from commonplace.search.index import Query
from commonplace.upkeep.compaction.plan import CompactionPlan, must_stay


class Unwell(Exception):
    """The result of a compaction is not the planned one."""


class DocumentSnapshot:
    """The main document as it was read, without keeping anyone from writing on."""

    def __init__(self, name: str, data: bytes, position: int, parsed: Parsed) -> None:
        self.name = name
        self.data = data
        self.position = position
        """Where the journal ended then."""
        self.text = decoded(name, data)
        self.parsed = parsed
        self.items = [item for item in parsed.items if item.record.kind != PASSAGE]
        self.records = [item.record for item in self.items]


def check_result(
    library: Library,
    made: CompactionPlan,
    before: DocumentSnapshot,
    after: DocumentSnapshot,
    *,
    limit: str,
) -> None:
    """Fail with `Unwell` unless the document lost what was planned, and only that."""
    leaving, there = set(made.leaving), {record.id: record for record in after.records}
    for record in before.records:
        stays = must_stay(record, before=limit) and not record.is_checkpoint
        if record.id in leaving and stays:
            raise Unwell(f"{record.id} should have stayed.")
        if record.id not in leaving and there.get(record.id) != record:
            raise Unwell(f"{record.id} is not there any more.")
    fresh = there.keys() - {record.id for record in before.records}
    if leaving & there.keys() or len(there) > len(before.records) + len(fresh):
        raise Unwell("There are not fewer records than before.")
    if [summary.id for summary in made.summaries if library.hit_of(summary.id) is None]:
        raise Unwell("A summary cannot be found.")
    if wrong := _problems(after) - _problems(before):
        raise Unwell(f"The document has a new problem: {min(wrong)}.")
    _check_index(library, after)


def _problems(snapshot: DocumentSnapshot) -> set[str]:
    return {problem.what for problem in snapshot.parsed.problems}


def _check_index(library: Library, after: DocumentSnapshot) -> None:
    library.refresh()
    if library.stat(after.name) is None:
        return  # There are logs alone.
    if library.read(after.name) != after.data:
        return  # Somebody wrote meanwhile: what the index holds is newer than what was read.
    everything = Query(
        documents=(after.name,),
        include_superseded=True,
        include_secret=True,
        include_passages=False,
    )
    indexed, written = library.count(everything), len({r.id for r in after.records})
    if indexed != written:
        raise Unwell(f"The index holds {indexed:,} of {written:,} records.")


def finding_key(finding: Any) -> tuple[str, tuple[str, ...]]:
    """The key by which findings of two scans are compared."""
    return finding.kind, finding.ids


def check_findings(
    library: Library,
    found: set[tuple[str, tuple[str, ...]]],
    findings: Iterable[Any],
    *,
    since: str,
) -> None:
    """Fail with `Unwell` if a scan finds what it did not find before."""
    told: dict[tuple[str, str], list[frozenset[str]]] = defaultdict(list)
    for kind, ids in found:
        group = frozenset(ids)  # One for all of them: a session may have thousands.
        for key in ids if len(ids) > 1 else ():
            told[kind, key].append(group)
    for kind, ids in map(finding_key, findings):
        # Of a group of which some left, the rest is nothing new.
        before = told.get((kind, ids[0]), ()) if ids else ()
        if (kind, ids) in found or any(group.issuperset(ids) for group in before):
            continue
        if not _stored_since(library, ids, since):
            raise Unwell(f"The scan finds something new: {kind} {', '.join(ids[:3])}.")


def _stored_since(library: Library, ids: Iterable[str], since: str) -> bool:
    """Whether one of these is a record that somebody stored since, which is not our doing."""
    hits = (library.hit_of(key) for key in ids)
    return any(hit and hit.record.timestamp >= since for hit in hits)
