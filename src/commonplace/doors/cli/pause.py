"""The commands `pause` and `resume`: times in which memory records and tells nothing."""

from __future__ import annotations

import argparse

from msgspec.structs import asdict

from commonplace.doors import caller
from commonplace.doors.cli.main import open_memory, show
from commonplace.model.errors import NotFound
from commonplace.tools.tool import Answer


def pause_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "With --session ID only that session is paused. 'commonplace resume' ends it."
    parser.add_argument(
        "--for", dest="time", default="", metavar="TIME", help="end by itself after 30m, 2h …"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for yourself")


def pause(arguments: argparse.Namespace) -> int:
    """Record and tell nothing until 'resume': no memory, no history, no prompt."""
    from commonplace.memory.pausing import sentence
    from commonplace.upkeep.heartbeat import seconds_of

    seconds = seconds_of(arguments.time, argument="--for") if arguments.time else 0.0
    with open_memory(arguments) as memory:
        begun = memory.pause(_named(arguments), seconds=seconds, reason=arguments.reason)
        text = sentence(begun, memory.clock)
    show(Answer(asdict(begun), text), as_json=arguments.json)
    return 0


def resume(arguments: argparse.Namespace) -> int:
    """End a pause: memory records and tells again. Without --session, every pause ends."""
    with open_memory(arguments) as memory:
        caller.require_person("end a pause", memory.notes)
        ended = memory.resume(_named(arguments) or None)
        still = memory.paused_outside
    if not ended and not still:
        raise NotFound("Memory is not paused.", next_step="'commonplace pause' begins a pause.")
    text = "Memory records and tells again."
    if still:
        text = "This program stays paused while COMMONPLACE_PAUSED is set. Unset it."
    show(Answer({"ended": [asdict(each) for each in ended]}, text), as_json=arguments.json)
    return 0


def _named(arguments: argparse.Namespace) -> str:
    """The session that is named with the command; that of an agent's client is not meant."""
    import os

    outside = ("COMMONPLACE_SESSION", "CLAUDE_CODE_SESSION_ID")
    given = str(arguments.session)
    return "" if given in filter(None, map(os.environ.get, outside)) else given
