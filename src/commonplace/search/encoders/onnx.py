"""A sentence encoder of BERT's kind, run by onnxruntime from local files. Nothing is downloaded.

A folder holds `model.onnx` (or `onnx/model.onnx`) and `tokenizer.json` or `vocab.txt`, as
sentence-transformers lays them out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any
from zlib import crc32

from msgspec import Struct

from commonplace.model.errors import BadModel, MissingExtra
from commonplace.search.encoders import Weigh, rounded
from commonplace.search.encoders.cutters import Cutter, cutter_in, first_line, json_in

AT_ONCE = 512
"""Pieces that go through the model together. More take memory, and hardly less time a text."""
LONGEST = 256
"""Pieces of a text that are read; a model that takes fewer says so."""
FILES = ("model.onnx", os.path.join("onnx", "model.onnx"))


class OnnxSettings(Struct, frozen=True):
    """How a model wants its texts, and how a text's vector comes of what it gives."""

    longest: int = LONGEST
    padding: int = 0
    first_only: bool = False
    """Whether the vector is that of the first piece, not the mean of all."""
    before_query: str = ""
    before_text: str = ""


class OnnxEncoder:
    """Vectors from a transformer."""

    leaves_machine = False

    def __init__(
        self, path: str, cutter: Cutter, *, model: str, settings: OnnxSettings | None = None
    ) -> None:
        self._path = path
        self._cutter = cutter
        self._settings = settings or OnnxSettings()
        self._numpy, self._session = _started(path)
        self._inputs = [each.name for each in self._session.get_inputs()]
        self.dim = len(self._run([[0, 0]])[0])
        self.model = model
        _give_memory_back()

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        cut = [self._cut(self._settings.before_text, text) for text in texts]
        found = [(bytes(self.dim), 0.0)] * len(texts)
        for batch in _batches(cut):
            for at, vector in zip(batch, self._run([cut[at] for at in batch])):
                found[at] = rounded(vector)
        _give_memory_back()
        return found

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        cut = self._cut(self._settings.before_query, text)
        return rounded(self._run([cut])[0]) if cut else (bytes(self.dim), 0.0)

    def _cut(self, before: str, text: str) -> list[int]:
        return self._cutter.cut(before, text, longest=self._settings.longest)

    def _run(self, rows: list[list[int]]) -> list[list[float]]:
        np, filler = self._numpy, self._settings.padding
        longest = max(map(len, rows))
        ids = np.array([row + [filler] * (longest - len(row)) for row in rows], np.int64)
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in rows], np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        try:
            out = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        except Exception as error:  # onnxruntime's errors have no class of their own in common
            raise BadModel(self._path, first_line(error)) from None
        if out.ndim == 3:
            weight = mask[..., None]
            first = self._settings.first_only
            out = out[:, 0] if first else (out * weight).sum(1) / weight.sum(1)
        vectors: list[list[float]] = out.astype(np.float64).tolist()
        return vectors


def encoder_in(folder: str, *, before_query: str = "", before_text: str = "") -> OnnxEncoder:
    """The encoder in a folder. What it wants before texts is told, or stands in the folder."""
    path = _model_file(folder)
    settings = _settings(folder, before_query, before_text)
    before = f"{settings.before_query}\0{settings.before_text}".encode()
    number = crc32(before, _fingerprint(path)) if before != b"\0" else _fingerprint(path)
    name = os.path.basename(os.path.abspath(folder))
    return OnnxEncoder(
        path, cutter_in(folder), model=f"onnx-{name}-{number:08x}", settings=settings
    )


def _settings(folder: str, before_query: str, before_text: str) -> OnnxSettings:
    config = json_in(folder, "config.json")
    pooling = json_in(folder, os.path.join("1_Pooling", "config.json"))
    prompts = json_in(folder, "config_sentence_transformers.json").get("prompts") or {}
    return OnnxSettings(
        longest=min(LONGEST, int(config.get("max_position_embeddings", LONGEST))),
        padding=int(config.get("pad_token_id") or 0),
        first_only=bool(pooling.get("pooling_mode_cls_token", False)),
        before_query=before_query or str(prompts.get("query", "")),
        before_text=before_text or str(prompts.get("document", prompts.get("passage", ""))),
    )


def _batches(cut: Sequence[list[int]]) -> Iterator[list[int]]:
    """Texts of about one length go together, so that little is spent on filling up."""
    batch: list[int] = []
    for at in sorted((at for at, row in enumerate(cut) if row), key=lambda at: len(cut[at])):
        if batch and (len(batch) + 1) * len(cut[at]) > AT_ONCE:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def _started(path: str) -> tuple[Any, Any]:
    try:
        runtime: Any = import_module("onnxruntime")
        numpy: Any = import_module("numpy")
    except ImportError:
        raise MissingExtra("The encoder onnx", "embeddings") from None
    settings = runtime.SessionOptions()
    settings.log_severity_level = 4
    # It runs beside whoever works at this machine: one core, and no memory kept for later.
    settings.intra_op_num_threads = 1
    settings.enable_cpu_mem_arena = False
    try:
        return numpy, runtime.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no class of their own in common
        raise BadModel(path, first_line(error)) from None


def _give_memory_back() -> None:
    """Return to the system what was freed: opening a model or a long text leaves 50 MB and more."""
    from contextlib import suppress
    from ctypes import CDLL

    # Only the C library of Linux has it.
    with suppress(OSError, AttributeError, TypeError):
        CDLL(None).malloc_trim(0)


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


def _fingerprint(path: str) -> int:
    """Tells one model from another of the same name."""
    with open(path, "rb") as file:
        start = file.read(1 << 20)
        file.seek(max(0, os.path.getsize(path) - (1 << 20)))
        return crc32(file.read(), crc32(start, os.path.getsize(path)))
