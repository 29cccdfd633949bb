"""A sentence encoder of BERT's kind, run by onnxruntime from a local folder.

The folder holds `model.onnx` (or `onnx/model.onnx`) and `vocab.txt` or `tokenizer.json`, as
sentence-transformers lays them out. Nothing is downloaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any
from zlib import crc32

from commonplace.model.errors import BadModel, MissingExtra
from commonplace.search.encoders import Weigh, rounded
from commonplace.search.encoders.wordpiece import pieces, words

BATCH = 32
LONGEST = 256
"""Pieces of a text that are read; a model that takes fewer says so."""
FILES = ("model.onnx", os.path.join("onnx", "model.onnx"))


class OnnxEncoder:
    """Vectors from a transformer."""

    leaves_machine = False

    def __init__(self, folder: str) -> None:
        path = _model_file(folder)
        self._folder = folder
        self._numpy, self._session = _started(path)
        self._vocabulary = _vocabulary(folder)
        self._first, self._last, self._unknown = self._special("[CLS]", "[SEP]", "[UNK]")
        self._longest_piece = max(map(len, self._vocabulary))
        settings = _json(folder, "config.json")
        self._longest = min(LONGEST, int(settings.get("max_position_embeddings", LONGEST)))
        pooling = _json(folder, os.path.join("1_Pooling", "config.json"))
        self._first_only = bool(pooling.get("pooling_mode_cls_token", False))
        prompts = _json(folder, "config_sentence_transformers.json").get("prompts") or {}
        self._before_query = str(prompts.get("query", ""))
        self._before_text = str(prompts.get("document", prompts.get("passage", "")))
        self._inputs = [each.name for each in self._session.get_inputs()]
        self.dim = len(self._run([[self._first, self._last]])[0])
        self.model = f"onnx-{os.path.basename(os.path.abspath(folder))}-{_fingerprint(path):08x}"

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        cut = [self._cut(self._before_text, text) for text in texts]
        found = [(bytes(self.dim), 0.0)] * len(texts)
        for batch in _batches(cut):
            for at, vector in zip(batch, self._run([cut[at] for at in batch])):
                found[at] = rounded(vector)
        return found

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        cut = self._cut(self._before_query, text)
        return rounded(self._run([cut])[0]) if cut else (bytes(self.dim), 0.0)

    def _cut(self, before: str, text: str) -> list[int]:
        """The text's pieces between the marks of begin and end; none for a text without words."""
        found: list[int] = []
        room = self._longest - 2
        # A piece is a letter at least, and no more letters need be looked at than have room.
        for word in words(text[: 100 * room]):
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
        return found or [self._unknown]

    def _run(self, rows: list[list[int]]) -> list[list[float]]:
        np = self._numpy
        longest = max(map(len, rows))
        ids = np.array([row + [0] * (longest - len(row)) for row in rows], np.int64)
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows], np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            out = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        except Exception as error:  # onnxruntime's errors have no class of their own in common
            raise BadModel(self._folder, _first_line(error)) from None
        if out.ndim == 3:
            weight = mask[..., None]
            out = out[:, 0] if self._first_only else (out * weight).sum(1) / weight.sum(1)
        vectors: list[list[float]] = out.astype(np.float64).tolist()
        return vectors

    def _special(self, *names: str) -> list[int]:
        missing = [name for name in names if name not in self._vocabulary]
        if missing:
            raise BadModel(self._folder, f"its vocabulary has no {missing[0]}")
        return [self._vocabulary[name] for name in names]


def _batches(cut: Sequence[list[int]]) -> Iterator[list[int]]:
    """Texts of about one length go together, so that little is spent on filling up."""
    order = sorted((at for at, row in enumerate(cut) if row), key=lambda at: len(cut[at]))
    return (order[start : start + BATCH] for start in range(0, len(order), BATCH))


def _started(path: str) -> tuple[Any, Any]:
    try:
        runtime: Any = import_module("onnxruntime")
        numpy: Any = import_module("numpy")
    except ImportError:
        raise MissingExtra("The encoder onnx", "embeddings") from None
    settings = runtime.SessionOptions()
    settings.log_severity_level = 4
    try:
        return numpy, runtime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no class of their own in common
        raise BadModel(path, _first_line(error)) from None


def _model_file(folder: str) -> str:
    for name in FILES:
        path = os.path.join(folder, name)
        if folder and os.path.isfile(path):
            return path
    raise BadModel(
        os.path.join(folder, FILES[0]) if folder else "onnx",
        "there is no such file" if folder else "encoder_path is not set",
        next_step="Set encoder_path to where it is, or encoder to 'static'.",
    )


def _vocabulary(folder: str) -> dict[str, int]:
    """Each piece's number."""
    try:
        with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
            return {piece.rstrip("\n"): row for row, piece in enumerate(file)}
    except FileNotFoundError:
        pass
    except UnicodeDecodeError:
        raise BadModel(folder, "vocab.txt is not UTF-8") from None
    cutter = _json(folder, "tokenizer.json").get("model")
    if not isinstance(cutter, dict) or cutter.get("type") != "WordPiece":
        raise BadModel(folder, "it has no vocabulary of WordPiece (vocab.txt or tokenizer.json)")
    return dict(cutter["vocab"])


def _json(folder: str, name: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise BadModel(folder, f"{name}: {error}") from None
    return found if isinstance(found, dict) else {}


def _fingerprint(path: str) -> int:
    """Tells one model from another of the same name."""
    with open(path, "rb") as file:
        start = file.read(1 << 20)
        file.seek(max(0, os.path.getsize(path) - (1 << 20)))
        return crc32(file.read(), crc32(start, os.path.getsize(path)))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200].rstrip(".")
