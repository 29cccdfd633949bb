"""A sentence encoder on loopback in the form every peer can speak: OpenAI's /v1/embeddings.

Most peers encode with all-MiniLM-L6-v2 and fetch it when they first run. Here it comes from the
package that carries its weights, so that they can be measured on a machine that reaches no hub, and
is run by onnxruntime, as most of them do.
Every text is encoded whenever it is sent, as it is for whoever uses the peer; how many seconds went
into that is told, so that a peer's own time can be told apart. With --remember a text is encoded
once: for runs that ask what is found and not how fast. It does not know who asks.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

LONGEST, AT_ONCE = 256, 16
NAME = "all-MiniLM-L6-v2"


class MiniLM:
    """The encoder as `training/to_onnx.py` wrote it: the mean of its outputs, made one long."""

    def __init__(self, folder: Path) -> None:
        self.session = InferenceSession(folder / "model.onnx")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(LONGEST)
        self.tokenizer.no_padding()

    def encode(self, texts: list[str]) -> np.ndarray:
        tokens = [self.tokenizer.encode(text).ids for text in texts]
        order = sorted(range(len(texts)), key=lambda at: len(tokens[at]))
        made = np.zeros((len(texts), 384), np.float32)
        for at in range(0, len(order), AT_ONCE):
            batch = order[at : at + AT_ONCE]
            made[batch] = self._encode_batch([tokens[each] for each in batch])
        return made

    def _encode_batch(self, tokens: list[list[int]]) -> np.ndarray:
        longest = max(map(len, tokens))
        ids = np.array([row + [0] * (longest - len(row)) for row in tokens], np.int64)
        mask = np.array([[1] * len(row) + [0] * (longest - len(row)) for row in tokens], np.int64)
        told = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        [state] = self.session.run(None, told)
        mean = (state * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)


class Timed:
    """The encoder, one call at a time, and the seconds it has taken so far."""

    def __init__(self, folder: Path, *, remember: bool) -> None:
        self._model, self._lock, self.spent = MiniLM(folder), threading.Lock(), 0.0
        self._known: dict[str, list[float]] | None = {} if remember else None

    def encode(self, texts: list[str]) -> list[list[float]]:
        with self._lock:
            before = time.perf_counter()
            made = self._made(texts)
            self.spent += time.perf_counter() - before
            return made

    def _made(self, texts: list[str]) -> list[list[float]]:
        if self._known is None:
            return self._model.encode(texts).tolist()
        if new := [text for text in dict.fromkeys(texts) if text not in self._known]:
            self._known.update(zip(new, self._model.encode(new).tolist(), strict=True))
        return [self._known[text] for text in texts]


class Door(BaseHTTPRequestHandler):
    """Answers POST …/embeddings, and GET …/spent with the seconds it took so far."""

    protocol_version = "HTTP/1.1"
    encoder: Timed

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        self._answer(_answer_of(self.encoder.encode(texts), asked.get("encoding_format")))

    def do_GET(self) -> None:
        if self.path.endswith("/spent"):
            self._answer({"seconds": self.encoder.spent})
        else:
            self._answer({"object": "list", "data": [{"id": NAME, "object": "model"}]})

    def _answer(self, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _answer_of(vectors: list[list[float]], form: str | None) -> dict[str, Any]:
    from base64 import b64encode

    def shown(vector: list[float]) -> Any:
        packed = np.array(vector, np.float32).tobytes()
        return b64encode(packed).decode() if form == "base64" else vector

    data = [
        {"object": "embedding", "index": at, "embedding": shown(vector)}
        for at, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": NAME, "data": data, "usage": usage}


if __name__ == "__main__":
    Door.encoder = Timed(Path(sys.argv[1]), remember="--remember" in sys.argv)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    print(server.server_address[1], flush=True)
    server.serve_forever()
