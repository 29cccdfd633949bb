"""State and documents that do not belong together: everything of both is kept, and it is said."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

import pytest

from commonplace.doors.cli.main import main
from commonplace.markdown.documents import Item
from commonplace.memory import Memory

STATE = ".commonplace"
CARRYING = ("native", "claw", "notebook", "journal")
"""Dialects whose lines carry the ids of their records."""


def stored(root: Path, dialect: str, *texts: str) -> None:
    with Memory.open(root, dialect, create=True) as memory:
        for text in texts:
            memory.store(text, kind="fact")
        memory.library.refresh()


def two(tmp_path: Path, dialect: str, *, related: bool) -> dict[str, Path]:
    """Two vaults with a record or two each that the other has not."""
    roots = {name: tmp_path / name for name in "ab"}
    if related:
        stored(roots["a"], dialect, "Both know this", "And this")
        shutil.copytree(roots["a"], roots["b"])
    for name, root in roots.items():
        stored(root, dialect, f"Only {name} knows this", f"Only {name} knows that")
        with Memory.open(root, dialect) as memory:
            memory.update(f"Prose of {name}", document=f"{name}.md")
    return roots


def files_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*.md"))
        if STATE not in path.parts
    }


def mixed(into: Path, *, documents: dict[str, bytes], state: Path) -> None:
    """Let a directory have these documents, saved an hour from now, and that state."""
    for name in files_of(into):
        (into / name).unlink()
    for name, data in documents.items():
        path = into / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        later = time.time_ns() + 3_600 * 10**9
        os.utime(path, ns=(later, later))
    if state != into / STATE:
        shutil.rmtree(into / STATE)
        shutil.copytree(state, into / STATE)


def known(memory: Memory) -> set[str]:
    memory.library.refresh()
    memory.library.refresh()
    return {hit.record.text for hit in memory.search("", limit=1000)}


@pytest.mark.parametrize("dialect", CARRYING)
@pytest.mark.parametrize("related", [False, True])
@pytest.mark.parametrize("state", "ab")
@pytest.mark.parametrize("documents", "ab")
@pytest.mark.parametrize("root", "ab")
def test_in_every_mixture_of_two_vaults_nothing_of_either_is_dropped(
    tmp_path: Path, dialect: str, related: bool, root: str, documents: str, state: str
) -> None:
    roots = two(tmp_path, dialect, related=related)
    with Memory.open(roots["a"], dialect) as a, Memory.open(roots["b"], dialect) as b:
        told = {"a": known(a), "b": known(b)}
    texts = {name: files_of(where) for name, where in roots.items()}
    shutil.copytree(roots[state] / STATE, tmp_path / "state")
    place = roots[root]
    chosen = tmp_path / "state" if state != root else place / STATE
    mixed(place, documents=texts[documents], state=chosen)
    with Memory.open(place, dialect) as memory:
        records = {text for text in told[documents] | told[state] if not text.startswith("Prose")}
        assert records <= known(memory)
        if documents == state:
            assert files_of(place) == texts[documents]
            assert memory.notices() == []
        else:
            assert memory.notices()
        kept = memory.library.index.dump()
        memory.rebuild()
        memory.library.refresh()
        assert memory.library.index.dump() == kept
        ids = [it.record.id for n in memory.documents() for it in parsed(memory, n)]
        copies = {"native": 2, "claw": 2}.get(dialect, 1)
        assert max(map(ids.count, ids)) <= copies


def parsed(memory: Memory, name: str) -> list[Item]:
    return list(memory.library.parse(name, memory.library.text(name)[0]).items)


def test_it_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roots = two(tmp_path, "native", related=False)
    mixed(roots["a"], documents=files_of(roots["a"]), state=roots["b"] / STATE)
    for times in (1, 0):
        assert main(["--vault", str(roots["a"]), "search", "this"]) == 0
        said = capsys.readouterr()
        assert said.err.count("MEMORY.md came from another vault or machine") == times
        assert "Only a knows this" in said.out
        assert "Only b knows this" in said.out


def test_its_command_takes_out_what_was_put_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    roots = two(tmp_path, "notebook", related=True)
    documents = files_of(roots["b"])
    mixed(roots["a"], documents=documents, state=roots["a"] / STATE)
    main(["--vault", str(roots["a"]), "search", "this"])
    [command] = re.findall(r"commonplace (undo --change \d+)", capsys.readouterr().err)
    assert main(["--vault", str(roots["a"]), *command.split()]) == 0
    assert files_of(roots["a"])["MEMORY.md"] == documents["MEMORY.md"]


def test_a_vault_that_was_moved_or_copied_whole_is_the_same(tmp_path: Path) -> None:
    stored(tmp_path / "old", "native", "Something")
    before = files_of(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "moved")
    shutil.copytree(tmp_path / "moved", tmp_path / "copied")
    for name in ("moved", "copied"):
        with Memory.open(tmp_path / name) as memory:
            assert known(memory) == {"Something"}
            assert memory.notices() == []
        assert files_of(tmp_path / name) == before


def test_what_is_deleted_after_a_move_stays_deleted(tmp_path: Path) -> None:
    stored(tmp_path / "old", "native", "Something", "Something else")
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    with Memory.open(tmp_path / "new") as memory:
        known(memory)
    for path in (tmp_path / "new").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.split("\n") if not line.endswith("-->") or "else" in line]
        path.write_text("\n".join(lines), encoding="utf-8")
        later = time.time_ns() + 3_600 * 10**9
        os.utime(path, ns=(later, later))
    with Memory.open(tmp_path / "new") as memory:
        assert known(memory) == {"Something else"}


def test_a_person_s_own_deletion_beside_pasted_lines_of_their_own_is_a_deletion(
    tmp_path: Path,
) -> None:
    stored(tmp_path, "native", "First", "Second")
    path = tmp_path / "MEMORY.md"
    lines = [line for line in path.read_text(encoding="utf-8").split("\n") if "Second" not in line]
    path.write_text("\n".join([*lines, "- Written by hand", ""]), encoding="utf-8")
    later = time.time_ns() + 3_600 * 10**9
    os.utime(path, ns=(later, later))
    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        assert "Second" not in memory.read().text


def test_an_empty_directory_beside_an_old_state_gets_nothing_back(tmp_path: Path) -> None:
    state = tmp_path / "state"
    root = tmp_path / "vault"
    with Memory.open(root, state_dir=str(state), create=True) as memory:
        memory.store("Something")
    shutil.rmtree(root)
    root.mkdir()
    with Memory.open(root, state_dir=str(state), create=True) as memory:
        assert known(memory) == set()
