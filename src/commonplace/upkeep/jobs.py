"""The jobs that the options ask for: what upkeep does from time to time, and when.

It knows the options and what to ask of a memory, which stands above it; not how a job does it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from commonplace.clock import Clock
from commonplace.config import Options
from commonplace.errors import VaultTrouble
from commonplace.hints import Any, Protocol
from commonplace.notes import Notes
from commonplace.upkeep.cron import read
from commonplace.upkeep.schedule import Job, Schedule

DAILY = "daily"


class Keeper(Protocol):
    """What the jobs ask of a memory."""

    options: Options
    notes: Notes

    @property
    def clock(self) -> Clock: ...

    def apart(self) -> AbstractContextManager[Any]:
        """The same vault opened anew, as another process would."""


def schedule_of(memory: Keeper) -> Schedule:
    """The schedule that a memory's options ask for."""
    return Schedule(tuple(_jobs(memory)), notes=memory.notes, clock=memory.clock)


def _jobs(memory: Keeper) -> Iterator[Job]:
    options = memory.options
    compaction = options.memory_compaction_schedule
    if options.memory_compaction_enabled and compaction:
        yield _job(memory, "compaction", "memory_compaction_schedule", compaction, _compact)
    if options.experience_store_enabled:
        own = options.experience_schedule
        name = "experience_schedule" if own else "memory_compaction_schedule"
        yield _job(memory, "experiences", name, own or compaction or DAILY, _take_in)
    if options.scan_schedule:
        yield _job(memory, "scan", "scan_schedule", options.scan_schedule, _scan)
    if options.heartbeat_schedule and options.heartbeat_command:
        # Last: a command may take its time.
        when = options.heartbeat_schedule
        yield _job(memory, "heartbeat", "heartbeat_schedule", when, _beat)


def _job(memory: Keeper, name: str, option: str, when: str, work: Callable[[Any], str]) -> Job:
    def run() -> str:
        with memory.apart() as own:
            return work(own)

    return Job(name, read(when, argument=option), run)


def _compact(memory: Any) -> str:
    report = memory.compact(scheduled=True)
    if report.status == "failed":
        raise VaultTrouble(report.why)
    made = f"{report.compacted} records became {report.summaries} summaries"
    return made if report.status == "done" else f"{report.status}: {report.why}"


def _take_in(memory: Any) -> str:
    taken = memory.take_in_experiences()
    return f"{len(taken)} taken in, {memory.experiences.count()} in all"


def _scan(memory: Any) -> str:
    counts = Counter(finding.kind for finding in memory.scan())
    if not counts:
        return "nothing was found"
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{kinds}: 'commonplace scan' lists them"


def _beat(memory: Any) -> str:
    from commonplace.upkeep.heartbeat import Heartbeat, Outcome

    beat = Heartbeat(memory, shlex.split(memory.options.heartbeat_command)).tick()
    if beat.outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
        raise VaultTrouble(f"{beat.outcome}: {beat.why}")
    return f"{beat.outcome}{f': {beat.why}' if beat.why else ''}"
