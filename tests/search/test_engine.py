"""Questions answered from words and vectors, and what an answer says of itself."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from commonplace.model.clock import Clock
from commonplace.model.errors import VaultTrouble
from commonplace.model.records import Hit, SearchResult
from commonplace.search import engine
from commonplace.search.encoders import Encoder, Weigh
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.engine import MANY, SearchEngine
from commonplace.search.index import Query
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.search.vectors import with_numpy
from tests.contracts.index import RANK, fill, record


class Taught(HashedEncoder):
    """Hash vectors that also know that some words mean the same."""

    model = "taught-1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        self.seen += texts
        return super().encode([_same(text) for text in texts])

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        return super().encode_query(_same(text), weigh)


class Sending(Taught):
    leaves_machine = True


def _same(text: str) -> str:
    return text.lower().replace("chai", "tea")


@pytest.fixture
def index() -> Iterator[SqliteIndex]:
    index = SqliteIndex(None, rank=RANK)
    yield index
    index.close()


def asked(
    index: SqliteIndex, text: str, encoder: Encoder | None = None, **query: int
) -> SearchResult:
    searcher = SearchEngine(index, (lambda: encoder) if encoder else None, clock=Clock())
    try:
        return searcher.find(Query(text, **query))  # type: ignore[arg-type]
    finally:
        searcher.close()


def texts(found: SearchResult) -> list[str]:
    return [hit.record.text for hit in found]


def test_words_and_vectors_answer_together(index: SqliteIndex) -> None:
    fill(index, record(1, "a pot of tea"), record(2, "a pot of chai"), record(3, "the roof leaks"))
    found = asked(index, "a pot of tea", Taught())
    assert (sorted(texts(found)), found.mode, found.degraded) == (
        ["a pot of chai", "a pot of tea"], "hybrid", "",
    )  # fmt: skip
    alike = asked(index, "chai", Taught())
    assert "a pot of tea" in texts(alike)


def test_without_an_encoder_words_answer_alone(index: SqliteIndex) -> None:
    fill(index, record(1, "a pot of tea"), record(2, "a pot of chai"))
    found = asked(index, "chai")
    assert (texts(found), found.mode, found.degraded) == (["a pot of chai"], "words", "")


def test_where_no_word_is_shared_vectors_answer_alone(index: SqliteIndex) -> None:
    fill(index, record(1, "tea"), record(2, "the roof leaks"))
    found = asked(index, "chai", Taught())
    assert (texts(found), found.mode) == (["tea"], "vectors")


def test_an_encoder_that_fails_leaves_the_words_and_says_so(index: SqliteIndex) -> None:
    class Broken(Taught):
        def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
            raise VaultTrouble("The model is torn.", next_step="Fetch it again.")

    fill(index, record(1, "tea"))
    found = asked(index, "tea", Broken())
    assert (texts(found), found.mode) == (["tea"], "words")
    assert "The model is torn." in found.degraded


def test_an_answer_says_how_many_texts_have_no_vector_yet(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    monkeypatch.setattr(SearchEngine, "_go_on", lambda self: None)
    fill(index, *(record(number, f"text {number}") for number in range(150)))
    answers = [asked(index, "text", Taught()).degraded[:5] for _ in range(3)]
    assert answers == ["86 te", "22 te", ""]


def test_the_others_get_their_vectors_in_the_background(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    fill(index, *(record(number, f"text {number}") for number in range(300)))
    encoder = Taught()
    searcher = SearchEngine(index, lambda: encoder, clock=Clock())
    assert searcher.find(Query("text")).degraded
    assert searcher._thread is not None
    searcher._thread.join()
    assert len(encoder.seen) == 300
    assert searcher.find(Query("text")).degraded == ""
    searcher.close()


def test_a_search_makes_no_vectors_while_they_are_made_in_the_background(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 0.0)
    fill(index, *(record(number, f"text {number}") for number in range(300)))
    encoder, resting, go_on = Taught(), threading.Event(), threading.Event()

    def rest() -> None:
        resting.set()
        go_on.wait()

    searcher = SearchEngine(index, lambda: encoder, clock=Clock())
    monkeypatch.setattr(searcher, "_give_way", rest)
    searcher.find(Query("text"))
    resting.wait()
    made = len(encoder.seen)
    assert made == engine.BATCH + engine.FEW
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
    searcher._give_way()
    alone = len(slept)

    def beside(query: Query) -> list[Hit]:
        searcher._give_way()
        return []

    monkeypatch.setattr(index, "search", beside)
    searcher.find(Query(""))
    assert (alone, len(slept)) == (1, 2 + engine.PAUSES)


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
    SearchEngine(index, Taught, clock=Clock()).embed_all(
        lambda done, total: steps.append((done, total))
    )
    assert steps == [(MANY, count), (2 * MANY, count), (count, count)]
    assert len(index.dump_vectors()) == count


def test_enough_texts_go_together_for_the_fast_way_to_be_worth_it() -> None:
    assert MANY >= with_numpy.LEAST


@pytest.mark.parametrize(
    "text", ["", "  ", "the of and", "🎉", "\0\x1b[31m", 'a "b* NEAR(', "x" * 9999]
)
def test_any_text_may_be_asked(index: SqliteIndex, text: str) -> None:
    fill(index, record(1, "an ordinary text"), record(2, "🎉 party"))
    found = asked(index, text, Taught())
    assert found.mode in ("words", "vectors", "hybrid")
    assert ("🎉 party" in texts(found)) == (text in ("", "  ", "🎉"))


def test_more_than_the_candidates_can_be_had(index: SqliteIndex) -> None:
    fill(index, *(record(number, f"tea number {number}") for number in range(900)))
    found = asked(index, "tea", Taught(), limit=2000)
    assert len({hit.record.id for hit in found}) == len(found) == 900
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert len(asked(index, "tea", Taught(), limit=7)) == 7
    assert asked(index, "tea", Taught(), limit=0) == []
