"""Cut texts into the pieces of a model's vocabulary, between its marks of begin and end.

BERT's WordPiece is our own. What other vocabularies want is in a folder's `tokenizer.json`, which
the package `tokenizers` reads.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from commonplace.model.errors import BadModel, MissingExtra
from commonplace.search.encoders.wordpiece import pieces, words

LETTERS = 100
"""No piece of a text stands for more letters: what is behind so many a piece is not looked at."""


class Cutter(Protocol):
    """Cuts texts into numbers of pieces."""

    def cut(self, before: str, text: str, *, longest: int) -> list[int]:
        """At most `longest` numbers, with the marks; none for a text without words.

        `before` is what the model wants before the text.
        """


class WordPieceCutter:
    """Cuts as BERT's uncased models do."""

    def __init__(self, vocabulary: Mapping[str, int], folder: str) -> None:
        self._vocabulary = vocabulary
        missing = [mark for mark in ("[CLS]", "[SEP]", "[UNK]") if mark not in vocabulary]
        if missing:
            raise BadModel(folder, f"its vocabulary has no {missing[0]}")
        self._first, self._last = vocabulary["[CLS]"], vocabulary["[SEP]"]
        self._longest_piece = max(map(len, vocabulary))

    def cut(self, before: str, text: str, *, longest: int) -> list[int]:
        found: list[int] = []
        room = longest - 2
        for word in words(text[: LETTERS * room]):
            found += self._pieces(word)
            if len(found) >= room:
                break
        if not found:
            return []
        ahead = [row for word in words(before) for row in self._pieces(word)]
        return [self._first, *(ahead + found)[:room], self._last]

    def _pieces(self, word: str) -> list[int]:
        found = pieces(
            word, lambda each: self._vocabulary.get(each, -1), longest=self._longest_piece
        )
        return found or [self._vocabulary["[UNK]"]]


class TokenizerCutter:
    """Cuts as a `tokenizer.json` says."""

    def __init__(self, tokenizer: Any) -> None:
        # Filled up to one length, a text would get the mean of what fills it.
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    def cut(self, before: str, text: str, *, longest: int) -> list[int]:
        if not text.strip():
            return []
        # Half a pair of surrogates is no text for it.
        whole = (before + text[: LETTERS * longest]).encode("utf-8", "replace").decode()
        self._tokenizer.enable_truncation(longest)
        found: list[int] = self._tokenizer.encode(whole).ids
        return found


def cutter_in(folder: str) -> Cutter:
    """The cutter of a model's folder: by `tokenizer.json`, or by `vocab.txt` where that is all."""
    described = os.path.join(folder, "tokenizer.json")
    is_described = os.path.isfile(described)
    tokenizers = _tokenizers() if is_described else None
    if tokenizers is not None:
        try:
            return TokenizerCutter(tokenizers.Tokenizer.from_file(described))
        except Exception as error:  # its errors have no class of their own
            raise BadModel(folder, f"tokenizer.json: {first_line(error)}") from None
    vocabulary = vocabulary_in(folder)
    if vocabulary:
        return WordPieceCutter(vocabulary, folder)
    if is_described:
        raise MissingExtra("A model's tokenizer.json", "embeddings")
    raise BadModel(folder, "it has no vocabulary (tokenizer.json or vocab.txt)")


def _tokenizers() -> Any:
    try:
        return import_module("tokenizers")
    except ImportError:
        return None


def vocabulary_in(folder: str) -> dict[str, int]:
    """Each piece's number, by its line in `vocab.txt`; nothing where there is none."""
    try:
        with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
            return {piece.rstrip("\n"): row for row, piece in enumerate(file)}
    except FileNotFoundError:
        return {}
    except UnicodeDecodeError:
        raise BadModel(folder, "vocab.txt is not UTF-8") from None


def json_in(folder: str, name: str) -> dict[str, Any]:
    """What a file of a model's folder says; nothing where there is none."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadModel(folder, f"{name}: {error}") from None
    return found if isinstance(found, dict) else {}


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
