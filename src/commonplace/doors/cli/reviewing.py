"""The commands about what a memory rests on, and what waits for a person's approval."""

from __future__ import annotations

import argparse

from commonplace.dialects import Answer
from commonplace.dialects.native import described
from commonplace.doors.cli import open_memory, show
from commonplace.errors import NoSuchRecord
from commonplace.hints import TYPE_CHECKING
from commonplace.lazily import Lazy
from commonplace.memory import Memory
from commonplace.records import Record
from commonplace.safety import neutralise, one_line

if TYPE_CHECKING:
    from commonplace import accounts
    from commonplace.accounts import Account
else:
    accounts = Lazy("accounts")


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
    """Approve or reject some or all of what waits, and show each as it was decided on."""
    waiting = memory.review()
    if not arguments.all:
        waiting = [_meant(memory, waiting, part) for part in dict.fromkeys(arguments.id)]
    rests, reasons = memory.accounts(waiting), memory.review_reasons()
    word = "Approved" if arguments.approve else "Rejected"
    lines, data = [], []
    for record in waiting:
        decided = (memory.approve if arguments.approve else memory.reject)(record.id)
        told = _told(record, rests[record.id], reasons.get(record.id, ""))
        lines.append(f"{told}\n{word} {decided.id}.")
        data.append(described(decided) | {"account": accounts.data_of(rests[record.id])})
    only = data[0] if len(data) == 1 and not arguments.all else data
    show(Answer(only, "\n".join(lines) or "Nothing waits for approval."), as_json=arguments.json)
    return 0


def _meant(memory: Memory, waiting: list[Record], part: str) -> Record:
    key = memory.meant_of_held(part)
    found = next((record for record in waiting if record.id == key), None)
    if found is None:
        raise NoSuchRecord(part)
    return found


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
