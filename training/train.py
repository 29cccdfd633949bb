"""Makes the table of the static encoder: python train.py FOLDER NEW.bin.

FOLDER is what corpus.py and teacher.py filled. What the teacher says of all texts alike is taken
away first, and so is what it says of all pieces. A row starts as what it says of its piece alone,
in the dimensions that tell the texts apart best, and smaller the more common the piece is. Then the
rows are taught: a text's vector is the mean of its pieces' rows; the loss asks that it lies where
the teacher puts the text, and that texts of a batch are as alike as the teacher finds them. Needs
numpy, and one thread of its BLAS: with more the last bits are left to chance.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from hashlib import sha256
from math import cos, pi, sqrt
from pathlib import Path

import numpy as np

from commonplace.search.encoders.static import ZERO, written

NAME = "static-256-4"
DIM = 256
COMMON = 1e-3
"""A piece that makes up this share of the text starts at half its size."""
EPOCHS = 6
BATCH = 512
RATE = 2e-3
"""The longest step; the steps grow to it for a tenth of the time and shrink for the rest."""
LIKENESS = 10
"""What the squared error of likenesses counts beside the distance."""
MEAN, SQUARE = 0.9, 0.999
"""How much of a row's earlier slopes Adam remembers."""


def main(folder: Path, new: Path) -> None:
    tokens, lengths = np.load(folder / "tokens.npy"), np.load(folder / "lengths.npy")
    teacher = np.load(folder / "teacher.npy").astype(np.float32)
    pieces = np.load(folder / "pieces.npy").astype(np.float32)
    teacher -= teacher.mean(0)
    axes = main_axes(teacher)
    texts = np.split(tokens.astype(np.int64), np.cumsum(lengths, dtype=np.int64)[:-1])
    table = damped((pieces - pieces.mean(0)) @ axes, tokens)
    for epoch, loss in enumerate(taught(table, texts, unit(teacher @ axes)), 1):
        print(f"epoch {epoch} loss {loss:.4f}", flush=True)
    spellings = (folder / "pieces.txt").read_text(encoding="utf-8").split("\n")
    new.write_bytes(packed(table, spellings))
    print("sha256", sha256(new.read_bytes()).hexdigest())


def main_axes(vectors: np.ndarray) -> np.ndarray:
    """The dimensions in which vectors around zero differ most."""
    return np.linalg.eigh(vectors.T @ vectors)[1][:, -DIM:]


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def damped(rows: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Rows of one length on the whole, those of common pieces shorter."""
    share = np.bincount(tokens, minlength=len(rows)) / len(tokens)
    found = rows * (COMMON / (COMMON + share))[:, None]
    return (found / np.linalg.norm(found, axis=1).mean()).astype(np.float32)


def taught(table: np.ndarray, texts: list[np.ndarray], target: np.ndarray) -> Iterator[float]:
    """Changes the table in place; the loss of each epoch. The optimiser is Adam, row by row."""
    mean, square = np.zeros_like(table), np.zeros_like(table)
    chosen = random.Random(3)
    starts = range(0, len(texts), BATCH)
    step = 0
    for _ in range(EPOCHS):
        total = 0.0
        order = chosen.sample(range(len(texts)), len(texts))
        for start in starts:
            batch = order[start : start + BATCH]
            used, share = shares([texts[at] for at in batch])
            loss, slope = sloped(share @ table[used], target[batch])
            slope = share.T @ slope
            mean[used] = MEAN * mean[used] + (1 - MEAN) * slope
            square[used] = SQUARE * square[used] + (1 - SQUARE) * slope**2
            step += 1
            size = rate(step / (EPOCHS * len(starts))) * sqrt(1 - SQUARE**step) / (1 - MEAN**step)
            table[used] -= np.float32(size) * mean[used] / (np.sqrt(square[used]) + 1e-8)
            total += loss
        yield total / len(starts)


def shares(bag: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of some texts, and how much of each text each of them makes up."""
    used, at = np.unique(np.concatenate(bag), return_inverse=True)
    sizes = [len(text) for text in bag]
    share = np.zeros((len(bag), len(used)), np.float32)
    of_text = np.repeat(np.arange(len(bag)), sizes)
    np.add.at(share, (of_text, at), np.repeat(1 / np.array(sizes, np.float32), sizes))
    return used, share


def sloped(means: np.ndarray, target: np.ndarray) -> tuple[float, np.ndarray]:
    """How far the texts of a batch are from where they should be, and the slope for each mean."""
    length = np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    own = means / length
    unlike = own @ own.T - target @ target.T
    count = len(means)
    loss = 1 - float((own * target).sum()) / count + LIKENESS * float((unlike**2).mean())
    slope = -target / count + (4 * LIKENESS / count**2) * (unlike @ own)
    return loss, (slope - (slope * own).sum(1, keepdims=True) * own) / length


def rate(done: float) -> float:
    """The length of a step, when this share of them is done."""
    return RATE * (done / 0.1 if done < 0.1 else 0.5 + 0.5 * cos(pi * (done - 0.1) / 0.9))


def packed(table: np.ndarray, spellings: list[str]) -> bytes:
    """The table as signed bytes, each row with a scale of its own."""
    most = np.maximum(np.abs(table).max(1), 1e-9)
    bytes_ = (np.rint(table / most[:, None] * 127) + ZERO).astype(np.uint8)
    scales = np.maximum(1, np.rint(most / most.max() * 65535)).astype(int)
    rows = [each.tobytes() for each in bytes_]
    return written(NAME, spellings=spellings, scales=scales.tolist(), rows=rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
