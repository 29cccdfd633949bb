"""Forms of Latin words that are searched as one."""

from __future__ import annotations

import pytest

from commonplace.search.word_forms import forms_of
from commonplace.search.words import record_terms


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("allergies", ("allerg",)),
        ("allergic", ("allerg",)),
        ("Photographer", ("photograph",)),
        ("microbiology", ("microb",)),
        ("family", ("famil",)),
        ("databases", ()),
        ("ran", ("run",)),
        ("Children", ("child",)),
        ("lives", ()),
        ("maxRetryCount", ("max", "retry", "count")),
        ("HTTPServer2", ("http", "server", "2")),
        ("5kg", ("5", "kg")),
        ("30min", ("30", "min", "minutes")),
        ("v2", ("version", "2")),
        ("30s", ("30", "seconds")),
        ("S7", ()),
        ("snake_case", ("snake", "case")),
        ("2026-11-15", ()),
        ("2026-11", ()),
        ("", ()),
    ],
)
def test_a_word_has_the_form_of_its_kin_and_a_name_its_parts(
    word: str, forms: tuple[str, ...]
) -> None:
    assert forms_of(word) == forms


def test_a_question_is_asked_in_forms_and_names_also_apart() -> None:
    asked = "Which allergies are in darkMode since 2026-11-15, Bäckerin?"
    assert record_terms(asked) == [
        *('"allerg"', '"darkMode"', '"since"', '"2026-11-15"', '"Bäckerin"', '"dark mode"'),
    ]
    assert record_terms("v2 30min S7") == [
        *('"v2"', '"30min"', '"S7"'),
        *('"v 2"', '"version 2"', '"30 min"', '"30 minutes"', '"s 7"'),
    ]


def test_ideographs_are_asked_for_one_by_one_too() -> None:
    assert record_terms("我的汽车") == ['"我的"', '"的汽"', '"汽车"', '"汽"', '"车"']
