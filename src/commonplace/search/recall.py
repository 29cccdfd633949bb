"""Claw's quick recall: the records most alike by hashed vectors, and a cache of answers.

The cache is bounded in entries and in characters; the answer used least recently goes first.
Whoever asks passes the fingerprint of the vault, and another fingerprint empties it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import RLock

from commonplace.model.records import Hit
from commonplace.search.index import Asked, Index, Query

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
        self._fingerprint: Hashable = None
        self._answers: OrderedDict[Hashable, tuple[int, int, tuple[Hit, ...]]] = OrderedDict()
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, question: Hashable, *, fingerprint: Hashable) -> list[Hit] | None:
        """The answer, if it was given at this very fingerprint and not too long ago."""
        with self._lock:
            if fingerprint is None or fingerprint != self._fingerprint:
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

    def put(self, question: Hashable, hits: Sequence[Hit], *, fingerprint: Hashable) -> None:
        """Keep an answer that was found while the vault looked like this."""
        size = sum(len(hit.record.text) + BESIDE for hit in hits)
        if fingerprint is None or not self.entries or size > self.characters:
            return
        with self._lock:
            if fingerprint != self._fingerprint:
                self._empty()
                self._fingerprint = fingerprint
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
        self._fingerprint, self.held = None, 0


def most_alike(index: Index, text: str, *, limit: int, newest: int, writes: bool) -> list[Hit]:
    """The records among the `newest` that are most like a text.

    `writes`: a record that has no vector yet gets one.
    """
    if index.without_vectors:
        return index.search(Query(text, limit=limit, include_passages=False))
    from commonplace.search.encoders.hashed import HashedEncoder

    encoder = HashedEncoder()
    missing = index.window(encoder.model, size=newest)
    if missing and writes:
        vectors = encoder.encode([words for _, words in missing])
        rows = ((key, *vector) for (key, _), vector in zip(missing, vectors))
        index.embed(encoder.model, dim=encoder.dim, rows=rows)
    [(vector, norm)] = encoder.encode([text])
    wanted = Query(limit=limit, include_passages=False)
    return index.nearest(Asked(encoder.model, vector, norm), wanted)
