"""Copying a vault from one place to another: between files and PostgreSQL, either way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from commonplace.doors.admin import migrate
from commonplace.doors.admin.init import begin
from commonplace.doors.admin.migrate import Copied, move
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, Refused, VaultTrouble
from commonplace.model.records import OWNER
from commonplace.search.index import Query
from tests.data import contents
from tests.support.postgres import fresh_url

Step = Callable[[int, int], None]


def quiet(_: str) -> Step:
    return lambda done, total: None


def place(kind: str, tmp_path: Path, name: str) -> str:
    return fresh_url() if kind == "postgres" else str(tmp_path / name)


def fill(where: str, *, dialect: str | None = None) -> None:
    """A vault with a past: texts written over, struck, undone and forgotten, and messages."""
    with Memory.open(where, dialect, session="monday", create=True) as memory:
        kept = [memory.store(f"Fact {number} about tea ☕", kind="fact") for number in range(12)]
        memory.conversations.record("user", "Which tea? \0")
        for number in range(5):
            memory.conversations.record("assistant", f"Green tea {number}", channel="#home")
        memory.store("The seventh was wrong", kind="fact", supersedes=kept[7].id)
        drunk = memory.store("Drank tea")
        if memory.layout.user:
            memory.update("- Likes tea\n", document=memory.layout.user, mode="rewrite")
            memory.update(
                "- Likes tea\r\n- And cake, as it is said in 東京\n",
                document=memory.layout.user,
                mode="rewrite",
                etag=memory.read(memory.layout.user).etag,
            )
        memory.strike([kept[3].id, drunk.id])
        memory.undo()
        memory.delete(kept[5].id)
        memory.take_in_experiences()
        memory.taint()


def texts(memory: Memory) -> dict[str, bytes]:
    vault = memory.library.vault
    return {name: vault.read(name) for name in vault.listing().documents}


def everything(where: str) -> dict[str, Any]:
    """All that a vault says to those who use it."""
    with Memory.open(where, create=False) as memory:
        memory.library.refresh()
        query = Query("green tea", include_superseded=True, include_secret=True, limit=50)
        return {
            "layout": memory.layout.name,
            "documents": texts(memory),
            "journal": list(memory.library.journal.lines()),
            "entries": [(each.position, each) for each in memory.library.journal.entries()],
            "versions": {
                name: memory.library.journal.version(name)
                for name in memory.library.journal.versions()
            },
            "index": memory.library.index.dump(),
            "found": sorted(hit.record.id for hit in memory.library.find(query)),
            "messages": list(memory.messages.dump()),
            "tainted": memory.sessions.read("monday").tainted,
            "experiences": memory.notes.read("experiences.json"),
        }


KINDS = ("files", "postgres")


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_a_vault_is_the_same_wherever_it_was_copied(
    tmp_path: Path, source: str, target: str
) -> None:
    old, new = place(source, tmp_path, "old"), place(target, tmp_path, "new")
    fill(old)
    before = everything(old)
    done = move(old, new, progress=quiet)
    assert everything(new) == before == everything(old)
    documents = before["documents"]
    assert (done.documents, done.messages) == (len(documents), 6)
    assert done.bytes == sum(len(text) for text in documents.values())
    assert done.entries == len(before["entries"])


def test_a_vault_comes_back_from_postgres_file_by_file(tmp_path: Path) -> None:
    old, url, back = str(tmp_path / "old"), fresh_url(), str(tmp_path / "back")
    fill(old)
    move(old, url, progress=quiet)
    move(url, back, progress=quiet)
    there = {
        path.relative_to(back): path.read_bytes()
        for path in Path(back).rglob("*")
        if path.suffix in (".md", ".jsonl", ".z")
    }
    assert there == {
        path.relative_to(old): path.read_bytes()
        for path in Path(old).rglob("*")
        if path.suffix in (".md", ".jsonl", ".z")
    }


@pytest.mark.parametrize("dialect", ["earl", "journal", "notebook", "claw"])
def test_a_vault_of_any_dialect_stays_of_it(tmp_path: Path, dialect: str) -> None:
    old, url, back = str(tmp_path / "old"), fresh_url(), str(tmp_path / "back")
    begin(Path(old), dialect=dialect)
    with Memory.open(old, session="monday", main=True) as memory:
        memory.conversations.record("user", "Hello")
        memory.library.documents.append_text(
            next(iter(memory.documents())), "- A thing\n", author=OWNER
        )
    before = everything(old)
    assert before["layout"] == dialect
    move(old, url, progress=quiet)
    move(url, back, progress=quiet)
    assert everything(url) == everything(back) == before


def test_what_was_copied_can_be_undone_and_goes_on(tmp_path: Path) -> None:
    old, url = str(tmp_path / "old"), fresh_url()
    with Memory.open(old, create=True) as memory:
        memory.update("- One\n", document="USER.md", mode="rewrite")
        memory.update("- Two\n", document="USER.md", mode="rewrite", etag="")
    move(old, url, progress=quiet)
    with Memory.open(url, create=True) as memory:
        memory.undo()
        assert memory.read("USER.md").text == "- One\n"
        memory.store("More tea")
        assert len(memory.search("tea")) == 1
    with Memory.open(old, create=True) as memory:
        assert memory.read("USER.md").text == "- Two\n"


def test_what_a_person_edited_in_the_source_is_taken_in_first(tmp_path: Path) -> None:
    old, url = tmp_path / "old", fresh_url()
    fill(str(old))
    path = old / "USER.md"
    path.write_text("- Written with an editor\n")
    # It was read after our last write, and saved later than a program would.
    read = path.stat().st_mtime_ns + 3_000_000_000
    os.utime(path, ns=(read, read + 3_000_000_000))
    (old / "notes.md").write_text("- A new document\n")
    move(str(old), url, progress=quiet)
    with Memory.open(url, create=True) as memory:
        assert memory.read("USER.md").text == "- Written with an editor\n"
        assert memory.search("document")[0].record.text == "A new document"


class Killed(BaseException):
    """Stands for the end of the process."""


def until(count: int) -> Callable[[str], Step]:
    """Progress that ends everything after so many steps."""
    left = [count]

    def stage(_: str) -> Step:
        def step(done: int, total: int) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        return step

    return stage


@pytest.mark.parametrize("target", KINDS)
def test_a_copy_that_was_cut_off_anywhere_goes_on(
    tmp_path: Path, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "BATCH", 3)
    old, new = str(tmp_path / "old"), place(target, tmp_path, "new")
    fill(old)
    cuts = 0
    while True:
        try:
            done = move(old, new, progress=until(cuts))
            break
        except Killed:
            cuts += 1
        if cuts == 4:
            with Memory.open(old, session="monday", create=True) as memory:
                memory.store("Written while it was copied")
                memory.conversations.record(
                    "user", "Said long ago", time="2020-01-01T00:00:00.000Z"
                )
                memory.conversations.forget([memory.conversations.last(1)[0].id])
    assert cuts > 5
    assert everything(new) == everything(old)
    assert done.messages == 6


MOVER = """
import sys
from commonplace.doors.admin import migrate as moving
moving.BATCH = 3
def stage(name):
    def step(done, total):
        print(name, done, flush=True)
        sys.stdin.readline()
    return step
moving.move(sys.argv[1], sys.argv[2], progress=stage)
print("done", flush=True)
"""


@pytest.mark.parametrize("target", KINDS)
def test_a_copy_whose_process_is_killed_goes_on(tmp_path: Path, target: str) -> None:
    old, new = str(tmp_path / "old"), place(target, tmp_path, "new")
    fill(old)
    for after in (1, 3, 6, 10, 15):
        with subprocess.Popen(
            [sys.executable, "-c", MOVER, old, new],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as mover:
            assert mover.stdin
            assert mover.stdout
            for step in range(after):
                if step:
                    print(file=mover.stdin, flush=True)
                assert mover.stdout.readline() not in ("", "done\n")
            # It waits to be told to take the next step.
            os.kill(mover.pid, signal.SIGKILL)
    move(old, new, progress=quiet)
    assert everything(new) == everything(old)


def test_what_is_written_while_it_is_copied_is_copied_too(tmp_path: Path) -> None:
    old, url = str(tmp_path / "old"), fresh_url()
    fill(old)
    written: list[str] = []

    def stage(name: str) -> Step:
        if name == "Records" and not written:
            with Memory.open(old, create=True) as memory:
                written.append(memory.store("Written at the last moment").id)
        return lambda done, total: None

    move(old, url, progress=stage)
    assert written
    assert everything(url) == everything(old)


@pytest.mark.parametrize("target", KINDS)
def test_a_place_that_holds_something_is_let_be(tmp_path: Path, target: str) -> None:
    old, new = str(tmp_path / "old"), place(target, tmp_path, "new")
    fill(old)
    with Memory.open(new, create=True) as memory:
        memory.store("Something else")
    before = everything(new)
    with pytest.raises(Refused, match="holds something already"):
        move(old, new, progress=quiet)
    assert everything(new) == before


def test_a_directory_of_something_else_is_not_touched(tmp_path: Path) -> None:
    old, new = str(tmp_path / "old"), tmp_path / "new"
    fill(old)
    new.mkdir()
    (new / "main.c").write_text("int main;")
    with pytest.raises(Refused, match="holds something already"):
        move(old, str(new), progress=quiet)
    assert [path.name for path in new.iterdir()] == ["main.c"]


def test_the_copy_of_another_vault_that_was_cut_off_is_let_be(tmp_path: Path) -> None:
    one, two, new = str(tmp_path / "one"), str(tmp_path / "two"), fresh_url()
    fill(one)
    fill(two)
    with pytest.raises(Killed):
        move(one, new, progress=until(2))
    with pytest.raises(Refused, match="holds something already"):
        move(two, new, progress=quiet)
    move(one, new, progress=quiet)
    with pytest.raises(Refused, match="holds something already"):
        move(one, new, progress=quiet)


def test_a_vault_is_not_copied_onto_itself(tmp_path: Path) -> None:
    old = str(tmp_path / "old")
    fill(old)
    with pytest.raises((BadValue, Refused), match=r"onto itself|holds something already|the same"):
        move(old, old, progress=quiet)


@pytest.mark.parametrize("target", ["old/sub", "link/sub/deeper", "above"])
def test_a_vault_is_not_copied_into_itself_nor_around_itself(tmp_path: Path, target: str) -> None:
    old = tmp_path / "above" / ".commonplace" / "old" if target == "above" else tmp_path / "old"
    fill(str(old))
    (tmp_path / "link").symlink_to(old, target_is_directory=True)
    before = contents(tmp_path)
    with pytest.raises(BadValue, match="inside the other"):
        move(str(old), str(tmp_path / target), progress=quiet)
    assert contents(tmp_path) == before


def test_a_copy_that_differs_is_never_called_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, url = str(tmp_path / "old"), fresh_url()
    fill(old)
    monkeypatch.setattr("commonplace.postgres.vault.PostgresVault.read", lambda self, name: b"x")
    with pytest.raises(VaultTrouble, match="not a true copy"):
        move(old, url, progress=quiet)


def test_progress_goes_forward_to_the_end(tmp_path: Path) -> None:
    old, url = str(tmp_path / "old"), fresh_url()
    fill(old)
    told: dict[str, list[tuple[int, int]]] = {}

    def stage(name: str) -> Step:
        steps = told[name] = []
        return lambda done, total: steps.append((done, total))

    move(old, url, progress=stage)
    assert {"Kept texts", "Journal", "Messages", "Documents", "Records"} <= set(told)
    for steps in filter(None, told.values()):
        assert all(one <= other for (one, _), (other, _) in pairwise(steps))
        assert steps[-1][0] == steps[-1][1]


@pytest.mark.long
def test_the_command_says_what_it_compared(tmp_path: Path) -> None:
    old, url = str(tmp_path / "old"), fresh_url()
    fill(old)
    command = [sys.executable, "-m", "commonplace", "migrate", old, url]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert Copied(**json.loads(done.stdout)).messages == 6
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (again.returncode, "holds something already" in again.stderr) == (5, True)
    shown = subprocess.run(
        [*command[:-1], str(tmp_path / "new")], capture_output=True, text=True, check=True
    )
    assert "byte for byte" in shown.stdout
    assert "The source is as it was" in shown.stdout
