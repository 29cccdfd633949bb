"""The commands of upkeep: looking a vault over, and mending what was found.

Each is a parser and a few lines that call the core and print.
"""

from __future__ import annotations

import argparse

from commonplace.dialects import Answer
from commonplace.doors.cli import open_memory, show
from commonplace.doors.cli.terminal import paint


def _scan_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kind", action="append", default=[], help="only this kind of finding; may be repeated"
    )


def scan(arguments: argparse.Namespace) -> int:
    """What is no longer true, said twice or hangs in the air, each with the command that mends it.

    Changes nothing. The exit code is 0 whether or not there are findings.
    """
    with open_memory(arguments) as memory:
        findings = memory.scan(*arguments.kind)
    lines = []
    for finding in findings:
        where = ", ".join(finding.places)
        lines.append(f"{paint(finding.kind, 'cyan')}  {where}{': ' * bool(where)}{finding.what}")
        lines.append(f"    {paint(finding.fix, 'yellow')}")
    shown = "\n".join(lines) or "Nothing was found."
    show(Answer([finding.__dict__ for finding in findings], shown), as_json=arguments.json)
    return 0


def _strike_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="+", help="the records")


def strike(arguments: argparse.Namespace) -> int:
    """Take records out of every document. Can be undone; 'forget' erases for good."""
    with open_memory(arguments) as memory:
        memory.strike(arguments.id)
    text = f"Struck {', '.join(arguments.id)}; 'commonplace undo' brings back."
    show(Answer({"ids": arguments.id}, text), as_json=arguments.json)
    return 0


def _unlink_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the record that says it replaces another")


def unlink(arguments: argparse.Namespace) -> int:
    """Let a record no longer replace another. Can be undone."""
    with open_memory(arguments) as memory:
        memory.unlink(arguments.id)
    text = f"{arguments.id} replaces nothing now."
    show(Answer({"id": arguments.id}, text), as_json=arguments.json)
    return 0


COMMANDS = {
    "scan": (scan, _scan_arguments),
    "strike": (strike, _strike_arguments),
    "unlink": (unlink, _unlink_arguments),
}
"""What each command runs, and what adds its arguments."""
