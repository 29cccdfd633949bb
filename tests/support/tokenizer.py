"""Tokens as a model counts them, by a tokenizer that carries its vocabulary with it."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from tests.support.skips import skip


def exact(text: str) -> int:
    if sys.version_info >= (3, 14):
        skip("rs-bpe has no wheel for Python 3.14", get="use Python 3.13")
    bpe: Any = import_module("rs_bpe.bpe")
    return int(bpe.openai.o200k_base().count(text))
