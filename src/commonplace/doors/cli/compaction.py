"""The commands of compaction: summing up old records, and unfolding a summary again.

Each is a parser and a few lines that call the core and print.
"""

from __future__ import annotations

import argparse
import re

from msgspec.structs import asdict

from commonplace.doors.cli.main import open_memory, show
from commonplace.model.errors import BadValue
from commonplace.tools.tool import Answer
from commonplace.trust.safety import one_line

AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([dwmy]?)\Z")
DAYS = {"": 1.0, "d": 1.0, "w": 7.0, "m": 30.0, "y": 365.0}


def _compact_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would become what")
    parser.add_argument("--force", action="store_true", help="without waiting for a threshold")
    parser.add_argument(
        "--older-than", metavar="AGE", default="", help="such as 30d, 6w, 3m or 1y; else the option"
    )


def compact(arguments: argparse.Namespace) -> int:
    """Let old records of the main document become summaries. Can be undone.

    What was learned, preferences, instructions and anything recent or sensitive stays. 'expand'
    shows what a summary was made from.
    """
    from commonplace.upkeep.compaction.reports import described

    age = _days(arguments.older_than) if arguments.older_than else None
    with open_memory(arguments) as memory:
        if arguments.dry_run:
            plan, shown = memory.plan_compaction(min_age_days=age)
            data = {
                "leaving": plan.leaving,
                "summaries": [
                    {"text": summary.text, "sources": summary.sources} for summary in plan.summaries
                ],
            }
            show(Answer(data, f"{shown}\n{plan.sentence}".strip()), as_json=arguments.json)
            return 0
        report = memory.compact(forced=arguments.force, min_age_days=age)
        may_force = memory.layout.memory and not arguments.force
        said = described(report, memory.clock.day_of)
    hint = " Repeat with --force." if report.status == "skipped" and may_force else ""
    text = f"Compaction {said}.{hint}".replace("..", ".")
    show(Answer(asdict(report), text), as_json=arguments.json)
    return 1 if report.status == "failed" else 0


def _days(age: str) -> float:
    match = AGE.match(age.strip().lower())
    if match is None:
        raise BadValue("older-than", f"{age!r} is no age", next_step="Use days: 30d, or 6w, 1y.")
    return float(match[1]) * DAYS[match[2]]


def _expand_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", help="a summary's id; with --restore, any record's")
    parser.add_argument(
        "--restore", action="store_true", help="put it, or what it was made from, back"
    )


def expand(arguments: argparse.Namespace) -> int:
    """What a summary was made from, each record exactly as it was."""
    with open_memory(arguments) as memory:
        hit = memory.library.index.get(arguments.id) if arguments.restore else None
        if arguments.restore and not (hit and hit.record.sources):
            return _restored(memory.bring_back([arguments.id]), arguments)
        sources = memory.expand(arguments.id)
        if arguments.restore:
            back = [source.id for source in sources if source.record]
            return _restored(memory.bring_back(back), arguments)
        day_of = memory.clock.day_of
    lines = []
    for source in sources:
        record = source.record
        day = day_of(record.timestamp) if record else ""
        said = f"{day} {record.kind}: {one_line(record.text)}" if record else "was forgotten"
        lines.append(f"{source.id}  {said}")
    data = [
        {
            "id": source.id,
            "record": source.record and {"text": source.record.text, **source.record.data()},
            "documents": source.documents,
        }
        for source in sources
    ]
    text = "\n".join(lines) or f"{arguments.id} is no summary: it was made from nothing else."
    show(Answer(data, text), as_json=arguments.json)
    return 0


def _restored(ids: tuple[str, ...], arguments: argparse.Namespace) -> int:
    text = f"Put back {', '.join(ids)}." if ids else "Everything of it is there already."
    show(Answer({"restored": ids}, text), as_json=arguments.json)
    return 0


COMMANDS = {
    "compact": (compact, _compact_arguments),
    "expand": (expand, _expand_arguments),
}
"""What each command runs, and what adds its arguments."""
