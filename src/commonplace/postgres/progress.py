"""The progress of the documents in the row of a profile."""

from __future__ import annotations

from commonplace.postgres.connection import Database
from commonplace.storage.progress import Progress, progress_in, text_of


class ProgressRow:
    """The progress in the row of a profile, saved in the transaction of the write itself."""

    boot = home = ""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self) -> Progress:
        return progress_in(self._database.head().marks)

    def save(self, progress: Progress) -> None:
        self._database.set_head(marks=text_of(progress))

    def close(self) -> None:
        """The row is the database's."""
