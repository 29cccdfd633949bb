"""Answer a question from the words and the vectors of an index, ranked.

The engine also gives every text its vector, some at each question and the rest in the background,
and says what an answer lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import Clock, monotonic
from commonplace.model.errors import CommonplaceError
from commonplace.model.records import Hit, Neighbour, SearchResult, Sensitivity
from commonplace.search.index import BEST, Asked, Candidate, Index, Query
from commonplace.search.words import match

if TYPE_CHECKING:
    from threading import Thread

    from commonplace.search.encoders import Encoder
    from commonplace.search.ranking import Ranked
    from commonplace.search.time_phrases import Period


class Miss(Struct, frozen=True):
    """Why a record is not among the first hits of a search, or that it is."""

    id: str
    rank: int
    """From 1; 0 when it was not among what was compared."""
    reasons: tuple[str, ...]
    why: tuple[tuple[str, float], ...] = ()
    """Each signal's part of its rank, where it was compared."""

    @property
    def found(self) -> bool:
        return self.rank > 0 and not self.reasons


OnProgress = Callable[[int, int], None]

BATCH = 64
FEW = 32
MANY = 256
"""How many texts get their vector at once: during a question, in the background, where a question
may come at any time, and when nobody waits for one."""
PATIENCE = 0.1
"""So many seconds where others may ask meanwhile, and the rest is made in the background."""
BELOW = 3
"""So many are told of where nothing is near enough to the question."""
SURE = 0.3
"""The relevance from which the best answer is taken for the event that a question names."""
PAUSE = 0.005
"""Seconds between two batches in the background, for whoever searches meanwhile."""
PAUSES = 20
"""So many in a row at most: where somebody always searches, vectors are made all the same."""


class SearchEngine:
    """Answers questions from one index, with one encoder or with words alone."""

    def __init__(
        self,
        index: Index,
        encoder: Callable[[], Encoder] | None = None,
        *,
        clock: Clock,
    ) -> None:
        self._index = index
        self._clock = clock
        self._open = encoder
        self._encoder: Encoder | None = None
        self._closed = False
        self._thread: Thread | None = None
        self._left = 0
        """How many texts had no vector after the last batch."""
        self._finding = 0
        """How many questions are being answered."""
        self._counting = RLock()
        self.patience = PATIENCE
        """Seconds of a search that may go into vectors that are missing."""
        self.progress: OnProgress = lambda done, total: None

    def find(self, query: Query) -> SearchResult:
        """What fits the query best; without text, the newest."""
        with self._counting:
            self._finding += 1
        try:
            return self._find(query)
        finally:
            with self._counting:
                self._finding -= 1

    def _find(self, query: Query) -> SearchResult:
        if not query.text.strip() or query.limit <= 0:
            return SearchResult(self._index.search(query))
        asked, degraded = self.asked(query.text)
        found = self._index.candidates(query, asked)
        if not found:
            # No word in it, but perhaps an emoji or a sign.
            return SearchResult(self._index.search(query), degraded=degraded)
        hits = self._told(self._ranked(found, query, limit=query.limit), found, query)
        return SearchResult(
            self._filled(hits, found, query),
            mode=_mode(found, asked),
            degraded=degraded,
            nearest=() if hits else self._nearest(found, query),
        )

    def _nearest(self, found: Sequence[Candidate], query: Query) -> list[Hit]:
        """What comes first of all that is not near enough."""
        order = self._ranked(found, query, limit=min(BELOW, query.limit), every=True)
        return self._told(order, found, query)

    def _told(self, best: Sequence[Ranked], found: Sequence[Candidate], query: Query) -> list[Hit]:
        """The ranked as hits, with their neighbours and their reasons."""
        from commonplace.search.reasons import reasons

        hits = self._index.hits([(each.candidate.key, each.relevance) for each in best])
        by_key = {each.key: each for each in found}
        by_id = {each.candidate.id: each for each in best}
        return [
            replace(
                hit,
                beside=_beside(by_id[hit.record.id].candidate, by_key),
                why=tuple(by_id[hit.record.id].parts().items()) if query.explain else (),
                reasons=reasons(by_id[hit.record.id], query.text, by_key),
            )
            for hit in hits
        ]

    def why_not(self, hit: Hit, query: Query) -> Miss:
        """Why a record that there is was not found, as far as the query can tell."""
        barred = self._barred(hit, query)
        if barred:
            return Miss(hit.record.id, 0, barred)
        if not query.text.strip():
            return Miss(hit.record.id, 0, ("Without words the newest are listed, not the best.",))
        asked, degraded = self.asked(query.text)
        found = self._index.candidates(query, asked)
        order = self._ranked(found, query, limit=len(found))
        place = {each.candidate.id: at for at, each in enumerate(order, 1)}.get(hit.record.id, 0)
        lacking = (degraded,) if degraded else ()
        if not place:
            return Miss(hit.record.id, 0, (*_uncompared(hit, query, len(found)), *lacking))
        its = order[place - 1]
        below = _below(its, order[query.limit - 1], place) if place > query.limit else ()
        return Miss(hit.record.id, place, below, tuple(its.parts().items()))

    def _ranked(
        self, found: Sequence[Candidate], query: Query, *, limit: int, every: bool = False
    ) -> list[Ranked]:
        from commonplace.search.ranking import ranked

        side = self._side_of_event(query)
        today, day_of = self._clock.today(), self._clock.day_of
        return ranked(found, query.text, today, limit=limit, event=side, day_of=day_of, every=every)

    def _side_of_event(self, query: Query) -> Period | None:
        """The time before or after an event of the question's, if the vault knows its day.

        The event's words are a question of their own, whose best answer has the day.
        """
        from commonplace.search.ranking import date_of, ranked
        from commonplace.search.time_phrases import event_in, period_in

        event, today, day_of = event_in(query.text), self._clock.today(), self._clock.day_of
        if event is None or period_in(query.text, today):
            return None
        asked, _ = self.asked(event.words)
        found = self._index.candidates(replace(query, text=event.words), asked)
        for best in ranked(found, event.words, today, limit=1, day_of=day_of):
            day = date_of(day_of(best.candidate.timestamp))
            if day and best.relevance >= SURE:
                return event.side(day, today)
        return None

    def _barred(self, hit: Hit, query: Query) -> tuple[str, ...]:
        """What keeps it out whatever the words are."""
        from commonplace.search.chains import Chains

        record, day = hit.record, self._clock.day_of(hit.record.timestamp)
        children = Chains(self._index).successors(record)
        reasons = {
            "It is secret: search never shows it unless that is asked for.": (
                record.sensitivity == Sensitivity.SECRET and not query.include_secret
            ),
            f"{', '.join(children)} replaced it: --include-superseded shows it.": (
                bool(children) and not query.include_superseded
            ),
            f"Its kind is {record.kind}.": bool(query.kinds) and record.kind not in query.kinds,
            f"Its tags are {', '.join(record.tags) or 'none'}.": (
                not set(query.tags) <= set(record.tags)
            ),
            f"It is of {day or 'no known day'}.": (
                day < query.since or (bool(query.until) and not "" < day <= query.until)
            ),
        }
        return tuple(reason for reason, holds in reasons.items() if holds)

    def _filled(self, hits: list[Hit], found: Sequence[Candidate], query: Query) -> list[Hit]:
        """The hits, with what the words find beyond the candidates where more are wanted."""
        if len(hits) >= query.limit or sum(each.words_rank >= 0 for each in found) < BEST:
            return hits
        there = {hit.record.id for hit in hits}
        rest = (hit for hit in self._index.search(query) if hit.record.id not in there)
        last = hits[-1].score if hits else 1.0
        return [*hits, *(_further(each, query, last) for each in rest)]

    def asked(self, text: str) -> tuple[Asked | None, str]:
        """The question as a vector, and what its answer will lack."""
        if self._open is None:
            return None, ""
        if self._index.without_vectors:
            return None, f"Words alone: {self._index.without_vectors}"
        try:
            encoder = self.encoder()
            degraded = self._some(encoder)
            vector, norm = encoder.encode_query(text, self._worth)
        except CommonplaceError as error:
            return None, f"Words alone: {error}"
        return (Asked(encoder.model, vector, norm) if norm else None), degraded

    def _worth(self, words: Sequence[str]) -> dict[str, float]:
        return {word: rare**0.5 for word, rare in self._index.rarity(words).items()}

    def encoder(self) -> Encoder:
        """The encoder, opened when it is first needed."""
        if self._encoder is None:
            assert self._open is not None, "there is an encoder"
            self._encoder = self._open()
        return self._encoder

    def use(self, encoder: Encoder) -> None:
        """Go on with this encoder."""
        self._encoder = encoder

    def _some(self, encoder: Encoder) -> str:
        """Make vectors for a moment, unless they are being made; say what is left without one."""
        left = self._left if self._is_at_work() else self._made(encoder)
        if not left:
            return ""
        self._go_on()
        return (
            f"{left:,} texts have no vector yet and are found by their words alone. More get "
            "theirs at each search, all of them with `commonplace rebuild`."
        )

    def _made(self, encoder: Encoder) -> int:
        """Make vectors for a moment; how many are left."""
        deadline = monotonic() + self.patience
        left = self._batch(encoder)
        total = left + BATCH
        while left and monotonic() < deadline:
            left = self._batch(encoder)
            self.progress(total - left, total)
        return left

    def _batch(self, encoder: Encoder, limit: int = BATCH) -> int:
        """Give some texts their vectors; how many are left without."""
        rows, total = self._index.unembedded(
            encoder.model, dim=encoder.dim, limit=limit, sensitive=not encoder.leaves_machine
        )
        if rows:
            vectors = encoder.encode([text for _, text in rows])
            made = ((key, *vector) for (key, _), vector in zip(rows, vectors, strict=True))
            self._index.embed(encoder.model, dim=encoder.dim, rows=made)
            if total == len(rows):
                self._drop_others(encoder.model)
        self._left = total - len(rows)
        return self._left

    def _drop_others(self, model: str) -> None:
        """Once a model's vectors are complete, let go of another's that search used before."""
        from commonplace.search.encoders.hashed import HashedEncoder

        # Claw's recall has vectors of its own.
        self._index.keep_models((model, HashedEncoder.model))

    def embed_all(self, progress: OnProgress) -> None:
        """Give every text its vector."""
        if self._open is None or self._index.without_vectors:
            return
        encoder = self.encoder()
        left = self._batch(encoder, MANY)
        total = left + MANY
        while left:
            progress(total - left, total)
            left = self._batch(encoder, MANY)
        progress(total, total)

    def _go_on(self) -> None:
        """Make the other vectors in the background, as long as this process asks questions."""
        from threading import Thread

        if not self._is_at_work():
            self._thread = Thread(target=self._in_background, name="vectors", daemon=True)
            self._thread.start()

    def _is_at_work(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _in_background(self) -> None:
        from contextlib import suppress

        encoder = self.encoder()
        # Whoever searches next meets the same trouble, and says it.
        with suppress(CommonplaceError):
            while not self._closed and self._batch(encoder, FEW):
                self._give_way()

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


def _mode(found: Sequence[Candidate], asked: Asked | None) -> str:
    """What an answer rests on."""
    if asked is None:
        return "words"
    return "hybrid" if any(each.words_rank >= 0 for each in found) else "vectors"


def _further(hit: Hit, query: Query, last: float) -> Hit:
    """What its words alone found, behind the last of those that were ranked."""
    from commonplace.search.reasons import by_words

    told = by_words(query.text, hit.record.text)
    return Hit(hit.record, hit.places, min(last, hit.score), reasons=told)


def _beside(each: Candidate, by_key: dict[int, Candidate]) -> tuple[Neighbour, ...]:
    """Lines of a document stand side by side by chance; turns of a session do not, nor what was
    found by its neighbours.
    """
    from commonplace.search.scene import is_like

    if not each.session and is_like(each):
        return ()
    near = (by_key[key] for key in (each.before, each.after) if key in by_key)
    return tuple(Neighbour(it.id, it.timestamp, it.username, it.text, it.origin) for it in near)


def _uncompared(hit: Hit, query: Query, count: int) -> tuple[str, ...]:
    """Why it was not even a candidate."""
    asked = set(match(query.text).lower().replace('"', " ").split()) - {"or"}
    shared = sorted(asked.intersection(match(hit.record.text).lower().replace('"', " ").split()))
    words = (
        f"It shares {', '.join(shared)} with the question, but too many others share more."
        if shared
        else "It shares no word with the question."
    )
    return (words, f"Its meaning is not among the nearest either; {count} others were compared.")


def _below(its: Ranked, last: Ranked, place: int) -> tuple[str, ...]:
    """What the last that was shown has over one that was not."""
    mine, theirs = its.parts(), last.parts()
    lead = {name: theirs.get(name, 0.0) - mine.get(name, 0.0) for name in {*mine, *theirs}}
    most = sorted((name for name in lead if lead[name] > 0), key=lambda name: -lead[name])[:3]
    told = ", ".join(f"{name.replace('_', ' ')} {lead[name]:+.2f}" for name in most)
    return (f"It is number {place}. The last that is shown is ahead by {told or 'its age'}.",)
