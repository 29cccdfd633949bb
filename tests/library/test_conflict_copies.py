"""Copies that sync programs make of a document: recognised, named, and united with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.doors.admin import doctor
from commonplace.doors.cli.main import main
from commonplace.library.copies import copies_in
from commonplace.markdown.layouts import copy_of
from commonplace.memory import Memory
from commonplace.model.errors import BadName

NAMES = {
    "MEMORY (conflicted copy 2026-11-15).md": "MEMORY.md",
    "MEMORY (Anna's conflicted copy 2026-11-15).md": "MEMORY.md",
    "MEMORY (anna-laptop's conflicted copy 2026-11-15 (1)).md": "",
    "MEMORY (conflicted copy 2026-11-15 101010).md": "MEMORY.md",
    "MEMORY (Conflicted Copy).md": "MEMORY.md",
    "MEMORY (Anna's conflicted copy 2026-11-15) (2).md": "MEMORY.md",
    "MEMORY.sync-conflict-20261115-103015-ABCDEF2.md": "MEMORY.md",
    "memory/2026-11-15.sync-conflict-20261115-103015-ABCDEF2.md": "memory/2026-11-15.md",
    "MEMORY_conflict-20261115-101010.md": "MEMORY.md",
    "notes/a b (SFConflict anna@example.org 2026-11-15-10-10-10).md": "notes/a b.md",
    "MEMORY.md": "",
    "conflicts.md": "",
    "How we solved the conflict (2026-11-15).md": "",
    "On the conflicted copy problem.md": "",
    "sync-conflict.md": "",
    "MEMORY 2.md": "",
    "MEMORY-HOST.md": "",
}
DROPBOX = "MEMORY (Anna's conflicted copy 2026-11-15).md"


@pytest.mark.parametrize("name", NAMES)
def test_the_names_of_copies_are_known_and_no_others(name: str) -> None:
    assert copy_of(name) == NAMES[name]


def two_sides(root: Path, copy: str = DROPBOX, dialect: str = "native") -> Memory:
    """A vault whose MEMORY.md two machines changed: a line each, one deleted here, one reworded."""
    memory = Memory.open(root, dialect, origin="owner", create=True)
    for text in ("Both know this", "Deleted here", "Worded so"):
        memory.store(text, kind="fact")
    memory.update("## Prose\n\nA paragraph.", document="MEMORY.md")
    theirs = memory.read("MEMORY.md").text
    gone = next(hit.record.id for hit in memory.search("Deleted") if "Deleted" in hit.record.text)
    memory.strike([gone])
    memory.store("Only here", kind="fact")
    other = Memory.open(root.parent / "other", dialect, origin="owner", create=True)
    with other:
        other.store("Only there", kind="fact")
        line = next(x for x in other.read("MEMORY.md").text.split("\n") if "Only there" in x)
    theirs = theirs.replace("Worded so", "Worded otherwise") + f"{line}\nA paragraph of theirs.\n"
    (memory.root / copy).write_text(theirs, encoding="utf-8")
    return memory


def test_a_copy_is_no_document_and_is_named_wherever_one_looks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with two_sides(tmp_path / "vault") as memory:
        assert DROPBOX not in memory.documents()
        found = memory.search("Only there")
        assert "Only there" not in [hit.record.text for hit in found]
        assert DROPBOX in found.degraded
        assert any(DROPBOX in trouble for trouble in memory.status()["troubles"])
        [finding] = [it for it in doctor.examine(memory) if it.what == "copy"]
        assert "conflicts --merge" in finding.fix
        assert DROPBOX not in memory.context().text
        with pytest.raises(BadName, match="sync programs"):
            memory.update("more", document=DROPBOX)
        assert "Only there" in memory.read(DROPBOX).text
        root = str(memory.root)
    assert main(["--vault", root, "conflicts"]) == 0
    listed = capsys.readouterr().out
    assert DROPBOX in listed
    assert "Only there" in listed
    assert "Both know" not in listed


@pytest.mark.parametrize("dialect", ["native", "notebook", "claw"])
@pytest.mark.parametrize("copy", [DROPBOX, "MEMORY.sync-conflict-20261115-103015-ABCDEF2.md"])
def test_uniting_keeps_all_of_both_and_what_was_deleted_stays_so(
    tmp_path: Path, copy: str, dialect: str
) -> None:
    with two_sides(tmp_path / "vault", copy, dialect) as memory:
        before = memory.read("MEMORY.md").text
        theirs = (memory.root / copy).read_bytes()
        [done] = memory.unite_copies([copy])
        text = memory.read("MEMORY.md").text
        for said in ("Both know this", "Only here", "Only there", "A paragraph of theirs."):
            assert text.count(said) == 1, said
        assert text.count("A paragraph.") == 1
        assert "Deleted here" not in text
        assert text.count("Worded so") == 1
        assert text.count("Worded otherwise") == 1
        assert all(line in text for line in before.split("\n"))
        assert (done.copy, done.document) == (copy, "MEMORY.md")
        ids = [item.record.id for item in memory.library.parse("MEMORY.md", text).items]
        assert len(ids) == len(set(ids))
        assert not (memory.root / copy).exists()
        assert memory.search("Only there").degraded == ""
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept

        memory.undo()
        assert memory.read("MEMORY.md").text == before
        assert (memory.root / copy).read_bytes() == theirs
        memory.library.refresh()
        assert copy not in memory.documents()


@pytest.mark.parametrize("copy", ["MEMORY 2.md", "MEMORY (1).md", "MEMORY-ANNAS-LAPTOP.md"])
def test_a_document_named_like_another_with_most_of_its_records_is_a_copy_of_it(
    tmp_path: Path, copy: str
) -> None:
    with two_sides(tmp_path / "vault", copy) as memory:
        (memory.root / "MEMORY 3.md").write_text("- Something else\n", encoding="utf-8")
        assert copies_in(memory.library) == {copy: "MEMORY.md"}
        assert [it.says.startswith(copy) for it in doctor.examine(memory) if it.what == "copy"]
        memory.unite_copies([copy])
        text = memory.read("MEMORY.md").text
        assert text.count("Only there") == text.count("Only here") == 1
        assert "Deleted here" not in text
        assert not (memory.root / copy).exists()
        assert copies_in(memory.library) == {}


def test_a_copy_whose_document_is_gone_becomes_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path, origin="owner") as memory:
        (tmp_path / "garden (conflicted copy 2026-11-15).md").write_text("- Roses\n", "utf-8")
        memory.unite_copies(["garden (conflicted copy 2026-11-15).md"])
        assert memory.read("garden.md").text == "- Roses\n"


def test_a_copy_that_was_indexed_before_it_was_known_for_one_leaves_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from commonplace.library import document_watch
    from commonplace.storage import file_vault

    with monkeypatch.context() as older:
        older.setattr(file_vault, "copy_of", lambda name: "")
        older.setattr(document_watch, "copy_of", lambda name: "")
        with two_sides(tmp_path / "vault") as memory:
            assert memory.search("Only there")
    with Memory.open(tmp_path / "vault") as memory:
        memory.library.refresh()
        assert DROPBOX not in {p.document for h in memory.search("there") for p in h.places}
        assert memory.library.watch.changed() == []


def test_what_was_forgotten_does_not_come_back_with_a_copy(tmp_path: Path) -> None:
    with two_sides(tmp_path / "vault") as memory:
        [record] = [h.record for h in memory.search("Both know") if "Both" in h.record.text]
        memory.delete(record.id)
        memory.unite_copies([DROPBOX])
        assert "Both know this" not in memory.read("MEMORY.md").text


def test_a_conflict_that_git_left_is_a_problem_with_its_line(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        (tmp_path / "MEMORY.md").write_text(
            "- one\n<<<<<<< HEAD\n- two\n=======\n- three\n>>>>>>> branch\n- four\n", "utf-8"
        )
        (tmp_path / "notes.md").write_text(
            "- a line\n=======\n\nProse with <<<<<<< in it\n", "utf-8"
        )
        [problem] = memory.problems()
        assert (problem.document, problem.line) == ("MEMORY.md", 2)
        assert "git" in problem.what
