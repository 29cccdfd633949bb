"""The schedule of upkeep: when a job is due, one runner at a time, and how the last runs went.

A time is a cron line of five fields or an interval such as 30m, 6h or 1d. The schedule holds no
lock of the vault, so nobody who stores or searches waits for a job.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.model.clock import Clock, monotonic, parse_stamp, stamp, zone_of
from commonplace.model.errors import BadValue, Busy, CommonplaceError, CutShort
from commonplace.storage import error_log
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from cronsim import CronSim

NAME = "upkeep.json"
LOCK = "upkeep.lock"
LOOK = 60.0
"""Seconds after which a loop looks again at the latest: another process may have run a job."""
FIRST_PAUSE = 1.0
"""Seconds after which a loop whose notes could not be reached tries again; then ever longer."""
LATE = timedelta(minutes=10)
"""How long after its time a job is late: nothing runs the schedule, or what runs it is stuck."""
WHY_MOST = 500
AGAIN = 2
"""How often a job that was cut short is begun again at once."""
TURN = 0.0005
"""Seconds after which a thread that works lets the others have a turn. With ten times as many, as
is usual, a store beside a compaction waits for that long at each of its steps.
"""
MINUTE = timedelta(minutes=1)
LONGEST = timedelta(days=366)
INTERVAL = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
UNITS = ("weeks", "days", "hours", "minutes", "seconds")
NICKNAMES = {
    "hourly": "0 * * * *",
    "daily": "0 0 * * *",
    "midnight": "0 0 * * *",
    "weekly": "0 0 * * 0",
    "monthly": "0 0 1 * *",
    "yearly": "0 0 1 1 *",
    "annually": "0 0 1 1 *",
}


class When(Protocol):
    """Says when the next time is."""

    def after(self, moment: datetime, *, zone: tzinfo | None = None) -> datetime:
        """The first time after a moment, in UTC."""


class Every(Struct, frozen=True):
    """A fixed time after the last run."""

    span: timedelta

    def after(self, moment: datetime, *, zone: tzinfo | None = None) -> datetime:
        return moment.astimezone(UTC) + self.span


class Cron(Struct, frozen=True):
    """The times that fit a cron line, on the clock of a zone.

    The clocks of a zone change: a time that they skip comes as much later, and a time that comes
    twice counts once. Only a line for every hour also runs in the hour that comes twice.
    """

    line: str

    def after(self, moment: datetime, *, zone: tzinfo | None = None) -> datetime:
        times = self._times(moment.astimezone(zone))
        if len(times.hours) == 24:
            return self._after_by_the_minute(moment, zone)
        # A time of day that comes twice may lie before the moment: it counted an hour ago.
        return next(at for each in times if (at := _in_utc(each, zone)) > moment)

    def _after_by_the_minute(self, moment: datetime, zone: tzinfo | None) -> datetime:
        at = moment.astimezone(UTC).replace(second=0, microsecond=0) + MINUTE
        fitting = self._times(at)
        while True:
            local = at.astimezone(zone)
            if local.month not in fitting.months or not fitting.match_day(local):
                next_day = next(self._times(local.replace(hour=23, minute=59)))
                at = max(_in_utc(next_day, zone), at + MINUTE)
            elif local.minute in fitting.minutes:
                return at
            else:
                at += MINUTE

    def _times(self, after: datetime) -> CronSim:
        """The matching times by the wall clock, through changes to and from summer time."""
        from cronsim import CronSim

        return CronSim(self.line, after.replace(tzinfo=None))


def _in_utc(local: datetime, zone: tzinfo | None) -> datetime:
    return local.replace(tzinfo=zone).astimezone(UTC)


def read_when(text: str, *, argument: str) -> When:
    """Read an interval or a cron line. `argument` is what an error calls it."""
    try:
        return _interval(text.strip().lower()) or _cron(text.strip().lower())
    except ValueError as error:
        raise BadValue(
            argument,
            f"{text!r} is no schedule{f' ({error})' if str(error) else ''}",
            next_step='Use an interval (30m, 6h, 1d), daily, weekly or cron ("30 3 * * *").',
        ) from None


def _interval(text: str) -> Every | None:
    found = INTERVAL.fullmatch(text.replace(" ", ""))
    if not text or not found:
        return None
    amounts = {unit: int(part or 0) for unit, part in zip(UNITS, found.groups(), strict=True)}
    span = timedelta(**amounts)
    if not MINUTE <= span <= LONGEST:
        raise ValueError("it must be from 1m to 366d")
    return Every(span)


def _cron(text: str) -> Cron:
    from cronsim import CronSim, CronSimError

    line = NICKNAMES.get(text.removeprefix("@"), text)
    if (count := len(line.split())) != 5:
        raise ValueError(f"{count} fields, and cron has five")
    try:
        next(CronSim(line, datetime(2000, 1, 1)))
    except CronSimError as error:
        raise ValueError(str(error)) from None
    except StopIteration:
        raise ValueError("that day never comes") from None
    return Cron(line)


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
        runs = last_runs(self._notes)
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
        runs |= {name: told for name, told in last_runs(self._notes).items() if name not in runs}
        runs[job.name] = run
        _write(self._notes, runs)
        return run

    def described(self) -> list[dict[str, Any]]:
        """Each job with how it last went and when it is due, as plain data."""
        runs = last_runs(self._notes)
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

    def late(self) -> list[str]:
        """A sentence on each job that should have begun by now."""
        runs, now = last_runs(self._notes), self._clock.now()
        due = {job.name: self._next(job, runs.get(job.name)) for job in self.jobs}
        return [
            f"The job {name} is late: it was due at {stamp(at)[:16]}Z. 'commonplace serve' or "
            "'commonplace upkeep --loop' runs it."
            for name, at in due.items()
            if now - at > LATE
        ]

    def loop(self, *, after: Callable[[Run], None] = lambda run: None) -> None:
        """Run what is due until `stop` is called; `after` is told of each run.

        Where the notes cannot be reached, as in an outage of a server, it tries again later.
        """
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            try:
                for run in self.once():
                    after(run)
                wait, pause = self._pause(), FIRST_PAUSE
            except (CommonplaceError, OSError) as error:
                error_log.note(f"upkeep: {error}", at=self._clock.stamp())
                wait, pause = pause, min(2 * pause, LOOK)
            self._stop.wait(wait)

    def due(self) -> datetime | None:
        """When the next job is due; None where there is no job."""
        runs = last_runs(self._notes)
        return min((self._next(job, runs.get(job.name)) for job in self.jobs), default=None)

    def _pause(self) -> float:
        at = self.due()
        # Due, and somebody else runs it: look again in a second.
        wait = max((at - self._clock.now()).total_seconds(), 1.0) if at else LOOK
        return min(LOOK, wait)

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


def take_short_turns() -> None:
    """Let no thread of this process wait long for one that works in the background."""
    sys.setswitchinterval(min(TURN, sys.getswitchinterval()))


def last_runs(notes: Notes) -> dict[str, Run]:
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
    return [run for run in last_runs(notes).values() if run.outcome == "failed"]


def told(notes: Notes) -> str:
    """The last runs in a sentence, for who asks how things are; empty when there was none."""
    return "; ".join(
        f"{run.name} {run.outcome} {run.at[:19]}Z{f' ({run.what})' if run.what else ''}"
        for run in last_runs(notes).values()
        if run.outcome
    )


def _write(notes: Notes, runs: dict[str, Run]) -> None:
    value = {name: asdict(run) for name, run in runs.items()}
    notes.write(NAME, json.dumps(value).encode(), durable=True)
