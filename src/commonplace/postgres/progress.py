"""The marks of our own writes in the row of a profile."""

from __future__ import annotations

from commonplace.postgres.connection import Database
from commonplace.storage.progress import Marks, marks_in, text_of


class ProfileHeads:
    """The marks in the row of a profile, which is written with what they tell of."""

    boot = home = ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> Marks:
        return marks_in(self._database.head().marks)

    def save(self, marks: Marks) -> None:
        self._database.set_head(marks=text_of(marks))

    def close(self) -> None:
        """The row is the database's."""
