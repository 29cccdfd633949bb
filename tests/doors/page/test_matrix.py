"""Every place at a desk and on a phone, in the light and in the dark, with 0 to 5,000 memories.

The suite looks at a seeded sample. `python -m tests.doors.page.test_matrix` looks at all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from itertools import product
from random import Random
from typing import Any

import pytest

from tests.support import pages
from tests.support.pages import PLACES, SCHEMES, SIZES, WIDTHS, Served

ALL = "COMMONPLACE_WHOLE_MATRIX"
Form = tuple[str, int, str, str]


def forms() -> list[Form]:
    """The forms to look at: of each place all, or one at a desk and one on a phone."""
    return [
        (place, *form)
        for number, place in enumerate(PLACES)
        for form in (product(WIDTHS, SCHEMES, SIZES) if ALL in os.environ else sample(number))
    ]


def sample(number: int) -> list[tuple[int, str, str]]:
    """One form of each width: the one in the light, the other in the dark, of two vaults."""
    chance = Random(number)
    schemes, vaults = chance.sample(SCHEMES, 2), chance.sample(list(SIZES), 2)
    return list(zip(WIDTHS, schemes, vaults))


def some(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each place with every one of these names, or with one of them."""
    every = list(names)
    return [
        (place, name)
        for number, place in enumerate(PLACES)
        for name in (every if ALL in os.environ else [Random(number).choice(every)])
    ]


@pytest.mark.parametrize(("where", "width", "scheme", "vault"), forms())
def test_a_place_is_sound_in_this_form(
    sizes: Served, where: str, width: int, scheme: str, vault: str
) -> None:
    with pages.opened(sizes, width, scheme) as guarded:
        pages.go(guarded.page, sizes, where, vault)
        pages.keep(guarded.page, f"{where.split('?')[0]}-{width}-{scheme}-{vault}")
        pages.sound(guarded.page)
        assert guarded.faults == []


@pytest.mark.parametrize(("where", "letters"), some(pages.LETTERS))
def test_nothing_is_wider_than_a_phone_in_any_font(sizes: Served, where: str, letters: str) -> None:
    with pages.opened(sizes, 390) as guarded:
        pages.set_letters(guarded.page, letters)
        pages.go(guarded.page, sizes, where, "some")
        pages.sound(guarded.page)


@pytest.mark.parametrize(("where", "scheme"), some(SCHEMES))
def test_axe_finds_nothing_serious(sizes: Served, axe: str, where: str, scheme: str) -> None:
    width = Random(f"{where} {scheme}").choice(tuple(WIDTHS))
    with pages.opened(sizes, width, scheme, bypass_csp=True) as guarded:
        pages.go(guarded.page, sizes, where, "some")
        pages.nothing_serious(guarded.page, axe)


def main() -> Any:
    """Every form: about ten minutes on two cores."""
    words = [sys.executable, "-m", "pytest", __file__, "-q", *sys.argv[1:]]
    return subprocess.run(words, env={**os.environ, ALL: "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
