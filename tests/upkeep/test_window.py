"""The rolling window on MEMORY.md: what goes, where it goes, and that nothing is lost by it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from commonplace.markdown.documents import Item
from commonplace.memory import Memory
from commonplace.model.errors import BadOption
from commonplace.model.records import Record
from commonplace.storage.journal import Op, document_at
from commonplace.upkeep.window import Window, joined, overflow
from tests.laws.test_laws import rebuilt
from tests.support.clocks import FixedClock, SkippingClock
from tests.support.faults import each_fault

ARCHIVE = "memory/MEMORY-archive.md"


def opened(path: Path | str, dialect: str = "claw", **options: Any) -> Memory:
    return Memory.open(path, dialect, clock=SkippingClock(), environ={}, **options, create=True)


def numbered(memory: Memory, count: int, kind: str = "note") -> list[Record]:
    return [memory.store(f"Memory number {number}", kind=kind) for number in range(count)]


def held(memory: Memory, document: str = "MEMORY.md") -> list[Record]:
    """The records of a document, in its order."""
    library = memory.library
    items = library.parse(document, library.text(document)[0]).items
    return [item.record for item in items if item.record.kind != "passage"]


@pytest.mark.claim("claw.trim-by-records", "claw.trim-oldest-first")
def test_the_oldest_records_go_when_there_are_too_many(place: str) -> None:
    with opened(place, memory_max_records=3) as memory:
        records = numbered(memory, 3)
        assert held(memory) == records
        records += numbered(memory, 2)
        assert held(memory) == records[-3:]


@pytest.mark.claim("claw.trim-by-chars")
def test_the_oldest_records_go_when_there_are_too_many_characters(place: str) -> None:
    with opened(place, memory_max_chars=1000) as memory:
        for number in range(12):
            memory.store(f"Memory Nummer {number}, größer")
            assert len(memory.read().text) <= 1000
        assert held(memory)[-1].text == "Memory Nummer 11, größer"
        assert len(held(memory)) >= 3


def turned_round(path: Path) -> None:
    """The records of MEMORY.md below its heading, the last of them first, as a person may sort."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join((*lines[:2], *lines[:1:-1])), encoding="utf-8")


@pytest.mark.parametrize("apart", [0.000_002, 1.0])
def test_the_oldest_is_told_by_its_time_not_by_its_place(tmp_path: Path, apart: float) -> None:
    clock = FixedClock(1_763_280_000_000_000_000)
    with Memory.open(tmp_path, "claw", clock=clock, environ={}) as memory:
        kept = []
        for number in range(3):
            kept.append(memory.store(f"Memory number {number}"))
            clock.sleep(apart)
        turned_round(tmp_path / "MEMORY.md")
        assert held(memory) == kept[::-1]
    with Memory.open(tmp_path, "claw", clock=clock, environ={}, memory_max_records=3) as memory:
        new = memory.store("The newest of all")
        assert held(memory) == [kept[2], kept[1], new]


@pytest.mark.claim("claw.trim-leaves-daily")
def test_a_trim_leaves_the_daily_log_alone(place: str) -> None:
    with opened(place, memory_max_records=2) as memory:
        records = numbered(memory, 5)
        [day] = [name for name in memory.documents() if memory.layout.day_of(name)]
        assert held(memory, day) == records
        assert memory.get(records[0].id).record == records[0]


@pytest.mark.claim("claw.trim-archives")
def test_trimmed_lines_are_in_the_archive_as_they_stood(place: str) -> None:
    with opened(place) as memory:
        records = numbered(memory, 4)
        lines = memory.read().text.splitlines()[2:]
    with opened(place, memory_max_records=3, memory_archive_path=ARCHIVE) as memory:
        records.append(memory.store("One more"))
        assert held(memory, ARCHIVE) == records[:2]
        assert memory.read(ARCHIVE).text.splitlines() == lines[:2]
        assert held(memory) == records[2:]


def test_without_an_archive_a_trim_makes_no_document(tmp_path: Path) -> None:
    with opened(tmp_path, memory_max_records=2) as memory:
        numbered(memory, 5)
        assert ARCHIVE not in memory.documents()
        assert not (tmp_path / "archive").exists()


@pytest.mark.parametrize("dialect", ["native", "notebook"])
def test_the_native_layouts_have_their_archive_without_being_told(place: str, dialect: str) -> None:
    with opened(place, dialect, memory_max_records=2) as memory:
        records = numbered(memory, 5, kind="fact")
        assert held(memory, "archive/MEMORY.md") == records[:3]
        assert held(memory) == records[3:]
        assert memory.get(records[0].id).record == records[0]


@pytest.mark.claim("claw.trim-resyncs-index")
def test_after_a_trim_the_index_is_that_of_the_documents(place: str) -> None:
    with opened(place, "notebook", memory_max_records=3) as memory:
        records = numbered(memory, 3)
        memory.recall("number")
        memory.store("Another number of mine")
        memory.recall("number")
        assert memory.library.index.dump() == rebuilt(memory)
        assert [place.document for place in memory.get(records[0].id).places] == [
            "archive/MEMORY.md"
        ]
        with_places = memory.recall("Memory number 0")
        assert with_places[0].record == records[0]


def test_what_a_person_wrote_by_hand_stays(tmp_path: Path) -> None:
    mine = "# Memory\n\n## Me\n\nSome prose of mine.\n\n- a line of mine\n\n"
    (tmp_path / "MEMORY.md").write_text(mine, encoding="utf-8")
    (tmp_path / "memory").mkdir()
    with opened(tmp_path, "native", memory_max_records=3) as memory:
        records = numbered(memory, 6, kind="fact")
        text = memory.read().text
        assert text.startswith(mine)
        assert [record.id for record in held(memory)[1:]] == [r.id for r in records[-2:]]


def test_the_newest_record_stays_even_where_nothing_else_can_go(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("A long story. " * 50, encoding="utf-8")
    with opened(tmp_path, "native", memory_max_chars=300) as memory:
        numbered(memory, 3, kind="fact")
        newest = memory.store("The newest", kind="fact")
        assert held(memory) == [newest]


@pytest.mark.claim("notebook.truncate-oldest")
def test_the_oldest_entries_of_a_notebook_make_room_for_new_ones(place: str) -> None:
    from commonplace import tools

    with opened(place, "notebook", memory_max_chars=900) as memory:
        for number in range(20):
            tools.call(
                memory,
                "memory_update",
                {"content": f"- Fact number {number} about the house", "mode": "append"},
                dialect="notebook",
            )
            assert len(memory.read().text) <= 900
        texts = [record.text.rpartition(" (")[0] for record in held(memory)]
        assert (
            texts
            == [f"Fact number {number} about the house" for number in range(20)][-len(texts) :]
        )
        assert 3 <= len(texts) < 20
        assert "## About Me" in memory.read().text
        assert "Fact number 0 about" in memory.read("archive/MEMORY.md").text
        assert memory.library.index.dump() == rebuilt(memory)


def test_a_trim_is_one_change_that_can_be_taken_back_by_its_number(place: str) -> None:
    with opened(place) as memory:
        records = numbered(memory, 4)
    with opened(place, memory_max_records=3, memory_archive_path=ARCHIVE) as memory:
        new = memory.store("One more")
        trim = memory.log()[0]
        assert (trim.op, trim.removed) == (Op.TRIM, tuple(r.id for r in records[:2]))
        memory.undo(trim.position)
        assert held(memory) == [*records, new]
        assert ARCHIVE not in memory.documents()


def test_plain_undo_takes_back_the_store_not_the_trim_after_it(place: str) -> None:
    with opened(place, memory_max_records=2) as memory:
        records = numbered(memory, 3)
        memory.undo()
        assert held(memory) == [records[1]]


def test_a_trimmed_record_without_an_archive_is_in_the_journal_exactly(place: str) -> None:
    with opened(place, memory_max_records=2) as memory:
        records = numbered(memory, 3)
        line = f"- {records[0].text}"
        [trim] = [entry for entry in memory.history(records[0].id) if entry.op == Op.TRIM]
        read = memory.library.parse("MEMORY.md", trim.lines[0])
        assert [item.record for item in read.items] == [records[0]]
        assert line not in memory.read().text


def test_a_forgotten_record_is_gone_from_the_trim_that_moved_it(tmp_path: Path) -> None:
    from tests.library.test_recovery import files_with

    with opened(tmp_path, "native", memory_max_records=2) as memory:
        doomed = memory.store("The zanzibar plan", kind="fact")
        numbered(memory, 4, kind="fact")
        assert held(memory, "archive/MEMORY.md")[0] == doomed
        memory.delete(doomed.id)
    assert files_with(tmp_path, b"zanzibar") == []


@pytest.mark.parametrize("wrong", ["../x.md", "MEMORY.md", "memory/2026-01-01.md", "x.txt"])
def test_a_wrong_archive_is_refused_before_anything_is_stored(place: str, wrong: str) -> None:
    with pytest.raises(BadOption, match="memory_archive_path"):
        opened(place, memory_archive_path=wrong)


def test_a_stale_save_that_brings_trimmed_lines_back_archives_none_twice(tmp_path: Path) -> None:
    options: Any = {"memory_max_records": 3, "memory_archive_path": ARCHIVE}
    with opened(tmp_path, **options) as memory:
        records = numbered(memory, 3)
        stale = (tmp_path / "MEMORY.md").read_bytes()
        numbered(memory, 2)
        (tmp_path / "MEMORY.md").write_bytes(stale)
        numbered(memory, 1)
        kept = held(memory, ARCHIVE)
        assert len({record.id for record in kept}) == len(kept)
        assert records[0] in kept
        assert records[0] not in held(memory)
        assert memory.library.index.dump() == rebuilt(memory)


def test_an_archive_in_a_directory_of_its_own_is_searched_too(place: str) -> None:
    with opened(place, memory_max_records=1, memory_archive_path="old/all.md") as memory:
        first, _ = numbered(memory, 2)
        assert "old/all.md" in [place.document for place in memory.get(first.id).places]


def test_a_document_with_other_line_ends_is_trimmed_whole(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        records = numbered(memory, 3)
    path = tmp_path / "MEMORY.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with opened(tmp_path, memory_max_records=2, memory_archive_path=ARCHIVE) as memory:
        new = memory.store("With other line ends")
        assert held(memory) == [records[2], new]
        assert held(memory, ARCHIVE) == records[:2]
        assert memory.library.index.dump() == rebuilt(memory)


def item(number: int) -> Item:
    record = Record(f"mem-{number}", "note", str(number), f"2026-01-01T00:00:{number % 60:02}.000Z")
    return Item(record, number + 1, number * 10, number * 10 + 10)


def test_a_long_document_is_trimmed_an_eighth_at_a_time() -> None:
    items = [(item(number), True) for number in range(801)]
    chosen = overflow(items, size=8010, window=Window("MEMORY.md", records=800))
    assert len(items) - len(chosen) == 700
    assert overflow(items[:800], size=8000, window=Window("MEMORY.md", records=800)) == ()


def test_neighbouring_stretches_are_one() -> None:
    assert joined([(0, 5), (5, 3), (10, 2), (12, 1)]) == ((0, 8), (10, 3))
    assert joined([]) == ()


FAULTS = {
    "killed": {},
    "disk full once": {"fault": errno.ENOSPC},
    "disk full from then on": {"fault": errno.ENOSPC, "lasting": True},
    "disk broken once": {"fault": errno.EIO},
    "disk broken from then on": {"fault": errno.EIO, "lasting": True},
}


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_at_any_call_of_a_trim_leaves_old_or_new_and_is_mended_at_the_next_start(
    tmp_path: Path, fault: str
) -> None:
    template, root = tmp_path / "template", tmp_path / "vault"

    def with_limits(path: Path) -> Memory:
        return opened(path, memory_max_records=3, memory_archive_path=ARCHIVE)

    with with_limits(template) as memory:
        # The archive is there already, and the next store trims.
        numbered(memory, 4)
        old = {record.id: record for record in held(memory) + held(memory, ARCHIVE)}
    before = (template / "MEMORY.md").read_bytes()
    seen = 0
    faults: Any = FAULTS[fault]
    for at in each_fault(template, root, with_limits, lambda m: m.store("The fifth"), **faults):
        data = (root / "MEMORY.md").read_bytes()
        lines = data.splitlines(keepends=True)
        # Whole, with a part of the line that was being appended, or trimmed: never less.
        assert data.startswith(before) or lines[2:4] == before.splitlines(keepends=True)[3:5], at
        with with_limits(root) as memory:
            memory.count()
            there = {record.id: record for record in held(memory) + held(memory, ARCHIVE)}
            assert there.items() >= old.items(), at
            both = {r.id for r in held(memory)} & {r.id for r in held(memory, ARCHIVE)}
            assert not both, at
            assert {r.text for r in there.values()} - {r.text for r in old.values()} <= {
                "The fifth"
            }
            assert memory.library.index.dump() == rebuilt(memory), at
            assert memory.problems() == []
            for name in memory.documents():
                told = document_at(
                    memory.library.journal, name, since=memory.library.known(name).base
                )
                assert told == memory.library.vault.read(name), at
            memory.store("The sixth")
            assert len(held(memory)) <= 3
        seen = at
    assert seen > 15


def test_what_goes_to_the_daily_log_alone_needs_no_window(place: str) -> None:
    with opened(place, "native", memory_max_records=1, memory_compaction_enabled=True) as memory:
        memory.checkpoint()
        assert "MEMORY.md" not in memory.documents()


BY_HAND = "# Memory\n\n## Facts\n\n" + "".join(f"- Fact {n} by hand\n" for n in range(30))


@pytest.mark.in_files
@pytest.mark.claim("notebook.truncate-oldest")
@pytest.mark.parametrize("way", ["memory_update", "section", "update", "store"])
def test_of_an_adopted_notebook_the_topmost_lines_go_first(tmp_path: Path, way: str) -> None:
    from commonplace import tools

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "MEMORY.md").write_text(BY_HAND, encoding="utf-8")
    with Memory.open(tmp_path, memory_max_chars=600) as memory:
        for number in range(3):
            new = f"Fact {number} of an agent"
            if way == "store":
                memory.store(new)
            elif way == "update":
                memory.update(f"- {new}")
            else:
                section = {"section": "Facts"} if way == "section" else {}
                given = {"content": f"- {new}", "mode": "append", **section}
                tools.call(memory, "memory_update", given, dialect="notebook")
            assert len(memory.read().text) <= 600
        left = [record.text for record in held(memory)]
        assert [text[:6] for text in left[-3:]] == ["Fact 0", "Fact 1", "Fact 2"]
        assert all("of an agent" in text for text in left[-3:])
        by_hand = [text for text in left if text.endswith("by hand")]
        assert by_hand == [f"Fact {n} by hand" for n in range(30)][-len(by_hand) :]
        archived = memory.read("archive/MEMORY.md").text
        assert "- Fact 0 by hand\n" in archived
        assert "of an agent" not in archived
