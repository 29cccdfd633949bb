"""What the document of EARL's memory claims, as far as it is built."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import Busy
from tests.data import clock_at, contents, example
from tests.support.clocks import SkippingClock

FREE = "Any *markdown*:\n\n> quotes\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n1. and lists — „so“ ✓"


@pytest.mark.claim("earl.survives-restart")
def test_a_fact_saved_by_one_process_is_found_by_another(place: str) -> None:
    store = "from commonplace.memory import Memory; import sys\nwith Memory.open("
    store += "sys.argv[1], 'earl') as memory: memory.store('The cat is called Luna')"
    subprocess.run([sys.executable, "-c", store, place], check=True)
    with Memory.open(place, clock=SkippingClock()) as memory:
        assert [hit.record.text for hit in memory.search("luna")] == ["The cat is called Luna"]


@pytest.mark.claim("earl.markdown-files")
def test_every_memory_stands_in_a_markdown_file_as_plain_text(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "earl", clock=SkippingClock()) as memory:
        memory.store("The cat is called Luna", kind="fact", username="alice")
        memory.update("Bob likes diffs", document="USER.md")
    for path in tmp_path.glob(".commonplace/*.*"):
        path.unlink()
    text = "".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("*.md"))
    assert "| `@alice` | The cat is called Luna\n" in text
    assert "Bob likes diffs\n" in text


@pytest.mark.claim("earl.default-directory")
def test_an_earl_vault_opened_without_a_path_is_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("COMMONPLACE_VAULT", raising=False)
    monkeypatch.chdir(tmp_path)
    directory = tmp_path / ".config" / "earl" / "memory"
    directory.mkdir(parents=True)
    (directory / "SOUL.md").write_text("Dry and kind.\n", encoding="utf-8")
    assert main(["--dialect", "earl", "store", "The cat is called Luna"]) == 0
    [daily] = directory.glob("2*.md")
    assert daily.read_text(encoding="utf-8").endswith("| The cat is called Luna\n")


@pytest.mark.claim("earl.soul-file", "earl.user-file", "earl.daily-file-name")
def test_soul_user_and_daily_files_stand_side_by_side_at_the_top(place: str) -> None:
    with Memory.open(example("earl", place), clock=clock_at("2025-01-19T10:00:00Z")) as memory:
        memory.store("A new day")
        assert (memory.layout.soul, memory.layout.user) == ("SOUL.md", "USER.md")
        assert memory.documents() == [
            "2025-01-14.md",
            "2025-01-15.md",
            "2025-01-18.md",
            "2025-01-19.md",
            "SOUL.md",
            "USER.md",
        ]


@pytest.mark.claim("earl.daily-file-per-day")
def test_entries_of_two_days_stand_in_two_files(place: str) -> None:
    clock = clock_at("2025-01-15T23:59:00Z")
    with Memory.open(place, "earl", clock=clock) as memory:
        memory.store("On the fifteenth")
        clock.sleep(60)
        memory.store("On the sixteenth")
    assert contents(place) == {
        "2025-01-15.md": b"# Memories for 2025-01-15\n\n- **23:59 UTC** | On the fifteenth\n",
        "2025-01-16.md": b"# Memories for 2025-01-16\n\n- **00:00 UTC** | On the sixteenth\n",
    }


@pytest.mark.claim("earl.soul-free-markdown", "earl.user-free-markdown")
@pytest.mark.parametrize("document", ["SOUL.md", "USER.md"])
def test_soul_and_user_hold_any_markdown_and_are_read_back_exactly(
    tmp_path: Path, document: str
) -> None:
    (tmp_path / document).write_bytes(FREE.replace("\n", "\r\n").encode())
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        assert memory.read(document).text == FREE.replace("\n", "\r\n")
        assert memory.problems() == []


@pytest.mark.claim("earl.user-written-by-hand")
def test_a_line_typed_into_user_md_is_memory_at_once(tmp_path: Path) -> None:
    root = example("earl", tmp_path)
    with Memory.open(root, clock=SkippingClock(), create=True) as memory:
        assert memory.search("marmalade") == []
        with (root / "USER.md").open("a", encoding="utf-8") as file:
            file.write("- Dora likes marmalade\r\n")
        [hit] = memory.search("marmalade")
    assert (hit.record.text, hit.record.origin) == ("Dora likes marmalade", "owner")
    assert [(place.document, place.line) for place in hit.places] == [("USER.md", 9)]


@pytest.mark.claim("earl.daily-header", "earl.daily-created")
def test_the_first_entry_of_a_day_creates_its_file_with_one_header(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "earl", clock=clock_at("2025-01-15T14:30:00Z")) as memory:
        assert memory.documents() == []
        memory.store("One")
        lines = (tmp_path / "2025-01-15.md").read_text(encoding="utf-8").split("\n")
        assert lines[:2] == ["# Memories for 2025-01-15", ""]
        memory.store("Two")
    text = (tmp_path / "2025-01-15.md").read_text(encoding="utf-8")
    assert text.count("# Memories for") == 1


@pytest.mark.claim("earl.daily-line-format", "earl.daily-one-line-each", "earl.daily-several-users")
def test_the_daily_file_of_the_document_is_written_to_the_letter(place: str) -> None:
    clock = clock_at("2025-01-15T14:30:00Z")
    with Memory.open(place, "earl", clock=clock) as memory:
        memory.store("Prefers dark mode in all editors", username="alice")
        clock.sleep(timedelta(hours=1, minutes=15).total_seconds())
        memory.store("Working on the authentication refactor this week", username="bob")
        users = {hit.record.username: hit.record.text for hit in memory.search()}
    expected = """\
# Memories for 2025-01-15

- **14:30 UTC** | `@alice` | Prefers dark mode in all editors
- **15:45 UTC** | `@bob` | Working on the authentication refactor this week
"""
    assert contents(place) == {"2025-01-15.md": expected.encode()}
    assert users == {
        "alice": "Prefers dark mode in all editors",
        "bob": "Working on the authentication refactor this week",
    }


@pytest.mark.claim("earl.daily-one-line-each")
def test_every_entry_of_several_lines_still_begins_with_a_dash_and_the_rest_is_indented(
    place: str,
) -> None:
    with Memory.open(place, "earl", clock=clock_at("2025-01-15T14:30:00Z")) as memory:
        memory.store("One\n- two\n\nthree")
        memory.store("Four")
        assert [hit.record.text for hit in memory.search("one four")] != []
        lines = memory.read("2025-01-15.md").text.split("\n")[2:]
    assert [line for line in lines if line.startswith("- ")] == [
        "- **14:30 UTC** | One",
        "- **14:30 UTC** | Four",
    ]
    assert "" not in lines[:-1]


@pytest.mark.claim("earl.daily-time-utc")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_the_time_is_utc_on_the_24_hour_clock_in_every_zone(place: str, zone: str) -> None:
    clock = clock_at("2025-01-15T20:05:59Z", zone=zone)
    with Memory.open(place, "earl", clock=clock) as memory:
        memory.store("Late or early")
        [hit] = memory.search("late")
    assert contents(place) == {
        "2025-01-15.md": b"# Memories for 2025-01-15\n\n- **20:05 UTC** | Late or early\n"
    }
    assert hit.record.timestamp == "2025-01-15T20:05:00.000Z"


@pytest.mark.claim("earl.daily-appended")
@pytest.mark.parametrize("day", ["2025-01-14", "2025-01-15", "2025-01-18"])
def test_a_new_entry_goes_after_the_last_and_leaves_every_byte_before_it(
    tmp_path: Path, day: str
) -> None:
    root = example("earl", tmp_path)
    before = (root / f"{day}.md").read_bytes()
    with Memory.open(root, clock=clock_at(f"{day}T23:59:00Z"), create=True) as memory:
        memory.store("The last of the day", username="bob")
    guard = b"" if before.endswith(b"\n") else b"\n"
    new = b"- **23:59 UTC** | `@bob` | The last of the day\n"
    assert (root / f"{day}.md").read_bytes() == before + guard + new


class Waiting(Clock):
    """A clock whose first sleeper is let in: it counts the waits and opens the lock."""

    def __init__(self, held: int) -> None:
        super().__init__(zone="UTC")
        self.held = held
        self.waits = 0

    def sleep(self, seconds: float) -> None:
        self.waits += 1
        if self.waits == 3:
            fcntl.flock(self.held, fcntl.LOCK_UN)


@pytest.mark.in_files
@pytest.mark.claim("earl.daily-file-lock")
def test_an_append_waits_for_the_lock_that_another_writer_holds(place: str) -> None:
    with Memory.open(place, "earl", clock=SkippingClock()) as memory:
        memory.store("Before")
        held = os.open(memory.state / "lock", os.O_RDWR)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        clock = Waiting(held)
        with Memory.open(place, "earl", clock=clock) as memory:
            memory.store("After the other was done")
        assert clock.waits == 3

        fcntl.flock(held, fcntl.LOCK_EX)
        before = contents(place)
        with (
            Memory.open(place, "earl", clock=SkippingClock(), lock_seconds=0) as memory,
            pytest.raises(Busy),
        ):
            memory.store("Nobody waits for ever")
        assert contents(place) == before
    finally:
        os.close(held)


WRITER = """
import sys
from commonplace.memory import Memory
with Memory.open(sys.argv[1], "earl") as memory:
    for number in range(20):
        memory.store(f"entry {number}", username=sys.argv[2])
"""


@pytest.mark.claim("earl.daily-concurrent-writes")
def test_writers_at_the_same_time_leave_every_entry_whole_and_once(place: str) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, place, f"agent{number}"])
        for number in range(3)
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    text = "".join(text.decode() for text in contents(place).values())
    lines = [line for line in text.split("\n") if line and not line.startswith("# Memories for ")]
    entry = re.compile(r"- \*\*\d\d:\d\d UTC\*\* \| `@(agent\d)` \| (entry \d+)")
    found = [match.groups() for line in lines if (match := entry.fullmatch(line))]
    assert len(found) == len(lines)
    assert sorted(found) == sorted(
        (f"agent{number}", f"entry {n}") for number in range(3) for n in range(20)
    )
