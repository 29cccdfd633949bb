"""The pages for developers describe the tree as it is, and so does each room of itself."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "commonplace"
PAGES = (
    "docs/architecture.md",
    "CONTRIBUTING.md",
    "tests/README.md",
    "bench/RESULTS.md",
    *sorted(f"docs/decisions/{page.name}" for page in (ROOT / "docs/decisions").glob("*.md")),
)
FILE = re.compile(r"[\w./-]+(?:\.(?:py|md|toml|json|svg|txt|mjs|bin)|/)")


def layers() -> list[list[str]]:
    """The rooms of the contract in pyproject.toml, from the top; those of one line are peers."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [
        each for each in config["tool"]["importlinter"]["contracts"] if each["type"] == "layers"
    ]
    return [layer.split(" | ") for layer in contract["layers"]]


ROOMS = [room for layer in layers() for room in layer]


def below(room: str) -> set[str]:
    at = next(number for number, layer in enumerate(layers()) if room in layer)
    return {other for layer in layers()[at + 1 :] for other in layer}


def docstring(room: str) -> str:
    directory = SOURCE / room
    path = directory / "__init__.py" if directory.is_dir() else SOURCE / f"{room}.py"
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def said(room: str) -> set[str]:
    """The rooms that a room says it may import."""
    [sentence] = re.findall(r"It may import (.*?)\.(?=\s|$)", docstring(room), re.DOTALL)
    if sentence.startswith("every room below it"):
        return below(room)
    return (
        set() if sentence.startswith("nothing of ours") else set(re.findall(r"`(\w+)`", sentence))
    )


def imported(room: str) -> set[str]:
    """The rooms that the modules of a room import, also late ones."""
    directory = SOURCE / room
    paths = directory.rglob("*.py") if directory.is_dir() else [SOURCE / f"{room}.py"]
    found: set[str] = set()
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            found.update(n.split(".")[1] for n in names if n.startswith("commonplace."))
        found.update(re.findall(r"\bLazy\(\"(\w+)[.\"]", text))
    return found & set(ROOMS) - {room}


def test_the_contract_has_every_room_of_the_tree() -> None:
    entries = {path.name.removesuffix(".py") for path in SOURCE.iterdir()}
    assert set(ROOMS) == {name for name in entries if not name.startswith(("__", "py.typed"))}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_and_which_rooms_it_may_import(room: str) -> None:
    first = docstring(room).split("\n")[0]
    assert first.endswith(".")
    assert len(first) > 20
    assert imported(room) <= said(room) <= below(room)


@pytest.mark.parametrize("room", ROOMS)
def test_the_architecture_page_has_every_room(room: str) -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert f"| `{room}` |" in page, "the table of rooms lacks it"
    assert f"{room}[{room}<br>" in page, "the diagram lacks it"


def test_the_arrows_of_the_diagram_point_down() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    arrows = re.findall(r"^    (\w+)(?:\[.*?\])? --> (\w+)", page, re.MULTILINE)
    assert {end for arrow in arrows for end in arrow} == set(ROOMS)
    for upper, lower in arrows:
        assert lower in below(upper), f"{upper} --> {lower}"


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_a_page_names_exists(name: str) -> None:
    page = ROOT / name
    spans = re.findall(r"`([^`\n]+)`", page.read_text(encoding="utf-8"))
    words = [word for span in spans for word in span.split()]
    for named in filter(FILE.fullmatch, words):
        homes = (ROOT, SOURCE, page.parent)
        assert any((home / named).exists() for home in homes) or named in OF_A_VAULT, named


OF_A_VAULT = {"MEMORY.md", "SOUL.md", "USER.md", "LONGMEMORY.md", "commonplace.toml"}
"""Names of files that stand in a vault, not in this repository."""
