"""The command `rules`, and what `store` and `edit` do for rules that are told at a moment."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.doors.cli.everyday import note_listed
from commonplace.doors.cli.main import is_for_eyes, open_memory, show
from commonplace.model.errors import BadInput, BadValue
from commonplace.model.moments import unknown_tools
from commonplace.model.records import Origin, Record, short_id
from commonplace.tools.hits import described
from commonplace.tools.tool import Answer, Tool
from commonplace.trust.neutralise import one_line
from commonplace.trust.permission import check_must

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.memory.rules_of_files import SuggestedRules

NONE = (
    'No rule has a moment yet. commonplace store "Run the migrations dry first" '
    "--when 'Bash(alembic *)' stores one."
)
LARGEST = 1_000_000
"""Bytes of a file of rules."""


def rules_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="", help="CLAUDE.md, AGENTS.md or the like")
    parser.add_argument("--dry-run", action="store_true", help="show what would be suggested")


def rules(arguments: argparse.Namespace) -> int:
    """List the rules that are told at a moment, and how often each was.

    With a file, suggest the rules that stand as lists in it, each with the moment that the code in
    it names. They wait in 'commonplace review', and nothing of them is told before you approve it.
    """
    if arguments.file:
        return _suggested(arguments)
    with open_memory(arguments) as memory:
        found = memory.rules()
        told = memory.rules_told()
        data = [
            described(record)
            | {"told": told.get(record.id, (0, 0))[0]}
            | {"denied": told.get(record.id, (0, 0))[1]}
            for record in found
        ]
        shown = [f"{line(record)}\n    {_how_often(each)}" for record, each in zip(found, data)]
        if is_for_eyes(arguments):
            note_listed(memory, [record.id for record in found])
            shown = [f"{number:>3} {each}" for number, each in enumerate(shown, start=1)]
        text = "\n".join(shown)
        show(Answer(data, text or NONE), as_json=arguments.json)
    return 0


def _how_often(data: Mapping[str, Any]) -> str:
    denied = f", denied {_times(data['denied'])}" if data["denied"] else ""
    return f"told {_times(data['told'])}{denied}"


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def line(record: Record) -> str:
    """A rule with its moments, as a terminal shows it."""
    when = "; ".join(record.when) or "always"
    must = " (must: denies the first such call)" if record.must else ""
    note = unknown_tools(record.when)
    note = f"\n    {note}" if note else ""
    return f"{short_id(record.id)}  {one_line(record.text)}\n    at {one_line(when)}{must}{note}"


def _suggested(arguments: argparse.Namespace) -> int:
    from commonplace.markdown.rule_lists import list_items

    items = list_items(_read(arguments.file))
    listed = [item for item in items if item.is_rule]
    timed = [rule for rule in listed if rule.when]
    with open_memory(arguments) as memory:
        done = memory.suggest_rules(timed, arguments.file, dry_run=arguments.dry_run)
    data = {
        "suggested": [
            {"text": rule.text, "when": list(rule.when), "line": rule.line} for rule in done.fresh
        ],
        "known": done.waiting + done.decided,
        "waiting": done.waiting,
        "refused": done.refused,
        "without_moment": len(listed) - len(timed),
        "no_rules": len(items) - len(listed),
        "dry_run": arguments.dry_run,
    }
    show(Answer(data, _said(arguments, done, data)), as_json=arguments.json)
    return 0


def _said(arguments: argparse.Namespace, done: SuggestedRules, data: Mapping[str, Any]) -> str:
    name = os.path.basename(arguments.file)
    lines = [
        f"{name}:{each.line}  {one_line(each.text)}\n    at {each.when[0]}" for each in done.fresh
    ]
    lines.append(_outcome(done, dry_run=arguments.dry_run))
    left_out = {
        "no tool, command or path is named: commonplace store TEXT --when MOMENT": "without_moment",
        "not worded as a rule": "no_rules",
        "may not be kept, as for a secret in it": "refused",
    }
    lines += [f"{data[key]} left out: {why}." for why, key in left_out.items() if data[key]]
    return "\n".join(lines)


def _outcome(done: SuggestedRules, *, dry_run: bool) -> str:
    """What became of the rules with moments, in a sentence or two."""
    known = []
    if done.waiting:
        verb = "waits" if done.waiting == 1 else "wait"
        known.append(f"{done.waiting} of these {verb} in 'commonplace review'")
    if done.decided:
        verb = "was" if done.decided == 1 else "were"
        known.append(f"{done.decided} {verb} stored or rejected before")
    if not done.fresh:
        return f"Nothing new: {', '.join(known) or 'no rule names its moment'}."
    count = len(done.fresh)
    rules, waits = ("1 rule", "waits") if count == 1 else (f"{count} rules", "wait")
    waits = "would wait" if dry_run else waits
    way = "." if dry_run else ": 'commonplace review'."
    before = f" Of the others, {', '.join(known)}." if known else ""
    return f"{rules} {waits} for your approval{way}{before}"


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}.", next_step="Name a file of rules."
        ) from None
    if len(data) > LARGEST:
        raise BadInput(f"{path} is larger than 1 MB.", next_step="Name a file of rules.")
    return data.decode("utf-8", "replace")


def stored_to_deny(memory: Memory, tool: Tool, given: Mapping[str, Any]) -> Answer:
    """Store a rule that denies the first call of a session that it fits."""
    check_must(memory.origin, given.get("when", ()))
    answer = tool.call(memory, given)
    record = told_when(memory, memory.get(answer.data["id"]).record, None, must=True)
    return Answer(answer.data | described(record), f"{answer.text} It denies the first such call.")


def told_when(
    memory: Memory, record: Record, when: Sequence[str] | None, *, must: bool | None
) -> Record:
    """The rule with other moments, or as one that denies or no longer does."""
    if must and not (record.when if when is None else when):
        raise BadValue(
            "--must", "the rule has no moment", next_step="Give it one: --when 'Bash(git push*)'."
        )
    if memory.origin != Origin.OWNER:
        # Who does not own it replaces it, as with any other change.
        if must is not None:
            check_must(memory.origin, record.when if when is None else when)
        return memory.supersede(record.id, record.text, when=record.when if when is None else when)
    done = memory.revise(
        record.id, text=record.text, kind=record.kind, tags=record.tags, when=when, must=must
    )
    return done.records[0]
