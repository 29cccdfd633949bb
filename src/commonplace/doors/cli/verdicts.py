"""The commands that say of memories that they helped, or are wrong; and `pin`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.doors.caller import require_person
from commonplace.doors.cli import pages
from commonplace.doors.cli.everyday import meant
from commonplace.doors.cli.main import is_for_eyes, open_memory, show
from commonplace.doors.cli.terminal import answer_to, at_terminal
from commonplace.model.errors import BadValue
from commonplace.model.records import Origin
from commonplace.tools.hits import described, standing
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.library.revising import Revised
    from commonplace.memory import Memory
    from commonplace.model.records import Record


def _ids_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", nargs="+", metavar="ID", help="a number of the last list, 'last', or an id"
    )


def _pin_arguments(parser: argparse.ArgumentParser) -> None:
    _ids_arguments(parser)
    parser.add_argument("--as-owner", action="store_true", help="do it without a terminal")


useful_arguments = _ids_arguments
pin_arguments = unpin_arguments = _pin_arguments


def useful(arguments: argparse.Namespace) -> int:
    """Say that memories helped. What helped is told a little sooner."""
    with open_memory(arguments) as memory:
        done = memory.judge("useful", *_ids(memory, arguments))
        return _told(memory, done, "Noted as useful", arguments)


def wrong_arguments(parser: argparse.ArgumentParser) -> None:
    _ids_arguments(parser)
    parser.add_argument("--instead", default="", metavar="TEXT", help="what is so instead")


def wrong(arguments: argparse.Namespace) -> int:
    """Say that memories are wrong, and what is so instead.

    At a terminal you are asked for the correction. It takes the memory's place, as with 'edit'.
    """
    if arguments.instead and len(arguments.id) > 1:
        step = "Say it of one memory at a time."
        raise BadValue("--instead", "it corrects one memory", next_step=step)
    with open_memory(arguments) as memory:
        ids, text = _ids(memory, arguments), arguments.instead
        # Who may not replace it has said nothing of it either.
        new = [memory.supersede(ids[0], text)] if text else []
        done = memory.judge("wrong", *ids)
        left = []
        for old in done.records if not new else ():
            if said := _asked_instead(old, arguments):
                new.append(memory.supersede(old.id, said))
            else:
                left.append(old)
        return _told(memory, done, "Noted as wrong", arguments, new=new, left=left)


def _asked_instead(record: Record, arguments: argparse.Namespace) -> str:
    """What the person at a terminal says is so instead of a record; empty without one."""
    if not (at_terminal() and is_for_eyes(arguments)):
        return ""
    print("\n".join(pages.wrapped(one_line(record.text))))
    try:
        return answer_to("What is so instead? Enter leaves it out. ")
    except EOFError:
        return ""


def pin(arguments: argparse.Namespace) -> int:
    """Let memories be told before all others when a session begins. Can be undone."""
    with open_memory(arguments) as memory:
        _check_owner(memory, arguments)
        done = memory.pin(*_ids(memory, arguments))
        return _told(memory, done, "Pinned", arguments)


def unpin(arguments: argparse.Namespace) -> int:
    """Let pinned memories be told like others again. Can be undone."""
    with open_memory(arguments) as memory:
        _check_owner(memory, arguments)
        done = memory.unpin(*_ids(memory, arguments))
        return _told(memory, done, "No longer pinned", arguments, same="Not pinned")


def _check_owner(memory: Memory, arguments: argparse.Namespace) -> None:
    """Let a script of the person's pin, but none that an agent started."""
    if arguments.as_owner:
        require_person("pin a memory", memory.notes)
        memory.origin = Origin.OWNER


def _ids(memory: Memory, arguments: argparse.Namespace) -> list[str]:
    return [memory.get(meant(memory, each)).record.id for each in arguments.id]


def _told(
    memory: Memory,
    done: Revised,
    said: str,
    arguments: argparse.Namespace,
    *,
    new: Sequence[Record] = (),
    left: Sequence[Record] = (),
    same: str = "",
) -> int:
    """Print what was noted of memories, what is so instead, and how to correct those left.

    `same` is what to say where nothing changed.
    """
    title = f"{said}:" if done.change >= 0 else f"{same or f'{said} before'}:"
    told = list(map(described, done.records))
    data: dict[str, Any] = {"records": told, "change": done.change if done.change >= 0 else None}
    lines = [title, *(_plain(each) for each in done.records)]
    if is_for_eyes(arguments):
        lines = [title, *(line for each in told for line in pages.memory(each, memory.clock))]
    if new:
        data["instead"] = list(map(described, new))
        lines += ["It now says:", *(f"  {one_line(each.text)}" for each in new)]
    lines += [
        f"What is so instead? 'commonplace edit {key(each.id)} TEXT' corrects it."
        for key in (_key(arguments),)
        for each in left
    ]
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


def _key(arguments: argparse.Namespace) -> Callable[[str], str]:
    """How an id is written: in short for a person, whole for a program."""
    return pages.short_id if is_for_eyes(arguments) else str


def _plain(record: Record) -> str:
    said = ", ".join(standing(record))
    return f"  {one_line(record.text)} [{record.id}]" + (f" ({said})" if said else "")
