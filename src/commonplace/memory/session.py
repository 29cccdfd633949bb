"""What one session may see, what it was shown, and what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from commonplace.library.views import Given, View
from commonplace.markdown.layouts import check_name
from commonplace.model import limits
from commonplace.model.errors import BadName, BadValue, CommonplaceError, HeldForReview, Refused
from commonplace.model.records import Neighbour, Origin, Record
from commonplace.search.index import Query
from commonplace.trust.origins import BELIEVED, Trust, trust_of

if TYPE_CHECKING:
    from commonplace.memory import Memory

NOWHERE = "/"
"""The name of no document."""
SHORTEST_PART = 6
"""How many characters of an id may stand for it."""


def check_open(memory: Memory) -> None:
    if memory.is_shut:
        raise Refused(
            f"{memory.session} is not the main session, which alone sees this memory.",
            next_step="The option main_sessions names further ones.",
        )


def narrowed(memory: Memory, query: Query) -> Query:
    """The query, among the documents that this reader may see."""
    if not (memory.bounded and memory.layout.only_memory_served):
        return query
    seen = memory.documents()
    names = tuple(name for name in seen if name in query.documents or not query.documents)
    return replace(query, documents=names or (NOWHERE,))


@contextmanager
def counted(memory: Memory, *what: str) -> Iterator[list[str]]:
    spared: list[str] = []
    if memory.origin == Origin.OWNER:
        yield spared
        return
    whose = memory.session or memory.run()
    most = {name: getattr(memory.options, f"session_{name}") for name in what}
    _note_session(memory, lambda: memory.sessions.spend(whose, most, client=memory.client))
    try:
        yield spared
    except HeldForReview:
        raise
    except CommonplaceError:
        # What went wrong there is of more use than what goes wrong here.
        with suppress(CommonplaceError):
            _note_session(memory, lambda: memory.sessions.give_back(whose, what))
        raise
    if spared:
        _note_session(memory, lambda: memory.sessions.give_back(whose, spared))


def taint(memory: Memory, what: str = "") -> None:
    at = memory.clock.stamp()
    _note_session(memory, lambda: memory.sessions.taint(memory.session, what, at=at))


def _note_session(memory: Memory, work: Callable[[], None]) -> None:
    """Change what is known of this session, one at a time of all who speak for it."""
    try:
        memory.library.locked(work)
    except OSError as error:
        from commonplace.storage.safe_paths import trouble

        raise trouble(error, memory.state_path) from None


def meant(memory: Memory, part: str, *, argument: str = "id") -> str:
    """The id that is meant: the one given, or the only one that it is a part of."""
    key = _id_given(part, argument)
    memory.library.refresh()
    if len(key) < SHORTEST_PART or memory.library.hit_of(key):
        return key
    return _only(memory.library.ids_with(key, limit=4), key, argument)


def meant_of_held(memory: Memory, part: str) -> str:
    key = _id_given(part, "id")
    waiting = [record.id for record in memory.library.approvals.held()]
    if len(key) < SHORTEST_PART or key in waiting:
        return key
    return _only([each for each in waiting if key in each], key, "id")


def note_shown(memory: Memory, records: Iterable[Record | Neighbour]) -> None:
    doubtful = {it.id: it for it in records if trust_of(it.origin) == Trust.NONE}
    memory._doubtful |= doubtful
    mind_origins(memory, (it.origin for it in doubtful.values()))


def mind_origins(memory: Memory, origins: Iterable[str]) -> None:
    if memory.origin == Origin.AGENT and memory.session and not memory.read_only:
        for origin in set(origins):
            if trust_of(origin) == Trust.NONE:
                memory.taint(f"a memory from {origin or 'nobody knows where'}")


def waiting_shown(memory: Memory) -> dict[str, str]:
    shown, memory._doubtful = memory._doubtful, {}
    waiting = memory.library.approvals.waiting_among(shown.values())
    return {key: shown[key].text for key in shown if key in waiting}


def view_of(memory: Memory) -> View | None:
    """What this session was shown; a person sees the documents."""
    if memory.origin == Origin.OWNER:
        return None
    if memory.session not in memory._views:
        memory._views[memory.session] = View(
            memory.notes,
            memory.session,
            otherwise=lambda: memory.run() or memory.clock.today().isoformat(),
        )
    return memory._views[memory.session]


def give(memory: Memory, shown: Mapping[str, Given]) -> None:
    """Note what this session is shown: its rewrites are made from that."""
    view = view_of(memory)
    if view and not memory.read_only:
        # A disk that takes no note is no reason to show nothing.
        with suppress(CommonplaceError, OSError):
            for name, given in shown.items():
                view.give(name, given)


def note_read(memory: Memory, *documents: str) -> None:
    doubtful = Query(
        documents=documents,
        without_origins=BELIEVED,
        include_superseded=True,
        limit=1 << 30,
    )
    if documents:
        memory.note_shown(hit.record for hit in memory.library.search(doubtful))


def document_named(memory: Memory, name: str) -> str:
    limits.check_type(name, str, "document")
    main = memory.layout.memory or memory.layout.user
    checked = check_name(name or main)
    if not memory.serves(checked):
        raise BadName(checked, f"a gateway to a {memory.layout.name} vault has no such document")
    if not memory.layout.holds(checked):
        raise BadName(
            checked,
            f"the {memory.layout.name} layout has no such directory",
            next_step=f"Use a name without a directory, such as {main}.",
        )
    return checked


def mind_said(memory: Memory, said: Iterable[tuple[str, str]]) -> None:
    """What a tool answered may come from anywhere, and so may what a tainted session said."""
    if not (memory.origin == Origin.AGENT and memory.session and not memory.read_only):
        return
    for session, role in sorted(set(said)):
        if role == "tool" or memory.sessions.read(session).tainted:
            memory.taint(f"what was said in session {session}")


def _id_given(part: str, argument: str) -> str:
    key = part.removeprefix("#") if isinstance(part, str) else part
    return limits.check_id(key, argument=argument)


def _only(found: Sequence[str], key: str, argument: str) -> str:
    """The one id that has this part; the part itself where none has it."""
    if len(found) > 1:
        named = ", ".join(found[:3]) + (" and others" if len(found) > 3 else "")
        raise BadValue(argument, f"{key!r} is part of {named}", next_step="Send more of it.")
    return found[0] if found else key
