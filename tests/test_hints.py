"""What stands in at run time for the names of `typing` and `enum`: it must do what those do."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.model.hints import NamedTuple, StrEnum


class Place(NamedTuple):
    """Somewhere."""

    x: int
    y: int = 7

    @property
    def sum(self) -> int:
        return self.x + self.y


class Colour(StrEnum):
    """What a wall may be."""

    RED = "red"
    GREEN = "green"
    """As it grows."""


def test_a_tuple_takes_its_fields_by_place_by_name_and_by_default() -> None:
    assert Place(1) == Place(x=1) == Place(1, y=7) == (1, 7)
    assert (Place(2, 3).x, Place(2, 3).y, Place(2, 3).sum) == (2, 3, 5)
    assert repr(Place(1)) == "Place(x=1, y=7)"


@pytest.mark.parametrize("given", [{}, {"x": 1, "z": 2}])
def test_a_tuple_says_what_it_cannot_be_made_of(given: dict[str, int]) -> None:
    with pytest.raises(TypeError, match="argument"):
        Place(**given)


def test_a_tuple_goes_through_copies_and_pickles_and_is_told_with_changes() -> None:
    place = Place(1, 2)
    for again in (copy.deepcopy(place), pickle.loads(pickle.dumps(place)), Place._make([1, 2])):
        assert type(again) is Place
        assert again == place
    assert place._replace(y=3) == Place(1, 3)
    match place:
        case Place(x, y):
            assert (x, y) == (1, 2)


def test_the_first_values_may_be_made_by_several_threads() -> None:
    class Fresh(NamedTuple):
        one: int
        two: int = 2

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(Fresh, range(64))) == [(number, 2) for number in range(64)]


def test_a_word_is_the_word_itself_and_all_are_listed() -> None:
    assert (Colour.RED, list(Colour)) == ("red", ["red", "green"])
    assert Colour("green") == Colour.GREEN
    with pytest.raises(ValueError, match="'blue' is no Colour"):
        Colour("blue")
