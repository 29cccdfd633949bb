"""Find everything that a text has left behind, and erase it as one deed.

Summaries, experiences and messages are derived from records; the library takes the records
themselves out of documents, journal and index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.history.messages import History, Message
from commonplace.library.erase import Receipt
from commonplace.library.experiences import Experiences
from commonplace.library.library import Library
from commonplace.library.tombstones import normal
from commonplace.model.errors import NoSuchRecord
from commonplace.model.records import (
    COMPACTION,
    ID,
    PASSAGE,
    SYSTEM,
    Author,
    Hit,
    Record,
    Sensitivity,
)
from commonplace.search.index import Query
from commonplace.trust.neutralise import one_line
from commonplace.upkeep.compaction import expand, plan
from commonplace.upkeep.compaction.extractive import Extractive

MOST = 1000
"""Records, or messages, that one forgetting may find."""
QUOTE = 3
"""Words from which on a text in a message is that record's, and not a common phrase."""
QUOTED = 60
"""Characters of a message that are shown of what it says."""


class Doomed(Struct, frozen=True):
    """The records, summaries and messages that would be erased."""

    records: tuple[Record, ...]
    places: tuple[str, ...]
    summaries: tuple[Record, ...]
    """Made from these records, to be made anew from the others."""
    messages: tuple[Message, ...]
    """What was said of it in conversations: these stay, unless they are meant as well."""
    replaced: tuple[str, ...] = ()
    """Older records that these replaced: they come back only if that is asked for."""

    @property
    def said(self) -> tuple[dict[str, Any], ...]:
        """The sessions in which it was said: how many messages, their ids, and how the first began.

        Of what is secret no word is quoted.
        """
        secret = any(record.sensitivity == Sensitivity.SECRET for record in self.records)
        found: dict[str, list[Message]] = {}
        for message in self.messages:
            found.setdefault(message.session, []).append(message)
        return tuple(
            {
                "session": session,
                "messages": len(each),
                "quote": "" if secret else _shortened(each[0].content),
                "ids": [message.id for message in each],
            }
            for session, each in found.items()
        )


def matching(library: Library, what: str, *, held: Mapping[str, Record]) -> list[Hit]:
    """The record of that id, or all in which every word of a query stands.

    Among them those that wait for approval, or did once, which are `held`; and where there are
    none, those that have departed from all documents.
    """
    library.refresh()
    hit = library.hit_of(what) if ID.match(what) else None
    if hit and hit.record.kind != PASSAGE:
        return [hit]
    if what in held:
        return [Hit(held[what], (), 0.0)]
    words = what.casefold().split()
    query = Query(
        text=what,
        include_superseded=True,
        include_secret=True,
        include_passages=False,
        limit=MOST,
    )
    hits = library.search(query) if words else []
    there = {hit.record.id for hit in hits}
    hits += [Hit(record, (), 0.0) for key, record in held.items() if words and key not in there]
    found = [hit for hit in hits if has_all(words, hit.record)]
    if not found and words:
        found = _departed(library, what, words)
    if not found:
        now = (
            library.eraser.reworded(lambda record: has_all(words, record), words=words)
            if words
            else ()
        )
        raise NoSuchRecord(what, said_in=_said_in(library, what, words), now=now)
    ids = {hit.record.id for hit in found}
    # A summary of what is found is made anew, with the rest of what it was made from.
    return [hit for hit in found if ids.isdisjoint(hit.record.sources)]


def has_all(words: Iterable[str], record: Record) -> bool:
    return all(word in record.text.casefold() for word in words)


def _departed(library: Library, what: str, words: Sequence[str]) -> list[Hit]:
    found = library.eraser.departed(
        lambda record: record.id == what or has_all(words, record), words=words
    )
    return [Hit(gone.record, (), 0.0) for gone in found.values()]


def _said_in(library: Library, what: str, words: Sequence[str]) -> tuple[str, ...]:
    """The documents whose prose says it: that is nobody's record, and a person's to change."""
    hits = library.search(Query(text=what, limit=MOST)) if words else []
    return tuple(
        sorted(
            {place.document for hit in hits if has_all(words, hit.record) for place in hit.places}
        )
    )


def doomed(
    library: Library,
    ids: Sequence[str],
    *,
    history: History | None,
    held: Mapping[str, Record],
    words: str = "",
) -> Doomed:
    """What goes with these records, and the messages that quote them or say all `words`."""
    hits = [
        library.hit_of(key) or Hit(held[key], (), 0.0) if key in held else library.get(key)
        for key in ids
    ]
    summaries = _summaries(library, ids)
    told = [hit.record for hit in hits] + summaries
    return Doomed(
        tuple(hit.record for hit in hits),
        tuple(sorted({place.document for hit in hits for place in hit.places})),
        tuple(summaries),
        _said_of(history, told, words) if history else (),
        library.chains.loss([hit.record for hit in hits if hit.places]).returning,
    )


def forget(
    library: Library,
    ids: Sequence[str],
    *,
    author: Author,
    history: History | None,
    held: Mapping[str, Record],
    experiences: Experiences,
    text_limit: int,
    words: str = "",
    and_messages: bool = False,
    bring_back: bool = False,
) -> Receipt:
    """Erase records and what was made of them. The summaries they were in are made anew first.

    The messages that say it stay and are told of, unless they are to go as well.
    """
    gone = doomed(library, ids, history=history, held=held, words=words)
    for summary in gone.summaries:
        _make_anew(library, summary, set(ids), text_limit=text_limit)
    every = [*ids, *(record.id for record in gone.summaries if record.id not in ids)]
    # First what can be made anew, should the rest go wrong.
    vectors = library.locked(lambda: experiences.forget(every)) if every else 0
    receipt = (
        library.forget(every, author=author, bring_back=bring_back) if every else Receipt((), (), 0)
    )
    erased = 0
    if history and and_messages:
        erased = history.forget([message.id for message in gone.messages])
    return replace(
        receipt,
        ids=tuple(ids),
        summaries=tuple(every[len(ids) :]),
        experiences=vectors,
        messages=erased,
        said=() if and_messages else gone.said,
    )


def _summaries(library: Library, ids: Iterable[str]) -> list[Record]:
    """The summaries that were made from these records, and those made from them in turn."""
    query = Query(kinds=(COMPACTION,), include_superseded=True, include_secret=True, limit=1 << 30)
    every = [hit.record for hit in library.search(query) if hit.record.sources]
    found: dict[str, Record] = {}
    named = set(ids)
    while more := [r for r in every if r.id not in found and named.intersection(r.sources)]:
        found |= {record.id: record for record in more}
        named.update(found)
    return list(found.values())


def _make_anew(library: Library, summary: Record, ids: set[str], *, text_limit: int) -> None:
    """Replace an old summary by one of the records that stay."""
    left = [
        source.record
        for source in expand.sources(library, summary.id)
        if source.record and source.id not in ids
    ]
    if left:
        new_id: Callable[[], str] = library.clock.new_id
        day_of = library.clock.day_of
        fresh, _ = plan.summary_of(
            left, Extractive(), new_id=new_id, text_limit=text_limit, day_of=day_of
        )
        places = library.get(summary.id).places
        documents = list(dict.fromkeys(place.document for place in places))
        library.store.add([fresh], to=lambda _: documents, author=SYSTEM)


def _said_of(history: History, records: Iterable[Record], words: str) -> tuple[Message, ...]:
    """The messages in which the whole text of a record stands, or every one of the words."""
    found: dict[str, Message] = {}
    for record in records:
        text = normal(record.text)
        if len(record.text.split()) >= QUOTE:
            said = history.search(record.text, limit=MOST)
            found |= {each.id: each for each in said if text in normal(each.content)}
    wanted = words.casefold().split()
    said = history.search(words, limit=MOST) if wanted else []
    found |= {e.id: e for e in said if all(word in e.content.casefold() for word in wanted)}
    return tuple(sorted(found.values(), key=lambda message: (message.time, message.id)))


def _shortened(text: str) -> str:
    shown = one_line(text)
    return shown if len(shown) <= QUOTED else shown[:QUOTED].rstrip() + "…"
