"""What the gateway can be asked for, one function each: they call the memory and answer plain data.

They do not know HTTP: methods, paths and scopes stand beside them, tokens and headers elsewhere.
Whoever asks over HTTP is a person with a page or a program with a token; both see what `Memory`
shows them, and nothing here reaches past it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec.structs import asdict

from commonplace.doors.http import event_stream
from commonplace.doors.http.routes import Reply, route
from commonplace.library import accounts
from commonplace.markdown.layouts import check_name
from commonplace.markdown.merge import merge
from commonplace.memory import Memory
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import (
    BadName,
    BadValue,
    DocumentChanged,
    NoSuchDocument,
    NoSuchRecord,
)
from commonplace.model.limits import MOST_LISTED
from commonplace.model.records import PASSAGE, Hit, Origin, Record, Sensitivity
from commonplace.search import chains
from commonplace.tools.tool import Argument
from commonplace.trust import admission
from commonplace.trust.evidence import LONGEST as LONGEST_QUOTE
from commonplace.trust.safety import trust_of

IN_AN_ADDRESS = 4000
"""Characters of a text in a query: however they are spelled there, a server takes the address."""
IN_A_CHAIN = 50
"""Records that are told of those that replaced each other, either way."""
Limit = Annotated[int, Argument("most to answer with", minimum=1, maximum=500)]
Offset = Annotated[int, Argument("how many to leave out first", minimum=0, maximum=100_000)]
Id = Annotated[str, Argument("the id of a record", max_length=200)]
Name = Annotated[str, Argument("the name of a document, such as MEMORY.md", max_length=400)]
Moment = Annotated[str, Argument("a time, ISO 8601", max_length=40)]


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
    return {**shown_record(hit.record), "places": places, "score": round(hit.score, 4)}


def may_see(memory: Memory, record: Record) -> bool:
    """Secrets are shown to their owner alone."""
    return memory.origin == Origin.OWNER or record.sensitivity != Sensitivity.SECRET


def served(memory: Memory, name: str) -> str:
    """The name of a document that the layout lets a gateway show and change."""
    if not memory.serves(check_name(name)):
        raise BadName(name, f"a gateway to a {memory.layout.name} vault has no such document")
    return name


def without_secrets(memory: Memory, name: str, text: str) -> str:
    """A document's text as this reader may see it."""
    return text if memory.origin == Origin.OWNER else memory.library.without_secrets(name, text)


@route("GET", "/status", scope="read")
def status(memory: Memory) -> Any:
    """What the vault holds and how it is."""
    told = {**memory.status(), "text_limit": memory.options.text_limit}
    if memory.origin != Origin.OWNER:
        told["troubles"] = [each for each in told["troubles"] if not _names_hidden(memory, each)]
    return told


def _names_hidden(memory: Memory, sentence: str) -> bool:
    """Whether a sentence names a document that this reader may not see."""
    names = memory.library.vault.listing().documents
    return any(name in sentence for name in names if not memory.serves(name))


@route("GET", "/records", scope="read")
def list_records(
    memory: Memory,
    text: Annotated[
        str, Argument("words to look for; empty: the newest", max_length=IN_AN_ADDRESS)
    ] = "",
    kinds: Annotated[list[str], Argument("any of these kinds", max_items=20)] = [],  # noqa: B006
    tags: Annotated[list[str], Argument("all of these tags", max_items=20)] = [],  # noqa: B006
    document: Annotated[str, Argument("standing in this document", max_length=400)] = "",
    session: Annotated[str, Argument("of this session", max_length=200)] = "",
    superseded: Annotated[bool, Argument("replaced ones too")] = False,
    passages: Annotated[bool, Argument("plain text of documents too")] = False,
    offset: Offset = 0,
    limit: Limit = 50,
) -> Any:
    """Records that fit every filter, a page at a time."""
    hits = memory.search(
        text,
        kinds=tuple(kinds),
        tags=tuple(tags),
        documents=(document,) if document else (),
        session=session,
        include_superseded=superseded,
        include_passages=passages,
        limit=offset + limit + 1,
    )
    page = hits[offset : offset + limit]
    replaced = memory.library.index.replaced(hit.record.id for hit in page) if superseded else ()
    records = [shown_hit(hit) | {"replaced": hit.record.id in replaced} for hit in page]
    return {"records": records, "more": len(hits) > offset + limit}


@route("GET", "/records/{id}", scope="read")
def show_record(memory: Memory, id: Id) -> Any:
    """One record with where it stands, what replaced it and every change it went through."""
    hit = memory.get(id)
    if not may_see(memory, hit.record):
        raise NoSuchRecord(id)
    memory.note_shown([hit.record])
    return {
        **shown_hit(hit),
        "superseded_by": list(chains.successors(memory.library.index, hit.record)),
        "account": _account(memory, hit.record),
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
    index, seen = memory.library.index, {record.id}
    older, newer = [record], [record]
    while len(seen) < IN_A_CHAIN:
        below = [each for each in chains.older(index, older[-1]) if each.id not in seen]
        if not below:
            break
        seen.add(below[0].id)
        older.append(below[0])
    for each in newer:
        fresh = [id for id in chains.newer(index, each) if id not in seen][:IN_A_CHAIN]
        seen.update(fresh)
        if len(seen) < 2 * IN_A_CHAIN:
            newer += index.get_all(fresh).values()
    return [*reversed(older), *newer[1:]]


@route("POST", "/records", scope="write", any_session=True)
def add_record(
    memory: Memory,
    text: Annotated[str, Argument("what to remember", max_length=20_000)],
    kind: Annotated[str, Argument("preference, fact, instruction …", max_length=50)] = "note",
    tags: Annotated[list[str], Argument("words to find it by", max_items=20)] = [],  # noqa: B006
    quote: Annotated[
        str, Argument("the user's own words that it rests on, as typed", max_length=LONGEST_QUOTE)
    ] = "",
) -> Any:
    """Store one memory."""
    done = memory.remember(text, kind=kind, tags=tags, quote=quote)
    told = _redacted(memory, text, *tags) | ({"waits": done.waits} if done.waits else {})
    return Reply(shown_record(done.record) | told, status=201 if done.new else 200)


@route("POST", "/records/{id}/supersede", scope="write")
def supersede_record(
    memory: Memory,
    id: Id,
    text: Annotated[str, Argument("what is so now", max_length=20_000)],
) -> Any:
    """Replace a memory by a newer one; the old one stays, marked as replaced."""
    return Reply(shown_record(memory.supersede(id, text)) | _redacted(memory, text), status=201)


def _redacted(memory: Memory, *texts: str) -> dict[str, Any]:
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


def _receipt(receipt: Any) -> dict[str, Any]:
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in asdict(receipt).items()
    }


@route("GET", "/documents", scope="read")
def list_documents(memory: Memory) -> Any:
    """Every document with its size and the role it has."""
    roles = {
        memory.layout.soul: "soul",
        memory.layout.user: "user",
        memory.layout.memory: "memory",
        memory.layout.status: "status",
    }
    return {"documents": [_document(memory, name, roles) for name in memory.documents()]}


def _document(memory: Memory, name: str, roles: dict[str, str]) -> dict[str, Any]:
    stat = memory.library.vault.stat(name)
    return {"name": name, "size": stat.size if stat else 0, "role": roles.get(name, "")}


@route("GET", "/documents/{name:document}", scope="read")
def read_document(memory: Memory, name: Name) -> Any:
    """One document's text, with the etag that a change must bring along."""
    found = memory.read(served(memory, name))
    return Reply({"name": found.name, "text": found.text, "etag": found.etag}, etag=found.etag)


@route("PUT", "/documents/{name:document}", scope="write")
def write_document(
    memory: Memory,
    name: Name,
    text: Annotated[str, Argument("the whole new text")],
    etag: Annotated[str, Argument("of the text it was made from", max_length=80)] = "",
    confirm: Annotated[str, Argument("the token of a refusal", max_length=200)] = "",
    new: Annotated[bool, Argument("only when there is no document of that name")] = False,
) -> Any:
    """Put a whole new text in place; what others wrote since is merged in where it can be."""
    if new:
        done = memory.create(text, document=served(memory, name))
    else:
        done = memory.update(
            text,
            document=served(memory, name),
            mode="rewrite",
            etag=etag,
            confirm=confirm,
            strict=True,
        )
    answer = {"name": done.document, "etag": done.etag, "merged": done.merged}
    answer["dropped"] = list(done.dropped)
    if done.merged:
        answer["text"] = memory.read(name).text
    return Reply(answer, etag=done.etag)


@route("POST", "/documents/{name:path}/append", scope="write")
def append_to_document(
    memory: Memory, name: Name, text: Annotated[str, Argument("what to add at the end")]
) -> Any:
    """Add text to the end of a document, whatever others do meanwhile."""
    done = memory.update(text, document=served(memory, name))
    return Reply({"name": done.document, "etag": done.etag}, etag=done.etag)


@route("DELETE", "/documents/{name:document}", scope="write")
def remove_document(memory: Memory, name: Name) -> Any:
    """Take a document away. It can be undone."""
    memory.read(served(memory, name))
    memory.remove(name)
    return {"removed": name}


@route("GET", "/versions/{name:path}", scope="read", long=True)
def list_versions(memory: Memory, name: Name, limit: Limit = 100) -> Any:
    """Every change that a document went through, newest first."""
    memory.library.refresh()
    entries = memory.log(limit=1 << 30)
    wanted = served(memory, name)
    found = [event_stream.told(memory, entry) for entry in entries if wanted in entry.documents()]
    if not found:
        raise NoSuchDocument(name)
    return {"versions": found[:limit]}


@route("GET", "/texts/{name:path}", scope="read", long=True)
def text_at(memory: Memory, name: Name, moment: Moment) -> Any:
    """What a document said at a time."""
    text = memory.text_at(served(memory, name), _moment(moment))
    return {"name": name, "moment": moment, "text": without_secrets(memory, name, text)}


@route("POST", "/restore/{name:path}", scope="write")
def restore_document(memory: Memory, name: Name, moment: Moment) -> Any:
    """Make a document say again what it said at a time. It can be undone."""
    memory.restore(_moment(moment), served(memory, name))
    return read_document.tool.run(memory, name=name)


@route("GET", "/blame/{name:path}", scope="read", long=True)
def blame_document(memory: Memory, name: Name) -> Any:
    """Each line of a document with the change that brought it."""
    lines = memory.blame(served(memory, name))
    whole = "\n".join(each.text for each in lines)
    shown = set(without_secrets(memory, name, whole).split("\n"))
    return {
        "lines": [
            {
                "line": each.line,
                "text": each.text.removesuffix("\r"),
                "change": event_stream.told(memory, each.entry) if each.entry else None,
            }
            for each in lines
            if each.text in shown
        ]
    }


def _moment(text: str) -> datetime:
    try:
        return parse_stamp(text)
    except (ValueError, TypeError):
        raise BadValue("moment", f"{text!r} is no time", next_step="Use ISO 8601.") from None


@route("GET", "/review", scope="admin")
def list_review(memory: Memory) -> Any:
    """What waits for a person's approval, oldest first, for whoever may decide on it."""
    waiting = [record for record in memory.review() if may_see(memory, record)]
    reasons = memory.review_reasons() if waiting else {}
    rests = memory.accounts(waiting)
    return {
        "waiting": [
            {
                **shown_record(record),
                "why": reasons.get(record.id, ""),
                "account": accounts.data_of(rests[record.id]),
            }
            for record in waiting
        ]
    }


@route("POST", "/review", scope="admin")
def decide_on_many(
    memory: Memory,
    ids: Annotated[list[str], Argument("the ids of what to decide on", max_items=MOST_LISTED)],
    decision: Annotated[Literal["approve", "reject"], Argument("what to do with them")],
) -> Any:
    """Let several held memories in exactly as they are, or turn them away: all, or none."""
    decided = memory.decide(decision, ids)
    return {"decision": decision, "decided": [*map(shown_record, decided)]}


@route("POST", "/review/{id}", scope="admin")
def decide_review(
    memory: Memory,
    id: Id,
    decision: Annotated[Literal["approve", "reject"], Argument("what to do with it")],
) -> Any:
    """Let a held memory in exactly as it is, or turn it away."""
    decided = memory.approve(id) if decision == "approve" else memory.reject(id)
    return {"decision": decision, **shown_record(decided)}


@route("GET", "/log", scope="read")
def list_changes(memory: Memory, limit: Limit = 50) -> Any:
    """The last changes, newest first."""
    memory.library.refresh()
    return {"changes": [event_stream.told(memory, entry) for entry in memory.log(limit=limit)]}


@route("POST", "/undo", scope="write")
def undo_change(
    memory: Memory,
    position: Annotated[
        int, Argument("which change; else the last", minimum=0, maximum=1 << 53)
    ] = -1,
) -> Any:
    """Take back the last change made through Commonplace, or the one at a position of the log.

    Newer edits made by hand stay, and are told: they are taken back by their positions alone.
    """
    done = memory.undo(None if position < 0 else position)
    undone = event_stream.told(memory, done.entry) | {"documents": list(done.documents)}
    return {"undone": undone, "edits": [event_stream.told(memory, edit) for edit in done.edits]}


@route("POST", "/redo", scope="write")
def redo_change(
    memory: Memory,
    position: Annotated[
        int,
        Argument("an undo, or what it took back; else the last", minimum=0, maximum=1 << 53),
    ] = -1,
) -> Any:
    """Take back the last undo, or one by its position; what was changed since stays."""
    done = memory.redo(None if position < 0 else position)
    return {"redone": event_stream.told(memory, done.entry) | {"documents": list(done.documents)}}


@route("GET", "/history/sessions", scope="read")
def list_sessions(memory: Memory) -> Any:
    """The conversations that were recorded."""
    return {"sessions": [asdict(each) for each in memory.messages.sessions()]}


@route("GET", "/history/messages", scope="read", any_session=True)
def list_messages(
    memory: Memory,
    session: Annotated[str, Argument("of this conversation", max_length=200)],
    limit: Limit = 100,
) -> Any:
    """The last messages of a conversation, oldest first."""
    found = memory.conversations.last(limit, session=session)
    return {"messages": [asdict(each) for each in found]}


@route("GET", "/history/search", scope="read", any_session=True)
def search_messages(
    memory: Memory,
    text: Annotated[str, Argument("words to look for", max_length=IN_AN_ADDRESS)],
    limit: Limit = 20,
) -> Any:
    """Messages that fit the words, best first."""
    found = memory.conversations.search(text, limit=limit, session="")
    return {"messages": [asdict(each) for each in found]}


def merge_offered(memory: Memory, error: DocumentChanged, given: dict[str, Any]) -> dict[str, Any]:
    """What a page needs to settle a conflict: the text as it is now, and both put together."""
    now = memory.read(given["name"])
    base = memory.library.text_marked(now.name, given.get("etag", "")) or b""
    known = without_secrets(memory, now.name, base.decode("utf-8", "replace"))
    offered = merge(known, str(given.get("text", "")), now.text)
    return {
        "current": now.text,
        "etag": error.etag,
        "merged": memory.library.without_returning(now.name, offered.text, now.text),
        "conflicts": offered.conflicts,
    }
