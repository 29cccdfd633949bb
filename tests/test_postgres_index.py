"""The index in PostgreSQL: the contract, and what only a server can go through."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from commonplace.clock import Clock
from commonplace.database import Database
from commonplace.database.places import place_of
from commonplace.index import Asked, Index, Query, postgres_vectors
from commonplace.index.postgres import PostgresIndex
from tests.contracts.index import RANK, IndexContract, fill, ids, record
from tests.postgres import fresh_url

OPENED: list[Database] = []


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def opened(url: str = "") -> PostgresIndex:
    OPENED.append(Database.open(place_of(url or fresh_url()), clock=Clock()))
    return PostgresIndex(OPENED[-1], rank=RANK)


class TestInPostgres(IndexContract):
    def fresh(self) -> Index:
        return opened()


def test_many_vectors_are_found_by_their_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_vectors, "MANY", 200)
    chance = Random(1)
    others, index = opened(), opened()
    for each in (others, index):
        records = [record(number, f"text {number}") for number in range(300)]
        fill(each, *records)
        vectors = [(chance.randbytes(256), 99.0) for _ in records]
        question = Asked("m", chance.randbytes(256), 99.0)
        waiting, _ = each.unembedded("m", dim=256, limit=300)
        rows = [(key, *vector) for (key, _), vector in zip(waiting, vectors, strict=True)]
        each.embed("m", dim=256, rows=rows[:100])
        by_each = ids(each.nearest(question, Query(limit=20)))
        each.embed("m", dim=256, rows=rows)
        each.embed("m", dim=256, rows=rows[-1:])
        assert (len(by_each), each.unembedded("m", dim=256, limit=1)) == (20, ([], 0))
        assert each._vectors.in_graph(question)
    assert by_each != ids(index.nearest(question, Query(limit=20)))
    found = ids(index.nearest(question, Query(limit=20)))
    monkeypatch.setattr(index._vectors, "in_graph", lambda asked: False)
    assert found == ids(index.nearest(question, Query(limit=20)))
    assert index.dump_vectors() != others.dump_vectors()
