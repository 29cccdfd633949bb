"""Hash-based vectors, and the search for the nearest of them."""

from __future__ import annotations

import random
import subprocess
import sys
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.search.encoders import Encoder
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.vectors import cosine, with_numpy
from commonplace.search.vectors.cosine import closest, least

ENCODER: Encoder = HashedEncoder()


def encoded(text: str) -> tuple[bytes, float]:
    (vector,) = ENCODER.encode([text])
    return vector


def alike(one: str, other: str) -> float:
    (a, length), (b, width) = ENCODER.encode([one, other])
    return dot(a, b) / (length * width)


def dot(a: bytes, b: bytes) -> int:
    return sum(x * y for x, y in zip(memoryview(a).cast("b"), memoryview(b).cast("b"), strict=True))


@given(st.text())
def test_any_text_has_a_vector_of_its_length(text: str) -> None:
    vector, norm = encoded(text)
    assert len(vector) == ENCODER.dim
    assert norm == pytest.approx(sqrt(dot(vector, vector)))


def test_a_text_without_words_lies_nowhere() -> None:
    assert encoded("?! …") == (bytes(256), 0.0)


def test_the_same_text_has_the_same_vector_in_every_process() -> None:
    program = (
        "from commonplace.search.encoders.hashed import HashedEncoder as E; "
        "print(E().encode(['Ünï tea']))"
    )
    outputs = {
        subprocess.check_output(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, **PATH}
        )
        for seed in ("1", "2")
    }
    assert outputs == {f"{ENCODER.encode(['Ünï tea'])}\n".encode()}


PATH = {"PYTHONPATH": ":".join(sys.path), "PYTHONIOENCODING": "utf-8"}


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("Prefers dark mode in editors", "editor with dark mode", "Her sister lives in Lisbon"),
        ("We deploy on Fridays", "deployment happens friday", "The cat is called Miso"),
        ("私は東京に住んでいます", "東京", "大阪城"),
        ("Он живёт в Петербурге", "Петербург", "кофе с молоком"),
        ("DARK MODE", "dark mode", "mode of transport"),
    ],
)
def test_shared_words_and_parts_of_words_bring_texts_closer(text: str, near: str, far: str) -> None:
    assert alike(text, near) > alike(text, far) + 0.1


def test_saying_a_word_again_adds_less_each_time() -> None:
    assert alike("tea", "tea tea tea tea") == pytest.approx(1.0, abs=0.01)
    assert alike("tea coffee", "tea tea tea coffee") > 0.8


def rows_of(texts: list[str]) -> list[tuple[int, float, bytes]]:
    return [(key, norm, vector) for key, (vector, norm) in enumerate(ENCODER.encode(texts))]


def words(count: int, *, seed: int) -> str:
    chosen = random.Random(seed)
    return " ".join("".join(chosen.choices("aeinorst", k=5)) for _ in range(count))


@pytest.mark.long
def test_the_closest_are_exact_up_to_some_thousands() -> None:
    rows = rows_of([words(12, seed=seed) for seed in range(3000)])
    vector, norm = encoded(words(12, seed=77))
    scored = sorted(
        ((dot(kept, vector) / (norm * length), key) for key, length, kept in rows), reverse=True
    )
    assert closest(rows, vector=vector, norm=norm, limit=10) == scored[:10]
    assert (scored[0][1], round(scored[0][0], 6)) == (77, 1.0)


@pytest.mark.long
def test_the_codes_shortlist_has_most_of_the_closest() -> None:
    rows = rows_of([words(12, seed=seed) for seed in range(3000)])
    vector, norm = encoded(words(12, seed=77) + " more")
    exact = closest(rows, vector=vector, norm=norm, limit=10)
    codes = b"".join(cosine.code_of(row[2]) for row in rows)
    columns = cosine.columns_of(codes, cosine.width_of(ENCODER.dim))
    shortlist = least(cosine.differences(columns, vector), 1000)
    assert 1000 <= len(shortlist) < 1500
    assert exact[0][1] in shortlist
    assert len({key for _, key in exact}.intersection(shortlist)) >= 8


@given(st.binary(min_size=1), st.integers(1, 40))
def test_the_least_are_found_and_those_level_with_the_last(distances: bytes, count: int) -> None:
    last = sorted(distances)[min(count, len(distances)) - 1]
    expected = [at for at, distance in enumerate(distances) if distance <= last]
    assert least(distances, count) == expected


# The first time it imports numpy.
@settings(deadline=None)
@given(st.data(), st.integers(1, 300), st.integers(1, 100))
def test_numpy_finds_the_same_codes_and_multiplies_to_the_same_numbers(
    data: st.DataObject, dim: int, many: int
) -> None:
    with_numpy.load()
    chance = data.draw(st.randoms(use_true_random=False))
    kept = [chance.randbytes(dim) for _ in range(many)]
    vector = bytes(chance.choice((0, chance.randrange(256))) for _ in range(dim))
    blob = b"".join(map(cosine.code_of, kept))
    columns = cosine.columns_of(blob, cosine.width_of(dim))
    assert with_numpy.differences(blob, vector) == cosine.differences(columns, vector)
    assert with_numpy.dots(kept, vector) == cosine.dots(kept, vector)


@given(st.integers(1, 600), st.binary(max_size=600))
def test_a_vector_is_as_far_from_its_code_as_it_has_differing_signs(dim: int, data: bytes) -> None:
    vector = data.ljust(dim, b"\x05")[:dim]
    code = cosine.code_of(vector)
    assert len(code) == cosine.width_of(dim)
    other = vector.translate(bytes(-value % 256 for value in range(256)))
    columns = cosine.columns_of(code + cosine.code_of(other), len(code))
    (same, opposite) = cosine.differences(columns, vector)
    signs = sum(0 < value != 128 for value in vector)
    assert (same, opposite) == (0, min(signs, 255))


def test_those_level_with_the_last_are_all_given() -> None:
    rows = rows_of(["tea", "coffee", "tea", "tea"])
    vector, norm = encoded("tea")
    assert [key for _, key in closest(rows, vector=vector, norm=norm, limit=1)] == [3, 2, 0]
    assert closest(rows, vector=vector, norm=norm, limit=0) == []
    assert closest([], vector=vector, norm=norm, limit=5) == []


def test_a_vector_of_one_dimension_is_enough() -> None:
    rows = [(1, 2.0, b"\x02"), (2, 1.0, b"\xff"), (3, 0.0, b"\x00")]
    assert closest(rows, vector=b"\x05", norm=5.0, limit=5) == [(1.0, 1), (-1.0, 2)]
