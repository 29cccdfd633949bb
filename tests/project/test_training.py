"""The scripts that make the static table, on a few texts; and that the shipped one is theirs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from commonplace.search.encoders.static import FILE, StaticEncoder
from tests.contracts.encoder import likeness
from tests.support.skips import library

TRAINING = Path(__file__).parents[2] / "training"
NOUNS = """\
  1 This software and database is being provided to you, the LICENSEE, by
00001740 03 n 02 ice_tea 0 cold_tea 0 001 @ 00001930 n 0000 | tea served with ice; "she drank tea"; "ice tea is nice in summer"
00001930 03 n 01 tea 0 000 | a drink made of leaves
00002137 03 n 01 x 0 000 | x
"""  # noqa: E501
SOURCE = b'''\
"""Pours tea into cups.

>>> pour(3)

The pot is warmed before.
"""

def pour(count):
    """a drink made of leaves

    Pours tea into cups.
    """
'''


def run(script: str, *arguments: Path) -> str:
    environ = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(TRAINING / script), *map(str, arguments)]
    return subprocess.check_output(command, text=True, env=environ)


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    """A folder in which all packages are there already, each as small as can be."""
    words = tmp_path / "wordnet-base/usr/share/wordnet"
    words.mkdir(parents=True)
    (words / "data.noun").write_text(NOUNS, encoding="utf-8")
    with ZipFile(tmp_path / "teapot-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("teapot/__init__.py", SOURCE)
        wheel.writestr("teapot/older.py", b"print 'not for this Python'")
        wheel.writestr("teapot/picture.txt", b'"""No docstring, though it reads like one."""')
    return tmp_path


def test_the_texts_are_glosses_examples_and_docstrings_each_once(fetched: Path) -> None:
    said = run("corpus.py", fetched)
    written = (fetched / "sentences.txt").read_bytes()
    assert sorted(written.decode().split("\n")) == [
        "Pours tea into cups.",
        "The pot is warmed before.",
        "a drink made of leaves",
        "ice tea is nice in summer",
        "ice tea, cold tea: tea served with ice",
        "she drank tea",
        "tea: a drink made of leaves",
    ]
    assert sha256(written).hexdigest() in said
    run("corpus.py", fetched)
    assert (fetched / "sentences.txt").read_bytes() == written


PIECES = ["[PAD]", "[UNK]", "tea", "kettle", "dog", "leash"]


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    """What a teacher said to whom a kettle is nearly tea, and a leash nearly a dog."""
    np: Any = library("numpy")
    chosen = np.random.RandomState(7)
    tea, dog = chosen.randn(2, 384)
    alone = chosen.randn(len(PIECES), 384)
    meant = np.stack([0 * tea, 0 * tea, tea, tea, dog, dog]) + 0.1 * alone
    texts = [chosen.choice((2, 3, 4, 5), size).tolist() for size in chosen.randint(1, 4, 1100)]
    (tmp_path / "pieces.txt").write_text("\n".join(PIECES), encoding="utf-8")
    np.save(tmp_path / "pieces.npy", alone.astype(np.float16))
    np.save(tmp_path / "tokens.npy", np.concatenate([np.array(each, np.uint16) for each in texts]))
    np.save(tmp_path / "lengths.npy", np.array([len(each) for each in texts], np.uint16))
    vectors = np.stack([meant[each].mean(0) for each in texts])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(tmp_path / "teacher.npy", vectors.astype(np.float16))
    return tmp_path


def test_a_table_learns_from_its_teacher_what_is_alike(asked: Path) -> None:
    said = run("train.py", asked, asked / "new.bin")
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", said)]
    assert losses == sorted(losses, reverse=True)
    encoder = StaticEncoder(str(asked / "new.bin"))
    tea, kettle, dog = encoder.encode(["tea", "kettle", "dog"])
    assert likeness(tea, kettle) > likeness(tea, dog)


def test_the_same_teacher_makes_the_same_table(asked: Path) -> None:
    said = run("train.py", asked, asked / "one.bin")
    run("train.py", asked, asked / "two.bin")
    made = (asked / "one.bin").read_bytes()
    assert made == (asked / "two.bin").read_bytes()
    assert sha256(made).hexdigest() in said


def test_the_shipped_table_is_the_one_that_the_instructions_name() -> None:
    told = (TRAINING / "README.md").read_text(encoding="utf-8")
    shipped = sha256(Path(FILE).read_bytes()).hexdigest()
    assert re.findall(r"`static\.bin` \| `([0-9a-f]{64})`", told) == [shipped]
    made = re.findall(r'^NAME = "(.+)"', (TRAINING / "train.py").read_text(encoding="utf-8"), re.M)
    assert made == [StaticEncoder().model]
