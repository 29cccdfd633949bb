"""A plane for the map: vectors become islands of points, where what is alike lies close together.

Everything is computed in plain Python, in a second for the most points that are drawn, and comes
out the same for the same vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import atan2, cos, hypot, log, pi, sin, sqrt
from operator import mul
from random import Random

from msgspec import Struct

Row = list[float]
Point = tuple[float, float]

SAMPLE, ROUNDS = 160, 12
"""Vectors that the directions are found from, and the steps that each direction takes."""
DIRECTIONS = 10
"""So many numbers of each vector tell it apart from others well enough to group it."""
GROUPED, MOST_GROUPS, PASSES = 6, 16, 8
"""How many groups there are: the root of the points over `GROUPED`, and `MOST_GROUPS` at most."""
APART = 3.5
"""The room between two islands, in steps between two points."""
PUSHES = 200
LABEL_WORDS = 3
LEAST_SHARE = 0.12
"""The part of a group that must have a word for the word to name the group."""


class Island(Struct, frozen=True):
    """A group of points that say something alike: its middle, how far it reaches, its members."""

    x: float
    y: float
    radius: float
    label: str
    members: tuple[int, ...]


class Plane(Struct, frozen=True):
    """Where each vector lies, one step from its neighbours, and the islands they form."""

    points: tuple[Point, ...]
    islands: tuple[Island, ...]


def plane_of(vectors: Sequence[bytes], words: Sequence[Iterable[str]]) -> Plane:
    """The plane of some vectors of signed bytes, in their order, with the words of each."""
    if not vectors:
        return Plane((), ())
    rows = _reduced([memoryview(vector).cast("b").tolist() for vector in vectors])
    named = _named(_grouped(rows), words)
    groups = [*named.values()]
    middles = [_mean([rows[at] for at in group]) for group in groups]
    discs = [_disc([rows[at] for at in group]) for group in groups]
    radii = [max((hypot(*each) for each in disc), default=0.0) for disc in discs]
    centres = _spread([(middle[0], middle[1]) for middle in middles], radii)
    points: list[Point] = [(0.0, 0.0)] * len(rows)
    for group, disc, (x, y) in zip(groups, discs, centres):
        for at, (right, down) in zip(group, disc):
            points[at] = (round(x + right, 3), round(y + down, 3))
    islands = tuple(
        Island(round(x, 3), round(y, 3), round(radius, 3), label, tuple(group))
        for (label, group), radius, (x, y) in zip(named.items(), radii, centres)
    )
    return Plane(tuple(points), islands)


def _named(groups: Sequence[list[int]], words: Sequence[Iterable[str]]) -> dict[str, list[int]]:
    """The groups by their names: the words that many texts of one have, and few others.

    Groups that would have one name are one group.
    """
    counts = [Counter(word for at in group for word in set(words[at])) for group in groups]
    everywhere = sum(counts, Counter[str]())
    found: dict[str, list[int]] = {}
    for counted, group in zip(counts, groups):
        label = _label(counted, everywhere, len(group), len(words))
        found.setdefault(label, []).extend(group)
    return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))


def _label(counted: Counter[str], everywhere: Counter[str], size: int, texts: int) -> str:
    least = max(2.0, LEAST_SHARE * size) if size > 1 else 1.0
    worth = {
        word: count / size * log(1.0 + texts / everywhere[word])
        for word, count in counted.items()
        if count >= least
    }
    best = sorted(worth, key=lambda word: (-worth[word], word))
    return " · ".join(best[:LABEL_WORDS])


def _reduced(rows: list[list[int]]) -> list[Row]:
    """Each row along the directions in which a sample of the rows differs most."""
    sample = rows[:: max(1, len(rows) // SAMPLE)][:SAMPLE]
    centre = _mean(sample)
    middle = [[value - mean for value, mean in zip(row, centre)] for row in sample]
    # The rows are fewer than the numbers of each: their products are the smaller table.
    common = _products(middle)
    shares: list[Row] = []
    for _ in range(DIRECTIONS):
        shares.append(_heaviest(common, shares))
    directions = [_unit([_dot(share, column) for column in zip(*middle)]) for share in shares]
    start = [_dot(centre, along) for along in directions]
    return [[_dot(row, along) - first for along, first in zip(directions, start)] for row in rows]


def _products(rows: list[Row]) -> list[Row]:
    """The product of each row with each."""
    half = [[_dot(row, other) for other in rows[: at + 1]] for at, row in enumerate(rows)]
    return [
        [half[max(one, two)][min(one, two)] for two in range(len(rows))] for one in range(len(rows))
    ]


def _heaviest(common: list[Row], others: Sequence[Row]) -> Row:
    """How much of each row makes up the greatest spread beside the others, by power iteration."""
    found = [1.0 + (at * 7919 % 13) / 13 for at in range(len(common))]
    for _ in range(ROUNDS):
        found = [_dot(row, found) for row in common]
        for other in others:
            share = _dot(found, other)
            found = [value - share * along for value, along in zip(found, other)]
        found = _unit(found)
    return found


def _grouped(rows: list[Row]) -> list[list[int]]:
    """The rows in groups of those nearest to a common middle (k-means)."""
    middles = _first_middles(rows, max(1, min(MOST_GROUPS, round(sqrt(len(rows) / GROUPED)))))
    nearest: list[int] = []
    for _ in range(PASSES):
        before, nearest = nearest, _nearest(rows, middles)
        if nearest == before:
            break
        for number in range(len(middles)):
            own = [row for row, at in zip(rows, nearest) if at == number]
            middles[number] = _mean(own) if own else middles[number]
    numbers = range(len(middles))
    groups = [[at for at, near in enumerate(nearest) if near == each] for each in numbers]
    return [group for group in groups if group]


def _first_middles(rows: list[Row], count: int) -> list[Row]:
    """Rows far from each other, drawn by chance that is always the same (k-means++)."""
    chance = Random(len(rows))
    found = [rows[chance.randrange(len(rows))]]
    far = [_distance(row, found[0]) for row in rows]
    while len(found) < count and any(far):
        found.append(chance.choices(rows, far)[0])
        far = [min(known, _distance(row, found[-1])) for row, known in zip(rows, far)]
    return found


def _disc(rows: list[Row]) -> list[Point]:
    """A place for each row in rings about the middle of all: its direction from there is kept.

    Each ring has six places more than the one inside it, so that all are one step apart.
    """
    middle = _mean(rows)
    offsets = [(row[0] - middle[0], row[1] - middle[1]) for row in rows]
    far = [_distance(row, middle) for row in rows]
    order = sorted(range(len(rows)), key=lambda at: (far[at], at))
    places: list[Point] = [(0.0, 0.0)] * len(rows)
    start, ring = 1, 1
    while start < len(rows):
        inside = sorted(
            order[start : start + 6 * ring],
            key=lambda at: (atan2(offsets[at][1], offsets[at][0]), at),
        )
        for number, at in enumerate(inside):
            angle = 2 * pi * (number + ring % 2 / 2) / len(inside) - pi
            places[at] = (ring * cos(angle), ring * sin(angle))
        start, ring = start + 6 * ring, ring + 1
    return places


def _spread(middles: Sequence[Point], radii: Sequence[float]) -> list[Point]:
    """Middles of islands that do not touch, as near as can be to where they were."""
    reach = max((hypot(*each) for each in middles), default=0.0) or 1.0
    scale = sqrt(sum((radius + APART) ** 2 for radius in radii)) / reach
    # Two that lie on each other would have no direction to part in.
    found = [(x * scale + at * 1e-3, y * scale - at * 1e-3) for at, (x, y) in enumerate(middles)]
    pairs = [(one, two) for two in range(len(found)) for one in range(two)]
    for _ in range(PUSHES):
        if not sum(_push(found, radii, one, two) for one, two in pairs):
            break
    return found


def _push(found: list[Point], radii: Sequence[float], one: int, two: int) -> bool:
    """Move two islands apart where they touch; whether they did."""
    right, down = found[two][0] - found[one][0], found[two][1] - found[one][1]
    length = hypot(right, down) or 1e-9
    lacks = radii[one] + radii[two] + APART - length
    if lacks <= 0.01:
        return False
    right, down = right / length * lacks / 2, down / length * lacks / 2
    found[one] = (found[one][0] - right, found[one][1] - down)
    found[two] = (found[two][0] + right, found[two][1] + down)
    return True


def _nearest(rows: Sequence[Row], middles: Sequence[Row]) -> list[int]:
    """The number of the middle that is nearest to each row."""
    # The row's own length is the same to all middles: products tell as much as distances.
    known = [(middle, _dot(middle, middle) / 2) for middle in middles]
    near = ([_dot(row, middle) - half for middle, half in known] for row in rows)
    return [each.index(max(each)) for each in near]


def _distance(first: Sequence[float], second: Sequence[float]) -> float:
    return sum([(one - two) ** 2 for one, two in zip(first, second)])


def _mean(rows: Sequence[Sequence[float]]) -> Row:
    return [sum(column) / len(rows) for column in zip(*rows)]


def _unit(row: Row) -> Row:
    length = sqrt(_dot(row, row)) or 1.0
    return [value / length for value in row]


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return float(sum(map(mul, first, second)))
