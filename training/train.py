"""Teaches the rows to say what the teacher says: python train.py FOLDER OLD.bin NEW.bin [EPOCHS].

OLD.bin is the table to start from; FOLDER is what corpus.py and teacher.py filled. A text's vector
is the sum of its pieces' rows; the loss asks that it lies where the teacher puts the text, and that
texts of a batch are as alike as the teacher finds them. Needs torch; one thread.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from commonplace.embed.weights import ZERO, Weights, written

BATCH = 512
RATE = 1e-3
SHARP = 0.05
"""The temperature at which likenesses of a batch are compared."""


def main(folder: Path, old: str, new: Path, epochs: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(3)
    weights = Weights(old)
    rows = torch.tensor(rows_of(weights))
    tokens = torch.from_numpy(np.load(folder / "tokens.npy").astype(np.int64))
    lengths = torch.from_numpy(np.load(folder / "lengths.npy").astype(np.int64))
    starts = torch.cumsum(lengths, 0) - lengths
    target = turned(torch.from_numpy(np.load(folder / "teacher.npy")).float(), rows, tokens, starts)
    table = torch.nn.Parameter(rows)
    steps = torch.optim.Adam([table], lr=RATE)
    count = epochs * (len(lengths) // BATCH)
    falling = torch.optim.lr_scheduler.OneCycleLR(steps, RATE, total_steps=count, pct_start=0.1)
    texts = [tokens[at : at + size] for at, size in zip(starts.tolist(), lengths.tolist())]
    for epoch in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(texts))[: len(texts) // BATCH * BATCH].split(BATCH):
            bag = [texts[at] for at in batch.tolist()]
            sizes = torch.tensor([len(each) for each in bag])
            sums = functional.embedding_bag(
                torch.cat(bag), table, torch.cumsum(sizes, 0) - sizes, mode="mean"
            )
            loss = apart(functional.normalize(sums, dim=1), target[batch])
            steps.zero_grad()
            loss.backward()
            steps.step()
            falling.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / (len(texts) // BATCH):.4f}", flush=True)
        new.write_bytes(packed(weights, table.detach().numpy(), name="static-256-2"))


def rows_of(weights: Weights) -> np.ndarray:
    found = np.empty((weights.count, weights.dim), np.float32)
    for row in range(weights.count):
        numbers = np.frombuffer(weights.row(row), np.uint8).astype(np.float32) - ZERO
        found[row] = numbers * weights.scale(row)
    return found / np.linalg.norm(found, axis=1).mean()


def turned(
    teacher: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor, starts: torch.Tensor
) -> torch.Tensor:
    """The teacher's vectors in the table's dimensions, turned so that they agree most with it."""
    own = functional.normalize(functional.embedding_bag(tokens, rows, starts, mode="mean"), dim=1)
    left, _, right = torch.linalg.svd(teacher.T @ own, full_matrices=False)
    return functional.normalize(teacher @ (left @ right), dim=1)


def apart(own: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """How far the vectors of a batch are from the teacher's, each alone and one to another."""
    placed = 1 - (own * target).sum(1).mean()
    likeness, wanted = own @ own.T, target @ target.T
    squared = functional.mse_loss(likeness, wanted)
    alone = torch.eye(len(own), dtype=torch.bool)
    ranked = functional.kl_div(
        functional.log_softmax((likeness / SHARP).masked_fill(alone, -1e9), dim=1),
        functional.softmax((wanted / SHARP).masked_fill(alone, -1e9), dim=1),
        reduction="batchmean",
    )
    return placed + 10 * squared + 0.3 * ranked


def packed(weights: Weights, table: np.ndarray, *, name: str) -> bytes:
    """The table as signed bytes, each row with a scale of its own."""
    most = np.maximum(np.abs(table).max(1), 1e-9)
    bytes_ = (np.rint(table / most[:, None] * 127) + ZERO).astype(np.uint8)
    scales = np.maximum(1, np.rint(most / most.max() * 65535)).astype(int)
    return written(
        name,
        spellings=[weights.spelling(row) for row in range(weights.count)],
        scales=scales.tolist(),
        rows=[each.tobytes() for each in bytes_],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int((sys.argv[4:] or ["6"])[0]))
