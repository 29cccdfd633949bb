"""The command that says what a memory rests on, and whether that is as it was."""

from __future__ import annotations

import argparse

from commonplace.doors.cli.everyday import meant
from commonplace.doors.cli.main import open_memory, show
from commonplace.model.errors import BadValue
from commonplace.tools.cited import data_of, lines_of
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

NOTHING = "It rests on no file. 'commonplace cite ID FILE:LINES' adds one."


def cite_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a number of the last list, 'last', or an id")
    parser.add_argument(
        "file", nargs="*", metavar="FILE[:LINES]", help="such as src/app.py:12-30 or USER.md:4"
    )
    parser.add_argument(
        "--renew",
        nargs="*",
        metavar="FILE[:LINES]",
        help="cite the same lines as they are now; none named: all",
    )
    parser.add_argument(
        "--drop",
        nargs="*",
        metavar="FILE[:LINES]",
        help="rest on these no longer; none named: on nothing",
    )


def cite(arguments: argparse.Namespace) -> int:
    """Show the files that a memory rests on and whether they changed; add, renew or drop one.

    Only a hash of a file is kept, and nothing of what it says is shown. Can be undone.
    """
    renewed, dropped = arguments.renew is not None, arguments.drop is not None
    if renewed + dropped + bool(arguments.file) > 1:
        step = "Add, renew or drop, one at a time."
        raise BadValue("cite", "it does one thing at a time", next_step=step)
    with open_memory(arguments) as memory:
        key = meant(memory, arguments.id)
        if renewed:
            memory.renew_citations(key, *arguments.renew)
        elif dropped:
            memory.drop_citations(key, *arguments.drop)
        elif arguments.file:
            memory.cite(key, *arguments.file)
        record = memory.get(key).record
        found = memory.standings(record)
    data = {"id": record.id, "citations": [data_of(each) for each in found]}
    lines = [one_line(record.text), *(f"  {line}" for line in lines_of(found) or [NOTHING])]
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0
