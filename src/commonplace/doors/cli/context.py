"""The command that prints an agent's context in a form that programs take, or explains it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli.main import complain, json_text, open_memory, said
from commonplace.library import accounts
from commonplace.model.errors import BadValue
from commonplace.trust.neutralise import neutralise

if TYPE_CHECKING:
    from commonplace.context.budget import Context, ContextLine
    from commonplace.library.accounts import Account
    from commonplace.memory import Memory

AGENTS = ("session", "conversation", "heartbeat")
FORMATS = ("text", "json", "anthropic", "openai")
UNREAD = "unread"
"""The section that names documents which cannot be read."""
SHOWN = 60
"""Characters of a line in the table."""


def context_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agent", choices=AGENTS, default="session", help="whose context (default session)"
    )
    parser.add_argument(
        "--message", default="", metavar="TEXT", help="the user's message; '-' reads it from stdin"
    )
    parser.add_argument("--system", default="", metavar="FILE", help="a file with a system prompt")
    parser.add_argument("--last", type=int, metavar="N", help="messages of history")
    parser.add_argument("--characters", type=int, metavar="N", help="most characters")
    parser.add_argument("--tokens", type=int, metavar="N", help="most tokens")
    parser.add_argument("--format", choices=FORMATS, default="text", help="how to print it")
    parser.add_argument(
        "--explain", action="store_true", help="each line with its reason, age and cost instead"
    )


def context(arguments: argparse.Namespace) -> int:
    """Print the memory for a prompt; for an agent's run, the whole context around it."""
    message = said(arguments.message)
    system = _text_of(arguments.system) if arguments.system else ""
    with open_memory(arguments, for_tools=True) as memory:
        found = memory.context(
            message,
            agent=arguments.agent,
            characters=arguments.characters,
            tokens=arguments.tokens,
            system=system,
            last=arguments.last,
            dialect=arguments.dialect,
        )
        grounds = _grounds(memory, found) if arguments.explain else {}
        if memory.origin == "agent" and not arguments.explain:
            memory.note_context("brief", found)
    complain(line.text.strip("[]") for line in found.lines if line.section == UNREAD)
    if arguments.explain and not arguments.json:
        print(_table(found, grounds))
    else:
        print(_formatted(found, "json" if arguments.json else arguments.format, grounds))
    return 0


def _text_of(file: str) -> str:
    try:
        with open(os.path.expanduser(file), encoding="utf-8") as text:
            return text.read()
    except (OSError, UnicodeDecodeError) as error:
        why = f"{file} cannot be read ({error})"
        raise BadValue("system", why, next_step="Name a text file.") from None


def _grounds(memory: Memory, found: Context) -> dict[str, Account]:
    """What the lines rest on, by the ids of their records, where something is known of it."""
    ids = [line.record_id for line in found.lines if line.record_id]
    records = memory.library.records_of(ids).values()
    decided = memory.library.approvals.decisions()
    return memory.accounts(each for each in records if each.evidence or each.id in decided)


def _formatted(found: Context, form: str, grounds: Mapping[str, Account]) -> str:
    if form == "text":
        return found.text
    from commonplace.context import agents

    if form == "json":
        return json_text(_data(found, grounds))
    shapes = {"anthropic": agents.as_anthropic, "openai": agents.as_openai}
    return json_text(shapes[form](found))


def _data(found: Context, grounds: Mapping[str, Account]) -> dict[str, Any]:
    return {
        "text": found.text,
        "characters": found.characters,
        "tokens": found.tokens,
        "not_shown": found.not_shown,
        "lines": [_described(line) | _evidence(line, grounds) for line in found.lines],
        "left_out": [_described(line) for line in found.left_out],
    }


def _evidence(line: ContextLine, grounds: Mapping[str, Account]) -> dict[str, Any]:
    account = grounds.get(line.record_id)
    return {"evidence": accounts.data_of(account)} if account else {}


def _described(line: ContextLine) -> dict[str, Any]:
    kept = ("text", "section", "document", "record_id", "reason", "age_days", "tokens", "why")
    return {name: getattr(line, name) for name in kept if getattr(line, name) not in ("", None)}


def _table(found: Context, grounds: Mapping[str, Account]) -> str:
    rows = ["   age  tokens  section      reason: line"]
    for line in found.lines:
        told = grounds[line.record_id].lines() if line.record_id in grounds else []
        rows += [_row(line), *(f"{'':>16}{neutralise(each)}" for each in told)]
    rows.append(f"{found.characters:,} characters, {found.tokens:,} tokens")
    if found.left_out or found.not_shown:
        short = f" {found.not_shown:,} for want of room." if found.not_shown else ""
        rows += ["", f"Left out:{short}"]
        rows += map(_row, _once(found.left_out))
    return "\n".join(rows)


def _once(left_out: Sequence[ContextLine]) -> list[ContextLine]:
    """What was left out, each record once, those of one reason below each other."""
    once = {line.record_id or f"{at} {line.text}": line for at, line in enumerate(left_out)}
    reasons = list(dict.fromkeys(line.why for line in once.values()))
    return sorted(once.values(), key=lambda line: reasons.index(line.why))


def _row(line: ContextLine) -> str:
    age = "" if line.age_days is None else f"{line.age_days} d"
    text = neutralise(" ".join(line.text.split()))
    text = text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
    reason = f"{line.why}, {line.document}" if line.why else line.reason
    return f"{age:>6}  {line.tokens:>6}  {line.section:<11}  {reason}: {text}".rstrip()
