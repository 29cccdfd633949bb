"""Which words of a question may be misspelt, and what they are read as."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.search.typos import closest, meant, read_as, slipped, suspects


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What about the alergic recippes?", ["alergic", "recippes"]),
        ("Where was it pasted, replayed and said?", []),
        ("cer TLSX v2beta 東京タワー 2026-11-15", []),
        ("Wie heißt der kleine Kobolt und wo ist die Kneipenmannschfat?", ["Kneipenmannschfat"]),
    ],
)
def test_long_words_that_are_not_english_may_be_misspelt(text: str, found: list[str]) -> None:
    assert suspects(text) == found


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("hosue", "the house", "house"),
        ("sanua", "a sauna", "sauna"),
        ("stucj", "stuck", "stuck"),
        ("perhc", "perch", "perch"),
        ("tankk", "tank", "tank"),
        ("stnt", "stent", "stent"),
        ("stxt", "stent", ""),
        ("seperate", "separate", "separate"),
        ("lift", "loft", "loft"),
        ("luft", "left", ""),
        ("definately", "definitely", "definitely"),
        ("contrsat", "contact", ""),
        ("synth", "old synthesizers", "synthesizers"),
    ],
)
def test_a_slip_or_two_are_undone_by_the_length_of_the_word(
    word: str, text: str, expected: str
) -> None:
    assert meant(word, [(text, 1)]) == expected


def test_of_two_as_near_the_more_frequent_is_meant() -> None:
    assert meant("wster", [("water", 2), ("wester", 1)]) == "water"
    assert meant("wster", [("water", 1), ("wester", 2)]) == "wester"


def test_stems_are_near_though_they_lack_an_ending() -> None:
    assert closest("blcoked", ["block", "blue", "bloom"]) == ["block"]
    assert closest("hapyness", ["happi", "hat"]) == ["happi"]


def test_slips_in_the_first_letters_are_undone_one_at_a_time() -> None:
    undone = slipped("Fzzwick").undone
    assert {"zfzwick", "fizzwick", "fzwick", "dzzwick"} <= set(undone)
    assert all(len(each) in (6, 7, 8) for each in undone)


def test_only_whole_words_are_read_otherwise() -> None:
    assert read_as("tea teas tea?", {"tea": "tree"}) == "tree teas tree?"


def test_a_search_says_how_it_read_a_word(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "vault", create=True) as memory:
        memory.store("Allergic to penicillin")
        memory.store("Likes quinces")
        found = memory.search("alergic?")
        assert found[0].record.text == "Allergic to penicillin"
        assert found.readings == {"alergic": "allergic"}
        assert memory.search("allergic?").readings == {}
