"""What the typed tools let a session use up, and what they tell the model to do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import BudgetSpent, HeldForReview, VaultTrouble
from tests.support.clocks import SkippingClock


def opened(path: str, session: str = "s-1") -> Memory:
    return Memory.open(path, session=session, clock=SkippingClock(), create=True)


def store(memory: Memory, content: str, **rest: str) -> str:
    given = {"type": "fact", "content": content, **rest}
    answer = tools.call(memory, "memory_store", given, dialect="typed")
    return str(answer.data["id"])


@pytest.mark.claim("typed.budget-stores")
def test_a_session_stores_twenty_entries_and_no_more_even_after_a_restart(place: str) -> None:
    with opened(place) as memory:
        for number in range(19):
            store(memory, f"fact {number}")
    with opened(place) as memory:
        store(memory, "the twentieth")
        with pytest.raises(BudgetSpent, match="20 stores") as caught:
            store(memory, "one too many")
        assert "searching and reading still work" in str(caught.value)
        assert memory.count() == 20
    with opened(place, "another") as memory:
        store(memory, "another session has its own")


@pytest.mark.claim("typed.budget-supersedes")
def test_a_session_replaces_five_entries_and_no_more(place: str) -> None:
    with opened(place) as memory:
        last = store(memory, "version 0")
        for number in range(5):
            last = store(memory, f"version {number + 1}", supersedes=last)
        with pytest.raises(BudgetSpent, match="5 supersedes"):
            store(memory, "version 6", supersedes=last)
        store(memory, "a plain store is still allowed")


@pytest.mark.claim("typed.budget-deletes")
def test_a_session_deletes_five_entries_and_no_more(place: str) -> None:
    with opened(place) as memory:
        ids = [store(memory, f"fact {number}") for number in range(6)]
        for each in ids[:5]:
            tools.call(memory, "memory_delete", {"id": each}, dialect="typed")
        with pytest.raises(BudgetSpent, match="5 deletes"):
            tools.call(memory, "memory_delete", {"id": ids[5]}, dialect="typed")
        assert memory.get(ids[5]).record.text == "fact 5"


def test_what_fails_is_not_counted(place: str) -> None:
    with opened(place) as memory:
        for _ in range(30):
            with pytest.raises(Exception, match="no record"):
                tools.call(memory, "memory_delete", {"id": "mem-nothing"}, dialect="typed")
        tools.call(memory, "memory_delete", {"id": store(memory, "x")}, dialect="typed")


@pytest.mark.claim("typed.budget-stores")
def test_what_waits_for_approval_is_counted(place: str) -> None:
    with opened(place) as memory:
        memory.taint()
        for number in range(20):
            with pytest.raises(HeldForReview):
                store(memory, f"rule {number}", type="instruction")
        with pytest.raises(BudgetSpent, match="20 stores"):
            store(memory, "one too many", type="instruction")
        assert len(memory.review()) == 20


@pytest.mark.claim("typed.budget-stores")
def test_a_session_at_work_in_several_places_has_one_budget(place: str) -> None:
    def store_many(name: str) -> int:
        done = 0
        with opened(place) as memory, suppress(BudgetSpent):
            for number in range(20):
                store(memory, f"{name} {number}")
                done += 1
        return done

    with ThreadPoolExecutor(4) as places:
        assert sum(places.map(store_many, "abcd")) == 20


@pytest.mark.in_files
def test_where_nothing_can_be_counted_nothing_is_stored_and_the_reason_said(
    tmp_path: Path,
) -> None:
    with opened(str(tmp_path)) as memory:
        (tmp_path / ".commonplace" / "sessions").write_text("in the way of the directory")
        with pytest.raises(VaultTrouble, match="not a directory"):
            store(memory, "fact")
        assert memory.count() == 0


@pytest.mark.claim(
    "typed.store-explains-types",
    "typed.guidance-preference",
    "typed.guidance-correction",
    "typed.guidance-fact",
    "typed.guidance-instruction",
    "typed.guidance-supersede",
)
def test_the_store_tool_says_which_type_is_for_what_and_when_to_replace() -> None:
    tool = tools.table("typed")["memory_store"]
    about = tool.schema()["properties"]["type"]["description"]
    for name in ("preference", "fact", "instruction", "context", "correction"):
        assert f"{name}: " in about
    for sentence in (
        "a stated preference as preference",
        "a correction of you as correction",
        "an important fact as fact",
        "a standing instruction as instruction",
        "if it contradicts an existing memory, name that one in supersedes",
    ):
        assert sentence in tool.description
