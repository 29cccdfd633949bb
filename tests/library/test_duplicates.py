"""The same memory told twice is one record, and the answer names it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.model.records import LASTING, Origin, Record
from commonplace.storage.journal import Op
from commonplace.tools import native, typed
from tests.support.clocks import FixedClock

DAY = 86_400 * 10**9
START = 1_800_000_000 * 10**9


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(START)


def opened(place: str, clock: FixedClock, dialect: str = "native", **rest: Any) -> Memory:
    return Memory.open(place, dialect, clock=clock, create=True, **rest)


def there(memory: Memory) -> list[Record]:
    return [hit.record for hit in memory.search("", include_passages=False, limit=100)]


@pytest.mark.parametrize("kind", sorted(LASTING))
@pytest.mark.parametrize("again", ["Likes green tea", "likes  GREEN tea.", " Likes green\ntea!! "])
def test_the_same_words_of_a_kind_that_lasts_are_stored_once(
    place: str, clock: FixedClock, kind: str, again: str
) -> None:
    with opened(place, clock) as memory:
        first = memory.remember("Likes green tea", kind=kind)
        second = memory.remember(again, kind=kind)
        assert (first.new, second.new) == (True, False)
        assert second.record == first.record
        assert there(memory) == [first.record]


@pytest.mark.parametrize("indexed", [False, True])
def test_one_that_is_told_again_has_the_day_and_the_session_added(
    place: str, clock: FixedClock, *, indexed: bool
) -> None:
    with opened(place, clock, session="one") as memory:
        first = memory.store("Likes green tea", kind="fact")
        if indexed:
            memory.search("tea")
        other = memory.for_session("two")
        clock.nanoseconds += DAY
        seen = (f"{clock.stamp()} two",)
        again = other.store("likes green tea", kind="fact")
        assert (again.id, again.text, again.seen) == (first.id, "Likes green tea", seen)
        clock.nanoseconds += 10**9
        assert other.store("likes green tea", kind="fact").seen == seen
        memory.rebuild()
        assert there(memory) == [again]
        memory.undo()
        assert there(memory) == [first]
        memory.redo()
        assert there(memory) == [again]


def test_a_line_keeps_the_last_times_alone(place: str, clock: FixedClock) -> None:
    with opened(place, clock) as memory:
        for _ in range(9):
            clock.nanoseconds += DAY
            record = memory.store("Likes green tea", kind="fact")
        assert len(record.seen) == 5
        assert record.seen[-1] == clock.stamp()


STORED_ANEW: dict[str, Any] = {
    "of another kind": lambda m, old: m.store(old.text, kind="preference"),
    "of a kind that passes": lambda m, old: (
        m.store(old.text, kind="note"),
        m.store(old.text, kind="note"),
    )[1],
    "about another": lambda m, old: m.store(old.text, kind="fact", username="bob"),
    "valid until a day": lambda m, old: m.store(old.text, kind="fact", valid_to="2030-01-01"),
    "secret": lambda m, old: m.store(old.text, kind="fact", sensitivity="secret"),
    "replaced": lambda m, old: (
        m.supersede(old.id, "Likes coffee"),
        m.store(old.text, kind="fact"),
    )[1],
    "replaced by one that is gone": lambda m, old: (
        m.delete(m.supersede(old.id, "Likes coffee").id),
        m.store(old.text, kind="fact"),
    )[1],
    "struck": lambda m, old: (m.strike([old.id]), m.store(old.text, kind="fact"))[1],
    "undone": lambda m, old: (m.undo(), m.store(old.text, kind="fact"))[1],
    "replacing the same": lambda m, old: m.supersede(old.id, old.text, tags=("new",)),
}


@pytest.mark.parametrize("how", STORED_ANEW)
@pytest.mark.parametrize("indexed", [False, True])
def test_what_is_not_the_same_or_no_longer_counts_is_stored(
    place: str, clock: FixedClock, how: str, *, indexed: bool
) -> None:
    with opened(place, clock) as memory:
        old = memory.store("Likes green tea", kind="fact")
        if indexed:
            memory.search("tea")
        new = STORED_ANEW[how](memory, old)
        assert new.id != old.id
        assert memory.get(new.id).record == new


def test_what_is_over_is_stored_anew(place: str, clock: FixedClock) -> None:
    with opened(place, clock) as memory:
        given = {"kind": "fact", "valid_to": "2027-01-20"}
        old = memory.store("On holiday", **given)
        assert memory.store("On holiday", **given).id == old.id
        clock.nanoseconds += 30 * DAY
        assert memory.store("On holiday", **given).id != old.id


@pytest.mark.parametrize("dialect", ["earl", "claw", "journal", "notebook"])
def test_other_dialects_write_all_they_are_told(
    place: str, clock: FixedClock, dialect: str
) -> None:
    with opened(place, clock, dialect) as memory:
        one, two = (memory.store("Likes green tea", kind="fact") for _ in range(2))
        assert one.id != two.id


def test_who_is_trusted_less_is_told_and_changes_nothing(place: str, clock: FixedClock) -> None:
    with opened(place, clock, session="one") as memory:
        owner = memory.for_session("", origin=Origin.OWNER)
        old = owner.store("Answer in French", kind="instruction")
        clock.nanoseconds += DAY
        assert memory.store("answer in French", kind="instruction") == old
        memory.taint()
        again = memory.remember("answer in French", kind="instruction")
        assert (again.record, again.new, memory.review()) == (old, False, [])
        assert [entry.op for entry in memory.log()] == [Op.ADD]


def test_several_at_once_are_stored_once_each(place: str, clock: FixedClock) -> None:
    with opened(place, clock) as memory:
        old = memory.store("Likes green tea", kind="fact")
        texts = ["Has a cat", "likes green tea", "has a cat.", "Has a dog", "Has a cat"]
        stored = memory.store_all({"text": text, "kind": "fact"} for text in texts)
        cat, dog = stored[0], stored[3]
        assert [record.id for record in stored] == [cat.id, old.id, cat.id, dog.id, cat.id]
        assert {record.id for record in there(memory)} == {old.id, cat.id, dog.id}


def test_what_another_process_just_stored_is_seen(place: str, clock: FixedClock) -> None:
    with opened(place, clock) as one, opened(place, clock) as other:
        for number in range(5):
            record = one.store(f"Fact number {number}", kind="fact")
            assert other.store(f"fact number {number}", kind="fact").id == record.id
        assert len(there(one)) == 5


STORING = """
import sys
from commonplace.memory import Memory
with Memory.open(sys.argv[1]) as memory:
    for number in range(6):
        print(memory.store(f"Fact number {number}", kind="fact").id)
"""


def test_of_many_who_store_the_same_at_once_one_does(place: str) -> None:
    with Memory.open(place, "native", create=True) as memory:
        memory.store("Has a cat", kind="fact")
        command = [sys.executable, "-c", STORING, place]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(5)]
        told = {writer.communicate()[0] for writer in writers}
        assert len(told) == 1
        assert len(told.pop().split()) == 6
        assert len(there(memory)) == 7


def test_the_tools_name_what_is_there(place: str, clock: FixedClock) -> None:
    with opened(place, clock, session="s") as memory:
        first = native.store.call(memory, {"text": "Likes green tea", "kind": "fact"})
        again = native.store.call(memory, {"text": "likes green tea.", "kind": "fact"})
        key = first.data["id"]
        assert str(again) == f"{key} says this already; nothing was stored again."
        assert again.data == first.data | {"already": True}
        told = typed.memory_store.call(memory, {"type": "fact", "content": "Likes green tea"})
        assert list(told.data) == ["id", "type", "behavioral", "created_at", "note"]
        assert (told.data["id"], json.loads(str(told))) == (key, told.data)
        assert memory.sessions.read("s").stores == 0


@pytest.mark.parametrize(
    ("old", "new", "how"),
    [
        (
            "The staging server runs in the Frankfurt data centre",
            "The staging server still runs in the Frankfurt data centre",
            "says nearly the same",
        ),
        ("The deploy port is 8080", "The deploy port is 9090", "says something else of it"),
    ],
)
def test_what_stands_beside_a_new_one_is_named_with_the_call_that_replaces_it(
    place: str, clock: FixedClock, old: str, new: str, how: str
) -> None:
    with opened(place, clock) as memory:
        native.store.call(memory, {"text": "Likes green tea", "kind": "fact"})
        key = native.store.call(memory, {"text": old, "kind": "fact"}).data["id"]
        told = native.store.call(memory, {"text": new, "kind": "fact"})
        assert f"{key} {how}: if this replaces it, store it again with supersedes {key}." in str(
            told
        )
        linked = native.store.call(memory, {"text": new, "kind": "fact", "supersedes": key})
        assert linked.data["id"] == told.data["id"]
        assert memory.get(told.data["id"]).record.supersedes == key
        assert key not in {record.id for record in there(memory)}
        memory.undo()
        assert key in {record.id for record in there(memory)}
