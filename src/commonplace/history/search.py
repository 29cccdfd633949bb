"""Search the messages: the best hits, ranked as records are.

Messages have no vectors. Their words, the messages right before and after, who said them and when
decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from commonplace.model.clock import Clock
from commonplace.model.records import MESSAGE, Hit, Neighbour, Origin, Record, SearchResult
from commonplace.search.filters import clean
from commonplace.search.index import Candidate, Query
from commonplace.search.ranking import Ranked, ranked
from commonplace.search.reasons import AskedWords, reasons
from commonplace.search.words import match

UNFOUND = (0.0, -1)

Bounds = Mapping[str, str]
"""The session, and the times since and until: empty for any."""


class MessageSource(Protocol):
    """What is asked of the messages, wherever they are kept. A message is told as its position, id,
    content, time, session, role and channel.
    """

    def by_words(self, text: str, bounds: Bounds) -> list[tuple[int, float]]:
        """Position and BM25 of the best, the best first, of those level the newest."""

    def seen(self, positions: Iterable[int], bounds: Bounds) -> list[Any]:
        """These messages, each with the positions right before and after in its session, or 0."""

    def containing(self, text: str, bounds: Bounds, limit: int) -> list[Any]:
        """The newest messages with this in them; nothing at all is in every one."""


def found(source: MessageSource, query: Query, clock: Clock) -> SearchResult:
    """The messages that fit a query best; without text, the newest."""
    if query.kinds or query.tags or query.documents or query.limit <= 0:
        # No message has any of these.
        return SearchResult()
    since, until = query.span
    bounds = {
        "session": clean(query.session),
        "since": since or clean(query.since),
        "until": until or clean(query.until),
    }
    if not match(query.text):
        # It has no words in it, such as a picture character.
        rows = source.containing(clean(query.text.strip()), bounds, query.limit)
        return SearchResult(Hit(_record(row), (), 0.0) for row in rows)
    may = _candidates(source, query.text, bounds)
    by_key = {each.key: each for each in may}
    best = ranked(may, query.text, clock.today(), limit=query.limit, day_of=clock.day_of)
    return SearchResult(_hit(each, by_key, query) for each in best)


def _candidates(source: MessageSource, text: str, bounds: Bounds) -> list[Candidate]:
    """The best by their words, and what was said right before and after each."""
    best = source.by_words(text, bounds)
    scores = {position: (score, rank) for rank, (position, score) in enumerate(best)}
    chosen = source.seen(scores, bounds)
    near = {position for row in chosen for position in row[-2:] if position} - scores.keys()
    every = (*chosen, *source.seen(near, bounds))
    return [_candidate(row, scores.get(row[0], UNFOUND)) for row in every]


def _candidate(row: Sequence[Any], words: tuple[float, int]) -> Candidate:
    position, id_, content, time, session, role, channel, before, after = row
    told = (position, id_, MESSAGE, content, time, session, role, channel, _origin(role), False)
    return Candidate(*told, session, before, after, *words, *UNFOUND)


def _hit(each: Ranked, by_key: Mapping[int, Candidate], query: Query) -> Hit:
    it = each.candidate
    near = (by_key[key] for key in (it.before, it.after) if key in by_key)
    return Hit(
        _record((it.key, it.id, it.text, it.timestamp, it.session, it.username, it.channel)),
        (),
        each.relevance,
        tuple(Neighbour(one.id, one.timestamp, one.username, one.text, one.origin) for one in near),
        tuple(each.parts().items()) if query.explain else (),
        reasons(each, AskedWords(query.text), by_key),
    )


def _record(row: Sequence[Any]) -> Record:
    """A message as a record: who said it is its username."""
    _, id_, content, time, session, role, channel = row
    return Record(
        id=id_,
        kind=MESSAGE,
        text=content,
        timestamp=time,
        session=session,
        channel=channel,
        username=role,
        origin=_origin(role),
    )


def _origin(role: str) -> Origin:
    """What a tool answered may come from anywhere."""
    return Origin.TOOL if role == "tool" else Origin.AGENT
