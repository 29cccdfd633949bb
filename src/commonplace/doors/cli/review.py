"""The commands about what a memory rests on, and what waits for a person's approval."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from commonplace.doors.cli.main import open_memory, show
from commonplace.doors.cli.terminal import agrees, at_terminal
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, Conflict, NotWaiting
from commonplace.model.lazy import Lazy
from commonplace.model.records import Record
from commonplace.tools.native import described
from commonplace.tools.tool import Answer
from commonplace.trust.safety import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.library import accounts
    from commonplace.library.accounts import Account
else:
    accounts = Lazy("library.accounts")

PAST = {"approve": "Approved", "reject": "Rejected"}


def waiting_of(memory: Memory, arguments: argparse.Namespace) -> list[Record]:
    """What waits: all of it, or what has these parts of ids."""
    parts = [part.removeprefix("#") for part in arguments.id]
    every = memory.review()
    return [each for each in every if not parts or any(part in each.id for part in parts)]


def listed(memory: Memory, arguments: argparse.Namespace) -> int:
    """Show what waits, each with what the user said and what an approval would change."""
    waiting = waiting_of(memory, arguments)
    reasons, rests = memory.review_reasons(), memory.accounts(waiting)
    lines = [_told(each, rests[each.id], reasons.get(each.id, "")) for each in waiting]
    if waiting:
        lines.append(
            "'commonplace review ID… --approve' or '--reject' decides on some, '--all' on all."
        )
    data = [_data(each, rests[each.id], reasons.get(each.id, "")) for each in waiting]
    text = "\n".join(lines) or "Nothing waits for approval."
    show(Answer(data, text), as_json=arguments.json)
    return 0


def decide(memory: Memory, arguments: argparse.Namespace) -> int:
    """Approve or reject what is named, or all, or of each in turn what the person says yes to."""
    waiting = memory.review()
    if arguments.id:
        waiting = _named(memory, waiting, arguments.id)
    in_turn = not (arguments.id or arguments.all)
    if in_turn and waiting:
        _check_can_ask(waiting, arguments)
    asked = [[record] for record in waiting] if in_turn else [waiting]
    data = [each for some in asked for each in _decided(memory, some, arguments, in_turn=in_turn)]
    only = data[0] if len(data) == 1 and arguments.id else data
    if arguments.json:
        show(Answer(only, ""), as_json=True)
    elif not waiting:
        print("Nothing waits for approval.")
    return 0


def _named(memory: Memory, waiting: Sequence[Record], parts: Iterable[str]) -> list[Record]:
    known = {record.id: record for record in waiting}
    keys = dict.fromkeys(map(memory.meant_of_held, parts))
    if unknown := [key for key in keys if key not in known]:
        raise NotWaiting(unknown)
    return [known[key] for key in keys]


def _check_can_ask(waiting: Sequence[Record], arguments: argparse.Namespace) -> None:
    if arguments.yes or not at_terminal():
        named = ", ".join(record.id for record in waiting)
        raise BadValue(
            "ID",
            f"none is named. These wait: {named}",
            next_step=f"Say which, 'commonplace review ID… --{_deed(arguments)}', or --all.",
        )


def _decided(
    memory: Memory, waiting: Sequence[Record], arguments: argparse.Namespace, *, in_turn: bool
) -> list[dict[str, object]]:
    """Show records, ask where there is somebody to ask, and decide on them as they were shown."""
    rests, reasons = memory.accounts(waiting), memory.review_reasons()
    for each in waiting:
        print(_told(each, rests[each.id], reasons.get(each.id, "")), file=_aside(arguments))
    deed = _deed(arguments)
    if waiting and not _agreed(f"{deed.title()} {_these(waiting)}?", arguments):
        if not in_turn:
            raise Conflict(
                "Nothing was decided.", next_step="Repeat it when you have looked, or say --yes."
            )
        print("It still waits.", file=_aside(arguments))
        return []
    decided = memory.decide(deed, [each.id for each in waiting], shown=waiting)
    for record in decided:
        print(f"{PAST[deed]} {record.id}.", file=_aside(arguments))
    return [
        described(record) | {"account": accounts.data_of(rests[record.id])} for record in decided
    ]


def _deed(arguments: argparse.Namespace) -> str:
    return "approve" if arguments.approve else "reject"


def _these(waiting: Sequence[Record]) -> str:
    return waiting[0].id if len(waiting) == 1 else f"these {len(waiting)}"


def _agreed(question: str, arguments: argparse.Namespace) -> bool:
    return arguments.yes or not at_terminal() or agrees(question)


def _aside(arguments: argparse.Namespace) -> TextIO:
    """Where to tell what is decided on: beside the JSON, if that is asked for."""
    return sys.stderr if arguments.json else sys.stdout


def _told(record: Record, account: Account, reason: str) -> str:
    head = (
        f"{record.id}  {record.timestamp[:16]}  from {record.origin}, session "
        f"{one_line(record.session) or 'unknown'}" + (f"; {reason}" if reason else "")
    )
    shown = [line for line in account.lines() if not line.startswith("the agent's wording: ")]
    rest = [f"    {neutralise(line)}" for line in shown]
    return "\n".join([head, f"    {record.kind}: {neutralise(record.text)}", *rest])


def _data(record: Record, account: Account, reason: str) -> dict[str, object]:
    return described(record) | {"why": reason, "account": accounts.data_of(account)}


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="the record, or 6 or more characters of its id")


def show_record(arguments: argparse.Namespace) -> int:
    """Show one memory: where it stands, the user's message and sentence, the agent's wording."""
    with open_memory(arguments) as memory:
        record, places = memory.one(arguments.id)
        account = memory.accounts([record])[record.id]
    where = [f"{place.document}:{place.line}" for place in places]
    about = ", ".join((record.kind, *record.tags, f"from {record.origin}"))
    session = f", session {record.session}" if record.session else ""
    lines = [
        f"{record.id}  {record.timestamp[:16]}  {one_line(about + session)}",
        f"    {neutralise(record.text)}",
        *(f"    {neutralise(line)}" for line in account.lines()),
        *([f"    stands in {one_line(', '.join(where))}"] if where else []),
    ]
    data = described(record) | {"places": where, "account": accounts.data_of(account)}
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


COMMANDS = {"show": (show_record, _show_arguments)}
