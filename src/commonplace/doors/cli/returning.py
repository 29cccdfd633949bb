"""The command about what other programs' saves took out of the documents.

It lists what was taken out and puts it back; when a line counts as taken out is not known here.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from commonplace.doors.cli.main import open_memory, show
from commonplace.library import undo
from commonplace.markdown import record_lines
from commonplace.model.errors import BadValue
from commonplace.tools.tool import Answer
from commonplace.trust.safety import one_line

if TYPE_CHECKING:
    from commonplace.memory import Memory


def _put_back_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", nargs="?", type=int, metavar="NUMBER", help="none: list them")
    parser.add_argument(
        "--dismiss", action="store_true", help="leave it out, and say no more of it"
    )


def put_back(arguments: argparse.Namespace) -> int:
    """Put back lines that another program's save took out soon after they were written.

    Such a save may have deleted them, or have been made from an older text. The lines go to the
    end of their document. Can be undone.
    """
    if arguments.dismiss and arguments.change is None:
        raise BadValue("NUMBER", "it is missing", next_step="commonplace put-back lists them.")
    with open_memory(arguments) as memory:
        memory.library.refresh()
        if arguments.change is None:
            answer = _listed(memory)
        elif arguments.dismiss:
            memory.dismiss(arguments.change)
            answer = Answer({"dismissed": arguments.change}, "It stays as the save left it.")
        else:
            back = [record_lines.plain(line).strip() for line in memory.put_back(arguments.change)]
            said = "\n".join(map(one_line, back))
            answer = Answer(
                {"put_back": back}, f"Put back:\n{said}" if back else "It is all there."
            )
    show(answer, as_json=arguments.json)
    return 0


def _listed(memory: Memory) -> Answer:
    data, rows = [], []
    for notice in memory.notices():
        if not notice.pieces:
            continue
        taken = undo.taken_lines(memory.library, notice).values()
        said = [one_line(record_lines.plain(line).strip()) for line in taken]
        rows += [f"{notice.change}  {notice.document}, {notice.at}", *(f"    {it}" for it in said)]
        data.append({"change": notice.change, "document": notice.document, "lines": said})
    text = "\n".join(rows) or "No save has taken out what was just written."
    return Answer(data, text)


COMMANDS = {"put-back": (put_back, _put_back_arguments)}
"""What each command runs, and what adds its arguments."""
