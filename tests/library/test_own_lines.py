"""What agents write into sections stays beside the saves of a person who had loaded it before."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from commonplace.memory import Memory


def saved(path: Path, text: str, how: str, *, minutes: float = 0) -> None:
    """A save of a person, so many minutes from now."""
    fresh = path.with_name(f".{path.name}.save") if how == "by rename" else path
    fresh.write_text(text, encoding="utf-8")
    moment = time.time_ns() + int(minutes * 60e9)
    os.utime(fresh, ns=(path.stat().st_atime_ns, moment))
    fresh.replace(path)


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path, create=True)
    for section in ("Alpha", "Beta"):
        memory.update(f"- First of {section}\n", mode="append", section=section)
    return memory


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_lines_written_into_sections_stand_where_they_stood_after_a_stale_save(
    memory: Memory, tmp_path: Path, how: str
) -> None:
    path = tmp_path / "MEMORY.md"
    loaded = path.read_text(encoding="utf-8")
    memory.update("- Second of Alpha\n", mode="append", section="Alpha")
    memory.update("- Only of Beta\n", mode="section", section="Beta")
    memory.store("stored meanwhile", kind="fact")
    saved(path, loaded.replace("# Memory\n", "# Memory\n\nA thought of mine.\n"), how)
    memory.library.refresh()
    text = memory.read().text
    lines = [line.split(" (2")[0] for line in text.split("\n") if line.strip()]
    assert [line for line in lines if "Updated" not in line] == [
        "# Memory",
        "A thought of mine.",
        "## Alpha",
        "- First of Alpha",
        "- Second of Alpha",
        "## Beta",
        "- Only of Beta",
        "## Facts",
        "- stored meanwhile",
    ]
    kept = memory.library.index.dump()
    memory.rebuild()
    assert memory.library.index.dump() == kept
    memory.close()


def test_a_second_save_of_the_same_buffer_takes_nothing_out_either(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "MEMORY.md"
    loaded = path.read_text(encoding="utf-8")
    memory.update("- Second of Alpha\n", mode="append", section="Alpha")
    for number in range(3):
        saved(path, f"{loaded}\nThought {number}.\n", "in place")
        memory.library.refresh()
        assert memory.read().text.count("- Second of Alpha\n") == 1
    memory.close()


def test_a_line_in_a_section_that_its_reader_took_out_is_gone(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "MEMORY.md"
    memory.update("- Second of Alpha\n", mode="append", section="Alpha")
    memory.update("- Third of Alpha\n", mode="append", section="Alpha")
    saved(path, path.read_text(encoding="utf-8").replace("- Second of Alpha\n", ""), "in place")
    memory.library.refresh()
    assert "Second" not in memory.read().text
    assert "Third" in memory.read().text
    memory.close()


def test_a_rewrite_from_an_older_text_does_not_bring_back_what_a_person_deleted(
    memory: Memory, tmp_path: Path
) -> None:
    path = tmp_path / "MEMORY.md"
    memory.store("deleted by hand", kind="fact")
    memory.store("kept", kind="fact")
    read = memory.read()
    lines = path.read_text(encoding="utf-8").split("\n")
    kept = [line for line in lines if "deleted by hand" not in line]
    saved(path, "\n".join(kept), "in place")
    memory.library.refresh()
    memory.update(read.text.replace("First of", "Best of"), mode="rewrite", etag=read.etag)
    assert "deleted by hand" not in memory.read().text
    assert "Best of Alpha" in memory.read().text
    memory.close()
