"""Documents that are too long are left out and named; a file with other names is not written to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.doors.admin import doctor
from commonplace.markdown.layouts import LAYOUTS
from commonplace.memory import Memory, storing
from commonplace.model.errors import DocumentFull, Refused, Unreadable
from commonplace.model.records import Record

LIMIT = 4_000


def sparse(path: Path, size: int) -> None:
    path.parent.mkdir(exist_ok=True)
    with open(path, "wb") as file:
        file.truncate(size)


@pytest.mark.parametrize("size", [20_000_000, 10_000_000_000])
def test_a_search_reads_nothing_of_a_document_that_is_too_long(tmp_path: Path, size: int) -> None:
    with Memory.open(tmp_path) as memory:
        memory.store("Prefers dark mode", kind="preference")
    sparse(tmp_path / "notes" / "huge.md", size)
    script = """
import resource, sys
from commonplace.memory import Memory
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
with Memory.open(sys.argv[1]) as memory:
    found = memory.search("dark")
    memory.context()
    memory.rebuild()
    memory.problems()
print([hit.record.text for hit in found], found.degraded)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "Prefers dark mode" in done.stdout
    assert "notes/huge.md cannot be read: it is" in done.stdout
    assert "document_limit" in done.stdout


def test_status_and_doctor_name_it_and_it_is_read_again_when_it_is_split(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    with Memory.open(tmp_path, document_limit=LIMIT) as memory:
        path.write_text("- A line about gardens\n" * 300, encoding="utf-8")
        [trouble] = memory.status()["troubles"]
        assert trouble.startswith("notes.md cannot be read: it is")
        assert any("notes.md cannot be read: it is" in it.says for it in doctor.examine(memory))
        with pytest.raises(Unreadable, match="Split it"):
            memory.read("notes.md")
        path.write_text("- A line about gardens\n", encoding="utf-8")
        found = memory.search("gardens")
        assert [hit.record.text for hit in found] == ["A line about gardens"]
        assert found.degraded == ""
        assert memory.status()["troubles"] == []


def test_what_was_known_of_a_document_that_grew_too_long_stays_known(tmp_path: Path) -> None:
    with Memory.open(tmp_path, document_limit=LIMIT) as memory:
        record = memory.store("Prefers dark mode", kind="preference")
        with open(tmp_path / "MEMORY.md", "ab") as file:
            file.truncate(LIMIT * 2)
        found = memory.search("dark")
        assert [hit.record.id for hit in found] == [record.id]
        assert "MEMORY.md cannot be read: it is" in found.degraded
        assert [entry.op for entry in memory.log()] == ["add"]


FACT = Record(id="mem-1", kind="fact", text="", timestamp="")


def full(place: str, dialect: str) -> Memory:
    """A vault whose documents have no room any more."""
    memory = Memory.open(place, dialect, document_limit=LIMIT, create=True)
    numbers = iter(range(1000))

    def fill() -> None:
        for number in numbers:
            memory.store(f"Fact number {number}, and so on and so forth", kind="fact")

    with pytest.raises(DocumentFull):
        fill()
    return memory


@pytest.mark.parametrize("dialect", LAYOUTS)
def test_an_append_that_would_pass_the_limit_is_refused_before_it_is_journalled(
    place: str, dialect: str
) -> None:
    with full(place, dialect) as memory:
        end = memory.library.journal.end()
        texts = {name: memory.library.vault.read(name) for name in memory.documents()}
        assert max(map(len, texts.values())) > LIMIT - 400
        target = storing.targets(memory, FACT)[0]
        with pytest.raises(DocumentFull, match="Nothing was changed"):
            memory.store(
                "One more fact that does not fit in any more, as it is too long, " * 8, kind="fact"
            )
        with pytest.raises(DocumentFull):
            memory.update("more words " * 40, document=target)
        # A notebook has a cap of its own, which is reached first.
        with pytest.raises(Refused if dialect == "notebook" else DocumentFull):
            memory.update("more words " * 4000, document="other.md", mode="rewrite")
        assert memory.library.journal.end() == end
        assert {name: memory.library.vault.read(name) for name in memory.documents()} == texts
        assert max(map(len, texts.values())) <= LIMIT
        assert len(memory.search("fact", limit=1000)) > 5


def test_a_document_that_a_person_made_a_little_longer_is_read_and_may_become_shorter(
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path, document_limit=LIMIT) as memory:
        text = "- A line about gardens\n" * (LIMIT // 23 + 2)
        assert LIMIT < len(text) < LIMIT + LIMIT // 16
        (tmp_path / "notes.md").write_text(text, encoding="utf-8")
        assert memory.read("notes.md").text == text
        memory.update(text[23:], document="notes.md", mode="rewrite")
        with pytest.raises(DocumentFull):
            memory.update("- and one more", document="notes.md")


def test_without_a_limit_a_long_document_is_read(tmp_path: Path) -> None:
    with Memory.open(tmp_path, document_limit=0) as memory:
        (tmp_path / "notes.md").write_text("A long line. " * 700_000, encoding="utf-8")
        assert len(memory.read("notes.md").text) > 8_500_000


@pytest.mark.parametrize("dialect", LAYOUTS)
@pytest.mark.parametrize("deed", ["store", "update", "rewrite", "undo"])
def test_a_document_that_has_another_name_elsewhere_is_replaced_and_not_written_through(
    tmp_path: Path, dialect: str, deed: str
) -> None:
    root, elsewhere = tmp_path / "vault", tmp_path / "elsewhere.md"
    with Memory.open(root, dialect, create=True) as memory:
        memory.store("The first of them", kind="fact")
        name = storing.targets(memory, FACT)[0]
        path = memory.root / name
        os.link(path, elsewhere)
        before = elsewhere.read_bytes()
        if deed == "store":
            memory.store("The second of them", kind="fact")
        elif deed == "update":
            memory.update("The second of them", document=name)
        elif deed == "rewrite":
            text = memory.read(name).text
            memory.update(f"{text}The second of them\n", document=name, mode="rewrite")
        else:
            memory.undo()
        assert elsewhere.read_bytes() == before
        assert (deed == "undo") != (path.exists() and "The second of them" in path.read_text())
        memory.library.refresh()
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept
    assert not list(root.rglob(".mem-*"))


def test_the_limit_is_no_option_of_a_file_that_nobody_trusted(tmp_path: Path) -> None:
    (tmp_path / "commonplace.toml").write_text("document_limit = 0\n", encoding="utf-8")
    with Memory.open(tmp_path) as memory:
        assert memory.options.document_limit == 8_000_000
