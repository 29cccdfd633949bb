"""A summarizer whose words are not taken where they say what the owner forgot.

It does not know how the summaries are made.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.library.library import Library
from commonplace.model.errors import SummarizerFailed
from commonplace.model.records import Record
from commonplace.upkeep.compaction.extractive import Summarizer, sentences


class Mindful:
    """Another summarizer, listened to."""

    def __init__(self, summarizer: Summarizer, library: Library) -> None:
        self.name = summarizer.name
        self._summarizer = summarizer
        self._library = library

    def body(self, records: Sequence[Record], *, characters: int) -> str:
        said = self._summarizer.body(records, characters=characters)
        pieces = [said, *sentences(said), *said.split(";")]
        if self._library.locked(lambda: self._library.forgotten_by_owner(pieces)):
            raise SummarizerFailed("it says what the owner forgot")
        return said
