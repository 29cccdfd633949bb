"""The command of the hooks, as help and completion show it.

A client's hook is read by `doors.hooks` itself, which needs no parser and never fails.
"""

from __future__ import annotations

import argparse
from typing import Any

ABOUT = "Answer a client's hook: JSON on standard input, the client's own form on standard output."
REST = "It ends with 0 whatever happens; 'commonplace doctor' shows what went wrong."


def add(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the parser of `hook`."""
    from commonplace.doors.hooks.main import CLIENTS, EVENTS

    parser = commands.add_parser(
        "hook", help=ABOUT, description=f"{ABOUT} {REST}", parents=[shared], allow_abbrev=False
    )
    parser.add_argument("event", choices=EVENTS, help="what happened")
    parser.add_argument("--client", choices=CLIENTS, default="claude", help="whose hook it is")
    parser.add_argument(
        "--set", action="append", default=[], metavar="OPTION=VALUE", help="an option, as set up"
    )
    parser.set_defaults(run=hook)


def hook(arguments: argparse.Namespace) -> int:
    from commonplace.doors.hooks.main import Asked, run

    return run(
        Asked(
            event=arguments.event,
            client=arguments.client,
            vault=arguments.vault,
            dialect=arguments.dialect,
            session=arguments.session,
            options=tuple(arguments.set),
        )
    )
