"""Undo and its opposite: a document that was absent, empty or filled is so again, and redo."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import pytest

from commonplace.doors.admin.init import begin, begin_at
from commonplace.memory import Memory
from commonplace.model.errors import NothingToUndo, Refused
from commonplace.model.options import is_url
from commonplace.model.records import OWNER, Origin
from commonplace.storage.journal import Op, Text
from tests.data import clock_at, documents_of
from tests.library.test_past import BEFORE, DEEDS, GARDEN, lasting
from tests.support.clocks import FixedClock

PAGE, OTHER = "page.md", "other.md"
STATES: dict[str, str | None] = {"absent": None, "empty": "", "filled": "One line.\n"}
WRITES: dict[str, Callable[[Memory], object]] = {
    "append": lambda memory: memory.update("New.", document=PAGE),
    "rewrite": lambda memory: memory.update("New.\n", document=PAGE, mode="rewrite"),
    "rewrite to nothing": lambda memory: memory.update("", document=PAGE, mode="rewrite"),
    "section": lambda memory: memory.update("New.", document=PAGE, mode="section", section="A"),
    "append to a section": lambda memory: memory.update("New.", document=PAGE, section="A"),
    "create": lambda memory: memory.create("New.", document=PAGE),
    "create empty": lambda memory: memory.create("", document=PAGE),
    "remove": lambda memory: memory.remove(PAGE),
    "rename": lambda memory: memory.rename(PAGE, OTHER),
    "rename to it": lambda memory: memory.rename(OTHER, PAGE),
}
ABSENT = ("create", "create empty", "rename to it")
THERE = ("remove", "rename")
CASES = [
    (state, way)
    for state, way in product(STATES, WRITES)
    if way not in (THERE if state == "absent" else ABSENT)
    and (state, way) != ("empty", "rewrite to nothing")
]


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-15T10:00:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(place, "native", session="s-1", clock=clock, lose_share=1.0) as memory:
        yield memory


@pytest.fixture
def furnished(memory: Memory, clock: FixedClock) -> Memory:
    """A vault with a record and a document of prose, an hour old."""
    memory.store("The kettle is new", kind="fact")
    memory.update(BEFORE, document=GARDEN)
    clock.sleep(3600)
    return memory


def put(memory: Memory, text: str | None) -> None:
    """Let the document say this, or not be there, as its owner left it."""
    there = memory.library.vault.stat(PAGE)
    person = memory.for_session("", origin=Origin.OWNER)
    if text is None and there:
        person.remove(PAGE)
    elif text is not None:
        person.update(text, document=PAGE, mode="rewrite")


@pytest.mark.parametrize(("before", "way"), CASES)
def test_an_undo_leaves_a_document_absent_empty_or_filled_as_it_was(
    memory: Memory, before: str, way: str
) -> None:
    if way == "rename to it":
        memory.create("", document=OTHER)
    put(memory, STATES[before])
    was = documents_of(memory)
    WRITES[way](memory)
    done = documents_of(memory)
    change = memory.log()[0].position
    for _ in range(2):
        memory.undo(change)
        assert documents_of(memory) == was
        memory.redo()
        assert documents_of(memory) == done
    kept = memory.library.index.dump()
    memory.rebuild()
    assert memory.library.index.dump() == kept


@pytest.mark.parametrize(("first", "second"), list(product(STATES, STATES)))
def test_one_undo_after_another_goes_through_every_state_and_redo_comes_back(
    memory: Memory, first: str, second: str
) -> None:
    put(memory, STATES[first])
    seen = [documents_of(memory)]
    for state in (second, "filled", "empty", second):
        put(memory, STATES[state])
        if documents_of(memory) != seen[-1]:
            seen.append(documents_of(memory))
    for was in seen[-2::-1]:
        memory.undo()
        assert documents_of(memory) == was
    for done in seen[1:]:
        memory.redo()
        assert documents_of(memory) == done


def test_a_record_stored_into_a_document_that_was_empty_leaves_it_empty(
    place: str, clock: FixedClock
) -> None:
    with Memory.open(place, "claw", clock=clock, lose_share=1.0) as memory:
        memory.store("The first")
        name = next(name for name in memory.documents() if name != "MEMORY.md")
        person = memory.for_session("", origin=Origin.OWNER)
        person.update("", document=name, mode="rewrite")
        was = documents_of(memory)
        memory.store("The kettle is new")
        memory.undo()
        assert documents_of(memory) == was
        assert documents_of(memory)[name] == b""


def begun(place: str, dialect: str, clock: FixedClock) -> Memory:
    """A vault that was just made, or completed."""
    if is_url(place):
        begin_at(place, dialect=dialect)
    else:
        begin(Path(place), dialect=dialect)
    return Memory.open(place, dialect, clock=clock)


@pytest.mark.parametrize("dialect", ["native", "earl", "notebook", "journal"])
@pytest.mark.parametrize("session", ["", "s-1"])
def test_a_plain_undo_takes_back_nothing_that_init_made(
    place: str, clock: FixedClock, dialect: str, session: str
) -> None:
    with begun(place, dialect, clock) as memory:
        was = documents_of(memory)
        with pytest.raises(NothingToUndo, match=r"since the vault was made.* undo --change \d+'"):
            memory.undo(session=session)
        memory.store("The kettle is new")
        memory.undo()
        assert documents_of(memory) == was
        with pytest.raises(NothingToUndo, match="since the vault was made"):
            memory.undo()
        made = next(entry for entry in memory.log() if entry.op == Op.INIT)
        memory.undo(made.position)
        assert documents_of(memory) == {}
        memory.redo()
        assert documents_of(memory) == was


def test_what_init_made_in_an_older_journal_is_not_crossed_either(memory: Memory) -> None:
    library = memory.library

    def work() -> None:
        version = Text("USER.md", library.journal.keep(b""))
        library.replace_texts(
            library.entry(Op.ADD, [version], author=OWNER), {"USER.md": (None, b"")}
        )

    memory.store("From before")
    library.locked(work)
    with pytest.raises(NothingToUndo, match="since the vault was made"):
        memory.undo()


@pytest.mark.in_files
@pytest.mark.parametrize("text", ["", "Ada\n"])
def test_no_undo_takes_away_what_was_there_before_init(
    tmp_path: Path, clock: FixedClock, text: str
) -> None:
    (tmp_path / "USER.md").write_text(text, encoding="utf-8")
    with begun(str(tmp_path), "native", clock) as memory:
        for entry in memory.log():
            if entry.op == Op.SEEN:
                with pytest.raises(NothingToUndo, match=r"USER\.md was there before"):
                    memory.undo(entry.position)
            else:
                memory.undo(entry.position)
        assert documents_of(memory) == {"USER.md": text.encode()}


@pytest.mark.parametrize("deed", DEEDS)
def test_redo_makes_every_byte_of_a_change_again(furnished: Memory, deed: str) -> None:
    memory = furnished
    before = lasting(memory)
    DEEDS[deed](memory)
    change = memory.log()[0]
    changed = lasting(memory)
    memory.undo()
    done = memory.redo()
    assert done.entry == change
    assert lasting(memory) == changed
    with pytest.raises(NothingToUndo, match="no undo is left"):
        memory.redo()
    assert memory.undo().entry == change
    assert lasting(memory) == before
    kept = memory.library.index.dump()
    memory.rebuild()
    assert memory.library.index.dump() == kept


def test_several_undos_are_redone_one_by_one_the_last_first(furnished: Memory) -> None:
    memory = furnished
    seen = [lasting(memory)]
    for deed in ("a record", "text appended", "a rewrite", "a new document"):
        DEEDS[deed](memory)
        seen.append(lasting(memory))
    for was in seen[-2::-1]:
        memory.undo()
        assert lasting(memory) == was
    for done in seen[1:]:
        memory.redo()
        assert lasting(memory) == done


@pytest.mark.parametrize("deed", DEEDS)
def test_what_was_changed_between_undo_and_redo_stays(furnished: Memory, deed: str) -> None:
    memory = furnished
    DEEDS[deed](memory)
    done = documents_of(memory)
    memory.undo()
    later = memory.store("Stored in between", kind="fact")
    memory.update("Appended in between.", document=GARDEN)
    memory.redo()
    assert memory.get(later.id).record == later
    now = documents_of(memory)
    assert b"Appended in between." in now[GARDEN]
    for name, text in done.items():
        assert all(line in now[name] for line in text.splitlines())


@pytest.mark.parametrize("named_by", ["the change", "the undo"])
def test_an_undo_of_a_given_number_is_redone_plainly_and_by_number(
    furnished: Memory, named_by: str
) -> None:
    memory = furnished
    memory.store("One")
    first = memory.log()[0].position
    memory.store("Two")
    both = lasting(memory)
    memory.undo(first)
    memory.redo()
    assert lasting(memory) == both
    memory.undo(first)
    undone = memory.log()[0].position
    memory.undo()
    memory.redo(first if named_by == "the change" else undone)
    assert "One" in [hit.record.text for hit in memory.search("One")]
    with pytest.raises(NothingToUndo, match=f"change {first} is not taken back"):
        memory.redo(first)
    with pytest.raises(NothingToUndo, match="there is no change 999999"):
        memory.redo(999999)


def test_redo_of_a_session_takes_back_only_the_undos_of_that_session(furnished: Memory) -> None:
    one, two = furnished, furnished.for_session("s-2")
    one.store("Of the first session")
    two.store("Of the second session")
    one.undo(session="s-1")
    two.undo(session="s-2")
    one.redo(session="s-1")
    assert [hit.record.text for hit in one.search("session")] == ["Of the first session"]
    with pytest.raises(NothingToUndo, match="Nothing was redone"):
        one.redo(session="s-1")


def test_what_was_forgotten_meanwhile_is_not_made_again(furnished: Memory) -> None:
    memory = furnished
    record = memory.store("The safe opens with 4711", kind="fact")
    memory.undo()
    memory.delete(record.id)
    with pytest.raises(NothingToUndo, match="Nothing was redone"):
        memory.redo()
    assert b"4711" not in b"".join(documents_of(memory).values())


def test_who_has_read_untrusted_text_redoes_its_own_undos_only(furnished: Memory) -> None:
    person = furnished.for_session("", origin=Origin.OWNER)
    person.store("The owner's own")
    change = person.log()[0].position
    person.undo()
    agent = furnished.for_session("s-9", origin=Origin.AGENT)
    agent.taint()
    with pytest.raises(NothingToUndo, match="Nothing was redone"):
        agent.redo()
    with pytest.raises(Refused, match="may not take it back"):
        agent.redo(change)
    agent.store("From the web")
    agent.undo()
    assert agent.redo().entry.session == "s-9"


def test_an_undo_of_a_redo_by_number_is_redone_as_well(furnished: Memory) -> None:
    memory = furnished
    before = lasting(memory)
    DEEDS["a rewrite"](memory)
    done = lasting(memory)
    memory.undo()
    memory.redo()
    memory.undo(memory.log()[0].position)
    assert lasting(memory) == before
    assert memory.redo().entry.op == Op.REPLACE
    assert lasting(memory) == done
