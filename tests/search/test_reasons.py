"""Why something was found, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.model.records import WEAK, Hit, Record, SearchResult
from commonplace.search.ranking import WEIGHTS
from commonplace.search.reasons import LABELS, TOLD, by_words, marked, shared


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path, "native", environ={}) as memory:
        yield memory


def test_every_signal_has_a_name_for_people() -> None:
    signals = {signal.__name__ for signal in WEIGHTS}
    assert set(LABELS) == signals
    assert set(TOLD) <= signals
    assert not any("_" in label for label in LABELS.values())


@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        ("Which allergies do I have?", "Allergic to penicillin", ["allergies"]),
        ("penicillin or nickel", "No nickel, no penicillin", ["penicillin", "nickel"]),
        ("cats", "The cat is called Tom", ["cats"]),
        ("who ran", "Runs on Sundays", ["ran"]),
        ("retry limit", "maxRetryCount is 5", ["retry"]),
        ("car", "A cartoon about carpets", []),
        ("what on 2026-03-01", "It was on 2026-03-01", ["2026-03-01"]),
        ("电影", "我喜欢看电影", ["电影"]),
    ],
)
def test_shared_words_are_those_of_the_question(question: str, text: str, words: list[str]) -> None:
    assert shared(question, text) == words


def test_many_shared_words_are_counted() -> None:
    text = "one two three four five"
    assert by_words("one two", text) == ("shares “one” and “two”",)
    assert by_words("two one three", text) == ("shares “two”, “one” and “three”",)
    assert by_words(text, text) == ("shares “one”, “two”, “three” and 2 more",)
    assert by_words("march", "The roof leaks") == ("shares a word in its tags, name or date",)


def test_a_hit_tells_the_word_that_it_shares(memory: Memory) -> None:
    memory.store("Allergic to penicillin", kind="fact")
    (hit,) = memory.search("penicillin", explain=True)
    assert hit.reasons[0] == "shares “penicillin”"
    assert memory.search("")[0].reasons == ()


def test_a_misspelt_word_is_told_with_what_it_was_read_as(memory: Memory) -> None:
    memory.store("Allergic to penicillin", kind="fact")
    memory.store("The kettle is blue", kind="fact")
    (hit,) = [hit for hit in memory.search("penicilin") if "penicillin" in hit.record.text]
    assert hit.reasons == ("shares “penicillin”", "“penicilin” read as “penicillin”")


def test_the_newer_of_two_memories_about_the_same_says_so(memory: Memory) -> None:
    for text in ("The office plant is a fern", "The office plant is now a cactus"):
        memory.store(text, kind="fact")
    memory.store("Likes jazz", kind="preference")
    newer, older = memory.search("office plant")[:2]
    assert newer.record.text.endswith("now a cactus")
    assert "the newer of two" in newer.reasons
    assert "the newer of two" not in older.reasons


def test_a_hit_without_a_shared_word_is_near_in_meaning(memory: Memory) -> None:
    memory.store("The doctor prescribed new medicine", kind="fact")
    found = memory.search("physician medication")
    (hit,) = [*found, *found.nearest]
    assert hit.reasons == ("near in meaning to “physician medication”",)


def test_a_reply_tells_that_it_was_said_beside_a_match(memory: Memory) -> None:
    memory.store("The garden is big", kind="fact")
    memory.session = "talk"
    memory.store("Which colour should the garden fence have in spring?", username="Ann")
    memory.store("Green, definitely.", username="Bob")
    memory.session = ""
    found = memory.search("Which colour should the garden fence have?")
    (reply,) = [hit for hit in found if hit.record.username == "Bob"]
    assert reply.reasons[0] == "said right after what shares “colour”, “garden” and “fence”"


def test_where_nothing_is_found_the_nearest_are_told(memory: Memory) -> None:
    for text in ("The kettle is blue", "Has two cats", "Likes jazz", "Has a red bicycle"):
        memory.store(text, kind="fact")
    found = memory.search("quarterly revenue forecast spreadsheet")
    assert found == []
    assert len(found.nearest) == 3
    assert memory.search("kettle").nearest == ()
    assert len(memory.search("quarterly revenue forecast", limit=1).nearest) <= 1


def test_a_result_is_weak_when_its_best_is() -> None:
    record = Record("a", "fact", "text", "2026-01-01T00:00:00.000Z")
    weak, good, listed = Hit(record, (), WEAK / 2), Hit(record, (), WEAK), Hit(record, (), 0.0)
    assert SearchResult([weak]).is_weak
    assert not SearchResult([good, weak]).is_weak
    assert not SearchResult([listed]).is_weak, "nothing was asked"
    assert not SearchResult().is_weak


def test_the_words_of_a_text_are_marked_that_it_shares_with_a_question_in_any_form() -> None:
    text = "Ann paints boats; the Painter, a cat, was painting"
    assert marked("who painted the boat?", text) == ["paints", "boats", "Painter", "painting"]
    assert marked("köln 2026-03-01", "In Köln on 2026-03-01") == ["Köln"]
    assert marked("the", "The cat") == ["The"]
    assert marked("", "Anything") == []
