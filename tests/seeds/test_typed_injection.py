"""What the document of the typed memory claims of the brief at the start of a session."""

from __future__ import annotations

import pytest

from commonplace.memory import Memory
from commonplace.trust.neutralise import FRAMING
from tests.data import clock_at


@pytest.mark.claim("typed.brief-at-session-start")
def test_a_session_starts_with_the_brief_behavioural_entries_first(place: str) -> None:
    clock = clock_at("2026-11-15T14:30:00Z")
    with Memory.open(place, session="s-1", clock=clock) as memory:
        machine = memory.store("Uses macOS", kind="fact", tags=["machine"])
        tabs = memory.store("Prefers tabs\nto spaces", kind="preference")
        clock.sleep(3 * 86400)
        work = memory.store("Working on a migration", kind="context")
        assert memory.context(dialect="typed").text == (
            f"## Memory brief\n{FRAMING}\n"
            "What follows # is the entry's id, for memory_delete and supersedes.\n\n"
            "### Behavioral\n"
            f"- Prefers tabs to spaces [preference, 3 days old, #{tabs.id[-8:]}]\n\n"
            "### Facts and context\n"
            f"- Working on a migration [context, 0 days old, #{work.id[-8:]}]\n"
            f"- Uses macOS [fact, machine, 3 days old, #{machine.id[-8:]}]"
        )


def test_a_brief_that_is_too_long_says_how_many_entries_it_left_out(place: str) -> None:
    clock = clock_at("2026-11-15T14:30:00Z")
    with Memory.open(place, clock=clock) as memory:
        for number in range(120):
            clock.sleep(1)
            memory.store(f"fact {number} of many", kind="fact")
        memory.store("Prefers tea", kind="preference")
        found = memory.context(dialect="typed", characters=2000)
    assert "- Prefers tea [preference" in found.text
    assert "- fact 119 of many" in found.text
    assert found.text.endswith(f"+{found.not_shown} not shown: memory_search finds them.")
    assert found.not_shown == 121 - sum(line.is_record for line in found.lines)
