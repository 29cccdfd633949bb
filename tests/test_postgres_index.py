"""The index in PostgreSQL: the contract, and what only a server can go through."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace.clock import Clock
from commonplace.database import Database
from commonplace.database.places import place_of
from commonplace.index import Index
from commonplace.index.postgres import PostgresIndex
from tests.contracts.index import RANK, IndexContract
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
