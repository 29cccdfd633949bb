"""When one text says what another says already."""

from __future__ import annotations

import pytest

from commonplace.search.alike import repeats

FIRST = "Prefers dark mode in all editors"
AGAIN = [
    "prefers dark mode in all the editors.",
    "The user prefers dark mode in all editors",
    FIRST,
]
OTHERS = [
    "Prefers dark mode in all 3 editors",
    "Never prefers dark mode in all editors",
    "Prefers dark mode in all terminals",
    "Prefers dark mode in all editors on Sundays",
    "",
]


@pytest.mark.parametrize("text", AGAIN)
def test_the_same_words_with_one_more_say_the_same(text: str) -> None:
    assert repeats(["Drinks tea", FIRST, text]) == {2: 1}


@pytest.mark.parametrize("text", OTHERS)
def test_a_number_a_name_a_not_or_another_word_makes_it_something_else(text: str) -> None:
    assert repeats([FIRST, text]) == {}


def test_a_never_at_the_beginning_is_no_word_like_others() -> None:
    push = "Push the branch to the remote before lunch"
    assert repeats([push, f"Never {push.lower()}"]) == {}


def test_all_that_repeat_are_told_with_the_first() -> None:
    assert repeats(["Drinks tea", FIRST, *AGAIN, "drinks tea"]) == {2: 1, 3: 1, 4: 1, 5: 0}


def test_words_that_all_texts_have_hide_no_repeat() -> None:
    texts = [f"Prefers option {n} for tool {n % 7} when building" for n in range(60)]
    assert repeats(texts) == {}
    assert repeats([*texts, f"The user {texts[41].lower()}"]) == {60: 41}
