"""Overviews for the page: status, context with its costs, explained search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from msgspec.structs import asdict, replace

from commonplace.context.budget import Context, ContextLine
from commonplace.doors.http.api.records import (
    AsOf,
    Day,
    Kinds,
    Origins,
    People,
    Projects,
    Superseded,
    Tags,
    list_filters,
    shown_hits,
)
from commonplace.doors.http.routes import IN_AN_ADDRESS, Limit, route
from commonplace.memory import Memory
from commonplace.memory.finding import Gathered
from commonplace.model.records import Hit, Origin, SearchResult
from commonplace.search.reasons import label, marked
from commonplace.tools.tool import Argument


@route("GET", "/status", scope="read")
def status(memory: Memory) -> Any:
    """Show what the vault holds, and whether anything is wrong."""
    told = {**memory.status(), "text_limit": memory.options.text_limit}
    if memory.origin != Origin.OWNER:
        told["troubles"] = [each for each in told["troubles"] if not _names_hidden(memory, each)]
    return told


def _names_hidden(memory: Memory, sentence: str) -> bool:
    """Whether a sentence names a document that this reader may not see."""
    names = memory.library.listing().documents
    return any(name in sentence for name in names if not memory.serves(name))


@route("GET", "/start", scope="read")
def show_start(memory: Memory) -> Any:
    """What a new vault still lacks: who its person is, and a first memory."""
    user = memory.layout.user if memory.serves(memory.layout.user) else ""
    text = memory.read(user).text if user in memory.documents() else ""
    return {"document": user, "told": bool(text.strip()), "memories": memory.count()}


@route("GET", "/context", scope="read")
def show_context(
    memory: Memory,
    message: Annotated[str, Argument("the message it is for", max_length=IN_AN_ADDRESS)] = "",
    agent: Annotated[
        Literal["session", "conversation", "heartbeat"], Argument("whose context")
    ] = "session",
) -> Any:
    """What an agent is given, line by line, with what it costs and what was left out."""
    context = _seen(memory, memory.context(message, agent=agent))
    return {
        "text": context.text,
        "characters": context.characters,
        "tokens": context.tokens,
        "not_shown": context.not_shown,
        "sections": _sections(context),
        "lines": [_shown_line(line) for line in context.lines],
        "left_out": [_shown_line(line) for line in context.left_out],
    }


def _seen(memory: Memory, context: Context) -> Context:
    """The context without what stands in documents that this reader may not see; owners see all."""
    lines = [line for line in context.lines if _is_seen(memory, line)]
    if len(lines) == len(context.lines):
        return context
    left_out = tuple(line for line in context.left_out if _is_seen(memory, line))
    text = "\n".join(line.text for line in lines)
    seen = {"text": text, "characters": len(text), "lines": tuple(lines), "left_out": left_out}
    return replace(context, **seen)


def _is_seen(memory: Memory, line: ContextLine) -> bool:
    is_owner = memory.origin == Origin.OWNER
    return is_owner or not line.document or memory.serves(line.document)


def _shown_line(line: ContextLine) -> dict[str, Any]:
    told = {name: value for name, value in asdict(line).items() if name not in ("count", "record")}
    return told | {"tokens": line.tokens}


def _sections(context: Context) -> list[dict[str, Any]]:
    counts = Counter(line.section for line in context.lines)
    tokens: Counter[str] = Counter()
    for line in context.lines:
        tokens[line.section] += line.tokens
    return [{"name": name, "lines": counts[name], "tokens": tokens[name]} for name in counts]


@route("GET", "/search", scope="read")
def search(
    memory: Memory,
    text: Annotated[str, Argument("what to look for", max_length=IN_AN_ADDRESS)] = "",
    within: Annotated[
        Literal["memory", "history", "all"],
        Argument("in the memory, in what was said in conversations, or in both"),
    ] = "memory",
    all_about: Annotated[bool, Argument("everything about it, in groups, with its count")] = False,
    kinds: Kinds = [],  # noqa: B006
    tags: Tags = [],  # noqa: B006
    people: People = [],  # noqa: B006
    projects: Projects = [],  # noqa: B006
    origins: Origins = [],  # noqa: B006
    since: Day = "",
    until: Day = "",
    as_of: AsOf = "",
    superseded: Superseded = False,
    limit: Limit = 20,
) -> Any:
    """Search, with how each hit was found and what was said around it."""
    given = list_filters("", kinds, tags, people, projects, origins, since, until, superseded)
    given |= {"within": within, "limit": limit, "explain": True, "as_of": as_of}
    if all_about:
        return _gathered(memory, memory.all_about(text, **given))
    found = memory.search(text, **given)
    return _told_search(memory, found, text) | {"hits": _explained(memory, found, found, text)}


def _told_search(memory: Memory, found: SearchResult, text: str) -> dict[str, Any]:
    """How something was found, and the nearest where nothing was."""
    return {
        "mode": found.mode,
        "degraded": found.degraded,
        "readings": found.readings,
        "weak": found.is_weak,
        "nearest": _explained(memory, found.nearest, found, text),
    }


def _gathered(memory: Memory, gathered: Gathered) -> dict[str, Any]:
    found, text, ordered = gathered.found, gathered.text, [*gathered.in_order()]
    shown = _explained(memory, [hit for _, hit in ordered], found, text)
    return {
        **_told_search(memory, found, text),
        "hits": [told | {"group": name} for told, (name, _) in zip(shown, ordered, strict=True)],
        "count": gathered.count,
        "more": gathered.more,
        "groups": {name: len(hits) for name, hits in gathered.groups.items()},
    }


def _explained(
    memory: Memory, hits: Sequence[Hit], found: SearchResult, text: str
) -> list[dict[str, Any]]:
    """Hits with why each was found."""
    asked = " ".join((text, *found.readings.values()))
    return [
        {
            **told,
            "marks": marked(asked, hit.record.text),
            "weak": hit.is_weak,
            "reasons": list(hit.reasons),
            "explain": {label(signal): round(part, 4) for signal, part in hit.why},
            "around": [asdict(each) for each in hit.beside],
        }
        for told, hit in zip(shown_hits(memory, hits), hits, strict=True)
    ]
