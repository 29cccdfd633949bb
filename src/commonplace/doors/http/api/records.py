"""Records over HTTP: list, show, add, replace and forget them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec.structs import asdict

from commonplace.doors.caller import client_title
from commonplace.doors.http import event_stream
from commonplace.doors.http.routes import IN_AN_ADDRESS, Id, Limit, Offset, Reply, route
from commonplace.library import accounts
from commonplace.library.record_past import Removed
from commonplace.library.revising import mark_of
from commonplace.memory import Memory
from commonplace.model.errors import NoSuchRecord
from commonplace.model.records import PASSAGE, Hit, Origin, Record, Sensitivity
from commonplace.tools.cited import data_of
from commonplace.tools.tool import Argument
from commonplace.trust import admission
from commonplace.trust.evidence import LONGEST as LONGEST_QUOTE
from commonplace.trust.origins import trust_of

Words = Annotated[
    str, Argument("words that the text or the tags have, all of them", max_length=IN_AN_ADDRESS)
]
Kinds = Annotated[list[str], Argument("any of these kinds", max_items=20)]
Tags = Annotated[list[str], Argument("all of these tags", max_items=20)]
People = Annotated[
    list[str], Argument("by any of these people, or tagged person:NAME", max_items=20)
]
Projects = Annotated[
    list[str], Argument("of any of these groups, or tagged project:NAME", max_items=20)
]
Origins = Annotated[list[str], Argument("from any of: owner, agent, tool, web …", max_items=20)]
Day = Annotated[str, Argument("a day such as 2026-03-01 or yesterday", max_length=40)]
AsOf = Annotated[str, Argument("what held on this day, replaced since or not", max_length=40)]
Begins = Annotated[str, Argument("the day from which it holds: 2026-12-01, 2w", max_length=40)]
Ends = Annotated[str, Argument("the last day on which it holds: 2026-12-01, 2w", max_length=40)]
Evidence = Annotated[
    list[str], Argument("documents and files it rests on: USER.md:12", max_items=10)
]
Superseded = Annotated[bool, Argument("replaced ones too")]
Pinned = Annotated[bool, Argument("only what its owner pinned")]
MOST_WORDS = 20
"""Words of a filter that are looked for."""
IN_A_CHAIN = 50
"""Most records that are shown of a chain of replacements, in either direction."""


def shown_record(record: Record) -> dict[str, Any]:
    """A record as data, with what follows from it."""
    return {
        "text": record.text,
        **record.data(),
        "behavioral": record.behavioral,
        "sensitivity": record.sensitivity,
        "origin": record.origin,
        "trust": trust_of(record.origin).name.lower(),
        "passage": record.kind == PASSAGE,
    }


def shown_hit(hit: Hit) -> dict[str, Any]:
    """Something found, with where it stands."""
    places = [{"document": place.document, "line": place.line} for place in hit.places]
    return {
        **shown_record(hit.record),
        "places": places,
        "score": round(hit.score, 4),
        "etag": mark_of(hit.record),
    }


def may_see(memory: Memory, record: Record) -> bool:
    """Secrets are shown to their owner alone."""
    return memory.origin == Origin.OWNER or record.sensitivity != Sensitivity.SECRET


@route("GET", "/records", scope="read")
def list_records(
    memory: Memory,
    text: Annotated[
        str, Argument("a question or words: the best come first", max_length=IN_AN_ADDRESS)
    ] = "",
    words: Words = "",
    kinds: Kinds = [],  # noqa: B006
    tags: Tags = [],  # noqa: B006
    people: People = [],  # noqa: B006
    projects: Projects = [],  # noqa: B006
    origins: Origins = [],  # noqa: B006
    since: Day = "",
    until: Day = "",
    document: Annotated[str, Argument("standing in this document", max_length=400)] = "",
    session: Annotated[str, Argument("of this session", max_length=200)] = "",
    superseded: Superseded = False,
    pinned: Pinned = False,
    passages: Annotated[bool, Argument("plain text of documents too")] = False,
    order: Annotated[
        Literal["newest", "oldest", "longest", "repeated"], Argument("what comes first")
    ] = "newest",
    offset: Offset = 0,
    limit: Limit = 50,
) -> Any:
    """Records that fit every filter, a page at a time."""
    filters = list_filters(
        words, kinds, tags, people, projects, origins, since, until, superseded, pinned
    )
    filters |= {"documents": (document,) if document else (), "session": session}
    filters["include_passages"] = passages
    if text:
        found = memory.search(text, limit=offset + limit + 1, **filters)[offset:]
    else:
        found = memory.listed(order=order, limit=limit + 1, offset=offset, **filters)
    return {
        "records": _shown_page(memory, found[:limit], superseded=superseded),
        "more": len(found) > limit,
    }


def list_filters(
    words: str,
    kinds: list[str],
    tags: list[str],
    people: list[str],
    projects: list[str],
    origins: list[str],
    since: str,
    until: str,
    superseded: bool,
    pinned: bool = False,
) -> dict[str, Any]:
    """The filters of a list as a query has them."""
    return {
        "containing": tuple(words.split()[:MOST_WORDS]),
        "kinds": tuple(kinds),
        "tags": tuple(tags),
        "people": tuple(people),
        "projects": tuple(projects),
        "origins": tuple(origins),
        "since": since,
        "until": until,
        "include_superseded": superseded,
        "pinned": pinned,
    }


def _shown_page(memory: Memory, hits: list[Hit], *, superseded: bool) -> list[dict[str, Any]]:
    """Hits as data, each with whether another has replaced it."""
    replaced = memory.library.chains.replaced(hit.record.id for hit in hits) if superseded else ()
    return [
        told | {"replaced": hit.record.id in replaced}
        for told, hit in zip(shown_hits(memory, hits), hits, strict=True)
    ]


def shown_hits(memory: Memory, hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """What was found, each with the client of the session that stored it."""
    clients = memory.clients(hit.record.session for hit in hits)
    return [
        shown_hit(hit) | {"client": client_title(clients.get(hit.record.session, ""))}
        for hit in hits
    ]


@route("GET", "/sections", scope="read")
def list_sections(
    memory: Memory,
    words: Words = "",
    kinds: Kinds = [],  # noqa: B006
    tags: Tags = [],  # noqa: B006
    people: People = [],  # noqa: B006
    projects: Projects = [],  # noqa: B006
    origins: Origins = [],  # noqa: B006
    since: Day = "",
    until: Day = "",
    superseded: Superseded = False,
    pinned: Pinned = False,
    order: Annotated[
        Literal["newest", "oldest", "longest", "repeated"], Argument("what comes first")
    ] = "newest",
    limit: Limit = 6,
) -> Any:
    """The first records of each kind that fit every filter, with how many there are."""
    filters = list_filters(
        words, kinds, tags, people, projects, origins, since, until, superseded, pinned
    )
    told = memory.counts(**filters).kinds
    wanted = {kind: told[kind] for kind in told if kind in kinds or not kinds}
    return {
        "sections": [
            {
                "kind": kind,
                "count": count,
                "records": _shown_page(
                    memory,
                    memory.listed(order=order, limit=limit, **filters | {"kinds": (kind,)}),
                    superseded=superseded,
                ),
            }
            for kind, count in wanted.items()
        ]
    }


@route("GET", "/counts", scope="read")
def count_records(
    memory: Memory,
    words: Words = "",
    kinds: Kinds = [],  # noqa: B006
    tags: Tags = [],  # noqa: B006
    people: People = [],  # noqa: B006
    projects: Projects = [],  # noqa: B006
    origins: Origins = [],  # noqa: B006
    since: Day = "",
    until: Day = "",
    superseded: Superseded = False,
    pinned: Pinned = False,
) -> Any:
    """How many memories there are, how many fit the filters, and what else could be asked for.

    A memory is a record that nothing has replaced. Only its owner is told how many wait for
    approval.
    """
    filters = list_filters(
        words, kinds, tags, people, projects, origins, since, until, superseded, pinned
    )
    waiting = len(memory.review()) if memory.origin == Origin.OWNER else None
    counts = asdict(memory.counts(**filters))
    return counts | {"waiting": waiting, "removed": len(seen_removed(memory))}


def seen_removed(memory: Memory) -> list[Removed]:
    """What was taken out, as far as this reader may see it."""
    return [each for each in memory.removed() if may_see(memory, each.record)]


@route("GET", "/records/{id}", scope="read")
def show_record(memory: Memory, id: Id) -> Any:
    """One record with where it stands, what replaced it and every change it went through."""
    hit = memory.get(id)
    if not may_see(memory, hit.record):
        raise NoSuchRecord(id)
    memory.note_shown([hit.record])
    [shown] = shown_hits(memory, [hit])
    return {
        **shown,
        "superseded_by": list(memory.library.chains.successors(hit.record)),
        "account": _account(memory, hit.record),
        "cited": [data_of(each) for each in memory.standings(hit.record)],
        "chain": [
            {
                "id": record.id,
                "text": record.text,
                "timestamp": record.timestamp,
                "day": memory.clock.day_of(record.timestamp),
            }
            for record in _chain(memory, hit.record)
            if may_see(memory, record) and _is_served(memory, record)
        ],
        "history": [event_stream.told(memory, entry) for entry in memory.history(hit.record.id)],
    }


def _is_served(memory: Memory, record: Record) -> bool:
    """Whether a record stands where this reader may look."""
    places = memory.library.get(record.id).places
    return any(memory.serves(place.document) for place in places)


def _chain(memory: Memory, record: Record) -> list[Record]:
    """A record between those that it replaced and those that replaced it, oldest first."""
    chains, seen = memory.library.chains, {record.id}
    older, newer = [record], [record]
    while len(seen) < IN_A_CHAIN:
        below = [each for each in chains.older(older[-1]) if each.id not in seen]
        if not below:
            break
        seen.add(below[0].id)
        older.append(below[0])
    for each in newer:
        fresh = [id for id in chains.newer(each) if id not in seen][:IN_A_CHAIN]
        seen.update(fresh)
        if len(seen) < 2 * IN_A_CHAIN:
            newer += memory.library.records_of(fresh).values()
    return [*reversed(older), *newer[1:]]


def _account(memory: Memory, record: Record) -> dict[str, Any]:
    """What a record rests on, with the wording that waits, for its owner."""
    if memory.origin != Origin.OWNER:
        return {}
    return accounts.data_of(memory.accounts([record])[record.id])


@route("GET", "/records/{id}/said", scope="read")
def said_of_record(memory: Memory, id: Id) -> Any:
    """The sessions of the conversation history in which a memory is quoted."""
    if not may_see(memory, memory.get(id).record):
        raise NoSuchRecord(id)
    return {"said": list(memory.would_forget([id]).said)}


@route("POST", "/records", scope="write", any_session=True)
def add_record(
    memory: Memory,
    text: Annotated[str, Argument("what to remember", max_length=20_000)],
    kind: Annotated[str, Argument("preference, fact, instruction …", max_length=50)] = "note",
    tags: Annotated[list[str], Argument("words to find it by", max_items=20)] = [],  # noqa: B006
    quote: Annotated[
        str, Argument("the user's own words that it rests on, as typed", max_length=LONGEST_QUOTE)
    ] = "",
    evidence: Evidence = [],  # noqa: B006
    valid_from: Begins = "",
    valid_to: Ends = "",
) -> Any:
    """Store one memory."""
    done = memory.remember(
        text,
        kind=kind,
        tags=tags,
        quote=quote,
        evidence=evidence,
        valid_from=valid_from,
        valid_to=valid_to,
    )
    told = redacted(memory, text, *tags) | ({"waits": done.waits} if done.waits else {})
    return Reply(shown_record(done.record) | told, status=201 if done.new else 200)


@route("POST", "/records/{id}/supersede", scope="write")
def supersede_record(
    memory: Memory,
    id: Id,
    text: Annotated[str, Argument("what is so now", max_length=20_000)],
    valid_from: Begins = "",
    valid_to: Ends = "",
) -> Any:
    """Replace a memory by a newer one; the old one stays, marked as replaced."""
    new = memory.supersede(id, text, valid_from=valid_from, valid_to=valid_to)
    return Reply(shown_record(new) | redacted(memory, text), status=201)


def redacted(memory: Memory, *texts: str) -> dict[str, Any]:
    """The kinds of secrets that were redacted from what was sent, if any."""
    found = [secret for text in texts for secret in admission.redacted(text, memory.options)[1]]
    names = list(dict.fromkeys(secret.name for secret in found))
    return {"redacted": names} if names else {}


@route("DELETE", "/records/{id}", scope="write")
def forget_record(
    memory: Memory,
    id: Id,
    history: Annotated[bool, Argument("erase what conversations say of it as well")] = False,
    bring_back: Annotated[bool, Argument("let what it had replaced count again")] = False,
) -> Any:
    """Erase a memory for good. The answer is the receipt."""
    return _receipt(memory.delete(id, history=history, bring_back=bring_back))


def _receipt(receipt: Any) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(receipt).items()
    }
