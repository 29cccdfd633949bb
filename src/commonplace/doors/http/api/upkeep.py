"""Upkeep over HTTP: findings and their fixes, compaction, the schedule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec.structs import asdict

from commonplace.doors.http.api.records import may_see
from commonplace.doors.http.routes import route
from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from commonplace.model.records import Record
from commonplace.tools.tool import Argument
from commonplace.upkeep.compaction.plan import described, reports
from commonplace.upkeep.jobs import COMPACT_NOW, PLAN_COMPACTION
from commonplace.upkeep.scan import Finding

MENDS = ("strike", "unlink", "rebuild")
"""The commands of findings that the page may run: each can be undone, or changes no memory."""

NO_JOBS = "Nothing is scheduled in this vault: an option such as scan_schedule does that."


@route("GET", "/scan", scope="read", long=True)
def scan_vault(memory: Memory) -> Any:
    """Find stale, contradictory, duplicate and orphaned memories, with a suggested fix for each."""
    found = [each for each in memory.scan() if _is_seen(memory, each)]
    struck = memory.library.records_of(id for each in found for id in _strikes(each))
    return {"findings": [_shown(memory, finding, struck) for finding in found]}


def _is_seen(memory: Memory, finding: Finding) -> bool:
    """Whether a finding is of a document that this reader may see, or of none."""
    names = [place.rpartition(":")[0] or place for place in finding.places]
    return not names or any(map(memory.serves, names))


def _shown(memory: Memory, finding: Finding, struck: Mapping[str, Record]) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "ids": list(finding.ids),
        "sentence": finding.what,
        "command": finding.fix,
        "places": list(finding.places),
        "action": _action(finding.fix),
        "strikes": [_text(memory, struck[id]) for id in _strikes(finding) if id in struck],
    }


def _strikes(finding: Finding) -> list[str]:
    """The records that the command of a finding takes out."""
    action = _action(finding.fix)
    return action["ids"] if action and action["deed"] == "strike" else []


def _text(memory: Memory, record: Record) -> str:
    return record.text if may_see(memory, record) else f"the secret {record.id}"


def _action(command: str) -> dict[str, Any] | None:
    """What the page sends to have a command run; None for one that a person must type."""
    words = command.split()
    if len(words) < 2 or words[1] not in MENDS or any(word.startswith("-") for word in words):
        return None
    return {"deed": words[1], "ids": words[2:]}


@route("POST", "/mend", scope="admin")
def mend_finding(
    memory: Memory,
    deed: Annotated[Literal["strike", "unlink", "rebuild"], Argument("what to do")],
    ids: Annotated[list[str], Argument("the records", max_items=100)] = [],  # noqa: B006
) -> Any:
    """Do what mends a finding."""
    if deed == "strike":
        memory.strike(ids)
    elif deed == "unlink":
        for each in ids:
            memory.unlink(each)
    else:
        memory.rebuild()
    return {"done": deed, "ids": ids}


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
