"""The contract of an index, for one in a file of SQLite."""

from __future__ import annotations

import pytest

from commonplace.search.index import Index
from commonplace.search.sqlite.index import SqliteIndex
from tests.contracts.index import RANK, IndexContract


class InAFile(IndexContract):
    """Subclass it to have every test of the contract in files of a directory."""

    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.directory = tmp_path_factory.mktemp("index")
        self.made = 0

    def fresh(self) -> Index:
        self.made += 1
        return SqliteIndex(self.directory / f"{self.made}.db", rank=RANK)
