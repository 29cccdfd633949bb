"""Every encoder by the contract, and what is special to the static one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from math import sqrt
from pathlib import Path

import pytest

from commonplace.model.errors import BadModel, BadOption
from commonplace.model.options import Options
from commonplace.search.encoders import Encoder, encoder_named
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.encoders.static import FILE, StaticEncoder, WeightsFile, written
from commonplace.search.encoders.wordpiece import pieces, words
from commonplace.search.vectors import with_numpy
from commonplace.storage.option_files import load
from tests.contracts.encoder import HOSTILE, EncoderContract, likeness
from tests.support.skips import library


class TestHashed(EncoderContract):
    @pytest.fixture
    def encoder(self) -> Encoder:
        return HashedEncoder()


class TestStatic(EncoderContract):
    @pytest.fixture
    def encoder(self) -> Encoder:
        return StaticEncoder()


class TestStaticInBulk(EncoderContract):
    """The same by numpy, which an installation may have or not."""

    @pytest.fixture
    def encoder(self, monkeypatch: pytest.MonkeyPatch) -> Encoder:
        library("numpy")
        monkeypatch.setattr(with_numpy, "worth_it", lambda count: count > 0)
        return StaticEncoder()


ENCODER = StaticEncoder()


@pytest.mark.long
def test_numpy_and_the_standard_library_give_the_same_vectors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    library("numpy")
    texts = [*HOSTILE.values(), *map(str, range(500)), "She moved to Lisbon in March"] * 3
    monkeypatch.setattr(with_numpy, "worth_it", lambda count: False)
    plain = ENCODER.encode(texts)
    monkeypatch.setattr(with_numpy, "worth_it", lambda count: True)
    assert ENCODER.encode(texts) == plain


def test_numpy_is_not_imported_for_a_question() -> None:
    program = (
        "import sys; from commonplace.search.encoders.static import StaticEncoder as E\n"
        "e = E(); e.encode(['tea'] * 64); "
        "e.encode_query('tea', lambda words: {'tea': 1}); print('numpy' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", program]) == b"False\n"


def alike(one: str, other: str) -> float:
    a, b = ENCODER.encode([one, other])
    return likeness(a, b)


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("My dog is ill", "the puppy was taken to the vet", "the car was taken to the garage"),
        ("We bought a house", "they own a home now", "they own a boat now"),
        ("I'm a doctor", "she works in a hospital", "she works in a kitchen"),
        ("Prefers tea", "likes a hot drink", "likes a long walk"),
    ],
)
def test_other_words_for_the_same_thing_lie_close(text: str, near: str, far: str) -> None:
    assert alike(text, near) > alike(text, far) + 0.05


def test_a_word_that_weighs_more_pulls_the_question_to_it() -> None:
    cat, car = ENCODER.encode(["cat", "car"])
    cats = ENCODER.encode_query("cat car", lambda _: {"cat": 9.0, "car": 1.0})
    cars = ENCODER.encode_query("cat car", lambda _: {"cat": 1.0, "car": 9.0})
    assert likeness(cats, cat) > likeness(cars, cat)
    assert likeness(cars, car) > likeness(cats, car)


def test_words_are_weighed_in_small_letters_and_signs_are_not_weighed() -> None:
    asked: list[Sequence[str]] = []

    def weigh(words: Sequence[str]) -> dict[str, float]:
        asked.append(words)
        return dict.fromkeys(words, 1.0)

    ENCODER.encode_query("Où est Zoë's 茶?", weigh)
    assert asked == [["ou", "est", "zoe", "s", "茶"]]


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_question_of_words_that_weigh_nothing_lies_nowhere(weight: float) -> None:
    assert ENCODER.encode_query("the tea", lambda words: dict.fromkeys(words, weight)) == (
        bytes(256),
        0.0,
    )


def test_a_weight_beyond_all_measure_is_cut() -> None:
    most = ENCODER.encode_query("cat " * 999, lambda words: dict.fromkeys(words, 1e300))
    assert likeness(most, ENCODER.encode(["cat"])[0]) == pytest.approx(1.0, abs=1e-9)


def test_the_same_text_has_the_same_vector_in_every_process() -> None:
    program = (
        "from commonplace.search.encoders.static import StaticEncoder as E; "
        "print(E().encode(['Ünï tea']))"
    )
    path = {"PYTHONPATH": ":".join(sys.path), "PYTHONIOENCODING": "utf-8"}
    outputs = {
        subprocess.check_output(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, **path}
        )
        for seed in ("1", "2")
    }
    assert outputs == {f"{ENCODER.encode(['Ünï tea'])}\n".encode()}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Don't STOP", ["don", "'", "t", "stop"]),
        ("café Ünï ΟΔΟΣ İstanbul Straße", ["cafe", "uni", "οδοσ", "istanbul", "straße"]),
        ("東京に住む", ["東", "京", "に", "住", "む"]),
        ("日本ABC", ["日", "本", "abc"]),
        ("カタカナ", ["カタカナ"]),
        ("한국", ["\u1112\u1161\u11ab\u1100\u116e\u11a8"]),
        ("a\x00b\x01c\ufffdd\u200be\ufeff", ["abcde"]),
        ("a\tb\nc\u00a0d\u3000e\u2028f", ["a", "b", "c", "d", "e", "f"]),
        ("half \ud83d pair", ["half", "pair"]),
        ("«à»…3,5€", ["«", "a", "»", "…", "3", ",", "5€"]),
        ("шёл й", ["шел", "и"]),
        ("มี", ["ม"]),
    ],
)
def test_texts_are_cut_as_the_teacher_cuts_them(text: str, cut: list[str]) -> None:
    assert words(text) == cut


def test_a_word_is_cut_into_the_longest_pieces_there_are() -> None:
    known = ["un", "##aff", "##able", "##a", "una", "##ff"]

    def cut(word: str) -> list[str]:
        rows = pieces(word, lambda piece: known.index(piece) if piece in known else -1, longest=6)
        return [known[row] for row in rows]

    assert cut("unaffable") == ["una", "##ff", "##able"]
    assert cut("unable") == []
    assert cut("un" + "a" * 98) == ["una"] + ["##a"] * 97
    assert cut("un" + "a" * 99) == []


def test_every_piece_of_the_vocabulary_is_found_at_its_row() -> None:
    weights = WeightsFile(FILE)
    spelled = [weights.spelling(row) for row in range(weights.count)]
    assert [weights.find(each) for each in spelled] == list(range(weights.count))
    assert weights.find("no such piece") == -1


def test_the_model_of_an_option_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "own.bin"
    path.write_bytes(
        written("own-2", spellings=["tea", "cup"], scales=[9, 3], rows=[b"\x90\x80", b"\x80\x00"])
    )
    encoder = encoder_named("static", Options(encoder_path=str(path)))
    assert (encoder.model, encoder.dim) == ("own-2", 2)
    assert encoder.encode(["tea", "Tea cup", "nothing"]) == [
        (b"\x7f\x00", 127.0),
        (bytes([48, 256 - 127]), sqrt(48**2 + 127**2)),
        (bytes(2), 0.0),
    ]
    assert encoder_named("hashed", Options()).model == HashedEncoder.model
    assert encoder_named("static", Options()).model == ENCODER.model


@pytest.mark.parametrize("keep", [0, 7, 40, 5000, -1])
def test_a_model_that_is_cut_short_is_said_to_be_unusable(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "short.bin"
    path.write_bytes(Path(FILE).read_bytes()[:keep])
    with pytest.raises(BadModel, match="encoder"):
        StaticEncoder(str(path))


def test_a_model_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match=r"gone\.bin"):
        StaticEncoder(str(tmp_path / "gone.bin"))


def test_an_encoder_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadOption, match="magic"):
        load(None, environ={}, arguments={"encoder": "magic"})
