"""How what was found is told: weak and missing answers, and everything about something."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.memory.finding import Gathered
from commonplace.model.errors import BadValue
from commonplace.model.records import WEAK, Hit, Place, Record, SearchResult
from commonplace.tools import hits
from commonplace.tools.hits import FURTHER


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, "native", environ={}) as memory:
        yield memory


def hit(key: str, text: str, score: float = 0.9, **rest: Any) -> Hit:
    record = Record(key, "fact", text, "2026-03-01T10:00:00.000Z")
    return Hit(record, (Place("MEMORY.md", 3),), score, **rest)


def told(memory: Memory, found: SearchResult) -> list[str]:
    return str(hits.answer(memory, found, {})).splitlines()


def test_a_hit_is_told_with_its_reasons_and_without_numbers(memory: Memory) -> None:
    reasons = ("shares “tea”", "the newer of two")
    found = SearchResult([hit("a", "Likes tea", reasons=reasons)])
    assert told(memory, found) == [
        "- 2026-03-01 fact: Likes tea [a] (MEMORY.md:3)",
        "    shares “tea”; the newer of two",
    ]
    data = hits.answer(memory, found, {}).data
    assert data["hits"][0]["reasons"] == [*reasons]
    assert not data["weak"]
    assert "weak" not in data["hits"][0]


def test_the_numbers_have_names_that_people_know(memory: Memory) -> None:
    found = SearchResult([hit("a", "Likes tea", why=(("told_around", 1.5), ("alike", -0.25)))])
    assert told(memory, found)[1] == (
        "    0.90: your words in it and beside it +1.50, its meaning -0.25"
    )


def test_a_weak_best_hit_is_marked_weak(memory: Memory) -> None:
    found = SearchResult([hit("a", "Likes tea", WEAK / 2)])
    first, *_, last = told(memory, found)
    assert first == "Weak: perhaps none of these is an answer."
    assert last == FURTHER
    data = hits.answer(memory, found, {}).data
    assert data["weak"]
    assert data["hits"][0]["weak"] is True


def test_where_nothing_was_found_the_nearest_are_told(memory: Memory) -> None:
    near = hit("a", "Likes tea", WEAK / 2, reasons=("near in meaning to “coffee”",))
    assert told(memory, SearchResult(nearest=[near])) == [
        "Nothing found. The nearest, which are probably no answer:",
        "- 2026-03-01 fact: Likes tea [a] (MEMORY.md:3)",
        "    near in meaning to “coffee”",
        FURTHER,
    ]
    data = hits.answer(memory, SearchResult(nearest=[near]), {}).data
    assert (data["hits"], data["nearest"][0]["id"]) == ([], "a")
    assert told(memory, SearchResult()) == ["Nothing found."]


def test_everything_about_something_is_counted_in_groups(memory: Memory) -> None:
    groups = {"fact": [hit("a", "Pays for music"), hit("b", "Pays for films")]}
    gathered = Gathered("paid services", groups, 5, SearchResult())
    answer = hits.answer_gathered(memory, gathered)
    assert str(answer).splitlines() == [
        "5 memories may be about “paid services”, the newest of each kind first:",
        "",
        "fact (2)",
        "- 2026-03-01 fact: Pays for music [a] (MEMORY.md:3)",
        "- 2026-03-01 fact: Pays for films [b] (MEMORY.md:3)",
        "",
        "+3 more: narrow it by kind, tags or days to see them.",
    ]
    assert (answer.data["count"], answer.data["more"]) == (5, 3)
    assert answer.data["groups"] == {"fact": 2}
    assert [each["group"] for each in answer.data["hits"]] == ["fact", "fact"]


def test_nothing_that_may_be_about_it_says_what_comes_nearest(memory: Memory) -> None:
    found = SearchResult(nearest=[hit("a", "Keeps sheep", WEAK / 2)])
    lines = str(hits.answer_gathered(memory, Gathered("pets", {}, 0, found))).splitlines()
    assert lines[0] == "Nothing found. The nearest, which are probably no answer:"
    assert lines[-1] == FURTHER
    none = Gathered("pets", {}, 0, SearchResult())
    assert str(hits.answer_gathered(memory, none)) == "Nothing found."


def test_what_is_gathered_for_want_of_better_is_called_weak(memory: Memory) -> None:
    weak = hit("a", "Keeps sheep", WEAK / 2)
    gathered = Gathered("pets", {"fact": [weak]}, 1, SearchResult([weak]))
    answer = hits.answer_gathered(memory, gathered)
    assert str(answer).startswith("Weak: ")
    assert answer.data["weak"]


def test_all_about_gathers_what_is_there_by_kind_then_day(memory: Memory) -> None:
    for text in ("Pays for a music subscription", "Pays for a film subscription"):
        memory.store(text, kind="fact")
    memory.store("Wants every subscription cancelled in May", kind="preference")
    memory.store("The cat sleeps all day", kind="fact")
    gathered = memory.all_about("subscription")
    assert {name: len(found) for name, found in gathered.groups.items()} == {
        "fact": 2,
        "preference": 1,
    }
    assert [one.record.text for one in gathered.groups["fact"]] == [
        "Pays for a film subscription",
        "Pays for a music subscription",
    ]
    assert (gathered.count, gathered.more) == (3, 0)
    fewer = memory.all_about("subscription", limit=1)
    assert (fewer.count, fewer.more) == (3, 2)
    with pytest.raises(BadValue, match="empty"):
        memory.all_about(" ")


def test_the_tool_takes_all_about(memory: Memory) -> None:
    memory.store("Pays for a music subscription", kind="fact")
    answer = tools.table("native")["search"].call(
        memory, {"query": "subscription", "all_about": True}
    )
    assert answer.data["count"] == 1
    assert str(answer).startswith("1 memory may be about “subscription”")


def test_other_dialects_say_weak_too(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    weak = SearchResult([hit("a", "Likes tea", WEAK / 2, reasons=("shares “tea”",))])
    monkeypatch.setattr(Memory, "search", lambda *_, **__: weak)
    (entry,) = tools.table("typed")["memory_search"].call(memory, {"query": "tea"}).data
    assert entry["weak"] is True
    lines = str(tools.table("journal")["search_memory"].call(memory, {"query": "tea"})).splitlines()
    assert lines[0].startswith("Weak:")
    assert lines[1:] == ["- MEMORY.md: Likes tea", "    shares “tea”", FURTHER]


def test_a_misspelt_word_says_how_it_was_read(memory: Memory) -> None:
    found = SearchResult([hit("a", "Allergic to nuts")], readings={"alergic": "allergic"})
    assert told(memory, found)[-1] == "(“alergic” read as “allergic”)"
    assert hits.answer(memory, found, {}).data["readings"] == {"alergic": "allergic"}
