"""Encoders: a text as a vector of signed bytes, so that what is alike lies close together.

They do not know records or where vectors are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

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


def encoder_named(
    name: str, options: Options, *, environ: Mapping[str, str] = os.environ
) -> Encoder:
    """The encoder that an option names, opened."""
    if name == "hashed":
        from commonplace.search.encoders.hashed import HashedEncoder

        return HashedEncoder()
    if name == "onnx":
        from commonplace.search.encoders.onnx import OnnxEncoder

        return OnnxEncoder(options.encoder_path)
    if name == "remote":
        from commonplace.search.encoders.remote import RemoteEncoder

        return RemoteEncoder(options.encoder_url, options.encoder_model, environ=environ)
    from commonplace.search.encoders.static import StaticEncoder

    return StaticEncoder(options.encoder_path)
