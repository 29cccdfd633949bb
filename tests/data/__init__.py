"""The example vaults, one of each dialect, and what tests of whole vaults have in common.

The files were made by hand, odd on purpose. Tests work on copies.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import overload

from commonplace.markdown.layouts import Layout
from commonplace.memory import Memory
from commonplace.model.clock import Clock, parse_stamp
from commonplace.model.options import is_url
from commonplace.postgres.connection import Database
from commonplace.postgres.urls import parse_url
from commonplace.postgres.vault import PostgresVault
from tests.support.clocks import FixedClock

HERE = Path(__file__).parent
EXAMPLES = ("earl", "journal", "notebook", "claw", "native")


@overload
def example(name: str, to: Path) -> Path: ...


@overload
def example(name: str, to: str) -> str: ...


def example(name: str, to: Path | str) -> Path | str:
    """A copy of an example vault, in a directory there or at a URL."""
    if not is_url(str(to)):
        made = Path(shutil.copytree(HERE / name, Path(to) / name))
        return made if isinstance(to, Path) else str(made)
    layout, texts = _documents(name)
    written(str(to), texts, layout=layout)
    return to


@cache
def _documents(name: str) -> tuple[Layout, dict[str, bytes]]:
    with tempfile.TemporaryDirectory() as directory:
        memory = Memory.open(example(name, Path(directory)))
        with memory:
            return memory.layout, documents_of(memory)


def written(url: str, texts: Mapping[str, bytes], *, layout: Layout) -> None:
    """Put documents into a profile that nobody has looked at yet."""
    with closing(Database.open(parse_url(url), clock=Clock())) as database:
        database.set_dialect(layout.name)
        vault = PostgresVault(database, layout=layout, clock=Clock())
        with vault.lock():
            for name, text in texts.items():
                vault.append(name, text, like=None)


def documents_of(memory: Memory) -> dict[str, bytes]:
    """Every document of a vault, wherever it is."""
    return {name: memory.library.vault.read(name) for name in memory.documents()}


def documents_at(place: Path | str) -> dict[str, bytes]:
    """Every document of the vault there."""
    with Memory.open(place, create=False) as memory:
        return documents_of(memory)


def contents(place: Path | str) -> dict[str, bytes]:
    """Every file below a directory but machine state, or every document at a URL: all bytes."""
    if is_url(str(place)):
        return documents_at(place)
    root = Path(place)
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".commonplace" not in path.relative_to(root).parts
    }


def clock_at(moment: str, *, zone: str = "UTC") -> FixedClock:
    """A clock that stands at an ISO 8601 time."""
    return FixedClock(int(parse_stamp(moment).timestamp()) * 1_000_000_000, zone=zone)
