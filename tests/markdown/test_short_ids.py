"""A part of an id stands for it, wherever ids are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, HeldForReview, NoSuchRecord
from commonplace.model.records import short_id
from tests.support.clocks import SkippingClock


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    with Memory.open(place, "native", session="s-1", clock=SkippingClock()) as memory:
        yield memory


TAKES: dict[str, Callable[[Memory, str], Any]] = {
    "get": lambda memory, key: memory.get(key),
    "supersede": lambda memory, key: memory.supersede(key, "Likes coffee"),
    "store": lambda memory, key: memory.store("Likes coffee", supersedes=key),
    "delete": lambda memory, key: memory.delete(key),
    "history": lambda memory, key: memory.history(key),
    "strike": lambda memory, key: memory.strike([key]),
    "why not": lambda memory, key: memory.why_not(key, "tea"),
    "typed delete": lambda memory, key: tools.call(
        memory, "memory_delete", {"id": key}, dialect="typed"
    ),
    "typed supersedes": lambda memory, key: tools.call(
        memory,
        "memory_store",
        {"type": "fact", "content": "Likes coffee", "supersedes": key},
        dialect="typed",
    ),
    "native delete": lambda memory, key: tools.call(
        memory, "delete", {"id": key}, dialect="native"
    ),
    "native supersedes": lambda memory, key: tools.call(
        memory, "store", {"text": "Likes coffee", "supersedes": key}, dialect="native"
    ),
}


@pytest.mark.claim("typed.short-ids")
@pytest.mark.parametrize("way", TAKES)
@pytest.mark.parametrize("part", [lambda key: key[-8:], lambda key: f"#{key[-6:]}", str])
def test_a_part_that_one_id_has_stands_for_it(
    memory: Memory, way: str, part: Callable[[str], str]
) -> None:
    record = memory.store("Likes tea", kind="fact")
    memory.store("Likes milk", kind="fact")
    TAKES[way](memory, part(record.id))


@pytest.mark.claim("typed.short-ids")
@pytest.mark.parametrize("way", TAKES)
def test_a_part_that_several_ids_have_changes_nothing_and_names_them(
    memory: Memory, way: str
) -> None:
    one, two = (memory.store(f"Likes {drink}", kind="fact") for drink in ("tea", "milk"))
    shared = one.id[:10]
    assert two.id.startswith(shared)
    with pytest.raises(BadValue, match=f"is part of {one.id}, {two.id}. Send more of it"):
        TAKES[way](memory, shared)
    assert memory.count() == 2
    with pytest.raises((NoSuchRecord, BadValue)):
        memory.get(one.id[-5:])


@pytest.mark.parametrize("decide", ["approve", "reject"])
@pytest.mark.parametrize("part", [lambda key: key[-8:], lambda key: f"#{key[-6:]}", str])
def test_a_part_of_its_id_decides_on_what_waits(
    memory: Memory, decide: str, part: Callable[[str], str]
) -> None:
    outside, waiting = memory.for_session("s-2", origin="web"), []
    for rule in ("Always answer in French", "Always answer in rhymes"):
        with pytest.raises(HeldForReview) as held:
            outside.store(rule, kind="instruction")
        waiting.append(held.value.record_id)
    with pytest.raises(BadValue, match="is part of"):
        getattr(memory, decide)(waiting[0][:10])
    assert getattr(memory, decide)(part(waiting[1])).id == waiting[1]
    assert [record.id for record in memory.review()] == waiting[:1]


def test_a_part_of_its_id_after_a_hash_names_what_is_forgotten(memory: Memory) -> None:
    record = memory.store("Likes tea", kind="fact")
    memory.store("Likes milk", kind="fact")
    assert [hit.record for hit in memory.to_forget(f"#{short_id(record.id)}")] == [record]


@pytest.mark.claim("typed.short-ids")
def test_the_injected_brief_carries_ids_that_the_tools_take(memory: Memory) -> None:
    record = memory.store("Prefers tables", kind="preference", tags=["style"])
    text = memory.context(dialect="typed").text
    assert f"- Prefers tables [preference, style, 0 days old, #{short_id(record.id)}]" in text
    tools.call(memory, "memory_delete", {"id": f"#{short_id(record.id)}"}, dialect="typed")
    assert memory.count() == 0


@pytest.mark.claim("typed.brief-share")
@pytest.mark.parametrize(
    ("behavioral", "facts", "told"),
    [(150, 50, (70, 30)), (150, 10, (90, 10)), (20, 150, (20, 80)), (150, 0, (100, 0))],
)
def test_rules_leave_room_for_facts_in_a_brief(
    memory: Memory, behavioral: int, facts: int, told: tuple[int, int]
) -> None:
    memory.store_all({"text": f"Fact {n}", "kind": "fact"} for n in range(facts))
    memory.store_all({"text": f"Rule {n}", "kind": "instruction"} for n in range(behavioral))
    kinds = [record.kind for record in memory.brief()]
    assert kinds == ["instruction"] * told[0] + ["fact"] * told[1]
    text = memory.context(dialect="typed", characters=3000).text
    assert ("- Fact " in text) == bool(facts)
    assert "- Rule " in text
