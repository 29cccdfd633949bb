"""What a save took out soon after it was written is named, with the command that brings it back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from commonplace.doors.admin import doctor
from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from commonplace.model.errors import NotFound
from tests.laws.test_stale_saves import saved_without
from tests.support.clocks import FixedClock

COMMAND = re.compile(r"commonplace (put-back \d+)\.")


def taken_out(root: Path, *, after: float = 20, replaces: bool = False) -> None:
    with Memory.open(root) as memory:
        memory.store("stays for good", kind="fact")
        memory.store("taken out by a save", kind="fact")
        memory.update("A paragraph that was taken out.")
    saved_without(root / "MEMORY.md", "taken out", after=after, replaces=replaces)


def run(root: Path, *words: str) -> int:
    return main(["--vault", str(root), *words])


@pytest.mark.parametrize("replaces", [False, True])
def test_the_next_command_names_it_once_and_its_command_brings_it_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], replaces: bool
) -> None:
    taken_out(tmp_path, replaces=replaces)
    assert run(tmp_path, "log") == 0
    told = capsys.readouterr()
    assert "MEMORY.md" in told.err
    command = COMMAND.search(told.err)
    assert command
    assert "taken out" not in told.out
    run(tmp_path, "log")
    assert capsys.readouterr().err == ""

    assert run(tmp_path, *command[1].split()) == 0
    assert "taken out by a save" in capsys.readouterr().out
    text = (tmp_path / "MEMORY.md").read_text(encoding="utf-8")
    assert text.count("taken out by a save") == 1
    assert text.count("A paragraph that was taken out.") == 1
    with Memory.open(tmp_path) as memory:
        assert memory.search("taken save")[0].record.text == "taken out by a save"
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept


def test_status_and_doctor_name_it_until_it_is_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken_out(tmp_path)
    run(tmp_path, "brief")
    with Memory.open(tmp_path) as memory:
        for _ in range(2):
            [finding] = [it for it in doctor.examine(memory) if it.what == "edit"]
            assert not finding.good
            assert COMMAND.search(finding.fix)
            assert any("MEMORY.md" in trouble for trouble in memory.status()["troubles"])
        [notice] = memory.notices()
        assert len(memory.put_back(notice.change)) == 2
        assert memory.notices() == []
        assert all(it.good for it in doctor.examine(memory) if it.what in ("edit", "edits"))
        with pytest.raises(NotFound, match="No save is noted"):
            memory.put_back(notice.change)
        memory.undo()
        memory.undo()
        assert "taken out" not in memory.read().text
    capsys.readouterr()
    run(tmp_path, "put-back")
    assert "No save" in capsys.readouterr().out


def test_it_is_listed_and_can_be_dismissed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken_out(tmp_path)
    assert run(tmp_path, "put-back") == 0
    listed = capsys.readouterr()
    assert "taken out by a save" in listed.out
    number = listed.out.split()[0]
    assert run(tmp_path, "put-back", number, "--dismiss") == 0
    run(tmp_path, "put-back")
    assert "No save" in capsys.readouterr().out
    assert run(tmp_path, "put-back", number) == 3
    assert "taken out" not in (tmp_path / "MEMORY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("after", "replaces", "named"), [(90, False, 0), (90, True, 1)])
def test_an_old_line_that_its_reader_took_out_is_a_plain_deletion(
    tmp_path: Path, after: float, replaces: bool, named: int
) -> None:
    taken_out(tmp_path, after=after, replaces=replaces)
    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        assert len(memory.notices()) == named


def test_a_notice_holds_no_text_and_what_is_forgotten_does_not_come_back(tmp_path: Path) -> None:
    taken_out(tmp_path)
    with Memory.open(tmp_path, origin="owner") as memory:
        memory.library.refresh()
        note = (memory.state / "notices.json").read_bytes()
        assert b"taken out by" not in note
        [notice] = memory.notices()
        record = next(key for _, key in notice.pieces if key)
        memory.delete(record)
        assert [line.strip() for line in memory.put_back(notice.change)] == [
            "A paragraph that was taken out."
        ]


def test_after_two_weeks_nobody_hears_of_it(tmp_path: Path) -> None:
    taken_out(tmp_path)
    with Memory.open(tmp_path) as memory:
        memory.library.refresh()
        now = memory.clock.now_ns()
    with Memory.open(tmp_path, clock=FixedClock(now + 15 * 86_400 * 10**9)) as memory:
        assert memory.notices() == []
