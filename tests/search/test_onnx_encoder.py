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
from commonplace.search.encoders.cutters import cutter_in
from commonplace.search.encoders.onnx import encoder_in
from tests.contracts.encoder import EncoderContract, likeness
from tests.support.skips import library

onnx: Any = library("onnx")
numpy: Any = library("numpy")
tokenizers: Any = library("tokenizers")
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
    first = encoder_in(str(folder))
    assert first.model.startswith("onnx-tiny-")
    assert (first.dim, first.leaves_machine) == (DIM, False)
    write_model(folder, inputs=("input_ids", "attention_mask", "token_type_ids"))
    assert encoder_in(str(folder)).model != first.model


def test_the_mean_is_of_the_texts_own_pieces(folder: Path) -> None:
    encoder = encoder_in(str(folder))
    short, long = encoder.encode(["tea", "dark editors with an dark mode"])
    assert short == encoder.encode(["tea"])[0]
    assert likeness(short, long) < 0.99


def test_a_model_may_want_its_first_piece_alone(folder: Path) -> None:
    write(folder, "1_Pooling/config.json", {"pooling_mode_cls_token": True})
    one, other = encoder_in(str(folder)).encode(["tea", "dark mode"])
    assert one == other


def test_a_model_may_want_words_before_questions(folder: Path) -> None:
    plain = encoder_in(str(folder)).encode_query("tea")
    write(folder, "config_sentence_transformers.json", {"prompts": {"query": "dark mode "}})
    encoder = encoder_in(str(folder))
    assert encoder.encode_query("tea") != plain
    assert encoder.encode(["tea"]) == [plain]


def test_a_text_is_read_as_far_as_the_model_takes_it(folder: Path) -> None:
    write(folder, "config.json", {"max_position_embeddings": 4})
    encoder = encoder_in(str(folder))
    assert encoder.encode(["dark mode tea tea"]) == encoder.encode(["dark mode"])


def test_a_tokenizer_of_berts_kind_cuts_as_we_do(folder: Path) -> None:
    texts = ["dark editors", "Tea, in HER mode!", "茶 x"]
    there = encoder_in(str(folder)).encode(texts)
    (folder / "vocab.txt").unlink()
    vocabulary = {piece: row for row, piece in enumerate(PIECES)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer()
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.save(str(folder / "tokenizer.json"))
    assert encoder_in(str(folder)).encode(texts) == there


def test_a_folder_without_a_vocabulary_is_refused(folder: Path) -> None:
    (folder / "vocab.txt").write_text("tea\n", encoding="utf-8")
    with pytest.raises(BadModel, match=r"\[CLS\]"):
        encoder_in(str(folder))
    (folder / "vocab.txt").unlink()
    with pytest.raises(BadModel, match=r"tokenizer\.json or vocab\.txt"):
        encoder_in(str(folder))
    write(folder, "tokenizer.json", {"model": {"type": "BPE", "vocab": {}}})
    with pytest.raises(BadModel, match=r"tokenizer\.json: "):
        encoder_in(str(folder))


def test_a_file_that_is_no_model_is_said_to_be_unusable(folder: Path) -> None:
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(BadModel, match=r"model\.onnx"):
        encoder_in(str(folder))


@pytest.mark.parametrize("path", ["", "nowhere"])
def test_a_folder_without_a_model_is_named(tmp_path: Path, path: str) -> None:
    with pytest.raises(BadModel, match="encoder_path"):
        encoder_in(str(tmp_path / path) if path else "")


def test_without_onnxruntime_the_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"commonplace-memory\[embeddings\]"):
        encoder_in(str(folder))


def write_many_languages(folder: Path) -> Path:
    """A model with the vocabulary of a multilingual one: whole words and letters, by likelihood.

    Its tokenizer fills texts up, as many that are published do.
    """
    write_model(folder)
    (folder / "vocab.txt").unlink()
    words = ["tea", "dark", "mode", "editor", "s", "query", "茶", "чай", "in", "lisbon", "her"]
    listed = ["<s>", "<pad>", "</s>", "<unk>", "▁", *(f"▁{word}" for word in words)]
    made = tokenizers.Tokenizer(
        tokenizers.models.Unigram([(piece, -1.0) for piece in listed], unk_id=3)
    )
    made.normalizer = tokenizers.normalizers.NFKC()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    made.enable_padding(pad_id=1, pad_token="<pad>", length=40)
    made.save(str(folder / "tokenizer.json"))
    write(folder, "config.json", {"pad_token_id": 1})
    return folder


@pytest.fixture
def many_languages(tmp_path: Path) -> Path:
    return write_many_languages(tmp_path / "many")


def test_a_multilingual_model_is_cut_by_its_own_tokenizer(many_languages: Path) -> None:
    encoder = encoder_in(str(many_languages))
    chinese, russian, nothing = encoder.encode(["茶", "чай", " \n"])
    assert likeness(chinese, russian) < 0.99
    assert nothing == (bytes(DIM), 0.0)
    assert len(encoder.encode(["half \ud83d of a pair"])[0][0]) == DIM
    assert encoder.encode(["tea " * 9000]) == encoder.encode(["tea " * 999])


def test_what_fills_a_text_up_has_no_part_in_its_vector(many_languages: Path) -> None:
    cut = cutter_in(str(many_languages)).cut("", "tea in lisbon", longest=64)
    assert (cut[0], cut[-1], len(cut)) == (0, 2, 5)


def test_options_say_what_stands_before_questions_and_texts(many_languages: Path) -> None:
    plain = encoder_in(str(many_languages))
    options = Options(
        encoder_path=str(many_languages),
        encoder_before_question="query ",
        encoder_before_text="dark mode ",
    )
    led = encoder_named("onnx", options)
    assert led.encode_query("tea") == plain.encode_query("query tea")
    assert led.encode(["tea"]) == plain.encode(["dark mode tea"])
    assert led.model != plain.model


def test_without_the_tokenizers_the_extra_is_named(
    many_languages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(MissingExtra, match=r"commonplace-memory\[embeddings\]"):
        encoder_in(str(many_languages))
