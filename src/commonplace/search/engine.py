"""Answer a question from the words and the vectors of an index, ranked, and say what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import Clock, end_of, stamp, start_of
from commonplace.model.records import (
    Hit,
    Neighbour,
    Record,
    SearchResult,
    Sensitivity,
    is_over,
    is_to_come,
    now_of,
)
from commonplace.search import typos
from commonplace.search.embedder import Embedder
from commonplace.search.index import BEST, Asked, Candidate, Index, Query
from commonplace.search.question import Question, question_in

if TYPE_CHECKING:
    from commonplace.search.encoders import Encoder, Stronger
    from commonplace.search.ranking import Ranked
    from commonplace.search.reasons import AskedWords
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


class Understood(Struct, frozen=True):
    """A query as it was read, and what was found to compare with it."""

    query: Query
    """Its text is the question alone, without misspelt words."""
    question: Question
    readings: dict[str, str]
    """As what each misspelt word is read."""
    asked: Asked | None
    degraded: str
    """What the answer lacks."""
    found: list[Candidate]


BELOW = 3
"""So many are told of where nothing is near enough to the question."""
SURE = 0.3
"""The relevance from which the best answer is taken for the event that a question names."""


class SearchEngine:
    """Answers questions from one index, by its words and by the vectors that there are."""

    def __init__(
        self,
        index: Index,
        encoder: Callable[[], Encoder] | None = None,
        *,
        clock: Clock,
        stronger: Callable[[], Stronger | None] = lambda: None,
    ) -> None:
        self._index = index
        self._clock = clock
        self.embedder = Embedder(index, encoder, stronger)

    def find(self, query: Query) -> SearchResult:
        """What fits the query best; without text, the newest."""
        with self.embedder.while_asked():
            return self._find(self.timely(query))

    def timely(self, query: Query) -> Query:
        """The query as an index can answer it: which records held at its time is found here."""
        if not query.current and not query.as_of:
            return query
        timed = self._index.timed()
        if not query.as_of:
            return replace(query, current=False, without_ids=_ids(apart_from(timed, self._clock)))
        day, zone = date.fromisoformat(query.as_of), self._clock.zone
        first, last = start_of(day, zone=zone), end_of(day, zone=zone)
        return replace(
            query,
            current=False,
            as_of="",
            without_ids=_ids(apart_from(timed, self._clock, first, last)),
            stood_at=stamp(last),
            include_superseded=True,
        )

    def _find(self, query: Query) -> SearchResult:
        if not query.text.strip() or query.limit <= 0:
            return SearchResult(self._index.search(query))
        read = self.compare(query)
        query, found = read.query, read.found
        if not found:
            # No word in it, but perhaps an emoji or a sign.
            return SearchResult(self._index.search(query), degraded=read.degraded)
        best = self._ranked(found, query, read.question.aside, limit=query.limit)
        from commonplace.search.reasons import AskedWords

        wording = AskedWords(query.text, read.question.aside, read.readings)
        hits = self._told(best, found, query, wording)
        return SearchResult(
            self._filled(hits, found, query),
            mode=self._mode(found, read.asked),
            degraded=read.degraded,
            nearest=() if hits else self._nearest(found, query, wording),
            readings=read.readings,
        )

    def compare(self, query: Query) -> Understood:
        """Read a query with text, and collect what may answer it."""
        question = question_in(query.text, self._index.rarity)
        readings = typos.readings(question.text, self._index, query)
        text = typos.read_as(question.text, readings)
        asked, degraded = self.asked(text, question.rest)
        words = replace(query, text=" ".join((text, *question.aside)))
        found = self._index.candidates(words, asked)
        return Understood(replace(query, text=text), question, readings, asked, degraded, found)

    def _nearest(self, found: Sequence[Candidate], query: Query, wording: AskedWords) -> list[Hit]:
        """What comes first of all that is not near enough."""
        most = min(BELOW, query.limit)
        order = self._ranked(found, query, wording.aside, limit=most, every=True)
        return self._told(order, found, query, wording)

    def _told(
        self,
        best: Sequence[Ranked],
        found: Sequence[Candidate],
        query: Query,
        wording: AskedWords,
    ) -> list[Hit]:
        """The ranked as hits, with their neighbours and their reasons."""
        from commonplace.search.reasons import reasons

        hits = self._index.hits([(each.candidate.key, each.relevance) for each in best])
        by_key = {each.key: each for each in found}
        by_id = {each.candidate.id: each for each in best}
        return [
            replace(
                hit,
                beside=_beside(by_id[hit.record.id], by_key),
                why=tuple(by_id[hit.record.id].parts().items()) if query.explain else (),
                reasons=reasons(by_id[hit.record.id], wording, by_key),
            )
            for hit in hits
        ]

    def why_not(self, hit: Hit, query: Query) -> Miss:
        """Why a record that there is was not found, as far as the query can tell."""
        barred = self._barred(hit, query)
        query = self.timely(query)
        if barred:
            return Miss(hit.record.id, 0, barred)
        if not query.text.strip():
            return Miss(hit.record.id, 0, ("Without words the newest are listed, not the best.",))
        read = self.compare(query)
        query, found, degraded = read.query, read.found, read.degraded
        order = self._ranked(found, query, read.question.aside, limit=len(found))
        place = {each.candidate.id: at for at, each in enumerate(order, 1)}.get(hit.record.id, 0)
        if not place:
            is_compared = any(each.id == hit.record.id for each in found)
            told = _unlike(hit, query) if is_compared else _uncompared(hit, query, len(found))
            return Miss(hit.record.id, 0, (*told, *((degraded,) if degraded else ())))
        its = order[place - 1]
        below = _below(its, order[query.limit - 1], place) if place > query.limit else ()
        return Miss(hit.record.id, place, below, tuple(its.parts().items()))

    def _ranked(
        self,
        found: Sequence[Candidate],
        query: Query,
        aside: Sequence[str],
        *,
        limit: int,
        every: bool = False,
    ) -> list[Ranked]:
        from commonplace.search.ranking import ranked

        return ranked(
            found,
            query.text,
            self._clock.today(),
            limit=limit,
            aside=aside,
            event=self._side_of_event(query),
            day_of=self._clock.day_of,
            every=every,
        )

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
        now = now_of(self._clock)
        children = Chains(self._index).successors(record)
        reasons = {
            "It is secret: search never shows it unless that is asked for.": (
                record.sensitivity == Sensitivity.SECRET and not query.include_secret
            ),
            f"{', '.join(children)} replaced it: --include-superseded shows it.": (
                bool(children) and not query.include_superseded
            ),
            f"It held until {self._clock.day_of(record.valid_to)}: --as-of a day of its time, or "
            "'commonplace list --expired', shows it.": query.current and is_over(record, now),
            f"It holds from {self._clock.day_of(record.valid_from)} on.": (
                query.current and is_to_come(record, now)
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

    def _mode(self, found: Sequence[Candidate], asked: Asked | None) -> str:
        """What an answer rests on."""
        if asked is None:
            return "words"
        mode = "hybrid" if any(each.words_rank >= 0 for each in found) else "vectors"
        return f"{mode}-static" if self.embedder.stands_in(asked.model) else mode

    def asked(self, text: str, rest: str = "") -> tuple[Asked | None, str]:
        """The question as a vector, and what its answer will lack."""
        return self.embedder.asked(text, rest)

    def close(self) -> None:
        """Leave the rest for another time."""
        self.embedder.close()


def apart_from(
    records: Iterable[Record],
    clock: Clock,
    first: datetime | None = None,
    last: datetime | None = None,
) -> list[Record]:
    """Those that were over at the first moment, or had not begun at the last; both are now."""
    begin, end = now_of(clock, first), now_of(clock, last)
    return [each for each in records if is_over(each, begin) or is_to_come(each, end)]


def _ids(records: Iterable[Record]) -> tuple[str, ...]:
    return tuple(record.id for record in records)


def _further(hit: Hit, query: Query, last: float) -> Hit:
    """What its words alone found, behind the last of those that were ranked."""
    from commonplace.search.reasons import by_words

    told = by_words(query.text, hit.record.text)
    return Hit(hit.record, hit.places, min(last, hit.score), reasons=told)


def _beside(its: Ranked, by_key: dict[int, Candidate]) -> tuple[Neighbour, ...]:
    """Lines of a document stand side by side by chance; turns of a session do not, nor what was
    found by its neighbours.
    """
    each = its.candidate
    if not each.session and its.is_like:
        return ()
    near = (by_key[key] for key in (each.before, each.after) if key in by_key)
    return tuple(Neighbour(it.id, it.timestamp, it.username, it.text, it.origin) for it in near)


def _unlike(hit: Hit, query: Query) -> tuple[str, ...]:
    """Why one that was compared is not shown."""
    return (f"{_words_shared(hit, query)} Its meaning is near, but not near enough to be shown.",)


def _uncompared(hit: Hit, query: Query, count: int) -> tuple[str, ...]:
    """Why it was not even a candidate."""
    words = _words_shared(hit, query)
    return (words, f"Its meaning is not among the nearest either; {count} others were compared.")


def _words_shared(hit: Hit, query: Query) -> str:
    from commonplace.search.reasons import quoted, shared

    found = shared(query.text, hit.record.text)
    if not found:
        return "It shares no word with the question."
    return f"It shares {quoted(found)} with the question, but too many others share more."


def _below(its: Ranked, last: Ranked, place: int) -> tuple[str, ...]:
    """What the last that was shown has over one that was not."""
    from commonplace.search.reasons import label

    mine, theirs = its.parts(), last.parts()
    lead = {name: theirs.get(name, 0.0) - mine.get(name, 0.0) for name in {*mine, *theirs}}
    most = sorted((name for name in lead if lead[name] > 0), key=lambda name: -lead[name])[:3]
    told = ", ".join(f"{label(name)} {lead[name]:+.2f}" for name in most)
    return (f"It is number {place}. The last that is shown is ahead by {told or 'its age'}.",)
