"""The `heartbeat` command: parses times, catches the signals that end it, prints each beat."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.cli.main import open_memory
from commonplace.doors.cli.parser import Page
from commonplace.doors.cli.signals import stopped_by_signals
from commonplace.model.errors import BadValue

if TYPE_CHECKING:
    from commonplace.upkeep.heartbeat import Beat

ABOUT = "Give the heartbeat context to an agent's command from time to time; keep its diary."
MORE = """The command gets the context on its standard input. What it writes between <diary> and
</diary> to its standard output becomes a diary entry. While a conversation is running the beat is
left out; two beats never overlap."""
CODES = {"done": 0, "failed": 1, "skipped": 5, "overlapping": 5, "timed out": 124, "stopped": 130}


def add(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the parser of `heartbeat`."""
    parser = commands.add_parser(
        "heartbeat",
        help=ABOUT,
        description=f"{ABOUT} {' '.join(MORE.split())}",
        epilog="With --once: 0 done, 1 the command failed, 5 left out, 124 ended after its time.",
        parents=[shared],
        formatter_class=Page,
        allow_abbrev=False,
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
    parser.set_defaults(run=heartbeat)


def heartbeat(arguments: argparse.Namespace) -> int:
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
