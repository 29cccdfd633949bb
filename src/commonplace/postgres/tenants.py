"""The tenants of one database: its profiles by name, each with the URL that opens it.

Which there are is asked of the database when somebody wants to know, so that one that was made a
moment ago is there without a restart.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from commonplace.model.clock import Clock
from commonplace.postgres.connection import Database
from commonplace.postgres.urls import parse_url

NAMES = "select name from profile_name order by name"
THERE = "select 1 from profile_name where name = %s"


class Tenants(Mapping[str, str]):
    """The URL of each profile of a database, by the profile's name."""

    def __init__(self, url: str, *, clock: Clock) -> None:
        self.place = parse_url(url)
        self._clock = clock
        self._database: Database | None = None
        self._process = 0

    @property
    def database(self) -> Database:
        """The database as this process reaches it: a fork has connections of its own."""
        if self._database is None or self._process != os.getpid():
            self._database = Database.open_whole(self.place, clock=self._clock)
            self._process = os.getpid()
        return self._database

    def __getitem__(self, name: str) -> str:
        if name not in self:
            raise KeyError(name)
        return replace(self.place, profile=name).url()

    def __contains__(self, name: object) -> bool:
        return bool(self.database.rows(THERE, (name,)))

    def __iter__(self) -> Iterator[str]:
        return (name for (name,) in self.database.rows(NAMES))

    def __len__(self) -> int:
        return len(self.database.rows(NAMES))

    def values(self) -> list[str]:  # type: ignore[override]
        """All their URLs, found with one question."""
        return [replace(self.place, profile=name).url() for name in self]

    def close(self) -> None:
        if self._database and self._process == os.getpid():
            self._database.close()
        self._database = None
