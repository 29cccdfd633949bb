"""Encoders: a text as a vector of signed bytes, so that what is alike lies close together.

They do not know records or where vectors are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Encoder(Protocol):
    """Turns texts into vectors. Vectors of two models are never compared."""

    @property
    def model(self) -> str:
        """The name of the model, with whatever changes its vectors."""

    @property
    def dim(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        """One vector a text: a signed byte a dimension, and the length of what those bytes say."""
