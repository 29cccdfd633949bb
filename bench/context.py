"""What a context costs: from a cold shell beside a bare Python, and in a vault of five megabytes.

python bench/context.py [--records 10000] [--rounds 15]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from commonplace.memory import Memory
from core import BARE, filled, median, turn_by_turn

BUDGET = 10_000
ROW = "- {} of the ledger of the harbour master, as it was kept in those years\n"


def cold(root: Path, count: int, rounds: int) -> None:
    """Commands from a cold shell, in a vault that has a vector for each record."""
    vault = root / f"context-{count}"
    with filled(vault, count) as memory:
        (vault / "SOUL.md").write_text("I am the archivist.\n", encoding="utf-8")
        (vault / "USER.md").write_text("Ada, Vienna.\n", encoding="utf-8")
        memory.store("Prefers tea", kind="preference")
        memory.rebuild()
        memory.context()
    ours = [str(Path(sys.executable).with_name("commonplace")), "--vault", str(vault)]
    short = [*ours, "context", "--characters", str(BUDGET)]
    commands = {
        "bare": [sys.executable, "-c", BARE],
        "brief": [*ours, "brief"],
        "context, 10,000 characters": short,
        "context, 32,000 characters": [*ours, "context"],
        "context with a message": [*short, "--message", "item42"],
    }
    turn_by_turn(commands, rounds)


def large(root: Path) -> None:
    """A MEMORY.md of five megabytes: what of it is shown, and how fast, beside reading the file."""
    vault = root / "large"
    vault.mkdir()
    path = vault / "MEMORY.md"
    rows = 5_000_000 // len(ROW)
    path.write_text("# Memory\n\n" + "".join(map(ROW.format, range(rows))), encoding="utf-8")
    with Memory.open(vault, "native", create=True) as memory:
        newest = memory.store("The keel is red now", kind="fact")
        found = memory.context(characters=BUDGET)
        assert newest.id in {line.record_id for line in found.lines}
        assert len(found.text) <= BUDGET
        ours = median(lambda: memory.context(characters=BUDGET), 15)
        bare = median(lambda: path.read_text(encoding="utf-8"), 15)
        print(
            f"context of a {path.stat().st_size / 1e6:.1f} MB MEMORY.md in process: "
            f"{ours * 1e3:.1f} ms, reading the file {bare * 1e3:.1f} ms, "
            f"{found.characters:,} characters, {found.not_shown:,} not shown"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        cold(Path(directory), arguments.records, arguments.rounds)
        large(Path(directory))


if __name__ == "__main__":
    main()
