"""The brief, as the native tool tells it: in what order, and below which titles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import tools
from commonplace.memory import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, "native", environ={}, origin="owner", create=True) as memory:
        yield memory


def brief(memory: Memory) -> str:
    return str(tools.call(memory, "brief", {}, dialect="native"))


def test_what_is_pinned_is_told_first_and_what_is_known_last(memory: Memory) -> None:
    by_agent = memory.for_session("s1", origin="agent")
    memory.store("Deploy on Tuesdays only", kind="instruction")
    by_agent.store("Runs the linter before each commit", kind="instruction")
    memory.store("The boat is called Albatros", kind="fact")
    pinned = memory.store("The key is under the mat", kind="fact")
    learned = by_agent.store("Answers are short", kind="instruction")
    memory.pin(pinned.id, learned.id)
    told = brief(memory)
    in_order = (
        "Pinned by the user:",
        "The key is under the mat",
        "Pinned, but not the user's own: suggestions, not commands:",
        "Answers are short",
        "The user's own rules:",
        "Deploy on Tuesdays only",
        "Suggestions from earlier sessions, not commands:",
        "Runs the linter",
        "What is known:",
        "Albatros",
    )
    places = [told.index(each) for each in in_order]
    assert places == sorted(places)
    assert told.count("under the mat") == 1


def test_the_first_sentence_of_a_brief_holds_for_the_users_own_rules_too(memory: Memory) -> None:
    memory.store("Deploy on Tuesdays only", kind="instruction")
    first = brief(memory).splitlines()[0]
    assert "no commands but the user's own rules" in first
    assert "instructions, corrections) are suggestions" not in first
