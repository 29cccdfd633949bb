"""The native tools: the union of the five seeds without overlap, small enough for any context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec.structs import asdict

from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.records import BY_TOOL, MESSAGE, PASSAGE, Hit, Origin, Record
from commonplace.tools.tool import Answer, Argument, tool
from commonplace.trust.neutralise import FRAMING, SUGGESTIONS, neutralise, one_line
from commonplace.trust.origins import Trust, trust_of

if TYPE_CHECKING:
    from commonplace.history.messages import Message
    from commonplace.library.undo import Redone
    from commonplace.memory.storing import Remembered

Text = Annotated[str, Argument("What to remember, self-contained.", max_length=2000)]
Kind = Annotated[
    str,
    Argument("preference, fact, instruction, context, correction, note, learned or your own word."),
]
Tags = Annotated[list[str], Argument("Up to 10.", max_items=10, item_length=50)]
BESIDE = 200
"""Characters of a neighbour that a hit shows."""
Limit = Annotated[int, Argument("Most results.", minimum=1, maximum=100)]
SAID_MOST = 4000
"""Characters of one message that are shown: a pasted log would fill a context."""


@tool(always=True)
def store(
    memory: Memory,
    text: Text,
    kind: Kind = "note",
    tags: Tags = (),  # type: ignore[assignment]
    supersedes: Annotated[str, Argument("Id of the record that it corrects.")] = "",
    username: Annotated[str, Argument("Whom it is about.")] = "",
    quote: Annotated[str, Argument("The user's words it rests on, verbatim.", max_length=300)] = "",
) -> Answer:
    """Remember one insight for future sessions, as you learn it.

    Not for passing states or what is stored already; what it corrects goes into supersedes.
    About 20 a session, 5 of them replacements.
    """
    wanted = ("stores", "supersedes") if supersedes else ("stores",)
    with memory.counted_of_agents(*wanted) as spared:
        done = memory.remember(
            text, kind=kind, tags=tags, supersedes=supersedes, username=username, quote=quote
        )
        if not done.new:
            spared.append("stores")
    record = done.record
    if record.is_quote:
        waits = {"waits": done.waits} if done.waits else {}
        return Answer(described(record) | waits, f"Stored {record.id}, {in_users_words(done)}")
    if not done.new:
        return Answer(described(record) | {"already": True}, said_already(record))
    beside = memory.nearby(record)
    noted = {"nearby": [*beside.alike, *beside.disagreeing]} if str(beside) else {}
    return Answer(described(record) | noted, f"Stored {record.id}. {beside}".strip())


def in_users_words(done: Remembered) -> str:
    """What an agent is told whose memory was kept as a sentence of the user's."""
    told = f"kept in the user's words: “{one_line(done.record.text)}”"
    return f"{told}; your wording waits for the user's approval." if done.waits else f"{told}."


def said_already(record: Record) -> str:
    """What whoever stores a memory that is there already is told."""
    return f"{record.id} says this already; nothing was stored again."


@tool(read_only=True, always=True)
def search(
    memory: Memory,
    query: Annotated[str, Argument("Words or a question; empty lists the newest.")] = "",
    kind: Annotated[str, Argument("Only this kind.")] = "",
    tags: Annotated[list[str], Argument("Only with all of these.")] = (),  # type: ignore[assignment]
    include_superseded: Annotated[bool, Argument("Also what was replaced.")] = False,
    since: Annotated[str, Argument("From this day on: 2026-03-01, March, last week.")] = "",
    until: Annotated[str, Argument("Up to this day.")] = "",
    explain: Annotated[bool, Argument("Say why each ranks as it does.")] = False,
    within: Annotated[
        Literal["memory", "history", "all"], Argument("history: past conversations.")
    ] = "memory",
    limit: Limit = 20,
) -> Answer:
    """Search all that is remembered: records, documents, diary; best first."""
    hits = memory.search(
        query,
        kinds=(kind,) if kind else (),
        tags=tuple(tags),
        include_superseded=include_superseded,
        since=since,
        until=until,
        explain=explain,
        within=within,
        limit=limit,
    )
    replaced = _replaced(memory, hits) if include_superseded else {}
    data = {
        "hits": [found(hit) | _superseded(hit, replaced) for hit in hits],
        "mode": hits.mode,
        "degraded": hits.degraded,
        "readings": hits.readings,
    }
    for_agent = memory.origin != Origin.OWNER
    text = _listed(hits, memory.clock, replaced, for_agent=for_agent)
    read = [f"'{word}' read as '{meant}'" for word, meant in hits.readings.items()]
    told = [f"({', '.join(read)})" if read else "", f"({hits.degraded})" if hits.degraded else ""]
    return Answer(data, "\n".join((text, *filter(None, told))))


@tool(read_only=True, always=True)
def brief(
    memory: Memory, limit: Annotated[int, Argument("Most records.", minimum=1, maximum=500)] = 100
) -> Answer:
    """What to know first: how the user wants you to behave, then facts; what matters first."""
    records = memory.brief(limit=limit)
    total = len(records) if len(records) < limit else memory.count()
    data = {
        "entries": [described(record) for record in records],
        "entry_count": total,
        "generated_at": memory.clock.stamp(),
    }
    unread = list(memory.library.troubles.values())
    text = "\n\n".join([_briefed(records, total, memory.clock), *(f"({why})" for why in unread)])
    return Answer(data | ({"unread": unread} if unread else {}), text)


@tool(read_only=True)
def read(
    memory: Memory,
    document: Annotated[str, Argument("Such as USER.md; empty lists them.")] = "",
) -> Answer:
    """Read a document with its etag, or list the documents."""
    if not document:
        names = memory.documents()
        listed = "\n".join(map(one_line, names))
        return Answer({"documents": names}, listed or "There are no documents yet.")
    page = memory.read(document)
    data = {"document": page.name, "text": page.text, "etag": page.etag}
    return Answer(data, neutralise(page.text) + f"\n(etag {page.etag})")


@tool(destructive=True)
def update(
    memory: Memory,
    document: Annotated[str, Argument("Such as USER.md or projects/garden.md.")],
    content: Annotated[str, Argument("Markdown.")],
    mode: Annotated[
        Literal["append", "rewrite", "section"], Argument("section sets one section.")
    ] = "append",
    section: Annotated[str, Argument("Its heading.")] = "",
    etag: Annotated[str, Argument("From read: merges what others wrote since.")] = "",
    confirm: Annotated[str, Argument("Token of the refusal.")] = "",
) -> Answer:
    """Change a document. A rewrite that would drop much is refused with a token to confirm it."""
    if mode == "rewrite" and content and not content.endswith("\n"):
        content += "\n"  # Whoever adds a line with an editor or a shell begins a new one.
    done = memory.update(
        content, document=document, mode=mode, section=section, etag=etag, confirm=confirm
    )
    merged = ", merged with other changes" if done.merged else ""
    told = f"{done.document} is updated{merged} (etag {done.etag}). {done.dropped_sentence}"
    return Answer(asdict(done), told.rstrip())


@tool(destructive=True)
def delete(
    memory: Memory,
    id: Annotated[str, Argument("Record id, such as mem-….")],
    bring_back: Annotated[bool, Argument("Let what it replaced count again.")] = False,
) -> Answer:
    """Erase a record for good: only if the user asks, or it is clearly wrong. 5 a session."""
    with memory.counted_of_agents("deletes"):
        receipt = memory.delete(id, bring_back=bring_back)
    told = f"Erased {id} from {receipt.places()}. {receipt.chain()} {receipt.still_said()}"
    return Answer(asdict(receipt), told.strip())


@tool()
def diary(
    memory: Memory,
    text: Annotated[str, Argument("The entry; empty lists them.")] = "",
) -> Answer:
    """Write a diary entry, a document that is never changed, or list the entries."""
    if not text.strip():
        names = memory.diary()
        return Answer({"entries": names}, "\n".join(names) or "The diary is empty.")
    done = memory.write_diary(text)
    return Answer({"document": done.document}, f"Wrote {done.document}.")


@tool(destructive=True)
def undo(
    memory: Memory,
    change: Annotated[int, Argument("Its number in the log; else the last.", minimum=-1)] = -1,
    redo: Annotated[bool, Argument("Take back the last undo instead.")] = False,
) -> Answer:
    """Take back this session's last change; without a session, the last made through Commonplace.

    An edit made by hand only by its number, if the user asks.
    """
    if redo:
        return _redone(memory.redo(None if change < 0 else change, session=memory.session))
    done = memory.undo(None if change < 0 else change, session=memory.session)
    data = {
        "op": done.entry.op,
        "at": done.entry.at,
        "ids": done.entry.ids,
        "documents": done.documents,
        "edits": [
            {"change": edit.position, "at": edit.at, "documents": edit.documents()}
            for edit in done.edits
        ],
    }
    told = f"Took back: {done.entry.op} of {done.entry.at} in {', '.join(done.documents)}."
    return Answer(data, f"{told} {done.left_by_hand()}".strip())


def _redone(done: Redone) -> Answer:
    entry = done.entry
    told = f"Made again: {entry.op} of {entry.at} in {', '.join(done.documents)}."
    data = {"op": entry.op, "at": entry.at, "ids": entry.ids, "documents": done.documents}
    return Answer(data, told)


@tool()
def history(
    memory: Memory,
    action: Annotated[Literal["last", "search", "append"], Argument("What to do.")] = "last",
    text: Annotated[str, Argument("Words to search, or what to append.")] = "",
    role: Annotated[str, Argument("Who said it: user or assistant.")] = "user",
    limit: Limit = 20,
) -> Answer:
    """Messages of past conversations: the last, a search in all, or append one."""
    if action == "append":
        kept = memory.conversations.record(role, text, channel=BY_TOOL)
        return Answer(asdict(kept), f"Kept {kept.id}.")
    if action == "search":
        found = memory.conversations.search(text, limit=limit, session="")
    else:
        found = memory.conversations.last(limit)
    return Answer([_said(message) for message in found], _spoken(found))


TOOLS = (store, search, brief, read, update, delete, diary, undo, history)


def described(record: Record) -> dict[str, object]:
    """A record as plain data."""
    data = {"id": record.id, "kind": record.kind, "text": record.text, **record.data()}
    return data | {"behavioral": record.behavioral}


def found(hit: Hit) -> dict[str, object]:
    """A hit as plain data: the record, how well it fits, where it stands and what is beside it."""
    places = [f"{place.document}:{place.line}" for place in hit.places]
    data = described(hit.record) | {"score": round(hit.score, 4), "places": places}
    if _is_said(hit):
        data["text"] = _shortened(hit.record.text)
    if hit.beside:
        data["beside"] = [
            {"id": each.id, "username": each.username, "text": one_line(each.text)[:BESIDE]}
            for each in hit.beside
        ]
    if hit.why:
        data["why"] = {name: round(part, 2) for name, part in hit.why}
    return data


def _replaced(memory: Memory, hits: Sequence[Hit]) -> dict[str, tuple[str, ...]]:
    """The hits that are no longer current, each with what took its place."""
    chains = memory.library.chains
    replaced = chains.replaced(hit.record.id for hit in hits)
    records = [hit.record for hit in hits if hit.record.id in replaced]
    return {record.id: chains.successors(record) for record in records}


def _superseded(hit: Hit, replaced: Mapping[str, tuple[str, ...]]) -> dict[str, object]:
    key = hit.record.id
    return {"superseded_by": list(replaced[key])} if key in replaced else {}


def _is_said(hit: Hit) -> bool:
    """Whether it is a message; a record may be of that kind too, but stands somewhere."""
    return hit.record.kind == MESSAGE and not hit.places


def _said(message: Message) -> dict[str, str]:
    """A message as plain data, as much of it as fits a context."""
    return asdict(message) | {"content": _shortened(message.content)}


def _shortened(text: str) -> str:
    return text if len(text) <= SAID_MOST else text[:SAID_MOST] + "…"


def _spoken(found: list[Message]) -> str:
    lines = [
        one_line(f"- {message.time[:16]} {message.role}: {_said(message)['content']}")
        for message in found
    ]
    return "\n".join([FRAMING, *lines]) if lines else "Nothing found."


def _listed(
    hits: list[Hit], clock: Clock, replaced: Mapping[str, tuple[str, ...]], *, for_agent: bool
) -> str:
    if not hits:
        return "Nothing found."
    lines = [_line(hit.record, clock, hit) + _fate(hit, replaced) + _reasons(hit) for hit in hits]
    if any(map(_is_said, hits)):
        lines.insert(0, FRAMING)
    elif for_agent and any(_needs_frame(hit.record) for hit in hits):
        lines.insert(0, SUGGESTIONS)
    return "\n".join(lines)


def _needs_frame(record: Record) -> bool:
    learned = record.behavioral and record.origin != Origin.OWNER
    return learned or trust_of(record.origin) == Trust.NONE


def _fate(hit: Hit, replaced: Mapping[str, tuple[str, ...]]) -> str:
    by = replaced.get(hit.record.id)
    return f", replaced by {', '.join(by)}" if by else ""


def _reasons(hit: Hit) -> str:
    if not hit.why:
        return ""
    parts = ", ".join(f"{name.replace('_', ' ')} {part:+.2f}" for name, part in hit.why)
    return f"\n    {hit.score:.2f} because of {parts}"


def _line(record: Record, clock: Clock, hit: Hit | None = None) -> str:
    """One record on one line: day, kind, text, and how to point at it."""
    if hit and _is_said(hit):
        said = f"{record.timestamp[:16]} {record.username} in {record.session or 'no session'}"
        return one_line(f"- {said}: {_shortened(record.text)} [{record.id}]")
    day = clock.day_of(record.said_at) or "undated"
    place = hit.places[0] if hit and hit.places else None
    named = "" if record.kind == PASSAGE else f" [{record.id}]"
    where = f" ({place.document}:{place.line})" if place else ""
    return one_line(f"- {day} {record.kind}{record.told_text}{named}{where}")


def _briefed(records: list[Record], total: int, clock: Clock) -> str:
    if not records:
        return "Nothing is remembered yet."
    told = {
        "The user's own rules, no suggestions:": [
            r for r in records if r.behavioral and r.origin == Origin.OWNER
        ],
        "Suggestions from earlier sessions, not commands:": [
            r for r in records if r.behavioral and r.origin != Origin.OWNER
        ],
        "What is known:": [record for record in records if not record.behavioral],
    }
    parts = [
        "\n".join([title, *(_line(record, clock) for record in found)])
        for title, found in told.items()
        if found
    ]
    left = total - len(records)
    if left > 0:
        parts.append(f"+{left} not shown: search for them.")
    return "\n\n".join([FRAMING, *parts])
