"""The works of upkeep, and the jobs that the options ask for: which of them are done, and when.

It knows the options and what to ask of a memory, which stands above it; not how that does it.
"""

from __future__ import annotations

import json
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

from commonplace.model.clock import Clock
from commonplace.model.errors import VaultTrouble
from commonplace.model.options import Options
from commonplace.storage.notes import Notes
from commonplace.upkeep.errands import Errands
from commonplace.upkeep.schedule import Job, Schedule, read_when

DAILY = "daily"
COMPACT_IF_OVER = "compaction over a threshold"
COMPACT_NOW = "compaction now"
PLAN_COMPACTION = "plan of a compaction"
HERE = "in the process that asked: no other could be started"


class Keeper(Protocol):
    """What the jobs ask of a memory."""

    options: Options
    notes: Notes

    @property
    def clock(self) -> Clock: ...

    @property
    def errands(self) -> Errands: ...

    def apart(self) -> AbstractContextManager[Any]:
        """The same vault opened anew, as another process would."""


def schedule_of(memory: Keeper, *, elsewhere: bool = False) -> Schedule:
    """The schedule that a memory's options ask for, its works done here or `elsewhere`."""
    errands = memory.errands if elsewhere else None

    def job(name: str, option: str, when: str) -> Job:
        run = partial(_done, errands, name) if errands else partial(done_here, memory, name)
        return Job(name, read_when(when, argument=option), run)

    jobs = tuple(job(*each) for each in _wanted(memory.options))
    interrupt = errands.stop if errands else lambda: None
    return Schedule(jobs, notes=memory.notes, clock=memory.clock, interrupt=interrupt)


def _done(errands: Errands, work: str) -> str:
    said = errands.run(work)
    return said if errands.able else f"{said} ({HERE})"


def done_here(memory: Keeper, work: str) -> str:
    """Do a work in this process, on the vault opened for it alone."""
    with memory.apart() as own:
        return WORKS[work](own, threading.Event())


def _wanted(options: Options) -> Iterator[tuple[str, str, str]]:
    """The works that the options ask for, each with the option that says when, and with when."""
    compaction = options.memory_compaction_schedule
    if options.memory_compaction_enabled and compaction:
        yield "compaction", "memory_compaction_schedule", compaction
    if options.experience_store_enabled:
        own = options.experience_schedule
        name = "experience_schedule" if own else "memory_compaction_schedule"
        yield "experiences", name, own or compaction or DAILY
    if options.scan_schedule:
        yield "scan", "scan_schedule", options.scan_schedule
    if options.heartbeat_schedule and options.heartbeat_command:
        # Last: a command may take its time.
        yield "heartbeat", "heartbeat_schedule", options.heartbeat_schedule


def _compact(memory: Any, _: threading.Event) -> str:
    report = memory.compact(scheduled=True)
    if report.status == "failed":
        raise VaultTrouble(report.why)
    made = f"{report.compacted} records became {report.summaries} summaries"
    return made if report.status == "done" else f"{report.status}: {report.why}"


def _compact_if_over(memory: Any, _: threading.Event) -> str:
    return str(memory.compact().status)


def _compact_now(memory: Any, _: threading.Event) -> str:
    return str(memory.compact(forced=True).status)


def _plan_compaction(memory: Any, _: threading.Event) -> str:
    plan, difference = memory.plan_compaction()
    found = difference if plan.leaving else ""
    return json.dumps({"sentence": plan.sentence, "difference": found})


def _take_in(memory: Any, _: threading.Event) -> str:
    taken = memory.take_in_experiences()
    return f"{len(taken)} taken in, {memory.experiences.count()} in all"


def _scan(memory: Any, _: threading.Event) -> str:
    counts = Counter(finding.kind for finding in memory.scan())
    if not counts:
        return "nothing was found"
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{kinds}: 'commonplace scan' lists them"


def _beat(memory: Any, ending: threading.Event) -> str:
    from commonplace.upkeep.heartbeat import Heartbeat, Outcome

    command = shlex.split(memory.options.heartbeat_command)
    beat = Heartbeat(memory, command, stopping=ending).tick()
    if beat.outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
        raise VaultTrouble(f"{beat.outcome}: {beat.why}")
    return f"{beat.outcome}{f': {beat.why}' if beat.why else ''}"


WORKS: dict[str, Callable[[Any, threading.Event], str]] = {
    "compaction": _compact,
    COMPACT_IF_OVER: _compact_if_over,
    COMPACT_NOW: _compact_now,
    PLAN_COMPACTION: _plan_compaction,
    "experiences": _take_in,
    "scan": _scan,
    "heartbeat": _beat,
}
"""What can be done, each with an event that is set when it is to end."""
PATIENT = frozenset(("heartbeat",))
"""Works that heed that event. The others are cut off: the journal mends what they had begun."""
