"""Upkeep over HTTP: findings and their fixes, compaction, the schedule."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec.structs import asdict

from commonplace.doors.http.api.records import may_see, shown_hits
from commonplace.doors.http.routes import Limit, Offset, route
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, Conflict
from commonplace.model.files import digest
from commonplace.model.limits import MOST_LISTED
from commonplace.model.records import Hit
from commonplace.tools.tool import Argument
from commonplace.upkeep.compaction.plan import described, reports
from commonplace.upkeep.jobs import COMPACT_NOW, PLAN_COMPACTION
from commonplace.upkeep.scan import Finding
from commonplace.upkeep.scan.decisions import OLD, Marked, mark_of_all

SHOWN = 50
"""Findings of a group that are told one by one."""
TIDY_LINES = 2000
"""Lines of a document's difference that are shown before it is tidied."""
NO_JOBS = "Nothing is scheduled in this vault: an option such as scan_schedule does that."


@route("GET", "/findings", scope="read", long=True)
def list_findings(
    memory: Memory,
    left: Annotated[bool, Argument("those that were left as they are, instead")] = False,
    group: Annotated[str, Argument("only this group", max_length=50)] = "",
    offset: Offset = 0,
    limit: Limit = SHOWN,
) -> Any:
    """Find stale, contradictory, duplicate and orphaned memories, in groups with a fix for each.

    A group's `etag` goes along with a decision on all of it.
    """
    every = [each for each in memory.findings() if _is_seen(memory, each.finding)]
    groups: dict[str, list[Marked]] = {}
    for each in every:
        if each.left == left and group in ("", each.group):
            groups.setdefault(each.group, []).append(each)
    return {
        "groups": [
            _shown_group(memory, name, found, offset=offset, limit=limit)
            for name, found in groups.items()
        ],
        "left": sum(each.left for each in every),
    }


def _is_seen(memory: Memory, finding: Finding) -> bool:
    """Whether a finding is of a document that this reader may see, or of none."""
    return not finding.places or any(_seen_places(memory, finding))


def _seen_places(memory: Memory, finding: Finding) -> list[str]:
    places = finding.places
    return [place for place in places if memory.serves(place.rpartition(":")[0] or place)]


def _shown_group(
    memory: Memory, name: str, found: list[Marked], *, offset: int, limit: int
) -> dict[str, Any]:
    page = found[offset : offset + limit]
    ids = {key for each in page for key in each.finding.ids}
    hits = [hit for key in ids if (hit := memory.library.hit_of(key))]
    told = {hit.record.id: shown for hit, shown in zip(hits, _memories(memory, hits), strict=True)}
    return {
        "group": name,
        "count": len(found),
        "etag": mark_of_all(found),
        "deed": found[0].deed,
        "removes": len({key for each in found if each.deed == "strike" for key in each.targets}),
        "findings": [_shown(memory, each, told) for each in page],
    }


def _shown(memory: Memory, found: Marked, told: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    finding = found.finding
    return {
        "kind": finding.kind,
        "mark": found.mark,
        "sentence": finding.what,
        "command": finding.fix,
        "deed": found.deed,
        "places": _seen_places(memory, finding),
        "memories": [
            told[key] | {"goes": key in found.targets} for key in finding.ids if key in told
        ],
    }


def _memories(memory: Memory, hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """The memories of findings; of a secret that is not this reader's, only that there is one."""
    return [
        told
        if may_see(memory, hit.record)
        else {"id": hit.record.id, "text": f"the secret {hit.record.id}"}
        for hit, told in zip(hits, shown_hits(memory, hits), strict=True)
    ]


@route("POST", "/findings", scope="admin")
def decide_on_findings(
    memory: Memory,
    group: Annotated[str, Argument("the group that they are in", max_length=50)],
    decision: Annotated[
        Literal["mend", "leave", "look-again"],
        Argument("do what mends them, leave them as they are, or show again what was left"),
    ],
    marks: Annotated[
        list[str], Argument("which of them, by their marks; none: all", max_items=MOST_LISTED)
    ] = [],  # noqa: B006
    etag: Annotated[str, Argument("of the group, for all of it", max_length=80)] = "",
    keep: Annotated[
        str, Argument("the memory of one finding that stays instead", max_length=200)
    ] = "",
) -> Any:
    """Decide on some findings of a group, or on all of them: all, or none if any has changed."""
    found = _meant(memory, group, marks, etag, left=decision == "look-again")
    changed: tuple[str, ...] = ()
    if decision == "mend":
        changed = memory.mend(found, keep=keep)
    elif decision == "leave":
        memory.leave_findings(each.mark for each in found)
    else:
        memory.look_again(each.mark for each in found)
    return {
        "decision": decision,
        "marks": [each.mark for each in found][:MOST_LISTED],
        "count": len(found),
        "ids": list(changed),
        "position": _last_change(memory) if changed else None,
    }


def _meant(memory: Memory, group: str, marks: list[str], etag: str, *, left: bool) -> list[Marked]:
    """The findings of a decision, if they are as they were shown."""
    kind = "stale" if group == OLD else group
    there = [each for each in memory.findings(kind) if each.group == group and each.left == left]
    if not marks:
        found, is_same = there, bool(etag) and etag == mark_of_all(there)
    else:
        found = [each for each in there if each.mark in marks]
        is_same = len({each.mark for each in found}) == len(set(marks))
    if not is_same:
        raise Conflict(
            "The findings changed since they were shown; nothing was done.",
            next_step="Look at them again.",
        )
    return found


def _last_change(memory: Memory) -> int | None:
    """Where the journal tells of what was just done, for who would take it back."""
    return next((each.position for each in memory.log(limit=1)), None)


@route("POST", "/compact", scope="admin")
def compact_vault(
    memory: Memory,
    dry_run: Annotated[bool, Argument("only show what it would do")] = True,
) -> Any:
    """Let old records become summaries, or show what that would do."""
    if not dry_run:
        memory.job_processes.run(COMPACT_NOW)
        report = reports(memory.notes)[-1]
        sentence = f"Compaction: {described(report, memory.clock.day_of)}."
        return {"status": report.status, "sentence": sentence}
    return json.loads(memory.job_processes.run(PLAN_COMPACTION))


@route("POST", "/tidy", scope="admin")
def tidy_vault(
    memory: Memory,
    etag: Annotated[str, Argument("of what was shown; none: only show it", max_length=80)] = "",
) -> Any:
    """Sort every memory into its section, each in one place, or show what that would do.

    With the `etag` of what was shown it is done, unless a document has changed since.
    """
    planned = memory.plan_tidy()
    found = digest(json.dumps(planned.texts, sort_keys=True).encode()) if planned.texts else ""
    if etag and etag != found:
        raise Conflict(
            "The documents changed since that was shown; nothing was tidied.",
            next_step="Look at it again.",
        )
    if etag:
        memory.tidy(planned)
    return {
        "sentence": planned.sentence(),
        "difference": planned.difference(most=TIDY_LINES),
        "etag": found,
        "position": _last_change(memory) if etag else None,
    }


@route("GET", "/upkeep", scope="read")
def show_upkeep(memory: Memory) -> Any:
    """What is done by itself and when, with how it last ended."""
    return {"jobs": memory.schedule().described()}


@route("POST", "/upkeep/{job}", scope="admin")
def run_job(memory: Memory, job: Annotated[str, Argument("its name", max_length=50)]) -> Any:
    """Run a job of the schedule now."""
    schedule = memory.schedule(elsewhere=True)
    known = [each.name for each in schedule.jobs]
    if job not in known:
        offered = f"Use {', '.join(known)}." if known else NO_JOBS
        raise BadValue("job", f"{job!r} is not known", next_step=offered)
    return {"runs": [asdict(run) for run in schedule.once(job)]}
