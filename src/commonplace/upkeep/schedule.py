"""The schedule of upkeep: which jobs are due, one runner at a time, and how the last runs went.

It does not know what a job does. No lock of the vault is held by it: whoever stores or searches
never waits for it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.model.clock import Clock, monotonic, parse_stamp, stamp, zone_of
from commonplace.model.errors import Busy, CutShort
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes
from commonplace.trust.safety import one_line
from commonplace.upkeep.cron import Cron, When
from commonplace.upkeep.errands import take_short_turns

NAME = "upkeep.json"
LOCK = "upkeep.lock"
LOOK = 60.0
"""Seconds after which a loop looks again at the latest: another process may have run a job."""
WHY_MOST = 500
AGAIN = 2
"""How often a job that was cut short is begun again at once."""


class Job(Struct, frozen=True):
    """Something to do from time to time: it says what it did."""

    name: str
    when: When
    run: Callable[[], str]


class Run(Struct, frozen=True):
    """How a job went the last time."""

    name: str
    at: str
    """When it began, or, before its first run, when it was first seen."""
    outcome: str = ""
    """done, failed or running; empty before the first run."""
    what: str = ""
    seconds: float = 0.0
    cut: int = 0
    """How many runs in a row ended with their process."""


class Schedule:
    """The jobs of one vault."""

    def __init__(
        self,
        jobs: Sequence[Job],
        *,
        notes: Notes,
        clock: Clock,
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self.jobs = jobs
        self._clock = clock
        self._notes = notes
        self._interrupt = interrupt
        """Ends the job that is on, where that can be done."""
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def once(self, *names: str) -> list[Run]:
        """Run what is due, or the jobs named. Returns how they went; empty if another runs them."""
        try:
            with self._notes.alone(LOCK):
                return self._once(names)
        except Busy:
            return []

    def _once(self, names: Sequence[str]) -> list[Run]:
        runs = self._seen()
        due = [
            job for job in self.jobs if job.name in names or (not names and self._is_due(job, runs))
        ]
        return [self._run(job, runs) for job in due if not self._stop.is_set()]

    def _seen(self) -> dict[str, Run]:
        """The last runs; those that ended with their process told so, new jobs noted."""
        runs = read(self._notes)
        for run in [run for run in runs.values() if run.outcome == "running"]:
            ended = replace(run, outcome="failed", what="it was cut short", cut=run.cut + 1)
            runs[run.name] = ended
        now = self._clock.stamp()
        missing = [job.name for job in self.jobs if job.name not in runs]
        runs |= {name: Run(name, now) for name in missing}
        if missing:
            _write(self._notes, runs)
        return runs

    def _is_due(self, job: Job, runs: dict[str, Run]) -> bool:
        return self._next(job, runs[job.name]) <= self._clock.now()

    def _next(self, job: Job, run: Run | None) -> datetime:
        """When a job is due: missed times count once."""
        now = self._clock.now()
        last = parse_stamp(run.at) if run else now
        never = run is None or not run.outcome
        if last > now + timedelta(seconds=LOOK) or (run and 0 < run.cut <= AGAIN):
            # The clock was set back since, or the run ended with its process.
            return now
        if never and not isinstance(job.when, Cron):
            return now
        return job.when.after(last, zone=self._zone())

    def _zone(self) -> tzinfo | None:
        return zone_of(self._clock.zone)

    def _run(self, job: Job, runs: dict[str, Run]) -> Run:
        begun, before = monotonic(), runs[job.name]
        run = Run(job.name, self._clock.stamp(), "running", cut=before.cut)
        runs[job.name] = run
        _write(self._notes, runs)
        try:
            run = replace(run, outcome="done", what=job.run(), cut=0)
        except Exception as error:  # Whatever ails one job, the others must run.
            what = one_line(str(error))[:WHY_MOST] or repr(error)
            cut = before.cut + 1 if isinstance(error, CutShort) else 0
            run = replace(run, outcome="failed", what=what, cut=cut)
        run = replace(run, seconds=round(monotonic() - begun, 3))
        # Others may have noted theirs meanwhile.
        runs |= {name: told for name, told in read(self._notes).items() if name not in runs}
        runs[job.name] = run
        _write(self._notes, runs)
        return run

    def described(self) -> list[dict[str, Any]]:
        """Each job with how it last went and when it is due, as plain data."""
        runs = read(self._notes)
        return [
            {
                "job": job.name,
                "last": run.at if run.outcome else "",
                "outcome": run.outcome,
                "what": run.what,
                "seconds": run.seconds,
                "next": stamp(self._next(job, runs.get(job.name))),
            }
            for job in self.jobs
            for run in [runs.get(job.name) or Run(job.name, "")]
        ]

    def loop(self, *, after: Callable[[Run], None] = lambda run: None) -> None:
        """Run what is due until `stop` is called; `after` is told of each run."""
        while not self._stop.is_set():
            for run in self.once():
                after(run)
            self._stop.wait(self._pause())

    def _pause(self) -> float:
        runs, now = read(self._notes), self._clock.now()
        waits = [(self._next(job, runs.get(job.name)) - now).total_seconds() for job in self.jobs]
        # Due, and somebody else runs it: look again in a second.
        return min([LOOK, *(max(wait, 1.0) for wait in waits)])

    def start(self) -> None:
        """Loop in a thread of its own."""
        take_short_turns()
        self._thread = threading.Thread(target=self.loop, name="commonplace-upkeep", daemon=True)
        self._thread.start()

    def stop(self, *, seconds: float | None = None) -> None:
        """End, with the job that is on where it can be cut short; wait for it so long."""
        self._stop.set()
        self._interrupt()
        if self._thread:
            self._thread.join(seconds)


def read(notes: Notes) -> dict[str, Run]:
    """How the jobs went the last time, by name; what cannot be read counts as never."""
    try:
        told = parsed(notes.read(NAME) or b"")
        runs = {name: Run(**run) for name, run in told.items()}
        for run in runs.values():
            parse_stamp(run.at)
    except (ValueError, TypeError, AttributeError):
        return {}
    return runs


def failures(notes: Notes) -> list[Run]:
    """The jobs whose last run failed."""
    return [run for run in read(notes).values() if run.outcome == "failed"]


def told(notes: Notes) -> str:
    """The last runs in a sentence, for who asks how things are; empty when there was none."""
    return "; ".join(
        f"{run.name} {run.outcome} {run.at[:19]}Z{f' ({run.what})' if run.what else ''}"
        for run in read(notes).values()
        if run.outcome
    )


def _write(notes: Notes, runs: dict[str, Run]) -> None:
    value = {name: asdict(run) for name, run in runs.items()}
    notes.write(NAME, json.dumps(value).encode(), durable=True)
