"""What a person does to a line is done to the memory: also where its line stands twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from commonplace.markdown import record_lines
from commonplace.markdown.layouts import LAYOUTS
from commonplace.memory import Memory
from commonplace.model.errors import NoSuchRecord
from commonplace.storage.journal import Op
from tests.data import documents_of
from tests.laws.test_laws import rebuilt
from tests.support.clocks import FixedClock, SkippingClock
from tests.upkeep.test_tidy import record


def documents(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*.md")) if ".commonplace" not in path.parts]


def with_line(root: Path, text: str) -> list[Path]:
    return [path for path in documents(root) if text in path.read_text(encoding="utf-8")]


def saved(path: Path, old: str, new: str) -> None:
    """A person rewords a line, or deletes it where `new` is empty."""
    lines = path.read_text(encoding="utf-8").split("\n")
    [at] = [number for number, line in enumerate(lines) if old in line]
    lines[at : at + 1] = [lines[at].replace(old, new)] if new else []
    path.write_text("\n".join(lines), encoding="utf-8")


def opened(root: Path, dialect: str = "") -> Memory:
    return Memory.open(root, dialect, clock=SkippingClock(), create=True)


def yesterday(root: Path, dialect: str) -> Memory:
    """A vault that is opened a day ago: what is stored there no save of today overwrites."""
    clock = FixedClock(time.time_ns() - 24 * 3600 * 10**9)
    return Memory.open(root, dialect, clock=clock, create=True)


def settled(root: Path, dialect: str) -> str:
    with yesterday(root, dialect) as memory:
        memory.store("The kettle is new", kind="fact")
        stored = memory.store("The tea is green", kind="fact")
    return stored.id


@pytest.mark.parametrize("dialect", LAYOUTS)
@pytest.mark.parametrize("which", [0, -1], ids=["the first document", "the last document"])
def test_a_line_that_a_person_deleted_is_a_memory_deleted(
    tmp_path: Path, dialect: str, which: int
) -> None:
    settled(tmp_path, dialect)
    with opened(tmp_path) as memory:
        before = documents_of(memory)
        saved(with_line(tmp_path, "The tea is green")[which], "The tea is green", "")
        texts = [hit.record.text for hit in memory.search("", include_passages=False)]
        assert texts == ["The kettle is new"]
        assert with_line(tmp_path, "The tea is green") == []
        assert memory.library.index.dump() == rebuilt(memory)
        edit = next(entry for entry in memory.log() if entry.op == Op.EDITED)
        memory.undo(edit.position)
        assert documents_of(memory) == before


@pytest.mark.parametrize("dialect", LAYOUTS)
@pytest.mark.parametrize("which", [0, -1], ids=["the first document", "the last document"])
def test_a_line_that_a_person_reworded_is_a_memory_reworded(
    tmp_path: Path, dialect: str, which: int
) -> None:
    settled(tmp_path, dialect)
    with opened(tmp_path) as memory:
        before = documents_of(memory)
        saved(with_line(tmp_path, "The tea is green")[which], "green", "black")
        texts = {hit.record.text for hit in memory.search("", include_passages=False)}
        assert texts == {"The kettle is new", "The tea is black"}
        assert with_line(tmp_path, "The tea is green") == []
        assert memory.library.index.dump() == rebuilt(memory)
        edit = next(entry for entry in memory.log() if entry.op == Op.EDITED)
        memory.undo(edit.position)
        assert documents_of(memory) == before


@pytest.mark.parametrize("which", [0, -1], ids=["MEMORY.md", "the log"])
def test_an_older_native_vault_follows_too(tmp_path: Path, which: int) -> None:
    """It had each record in both."""
    told = record(1, "The tea is green")
    line = record_lines.write(told, "native")
    with yesterday(tmp_path, "native") as memory:
        library = memory.library
        names = ("MEMORY.md", "memory/2026-11-15.md")
        library.locked(
            lambda: library.append(Op.ADD, (line,), to=names, ids=(told.id,), author=memory.author)
        )
    with opened(tmp_path) as memory:
        assert len(memory.get(told.id).places) == 2
        saved(with_line(tmp_path, "The tea is green")[which], "The tea is green", "")
        with pytest.raises(NoSuchRecord):
            memory.get(told.id)
        assert with_line(tmp_path, "The tea is green") == []


def test_a_line_that_a_person_moved_to_another_document_is_kept(tmp_path: Path) -> None:
    key = settled(tmp_path, "claw")
    with opened(tmp_path) as memory:
        path = tmp_path / "MEMORY.md"
        [line] = [each for each in path.read_text().split("\n") if key in each]
        day = next(tmp_path.glob("memory/*.md"))
        other = tmp_path / "memory" / "2020-01-01.md"
        other.write_text(line + "\n", encoding="utf-8")
        memory.library.refresh()
        saved(path, line, "")
        memory.library.refresh()
        assert key not in day.read_text(encoding="utf-8")
        assert [place.document for place in memory.get(key).places] == ["memory/2020-01-01.md"]


def test_a_document_that_a_person_takes_away_takes_no_copies_with_it(tmp_path: Path) -> None:
    key = settled(tmp_path, "claw")
    with opened(tmp_path) as memory:
        next(tmp_path.glob("memory/*.md")).unlink()
        memory.library.refresh()
        assert [place.document for place in memory.get(key).places] == ["MEMORY.md"]
