"""The `session` command: what a session has read that is not the user's own words."""

from __future__ import annotations

import argparse
from typing import Any

from commonplace.doors.cli.main import open_memory, show
from commonplace.doors.cli.parser import Page
from commonplace.model.errors import BadValue
from commonplace.storage.sessions import Session
from commonplace.tools.tool import Answer

ABOUT = "Show what a session has read that is not the user's own words, or say that it has."
MORE = """What a tainted session stores counts as coming from what it read: rules wait for your
approval. Hooks say it by themselves; a program of your own says it with 'session taint'."""


def add(commands: Any, shared: argparse.ArgumentParser) -> None:
    """Add the parser of `session`."""
    parser = commands.add_parser(
        "session",
        help=ABOUT,
        description=f"{ABOUT} {' '.join(MORE.split())}",
        parents=[shared],
        formatter_class=Page,
        allow_abbrev=False,
    )
    parser.add_argument(
        "action", nargs="?", choices=("show", "taint"), default="show", help="else: show"
    )
    parser.add_argument(
        "--what", default="", metavar="TEXT", help="the name of what was read, such as a URL"
    )
    parser.set_defaults(run=session)


def session(arguments: argparse.Namespace) -> int:
    with open_memory(arguments) as memory:
        if not memory.session:
            raise BadValue("--session", "it is missing", next_step="Name the session with it.")
        if arguments.action == "taint":
            memory.taint(arguments.what)
        found = memory.sessions.read(memory.session)
    show(Answer(_data(found), _told(found)), as_json=arguments.json)
    return 0


def _data(found: Session) -> dict[str, Any]:
    read = [{"what": what, "at": at} for what, at in found.taints]
    return {"session": found.id, "tainted": found.tainted, "read": read}


def _told(found: Session) -> str:
    if not found.tainted:
        return f"Session {found.id} has read nothing but the user's own words."
    lines = [f"  {at[:16].replace('T', ' '):16}  {what}" for what, at in found.taints]
    return "\n".join([f"Session {found.id} is tainted. It has read:", *lines])
