"""Give questions and texts their vectors: some texts at each question, the rest in the background.

One encoder is quick to open and always there. Beside it may be a stronger one that takes long to
open: a process that stays opens it in the background, and asks with it once all its vectors are
made. Both keep their vectors, so that a process that starts for one question waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import sqrt
from threading import RLock
from typing import TYPE_CHECKING

from commonplace.model.clock import monotonic
from commonplace.model.errors import CommonplaceError
from commonplace.search.index import Asked, Index

if TYPE_CHECKING:
    from threading import Thread

    from commonplace.search.encoders import Encoder, Stronger

OnProgress = Callable[[int, int], None]

BATCH = 64
FEW = 32
MANY = 256
"""How many texts get their vector at once: during a question, in the background, where a question
may come at any time, and when nobody waits for one."""
STRONG_BATCH = 8
"""So many at once by the stronger encoder, which takes some milliseconds for each."""
PATIENCE = 0.1
"""So many seconds where others may ask meanwhile, and the rest is made in the background."""
PAUSE = 0.005
"""Seconds between two batches in the background, for whoever searches meanwhile."""
PAUSES = 20
"""So many in a row at most: where somebody always searches, vectors are made all the same."""
LEANING = 0.5
"""How much the rest of a prompt counts beside the question in it."""
FIRST_ANSWERS = 0.3
"""Seconds that a process which stays has for its first answers before it opens an encoder."""


def leaning(vector: bytes, other: bytes) -> tuple[bytes, float]:
    """A vector that leans towards another, as a vector and its length."""
    from commonplace.search.encoders import rounded

    return rounded([LEANING * b + a for a, b in zip(_unit(vector), _unit(other))])


def _unit(vector: bytes) -> list[float]:
    numbers = memoryview(vector).cast("b")
    length = sqrt(sum([number * number for number in numbers])) or 1.0
    return [number / length for number in numbers]


class Embedder:
    """The vectors of one index, by one encoder or by two; none where there is no encoder."""

    def __init__(
        self,
        index: Index,
        encoder: Callable[[], Encoder] | None = None,
        stronger: Callable[[], Stronger | None] = lambda: None,
    ) -> None:
        self._index = index
        self._open = encoder
        self._encoder: Encoder | None = None
        self._choose_stronger = stronger
        self._strong: Encoder | None = None
        self._stays = False
        self._closed = False
        self._thread: Thread | None = None
        self._in_making = ""
        """The model whose vectors are being made in the background."""
        self._left: dict[str, int] = {}
        """How many texts had no vector of a model after its last batch."""
        self._finding = 0
        """How many questions are being answered."""
        self._counting = RLock()
        self.trouble = ""
        """Why the stronger encoder cannot be used."""
        self.patience = PATIENCE
        """Seconds of a search that may go into vectors that are missing."""
        self.progress: OnProgress = lambda done, total: None

    @contextmanager
    def while_asked(self) -> Iterator[None]:
        """Give way to a question: what is made in the background waits a little."""
        with self._counting:
            self._finding += 1
        try:
            yield
        finally:
            with self._counting:
                self._finding -= 1

    def asked(self, text: str, rest: str = "") -> tuple[Asked | None, str]:
        """The question as a vector, and what its answer will lack.

        `rest` are words of the prompt that the question stands in: it leans towards them.
        """
        if self._open is None:
            return None, ""
        if self._index.without_vectors:
            return None, f"Words alone: {self._index.without_vectors}"
        try:
            encoder, degraded = self._ready()
            vector, norm = encoder.encode_query(text, self._worth)
            if rest:
                vector, norm = leaning(vector, encoder.encode_query(rest, self._worth)[0])
        except CommonplaceError as error:
            return None, f"Words alone: {error}"
        return (Asked(encoder.model, vector, norm) if norm else None), degraded

    def _worth(self, words: Sequence[str]) -> dict[str, float]:
        return {word: rare**0.5 for word, rare in self._index.rarity(words).items()}

    def _ready(self) -> tuple[Encoder, str]:
        """The encoder to ask with, and what its vectors lack.

        The stronger one is only asked when every text has its vector of it.
        """
        if self._strong and not self._missing(self._strong, STRONG_BATCH):
            return self._strong, ""
        encoder = self.encoder()
        left = self._missing(encoder, BATCH)
        if not left:
            return encoder, self.trouble
        return encoder, (
            f"{left:,} texts have no vector yet and are found by their words alone. More get "
            "theirs at each search, all of them with `commonplace rebuild`."
        )

    def encoder(self) -> Encoder:
        """The encoder that is always there, opened when it is first needed."""
        if self._encoder is None:
            assert self._open is not None, "there is an encoder"
            self._encoder = self._open()
        return self._encoder

    def use(self, encoder: Encoder) -> None:
        """Go on with this encoder."""
        self._encoder = encoder

    def stands_in(self, model: str) -> bool:
        """Whether a question was asked with this model because a stronger one is not ready."""
        return self._has_stronger() and self._stronger is not None and model != self._stronger.model

    @cached_property
    def _stronger(self) -> Stronger | None:
        return self._choose_stronger()

    def _has_stronger(self) -> bool:
        return self._stronger is not None and self._stronger.is_there()

    def stay(self) -> None:
        """Open the stronger encoder in the background: this process goes on to answer."""
        if self._has_stronger() and not self._index.without_vectors:
            self._stays = True
            self._go_on()

    def _missing(self, encoder: Encoder, at_once: int) -> int:
        """Make vectors for a moment, unless they are being made; how many are left."""
        if self._in_making == encoder.model:
            return self._left.get(encoder.model, 1)
        left = self._made(encoder, at_once)
        if left:
            self._go_on()
        return left

    def _made(self, encoder: Encoder, at_once: int) -> int:
        """Make vectors for a moment; how many are left."""
        deadline = monotonic() + self.patience
        left = self._batch(encoder, at_once)
        total = left + at_once
        while left and monotonic() < deadline:
            left = self._batch(encoder, at_once)
            self.progress(total - left, total)
        return left

    def _batch(self, encoder: Encoder, limit: int) -> int:
        """Give some texts their vectors; how many are left without."""
        rows, total = self._index.unembedded(
            encoder.model, dim=encoder.dim, limit=limit, sensitive=not encoder.leaves_machine
        )
        if rows:
            vectors = encoder.encode([text for _, text in rows])
            made = ((key, *vector) for (key, _), vector in zip(rows, vectors, strict=True))
            self._index.embed(encoder.model, dim=encoder.dim, rows=made)
            if encoder is self._strong:
                # A process that starts for one question need not make the quick ones then.
                self._batch(self.encoder(), limit)
            if total == len(rows):
                self._drop_others(encoder.model)
        self._left[encoder.model] = left = total - len(rows)
        return left

    def _drop_others(self, model: str) -> None:
        """Once a model's vectors are complete, let go of another's that search used before.

        Those of the stronger encoder stay where it is not installed: another program's may be.
        """
        from commonplace.search.encoders.hashed import HashedEncoder

        both = (self.encoder().model, self._stronger.model) if self._stronger else ()
        # Claw's recall has vectors of its own.
        self._index.keep_models((model, *both, HashedEncoder.model))

    def embed_all(self, progress: OnProgress) -> None:
        """Give every text its vectors."""
        if self._open is None or self._index.without_vectors:
            return
        self._embed_by(self.encoder(), progress)
        strong = self._opened() if self._has_stronger() else None
        if strong:
            self._embed_by(strong, progress)

    def _embed_by(self, encoder: Encoder, progress: OnProgress) -> None:
        left = self._batch(encoder, MANY)
        total = left + MANY
        while left:
            progress(total - left, total)
            left = self._batch(encoder, MANY)
        progress(total, total)

    def _opened(self) -> Encoder | None:
        """The stronger encoder; None, with the reason kept, where it cannot be opened."""
        assert self._stronger is not None, "there is a stronger one"
        try:
            return self._stronger.open()
        except CommonplaceError as error:
            self.trouble = f"Static vectors alone: {error}"
            return None

    def _go_on(self) -> None:
        """Make the other vectors in the background, as long as this process asks questions."""
        from threading import Thread

        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._in_background, name="vectors", daemon=True)
            self._thread.start()

    def _in_background(self) -> None:
        from contextlib import suppress

        if self._stays and self._first_answers_given():
            self._strong, self._stays = self._opened(), False
        # Whoever searches next meets the same trouble, and says it.
        with suppress(CommonplaceError):
            self._complete(self.encoder(), FEW)
            if self._strong:
                self._complete(self._strong, STRONG_BATCH)

    def _complete(self, encoder: Encoder, at_once: int) -> None:
        self._in_making = encoder.model
        try:
            while not self._closed and self._batch(encoder, at_once):
                self._give_way()
        finally:
            self._in_making = ""

    def _first_answers_given(self) -> bool:
        from time import sleep

        deadline = monotonic() + FIRST_ANSWERS
        while not self._closed and monotonic() < deadline:
            sleep(PAUSE)
        return not self._closed

    def _give_way(self) -> None:
        """Let others go first: two that compute in one process take turns of many milliseconds."""
        from time import sleep

        sleep(PAUSE)
        for _ in range(PAUSES):
            if self._finding and not self._closed:
                sleep(PAUSE)

    def close(self) -> None:
        """Leave the rest for another time."""
        self._closed = True
        if self._thread is not None:
            self._thread.join()
