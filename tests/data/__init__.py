"""The example vaults, one of each dialect, and what tests of whole vaults have in common.

The files were made by hand, odd on purpose. Tests work on copies.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from commonplace.clock import parse_stamp
from commonplace.memory import Memory
from tests.clocks import FixedClock

HERE = Path(__file__).parent
EXAMPLES = ("earl", "journal", "notebook", "claw", "native")


def example(name: str, to: Path) -> Path:
    """A copy of an example vault."""
    return Path(shutil.copytree(HERE / name, to / name))


def documents_of(memory: Memory) -> dict[str, bytes]:
    """Every document of a vault, wherever it is."""
    return {name: memory.library.vault.read(name) for name in memory.documents()}


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a directory but machine state, with all of its bytes."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".commonplace" not in path.relative_to(root).parts
    }


def clock_at(moment: str, *, zone: str = "UTC") -> FixedClock:
    """A clock that stands at an ISO 8601 time."""
    return FixedClock(int(parse_stamp(moment).timestamp()) * 1_000_000_000, zone=zone)
