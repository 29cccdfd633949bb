"""Values: made a few times or many, they are the same and refuse the same mistakes."""

from __future__ import annotations

import pytest

from commonplace.model.values import SELDOM, field, frozen, replace


@frozen
class Point:
    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list)


def test_the_first_values_are_like_the_later_ones() -> None:
    made = [Point(1, tags=["a"]) for _ in range(SELDOM + 2)]
    assert {repr(each) for each in made} == {"Point(x=1, y=0, tags=['a'])"}
    assert all(each == made[0] for each in made)
    assert {tuple(each.__dict__) for each in made} == {("x", "y", "tags")}


@pytest.mark.parametrize("before", [0, SELDOM])
@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1, 2, [], 4), {}), ((1,), {"x": 2}), ((1,), {"w": 3})],
    ids=["too few", "too many", "twice", "unknown"],
)
def test_a_wrong_call_is_a_mistake_early_and_late(
    before: int, values: tuple[int, ...], named: dict[str, int]
) -> None:
    @frozen
    class Pair:
        x: int
        y: int = 0
        z: list[str] = field(default_factory=list)

    assert [Pair(n).x for n in range(before)] == [*range(before)]
    with pytest.raises(TypeError):
        Pair(*values, **named)  # type: ignore[arg-type]
    assert Pair(1, 2) == Pair(y=2, x=1)


def test_each_value_has_a_list_of_its_own() -> None:
    @frozen
    class Bag:
        things: list[str] = field(default_factory=list)

    made = [Bag() for _ in range(SELDOM + 2)]
    assert len({id(bag.things) for bag in made}) == len(made)


def test_a_value_with_a_change_is_another() -> None:
    point = Point(1)
    assert replace(point, y=5) == Point(1, 5)
    assert point.y == 0
    with pytest.raises(AttributeError, match="is a value"):
        point.y = 3  # type: ignore[misc]
