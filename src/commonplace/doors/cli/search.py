"""The commands about search itself: why a record is missed, how much is found, models to fetch."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.cli.main import open_memory, show
from commonplace.doors.cli.terminal import paint, progress_bar
from commonplace.model.errors import BadValue
from commonplace.storage.machine_files import make_private
from commonplace.storage.trusted import data_directory
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.doors.admin.evaluate import Answered, Missed

COLUMNS = (
    ("turns", "R@5"),
    ("turns", "R@10"),
    ("turns", "NDCG@10"),
    ("turns", "MRR"),
    ("sessions", "R@10"),
    ("sessions", "any@1"),
    ("sessions", "any@5"),
    ("sessions", "all@5"),
)
SHOWN_MISSES = 20


def why_not_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the record that should have been found")
    parser.add_argument("query", metavar="QUERY", help="what was searched for")
    parser.add_argument("--limit", type=int, default=20, help="most results (default 20)")


def why_not(arguments: argparse.Namespace) -> int:
    """Explain why a search does not show a record."""
    with open_memory(arguments) as memory:
        miss = memory.why_not(arguments.id, arguments.query, limit=arguments.limit)
    lines = list(miss.reasons) or [f"It is found, as number {miss.rank}."]
    if miss.why:
        from commonplace.search.reasons import label

        parts = ", ".join(f"{label(name)} {part:+.2f}" for name, part in miss.why)
        lines.append(f"What counts for it: {parts}.")
    data = {
        "id": miss.id,
        "found": miss.found,
        "rank": miss.rank,
        "reasons": miss.reasons,
        "why": dict(miss.why),
    }
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


def evaluate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, help="JSONL of records and questions")
    parser.add_argument(
        "--self", dest="own", action="store_true", help="ask the vault about its own records"
    )
    parser.add_argument("--limit", type=int, default=0, help="only the first so many questions")
    parser.add_argument("--seed", type=int, default=1, help="chooses the records of --self")


def evaluate(arguments: argparse.Namespace) -> int:
    """Measure how much search finds, with grep and plain BM25 beside it.

    A file is stored in a temporary vault, a conversation or a haystack at a time, and asked as any
    program would. --self makes questions from half of the words of your own records and lists those
    that search misses.
    """
    if bool(arguments.file) == arguments.own:
        raise BadValue(
            "file",
            "there must be a file of questions or --self, and not both",
            next_step="commonplace eval FILE, or commonplace eval --self.",
        )
    if arguments.limit < 0:
        raise BadValue("limit", "it is less than 0", next_step="Leave it out to ask everything.")
    return _of_vault(arguments) if arguments.own else _of_file(arguments)


def _of_file(arguments: argparse.Namespace) -> int:
    from commonplace.doors.admin.evaluate import cases_in, run

    cases = cases_in(arguments.file)
    results = run(cases, limit=arguments.limit, progress=progress_bar("Asking"))
    limit = f" --limit {arguments.limit}" if arguments.limit else ""
    _show(results, (), f"commonplace eval {arguments.file.name}{limit}", arguments)
    return 0


def _of_vault(arguments: argparse.Namespace) -> int:
    from commonplace.doors.admin.evaluate import run_self

    with open_memory(arguments) as memory:
        results, missed = run_self(
            memory,
            count=arguments.limit or 100,
            seed=arguments.seed,
            progress=progress_bar("Asking"),
        )
    _show(results, missed, f"commonplace eval --self --seed {arguments.seed}", arguments)
    return 0


def _show(
    results: Sequence[Answered],
    missed: Sequence[Missed],
    command: str,
    arguments: argparse.Namespace,
) -> None:
    from commonplace.doors.admin.evaluate import edition, summed

    data: dict[str, Any] = {"command": command, "version": edition(), "figures": summed(results)}
    if arguments.own:
        data["missed"] = [asdict(each) for each in missed]
    text = f"{command} ({data['version']})\n\n{_table(data['figures'])}"
    if arguments.own:
        text += "\n\n" + _listed(missed, len({each.question for each in results}))
    show(Answer(data, text), as_json=arguments.json)


def _table(figures: dict[str, Any]) -> str:
    """A line a category and system, as markdown."""
    heads = [f"{level[:-1]} {name}" for level, name in COLUMNS]
    rows = [["category", "questions", "system", *heads]]
    for category, systems in figures.items():
        for system, means in systems.items():
            if system != "questions":
                numbers = [f"{means[level][name]:.1f}" for level, name in COLUMNS]
                rows.append([category, str(systems["questions"]), system, *numbers])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
        for row in rows
    ]
    return "\n".join(
        [lines[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *lines[1:]]
    )


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


def fetch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="OWNER/NAME", help="the model, as its hub names it")
    parser.add_argument("--into", metavar="DIR", default="", help="the folder to put it in")
    parser.add_argument("--hub", metavar="URL", default="", help="else HF_ENDPOINT, or the usual")
    parser.add_argument("--revision", default="main", help="a branch, tag or commit of the model")


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch a model for the encoder onnx from a hub: the only command that downloads anything.

    It takes the model's onnx file, its vocabulary and its settings. What is in the folder already
    is not fetched again. The model is tried before it is called good.
    """
    from commonplace.search.encoders.download import HUB
    from commonplace.search.encoders.download import fetch as fetched

    done = fetched(
        arguments.model,
        str(Path(arguments.into or _models_folder(arguments.model)).expanduser()),
        hub=arguments.hub or os.environ.get("HF_ENDPOINT") or HUB,
        revision=arguments.revision,
        progress=progress_bar,
    )
    dimensions = _dimensions(done.folder)
    said = (
        f"{', '.join(done.files)} ({done.bytes:,} bytes)" if done.files else "nothing was missing"
    )
    text = (
        f"{done.model} is in {done.folder}: {said}. Its vectors have {dimensions} numbers.\n"
        f'To use it, set encoder = "onnx" and encoder_path = "{done.folder}" in your '
        "commonplace.toml, then run 'commonplace rebuild'."
    )
    show(Answer({**asdict(done), "dimensions": dimensions}, text), as_json=arguments.json)
    return 0


def _models_folder(model: str) -> str:
    """Where models are kept: with the person's own data, or in the working directory without one.

    Its directory is made here: another that is named may be shared with others.
    """
    models = os.path.join(data_directory(), "models")
    make_private(models)
    return os.path.join(models, model.rpartition("/")[2])


def _dimensions(folder: str) -> int:
    """How many numbers its vectors have. What cannot be used says so."""
    from commonplace.search.encoders.onnx import encoder_in

    return encoder_in(folder).dim
