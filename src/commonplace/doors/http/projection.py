"""Vectors as points of a plane: the two directions in which they differ most.

It does not know what a vector means. In the standard library: the directions are found on a sample
by repeated multiplication, which takes a fraction of a second for any number of vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from operator import mul

SAMPLE, ROUNDS = 300, 12
Point = tuple[float, float]


def projected(vectors: Sequence[bytes]) -> list[Point]:
    """A point in the unit square for each vector of signed bytes."""
    if not vectors:
        return []
    rows = [memoryview(vector).cast("b").tolist() for vector in vectors]
    step = max(1, len(rows) // SAMPLE)
    sample = rows[::step]
    centre = [sum(column) / len(sample) for column in zip(*sample)]
    middle = [[value - mean for value, mean in zip(row, centre)] for row in sample]
    first = _direction(middle, ())
    second = _direction(middle, (first,))
    return list(zip(_scaled(rows, first), _scaled(rows, second)))


def _direction(rows: list[list[float]], others: Sequence[list[float]]) -> list[float]:
    """The direction of the greatest spread, at right angles to the others."""
    found = [1.0 + (at * 7919 % 13) / 13 for at in range(len(rows[0]))]
    for _ in range(ROUNDS):
        dots = [_dot(row, found) for row in rows]
        found = [sum(map(mul, dots, column)) for column in zip(*rows)]
        for other in others:
            share = _dot(found, other)
            found = [value - share * along for value, along in zip(found, other)]
        length = sqrt(_dot(found, found)) or 1.0
        found = [value / length for value in found]
    return found


def _dot(first: Sequence[float], second: Sequence[float]) -> float:
    return float(sum(map(mul, first, second)))


def _scaled(rows: list[list[int]], direction: list[float]) -> list[float]:
    places = [_dot(row, direction) for row in rows]
    low, high = min(places), max(places)
    return [round((place - low) / ((high - low) or 1.0), 4) for place in places]
