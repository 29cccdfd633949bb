"""Questions answered from words and vectors, and what an answer says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from commonplace.model.clock import Clock
from commonplace.model.errors import VaultTrouble
from commonplace.model.records import SearchResult
from commonplace.search.encoders import Encoder, Weigh
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.engine import SearchEngine
from commonplace.search.index import Query
from commonplace.search.sqlite.index import SqliteIndex
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
