"""What every encoder must do, whatever makes its vectors."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.search.encoders import Encoder

HOSTILE = {
    "nothing": "",
    "white": " \t\r\n\u2003\u3000",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🧠" * 20,
    "control": "".join(map(chr, range(32))) + "\x7f\x85\u200b\u202e\ufeff",
    "surrogates": "half \ud83d of \udc00 a pair",
    "unassigned": "\u0378\ue000\U0010ffff",
    "marks": "e" + "\u0301" * 5000,
    "one long word": "tea" * 5000,
    "signs": "<!-- ]]> ** -- ' \" ; DROP TABLE" * 50,
    "scripts": "茶 お茶 차 чай شاي चाय ชา τσάι Tee thé ΟΔΟΣ İstanbul",
    "a megabyte": "the tea is green and 茶 " * 42_000,
}


def dot(a: bytes, b: bytes) -> int:
    return sum(x * y for x, y in zip(memoryview(a).cast("b"), memoryview(b).cast("b"), strict=True))


def likeness(one: tuple[bytes, float], other: tuple[bytes, float]) -> float:
    return dot(one[0], other[0]) / (one[1] * other[1])


class EncoderContract:
    """Subclasses give the fixture `encoder`."""

    def test_a_vector_is_as_long_as_it_says(self, encoder: Encoder) -> None:
        @settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
        @given(st.text())
        def every(text: str) -> None:
            [(vector, norm)] = encoder.encode([text])
            assert len(vector) == encoder.dim
            assert norm == pytest.approx(sqrt(dot(vector, vector)))

        every()

    @pytest.mark.parametrize("name", HOSTILE)
    def test_hostile_texts_have_vectors_too(self, encoder: Encoder, name: str) -> None:
        text = HOSTILE[name]
        [(vector, norm)] = encoder.encode([text])
        assert len(vector) == encoder.dim
        assert norm == pytest.approx(sqrt(dot(vector, vector)))
        assert dot(encoder.encode_query(text)[0], vector) == pytest.approx(norm**2, rel=1e-3)

    def test_a_text_without_letters_lies_nowhere(self, encoder: Encoder) -> None:
        assert encoder.encode(["", " \n"]) == [(bytes(encoder.dim), 0.0)] * 2

    def test_a_text_has_one_vector_whatever_stands_beside_it(self, encoder: Encoder) -> None:
        texts = ["Green tea in the morning", "", "She moved to Lisbon in March", "茶"] * 9
        for text, (vector, norm) in zip(texts, encoder.encode(texts), strict=True):
            [alone] = encoder.encode([text])
            # The last digits of a transformer's numbers depend on what it computes beside.
            assert dot(vector, alone[0]) == pytest.approx(norm * alone[1], rel=1e-3)

    def test_no_texts_have_no_vectors(self, encoder: Encoder) -> None:
        assert encoder.encode([]) == []

    def test_what_says_the_same_lies_closer(self, encoder: Encoder) -> None:
        said, same, other = encoder.encode(
            ["Prefers dark mode in editors", "an editor with dark mode", "Her sister is in Lisbon"]
        )
        assert likeness(said, same) > likeness(said, other) + 0.1

    def test_the_model_is_named(self, encoder: Encoder) -> None:
        assert encoder.model
        assert encoder.dim > 0
