"""Find memories: get, search, recall and brief."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.memory import session, upkeep, validity
from commonplace.model import limits
from commonplace.model.errors import BadValue, NoSuchRecord
from commonplace.model.lazy import Lazy
from commonplace.model.records import (
    BEHAVIORAL,
    PASSAGE,
    Hit,
    Origin,
    Record,
    SearchResult,
    is_over,
    now_of,
)
from commonplace.search.importance import RULES, Precedence, by_importance, in_order, standing
from commonplace.search.index import NEWEST, ORDERS, Query

if TYPE_CHECKING:
    from commonplace.library.experiences import Experiences
    from commonplace.memory import Memory, citing, telling
    from commonplace.search import alike, time_phrases
    from commonplace.search.engine import Miss
else:
    alike = Lazy("search.alike")
    citing = Lazy("memory.citing")
    telling = Lazy("memory.telling")
    time_phrases = Lazy("search.time_phrases")

SHARE_OF_FACTS = 30
"""The part of a brief, in a hundred, that behavioural entries leave to others."""
ABOUT = 0.02
"""The share of the best score from which a hit may be about the same: for whoever counts, to miss
one is worse than to read a few too many.
"""
GATHERED = 1000
"""The most that is counted as being about something."""
PLACES = ("memory", "history", "all")
"""What a search may look through."""


def get(memory: Memory, record_id: str) -> Hit:
    session.check_open(memory)
    hit = memory.library.get(session.meant(memory, record_id))
    if hit.places and not any(memory.serves(place.document) for place in hit.places):
        raise NoSuchRecord(hit.record.id)
    return hit


def search(
    memory: Memory, text: str = "", *, within: str = "memory", **filters: Any
) -> SearchResult:
    limits.check_type(text, str, "query")
    limits.check_limit(filters.get("limit", 20), most=1 << 30)
    limits.check_list(filters.get("tags", ()), argument="tags")
    if within not in PLACES:
        places = ", ".join(PLACES)
        raise BadValue("within", f"{within!r} is no place", next_step=f"Use {places}.")
    query = session.narrowed(memory, _query(memory, text, **filters))
    session.check_open(memory)
    hits = SearchResult() if within == "history" else memory.library.find(query)
    if hits.rests_on_files:
        citing.sunk(memory, hits, by_score=bool(text.strip()))
    memory.note_shown(it for hit in (*hits, *hits.nearest) for it in hit.shown)
    return hits if within == "memory" else _merged(hits, _said(memory, query), query)


def _query(memory: Memory, text: str, *, as_of: str = "", **filters: Any) -> Query:
    """The filters of a search as a query: what holds now, or held on a day.

    Who asks for what was replaced, too, is shown what is over as well.
    """
    filters |= _bounds(memory, **{name: filters.get(name, "") for name in ("since", "until")})
    day = validity.as_of_day(as_of, memory.clock) if as_of else ""
    now = not day and not filters.get("include_superseded")
    return Query(text=text, **{"current": now, "as_of": day, **filters})


def expired(memory: Memory, **filters: Any) -> list[Hit]:
    memory.library.refresh()
    now = now_of(memory.clock)
    ids = tuple(record.id for record in memory.library.timed() if is_over(record, now))
    return memory.listed(**filters, ids=ids) if ids else []


def listing_query(memory: Memory, **filters: Any) -> Query:
    """The filters of a list as a query: days as a person names them, passages on demand."""
    order = filters.get("order", NEWEST)
    if order not in ORDERS:
        known = ", ".join(ORDERS)
        raise BadValue("order", f"{order!r} is not known", next_step=f"Use {known}.")
    filters |= _bounds(memory, **{name: filters.get(name, "") for name in ("since", "until")})
    return session.narrowed(memory, Query(**{"include_passages": False, **filters}))


def listed(memory: Memory, **filters: Any) -> list[Hit]:
    session.check_open(memory)
    memory.library.refresh()
    hits = memory.library.search(listing_query(memory, **filters))
    memory.note_shown(hit.record for hit in hits)
    return hits


class Gathered(Struct, frozen=True):
    """Everything that may be about something."""

    text: str
    groups: dict[str, list[Hit]]
    """By kind, and by document what is not a record: the fullest first, each the newest first."""
    count: int
    """How many there are, shown or not."""
    found: SearchResult
    """The search that it was gathered from."""

    @property
    def more(self) -> int:
        """How many are not shown."""
        return self.count - sum(map(len, self.groups.values()))

    def in_order(self) -> Iterator[tuple[str, Hit]]:
        """Each hit with the name of its group."""
        return ((name, hit) for name, hits in self.groups.items() for hit in hits)


def all_about(memory: Memory, text: str, *, limit: int = 100, **filters: Any) -> Gathered:
    limits.check_type(text, str, "query")
    if not text.strip():
        raise BadValue("query", "it is empty", next_step="Say what to gather everything about.")
    found = search(memory, text, limit=GATHERED, **filters)
    about = [hit for hit in found if hit.score >= found[0].score * ABOUT]
    groups: dict[str, list[Hit]] = {}
    for hit in sorted(about[:limit], key=lambda hit: hit.record.said_at, reverse=True):
        groups.setdefault(_group(hit), []).append(hit)
    fullest = dict(sorted(groups.items(), key=lambda pair: -len(pair[1])))
    return Gathered(text, fullest, len(about), found)


def _group(hit: Hit) -> str:
    if hit.record.kind == PASSAGE and hit.places:
        return hit.places[0].document
    return hit.record.kind


def _said(memory: Memory, query: Query) -> SearchResult:
    """The messages that fit a query, wherever there is a history."""
    if not memory.parts.has_history():
        return SearchResult()
    found = memory.messages.find(query, memory.clock)
    session.mind_said(
        memory, ((hit.record.session, it.username) for hit in found for it in hit.shown)
    )
    return found


def why_not(memory: Memory, record_id: str, text: str, **filters: Any) -> Miss:
    hit = memory.get(record_id)
    return memory.library.engine.why_not(hit, _query(memory, text, **filters))


def _bounds(memory: Memory, since: str, until: str) -> dict[str, Any]:
    """Days as a person names them, as the index compares them."""
    if not since and not until:
        return {}
    for name, day in (("since", since), ("until", until)):
        limits.check_type(day or "", str, name)
    today = memory.clock.today()
    first = time_phrases.first_day(memory.clock.named_day(since), today) if since else ""
    last = time_phrases.last_day(memory.clock.named_day(until), today) if until else ""
    return {"since": first, "until": last, "span": memory.clock.span(first, last)}


def recall(memory: Memory, text: str, *, limit: int = 10) -> list[Hit]:
    session.check_open(memory)
    limits.check_type(text, str, "query")
    limits.check_limit(limit, most=1 << 30)
    newest = memory.options.memory_embeddings_max_records
    hits = memory.library.recall(text, limit=limit, newest=newest, writes=not memory.read_only)
    hits = [hit for hit in hits if not hit.record.is_checkpoint]
    upkeep.tell_beside(memory)
    memory.note_shown(hit.record for hit in hits)
    return hits


def experiences(memory: Memory) -> Experiences:
    from commonplace.library.experiences import Experiences
    from commonplace.search.encoders.hashed import HashedEncoder

    return Experiences(memory.library, memory.notes, encoder=HashedEncoder())


def take_in_experiences(memory: Memory) -> list[Record]:
    taken = memory.experiences.take_in(threshold=memory.options.experience_uniqueness_threshold)
    upkeep.tell_beside(memory)
    return taken


def recall_experiences(memory: Memory, text: str, *, limit: int = 10) -> list[Hit]:
    session.check_open(memory)
    if not memory.experiences.are_there() and not memory.read_only:
        memory.take_in_experiences()
    hits = memory.experiences.nearest(text, limit=limit)
    memory.note_shown(hit.record for hit in hits)
    return hits


def brief(memory: Memory, *, limit: int = 100, by_standing: bool = True) -> list[Record]:
    limits.check_limit(limit, most=1 << 30)
    session.check_open(memory)
    memory.library.refresh()
    timely = memory.library.engine.timely(Query(limit=limit, current=True))
    seen = session.narrowed(memory, timely)
    first, rest = _by_standing(memory, seen) if by_standing else _by_importance(memory, seen)
    room = limit - min(len(rest), limit * SHARE_OF_FACTS // 100)
    hits = [*first[:room], *rest][:limit]
    records = [hit.record for hit in hits if not hit.record.is_checkpoint]
    waiting = memory.library.approvals.waiting_among(records)
    records = [record for record in records if record.id not in waiting]
    memory.note_shown(records)
    if memory.for_agents:
        memory.note_told(telling.BRIEF, telling.lines_for(records, "the agent asked for a brief"))
    return records


def _by_importance(memory: Memory, seen: Query) -> tuple[list[Hit], list[Hit]]:
    """What tells how to behave, and the rest: of the newest, the most important first."""
    search, behavioral = memory.library.search, tuple(sorted(BEHAVIORAL))
    rules = search(replace(seen, kinds=behavioral))
    others = search(replace(seen, without_kinds=(PASSAGE, *behavioral)))
    stale = memory.stale([hit.record for hit in (*rules, *others)])
    first, rest = (by_importance(hits, memory.clock, stale=stale) for hits in (rules, others))
    return first, rest


def _by_standing(memory: Memory, seen: Query) -> tuple[list[Hit], list[Hit]]:
    """The same as a session is told it: by whose words it is, however old, and nothing twice."""
    rules, behavioral = tuple(sorted(RULES)), tuple(sorted(BEHAVIORAL))
    asked = (
        replace(seen, pinned=True, include_passages=False),
        replace(seen, kinds=rules, origins=(Origin.OWNER,)),
        replace(seen, kinds=rules, without_origins=(Origin.OWNER,)),
        replace(seen, kinds=tuple(sorted(BEHAVIORAL - RULES))),
        replace(seen, without_kinds=(PASSAGE, *behavioral)),
    )
    found = {hit.record.id: hit for query in asked for hit in memory.library.search(query)}
    told = (hit for hit in found.values() if not hit.record.when)
    stale = memory.stale([hit.record for hit in found.values()])
    hits = in_order(told, now_of(memory.clock), stale=stale)
    again = alike.repeats([hit.record.text for hit in hits])
    once = [hit for at, hit in enumerate(hits) if at not in again]
    first = [hit for hit in once if standing(hit.record) != Precedence.OTHER]
    return first, [hit for hit in once if standing(hit.record) == Precedence.OTHER]


def _merged(hits: SearchResult, said: SearchResult, query: Query) -> SearchResult:
    """Records and messages together: a score says the same of both how likely each is wanted."""
    both = [*hits, *said]
    if query.text.strip():
        both.sort(key=lambda hit: hit.score, reverse=True)
    else:
        both.sort(key=lambda hit: hit.record.timestamp, reverse=True)
    return SearchResult(
        both[: query.limit],
        mode=hits.mode,
        degraded=hits.degraded,
        nearest=() if both else hits.nearest,
        readings=hits.readings,
    )
