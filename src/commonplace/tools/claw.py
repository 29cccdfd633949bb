"""CursorClaw's tools, its `MemoryStore`, and the part of its runtime that injects memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Annotated, Any

from msgspec import Struct

from commonplace.memory import Memory
from commonplace.model import limits
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue, NoSuchDocument, Refused
from commonplace.model.files import StrPath
from commonplace.model.options import snake
from commonplace.model.records import PASSAGE, Hit, Record, Sensitivity
from commonplace.opening import find_root
from commonplace.storage.sessions import SessionKind, session_kind
from commonplace.tools.native import in_users_words
from commonplace.tools.tool import Answer, Argument, Tool, tool
from commonplace.trust.neutralise import one_line
from commonplace.upkeep.scan import Finding, session_contradictions, stale

FIELDS = frozenset(("id", "sessionId", "category", "text", "provenance"))
PROVENANCE = frozenset(("sourceChannel", "confidence", "timestamp", "sensitivity"))

MOST_LOADED = 8
"""How many profiles' texts are kept in a process."""
SECONDS = 60
"""How long a text is kept at most: what is valid until noon is not shown at one."""
SOURCES = ("MEMORY.md", "USER.md", "LONGMEMORY.md", "memory")
OWN = ("sessionId", "isMainSession", "message", "clock")

Load = Callable[[str, Mapping[str, Any]], str]
Question = Annotated[str, Argument("What to look for, in plain words.", max_length=2000)]
TopK = Annotated[int, Argument("Most results.", minimum=1, maximum=100)]


def _only_for(*kinds: SessionKind, option: str = "") -> Callable[[Memory], str]:
    """Why a session may not have the tool: another kind of session, or an option that is off."""

    def obstacle(memory: Memory) -> str:
        if memory.kind not in kinds:
            return f"it is for the {' and the '.join(kinds)} session"
        is_off = option and not getattr(memory.options, option)
        return f"the option {option} is off" if is_off else ""

    return obstacle


@tool(always=True, obstacle=_only_for(SessionKind.MAIN))
def remember_this(
    memory: Memory,
    text: Annotated[str, Argument("What to remember, self-contained.", max_length=2000)],
    category: Annotated[
        str, Argument("note, user-preference, learned, turn-summary or a word of your own.")
    ] = "note",
) -> Answer:
    """Remember something when the user says "remember this" or "remember that I prefer X"."""
    _check_offered(memory, remember_this)
    kind = limits.check_kind(category, argument="category")
    done = memory.remember(text, kind=kind)
    record = done.record
    told = f" It is {in_users_words(done)}" if record.is_quote else ""
    return Answer(as_mapping(record), f"Remembered as {record.kind} ({record.id}).{told}")


@tool(
    read_only=True,
    always=True,
    obstacle=_only_for(SessionKind.MAIN, option="memory_embeddings_enabled"),
)
def recall_memory(memory: Memory, query: Question, limit: TopK = 10) -> Answer:
    """Recall the memories most like the query, without loading all of MEMORY.md."""
    _check_offered(memory, recall_memory)
    hits = memory.recall(_asked(query), limit=limit)
    return _recalled(memory, hits, none="No memory is like this. Try other words.")


@tool(
    read_only=True,
    obstacle=_only_for(SessionKind.MAIN, SessionKind.HEARTBEAT, option="experience_store_enabled"),
)
def query_experiences(memory: Memory, query: Question, limit: TopK = 10) -> Answer:
    """Find past experiences like the query, to learn from what happened before."""
    _check_offered(memory, query_experiences)
    hits = memory.recall_experiences(_asked(query), limit=limit)
    return _recalled(memory, hits, none="No experience is like this. Try other words.")


TOOLS = (remember_this, recall_memory, query_experiences)


def offered(memory: Memory) -> tuple[Tool, ...]:
    """The tools of this session: by what it is, and by what the options switch on."""
    return tuple(each for each in TOOLS if each.is_for(memory))


def _check_offered(memory: Memory, wanted: Tool) -> None:
    obstacle = wanted.obstacle and wanted.obstacle(memory)
    if obstacle:
        others = ", ".join(each.name for each in offered(memory))
        step = f"Use {others}." if others else "Go on without it."
        raise Refused(f"{wanted.name} is not offered here: {obstacle}.", next_step=step)


def _asked(query: str) -> str:
    if not query.strip():
        raise BadValue("query", "it is empty", next_step="Say what to look for.")
    return query


def _recalled(memory: Memory, hits: list[Hit], *, none: str) -> Answer:
    # A cosine of nothing or less is no likeness: those only fill up the count.
    hits = [hit for hit in hits if hit.score > 0]
    data = [as_mapping(hit.record) | {"similarity": round(hit.score, 4)} for hit in hits]
    lines = (_line(hit, memory.clock.day_of(hit.record.timestamp)) for hit in hits)
    return Answer(data, "\n".join(lines) or none)


def _line(hit: Hit, day: str) -> str:
    record, day = hit.record, day or "undated"
    return one_line(f"- {hit.score:.2f} {day} {record.kind}: {record.text} [{record.id}]")


class MemoryStore:
    """The records of MEMORY.md, as CursorClaw's runtime calls for them.

    Records are mappings with the keys of its JSON lines; methods have the names of its document.
    """

    def __init__(self, memory: Memory) -> None:
        if not memory.layout.memory:
            raise Refused(
                f"The {memory.layout.name} layout has no MEMORY.md.",
                next_step="Open a vault of the claw or the native layout.",
            )
        self.memory = memory

    def append(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Write a record to MEMORY.md and to today's log. Returns it as it was stored.

        An id and a time that it brings along are kept; one whose id is there already is refused.
        """
        _check_keys(record, FIELDS)
        provenance = record.get("provenance", {})
        _check_keys(provenance, PROVENANCE)
        stored = self._of(record.get("sessionId", self.memory.session)).store(
            record.get("text", ""),
            kind=limits.check_kind(record.get("category", "note"), argument="category"),
            channel=provenance.get("sourceChannel", ""),
            confidence=provenance.get("confidence", 1.0),
            sensitivity=provenance.get("sensitivity", Sensitivity.PERSONAL),
            id=record.get("id", ""),
            timestamp=provenance.get("timestamp", ""),
        )
        return as_mapping(stored)

    def readAll(self) -> list[dict[str, Any]]:  # noqa: N802
        """Every record of MEMORY.md, in file order."""
        return [as_mapping(record) for record in self._records()]

    def retrieveForSession(  # noqa: N802
        self,
        sessionId: str,  # noqa: N803
        allowSecret: bool = False,  # noqa: N803
    ) -> list[dict[str, Any]]:
        """The records of one session; secret ones only if they are allowed."""
        return [
            as_mapping(record)
            for record in self._records()
            if record.session == sessionId
            and (allowSecret or record.sensitivity != Sensitivity.SECRET)
        ]

    def flushPreCompaction(self, sessionId: str) -> dict[str, Any]:  # noqa: N802, N803
        """Append a checkpoint of the session, to be there before compaction runs."""
        return as_mapping(self._of(sessionId).checkpoint())

    def integrityScan(self) -> list[Finding]:  # noqa: N802
        """Contradictions and what is out of date. Only looks: mending is for a person or upkeep."""
        records = self._records()
        replaced = {record.supersedes for record in records}
        held = [r for r in records if r.id not in replaced and not r.replaced_by]
        clock = self.memory.clock
        return [*session_contradictions(held), *stale(held, now=clock.now(), clock=clock)]

    def _records(self) -> list[Record]:
        # Secrets too: who asks says whether they are wanted.
        library, name = self.memory.library, self.memory.layout.memory
        try:
            parsed = library.parse(name, library.text(name)[0])
        except NoSuchDocument:
            return []
        return [item.record for item in parsed.items if item.record.kind != PASSAGE]

    def _of(self, session: Any) -> Memory:
        """The same memory as another session holds it."""
        held = copy(self.memory)
        held.session = limits.check_word(session, argument="sessionId")
        for what, _ in self.memory.sessions.read(self.memory.session).taints:
            held.taint(what)  # Who has read it speaks, whatever the session is called.
        return held


def as_mapping(record: Record) -> dict[str, Any]:
    """A record with the keys of CursorClaw's JSON lines."""
    return {
        "id": record.id,
        "sessionId": record.session,
        "category": record.kind,
        "text": record.text,
        "provenance": {
            "sourceChannel": record.channel,
            "confidence": record.confidence,
            "timestamp": record.timestamp,
            "sensitivity": record.sensitivity,
        },
    }


def _check_keys(values: Any, known: frozenset[str]) -> None:
    if not isinstance(values, Mapping):
        raise BadValue("record", f"{values!r} is no mapping", next_step="Send keys with values.")
    strange = sorted(map(str, values.keys() - known))
    if strange:
        step = f"Use {', '.join(sorted(known))}."
        raise BadValue("record", f"it has no key {strange[0]}", next_step=step)


class LoadedContext(Struct, frozen=True):
    """A text with the fingerprints of its sources."""

    text: str
    marks: tuple[object, ...]
    until_ns: int


_loaded_contexts: dict[tuple[object, ...], LoadedContext] = {}


def loadSessionMemoryContext(  # noqa: N802
    profileRoot: StrPath,  # noqa: N803
    options: Mapping[str, Any] | None = None,
) -> str:
    """The text to inject for a profile; the same one again until something was appended.

    `options` are CursorClaw's continuity keys, with `sessionId`, `isMainSession` and the last user
    `message`.
    """
    given = dict(options or {})
    clock = given.get("clock") or Clock()
    if not os.path.isdir(os.path.expanduser(profileRoot)):
        raise BadValue("profileRoot", "it is no directory", next_step="Name the profile's root.")
    root = find_root(os.path.expanduser(profileRoot))
    key = (root, *sorted((name, str(value)) for name, value in given.items()))
    marks = (clock.today(), *_marks(root))
    kept = _loaded_contexts.get(key)
    if kept is None or kept.marks != marks or clock.now_ns() > kept.until_ns:
        text = _load(root, given, clock)
        # Looked at again: loading a profile makes the files that it lacks.
        marks = (clock.today(), *_marks(root))
        kept = _loaded_contexts[key] = LoadedContext(text, marks, clock.now_ns() + SECONDS * 10**9)
        while len(_loaded_contexts) > MOST_LOADED:
            del _loaded_contexts[next(iter(_loaded_contexts))]
    return kept.text


def _load(root: str, given: Mapping[str, Any], clock: Clock) -> str:
    options = {snake(name): value for name, value in given.items() if name not in OWN}
    session = given.get("sessionId", "")
    is_main = given.get("isMainSession", False)
    with Memory.open(
        root, "claw", session, clock=clock, create=True, main=is_main, **options
    ) as memory:
        return memory.context(given.get("message", "")).text


def _marks(root: str) -> list[object]:
    """Fingerprints of the sources."""
    paths = [os.path.join(root, name) for name in SOURCES]
    days = paths[-1]
    if os.path.isdir(days):
        names = sorted(name for name in os.listdir(days) if name.endswith(".md"))
        paths += [os.path.join(days, name) for name in names]
    return [(path, _look(path)) for path in paths]


def _look(path: str) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_size, found.st_mtime_ns, found.st_ino)


class Runtime:
    """The part of CursorClaw's runtime that puts memory into the system prompt."""

    def __init__(
        self,
        *,
        getSessionMemoryContext: Load | None = None,  # noqa: N803
        getProfileRoot: Callable[[], str] | None = None,  # noqa: N803
    ) -> None:
        self._load = getSessionMemoryContext
        self._root = getProfileRoot

    def buildMessages(  # noqa: N802
        self,
        sessionId: str,  # noqa: N803
        messages: Sequence[Mapping[str, str]],
        system: str = "",
        isMainSession: bool | None = None,  # noqa: N803
    ) -> list[dict[str, str]]:
        """The messages of a turn, the system prompt first, with memory in the main session only.

        Which one that is `isMainSession` says; where it does not, no id and `main` are.
        """
        is_main = session_kind(sessionId) == SessionKind.MAIN
        if isMainSession is not None:
            is_main = isMainSession
        parts = [system, self._memory(sessionId, messages) if is_main else ""]
        prompt = "\n\n".join(part for part in parts if part)
        first = [{"role": "system", "content": prompt}] if prompt else []
        return [*first, *(dict(message) for message in messages)]

    def _memory(self, session: str, messages: Sequence[Mapping[str, str]]) -> str:
        root = self._root() if self._root else ""
        if not self._load or not root:
            return ""
        said = [message["content"] for message in messages if message["role"] == "user"]
        told = {"sessionId": session, "isMainSession": True}
        return self._load(root, {**told, "message": said[-1] if said else ""})
