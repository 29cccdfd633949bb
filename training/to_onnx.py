"""A sentence encoder of BERT's kind as ONNX: python to_onnx.py FOLDER NEW.

FOLDER holds what sentence-transformers writes, with the weights as `model.safetensors`; NEW becomes
a folder for `encoder = "onnx"`. Needs onnx and numpy; torch is not needed.
The graph gives the last layer's vectors of the pieces; the mean is left to the encoder.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper, save

OPSET = 17
IR = 8
COPIED = (
    "config.json",
    "vocab.txt",
    "tokenizer.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
)
KINDS = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
BLOCKED = -1e9
"""What is added to the likeness of a piece that only fills up."""


def main(folder: Path, new: Path) -> None:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    new.mkdir(parents=True)
    save(converted(tensors(folder / "model.safetensors"), settings), new / "model.onnx")
    for name in COPIED:
        if (folder / name).is_file():
            (new / name).parent.mkdir(exist_ok=True)
            shutil.copy(folder / name, new / name)


def tensors(path: Path) -> dict[str, np.ndarray]:
    """What a file of safetensors holds: a length, a table in JSON, the numbers."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, told in json.loads(data[8:start]).items():
        if name != "__metadata__":
            first, last = told["data_offsets"]
            numbers = np.frombuffer(data[start + first : start + last], KINDS[told["dtype"]])
            found[name.removeprefix("bert.")] = numbers.reshape(told["shape"])
    return found


def converted(weights: dict[str, np.ndarray], settings: dict) -> ModelProto:
    if settings["hidden_act"] != "gelu" or settings["model_type"] != "bert":
        raise SystemExit("only models of BERT's kind with gelu can be converted")
    return Graph(weights, settings).model()


class Graph:
    """The nodes of a model, put down one after the other."""

    def __init__(self, weights: dict[str, np.ndarray], settings: dict) -> None:
        self._weights, self._settings = weights, settings
        self._nodes: list = []
        self._kept: dict = {}

    def model(self) -> ModelProto:
        hidden = self._embedded()
        mask = self._mask()
        for layer in range(self._settings["num_hidden_layers"]):
            hidden = self._layer(f"encoder.layer.{layer}", hidden, mask)
        self._nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
        shape = ["batch", "length"]
        asked = [
            helper.make_tensor_value_info(name, TensorProto.INT64, shape)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        given = helper.make_tensor_value_info(
            "last_hidden_state", TensorProto.FLOAT, [*shape, self._settings["hidden_size"]]
        )
        graph = helper.make_graph(self._nodes, "bert", asked, [given], list(self._kept.values()))
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR
        )

    def _embedded(self) -> str:
        shape = self._node("Shape", "input_ids")
        length = self._node("Gather", shape, self._number("one", np.array(1, np.int64)))
        zero, one = (self._number(f"from{at}", np.array(at, np.int64)) for at in (0, 1))
        places = self._node("Range", zero, length, one)
        word, place, kind = (
            self._node("Gather", self._weight(f"embeddings.{table}_embeddings.weight"), rows)
            for table, rows in (
                ("word", "input_ids"),
                ("position", places),
                ("token_type", "token_type_ids"),
            )
        )
        total = self._node("Add", self._node("Add", word, place), kind)
        return self._levelled("embeddings.LayerNorm", total)

    def _mask(self) -> str:
        """0 for a piece, far below it for what fills up; one line for all heads and pieces."""
        shown = self._node("Cast", "attention_mask", to=TensorProto.FLOAT)
        filled = self._node("Sub", self._number("whole", np.array(1, np.float32)), shown)
        below = self._node("Mul", filled, self._number("blocked", np.array(BLOCKED, np.float32)))
        return self._node("Unsqueeze", below, self._number("heads", np.array([1, 2], np.int64)))

    def _layer(self, name: str, hidden: str, mask: str) -> str:
        seen = self._attended(name, hidden, mask)
        out = self._dense(f"{name}.attention.output.dense", seen)
        hidden = self._levelled(
            f"{name}.attention.output.LayerNorm", self._node("Add", out, hidden)
        )
        wide = self._gelu(self._dense(f"{name}.intermediate.dense", hidden))
        out = self._dense(f"{name}.output.dense", wide)
        return self._levelled(f"{name}.output.LayerNorm", self._node("Add", out, hidden))

    def _attended(self, name: str, hidden: str, mask: str) -> str:
        heads = self._settings["num_attention_heads"]
        size = self._settings["hidden_size"] // heads
        split = self._number("split", np.array([0, 0, heads, size], np.int64))
        joined = self._number("joined", np.array([0, 0, heads * size], np.int64))
        query, key, value = (
            self._node(
                "Transpose",
                self._node("Reshape", self._dense(f"{name}.attention.self.{part}", hidden), split),
                perm=order,
            )
            for part, order in (
                ("query", [0, 2, 1, 3]),
                ("key", [0, 2, 3, 1]),
                ("value", [0, 2, 1, 3]),
            )
        )
        scale = self._number("scale", np.array(size**-0.5, np.float32))
        likeness = self._node("Mul", self._node("MatMul", query, key), scale)
        shares = self._node("Softmax", self._node("Add", likeness, mask), axis=-1)
        seen = self._node("Transpose", self._node("MatMul", shares, value), perm=[0, 2, 1, 3])
        return self._node("Reshape", seen, joined)

    def _dense(self, name: str, given: str) -> str:
        turned = self._number(f"{name}.turned", self._weights[f"{name}.weight"].T)
        return self._node("Add", self._node("MatMul", given, turned), self._weight(f"{name}.bias"))

    def _gelu(self, given: str) -> str:
        root, half, whole = (
            self._number(name, np.array(value, np.float32))
            for name, value in (("root", 0.5**0.5), ("half", 0.5), ("whole", 1))
        )
        raised = self._node("Add", self._node("Erf", self._node("Mul", given, root)), whole)
        return self._node("Mul", self._node("Mul", given, half), raised)

    def _levelled(self, name: str, given: str) -> str:
        scale, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        epsilon = self._settings["layer_norm_eps"]
        return self._node("LayerNormalization", given, scale, bias, axis=-1, epsilon=epsilon)

    def _weight(self, name: str) -> str:
        return self._number(name, self._weights[name])

    def _number(self, name: str, value: np.ndarray) -> str:
        if value.dtype == np.float16:
            value = value.astype(np.float32)
        self._kept.setdefault(name, numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def _node(self, kind: str, *given: str, **settings: object) -> str:
        name = f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(given), [name], **settings))
        return name


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
