"""CursorClaw's tools and its `MemoryStore`: JSON-line records, by session and category.

They know which session may call what; how records are kept, found or scanned over time they leave
to the core.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Annotated, Any

from commonplace.memory import Memory
from commonplace.model import limits
from commonplace.model.errors import BadValue, NoSuchDocument, Refused
from commonplace.model.records import PASSAGE, Hit, Record, Sensitivity
from commonplace.storage.sessions import SessionKind
from commonplace.tools.native import in_users_words
from commonplace.tools.tool import Answer, Argument, Tool, tool
from commonplace.trust.neutralise import one_line
from commonplace.upkeep.scan import Finding, contradictions, stale

FIELDS = frozenset(("id", "sessionId", "category", "text", "provenance"))
PROVENANCE = frozenset(("sourceChannel", "confidence", "timestamp", "sensitivity"))

Question = Annotated[str, Argument("What to look for, in plain words.", max_length=2000)]
TopK = Annotated[int, Argument("Most results.", minimum=1, maximum=100)]


def _only_for(*kinds: SessionKind, option: str = "") -> Callable[[Memory], str]:
    """The obstacle for sessions of another kind, and where an option that must be on is off."""

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
        return [*contradictions(held), *stale(held, now=clock.now(), clock=clock)]

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
