"""What was: undo, history, blame, and any text at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.library.undo import Restored, Undone
from commonplace.memory import Memory
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import BadName, BadValue, NoSuchDocument, NothingToUndo, Unreadable
from commonplace.model.records import Record
from commonplace.storage.journal import Append, Cut, Entry, Gone, Op, Text, find_text
from tests.data import clock_at, documents_of
from tests.laws.test_laws import rebuilt
from tests.support.clocks import FixedClock, SkippingClock
from tests.support.faults import each_fault

HOUR = 3600.0
GARDEN = "garden.md"
BEFORE = "# Garden\n\nThe roses are white.\n\n## Beds\n\n- One bed of beans\n- One bed of peas\n"


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-15T10:00:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    """A vault with a record and a document of prose, an hour old."""
    with Memory.open(place, "native", session="s-1", clock=clock) as memory:
        memory.store("The kettle is new", kind="fact")
        memory.update(BEFORE, document=GARDEN)
        clock.sleep(HOUR)
        yield memory


def texts(memory: Memory) -> list[str]:
    """The texts of all records that nothing has replaced, oldest first."""
    return [hit.record.text for hit in memory.search(include_passages=False)[::-1]]


def last(memory: Memory, op: Op) -> Entry:
    return next(entry for entry in memory.log(limit=1000) if entry.op == op)


def lasting(memory: Memory) -> tuple[dict[str, bytes], list[str]]:
    """What a vault says: its documents, and what is found in them."""
    return documents_of(memory), texts(memory)


def kettle(memory: Memory) -> Record:
    [hit] = memory.search("kettle", include_superseded=True)
    return hit.record


DEEDS: dict[str, Callable[[Memory], object]] = {
    "a record": lambda memory: memory.store("The tea is green", kind="fact", tags=["tea"]),
    "a record of several lines": lambda memory: memory.store("Tea:\ngreen\n\n- not black"),
    "several records": lambda memory: memory.store_all([{"text": "One"}, {"text": "Two"}]),
    "a record that replaces another": lambda memory: memory.supersede(
        kettle(memory).id, "The kettle is broken"
    ),
    "text appended": lambda memory: memory.update("The ivy grows.", document=GARDEN),
    "text appended to a section": lambda memory: memory.update(
        "- One bed of kale", document=GARDEN, section="Beds"
    ),
    "a section set": lambda memory: memory.update(
        "- One bed of beans\n- One bed of leeks\n- One of peas",
        document=GARDEN,
        mode="section",
        section="Beds",
    ),
    "a new section": lambda memory: memory.update(
        "Two of them.", document=GARDEN, mode="section", section="Trees"
    ),
    "a rewrite": lambda memory: memory.update(
        BEFORE.replace("white", "red"), document=GARDEN, mode="rewrite"
    ),
    "a new document": lambda memory: memory.update("Bread.", document="shopping/list.md"),
    "a new document by a rewrite": lambda memory: memory.update(
        "Bread.", document="shopping/list.md", mode="rewrite"
    ),
    "a diary entry": lambda memory: memory.write_diary("A quiet day."),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_undo_takes_back_every_byte_of_the_last_change(memory: Memory, deed: str) -> None:
    before = lasting(memory)
    DEEDS[deed](memory)
    changed = lasting(memory)
    done = memory.log()[0]
    assert changed != before
    assert memory.undo().entry == done
    assert lasting(memory) == before
    kept = memory.library.index.dump()
    memory.rebuild()
    assert memory.library.index.dump() == kept


@pytest.mark.parametrize("deed", DEEDS)
def test_an_undo_is_taken_back_by_its_number(memory: Memory, deed: str) -> None:
    DEEDS[deed](memory)
    changed = lasting(memory)
    memory.undo()
    undone = last(memory, Op.UNDO)
    assert memory.undo(undone.position).entry == undone
    assert lasting(memory) == changed


@pytest.mark.parametrize("deed", DEEDS)
def test_a_change_is_taken_back_by_its_number_and_what_came_later_stays(
    memory: Memory, clock: FixedClock, deed: str
) -> None:
    """As if the change had never been made."""
    DEEDS[deed](memory)
    position = memory.log()[0].position
    clock.sleep(HOUR)
    later = memory.store("Stored later", kind="fact")
    memory.update("Appended later.", document=GARDEN)
    memory.undo(position)

    kept = {path: text.decode() for path, text in documents_of(memory).items()}
    assert kept[GARDEN] == BEFORE + "Appended later.\n"
    assert memory.get(later.id).record == later
    assert texts(memory) == [
        *("One bed of beans", "One bed of peas"),
        *("The kettle is new", "Stored later"),
    ]
    lines = [line for line in kept["MEMORY.md"].split("\n") if line]
    assert lines[:3] == ["# Memory", "## Facts", "*Updated: 2026-11-15*"]
    assert [line.split(" (")[0] for line in lines[3:]] == ["- The kettle is new", "- Stored later"]
    assert sorted(kept) == ["MEMORY.md", GARDEN]


def test_undo_goes_back_step_by_step_to_the_beginning(memory: Memory) -> None:
    memory.store("The tea is green", kind="fact")
    taken = [memory.undo().entry.op for _ in range(3)]
    assert taken == [Op.ADD, Op.ADD, Op.ADD]
    assert documents_of(memory) == {}
    with pytest.raises(NothingToUndo, match=r"no change is left.*commonplace log"):
        memory.undo()


def test_a_change_that_was_brought_back_can_be_taken_back_again(memory: Memory) -> None:
    before = lasting(memory)
    memory.store("The tea is green", kind="fact")
    changed = lasting(memory)
    memory.undo()
    memory.undo(last(memory, Op.UNDO).position)
    assert lasting(memory) == changed
    memory.undo()
    assert lasting(memory) == before


def test_a_change_is_taken_back_once(memory: Memory) -> None:
    memory.store("The tea is green", kind="fact")
    position = memory.log()[0].position
    memory.undo(position)
    before = lasting(memory)
    with pytest.raises(NothingToUndo, match="was taken back already"):
        memory.undo(position)
    assert lasting(memory) == before


@pytest.mark.parametrize("position", [0, 1, 10**9])
def test_a_number_that_is_no_change_is_refused(memory: Memory, position: int) -> None:
    with pytest.raises(NothingToUndo, match=f"no change {position}"):
        memory.undo(position)


def test_undo_of_a_session_takes_back_only_what_that_session_did(
    memory: Memory, place: str, clock: FixedClock
) -> None:
    memory.store("Mine")
    with Memory.open(place, session="s-2", clock=clock) as other:
        other.store("Theirs")
    assert memory.undo(session="s-1").entry.session == "s-1"
    assert texts(memory)[-1] == "Theirs"
    assert memory.undo(session="s-2").entry.session == "s-2"
    with pytest.raises(NothingToUndo):
        memory.undo(session="s-3")


def test_the_undo_of_a_replacement_makes_the_old_record_current_again(memory: Memory) -> None:
    old = kettle(memory)
    new = memory.supersede(old.id, "The kettle is broken")
    assert [hit.record for hit in memory.search("kettle")] == [new]
    memory.undo()
    assert [hit.record for hit in memory.search("kettle")] == [old]


def test_the_undo_of_a_replaced_record_leaves_the_replacement(memory: Memory) -> None:
    [stored] = [entry for entry in memory.log() if kettle(memory).id in entry.ids]
    new = memory.supersede(kettle(memory).id, "The kettle is broken")
    memory.undo(stored.position)
    assert [hit.record for hit in memory.search("kettle", include_superseded=True)] == [new]


def test_what_was_forgotten_is_not_brought_back(memory: Memory) -> None:
    record = memory.store("The pin of the garage is a secret")
    memory.delete(record.id)
    before = lasting(memory)
    with pytest.raises(NothingToUndo, match="gone for good"):
        memory.undo(last(memory, Op.FORGET).position)
    assert lasting(memory) == before


def test_who_has_just_forgotten_something_takes_back_nothing_else_unasked(memory: Memory) -> None:
    memory.store("The tea is green", kind="fact")
    stored = last(memory, Op.ADD).position
    record = memory.store("The pin of the garage is a secret")
    memory.delete(record.id)
    with pytest.raises(NothingToUndo, match=f"gone for good.* undo --change {stored}' takes back"):
        memory.undo()
    assert texts(memory)[-1] == "The tea is green"
    memory.undo(stored)
    assert texts(memory)[-1] == "The kettle is new"


def test_a_template_that_is_written_again_is_not_what_undo_takes_back(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "claw") as memory:
        memory.store("Likes kale")
    (tmp_path / "MEMORY.md").unlink()
    with Memory.open(tmp_path) as memory:
        assert memory.undo().entry.ids
    with Memory.open(tmp_path) as memory, pytest.raises(NothingToUndo):
        memory.undo()


def test_what_is_done_after_something_was_forgotten_is_taken_back(memory: Memory) -> None:
    record = memory.store("The pin of the garage is a secret")
    memory.delete(record.id)
    memory.store("The tea is green", kind="fact")
    memory.undo()
    assert texts(memory)[-1] == "The kettle is new"


def test_no_undo_brings_back_a_forgotten_record_that_its_change_had_around_it(
    memory: Memory,
) -> None:
    record = memory.store("The pin of the garage is a secret")
    text = memory.read("MEMORY.md").text
    memory.update(text + "\nA remark.\n", document="MEMORY.md", mode="rewrite")
    rewritten = memory.log()[0].position
    memory.delete(record.id)
    memory.undo(rewritten)
    undone = last(memory, Op.UNDO).position
    memory.undo(undone)
    assert "A remark." in memory.read("MEMORY.md").text
    everything = b"".join(documents_of(memory).values())
    assert b"garage" not in everything
    assert memory.search("garage") == []


def edited(memory: Memory, document: str, old: str, new: str) -> None:
    """A person changes a document in an editor."""
    path = memory.root / document
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    memory.library.refresh()


@pytest.mark.parametrize("first", ["First.", "First.\n", "# First\n\nA line.\n"])
def test_the_undo_of_a_new_document_leaves_only_what_came_later(memory: Memory, first: str) -> None:
    memory.update(first, document="new.md", mode="rewrite")
    made = memory.log()[0]
    memory.update("- second", document="new.md")
    assert memory.undo(made.position) == Undone(made, ("new.md",))
    assert memory.read("new.md").text == "- second\n"
    assert memory.library.index.dump() == rebuilt(memory)


@pytest.mark.parametrize("last_line", ["The roses are red.", "The roses are red.\n"])
def test_the_undo_of_a_rewrite_leaves_no_blank_line_behind(memory: Memory, last_line: str) -> None:
    memory.update(BEFORE + last_line, document=GARDEN, mode="rewrite")
    rewritten = memory.log()[0].position
    memory.update("Appended later.", document=GARDEN)
    memory.undo(rewritten)
    assert memory.read(GARDEN).text == BEFORE + "Appended later.\n"


@pytest.mark.in_files
@pytest.mark.parametrize("mode", ["append", "rewrite"])
def test_undo_makes_no_document_that_a_person_deleted(memory: Memory, mode: str) -> None:
    memory.update("Bread.", document="list.md", mode=mode)
    made = memory.log()[0].position
    (memory.root / "list.md").unlink()
    with pytest.raises(NothingToUndo, match="no longer there"):
        memory.undo(made)
    assert "list.md" not in documents_of(memory)


@pytest.mark.in_files
def test_undo_tells_of_the_documents_that_it_changed_and_of_no_other(memory: Memory) -> None:
    memory.store("The tea is green", kind="fact")
    memory.store_all([{"text": "The pot is full", "kind": "fact"}, {"text": "The pot was filled"}])
    stored = memory.log()[0]
    assert sorted(stored.documents()) == ["MEMORY.md", "memory/2026-11-15.md"]
    (memory.root / "memory/2026-11-15.md").unlink()
    memory.library.refresh()
    gone = memory.log()[0]
    assert memory.undo() == Undone(stored, ("MEMORY.md",), (gone,))
    assert sorted(documents_of(memory)) == ["MEMORY.md", GARDEN]


@pytest.mark.in_files
def test_undo_leaves_a_document_alone_that_cannot_be_read(memory: Memory) -> None:
    memory.update(BEFORE.replace("white", "red"), document=GARDEN, mode="rewrite")
    (memory.root / GARDEN).write_bytes(b"caf\xe9\n")
    with pytest.raises(Unreadable, match=GARDEN):
        memory.undo()
    assert (memory.root / GARDEN).read_bytes() == b"caf\xe9\n"


@pytest.mark.in_files
def test_an_outside_edit_is_taken_back_by_its_number(memory: Memory) -> None:
    before = documents_of(memory)
    edited(memory, GARDEN, "white", "yellow")
    edit = memory.log()[0]
    assert (edit.op, edit.origin, edit.documents()) == (Op.EDITED, "owner", (GARDEN,))
    memory.undo(edit.position)
    assert documents_of(memory) == before


@pytest.mark.in_files
def test_an_outside_edit_with_changes_since_is_taken_back_alone(memory: Memory) -> None:
    edited(memory, GARDEN, "white", "yellow")
    edit = memory.log()[0]
    memory.update("Appended later.", document=GARDEN)
    memory.undo(edit.position)
    assert memory.read(GARDEN).text == BEFORE + "Appended later.\n"


@pytest.mark.in_files
def test_plain_undo_leaves_a_persons_edit_alone(memory: Memory) -> None:
    edited(memory, GARDEN, "white", "yellow")
    memory.store("The tea is green", kind="fact")
    assert memory.undo().edits == ()
    assert memory.read(GARDEN).text == BEFORE.replace("white", "yellow")


@pytest.mark.in_files
def test_undo_tells_which_newer_edits_it_passed_over_and_each_is_taken_back_by_number(
    memory: Memory,
) -> None:
    before = documents_of(memory)
    memory.store("The tea is green", kind="fact")
    stored = memory.log()[0]
    for name, word in (("MEMORY.md", "kettle"), (GARDEN, "roses")):
        path = memory.root / name
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if word not in line), encoding="utf-8")
        memory.library.refresh()
    newest, older = memory.log(limit=2)
    done = memory.undo()
    assert done == Undone(stored, stored.documents(), (newest, older))
    assert texts(memory) == ["One bed of beans", "One bed of peas"]
    for edit in done.edits:
        memory.undo(edit.position)
    assert documents_of(memory) == before


@pytest.mark.in_files
def test_an_edit_of_which_nothing_is_left_is_not_told(memory: Memory) -> None:
    edited(memory, GARDEN, "white", "yellow")
    edited(memory, GARDEN, "yellow", "white")
    back = memory.log()[0]
    memory.update("- more", document="other.md")
    memory.undo()
    assert memory.undo().edits == (back,)


@pytest.mark.in_files
def test_where_only_edits_by_hand_are_left_undo_says_how_to_take_them_back(memory: Memory) -> None:
    edited(memory, GARDEN, "white", "yellow")
    edit = memory.log()[0].position
    way = rf"no change is left.*made by hand.*'commonplace undo --change {edit}' \({GARDEN}\)"
    with pytest.raises(NothingToUndo, match=way):
        memory.undo(session="s-3")


@pytest.mark.in_files
def test_a_document_that_a_person_deleted_is_brought_back_by_number(memory: Memory) -> None:
    (memory.root / GARDEN).unlink()
    memory.library.refresh()
    gone = memory.log()[0]
    assert gone.changes == (Gone(GARDEN),)
    memory.undo(gone.position)
    assert memory.read(GARDEN).text == BEFORE


@pytest.mark.in_files
def test_undo_works_in_a_document_in_crlf(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"# Memory\r\n\r\n- by hand\r\n")
    with Memory.open(tmp_path, "native", clock=clock) as memory:
        memory.library.refresh()
        before = lasting(memory)
        memory.store("Two\nlines", kind="fact")
        text = (tmp_path / "MEMORY.md").read_bytes()
        assert text.count(b"\r\n") == text.count(b"\n") == 9
        memory.undo()
        assert lasting(memory) == before
        memory.update("One\nparagraph")
        memory.undo()
        assert lasting(memory) == before


def test_undo_works_where_lines_carry_no_data(place: str, clock: FixedClock) -> None:
    with Memory.open(place, "earl", clock=clock) as memory:
        memory.store("Likes tea", username="alice")
        before = lasting(memory)
        memory.store("Likes tea", username="alice")
        memory.undo()
        assert lasting(memory) == before
        memory.undo(last(memory, Op.UNDO).position)
        assert texts(memory) == ["Likes tea", "Likes tea"]


@pytest.mark.in_files
def test_undo_finds_what_a_person_moved_to_another_place_of_the_document(memory: Memory) -> None:
    record = memory.store("The tea is green", kind="fact")
    position = memory.log()[0].position
    text = memory.read("MEMORY.md").text
    line = next(line for line in text.split("\n") if record.id in line)
    moved = text.replace(line + "\n", "").replace("# Memory\n", f"# Memory\n\n## Tea\n{line}\n")
    edited(memory, "MEMORY.md", text, moved)
    memory.undo(position)
    assert record.id not in memory.read("MEMORY.md").text
    assert "## Tea" in memory.read("MEMORY.md").text
    assert texts(memory)[-1] == "The kettle is new"


@pytest.mark.in_files
def test_history_is_every_change_about_one_record_oldest_first(
    memory: Memory, clock: FixedClock
) -> None:
    record = memory.store("The tea is green", kind="fact")
    memory.store("Something else")
    clock.sleep(HOUR)
    edited(memory, "MEMORY.md", "The tea is green", "The tea is black")
    clock.sleep(HOUR)
    memory.delete(record.id)
    told = [
        (entry.at, entry.op, entry.origin, entry.session, record.id in entry.removed)
        for entry in memory.history(record.id)
    ]
    assert told == [
        ("2026-11-15T11:00:00.000Z", Op.ADD, "agent", "s-1", False),
        ("2026-11-15T12:00:00.000Z", Op.EDITED, "owner", "", False),
        ("2026-11-15T13:00:00.000Z", Op.FORGET, "agent", "s-1", True),
    ]


def test_history_tells_an_undo_and_what_replaced_a_record(memory: Memory) -> None:
    old = kettle(memory)
    new = memory.supersede(old.id, "The kettle is broken")
    memory.undo()
    assert [entry.op for entry in memory.history(new.id)] == [Op.ADD, Op.UNDO]
    assert [entry.op for entry in memory.history(old.id)] == [Op.ADD]


def test_history_of_a_record_that_never_was_is_empty(memory: Memory) -> None:
    assert memory.history("mem-never") == []
    with pytest.raises(BadValue, match="is not a record id"):
        memory.history("no such id")


def test_the_history_of_a_forgotten_record_tells_no_word_of_it(memory: Memory) -> None:
    record = memory.store("The pin of the garage is a secret", tags=["hush"])
    memory.delete(record.id)
    assert "garage" not in repr(memory.history(record.id))
    assert "hush" not in repr(memory.history(record.id))


@pytest.mark.in_files
def test_blame_says_of_each_line_who_brought_it_and_when(tmp_path: Path, clock: FixedClock) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- there before\n", encoding="utf-8")
    with Memory.open(tmp_path, "native", session="s-1", clock=clock) as memory:
        memory.library.refresh()
        clock.sleep(HOUR)
        memory.store("The tea is green", kind="fact")
        clock.sleep(HOUR)
        edited(memory, "MEMORY.md", "# Memory\n", "# Memory\n\n- by a person\n")
        told = [
            (line.line, line.text, line.entry and (line.entry.at, line.entry.origin))
            for line in memory.blame("MEMORY.md")
            if line.text
        ]
        *_, written, _ = memory.read().text.split("\n")
    stored = ("2026-11-15T11:00:00.000Z", "agent")
    assert told == [
        (1, "# Memory", None),
        (3, "- by a person", ("2026-11-15T12:00:00.000Z", "owner")),
        (5, "- there before", None),
        (7, "## Facts", stored),
        (8, "*Updated: 2026-11-15*", stored),
        (10, written, stored),
    ]


def test_blame_keeps_the_first_writer_through_a_rewrite(memory: Memory, clock: FixedClock) -> None:
    memory.update(BEFORE.replace("white", "red"), document=GARDEN, mode="rewrite")
    told = [line.entry and line.entry.at for line in memory.blame(GARDEN)]
    old, new = "2026-11-15T10:00:00.000Z", "2026-11-15T11:00:00.000Z"
    assert told == [old, old, new, old, old, old, old, old]


def test_blame_tells_equal_lines_and_unfinished_ones_apart(
    memory: Memory, clock: FixedClock
) -> None:
    hours = []
    for text in ("one", "one\n", "two\none", "three\n"):
        clock.sleep(HOUR)
        hours.append(clock.stamp())
        memory.update(text, document="notes/log.md", mode="append")
    memory.update("one\ntwo\none\n", document="notes/log.md", mode="rewrite")
    first, second, third, _ = hours
    told = [(line.text, line.entry and line.entry.at) for line in memory.blame("notes/log.md")]
    assert told[-3:] == [("one", first), ("two", third), ("one", second)]


@pytest.mark.parametrize(
    ("document", "error"), [("nothing.md", NoSuchDocument), ("../up.md", BadName)]
)
def test_blame_of_what_is_not_there_is_an_error(
    memory: Memory, document: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        memory.blame(document)


@pytest.mark.in_files
def test_text_at_is_what_a_document_said_at_that_time(memory: Memory, clock: FixedClock) -> None:
    red = BEFORE.replace("white", "red")
    memory.update(red, document=GARDEN, mode="rewrite")
    clock.sleep(HOUR)
    memory.update("The ivy grows.", document=GARDEN)
    clock.sleep(HOUR)
    edited(memory, GARDEN, "ivy", "vine")
    times = {
        "2026-11-15T10:00:00Z": BEFORE,
        "2026-11-15T10:59:59Z": BEFORE,
        "2026-11-15T11:00:00Z": red,
        "2026-11-15T12:30:00+00:00": red + "The ivy grows.\n",
        "2026-11-15T15:00:00+02:00": red + "The vine grows.\n",
        "2027-01-01": red + "The vine grows.\n",
    }
    said = {time: memory.text_at(GARDEN, parse_stamp(time)) for time in times}
    assert said == times


def test_text_at_a_time_before_the_document_is_an_error(memory: Memory) -> None:
    with pytest.raises(NoSuchDocument, match=r"garden\.md at 2026-11-15T09:00:00\.000Z"):
        memory.text_at(GARDEN, parse_stamp("2026-11-15T09:00:00Z"))


def test_no_text_at_any_time_holds_what_was_forgotten(memory: Memory, clock: FixedClock) -> None:
    before = memory.read("MEMORY.md").text
    record = memory.store("The pin of the garage\nis a secret")
    now = clock.now()
    clock.sleep(HOUR)
    memory.update(memory.read("MEMORY.md").text + "\nEnd.\n", document="MEMORY.md", mode="rewrite")
    memory.delete(record.id)
    assert memory.text_at("MEMORY.md", now) == before
    memory.restore(now)
    assert memory.read("MEMORY.md").text == before


def test_restore_makes_one_document_say_again_what_it_said(
    memory: Memory, clock: FixedClock
) -> None:
    then = clock.now()
    clock.sleep(HOUR)
    stored = memory.store("The tea is green", kind="fact")
    memory.update(BEFORE.replace("white", "red"), document=GARDEN, mode="rewrite")
    assert memory.restore(then, GARDEN) == Restored((GARDEN,))
    assert memory.read(GARDEN).text == BEFORE
    assert memory.get(stored.id).record == stored


def test_restore_brings_back_every_document_of_a_time_and_can_be_undone(
    memory: Memory, clock: FixedClock
) -> None:
    then, before = clock.now(), lasting(memory)
    clock.sleep(HOUR)
    memory.store("The tea is green", kind="fact")
    memory.update(BEFORE.replace("white", "red"), document=GARDEN, mode="rewrite")
    changed = lasting(memory)
    assert memory.restore(then) == Restored(("MEMORY.md", GARDEN))
    assert lasting(memory) == before
    assert memory.undo().entry.op == Op.RESTORE
    assert lasting(memory) == changed


@pytest.mark.in_files
def test_restore_brings_back_a_document_that_is_gone(memory: Memory, clock: FixedClock) -> None:
    then = clock.now()
    clock.sleep(HOUR)
    (memory.root / GARDEN).unlink()
    memory.library.refresh()
    memory.restore(then, GARDEN)
    assert memory.read(GARDEN).text == BEFORE


def test_restore_takes_away_what_was_made_since_and_undo_brings_it_back(
    memory: Memory, clock: FixedClock
) -> None:
    then, before = clock.now(), lasting(memory)
    clock.sleep(24 * HOUR)
    memory.store("The tea is green", kind="fact")
    memory.update("Bread.", document="list.md")
    memory.rename(GARDEN, "beds.md")
    changed = lasting(memory)
    assert memory.restore(then) == Restored(("MEMORY.md", GARDEN), ("beds.md", "list.md"))
    assert lasting(memory) == before
    assert memory.library.index.dump() == rebuilt(memory)
    memory.undo()
    assert lasting(memory) == changed
    assert memory.library.index.dump() == rebuilt(memory)


def test_restore_leaves_diary_entries_alone(memory: Memory, clock: FixedClock) -> None:
    then = clock.now()
    clock.sleep(HOUR)
    entry = memory.write_diary("A quiet day.").document
    assert memory.restore(then) == Restored(())
    assert memory.read(entry).text == "A quiet day.\n"


@pytest.mark.in_files
def test_restore_leaves_what_a_person_made_whenever_that_was(
    memory: Memory, clock: FixedClock
) -> None:
    then = clock.now()
    (memory.root / "by-hand.md").write_text("Older than the first look at it.\n", encoding="utf-8")
    clock.sleep(HOUR)
    memory.library.refresh()
    memory.update("Read by now.", document="by-hand.md")
    assert memory.restore(then) == Restored(())
    assert memory.read("by-hand.md").text == "Older than the first look at it.\nRead by now.\n"


@pytest.mark.in_files
def test_restore_changes_nothing_when_one_of_the_documents_cannot_be_read(
    memory: Memory, clock: FixedClock
) -> None:
    then = clock.now()
    clock.sleep(HOUR)
    memory.store("The tea is green", kind="fact")
    (memory.root / GARDEN).write_bytes(b"caf\xe9\n")
    before = documents_of(memory)
    with pytest.raises(Unreadable, match=GARDEN):
        memory.restore(then)
    assert documents_of(memory) == before


def test_restore_to_what_a_document_says_already_changes_nothing(
    memory: Memory, clock: FixedClock
) -> None:
    before, log = lasting(memory), memory.log()
    assert memory.restore(clock.now()) == Restored(())
    assert (lasting(memory), memory.log()) == (before, log)


BACK: dict[str, Callable[[Memory, datetime], object]] = {
    "restore": lambda memory, then: memory.restore(then),
    "undo": lambda memory, then: memory.undo(),
}


@pytest.mark.long
@pytest.mark.parametrize("way", BACK)
def test_a_death_on_the_way_back_leaves_every_document_as_it_was_or_none(
    tmp_path: Path, way: str
) -> None:
    template, root = tmp_path / "template", tmp_path / "vault"
    clock = SkippingClock()
    with Memory.open(template, "native", clock=clock, create=True) as memory:
        memory.store("The kettle is new")
        memory.update(BEFORE, document=GARDEN)
        then, before = clock.now(), documents_of(memory)
        clock.sleep(24 * HOUR)
        if way == "restore":
            memory.update("Bread.", document="list.md")
            memory.update(BEFORE.replace("white", "red"), document=GARDEN, mode="rewrite")
        memory.store("The tea is green", kind="fact")
        after = documents_of(memory)
    outcomes = set()
    for at in each_fault(
        template,
        root,
        lambda path: Memory.open(path, clock=clock, create=True),
        lambda memory: BACK[way](memory, then),
    ):
        with Memory.open(root, clock=clock, create=True) as memory:
            memory.count()
            assert documents_of(memory) in (before, after), at
            outcomes.add(documents_of(memory) == before)
            assert memory.library.index.dump() == rebuilt(memory), at
            if documents_of(memory) == before:
                memory.undo(last(memory, Op(way)).position)
                assert documents_of(memory) == after, at
    assert outcomes == {False, True}


@pytest.mark.in_files
def test_the_log_lists_the_last_changes_newest_first(memory: Memory, clock: FixedClock) -> None:
    record = memory.store("The tea is green", kind="fact")
    edited(memory, GARDEN, "white", "yellow")
    clock.sleep(HOUR)
    memory.undo()
    memory.delete(kettle(memory).id)
    told = [
        (entry.at[11:16], entry.op, entry.origin, entry.session, entry.documents())
        for entry in memory.log()
    ]
    main = ("MEMORY.md",)
    assert told == [
        ("12:00", Op.FORGET, "agent", "s-1", main),
        ("12:00", Op.UNDO, "agent", "s-1", main),
        ("11:00", Op.EDITED, "owner", "", (GARDEN,)),
        ("11:00", Op.ADD, "agent", "s-1", main),
        ("10:00", Op.ADD, "agent", "s-1", (GARDEN,)),
        ("10:00", Op.ADD, "agent", "s-1", main),
    ]
    assert memory.log(limit=2) == memory.log()[:2]
    assert memory.log()[3].ids == (record.id,)
    kinds = {type(change) for entry in memory.log() for change in entry.changes}
    assert kinds == {Append, Cut, Text}


def test_the_past_is_there_after_a_restart(memory: Memory, place: str, clock: FixedClock) -> None:
    before = lasting(memory)
    record = memory.store("The tea is green", kind="fact")
    log = memory.log()
    with Memory.open(place, session="s-2", clock=clock) as again:
        assert again.log() == log
        assert [entry.op for entry in again.history(record.id)] == [Op.ADD]
        again.undo()
        assert lasting(again) == before
    assert lasting(memory) == before


@pytest.mark.in_files
def test_deleting_the_journal_loses_history_and_no_memory(
    memory: Memory, place: str, clock: FixedClock
) -> None:
    before = lasting(memory)
    memory.close()
    (memory.state / "journal.jsonl").unlink()
    with Memory.open(place, clock=clock) as again:
        assert lasting(again) == before
        with pytest.raises(NothingToUndo):
            again.undo()
        again.store("The tea is green")
        again.undo()
        assert lasting(again) == before


def test_every_text_that_a_document_had_is_found_by_its_mark_the_latest_first(place: str) -> None:
    with Memory.open(place, create=True, session="s-1") as memory:
        shown = []
        for number in range(6):
            memory.store(f"Thing {number} is blue", kind="fact")
            shown.append(memory.read())
            memory.update(f"- Told {number}\n", mode="append", section="Things")
            shown.append(memory.read())
        for page in shown:
            found = memory.library.documents.text_marked("MEMORY.md", page.etag)
            assert found == page.text.encode()
        looked: list[bytes] = []
        journal = memory.library.journal

        def note(text: bytes) -> bool:
            looked.append(text)
            return False

        assert find_text(journal, "MEMORY.md", note) is None
        before = [page.text.encode() for page in shown]
        assert looked.index(before[-1]) < looked.index(before[0])
