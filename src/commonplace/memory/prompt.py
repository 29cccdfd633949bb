"""Put memory into a prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.context import agents
from commonplace.context import sections as sources
from commonplace.context.budget import Context
from commonplace.library.views import Given, shown_of
from commonplace.markdown.layouts import layout_named
from commonplace.memory import session
from commonplace.model.errors import CommonplaceError
from commonplace.model.lazy import Lazy
from commonplace.model.records import Origin, Record, SearchResult
from commonplace.search.index import Query

if TYPE_CHECKING:
    from commonplace.context.budget import ContextLine
    from commonplace.context.sections import State
    from commonplace.memory import Memory, citing
else:
    citing = Lazy("memory.citing")

LEAST_LIKE = 0.2
"""How alike an experience must be to a message to be told with it."""


def context(
    memory: Memory,
    message: str = "",
    *,
    agent: str = "session",
    characters: int | None = None,
    tokens: int | None = None,
    system: str = "",
    last: int | None = None,
    dialect: str = "",
    experiences: Callable[[str, int], Sequence[Record]] | None = None,
    only: frozenset[str] | None = None,
) -> Context:
    agents.check(message, agent=agent, system=system, last=last)
    if dialect:
        layout_named(dialect)
    if _is_paused(memory):
        return Context()
    state = _state(
        memory,
        message,
        agent=agent,
        system=system,
        last=last,
        dialect=dialect,
        experiences=experiences or _alike(memory),
    )
    context = agents.context(state, agents.budget(state, characters, tokens), only=only)
    _give_lines(memory, (line for line in context.lines if not line.why))
    return _minded(memory, context)


def news(memory: Memory, *, characters: int | None = None, dialect: str = "") -> Context:
    """What a session's context tells that the session neither knows nor wrote itself."""
    whole = context(memory, characters=characters, dialect=dialect)
    told = {line.record_id for line in whole.lines if line.record_id} - memory.known()
    found = memory.library.records_of(told).values()
    own = {record.id for record in found if memory.session and record.session == memory.session}
    if not told - own:
        return replace(whole, text="", characters=0, lines=(), system="", messages=())
    return context(memory, characters=characters, dialect=dialect, only=frozenset(told - own))


def _is_paused(memory: Memory) -> bool:
    """Whether nothing is told now; the person is shown what would be."""
    return memory.origin != Origin.OWNER and memory.paused() is not None


def _give_lines(memory: Memory, lines: Iterable[ContextLine]) -> None:
    """Note which entries of which documents a prompt shows to this session."""
    if memory.session and session.view_of(memory) and not memory.read_only:
        shown = shown_of((line.document, line.record_id) for line in lines if line.document)
        there = [name for name in shown if memory.library.stat(name)]
        session.give(memory, {name: Given(_etag(memory, name), shown[name]) for name in there})


def _etag(memory: Memory, name: str) -> str:
    try:
        return memory.library.text(name)[1]
    except CommonplaceError:
        return ""


def relevant(
    memory: Memory,
    message: str,
    *,
    characters: int = 1200,
    told: frozenset[str] = frozenset(),
) -> Context:
    agents.check(message)
    if _is_paused(memory):
        return Context()
    state = _state(memory, message, told=told)
    return _minded(memory, agents.relevant(state, agents.limited(characters)))


def _alike(memory: Memory) -> Callable[[str, int], Sequence[Record]] | None:
    """What finds the experiences like a message, where they are kept."""
    if not memory.options.experience_store_enabled:
        return None

    def alike(text: str, most: int) -> list[Record]:
        hits = memory.recall_experiences(text, limit=most)
        return [hit.record for hit in hits if hit.score >= LEAST_LIKE]

    return alike


def _state(memory: Memory, message: str, *, dialect: str = "", **rest: Any) -> State:
    memory.library.refresh()
    return sources.State(
        memory.library,
        memory.options,
        dialect=dialect or memory.options.dialect or memory.layout.name,
        kind=memory.kind,
        shut=memory.is_shut,
        in_files=memory.parts.database is None,
        question=partial(_question, memory),
        message=message,
        find=partial(_likely, memory),
        history=memory.conversations.last,
        stale=memory.stale,
        **rest,
    )


def _question(memory: Memory) -> str:
    """What asks for the messages of the last hour, in the words of their database."""
    from commonplace.history.sql_questions import IN_POSTGRES, IN_SQLITE

    distant = memory.parts.database is not None or memory.options.history
    return IN_POSTGRES if distant else IN_SQLITE


def _likely(memory: Memory, text: str, limit: int) -> SearchResult:
    """What a context chooses from; neighbours do not get into it."""
    hits = memory.library.find(Query(text=text, limit=limit, current=True))
    if hits.rests_on_files:
        citing.sunk(memory, hits, by_score=True)
    memory.note_shown(hit.record for hit in hits)
    return hits


def _minded(memory: Memory, context: Context) -> Context:
    session.mind_origins(memory, (line.origin for line in context.lines if line.origin))
    return context
