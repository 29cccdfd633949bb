"""The command that measures search, on a file of questions or on the vault itself."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from commonplace.doors.admin.evaluate import (
    SYSTEMS,
    Answered,
    Case,
    Doubt,
    Missed,
    cases_in,
    doubt,
    edition,
    run,
    run_self,
    summed,
)
from commonplace.doors.cli.main import open_memory, show
from commonplace.doors.cli.terminal import paint, progress_bar
from commonplace.model.errors import BadValue
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

OF_RECORDS = ("any@1", "any@5", "R@5", "R@10")
OF_SESSIONS = ("any@1", "any@5", "all@5", "R@10")
"""The figures that are printed; JSON has them all."""
IN_CONTEXT = "in context"
SHOWN_MISSES = 20


def evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, help="JSONL of records and questions")
    parser.add_argument(
        "--self", dest="own", action="store_true", help="ask the vault about its own records"
    )
    parser.add_argument("--limit", type=int, default=0, help="only the first so many questions")
    parser.add_argument(
        "--tokens",
        type=int,
        default=2000,
        help="tokens of the context in which evidence is looked for (default 2000; 0: none)",
    )
    parser.add_argument("--seed", type=int, default=1, help="chooses the records of --self")


def evaluate(arguments: argparse.Namespace) -> int:
    """Measure how much search finds, with grep and plain BM25 beside it.

    A file is stored in a temporary vault, a conversation or a haystack at a time, and asked as any
    program would. Questions are told by category; a question without evidence has no answer, and
    search should say so. --self makes questions from half of the words of your own records and
    lists those that search misses.
    """
    if bool(arguments.file) == arguments.own:
        raise BadValue(
            "file",
            "there must be a file of questions or --self, and not both",
            next_step="commonplace eval FILE, or commonplace eval --self.",
        )
    for name, without in (("limit", "to ask everything"), ("tokens", "for 2,000")):
        if getattr(arguments, name) < 0:
            raise BadValue(name, "it is less than 0", next_step=f"Leave it out {without}.")
    return _of_vault(arguments) if arguments.own else _of_file(arguments)


def _of_file(arguments: argparse.Namespace) -> int:
    cases, tokens = cases_in(arguments.file), arguments.tokens
    bar = progress_bar("Asking")
    results = run(cases, limit=arguments.limit, tokens=tokens, progress=bar)
    limit = f" --limit {arguments.limit}" if arguments.limit else ""
    command = f"commonplace eval {arguments.file.name}{limit} --tokens {tokens}"
    data, doubted = _data(results, command), doubt(results)
    lines = [*_headed(data), *_table(data["figures"], "turns", OF_RECORDS)]
    if _has_sessions(cases):
        by_session = _table(data["figures"], "sessions", OF_SESSIONS)
        lines += ["", "The same of sessions, each by its best record:", "", *by_session]
    if tokens:
        lines += ["", f"context: how much of the evidence is in {tokens:,} tokens of a prompt."]
    if doubted:
        data["doubt"] = asdict(doubted)
        lines += ["", *_told_doubt(doubted)]
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


def _of_vault(arguments: argparse.Namespace) -> int:
    with open_memory(arguments) as memory:
        results, missed = run_self(
            memory,
            count=arguments.limit or 100,
            seed=arguments.seed,
            progress=progress_bar("Asking"),
        )
    data = _data(results, f"commonplace eval --self --seed {arguments.seed}")
    data["missed"] = [asdict(each) for each in missed]
    table = _table(data["figures"], "turns", OF_RECORDS)
    count = len({each.question for each in results})
    text = "\n".join([*_headed(data), *table, "", _listed(missed, count)])
    show(Answer(data, text), as_json=arguments.json)
    return 0


def _has_sessions(cases: Sequence[Case]) -> bool:
    return any(turn.session for case in cases for turn in case.turns)


def _data(results: Sequence[Answered], command: str) -> dict[str, Any]:
    return {"command": command, "version": edition(), "figures": summed(results)}


def _headed(data: dict[str, Any]) -> list[str]:
    return [f"{data['command']} ({data['version']})", ""]


def _told_doubt(doubt: Doubt) -> list[str]:
    return [
        f"no answer: for {doubt.doubted} % of the {doubt.unanswered} questions without an answer,",
        "search found nothing or weak hits alone; for "
        f"{doubt.wrongly_doubted} % of its right first hits, too.",
        "A question with an answer has the higher first score than one without in",
        f"{100 * doubt.area:.1f} % of all pairs.",
    ]


def _table(figures: dict[str, Any], level: str, shown: Sequence[str]) -> list[str]:
    """A line a category and system, as markdown."""
    in_context = level == "turns" and any(IN_CONTEXT in each for each in figures.values())
    rows = [["category", "asked", "system", *shown, *(["context"] if in_context else [])]]
    for category, systems in figures.items():
        for system in SYSTEMS:
            numbers = [systems[system][level][name] for name in shown]
            told = [f"{number:.1f}" for number in numbers]
            if in_context:
                told.append(f"{systems[IN_CONTEXT]:.1f}" if system == SYSTEMS[0] else "")
            rows.append([category, str(systems["questions"]), system, *told])
    return _aligned(rows)


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    return [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]


def _listed(missed: Sequence[Missed], count: int) -> str:
    if not count:
        return "There are no records to ask about yet."
    if not missed:
        return f"All {count} were among the first ten."
    lines = [f"{len(missed)} of {count} were not among the first ten:"]
    for each in missed[:SHOWN_MISSES]:
        where = f"number {each.rank}" if each.rank else "not found"
        lines.append(f"- {each.id} {where}: {paint(each.question, 'cyan')}")
        lines.append(f"    {one_line(each.text)[:120]}")
    if len(missed) > SHOWN_MISSES:
        lines.append(f"+{len(missed) - SHOWN_MISSES} more: --json lists them all.")
    lines.append("`commonplace why-not ID QUERY` explains a miss.")
    return "\n".join(lines)
