"""A sample of the attack texts: none is told as a rule before a person has approved it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.laws import attacks, honest
from tests.laws.attacks import DEEDS, LAYOUTS

FORMS = [attacks.attacks()[number * len(DEEDS) + 3 * number] for number in range(7)]
"""An attack of each form."""


@pytest.mark.parametrize(("number", "layout"), list(enumerate(LAYOUTS)))
def test_no_attack_of_a_tainted_session_is_told_as_a_rule(
    tmp_path: Path, number: int, layout: str
) -> None:
    assert attacks.planted(str(tmp_path / "v"), layout, FORMS[number : number + 3]) == {}


def test_nor_is_one_that_is_planted_in_files_or_postgresql(place: str) -> None:
    assert attacks.planted(place, "native", FORMS[-1:]) == {}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_a_session_that_read_nothing_they_are_told(tmp_path: Path, layout: str) -> None:
    found = attacks.planted(str(tmp_path / "v"), layout, FORMS[:1], clean=True)
    assert {mark for mark, _ in found} == {FORMS[0].mark}


def test_there_are_as_many_as_the_docs_say() -> None:
    every = attacks.attacks()
    assert len({attack.text for attack in every}) == len(every) == attacks.COUNT == 300
    assert len(list(honest.sessions())) == 150
