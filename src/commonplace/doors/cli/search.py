"""The commands about search itself: why a record is missed, and models to fetch."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from msgspec.structs import asdict

from commonplace.doors.cli.everyday import meant
from commonplace.doors.cli.main import open_memory, show
from commonplace.doors.cli.terminal import progress_bar
from commonplace.storage.machine_files import make_private
from commonplace.storage.trusted import data_directory
from commonplace.tools.tool import Answer


def why_not_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the record that should have been found")
    parser.add_argument("query", metavar="QUERY", help="what was searched for")
    parser.add_argument("--limit", type=int, default=20, help="most results (default 20)")


def why_not(arguments: argparse.Namespace) -> int:
    """Explain why a search does not show a record."""
    with open_memory(arguments) as memory:
        miss = memory.why_not(meant(memory, arguments.id), arguments.query, limit=arguments.limit)
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
