"""The command about copies that sync programs put beside documents."""

from __future__ import annotations

import argparse

from msgspec.structs import asdict

from commonplace.doors.cli.main import open_memory, show
from commonplace.library import copies
from commonplace.markdown import record_lines
from commonplace.tools.tool import Answer
from commonplace.trust.safety import one_line


def _conflicts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", metavar="COPY", help="only these; none: all there are")
    parser.add_argument("--merge", action="store_true", help="unite them with their documents")


def conflicts(arguments: argparse.Namespace) -> int:
    """List the copies that sync programs made of documents, and what each has that is new.

    With --merge each is united with its document and taken away: nothing of either is dropped, and
    what was deleted here stays deleted. Can be undone.
    """
    with open_memory(arguments) as memory:
        memory.library.refresh()
        names = arguments.name or list(copies.copies_in(memory.library))
        if arguments.merge:
            done = memory.unite_copies(names)
        else:
            done = [copies.preview(memory.library, name) for name in names]
    said = "added to" if arguments.merge else "lacking in"
    rows = []
    for each in done:
        new = [f"  + {one_line(record_lines.plain(line))}" for line in each.added]
        rows += [f"{each.copy}: {len(each.added)} lines {said} {each.document}", *new]
    text = "\n".join(rows) or "No sync program has left a copy of a document."
    show(Answer([asdict(each) for each in done], text), as_json=arguments.json)
    return 0


COMMANDS = {"conflicts": (conflicts, _conflicts_arguments)}
"""What each command runs, and what adds its arguments."""
