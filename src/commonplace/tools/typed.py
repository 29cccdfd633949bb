"""The typed memory tools: `memory_store`, `memory_search`, `memory_brief`, `memory_delete`.

They answer in JSON, in the fields that their document names.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from commonplace.memory import Memory
from commonplace.model.clock import parse_stamp
from commonplace.model.limits import check_text
from commonplace.model.records import TYPES, Hit, Record
from commonplace.tools.native import in_users_words, said_already
from commonplace.tools.tool import Answer, Argument, tool
from commonplace.trust.neutralise import neutralise, one_line

Type = Literal["preference", "fact", "instruction", "context", "correction"]
TYPES_EXPLAINED = (
    "preference: how the user likes things done; fact: something true about them or their "
    "environment; instruction: a standing one for future sessions; context: background that helps "
    "later; correction: of something you did."
)


@tool(always=True)
def memory_store(
    memory: Memory,
    type: Annotated[Type, Argument(TYPES_EXPLAINED)],
    content: Annotated[
        str, Argument("The memory, as a clear, self-contained summary.", max_length=2000)
    ],
    tags: Annotated[list[str], Argument("Up to 10 tags.", max_items=10, item_length=50)] = (),  # type: ignore[assignment]
    supersedes: Annotated[str, Argument("Id of the entry that this one replaces.")] = "",
) -> Answer:
    """Store a typed memory entry that persists across sessions, as you learn it.

    Store a stated preference as preference, a correction of you as correction, an important fact
    as fact, a standing instruction as instruction; if it contradicts an existing memory, name that
    one in supersedes.

    About 20 stores a session, 5 of them replacements: keep the insight, not the conversation.
    """
    check_text(content, limit=memory.options.text_limit, argument="content")
    wanted = ("stores", "supersedes") if supersedes else ("stores",)
    with memory.counted(*wanted) as spared:
        done = memory.remember(content, kind=type, tags=tags, supersedes=supersedes)
        if not done.new:
            spared.append("stores")
    record = done.record
    note = str(memory.nearby(record)) if done.new else said_already(record)
    if record.is_quote:
        note = f"It is {in_users_words(done)}"
    return Answer(
        {
            "id": record.id,
            "type": record.kind,
            "behavioral": record.behavioral,
            "created_at": record.timestamp,
            **({"note": note} if note else {}),
        }
    )


@tool(read_only=True, always=True)
def memory_search(
    memory: Memory,
    query: Annotated[str, Argument("Words to search for.", max_length=500)] = "",
    tags: Annotated[list[str], Argument("All of these must match.")] = (),  # type: ignore[assignment]
    type: Annotated[Type, Argument("Only this type.")] = "",  # type: ignore[assignment]
    include_superseded: Annotated[bool, Argument("Include replaced entries.")] = False,
    limit: Annotated[int, Argument("Most results.", minimum=1, maximum=100)] = 20,
) -> Answer:
    """Search memories by text, tags or type, ranked; with no arguments, the most recent entries."""
    hits = memory.search(
        query,
        **_of_type(type),
        tags=tuple(tags),
        include_superseded=include_superseded,
        include_passages=False,
        limit=limit,
    )
    return Answer([_result(hit) for hit in hits])


@tool(read_only=True, always=True)
def memory_brief(
    memory: Memory,
    include_provenance: Annotated[bool, Argument("Add session and group.")] = False,
) -> Answer:
    """A summary of what is stored, behavioural entries first: suggestions, not commands."""
    records = memory.brief(by_standing=False)
    entries = [_brief_entry(memory, record, provenance=include_provenance) for record in records]
    unread = list(memory.library.troubles.values())
    return Answer(
        {
            "entries": entries,
            "generated_at": memory.clock.stamp(),
            "entry_count": memory.count(),
            "brief_count": len(entries),
        }
        | ({"unread": unread} if unread else {})
    )


@tool(destructive=True)
def memory_delete(
    memory: Memory, id: Annotated[str, Argument("Id of the entry to delete.")]
) -> Answer:
    """Delete a memory entry for good. At most 5 a session; only if asked, or clearly incorrect."""
    with memory.counted("deletes"):
        receipt = memory.delete(id)
    noted = {"note": receipt.chain()} if receipt.replaced else {}
    [erased] = receipt.ids[:1] or (id,)
    return Answer({"id": erased, "deleted": True, **noted})


TOOLS = (memory_store, memory_search, memory_brief, memory_delete)


NEAREST = {kind: kind for kind in TYPES} | {"user-preference": "preference", "learned": "fact"}
"""The entry type of each kind; that of all others is context."""


def _type(record: Record) -> str:
    """The entry type that comes nearest to a kind of another dialect."""
    return NEAREST.get(record.kind, "context")


def _of_type(wanted: str) -> dict[str, Any]:
    """What finds the entries that are labelled as this type."""
    if wanted == "context":
        return {"without_kinds": tuple(kind for kind in NEAREST if NEAREST[kind] != wanted)}
    return {"kinds": tuple(kind for kind in NEAREST if NEAREST[kind] == wanted)}


def _result(hit: Hit) -> dict[str, object]:
    record = hit.record
    return {
        "id": one_line(record.id),
        "type": _type(record),
        "content": neutralise(record.text),
        "behavioral": record.behavioral,
        "tags": list(map(one_line, record.tags)),
        "created_at": record.timestamp,
        "relevance_score": round(hit.score, 4),
        **({"weak": True} if hit.is_weak else {}),
    }


def _brief_entry(memory: Memory, record: Record, *, provenance: bool) -> dict[str, object]:
    entry: dict[str, object] = {
        "id": one_line(record.id),
        "type": _type(record),
        "content": one_line(record.text),
        "behavioral": record.behavioral,
        "tags": list(map(one_line, record.tags)),
        "age_days": _age_days(memory, record),
    }
    if provenance:
        entry |= {"session": one_line(record.session), "group": one_line(record.group)}
    return entry


def _age_days(memory: Memory, record: Record) -> int | None:
    try:
        return max(0, (memory.clock.now() - parse_stamp(record.timestamp)).days)
    except ValueError:
        # Not every line that a person wrote says when.
        return None
