"""The `conversation` command: a program of one's own, during which no heartbeat begins."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from commonplace.doors.cli.main import open_memory
from commonplace.doors.cli.parser import Page
from commonplace.doors.session_id import new_session
from commonplace.model.errors import BadValue, NotFound

ABOUT = "Run an agent's command as a conversation: no heartbeat begins before it ends."
MORE = """It has this command's standard streams, is passed the signals, and its exit code is this
command's: 128 and the number of a signal that ended it, 127 where there is no such program.
COMMONPLACE_SESSION and COMMONPLACE_VAULT tell it where it is."""
AS_LONG_AS_IT_RUNS = 366 * 86_400.0
"""Seconds: the lease ends with the command, or with this process."""
PASSED_ON = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
FROM_THE_KEYBOARD = ("SIGINT", "SIGQUIT")
"""A terminal sends these to the command itself."""


def add(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the parser of `conversation`."""
    parser = commands.add_parser(
        "conversation",
        help=ABOUT,
        description=f"{ABOUT} {' '.join(MORE.split())}",
        parents=[shared],
        formatter_class=Page,
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the agent's command")
    parser.set_defaults(run=conversation)


def conversation(arguments: argparse.Namespace) -> int:
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
