"""The onnx encoder on a model of a few kilobytes, made here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from commonplace.model.errors import BadModel, MissingExtra
from commonplace.model.options import Options
from commonplace.search.encoders import Encoder, encoder_named
from commonplace.search.encoders.onnx import OnnxEncoder
from tests.contracts.encoder import EncoderContract, likeness
from tests.support.skips import library

onnx: Any = library("onnx")
numpy: Any = library("numpy")
library("onnxruntime")

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dark", "mode", "editor", "##s", "an", "with", "tea"]
PIECES += ["prefers", "in", "her", "sister", "is", "lisbon"]
DIM = 64


def write_model(folder: Path, *, inputs: tuple[str, ...] = ("input_ids", "attention_mask")) -> Path:
    """A model that looks its pieces up and does nothing with them."""
    make = onnx.helper
    whole = onnx.TensorProto.INT64
    rows = numpy.random.default_rng(1).normal(size=(len(PIECES), DIM)).astype("float32")
    rows[:4] /= 4
    graph = make.make_graph(
        [make.make_node("Gather", ["rows", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [make.make_tensor_value_info(name, whole, ["batch", "length"]) for name in inputs],
        [make.make_tensor_value_info("last_hidden_state", onnx.TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(rows, "rows")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "model.onnx"))
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny")


class TestOnnx(EncoderContract):
    @pytest.fixture
    def encoder(self, folder: Path) -> Encoder:
        return encoder_named("onnx", Options(encoder_path=str(folder)))


def write(folder: Path, name: str, content: Any) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def test_a_model_is_known_by_its_name_and_its_bytes(folder: Path) -> None:
    first = OnnxEncoder(str(folder))
    assert first.model.startswith("onnx-tiny-")
    assert (first.dim, first.leaves_machine) == (DIM, False)
    write_model(folder, inputs=("input_ids", "attention_mask", "token_type_ids"))
    assert OnnxEncoder(str(folder)).model != first.model


def test_the_mean_is_of_the_texts_own_pieces(folder: Path) -> None:
    encoder = OnnxEncoder(str(folder))
    short, long = encoder.encode(["tea", "dark editors with an dark mode"])
    assert short == encoder.encode(["tea"])[0]
    assert likeness(short, long) < 0.99


def test_a_model_may_want_its_first_piece_alone(folder: Path) -> None:
    write(folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    one, other = OnnxEncoder(str(folder)).encode(["tea", "dark mode"])
    assert one == other


def test_a_model_may_want_words_before_questions(folder: Path) -> None:
    plain = OnnxEncoder(str(folder)).encode_query("tea")
    write(folder, "config_sentence_transformers.json", {"prompts": {"query": "dark mode "}})
    encoder = OnnxEncoder(str(folder))
    assert encoder.encode_query("tea") != plain
    assert encoder.encode(["tea"]) == [plain]


def test_a_text_is_read_as_far_as_the_model_takes_it(folder: Path) -> None:
    write(folder, "config.json", {"max_position_embeddings": 4})
    encoder = OnnxEncoder(str(folder))
    assert encoder.encode(["dark mode tea tea"]) == encoder.encode(["dark mode"])


def test_the_vocabulary_may_be_in_the_tokenizer(folder: Path) -> None:
    there = OnnxEncoder(str(folder)).encode(["dark editors"])
    (folder / "vocab.txt").unlink()
    vocabulary = {piece: row for row, piece in enumerate(PIECES)}
    write(folder, "tokenizer.json", {"model": {"type": "WordPiece", "vocab": vocabulary}})
    assert OnnxEncoder(str(folder)).encode(["dark editors"]) == there


def test_a_vocabulary_of_another_kind_is_refused(folder: Path) -> None:
    (folder / "vocab.txt").unlink()
    write(folder, "tokenizer.json", {"model": {"type": "BPE", "vocab": {}}})
    with pytest.raises(BadModel, match="WordPiece"):
        OnnxEncoder(str(folder))
    (folder / "vocab.txt").write_text("tea\n", encoding="utf-8")
    with pytest.raises(BadModel, match=r"\[CLS\]"):
        OnnxEncoder(str(folder))


def test_a_file_that_is_no_model_is_said_to_be_unusable(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(BadModel, match=r"model\.onnx"):
        OnnxEncoder(str(folder))


@pytest.mark.parametrize("path", ["", "nowhere"])
def test_a_folder_without_a_model_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadModel, match="encoder_path"):
        OnnxEncoder(str(tmp_path / path) if path else "")


def test_without_onnxruntime_the_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"commonplace-memory\[embeddings\]"):
        OnnxEncoder(str(folder))
