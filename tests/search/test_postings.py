"""Words that are kept in memory: they score as FTS5 does, and follow what is told to the index."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.search import words
from commonplace.search.index import Index, Query
from commonplace.search.sqlite import postings, row_cache
from commonplace.search.sqlite.index import SqliteIndex
from tests.contracts.index import MEMORY, RANK, fill, known, record

WORDS = (
    *("tea", "teas", "relational", "value", "generously", "Über", "uber", "café"),
    *(
        "2026-11-15",
        "2026",
        "11",
        "茶",
        "お茶を飲む",
        "чай",
        "чая",
        "x" * 300,
        "\u0301",
        "über-tea",
    ),
)
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


def scored(index: Index, question: str) -> dict[int, tuple[float, int]]:
    """BM25 and rank of what the words of a question find."""
    found = index.candidates(Query(question))
    return {each.key: (each.words, each.words_rank) for each in found if each.words_rank >= 0}


def by_fts5(index: SqliteIndex, question: str) -> dict[int, tuple[float, int]]:
    """The same, asked by somebody who never asked before."""
    index._seen.let_go()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_cache, "RESTED", 1 << 30)
        return scored(index, question)


@given(st.lists(st.lists(texts, min_size=1, max_size=5), min_size=1, max_size=4), texts)
def test_kept_words_score_as_fts5_does_to_the_last_digit(
    tellings: list[list[str]], question: str
) -> None:
    kept, other = SqliteIndex(None, rank=RANK), SqliteIndex(None, rank=RANK)
    line = 0
    for told in tellings:
        for each in told:
            line += 1
            for index in (kept, other):
                index.set_mark("first")
                index.add(MEMORY, [(record(line, each), line)], known=known(line))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(row_cache, "RESTED", 0)
            assert scored(kept, question) == by_fts5(other, question)
    for index in (kept, other):
        index.close()


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqliteIndex:
    """An index that keeps words from the first question on."""
    monkeypatch.setattr(row_cache, "RESTED", 0)
    index = SqliteIndex(tmp_path / "index.db", rank=RANK)
    index.set_mark("first")
    return index


def reads(index: SqliteIndex, question: str) -> list[str]:
    """The statements about words that a question takes."""
    told: list[str] = []
    with index._connections.lent() as db:
        db.set_trace_callback(told.append)
    index.candidates(Query(question))
    db.set_trace_callback(None)
    return [each for each in told if "temp.instances WHERE" in each or "bm25" in each]


def test_a_word_that_was_asked_for_is_read_once(index: SqliteIndex) -> None:
    fill(index, record(1, "green tea"), record(2, "black tea"), record(3, "milk"))
    assert len(reads(index, "tea")) == 1
    assert reads(index, "tea") == []
    assert len(reads(index, "tea with milk")) == 1
    index.add(MEMORY, [(record(4, "coffee"), 4)], known=known(4))
    assert reads(index, "tea with milk") == []
    index.add(MEMORY, [(record(5, "tea"), 5)], known=known(5))
    assert reads(index, "tea with milk") == []
    assert len(scored(index, "tea")) == 3
    index.close()


def test_after_many_records_words_are_read_anew(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "FEW", 2)
    fill(index, record(1, "tea"))
    assert len(reads(index, "tea")) == 1
    index.add(MEMORY, [(record(n, "tea"), n) for n in (2, 3, 4)], known=known(4))
    assert len(reads(index, "tea")) == 1
    assert len(scored(index, "tea")) == 4
    index.close()


def let_another_come_first(
    monkeypatch: pytest.MonkeyPatch, name: str, work: Callable[[], object]
) -> None:
    """Have another thread do some work, once, just when something of the postings is wanted."""
    was = getattr(postings, name)

    def wanted(*arguments: object) -> object:
        monkeypatch.setattr(postings, name, was)
        with ThreadPoolExecutor(1) as threads:
            threads.submit(work).result()
        return was(*arguments)

    monkeypatch.setattr(postings, name, wanted)


def test_a_word_that_is_read_while_another_thread_is_told_of_more_is_not_kept(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(index, record(1, "tea"), record(2, "milk"))
    scored(index, "milk")

    def add() -> None:
        index.add(MEMORY, [(record(3, "tea"), 3)], known=known(3))
        scored(index, "milk")

    let_another_come_first(monkeypatch, "Having", add)
    scored(index, "tea")
    assert len(scored(index, "tea")) == 2
    index.close()


def test_two_threads_that_see_the_same_record_tell_of_it_once(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(index, record(1, "tea"), record(2, "milk"))
    scored(index, "tea")
    index.add(MEMORY, [(record(3, "tea"), 3)], known=known(3))
    let_another_come_first(monkeypatch, "counted", lambda: scored(index, "tea"))
    assert scored(index, "tea") == by_fts5(index, "tea")
    index.close()


def test_words_side_by_side_and_beginnings_are_left_to_fts5(index: SqliteIndex) -> None:
    fill(index, record(1, "tea on 2026-11-15"), record(2, "お茶"))
    for question in ("tea 2026-11-15", "茶"):
        for _ in range(2):
            assert ["bm25" in each for each in reads(index, question)] == [True]
    index.close()


def test_no_more_words_are_kept_than_there_is_room_for(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "MOST", 3)
    fill(index, *(record(number, "tea" if number < 2 else "milk") for number in range(4)))
    assert len(reads(index, "tea")) == len(reads(index, "milk")) == len(reads(index, "tea")) == 1
    assert reads(index, "tea") == []
    index.close()


def test_a_word_that_more_have_than_there_were_records_counts_least() -> None:
    assert postings.Sizes(records=1, average=3.0).rarity(2) == words.LEAST


def test_an_index_that_was_emptied_finds_nothing(index: SqliteIndex) -> None:
    fill(index, record(1, "tea"))
    with index.anew():
        index.set_mark("another")
    assert index.candidates(Query("tea")) == []
    index.close()


def test_until_all_lengths_are_read_fts5_scores(
    index: SqliteIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "STRETCH", 2)
    fill(index, *(record(number, "tea") for number in range(5)))
    found = [["bm25" in each for each in reads(index, "tea")] for _ in range(4)]
    assert found == [[True], [True], [False], []]
    index.close()
