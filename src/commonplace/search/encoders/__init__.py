"""Encoders turn a text into a vector of signed bytes, so that texts alike lie close together."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import sqrt
from operator import mul
from struct import pack
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from commonplace.model.options import Options


Weigh = Callable[[Sequence[str]], Mapping[str, float]]
"""How much each of some words is worth."""


class Encoder(Protocol):
    """Turns texts into vectors. Vectors of two models are never compared."""

    @property
    def model(self) -> str:
        """The name of the model, with whatever changes its vectors."""

    @property
    def dim(self) -> int: ...

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent elsewhere: what is marked sensitive must be kept from it."""

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        """One vector a text: a signed byte a dimension, and the length of what those bytes say."""

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        """The vector of a question.

        Where the encoder adds up words, `weigh` says how much each is worth: the rarer it is in
        the vault, the more. It is asked once, for words in small letters without accents.
        """


class Stronger(Struct, frozen=True):
    """An encoder that takes long to open, beside one that is quick."""

    model: str
    """The name of its model, known before it is open."""
    is_there: Callable[[], bool]
    """Whether it is installed."""
    open: Callable[[], Encoder]


def encoder_named(
    name: str, options: Options, *, environ: Mapping[str, str] = os.environ
) -> Encoder:
    """The encoder that an option names, opened; for `auto` the one that is always there."""
    if name == "hashed":
        from commonplace.search.encoders.hashed import HashedEncoder

        return HashedEncoder()
    if name == "minilm":
        from commonplace.search.encoders import minilm

        return minilm.opened()
    if name == "onnx":
        from commonplace.search.encoders.onnx import encoder_in

        return encoder_in(
            options.encoder_path,
            before_query=options.encoder_before_question,
            before_text=options.encoder_before_text,
        )
    if name == "remote":
        from commonplace.search.encoders.remote import RemoteEncoder

        return RemoteEncoder(options.encoder_url, options.encoder_model, environ=environ)
    from commonplace.search.encoders.static import StaticEncoder

    return StaticEncoder(options.encoder_path)


def stronger_than(name: str) -> Stronger | None:
    """The encoder that processes which stay use instead of the one of this name."""
    if name != "auto":
        return None
    from commonplace.search.encoders import minilm

    return Stronger(minilm.MODEL, minilm.is_there, minilm.opened)


def rounded(values: Sequence[float]) -> tuple[bytes, float]:
    """The values as signed bytes, scaled so that the largest is 127 or -127, and their length."""
    most = max(map(abs, values), default=0.0)
    whole = [round(127 * value / most) for value in values] if most else [0] * len(values)
    return pack(f"{len(whole)}b", *whole), sqrt(sum([value * value for value in whole]))


def nearness(encoder: Encoder) -> Callable[[str, str], float]:
    """A function of two words: the cosine of their vectors, and 0 where there is none."""

    @cache
    def vector(word: str) -> tuple[memoryview, float]:
        [(data, length)] = encoder.encode([word])
        return memoryview(data).cast("b"), length

    def near(one: str, other: str) -> float:
        (first, long), (second, wide) = vector(one), vector(other)
        return sum(map(mul, first, second)) / (long * wide) if long and wide else 0.0

    return near
