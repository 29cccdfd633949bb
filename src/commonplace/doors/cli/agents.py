"""The commands that run an agent's program: `heartbeat` from time to time, `conversation` once."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from commonplace.doors.cli.main import open_memory
from commonplace.doors.cli.terminal import stopped_by_signals
from commonplace.doors.session_id import new_session
from commonplace.model.errors import BadValue, NotFound

if TYPE_CHECKING:
    from commonplace.upkeep.heartbeat import Beat

CODES = {"done": 0, "failed": 1, "skipped": 5, "overlapping": 5, "timed out": 124, "stopped": 130}
AS_LONG_AS_IT_RUNS = 366 * 86_400.0
"""Seconds: the lease ends with the command, or with this process."""
PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
FROM_THE_KEYBOARD = ("SIGINT", "SIGQUIT")
"""A terminal sends these to the command itself."""


def heartbeat_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "With --once: 0 done, 1 the command failed, 5 left out, 124 ended after its time."
    )
    when = parser.add_mutually_exclusive_group(required=True)
    when.add_argument("--every", metavar="TIME", help="how often: 90s, 30m, 1h")
    when.add_argument("--once", action="store_true", help="one beat, for cron")
    parser.add_argument(
        "--timeout", default="10m", metavar="TIME", help="longest time of the command (default 10m)"
    )
    parser.add_argument("--prompt", metavar="FILE", help="a heartbeat prompt of your own")
    parser.add_argument(
        "--diary-from-output", action="store_true", help="without the tags, all of the output"
    )
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the agent's command")


def heartbeat(arguments: argparse.Namespace) -> int:
    """Run an agent's command from time to time with the heartbeat context, and keep its diary.

    The command gets the context on its standard input. What it writes between <diary> and
    </diary> to its standard output becomes a diary entry. While a conversation is running the beat
    is left out; two beats never overlap.
    """
    from commonplace.upkeep.heartbeat import Heartbeat, seconds_of

    every = seconds_of(arguments.every, argument="--every") if arguments.every else 0.0
    timeout = seconds_of(arguments.timeout, argument="--timeout")
    prompt = _prompt(arguments.prompt) if arguments.prompt else ""
    with open_memory(arguments) as memory:
        beating = Heartbeat(
            memory,
            arguments.command,
            timeout=timeout,
            prompt=prompt,
            diary_from_output=arguments.diary_from_output,
        )
        stopped_by_signals(beating.stop)
        if arguments.once:
            beat = beating.tick()
            _print(beat, as_json=arguments.json)
            return CODES[beat.outcome]
        beating.run(every, after=lambda beat: _print(beat, as_json=arguments.json))
    return 0


def _prompt(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadValue(
            "--prompt", f"{path} cannot be read ({error})", next_step="Name another file."
        ) from None


def _print(beat: Beat, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(asdict(beat)), flush=True)
        return
    parts = [f"{beat.at[:19]}Z", beat.outcome, f"{beat.seconds:.1f} s", beat.why, beat.diary]
    print("  ".join(filter(None, parts)), flush=True)


def conversation_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the agent's command")


def conversation(arguments: argparse.Namespace) -> int:
    """Run an agent's command as a conversation: no heartbeat begins before it ends.

    It gets the standard streams and the signals of this one. Its exit code is passed on: 128 plus
    the number of the signal that ended it, 127 if there is no such program. COMMONPLACE_SESSION
    and COMMONPLACE_VAULT tell it where it is.
    """
    arguments.session = arguments.session or new_session("conversation")
    with open_memory(arguments) as memory:
        talk = memory.conversations
        told = {"COMMONPLACE_SESSION": memory.session, "COMMONPLACE_VAULT": memory.place}
        with talk.held(AS_LONG_AS_IT_RUNS):
            code = _run(arguments.command, {**os.environ, **told})
        # What the command noted of itself ends with it.
        talk.end()
    return code


def _run(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """The exit code of a command, as a shell would tell it."""
    with _signals() as kept:
        try:
            process = subprocess.Popen(command, env=dict(environ))
        except FileNotFoundError:
            raise NoSuchProgram(command[0]) from None
        except OSError as error:
            why = f"{command[0]} cannot be run ({error.strerror})"
            raise BadValue("command", why, next_step="Name a program.") from None
        kept.append(process)
        code = process.wait()
    return code if code >= 0 else 128 - code


class NoSuchProgram(NotFound):
    """There is no program of that name."""

    exit_code = 127

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no program {name}.", next_step="Name one with its path.")


@contextmanager
def _signals() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Pass on to the process in the list what this one is told."""
    running: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: object) -> None:
        for process in running:
            process.send_signal(number)

    typed = signal.SIG_IGN if os.isatty(0) else pass_on
    wanted = dict.fromkeys(PASSED_ON, pass_on) | dict.fromkeys(FROM_THE_KEYBOARD, typed)
    before = {
        number: signal.signal(number, handler)
        for name, handler in wanted.items()
        if (number := getattr(signal, name, None)) is not None
    }
    try:
        yield running
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
