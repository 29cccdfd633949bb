"""What names a time of its own: found within it, left out after it, and asked for by its day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from commonplace.model.records import Hit
from tests.support.clocks import FixedClock

NOON = int(datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp() * 1e9)
DAY = 86_400.0


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON, zone="UTC")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(place, clock=clock, create=True, origin="owner") as memory:
        yield memory


def texts(hits: list[Hit]) -> set[str]:
    return {hit.record.text for hit in hits}


def call(memory: Memory, tool: str, **given: str) -> Any:
    return tools.call(memory, tool, given, dialect="native").data.get("hits")


def test_what_is_over_leaves_every_ordinary_search_and_the_brief(
    memory: Memory, clock: FixedClock
) -> None:
    memory.store("The garage is closed", kind="fact", valid_to="2w")
    memory.store("The garage is blue", kind="fact")
    assert texts(memory.search("garage")) == {"The garage is closed", "The garage is blue"}
    clock.sleep(15 * DAY)
    assert texts(memory.search("garage")) == {"The garage is blue"}
    assert texts(memory.search("")) == {"The garage is blue"}
    assert [record.text for record in memory.brief()] == ["The garage is blue"]
    assert "closed" not in memory.relevant("Is the garage closed?").text
    assert [hit.record.text for hit in memory.search("closed")] == []
    assert texts(memory.search("garage", include_superseded=True)) >= {"The garage is closed"}
    assert texts(memory.expired()) == {"The garage is closed"}


def test_what_has_not_begun_is_found_from_its_day_on(memory: Memory, clock: FixedClock) -> None:
    memory.store("The office is in Bern", kind="fact", valid_from="tomorrow")
    assert memory.search("office") == []
    assert memory.expired() == []
    clock.sleep(DAY)
    assert texts(memory.search("office")) == {"The office is in Bern"}


def test_a_day_is_asked_for_and_shows_what_held_then(memory: Memory, clock: FixedClock) -> None:
    old = memory.store("The build uses npm", kind="fact")
    memory.store("Acme built the site", kind="fact", valid_from="2020-01-01", valid_to="2023-05-01")
    memory.store("The build is frozen", kind="fact", valid_to="2026-11-19")
    clock.sleep(7 * DAY)
    memory.supersede(old.id, "The build uses pnpm")
    first = {"The build uses npm", "The build is frozen"}
    assert texts(memory.search("build built", as_of="2026-11-18")) == first
    assert texts(memory.search("build built", as_of="2026-11-20")) == {"The build uses npm"}
    assert texts(memory.search("build built", as_of="today")) == {"The build uses pnpm"}
    assert texts(memory.search("build built", as_of="2022-03")) == {"Acme built the site"}
    assert texts(memory.search("", as_of="2026-11-18")) == first
    assert memory.search("build built", as_of="2019-01-01") == []


def test_the_native_tool_stores_and_finds_by_days(memory: Memory, clock: FixedClock) -> None:
    call(memory, "store", text="The lift is broken", valid_to="3 days")
    clock.sleep(5 * DAY)
    assert call(memory, "search", query="lift") == []
    [hit] = call(memory, "search", query="lift", as_of="2026-11-19")
    assert hit["valid_to"] == "2026-11-21T23:59:59.999Z"


def test_an_end_may_be_taken_away_or_moved_where_the_memory_stands(
    memory: Memory, clock: FixedClock
) -> None:
    kept = memory.store("The lift is broken", kind="fact", valid_to="tomorrow")
    change = partial(memory.revise, kept.id, text=kept.text, kind=kept.kind, tags=kept.tags)
    change(valid_to="2w")
    clock.sleep(5 * DAY)
    assert texts(memory.search("lift")) == {kept.text}
    change(valid_to="never")
    clock.sleep(50 * DAY)
    assert texts(memory.search("lift")) == {kept.text}
    assert memory.get(kept.id).record.valid_to == ""


def test_an_end_before_the_beginning_is_refused(memory: Memory) -> None:
    with pytest.raises(BadValue, match="it ends before it begins"):
        memory.store("x", valid_from="2w", valid_to="tomorrow")


def test_why_not_says_that_its_time_is_over(memory: Memory, clock: FixedClock) -> None:
    kept = memory.store("The lift is broken", valid_to="tomorrow")
    clock.sleep(3 * DAY)
    assert "It held until 2026-11-19" in memory.why_not(kept.id, "lift").reasons[0]


def test_what_is_over_already_says_so_when_it_is_stored(memory: Memory) -> None:
    given = {"text": "The garage was closed", "valid_to": "yesterday"}
    done = tools.call(memory, "store", given, dialect="native")
    assert "It is over already: no search and no prompt has it." in str(done)
    given = {"text": "The garage is closed", "valid_to": "tomorrow"}
    assert "over already" not in str(tools.call(memory, "store", given, dialect="native"))
