"""The jobs of upkeep: what each does, when the options want it, and in which process.

A program that serves has its jobs done by a process of their own: the threads of one process
compute in turns, and whoever stores would wait for a compaction. Where no process can be started,
the job is done in this one.
"""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from datetime import timedelta
from functools import partial
from typing import Any, Protocol

from commonplace.library.library import Library
from commonplace.model.clock import Clock, parse_stamp
from commonplace.model.errors import CommonplaceError, CutShort, VaultTrouble
from commonplace.model.options import Options
from commonplace.storage.notes import Notes
from commonplace.upkeep.compaction.plan import last_report, note_failure
from commonplace.upkeep.schedule import Job, Schedule, read_when, take_short_turns

DAILY = "daily"
COMPACT_IF_OVER = "compaction over a threshold"
COMPACT_NOW = "compaction now"
PLAN_COMPACTION = "plan of a compaction"
HERE = "in the process that asked: no other could be started"
ENTRY = "commonplace.doors.job_process"
LEARNING = "learning"
NOTHING = "nothing was found"
"""What a look says that found nothing."""
BEGUN = b"begun"
"""The first line of an answer: without it, what was started is not ours."""
GRACE = 3.0
"""Seconds that a job has to end by itself once it was asked to."""
PAUSE = timedelta(hours=1)
"""After a run that found nothing to do, how long no append calls for another."""


class KeptParts(Protocol):
    """What the schedule asks of a vault's parts."""

    def has_history(self) -> bool: ...


class Keeper(Protocol):
    """The methods of a memory that the jobs call."""

    options: Options
    notes: Notes

    @property
    def clock(self) -> Clock: ...

    @property
    def parts(self) -> KeptParts: ...

    @property
    def job_processes(self) -> JobProcesses: ...

    def apart(self) -> AbstractContextManager[Any]:
        """The same vault opened anew, as another process would."""


def schedule_of(memory: Keeper, *, elsewhere: bool = False) -> Schedule:
    """The schedule that a memory's options ask for, its jobs done here or `elsewhere`."""
    processes = memory.job_processes if elsewhere else None

    def job(name: str, option: str, when: str) -> Job:
        run = partial(_done, processes, name) if processes else partial(done_here, memory, name)
        return Job(name, read_when(when, argument=option), run)

    wanted = _wanted(memory.options, has_history=memory.parts.has_history())
    jobs = tuple(job(*each) for each in wanted)
    interrupt = processes.stop if processes else lambda: None
    return Schedule(jobs, notes=memory.notes, clock=memory.clock, interrupt=interrupt)


def _done(processes: JobProcesses, job: str) -> str:
    said = processes.run(job)
    return said if processes.able else f"{said} ({HERE})"


def done_here(memory: Keeper, job: str) -> str:
    """Do a job in this process, on the vault opened for it alone."""
    with memory.apart() as own:
        return done(own, job, threading.Event())


def done(memory: Any, job: str, ending: threading.Event) -> str:
    """Do a job with a memory, and take away what was told to sessions of long ago."""
    said = JOBS[job](memory, ending)
    memory.drop_old_tellings()
    return said


def _wanted(options: Options, *, has_history: bool) -> Iterator[tuple[str, str, str]]:
    """The jobs that the options ask for, each with the option that says when, and with when."""
    compaction = options.memory_compaction_schedule
    if options.memory_compaction_enabled and compaction:
        yield "compaction", "memory_compaction_schedule", compaction
    if options.experience_store_enabled:
        own = options.experience_schedule
        name = "experience_schedule" if own else "memory_compaction_schedule"
        yield "experiences", name, own or compaction or DAILY
    if options.learning_schedule and has_history:
        yield LEARNING, "learning_schedule", options.learning_schedule
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


def _learn(memory: Any, _: threading.Event) -> str:
    made = len(memory.suggest(again=False))
    return f"{made} suggested: 'commonplace review' lists them" if made else NOTHING


def _scan(memory: Any, _: threading.Event) -> str:
    counts = Counter(finding.kind for finding in memory.scan())
    if not counts:
        return NOTHING
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    return f"{kinds}: 'commonplace scan' lists them"


def _beat(memory: Any, ending: threading.Event) -> str:
    from commonplace.upkeep.heartbeat import Heartbeat, Outcome

    command = shlex.split(memory.options.heartbeat_command)
    beat = Heartbeat(memory, command, stopping=ending).tick()
    if beat.outcome in (Outcome.FAILED, Outcome.TIMED_OUT):
        raise VaultTrouble(f"{beat.outcome}: {beat.why}")
    return f"{beat.outcome}{f': {beat.why}' if beat.why else ''}"


JOBS: dict[str, Callable[[Any, threading.Event], str]] = {
    "compaction": _compact,
    COMPACT_IF_OVER: _compact_if_over,
    COMPACT_NOW: _compact_now,
    PLAN_COMPACTION: _plan_compaction,
    "experiences": _take_in,
    LEARNING: _learn,
    "scan": _scan,
    "heartbeat": _beat,
}
"""What can be done, each with an event that is set when it is to end."""
STOPPABLE = frozenset(("heartbeat",))
"""Jobs that heed that event. The others are cut off: the journal mends what they had begun."""


class JobProcesses:
    """The jobs of one vault that run in processes of their own."""

    def __init__(
        self, place: str, opening: Mapping[str, Any], *, clock: Clock, here: Callable[[str], str]
    ) -> None:
        self._order = {"place": place, "zone": clock.zone, "opening": opening}
        self._here = here
        # A clock that a program made is nowhere else.
        self.able = bool(sys.executable) and not hasattr(sys, "frozen") and clock.is_the_systems
        """Whether another process can be started, for all that is known."""
        self._running: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self.over = False

    def run(self, job: str) -> str:
        """Have a job done. Returns what it says it did, or raises what went wrong."""
        said = self._elsewhere(job) if self.able else None
        if said is not None:
            return said
        self.able = False
        take_short_turns()
        return self._here(job)

    def leave(self, job: str, *, failed: Callable[[str], None]) -> subprocess.Popen[bytes] | None:
        """Have a job done by a process that ends by itself; None when there can be none.

        `failed` is told if that goes wrong while this process is still there.
        """
        if not self.able or self.over:
            return None
        silent = subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                _command(),
                stdin=subprocess.PIPE,
                stdout=silent,
                stderr=silent,
                start_new_session=True,
            )
        except OSError:
            return None
        _give(process, {**self._order, "job": job, "alone": True})
        # Whoever goes on must take note of its end; whoever ends need not wait for it.
        watch = threading.Thread(target=_watch, args=(process, failed), name="commonplace-left")
        watch.daemon = True
        watch.start()
        return process

    def stop(self) -> None:
        """End what is being done; nothing is begun any more."""
        with self._guard:
            self.over = True
            running = list(self._running)
        for process in running:
            process.terminate()
        for process in running:
            with suppress(subprocess.TimeoutExpired):
                process.wait(GRACE)
            process.kill()

    def _elsewhere(self, job: str) -> str | None:
        """The same, in a process of its own; None when there can be none."""
        try:
            process = self._started()
        except OSError:
            return None
        with process:
            said = _said(process, json.dumps({**self._order, "job": job}).encode())
        with self._guard:
            self._running.discard(process)
        begun, _, answer = said.partition(b"\n")
        if process.returncode >= 0 and begun != BEGUN and not self.over:
            return None
        return _told(answer, process.returncode)

    def _started(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        with self._guard:
            if self.over:
                raise CutShort("it was to end")
            process = subprocess.Popen(_command(), stdin=pipe, stdout=pipe, bufsize=0)
            self._running.add(process)
        return process


def _command() -> list[str]:
    # Without -P a file in the working directory could pass for a module of ours.
    return [sys.executable, "-P", "-m", ENTRY]


def _give(process: subprocess.Popen[bytes], order: Mapping[str, Any]) -> None:
    """Send an order, and nothing after it."""
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(json.dumps(order).encode() + b"\n")


def _watch(process: subprocess.Popen[bytes], failed: Callable[[str], None]) -> None:
    code = process.wait()
    if code:
        failed(_ended(code))


def _said(process: subprocess.Popen[bytes], order: bytes) -> bytes:
    """What the other process answers. Its input stays open meanwhile: it ends when that does."""
    assert process.stdin
    assert process.stdout
    with suppress(BrokenPipeError):
        process.stdin.write(order + b"\n")
    return process.stdout.read()


def _told(answer: bytes, code: int) -> str:
    try:
        told = json.loads(answer)
    except ValueError:
        raise CutShort(_ended(code)) from None
    if "failed" in told:
        raise VaultTrouble(told["failed"])
    return str(told["done"])


def _ended(code: int) -> str:
    """How a process ended that gave no answer."""
    if code >= 0:
        return f"it ended with code {code}"
    with suppress(ValueError):
        return f"it was ended by {signal.Signals(-code).name}"
    return f"it was ended by signal {-code}"


class BackgroundCompaction:
    """At most one run at a time."""

    def __init__(self, library: Library, options: Options, *, notes: Notes) -> None:
        self.library = library
        self.options = options
        self.notes = notes
        self._thread: threading.Thread | None = None
        self._left: subprocess.Popen[bytes] | None = None

    def consider(self, processes: JobProcesses) -> None:
        """Have it compacted if the main document may be over a threshold."""
        if self._is_at_work() or not self._may_be_over() or self._in_vain():
            return
        self._left = processes.leave(COMPACT_IF_OVER, failed=self._note)
        if self._left is None:
            self._thread = threading.Thread(
                target=self._run, args=(processes,), name="commonplace-compaction"
            )
            self._thread.start()

    def _is_at_work(self) -> bool:
        here = self._thread is not None and self._thread.is_alive()
        return here or (self._left is not None and self._left.poll() is None)

    def _run(self, processes: JobProcesses) -> None:
        try:
            processes.run(COMPACT_IF_OVER)
        except CommonplaceError as error:
            if not processes.over:
                self._note(str(error))

    def _note(self, why: str) -> None:
        # The vault may be closed by now.
        with suppress(CommonplaceError, OSError):
            note_failure(self.notes, why, at=self.library.clock.stamp())

    def wait(self) -> None:
        if self._thread:
            self._thread.join()

    def _may_be_over(self) -> bool:
        """Told without reading: lines are no fewer than records, bytes no fewer than characters."""
        records = self.options.memory_compaction_threshold_records
        characters = self.options.memory_compaction_threshold_chars
        known = self.library.known_of(self.library.layout.memory)
        if known is None:
            return False
        return known.lines > records > 0 or known.signature.size > characters > 0

    def _in_vain(self) -> bool:
        """Whether the last run found nothing to do, a short while ago."""
        last = last_report(self.notes)
        if last is None or last.status == "done":
            return False
        return self.library.clock.now() - parse_stamp(last.at) < PAUSE
