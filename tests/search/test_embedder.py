"""Vectors that are made at a question, in the background and all at once, by one encoder or two."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import pytest

from commonplace.model.clock import Clock
from commonplace.model.errors import BadModel
from commonplace.model.records import Hit
from commonplace.search import embedder
from commonplace.search.embedder import MANY, Embedder
from commonplace.search.encoders import Encoder, Stronger, Weigh
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.engine import SearchEngine
from commonplace.search.index import Query
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.search.vectors import with_numpy
from tests.contracts.index import fill, record
from tests.search.test_engine import Taught, asked, index, texts

__all__ = ["index"]


class Sending(Taught):
    leaves_machine = True


def test_an_answer_says_how_many_texts_have_no_vector_yet(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "PATIENCE", 0.0)
    monkeypatch.setattr(Embedder, "_go_on", lambda self: None)
    fill(index, *(record(number, f"text {number}") for number in range(150)))
    answers = [asked(index, "text", Taught()).degraded[:5] for _ in range(3)]
    assert answers == ["86 te", "22 te", ""]


def test_the_others_get_their_vectors_in_the_background(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "PATIENCE", 0.0)
    fill(index, *(record(number, f"text {number}") for number in range(300)))
    encoder = Taught()
    searcher = SearchEngine(index, lambda: encoder, clock=Clock())
    assert searcher.find(Query("text")).degraded
    assert searcher.embedder._thread is not None
    searcher.embedder._thread.join()
    assert len(encoder.seen) == 300
    assert searcher.find(Query("text")).degraded == ""
    searcher.close()


def test_a_search_makes_no_vectors_while_they_are_made_in_the_background(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedder, "PATIENCE", 0.0)
    fill(index, *(record(number, f"text {number}") for number in range(300)))
    encoder, resting, go_on = Taught(), threading.Event(), threading.Event()

    def rest() -> None:
        resting.set()
        go_on.wait()

    searcher = SearchEngine(index, lambda: encoder, clock=Clock())
    monkeypatch.setattr(searcher.embedder, "_give_way", rest)
    searcher.find(Query("text"))
    resting.wait()
    made = len(encoder.seen)
    assert made == embedder.BATCH + embedder.FEW
    assert searcher.find(Query("text")).degraded.startswith(f"{300 - made} texts")
    assert len(encoder.seen) == made
    go_on.set()
    searcher.close()


def test_the_background_waits_for_questions_but_not_for_ever(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    searcher = SearchEngine(index, Taught, clock=Clock())
    searcher.embedder._give_way()
    alone = len(slept)

    def beside(query: Query) -> list[Hit]:
        searcher.embedder._give_way()
        return []

    monkeypatch.setattr(index, "search", beside)
    searcher.find(Query(""))
    assert (alone, len(slept)) == (1, 2 + embedder.PAUSES)


def test_another_model_makes_its_own_vectors_and_the_old_ones_go(index: SqliteIndex) -> None:
    class Other(Taught):
        model = "taught-2"

    fill(index, record(1, "tea"), record(2, "the roof leaks"))
    asked(index, "chai", Taught())
    found = asked(index, "chai", Other())
    assert (texts(found), found.mode) == (["tea"], "vectors")
    assert {row[0] for row in index.dump_vectors()} == {"taught-2"}


def test_secrets_are_never_embedded_and_what_is_sensitive_does_not_leave_the_machine(
    index: SqliteIndex,
) -> None:
    fill(
        index,
        record(1, "tea"),
        record(2, "sick", sensitivity="sensitive"),
        record(3, "the code", sensitivity="secret"),
    )
    here, sent = Taught(), Sending()
    asked(index, "tea", here)
    with index.anew():
        pass
    fill(
        index,
        record(1, "tea"),
        record(2, "sick", sensitivity="sensitive"),
        record(3, "the code", sensitivity="secret"),
    )
    asked(index, "tea", sent)
    assert (sorted(here.seen), sent.seen) == (["sick", "tea"], ["tea"])


def test_everything_gets_its_vector_at_once_with_progress(index: SqliteIndex) -> None:
    count = 2 * MANY + 22
    fill(index, *(record(number, f"text {number}") for number in range(count)))
    steps: list[tuple[int, int]] = []
    Embedder(index, Taught).embed_all(lambda done, total: steps.append((done, total)))
    assert steps == [(MANY, count), (2 * MANY, count), (count, count)]
    assert len(index.dump_vectors()) == count


def test_enough_texts_go_together_for_the_fast_way_to_be_worth_it() -> None:
    assert MANY >= with_numpy.LEAST


class Strong(Taught):
    """Knows more than `Taught`, and takes longer to open."""

    model = "strong-1"

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        self.seen += texts
        return HashedEncoder.encode(self, [_known(text) for text in texts])

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        return HashedEncoder.encode_query(self, _known(text), weigh)


def _known(text: str) -> str:
    return text.lower().replace("brew", "tea")


def staying(index: SqliteIndex, strong: Encoder, *, there: bool = True) -> SearchEngine:
    """An engine of a process that stays, with both encoders."""
    return SearchEngine(
        index,
        Taught,
        clock=Clock(),
        stronger=lambda: Stronger(Strong.model, lambda: there, lambda: strong),
    )


def after_background(searcher: SearchEngine) -> None:
    searcher.embedder.stay()
    if searcher.embedder._thread:
        searcher.embedder._thread.join()


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedder, "FIRST_ANSWERS", 0.0)


@pytest.mark.usefixtures("_at_once")
def test_the_quick_encoder_stands_in_until_the_stronger_one_is_ready(index: SqliteIndex) -> None:
    fill(index, record(1, "a pot of tea"), record(2, "the roof leaks"))
    strong = Strong()
    searcher = staying(index, strong)
    cold = searcher.find(Query("chai"))
    assert (texts(cold), cold.mode, cold.degraded) == (["a pot of tea"], "vectors-static", "")
    assert texts(searcher.find(Query("brew"))) == []
    after_background(searcher)
    warm = searcher.find(Query("brew"))
    assert (texts(warm), warm.mode, warm.degraded) == (["a pot of tea"], "vectors", "")
    assert index.vectors() == {"taught-1": 2, "strong-1": 2}
    searcher.close()


@pytest.mark.usefixtures("_at_once")
def test_what_is_stored_later_gets_its_stronger_vector_at_the_next_question(
    index: SqliteIndex,
) -> None:
    fill(index, record(1, "the roof leaks"))
    searcher = staying(index, Strong())
    after_background(searcher)
    fill(index, record(2, "a pot of tea"))
    assert texts(searcher.find(Query("brew"))) == ["a pot of tea"]
    searcher.close()


@pytest.mark.usefixtures("_at_once")
def test_many_new_texts_are_found_by_the_quick_vectors_while_the_stronger_are_made(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    searcher = staying(index, Strong())
    after_background(searcher)
    monkeypatch.setattr(searcher.embedder, "_go_on", lambda: None)
    fill(index, *(record(number, f"{number} tea") for number in range(50)))
    searcher.embedder.patience = 0.0
    found = searcher.find(Query("chai"))
    assert (found.mode, len(found) > 0) == ("vectors-static", True)
    assert index.vectors() == {"taught-1": 50, "strong-1": embedder.STRONG_BATCH}
    searcher.close()


@pytest.mark.usefixtures("_at_once")
def test_vectors_of_a_process_that_ended_are_not_made_again(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(index, *(record(number, f"text {number}") for number in range(100)))
    first, second = Strong(), Strong()
    searcher = staying(index, first)
    monkeypatch.setattr(
        searcher.embedder,
        "_give_way",
        lambda: setattr(searcher.embedder, "_closed", bool(first.seen)),
    )
    after_background(searcher)
    assert 0 < len(first.seen) < 100
    searcher = staying(index, second)
    after_background(searcher)
    assert sorted(first.seen + second.seen) == sorted(f"text {number}" for number in range(100))
    searcher.close()


@pytest.mark.usefixtures("_at_once")
def test_where_the_stronger_encoder_is_gone_the_quick_one_answers_and_its_vectors_wait(
    index: SqliteIndex,
) -> None:
    fill(index, record(1, "a pot of tea"))
    searcher = staying(index, Strong())
    after_background(searcher)
    searcher.close()
    without = staying(index, Strong(), there=False)
    fill(index, record(1, "a pot of tea"), record(2, "a cup of tea"))
    after_background(without)
    found = without.find(Query("chai"))
    assert (len(found), found.mode, found.degraded) == (2, "vectors", "")
    assert index.vectors() == {"taught-1": 2, "strong-1": 1}
    without.close()


@pytest.mark.usefixtures("_at_once")
def test_a_stronger_encoder_that_cannot_be_opened_is_told_of_and_the_quick_one_answers(
    index: SqliteIndex,
) -> None:
    def torn() -> Encoder:
        raise BadModel("model.onnx", "it is torn")

    fill(index, record(1, "a pot of tea"))
    searcher = SearchEngine(
        index, Taught, clock=Clock(), stronger=lambda: Stronger(Strong.model, lambda: True, torn)
    )
    after_background(searcher)
    found = searcher.find(Query("chai"))
    assert (texts(found), found.mode) == (["a pot of tea"], "vectors-static")
    assert "it is torn" in found.degraded
    searcher.close()


@pytest.mark.usefixtures("_at_once")
def test_what_is_erased_loses_both_vectors(index: SqliteIndex) -> None:
    fill(index, record(1, "a pot of tea"), record(2, "the roof leaks"))
    searcher = staying(index, Strong())
    after_background(searcher)
    [gone] = searcher.find(Query("tea"))[:1]
    index.erase([gone.record.id])
    assert index.vectors() == {"taught-1": 1, "strong-1": 1}
    assert gone.record.id not in {row[2] for row in index.dump_vectors()}
    searcher.close()


def test_everything_gets_both_vectors_at_once(index: SqliteIndex) -> None:
    fill(index, record(1, "a pot of tea"))
    staying(index, Strong()).embedder.embed_all(lambda done, total: None)
    assert index.vectors() == {"taught-1": 1, "strong-1": 1}


def test_a_process_that_ends_at_once_opens_no_stronger_encoder(index: SqliteIndex) -> None:
    def opened() -> Encoder:
        raise AssertionError("it was opened")

    searcher = SearchEngine(
        index, Taught, clock=Clock(), stronger=lambda: Stronger(Strong.model, lambda: True, opened)
    )
    searcher.embedder.stay()
    searcher.close()
