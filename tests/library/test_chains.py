"""Chains of records that replace each other: what was replaced stays so, whatever is lost."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from commonplace.memory import Memory, storing
from commonplace.model.errors import Conflict, NoSuchRecord
from commonplace.model.records import Origin, Record
from commonplace.storage.journal import Op
from tests.laws.test_laws import rebuilt
from tests.support.clocks import SkippingClock
from tests.support.postgres import fresh_url


def opened(place: str, dialect: str = "native") -> Memory:
    return Memory.open(place, dialect, clock=SkippingClock(), create=True)


def owned(place: str) -> Memory:
    return Memory.open(place, origin=Origin.OWNER, clock=SkippingClock(), create=True)


def chain(memory: Memory, length: int = 3) -> list[Record]:
    """Records of which each replaces the one before it."""
    records = [memory.store("The office is on floor 0", kind="fact")]
    for floor in range(1, length):
        records.append(memory.supersede(records[-1].id, f"The office is on floor {floor}"))
    return records


def current(memory: Memory) -> set[str]:
    return {hit.record.id for hit in memory.search("", include_passages=False, limit=1000)}


@pytest.mark.parametrize("way", ["supersede", "store"])
def test_prose_is_replaced_in_its_document_and_the_error_says_so(place: str, way: str) -> None:
    with owned(place) as memory:
        memory.update("# Plans\n\nThe office moves in May.\n", document="plans.md", mode="rewrite")
        [hit] = memory.search("office moves", include_passages=True, limit=1)
        new = "The office moves in June"
        replaces = {
            "supersede": lambda: memory.supersede(hit.record.id, new),
            "store": lambda: memory.store(new, supersedes=hit.record.id),
        }
        with pytest.raises(NoSuchRecord) as refused:
            replaces[way]()
    said = f"There is no record {hit.record.id}. plans.md says it as prose."
    assert str(refused.value) == f"{said} Change the document itself."


def without_record(memory: Memory, key: str) -> None:
    """Take a record's line out of every document as a person does in an editor."""
    memory.library.refresh()
    for place in memory.get(key).places:
        path = memory.root / place.document
        stat, text = path.stat(), path.read_bytes().decode()
        for item in reversed(memory.library.parse(place.document, text).items):
            if item.record.id == key:
                text = text[: item.start] + text[item.end :]
        path.write_bytes(text.encode())
        # It was read after our last write, and saved later than a program would.
        read = max(stat.st_mtime_ns, stat.st_atime_ns) + 3_000_000_000
        os.utime(path, ns=(read, read + 3_000_000_000))
    memory.library.refresh()


LOSSES: dict[str, Callable[[Memory, str], object]] = {
    "delete": lambda memory, key: memory.delete(key),
    "strike": lambda memory, key: memory.strike([key]),
    "hand": without_record,
}


@pytest.mark.parametrize("dialect", ["native", "claw", "earl"])
@pytest.mark.parametrize("loss", ["delete", "strike"])
@pytest.mark.parametrize("lost", [(0,), (1, 2), (2, 1), (0, 1), (3,), (2, 3)])
def test_what_was_replaced_stays_so_whatever_of_its_chain_is_lost(
    place: str, dialect: str, loss: str, lost: tuple[int, ...]
) -> None:
    with opened(place, dialect) as memory:
        records = chain(memory, 4)
        for at in lost:
            LOSSES[loss](memory, records[at].id)
        expected = set() if 3 in lost else {records[3].id}
        assert current(memory) == expected
        assert memory.count() == len(expected)
        memory.rebuild()
        assert current(memory) == expected


@pytest.mark.in_files
@pytest.mark.parametrize("dialect", ["native", "claw", "notebook"])
@pytest.mark.parametrize("loss", list(LOSSES))
@pytest.mark.parametrize("lost", [(1,), (2, 1), (3, 2)])
def test_the_documents_alone_tell_it(
    place: str, dialect: str, loss: str, lost: tuple[int, ...]
) -> None:
    with opened(place, dialect) as memory:
        records = chain(memory, 4)
        for at in lost:
            LOSSES[loss](memory, records[at].id)
        state = memory.state
    shutil.rmtree(state)
    with opened(place, dialect) as memory:
        assert current(memory) == (set() if 3 in lost else {records[3].id})


@pytest.mark.parametrize("dialect", ["native", "claw", "earl", "journal", "notebook"])
def test_deleting_the_head_names_the_older_one_and_brings_it_back_when_asked(
    place: str, dialect: str
) -> None:
    with opened(place, dialect) as memory:
        first, second, third, fourth = chain(memory, 4)
        receipt = memory.delete(fourth.id)
        assert (receipt.replaced, receipt.brought_back) == ((third.id,), ())
        assert f"{third.id}, which it had replaced, stays replaced" in receipt.chain()
        assert current(memory) == set()
        memory.unlink(third.id)
        assert current(memory) == {third.id}
        assert memory.delete(second.id).replaced == ()
        receipt = memory.delete(third.id, bring_back=True)
        assert (receipt.replaced, receipt.brought_back) == ((), (first.id,))
        assert current(memory) == {first.id}
        memory.rebuild()
        assert current(memory) == {first.id}


@pytest.mark.parametrize("loss", ["strike", "hand"])
@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.in_files
def test_undoing_a_loss_restores_what_was_current_all_the_way_down(
    place: str, loss: str, at: int
) -> None:
    with opened(place) as memory:
        records = chain(memory)
        before = {name: memory.read(name).text for name in memory.documents()}
        LOSSES[loss](memory, records[at].id)
        positions = [e.position for e in memory.log() if e.op in (Op.STRIKE, Op.EDITED)]
        for position in positions:
            memory.undo(position)
        assert current(memory) == {records[2].id}
        if loss == "strike":
            assert {name: memory.read(name).text for name in memory.documents()} == before
        adds = {entry.ids[0]: entry.position for entry in memory.log() if entry.op == Op.ADD}
        memory.undo(adds[records[2].id])
        assert current(memory) == {records[1].id}
        memory.undo(adds[records[1].id])
        assert current(memory) == {records[0].id}


def test_undoing_the_middle_of_a_chain_brings_nothing_back_while_a_later_one_stands(
    place: str,
) -> None:
    with opened(place) as memory:
        first, second, third = chain(memory)
        adds = {entry.ids[0]: entry.position for entry in memory.log()}
        memory.undo(adds[second.id])
        assert current(memory) == {third.id}
        with pytest.raises(Conflict, match=third.id):
            memory.supersede(first.id, "The office is in another house")
        memory.undo(adds[third.id])
        assert current(memory) == {first.id}


def test_what_was_replaced_meanwhile_is_not_replaced_again(place: str) -> None:
    with opened(place) as one, opened(place) as other:
        old = one.store("The office is on floor 1", kind="fact")
        new = other.supersede(old.id, "The office is on floor 2")
        with pytest.raises(Conflict, match=f"supersede {new.id}"):
            one.supersede(old.id, "The office is on floor 3")
        assert current(one) == {new.id}
        last = one.supersede(new.id, "The office is on floor 3")
        assert current(other) == {last.id}


def test_what_is_deleted_while_another_is_to_replace_it_leaves_nothing_behind(place: str) -> None:
    with opened(place) as one, opened(place) as other:
        old = one.store("The office is on floor 1", kind="fact")
        record = storing.record_of(one, one.author, text="New", kind="fact", supersedes=old.id)
        other.delete(old.id)
        with pytest.raises(NoSuchRecord):
            one.library.store.admit([record], to=lambda _: ["MEMORY.md"], author=one.author)
        assert current(one) == set()


def test_a_held_record_is_not_let_in_over_one_that_came_meanwhile(place: str) -> None:
    with opened(place) as memory:
        old = memory.store("Answer in French", kind="instruction")
        record = storing.record_of(
            memory, memory.author, text="Answer in Dutch", kind="instruction", supersedes=old.id
        )
        memory.library.hold(record, author=memory.author)
        new = memory.supersede(old.id, "Answer in German")
        with pytest.raises(Conflict, match=new.id):
            memory.approve(record.id)
        assert current(memory) == {new.id}


SUPERSEDING = """
import sys
from commonplace.model.errors import Conflict
from commonplace.memory import Memory
place, key, name = sys.argv[1:]
with Memory.open(place) as memory:
    try:
        print(memory.supersede(key, f"The office is where {name} says").id)
    except Conflict as error:
        print("refused", error)
"""


def test_of_many_who_replace_one_record_at_once_one_does(place: str) -> None:
    with opened(place) as memory:
        old = memory.store("The office is on floor 1", kind="fact")
        command = [sys.executable, "-c", SUPERSEDING, place, old.id]
        writers = [
            subprocess.Popen([*command, f"writer {n}"], stdout=subprocess.PIPE, text=True)
            for n in range(5)
        ]
        told = [writer.communicate()[0].strip() for writer in writers]
        stored = [line for line in told if not line.startswith("refused")]
        assert len(stored) == 1
        assert all(stored[0] in line for line in told)
        assert current(memory) == set(stored)


@pytest.mark.in_files
def test_a_hand_written_line_keeps_its_words_and_its_marker(place: str) -> None:
    Path(place, "MEMORY.md").write_text("# Memory\n\n* Tea at four,\n  with milk\n* Rye\n")
    with owned(place) as memory:
        [old] = [hit.record for hit in memory.search("milk")]
        new = memory.supersede(old.id, "Tea at five")
        memory.delete(new.id)
        text = memory.read("MEMORY.md").text
        data = f'{{"id":"{old.id}","origin":"owner","replaced_by":"{new.id}"}}'
        assert f"* Tea at four,\n  with milk <!-- {data} -->\n* Rye\n" in text
        assert memory.search("milk") == []
        assert memory.search("milk", include_superseded=True)[0].record.origin == Origin.OWNER


def test_a_rewrite_or_removal_that_drops_the_newest_brings_nothing_back(place: str) -> None:
    with owned(place) as memory:
        first, second = chain(memory, 2)
        names = [at.document for at in memory.get(second.id).places]
        for name in names:
            kept = [row for row in memory.read(name).text.splitlines() if second.id not in row]
            page = "\n".join(kept) + "\n"
            memory.library.lose_share = 1.0
            memory.update(page, document=name, mode="rewrite")
        assert current(memory) == set()
        memory.unlink(first.id)
        assert current(memory) == {first.id}
        third = memory.supersede(first.id, "The office is gone")
        memory.update("", document="notes.md", mode="rewrite")
        for name in names:
            line = next(r for r in memory.read(name).text.splitlines() if third.id in r)
            memory.update(line, document="notes.md")
            kept = [row for row in memory.read(name).text.splitlines() if third.id not in row]
            memory.update("\n".join(kept) + "\n", document=name, mode="rewrite")
        assert current(memory) == {third.id}
        memory.remove("notes.md")
        assert current(memory) == set()


def test_the_chain_is_shown_across_a_lost_link(place: str) -> None:
    from commonplace.doors.http.api.records import show_record

    with opened(place) as memory:
        first, second, third = chain(memory)
        memory.delete(second.id)
        shown = show_record.run(memory, {"id": first.id})
        assert shown["superseded_by"] == [third.id]
        assert [each["id"] for each in shown["chain"]] == [first.id, third.id]


class ChainMachine(RuleBasedStateMachine):
    """Agents and a person supersede, delete, strike, take back and lose the machine's files.

    The model knows who is current by the history alone: nothing of links or marks.
    """

    dialect = "native"

    def __init__(self) -> None:
        super().__init__()
        self.place = self.new_place()
        self.memory = opened(self.place, self.dialect)
        self.parents: dict[str, str] = {}
        self.was_current: dict[str, bool] = {}
        self.standing: list[str] = []
        self.current: set[str] = set()
        self.added: dict[str, int] = {}
        self.told = 0

    def new_place(self) -> str:
        raise NotImplementedError

    def teardown(self) -> None:
        self.memory.close()

    def text(self) -> str:
        self.told += 1
        return f"Statement {self.told}"

    def chosen(self, number: int) -> str:
        return self.standing[number % len(self.standing)]

    def later(self, key: str) -> list[str]:
        """The nearest records above one that stand."""
        found = [child for child, parent in self.parents.items() if parent == key]
        return [
            each
            for child in found
            for each in ([child] if child in self.standing else self.later(child))
        ]

    def below(self, key: str) -> str:
        """The nearest record below one that stands; empty without."""
        key = self.parents.get(key, "")
        while key and key not in self.standing:
            key = self.parents.get(key, "")
        return key

    def put(self, record: Record, parent: str = "") -> None:
        self.parents[record.id] = parent
        self.was_current[record.id] = parent in self.current
        self.standing.append(record.id)
        self.current = self.current - {parent} | {record.id}
        self.added[record.id] = self.memory.log(limit=1)[0].position

    @rule()
    def store(self) -> None:
        self.put(self.memory.store(self.text(), kind="fact"))

    @precondition(lambda self: self.standing)
    @rule(number=st.integers(0, 99))
    def supersede(self, number: int) -> None:
        old = self.chosen(number)
        if self.later(old):
            with pytest.raises(Conflict, match="was replaced already"):
                self.memory.supersede(old, self.text())
        else:
            self.put(self.memory.supersede(old, self.text()), old)

    @precondition(lambda self: self.standing)
    @rule(number=st.integers(0, 99), bring_back=st.booleans())
    def delete(self, number: int, *, bring_back: bool) -> None:
        key = self.chosen(number)
        back = {self.below(key)} - {""} if key in self.current else set()
        receipt = self.memory.delete(key, bring_back=bring_back)
        assert {*receipt.replaced, *receipt.brought_back} == back
        self.standing.remove(key)
        self.current = self.current - {key} | (back if bring_back else set())

    @precondition(lambda self: self.standing)
    @rule(number=st.integers(0, 99), undone=st.integers(0, 2))
    def strike(self, number: int, undone: int) -> None:
        """Struck, and perhaps that taken back, and perhaps that again."""
        key = self.chosen(number)
        before = set(self.current)
        self.memory.strike([key])
        assert current(self.memory) == before - {key}
        for take_back in (self.memory.undo, self.memory.redo)[:undone]:
            take_back(self.memory.log(limit=1)[0].position)
        if undone != 1:
            self.standing.remove(key)
            self.current.discard(key)

    @precondition(lambda self: self.standing)
    @rule(number=st.integers(0, 99), redone=st.booleans())
    def undo(self, number: int, *, redone: bool) -> None:
        key = self.chosen(number)
        if key not in self.added:
            return
        self.memory.undo(self.added[key])
        if redone:
            self.memory.redo()
            return
        self.standing.remove(key)
        self.current.discard(key)
        parent, was_current, above = self.parents[key], self.was_current[key], self.later(key)
        for each in above:
            self.parents[each], self.was_current[each] = parent, was_current
        if not above and was_current and parent in self.standing:
            self.current.add(parent)

    @rule()
    def rebuild(self) -> None:
        self.memory.rebuild()

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = opened(self.place, self.dialect)

    @invariant()
    def what_is_current_is_what_the_model_says(self) -> None:
        assert current(self.memory) == self.current

    @invariant()
    def the_kept_index_is_the_rebuilt_one(self) -> None:
        self.memory.library.refresh()
        assert self.memory.library.index.dump() == rebuilt(self.memory)


class FileChains(ChainMachine):
    """The same with a person's editor, and without the machine's files now and then."""

    def new_place(self) -> str:
        self.root = tempfile.mkdtemp(prefix="chains-")
        return self.root

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.root)

    @precondition(lambda self: self.standing)
    @rule(number=st.integers(0, 99))
    def delete_by_hand(self, number: int) -> None:
        key = self.chosen(number)
        without_record(self.memory, key)
        self.standing.remove(key)
        self.current.discard(key)

    @rule()
    def lose_the_machines_files(self) -> None:
        state = self.memory.state
        self.memory.close()
        shutil.rmtree(state)
        self.memory = opened(self.place, self.dialect)
        self.memory.library.refresh()
        self.added.clear()


class ClawChains(FileChains):
    dialect = "claw"


class PostgresChains(ChainMachine):
    def new_place(self) -> str:
        return fresh_url()


class PostgresEarlChains(PostgresChains):
    dialect = "earl"


LIMITS = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestFileChains = FileChains.TestCase
TestFileChains.settings = LIMITS
TestClawChains = ClawChains.TestCase
TestClawChains.settings = settings(LIMITS, max_examples=10)
TestPostgresChains = PostgresChains.TestCase
TestPostgresChains.settings = settings(LIMITS, max_examples=10)
TestPostgresEarlChains = PostgresEarlChains.TestCase
TestPostgresEarlChains.settings = settings(LIMITS, max_examples=8)
