"""A small model of BERT's kind, converted: it must say what plain arithmetic says."""

from __future__ import annotations

import json
import math
import runpy
from pathlib import Path
from typing import Any

import pytest

from commonplace.search.encoders.onnx import encoder_in
from tests.support.skips import library

np: Any = library("numpy")
library("onnx")
library("onnxruntime")

TRAINING = Path(__file__).parents[2] / "training"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "dark", "mode", "tea", "with", "her", "sister"]
SETTINGS = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 24,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 16,
}
WIDE = 40


def converter() -> dict[str, Any]:
    return runpy.run_path(str(TRAINING / "to_onnx.py"))


def shapes() -> dict[str, tuple[int, ...]]:
    size = 24
    found: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(PIECES), size),
        "embeddings.position_embeddings.weight": (16, size),
        "embeddings.token_type_embeddings.weight": (2, size),
        "embeddings.LayerNorm.weight": (size,),
        "embeddings.LayerNorm.bias": (size,),
    }
    for layer in (0, 1):
        start = f"encoder.layer.{layer}"
        for name in ("attention.self.query", "attention.self.key", "attention.self.value"):
            found |= {f"{start}.{name}.weight": (size, size), f"{start}.{name}.bias": (size,)}
        for name, out, given in (
            ("attention.output", size, size),
            ("intermediate", WIDE, size),
            ("output", size, WIDE),
        ):
            found |= {
                f"{start}.{name}.dense.weight": (out, given),
                f"{start}.{name}.dense.bias": (out,),
            }
        for name in ("attention.output", "output"):
            found |= {
                f"{start}.{name}.LayerNorm.weight": (size,),
                f"{start}.{name}.LayerNorm.bias": (size,),
            }
    return found


@pytest.fixture
def weights() -> dict[str, Any]:
    chosen = np.random.default_rng(4)
    return {
        name: chosen.normal(scale=0.4, size=shape).astype("f4") for name, shape in shapes().items()
    }


@pytest.fixture
def folder(tmp_path: Path, weights: dict[str, Any]) -> Path:
    """The model as sentence-transformers lays it out."""
    told: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, numbers in weights.items():
        span = [len(data), len(data) + numbers.nbytes]
        told[name] = {"dtype": "F32", "shape": list(numbers.shape), "data_offsets": span}
        data += numbers.tobytes()
    table = json.dumps(told).encode()
    (tmp_path / "model.safetensors").write_bytes(len(table).to_bytes(8, "little") + table + data)
    (tmp_path / "config.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    return tmp_path


def forward(weights: dict[str, Any], ids: list[int]) -> Any:
    """The mean vector, as the papers write it down, a head at a time."""

    def levelled(name: str, rows: Any) -> Any:
        middle = rows - rows.mean(1, keepdims=True)
        even = middle / np.sqrt((middle**2).mean(1, keepdims=True) + 1e-12)
        return even * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def dense(name: str, rows: Any) -> Any:
        return rows @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def attended(start: str, rows: Any) -> Any:
        query, key, value = (dense(f"{start}.{part}", rows) for part in ("query", "key", "value"))
        heads = []
        for head in np.split(np.arange(24), 3):
            raised = np.exp(query[:, head] @ key[:, head].T / math.sqrt(8))
            heads.append(raised / raised.sum(1, keepdims=True) @ value[:, head])
        return np.concatenate(heads, 1)

    rows = weights["embeddings.word_embeddings.weight"][ids]
    rows = rows + weights["embeddings.position_embeddings.weight"][: len(ids)]
    rows = rows + weights["embeddings.token_type_embeddings.weight"][0]
    rows = levelled("embeddings.LayerNorm", rows)
    erf = np.vectorize(math.erf)
    for layer in (0, 1):
        start = f"encoder.layer.{layer}"
        seen = dense(f"{start}.attention.output.dense", attended(f"{start}.attention.self", rows))
        rows = levelled(f"{start}.attention.output.LayerNorm", rows + seen)
        wide = dense(f"{start}.intermediate.dense", rows)
        wide = wide * (1 + erf(wide / math.sqrt(2))) / 2
        rows = levelled(f"{start}.output.LayerNorm", rows + dense(f"{start}.output.dense", wide))
    return rows.mean(0)


def test_a_converted_model_says_what_plain_arithmetic_says(
    tmp_path: Path, folder: Path, weights: dict[str, Any]
) -> None:
    converter()["main"](folder, tmp_path / "new")

    texts = ["tea with her sister", "dark mode", "tea"]
    for text, (vector, length) in zip(texts, encoder_in(str(tmp_path / "new")).encode(texts)):
        wanted = forward(weights, [2, *(PIECES.index(word) for word in text.split()), 3])
        found = np.frombuffer(vector, np.int8).astype("f8")
        assert found @ wanted / (length * np.linalg.norm(wanted)) > 0.999


def test_a_model_of_another_kind_is_refused(tmp_path: Path, folder: Path) -> None:
    settings = json.dumps(SETTINGS | {"model_type": "mpnet"})
    (folder / "config.json").write_text(settings, encoding="utf-8")

    with pytest.raises(SystemExit, match="BERT's kind"):
        converter()["main"](folder, tmp_path / "new")

    assert not (tmp_path / "new" / "model.onnx").exists()
