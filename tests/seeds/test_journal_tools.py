"""What the document of the journal claims of tools: that it needs none. Those there are agree."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import Refused
from tests.data import clock_at, contents, documents_of, example
from tests.support.clocks import FixedClock, SkippingClock

SHELL = """
mkdir -p memories/diary memories/boats
printf 'Patient, plain words.\\n' > memories/soul.md
printf 'Nadia sails.\\n' > memories/user.md
printf 'We bought rope.\\n' > memories/diary/2026-02-01T14-30-00.md
printf -- '- The dinghy leaks\\n' > memories/boats/list.md
printf 'Nadia sails and rows.\\n' > memories/user.md
"""


def run(memory: Memory, name: str, **arguments: Any) -> str:
    return str(tools.call(memory, name, arguments, dialect="journal"))


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-02-04T08:00:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    """The example journal, on a morning in February."""
    with Memory.open(example("journal", place), clock=clock) as memory:
        yield memory


@pytest.mark.claim("journal.no-tools-of-its-own")
@pytest.mark.skipif(not shutil.which("sh"), reason="there is no sh; to run it: use Linux")
def test_everything_works_with_a_shell_alone(tmp_path: Path) -> None:
    """Write, rewrite, add a category, list and read with the shell; the core sees it all."""
    subprocess.run(["sh", "-c", SHELL], cwd=tmp_path, check=True)
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert memory.layout.name == "journal"
        assert memory.read("user.md").text == "Nadia sails and rows.\n"
        assert memory.diary() == ["diary/2026-02-01T14-30-00.md"]
        assert [hit.places[0].document for hit in memory.search("dinghy")] == ["boats/list.md"]
    before = contents(tmp_path)
    with Memory.open(tmp_path, clock=clock_at("2026-02-04T08:00:00Z")) as memory:
        by_tool = run(memory, "diary", text="Calm seas.")
    assert by_tool == "Wrote diary/2026-02-04T08-00-00.md."
    done = subprocess.run(
        ["sh", "-c", "ls memories/diary; cat memories/diary/2026-02-04T08-00-00.md"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "2026-02-01T14-30-00.md\n2026-02-04T08-00-00.md\nCalm seas.\n"
    written = {"memories/diary/2026-02-04T08-00-00.md": b"Calm seas.\n"}
    assert contents(tmp_path) == before | written


def test_a_diary_entry_is_written_listed_and_read_back(memory: Memory, clock: FixedClock) -> None:
    assert run(memory, "diary", text="# Fog\n\nWe stayed in.") == (
        "Wrote diary/2026-02-04T08-00-00.md."
    )
    clock.sleep(1)
    run(memory, "diary", text="The fog is gone.")
    listed = run(memory, "diary", limit=2).split("\n")
    assert listed == [
        "2026-02-04T08-00-01  The fog is gone.",
        "2026-02-04T08-00-00  # Fog We stayed in.",
        "+3 older: list more with limit, or read one by its name.",
    ]
    for name in ("2026-02-04T08-00-00", "2026-02-04T08-00-00.md", "diary/2026-02-04T08-00-00.md"):
        assert run(memory, "diary", entry=name) == "# Fog\n\nWe stayed in.\n"


def test_a_diary_entry_is_not_rewritten(memory: Memory) -> None:
    before = documents_of(memory)
    with pytest.raises(Refused, match="Write a new entry with diary"):
        run(memory, "rewrite_memory", file="diary/2026-02-01T14-30-00.md", content="Never was.")
    assert documents_of(memory) == before


def test_an_empty_diary_and_an_empty_memory_are_said_to_be_so(place: str) -> None:
    with Memory.open(place, "journal", clock=SkippingClock()) as memory:
        assert run(memory, "diary") == "The diary is empty."
        assert run(memory, "read_memory") == "There are no memory files yet."


@pytest.mark.in_files
@pytest.mark.parametrize("file", ["soul.md", "memories/soul.md", "soul", "SOUL.md"])
def test_the_soul_is_read_and_rewritten_under_any_of_its_names(memory: Memory, file: str) -> None:
    text = run(memory, "read_memory", file=file)
    assert text.startswith("I am a patient assistant.")
    new = text.replace("patient", "patient and curious")
    assert run(memory, "rewrite_memory", file=file, content=new) == "Rewrote soul.md."
    assert (memory.root / "soul.md").read_text(encoding="utf-8") == new


def test_files_are_listed_and_a_category_is_added_by_writing_to_it(memory: Memory) -> None:
    run(memory, "rewrite_memory", file="memories/boats/list.md", content="- The dinghy leaks\n")
    assert "boats/list.md" in run(memory, "read_memory").split("\n")
    assert run(memory, "read_memory", file="boats/list.md") == "- The dinghy leaks\n"


def test_on_a_native_vault_the_same_names_mean_its_own_files(place: str) -> None:
    with Memory.open(example("native", place), clock=SkippingClock()) as memory:
        assert run(memory, "read_memory", file="memories/soul.md").startswith("# Soul")
        assert run(memory, "read_memory", file="user.md").startswith("# User\n\n- Ada")
