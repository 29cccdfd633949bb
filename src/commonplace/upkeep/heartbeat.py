"""The heartbeat: from time to time an agent's command gets its context, and its diary is written.

Two beats of a vault never overlap, whichever processes start them. While a conversation goes on, a
beat is left out.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.model.clock import Clock, monotonic, parse_stamp, stamp
from commonplace.model.errors import BadValue, Busy, CommonplaceError
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes
from commonplace.trust.neutralise import one_line
from commonplace.trust.secrets import redact

if TYPE_CHECKING:
    from commonplace.history.conversations import Conversations

TIMEOUT = 600.0
GRACE = 2.0
"""Seconds that a command has to end by itself once it was asked to."""
OUTPUT_MOST = 1_000_000
"""Bytes of a command's output that are kept; what comes after them is let go."""
WHY_MOST = 500
LOCK = "heartbeat.lock"
LOG = "heartbeat.jsonl"
LOG_MOST = 256_000
LOG_KEPT = 500
"""Lines that stay when the log has grown past `LOG_MOST` bytes."""
ENTRY = re.compile(r"<diary>((?:(?!<diary>).)*?)</diary>", re.DOTALL | re.IGNORECASE)
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?\Z")

# It names no closing tag: an agent that quotes its prompt would make an entry of it.
RETURNING = """\
What stands in your answer between <diary> and its closing tag is written into the diary for you.
What was said lately: {command} history sql "SELECT time, role, content FROM messages \
ORDER BY time DESC LIMIT 20"
"""


class Outcome(StrEnum):
    """What became of a beat."""

    DONE = "done"
    SKIPPED = "skipped"
    OVERLAPPING = "overlapping"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    STOPPED = "stopped"


class Beat(Struct, frozen=True):
    """One beat: when, what became of it, and what it left."""

    at: str
    outcome: str
    seconds: float = 0.0
    code: int | None = None
    why: str = ""
    diary: str = ""
    """Where the entry that was written stands: a document, or records where there is no diary."""
    output: int = 0
    """Bytes that the command wrote to its standard output."""
    compacted: int = 0
    """Records that became summaries, where compaction is enabled."""
    next: str = ""
    """When the next beat is due, where that is known."""


class Mind(Protocol):
    """The methods of a memory that a heartbeat calls."""

    place: str
    """What opens its vault, a password too."""
    shown: str
    """The same, as it may be printed."""
    notes: Notes

    @property
    def clock(self) -> Clock: ...

    @property
    def conversations(self) -> Conversations: ...

    def paused(self) -> object: ...

    def for_session(self, session: str, *, origin: str) -> Any: ...


class Heartbeat:
    """Gives the heartbeat context of a memory to a command, beat by beat."""

    def __init__(
        self,
        memory: Mind,
        command: Sequence[str],
        *,
        timeout: float = TIMEOUT,
        prompt: str = "",
        diary_from_output: bool = False,
        environ: Mapping[str, str] = os.environ,
        stopping: threading.Event | None = None,
    ) -> None:
        if not command:
            raise BadValue("command", "it is missing", next_step="Name one: -- my-agent --print")
        self.memory = memory
        self.command = list(command)
        self.timeout = timeout
        self.prompt = prompt
        self.diary_from_output = diary_from_output
        self._environ = dict(environ)
        self._stopping = stopping or threading.Event()
        self._log = Log(memory.notes)

    def tick(self, *, next_at: str = "") -> Beat:
        """One beat, logged. Never raises for what the command does."""
        started, at = monotonic(), self.memory.clock.stamp()
        try:
            with self.memory.notes.alone(LOCK) as holding:
                beat = self._beat(at, holding)
        except Busy:
            beat = Beat(at, Outcome.OVERLAPPING, why="an earlier beat is still running")
        beat = replace(beat, seconds=round(monotonic() - started, 3), next=next_at)
        self._log.append(beat)
        return beat

    def run(self, every: float, *, after: Any = lambda beat: None) -> None:
        """Beat every so many seconds until `stop` is called; `after` is told of each beat.

        The first comes at once, or when it is due after the last one that another process made.
        """
        wait = self._left(every)
        while not self._stopping.wait(wait):
            due = self.memory.clock.now() + timedelta(seconds=every)
            after(self.tick(next_at=stamp(due)))
            wait = max(0.0, (due - self.memory.clock.now()).total_seconds())

    def stop(self) -> None:
        """End after the beat that is on; its command is ended now."""
        self._stopping.set()

    def _left(self, every: float) -> float:
        beats = [beat for beat in self._log.read() if beat.outcome != Outcome.OVERLAPPING]
        if not beats:
            return 0.0
        since = (self.memory.clock.now() - parse_stamp(beats[-1].at)).total_seconds()
        return max(0.0, every - since) if since >= 0 else 0.0

    def _beat(self, at: str, holding: tuple[int, ...]) -> Beat:
        if self.memory.conversations.are_running():
            return Beat(at, Outcome.SKIPPED, why="a conversation is running")
        if self.memory.paused():
            return Beat(at, Outcome.SKIPPED, why="memory is paused")
        session = f"heartbeat-{at}"
        mind = self.memory.for_session(session, origin="agent")
        try:
            text = self._given(mind.context(self.prompt, agent="heartbeat").text)
            ran = self._run(text, session, holding)
            beat = Beat(at, ran.outcome, code=ran.code, why=ran.why, output=ran.size)
            if ran.outcome != Outcome.DONE:
                return beat
            entry = self._entry(ran.text)
            return _compacted(mind, replace(beat, diary=_kept(mind, entry) if entry else ""))
        except CommonplaceError as error:
            return Beat(at, Outcome.FAILED, why=_short(str(error)))

    def _given(self, context: str) -> str:
        place, shown = self.memory.place, self.memory.shown
        # A password is handed over in the environment alone.
        ours = shlex.join(["commonplace", *(["--vault", shown] if place == shown else [])])
        return f"{context.rstrip()}\n\n{RETURNING.format(command=ours)}"

    def _entry(self, output: str) -> str:
        """The diary entry in what the command answered; empty when there is none."""
        parts = [part.strip() for part in ENTRY.findall(output)]
        return "\n\n".join(filter(None, parts)) or (
            output.strip() if self.diary_from_output and not parts else ""
        )

    def _run(self, text: str, session: str, holding: tuple[int, ...]) -> Ran:
        environ = self._environ | {
            "COMMONPLACE_AGENT": "heartbeat",
            "COMMONPLACE_SESSION": session,
            "COMMONPLACE_VAULT": self.memory.place,
        }
        try:
            process = _started(self.command, environ, holding)
        except OSError as error:
            return Ran(Outcome.FAILED, why=f"{self.command[0]}: {error.strerror}")
        out, err = Drain(process.stdout, OUTPUT_MOST), Drain(process.stderr, 4 * WHY_MOST, end=True)
        feeding = threading.Thread(target=_feed, args=(process.stdin, text), daemon=True)
        feeding.start()
        outcome = self._awaited(process)
        _end(process)
        for stream in (out, err):
            stream.join(GRACE)
        if outcome == Outcome.DONE and process.returncode:
            outcome = Outcome.FAILED
        why = _why(outcome, process.returncode, err.text(), self.timeout)
        return Ran(outcome, process.returncode, why, out.text(), out.size)

    def _awaited(self, process: subprocess.Popen[bytes]) -> Outcome:
        deadline = monotonic() + self.timeout
        while not self._stopping.is_set():
            try:
                process.wait(min(0.25, max(0.0, deadline - monotonic())))
            except subprocess.TimeoutExpired:
                if monotonic() >= deadline:
                    return Outcome.TIMED_OUT
            else:
                return Outcome.DONE
        return Outcome.STOPPED


class Ran(Struct, frozen=True):
    """The result of a command."""

    outcome: Outcome
    code: int | None = None
    why: str = ""
    text: str = ""
    size: int = 0


class Drain(threading.Thread):
    """Reads a stream to its end, so that its writer never waits, and keeps a part of it."""

    def __init__(self, stream: IO[bytes] | None, most: int, *, end: bool = False) -> None:
        super().__init__(daemon=True)
        self.size = 0
        self._stream, self._most, self._end = stream, most, end
        self._kept = b""
        self.start()

    def run(self) -> None:
        assert self._stream
        with self._stream as stream:
            while piece := os.read(stream.fileno(), 65536):
                self.size += len(piece)
                if self._end:
                    self._kept = (self._kept + piece)[-self._most :]
                elif len(self._kept) < self._most:
                    self._kept += piece[: self._most - len(self._kept)]

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").replace("\0", "")


class Log:
    """The last beats, one line of JSON each, in a note that does not grow without end."""

    def __init__(self, notes: Notes) -> None:
        self.notes = notes

    def append(self, beat: Beat) -> None:
        self.notes.add(LOG, json.dumps(asdict(beat)), most=LOG_MOST, kept=LOG_KEPT)

    def read(self) -> list[Beat]:
        """The beats that the note tells of, oldest first; a line that is torn is left out."""
        lines = (self.notes.read(LOG) or b"").decode("utf-8", "replace").splitlines()
        return [beat for line in lines if (beat := _beat_of(line))]


def _beat_of(line: str) -> Beat | None:
    try:
        beat = Beat(**parsed(line))
        parse_stamp(beat.at)
    except (ValueError, TypeError):
        return None
    return beat


def told(notes: Notes) -> str:
    """The heartbeat in a sentence, for who asks how things are; empty when there never was one."""
    beats = Log(notes).read()[-20:]
    if not beats:
        return ""
    bad = sum(beat.outcome in (Outcome.FAILED, Outcome.TIMED_OUT) for beat in beats)
    last = beats[-1]
    why = f" ({last.why})" if last.why else ""
    due = f", next {last.next[:19]}Z" if last.next else ""
    return f"last {last.at[:19]}Z {last.outcome}{why}{due}, {bad} of the last {len(beats)} failed"


def seconds_of(text: str, *, argument: str) -> float:
    """A time such as 90s, 30m, 1h or 1h30m in seconds."""
    found = DURATION.match(text.strip())
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    total = hours * 3600 + minutes * 60 + seconds
    if not total or total > 366 * 86_400:
        raise BadValue(argument, f"{text!r} is no time", next_step="Use 90s, 30m, 1h or 1h30m.")
    return float(total)


def _kept(mind: Any, entry: str) -> str:
    """Write an entry; in a layout that has no diary as records of the kind `heartbeat`."""
    if mind.layout.diary:
        return str(mind.write_diary(entry).document)
    size = mind.options.text_limit
    pieces = [
        piece for at in range(0, len(entry), size) if (piece := entry[at : at + size].strip())
    ]
    records = mind.store_all({"text": piece, "kind": "heartbeat"} for piece in pieces)
    return " ".join(record.id for record in records)


def _compacted(mind: Any, beat: Beat) -> Beat:
    """The last step of a beat; it does not undo the beat when it fails."""
    if not mind.options.memory_compaction_enabled:
        return beat
    report = mind.compact(scheduled=True)
    why = f"the compaction failed: {_short(report.why)}" if report.status == "failed" else ""
    return replace(beat, compacted=report.compacted, why=why)


def _short(text: str) -> str:
    """A text as a log may keep it: one line, no secrets, not long."""
    return one_line(redact(text)[0])[-WHY_MOST:]


def _why(outcome: Outcome, code: int | None, err: str, timeout: float) -> str:
    if outcome == Outcome.TIMED_OUT:
        return f"it took over {timeout:g} s and was ended"
    if outcome == Outcome.FAILED:
        return f"it ended with code {code}: {_short(err)}".rstrip(": ")
    return ""


def _feed(stream: IO[bytes] | None, text: str) -> None:
    assert stream
    try:
        with stream:
            stream.write(text.encode("utf-8", "replace"))
    except OSError:
        # The command did not want to read it all.
        return


def _started(
    command: Sequence[str], environ: Mapping[str, str], holding: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """Start a command in a group of its own, which keeps the lock should we be killed."""
    pipe = subprocess.PIPE
    if os.name == "nt":  # pragma: no cover - another system's branch
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=dict(environ))
    return subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        env=dict(environ),
        start_new_session=True,
        pass_fds=holding,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, and whatever it left behind in its group."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if os.name == "nt":  # pragma: no cover - another system's branch
        process.kill()
        return
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return
