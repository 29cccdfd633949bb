"""A person saves a buffer that is older than what agents appended meanwhile."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commonplace.library import document_watch, transactions
from commonplace.memory import Memory
from commonplace.model.errors import Busy
from commonplace.storage.file_vault import FileVault
from commonplace.storage.vault import Stat, Unsettled
from tests.support.clocks import FixedClock

AGENT = """
import os, sys, time
from commonplace.memory import Memory
root, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
with Memory.open(root, session=name) as memory:
    for number in range(count):
        record = memory.store(f"{name} saw thing {number}", kind="fact")
        os.write(1, f"{record.id}\\n".encode())
        time.sleep(0.004)
"""


def person(path: Path, *, rounds: int, chance: random.Random) -> tuple[list[str], set[str]]:
    """Load, think, edit, save in place. Returns the lines written and those deleted."""
    written: list[str] = []
    deleted: set[str] = set()
    for number in range(rounds):
        buffer = path.read_text(encoding="utf-8").split("\n")
        time.sleep(chance.uniform(0.02, 0.2))
        # What was appended in the same moment as it was loaded no clock can tell apart.
        records = [line for line in buffer if "saw thing" in line][:-30]
        if records and number % 2:
            gone = chance.choice(records)
            buffer.remove(gone)
            deleted.add(gone)
        mine = f"- A person's own thought, number {number}"
        buffer.insert(chance.randrange(2, len(buffer)), mine)
        written.append(mine)
        path.write_text("\n".join(buffer), encoding="utf-8")
        time.sleep(chance.uniform(0.1, 0.4))
    return written, deleted


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_no_line_of_either_side_is_lost_and_no_deletion_undone(tmp_path: Path, seed: int) -> None:
    with Memory.open(tmp_path) as memory:
        memory.store("there before anybody came", kind="fact")
    agents = [
        subprocess.Popen(
            [sys.executable, "-c", AGENT, str(tmp_path), f"agent-{number}", "250"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    written, deleted = person(tmp_path / "MEMORY.md", rounds=8, chance=random.Random(seed))
    acknowledged = [line for agent in agents for line in agent.communicate()[0].split()]
    assert all(agent.returncode == 0 for agent in agents)

    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        text = memory.read().text
        parsed = memory.library.parse("MEMORY.md", text)
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept
    lines = text.split("\n")
    there = [item.record.id for item in parsed.items]
    gone_ids = {key for key in acknowledged if any(key in line for line in deleted)}
    assert [line for line in written if line not in lines] == []
    lost = [key for key in acknowledged if key not in gone_ids and key not in there]
    undone = [key for key in gone_ids if key in there]
    assert (lost, undone) == ([], [])
    assert len(there) == len(set(there))
    assert parsed.problems == ()


def saved_without(path: Path, needle: str, *, after: float, replaces: bool = False) -> None:
    """A save that lacks some lines, by somebody who read the file so many seconds after now."""
    lines = path.read_text(encoding="utf-8").split("\n")
    fresh = path.with_name(f".{path.name}.save") if replaces else path
    fresh.write_text("\n".join(line for line in lines if needle not in line), encoding="utf-8")
    moment = time.time_ns() + int(after * 1e9)
    os.utime(fresh, ns=(moment, moment + 1_000_000))
    fresh.replace(path)


def test_the_last_line_is_deleted_when_a_person_who_read_it_takes_it_out(tmp_path: Path) -> None:
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        last = memory.store("the last", kind="fact")
        saved_without(tmp_path / "MEMORY.md", "the last", after=5)
        memory.library.refresh()
        assert "the last" not in memory.read().text
        assert last.id in memory.log()[0].removed


def test_the_last_line_is_put_back_when_nobody_had_read_it(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        buffer = path.read_text(encoding="utf-8")
        time.sleep(0.02)
        memory.store("the last", kind="fact")
        path.write_text(buffer + "- and a thought of mine\n", encoding="utf-8")
        memory.library.refresh()
        text = memory.read().text
        assert "the last" in text
        assert "a thought of mine" in text
        assert [hit.record.text for hit in memory.search("last")] == ["the last"]


def test_a_text_that_an_agent_appended_is_put_back_like_a_record(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        buffer = path.read_text(encoding="utf-8")
        time.sleep(0.02)
        memory.update("A whole paragraph by an agent.")
        path.write_text(buffer, encoding="utf-8")
        memory.library.refresh()
        assert "A whole paragraph by an agent." in memory.read().text


def taken_in_but_not_put_back(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at a save while another one keeps its lost lines from being put back."""
    tried = []

    def saved_again(name: str, pieces: object) -> None:
        tried.append(name)
        raise Unsettled(0.1)

    with monkeypatch.context() as patched:
        patched.setattr(memory.library.writer, "put_back", saved_again)
        with pytest.raises(Busy):
            memory.library.locked(memory.library.refresh)
    assert tried


@pytest.mark.parametrize("index_is", ["kept", "made anew", "deleted"])
def test_a_line_that_is_still_to_be_put_back_is_not_lost_and_a_deleted_one_not_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index_is: str
) -> None:
    """Another save may come between taking one in and putting back the lines it lacked."""
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path, lock_seconds=2) as memory:
        memory.store("the first", kind="fact")
        memory.store("to be deleted", kind="fact")
        time.sleep(0.02)
        buffer = path.read_text(encoding="utf-8").split("\n")
        time.sleep(0.02)
        stored = memory.store("stored while the editor was open", kind="fact")
        time.sleep(2.1)
        saved = "\n".join(line for line in buffer if "to be deleted" not in line)
        path.write_text(saved, encoding="utf-8")
        taken_in_but_not_put_back(memory, monkeypatch)
    if index_is == "deleted":
        for file in (tmp_path / ".commonplace").glob("index.db*"):
            file.unlink()
    with Memory.open(tmp_path) as memory:
        if index_is == "made anew":
            memory.rebuild()
        memory.library.refresh()
        text = memory.read().text
        assert text.count(stored.id) == 1
        assert "to be deleted" not in text
        memory.rebuild()
        assert memory.read().text == text


def test_a_line_that_was_put_back_and_then_deleted_does_not_return(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        buffer = path.read_text(encoding="utf-8")
        time.sleep(0.02)
        stored = memory.store("stored while the editor was open", kind="fact")
        path.write_text(buffer, encoding="utf-8")
        memory.library.refresh()
        assert stored.id in memory.read().text
        saved_without(path, stored.id, after=5)
        memory.library.refresh()
        memory.rebuild()
        assert stored.id not in memory.read().text


def test_a_save_in_the_middle_of_an_append_is_seen_as_a_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken for a power cut it would bring the deleted line back."""
    path = tmp_path / "MEMORY.md"
    stamped = FileVault._stamped

    def saved_meanwhile(vault: FileVault, descriptor: int, before: os.stat_result) -> Stat:
        monkeypatch.undo()
        path.write_text(saved, encoding="utf-8")
        return stamped(vault, descriptor, before)

    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        memory.store("to be deleted " * 30, kind="fact")
        time.sleep(2.1)
        lines = path.read_text(encoding="utf-8").split("\n")
        saved = "\n".join(line for line in lines if "to be deleted" not in line)
        time.sleep(0.02)
        monkeypatch.setattr(FileVault, "_stamped", saved_meanwhile)
        stored = memory.store("stored while the editor saved", kind="fact")
    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        text = memory.read().text
        assert "to be deleted" not in text
        assert text.count(stored.id) == 1


def test_nothing_we_do_looks_as_if_somebody_had_read_the_document(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        record = memory.store("the first", kind="fact")
        seen = path.stat().st_atime_ns
    time.sleep(0.02)
    with Memory.open(tmp_path) as memory:
        memory.search("first")
        memory.read()
        memory.update("- more", document="MEMORY.md")
        memory.blame("MEMORY.md")
        memory.problems()
        memory.rebuild()
        memory.history(record.id)
    assert path.stat().st_atime_ns == seen


SAVER = """
import os, random, sys, time
path, how, chance = sys.argv[1], sys.argv[2], random.Random(int(sys.argv[3]))
number = 0
while not os.path.exists(path + ".stop"):
    with open(path) as file:
        lines = file.read().split("\\n")
    time.sleep(chance.uniform(0, 0.03))
    lines.insert(2, f"- A script's own thought, number {number}")
    fresh = path + ".save~" if how == "replaces" else path
    with open(fresh, "w") as file:
        file.write("\\n".join(lines))
    if fresh != path:
        os.replace(fresh, path)
    os.write(1, f"{number}\\n".encode())
    number += 1
    time.sleep(chance.uniform(0, 0.25))
"""


@pytest.mark.parametrize("how", ["in place", "replaces"])
def test_beside_a_script_that_saves_all_the_time_every_line_stays_or_is_named(
    tmp_path: Path, how: str
) -> None:
    """A script that a busy machine stops for seconds between reading and saving takes lines out:
    those are named, and put back in one step.
    """
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("there before anybody came", kind="fact")
    programs = [
        subprocess.Popen([sys.executable, "-c", *words], stdout=subprocess.PIPE, text=True)
        for words in (
            [SAVER, str(path), how, "1"],
            *([AGENT, str(tmp_path), f"agent-{number}", "60"] for number in range(4)),
        )
    ]
    saver, *agents = programs
    acknowledged = [line for agent in agents for line in agent.communicate()[0].split()]
    Path(f"{path}.stop").touch()
    thoughts = saver.communicate()[0].split()
    assert [program.returncode for program in programs] == [0] * len(programs)
    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        for notice in memory.notices():
            memory.put_back(notice.change)
        text = memory.read().text
        ids = [item.record.id for item in memory.library.parse("MEMORY.md", text).items]
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept
    assert len(acknowledged) == 240
    assert [key for key in acknowledged if key not in ids] == []
    assert len(ids) == len(set(ids))
    assert [n for n in thoughts if f"thought, number {n}\n" not in text] == []


class SavingClock(FixedClock):
    """Whoever waits gives a person the time for one more save of the same short text."""

    def __init__(self, path: Path, every: float) -> None:
        super().__init__(time.time_ns())
        self.path, self.every, self.saves, self.next = path, every, 0, 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.nanoseconds > self.next:
            self.next = self.nanoseconds + int(self.every * 1e9)
            self.save()

    def save(self) -> None:
        self.saves += 1
        self.path.write_text(f"# Memory\n\n- A thought, saved {self.saves} times\n")
        os.utime(self.path, ns=(self.nanoseconds, self.nanoseconds))


@pytest.mark.parametrize("every", [0.1, 0.5, 0.9])
def test_who_saves_a_much_shorter_text_again_and_again_keeps_nobody_from_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: float
) -> None:
    clock = SavingClock(tmp_path / "MEMORY.md", every)
    for module in (document_watch, transactions):
        monkeypatch.setattr(module, "monotonic", lambda: clock.nanoseconds / 1e9)
    with Memory.open(tmp_path, clock=clock, create=True) as memory:
        for number in range(40):
            memory.store(f"An agent saw thing {number}", kind="fact")
    kept = []
    for number in range(2):
        clock.save()
        with Memory.open(tmp_path, clock=clock) as memory:
            kept.append(memory.store(f"An agent saw one more, {number}", kind="fact").id)
    with Memory.open(tmp_path, clock=clock) as memory:
        assert set(kept) <= {hit.record.id for hit in memory.search(limit=100)}
    assert clock.saves > 2


class Racing:
    """A vault whose next appends find that somebody saved the document a moment before."""

    def __init__(self, memory: Memory, saves: list[bytes]) -> None:
        self.path = memory.root / "MEMORY.md"
        self.saves = saves
        self.append = memory.library.vault.append
        memory.library.vault.append = self  # type: ignore[method-assign]

    def __call__(self, name: str, data: bytes, *, like: Stat | None) -> Stat:
        if name == "MEMORY.md" and self.saves:
            self.path.write_bytes(self.saves.pop(0))
        return self.append(name, data, like=like)


@pytest.mark.parametrize("saves", [1, 2, 3])
def test_what_is_to_be_put_back_is_not_lost_to_a_save_at_that_moment(
    tmp_path: Path, saves: int
) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        stale = path.read_bytes()
        memory.store("a record", kind="fact")
        memory.update("A whole paragraph by an agent.")
        path.write_bytes(stale)
        Racing(memory, [stale + b"- a thought\n" * number for number in range(1, saves + 1)])
        memory.library.refresh()
        text = memory.read().text
    assert text.count("a record") == 1
    assert text.count("A whole paragraph by an agent.") == 1
    assert text.count("a thought") == saves


def test_who_dies_before_it_is_put_back_leaves_that_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        stale = path.read_bytes()
        memory.store("a record", kind="fact")
        path.write_bytes(stale)

        def dies(*_: object) -> None:
            raise KeyboardInterrupt

        memory.library.writer.put_back = dies  # type: ignore[method-assign, assignment]
        with pytest.raises(KeyboardInterrupt):
            memory.library.refresh()
    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        assert memory.read().text.count("a record") == 1


def test_a_line_that_went_into_a_file_which_was_replaced_meanwhile_is_written_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "MEMORY.md"
    with Memory.open(tmp_path) as memory:
        memory.store("the first", kind="fact")
        tree = memory.library.vault._tree  # type: ignore[attr-defined]
        opened = tree.opened

        def replaced_then(name: str, flags: int, *, make: bool = False) -> object:
            found = opened(name, flags, make=make)
            if name == "MEMORY.md":
                tree.opened = opened
                path.with_name("new").write_bytes(path.read_bytes())
                path.with_name("new").replace(path)
            return found

        tree.opened = replaced_then
        memory.store("the second", kind="fact")
        assert memory.read().text.count("the second") == 1
