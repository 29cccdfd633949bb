"""What stands where a directory should be: who writes there is told what it is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.doors.admin.init import begin
from commonplace.doors.cli.main import main as cli
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import NoDirectory, NoSuchDocument


def to_a_directory(path: Path) -> None:
    (path.parent / "Elsewhere").mkdir()
    path.symlink_to("Elsewhere")


def to_nothing(path: Path) -> None:
    path.symlink_to("nowhere")


def to_a_file(path: Path) -> None:
    (path.parent / "A file").write_text("x")
    path.symlink_to("A file")


def a_file(path: Path) -> None:
    path.write_text("x")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


LINK, OTHER = "is a link, and links are not followed", "is no directory"
WAYS: dict[Callable[[Path], None], str] = {
    to_a_directory: LINK,
    to_nothing: LINK,
    to_a_file: LINK,
    a_file: OTHER,
    a_pipe: OTHER,
}


def a_day(memory: Memory) -> None:
    memory.store("It rained", kind="note")


def a_diary(memory: Memory) -> None:
    memory.write_diary("It rained")


def a_document(memory: Memory) -> None:
    memory.update("It rained", document="Garden/beds/plan.md")


WRITERS: dict[str, Callable[[Memory], None]] = {
    "memory": a_day,
    "diary": a_diary,
    "Garden": a_document,
    "Garden/beds": a_document,
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", WRITERS)
def test_who_writes_below_what_is_no_directory_is_told_what_it_is(
    name: str, way: Callable[[Path], None], tmp_path: Path
) -> None:
    root = tmp_path / "vault"
    begin(root, dialect="native")
    (root / name).parent.mkdir(exist_ok=True)
    way(root / name)
    with Memory.open(root) as memory:
        with pytest.raises(NoDirectory) as raised:
            WRITERS[name](memory)
        assert f": {name} {WAYS[way]}. Nothing was changed." in raised.value.what
        assert f"{name}" in raised.value.next_step
        assert "UTF-8" not in str(raised.value)
        said = [each.says for each in examine(memory) if not each.good]
        assert name.startswith("Garden") or f"{name} {WAYS[way]}" in said
        (root / name).unlink()
        WRITERS[name](memory)


def test_a_document_below_a_document_is_not_there(tmp_path: Path) -> None:
    begin(tmp_path / "vault", dialect="native")
    with Memory.open(tmp_path / "vault") as memory, pytest.raises(NoSuchDocument):
        memory.library.vault.read("MEMORY.md/more.md")


def test_init_of_a_directory_that_holds_something_asks_in_one_clean_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Some Notes").mkdir()
    (tmp_path / "Some Notes" / "a.txt").write_text("x")
    monkeypatch.chdir(tmp_path / "Some Notes")
    for named in (".", str(tmp_path / "Some Notes")):
        assert cli(["init", named]) == 2
        said = capsys.readouterr().err
        assert said == (
            f"commonplace: path: {named} holds 1 entries already, and its markdown would become "
            "memory. Repeat with --yes, or name another.\n"
        )


@pytest.mark.parametrize("dialect", ["native", "earl", "journal", "notebook", "claw"])
def test_init_completes_a_vault_in_the_dialect_that_it_has(dialect: str, tmp_path: Path) -> None:
    made = begin(tmp_path / "vault", dialect=dialect, clock=Clock())
    (Path(made.shown) / "commonplace.toml").unlink()
    for again in range(2):
        assert cli(["init", str(tmp_path / "vault"), "--yes"]) == 0
        with Memory.open(tmp_path / "vault") as memory:
            assert (memory.layout.name, str(memory.root)) == (dialect, made.shown), again


def test_a_document_that_an_option_may_not_name_is_refused_in_clean_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    begin(tmp_path / "vault", dialect="native")
    (tmp_path / "vault" / "commonplace.toml").write_text('long_memory_path = "MEMORY.md"\n')
    assert cli(["--vault", str(tmp_path / "vault"), "status"]) == 2
    said = capsys.readouterr().err
    assert "it is another document of this layout. 'commonplace status" in said
    assert ".." not in said
