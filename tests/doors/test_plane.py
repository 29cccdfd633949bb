"""The plane of the map: islands that do not touch, with names, the same every time."""

from __future__ import annotations

from itertools import combinations
from math import hypot
from random import Random

import pytest

from commonplace.doors.http.plane import Plane, plane_of

TOPICS = ("garden", "ferry", "piano")


def vectors(count: int, *, topics: int = 3) -> list[bytes]:
    """Vectors about as many directions as there are topics, one topic after the other."""
    chance = Random(3)
    ways = [[chance.randint(-100, 100) for _ in range(64)] for _ in range(topics)]
    return [
        bytes((value + chance.randint(-9, 9)) & 0xFF for value in ways[at % topics])
        for at in range(count)
    ]


def drawn(count: int) -> Plane:
    said = [(TOPICS[at % 3], "and", f"word{at}") for at in range(count)]
    return plane_of(vectors(count), said)


def test_no_two_points_lie_on_each_other() -> None:
    plane = drawn(120)
    assert min(hypot(a[0] - b[0], a[1] - b[1]) for a, b in combinations(plane.points, 2)) > 0.7


def test_islands_do_not_touch_and_hold_every_point_once() -> None:
    plane = drawn(120)
    for one, two in combinations(plane.islands, 2):
        assert hypot(one.x - two.x, one.y - two.y) > one.radius + two.radius
    assert sorted(at for each in plane.islands for at in each.members) == [*range(120)]
    for each in plane.islands:
        for at in each.members:
            x, y = plane.points[at]
            assert hypot(x - each.x, y - each.y) <= each.radius + 0.01


def test_what_is_alike_is_one_island_named_by_what_is_said_there_alone() -> None:
    plane = drawn(120)
    assert sorted(each.label.split(" · ")[0] for each in plane.islands) == sorted(TOPICS)
    for each in plane.islands:
        assert len({at % 3 for at in each.members}) == 1


def test_the_same_vectors_make_the_same_plane() -> None:
    assert drawn(90) == drawn(90)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_few_points_make_a_plane_too(count: int) -> None:
    assert len(drawn(count).points) == count


def test_vectors_that_are_all_alike_are_still_apart() -> None:
    plane = plane_of([bytes(8)] * 9, [("tea",)] * 9)
    assert len(set(plane.points)) == 9
