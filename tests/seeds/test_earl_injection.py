"""What the document of EARL's memory claims of the prompt that memory is put into."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.memory import Memory
from tests.data import clock_at, example
from tests.support.clocks import FixedClock

CLOSING = """\
You have persistent memory via save_memory and search_memory tools.
Save important facts you learn. Search when you need to recall something."""


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2025-01-20T14:30:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(place, "earl", clock=clock) as memory:
        yield memory


@pytest.mark.in_files
@pytest.mark.claim(
    "earl.inject-at-session-start",
    "earl.inject-tags",
    "earl.inject-headings",
    "earl.inject-closing-words",
    "earl.soul-is-core-identity",
    "earl.user-is-user-notes",
)
def test_the_prompt_is_the_documents_template_filled_in(memory: Memory) -> None:
    (memory.root / "SOUL.md").write_text("Dry and kind.\n", encoding="utf-8")
    (memory.root / "USER.md").write_text("- Alice is in Zürich\n", encoding="utf-8")
    memory.store("Likes tea", username="alice")
    assert memory.context().text == (
        "<earl-memory>\n"
        "## Core Identity\nDry and kind.\n\n"
        "## User Notes\n- Alice is in Zürich\n\n"
        "## Recent Memories\n- **14:30 UTC** | `@alice` | Likes tea\n"
        "</earl-memory>\n\n" + CLOSING
    )


@pytest.mark.claim("earl.inject-append-argument")
def test_the_prompt_can_be_handed_over_as_one_argument_of_a_command(tmp_path: Path) -> None:
    root = example("earl", tmp_path)
    command = f'{sys.executable} -m commonplace --vault "{root}" context'
    echo = f"{sys.executable} -c 'import sys; print(sys.argv[2])'"
    script = f'{echo} --append-system-prompt "$({command})"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("<earl-memory>\n## Core Identity\n# EARL\n")
    assert done.stdout.endswith(f"{CLOSING}\n")


@pytest.mark.claim("earl.inject-seven-days")
def test_recent_memories_are_of_the_last_seven_days(memory: Memory, clock: FixedClock) -> None:
    for day in range(9):
        memory.store(f"day {day}")
        clock.sleep(86400)
    clock.sleep(-86400)
    shown = [line.text for line in memory.context().lines if line.section == "recent"]
    assert shown == [f"- **14:30 UTC** | day {day}" for day in range(2, 9)]


@pytest.mark.claim("earl.inject-fifty-lines")
def test_recent_memories_are_no_more_than_fifty_lines_and_those_the_newest(
    memory: Memory, clock: FixedClock
) -> None:
    for number in range(60):
        memory.store(f"fact {number}")
    found = memory.context()
    lines = found.text.split("\n")
    recent = lines[lines.index("## Recent Memories") + 1 : lines.index("</earl-memory>")]
    assert len(recent) == 50
    assert recent[-1].endswith("fact 59")
    assert [line.why for line in found.left_out] == ["not among the last 50"] * 10


@pytest.mark.in_files
@pytest.mark.claim("earl.inject-omits-empty", "earl.inject-omits-missing")
@pytest.mark.parametrize("there", ["", " \n\n", None])
@pytest.mark.parametrize("name", ["SOUL.md", "USER.md"])
def test_an_empty_or_missing_file_leaves_no_section(
    memory: Memory, name: str, there: str | None
) -> None:
    heading = {"SOUL.md": "## Core Identity", "USER.md": "## User Notes"}
    for other in heading:
        text = there if other == name else "Something.\n"
        if text is not None:
            (memory.root / other).write_text(text, encoding="utf-8")
    text = memory.context().text
    assert heading[name] not in text
    assert "## Recent Memories" not in text
    assert text.count("## ") == 1


@pytest.mark.claim("earl.inject-omits-missing")
def test_a_vault_without_any_memory_gives_the_closing_words_alone(memory: Memory) -> None:
    assert memory.context().text == CLOSING


def test_what_a_budget_leaves_out_is_said_after_the_closing_words(memory: Memory) -> None:
    for number in range(30):
        memory.store(f"fact {number} about the harbour")
    found = memory.context(characters=800)
    assert found.text.endswith(
        f"{CLOSING}\n\n+{found.not_shown} not shown: search_memory finds them."
    )
    assert "fact 29 about" in found.text
