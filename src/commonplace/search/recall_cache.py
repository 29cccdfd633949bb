"""The recall cache: answers that were given already, for as long as nothing has changed.

Bounded in entries and in characters; the one used least recently goes first. It does not know what
changed: who asks shows it a glance at the vault, and another glance empties it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from commonplace.model.lean import RLock
from commonplace.model.records import Hit

CHARACTERS = 4_000_000
"""Of text in all the answers that are kept."""
BESIDE = 500
"""Characters that a record takes beside its text."""


class RecallCache:
    """Answers by question."""

    def __init__(
        self,
        *,
        entries: int,
        seconds: float,
        now_ns: Callable[[], int],
        characters: int = CHARACTERS,
    ) -> None:
        self.entries = entries
        self.seconds = seconds
        self.characters = characters
        self.held = 0
        """Characters that are held."""
        self._now_ns = now_ns
        self._glance: Hashable = None
        self._answers: OrderedDict[Hashable, tuple[int, int, tuple[Hit, ...]]] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, question: Hashable, *, glance: Hashable) -> list[Hit] | None:
        """The answer, if it was given at this very glance and not too long ago."""
        with self._lock:
            if glance is None or glance != self._glance:
                self._empty()
                return None
            if question not in self._answers:
                return None
            at, size, hits = self._answers.pop(question)
            if self.seconds and not 0 <= self._now_ns() - at <= self.seconds * 1e9:
                self.held -= size
                return None
            self._answers[question] = (at, size, hits)
            return list(hits)

    def put(self, question: Hashable, hits: Sequence[Hit], *, glance: Hashable) -> None:
        """Keep an answer that was found while the vault looked like this."""
        size = sum(len(hit.record.text) + BESIDE for hit in hits)
        if glance is None or not self.entries or size > self.characters:
            return
        with self._lock:
            if glance != self._glance:
                self._empty()
                self._glance = glance
            self.held -= self._answers.pop(question, (0, 0, ()))[1]
            self._answers[question] = (self._now_ns(), size, tuple(hits))
            self.held += size
            while len(self._answers) > self.entries or self.held > self.characters:
                _, (_, oldest, _) = self._answers.popitem(last=False)
                self.held -= oldest

    def clear(self) -> None:
        """Let go of every answer."""
        with self._lock:
            self._empty()

    def _empty(self) -> None:
        self._answers.clear()
        self._glance, self.held = None, 0
