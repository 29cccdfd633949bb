"""What sessions are told: noted, shown, and told once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.memory import Memory
from commonplace.model.errors import DiskFull
from commonplace.storage.ledger import ToldLine

SESSION = "5e55-10"


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    with Memory.open(place, session=SESSION, origin="owner", create=True) as memory:
        yield memory


def told(memory: Memory, message: str) -> str:
    """What fits a message, noted as a hook does."""
    found = memory.relevant(message)
    memory.note_context("prompt", found)
    return found.text


def test_what_a_session_was_told_is_left_out_beside_its_next_prompt(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    assert "Albatros" in told(memory, "What is the boat called?")
    found = memory.relevant("What is the boat called?")
    assert found.text == ""
    assert [line.why for line in found.left_out] == ["told before in this session"]


def test_another_session_is_told_the_same(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    assert "Albatros" in told(memory.for_session("another"), "What is the boat called?")


def test_what_was_reworded_since_is_told_again(memory: Memory) -> None:
    record = memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    memory.revise(record.id, text="The boat is called Pelican", kind="fact", tags=())
    assert "Pelican" in told(memory, "What is the boat called?")


def test_after_a_compaction_it_is_told_again(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    told(memory, "What is the boat called?")
    memory.ledger.lose(SESSION, at=memory.clock.stamp())
    assert "Albatros" in told(memory, "What is the boat called?")


def test_a_session_without_an_id_is_told_everything(memory: Memory) -> None:
    nameless = memory.for_session("")
    memory.store("The boat is called Albatros", kind="fact")
    assert told(nameless, "What is the boat called?")
    assert told(nameless, "What is the boat called?")
    assert list(memory.ledger.all()) == []


def test_a_subagent_and_its_session_do_not_know_what_the_other_was_told(memory: Memory) -> None:
    record = memory.store("Never force-push to main", kind="instruction")
    memory.note_told("tool", [ToldLine(record.id, "its rule", 6)], aside="reviewer")
    assert memory.known() == frozenset()
    assert memory.known(aside="reviewer") == {record.id}


def test_a_telling_has_each_record_with_its_reason_and_cost(memory: Memory) -> None:
    record = memory.store("The boat is called Albatros", kind="fact")
    found = memory.relevant("What is the boat called?")
    memory.note_context("prompt", found)
    [telling] = memory.ledger.tellings(SESSION)
    assert (telling.event, telling.tokens) == ("prompt", found.tokens)
    assert (telling.lines[0].record, telling.lines[0].why) == (record.id, "it fits this message")
    assert "Albatros" not in str(telling)


def test_a_disk_that_takes_no_note_keeps_no_memory_back(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(name: str, line: str, **rest: int) -> None:
        raise DiskFull("the disk")

    memory.store("The boat is called Albatros", kind="fact")
    monkeypatch.setattr(memory.notes, "add", full)
    assert "Albatros" in told(memory, "What is the boat called?")


def test_a_brief_that_an_agent_asks_for_is_noted_and_one_of_a_person_is_not(
    memory: Memory,
) -> None:
    record = memory.store("The boat is called Albatros", kind="fact")
    memory.brief()
    assert memory.ledger.tellings(SESSION) == []
    memory.for_agents = True
    memory.brief()
    [told] = memory.ledger.tellings(SESSION)
    assert (told.event, [line.record for line in told.lines]) == ("brief", [record.id])
    assert told.tokens > 0


def test_a_brief_is_whole_however_often_it_is_asked_for(memory: Memory) -> None:
    memory.store("The boat is called Albatros", kind="fact")
    memory.for_agents = True
    assert memory.brief() == memory.brief() != []
