"""The record: one memory, with where it came from; and the small values that go with it.

`markdown.record_lines` writes a record as a line, `storage.vault` keeps the documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.model.clock import Clock, DayOf, parse_stamp
from commonplace.model.files import digest


class Origin(StrEnum):
    """Who a text really comes from. Stamped by the core at the write, never read from the text."""

    OWNER = "owner"
    AGENT = "agent"
    SYSTEM = "system"
    IMPORT = "import"
    TOOL = "tool"
    WEB = "web"


class Sensitivity(StrEnum):
    """Who may see a record, from everyone to nobody but its owner."""

    PUBLIC = "public"
    PERSONAL = "personal"
    OPERATIONAL = "operational"
    PRIVATE_USER = "private-user"
    SENSITIVE = "sensitive"
    SECRET = "secret"


SHAREABLE = frozenset(
    (
        Sensitivity.PUBLIC,
        Sensitivity.PERSONAL,
        Sensitivity.OPERATIONAL,
        Sensitivity.PRIVATE_USER,
    )
)
"""What may be summed up; claw's own two labels count as personal."""
COMPACTION = "compaction"
"""The kind of what was made of others: a summary, or a mark of where one begins."""
CHECKPOINT = "Checkpoint before compaction:"
"""How a mark of where a compaction began starts. It says nothing that is worth knowing."""
TYPES = ("preference", "fact", "instruction", "context", "correction")
CATEGORIES = ("turn-summary", COMPACTION, "note", "heartbeat", "learned", "user-preference")
BEHAVIORAL = frozenset(("preference", "instruction", "correction", "user-preference"))
PLAIN = frozenset(
    (*TYPES, *CATEGORIES, "decision", "person", "goal", "event", "message", "experience")
).difference(BEHAVIORAL)
"""The kinds that are known to tell what is so, and not what to do."""
PASSAGE = "passage"
"""The kind of a searchable piece of prose: found like a record, but not stored as one."""
MESSAGE = "message"
"""The kind of what was said in a conversation; it stands in no document."""
BY_TOOL = "tool"
"""The channel of a message that an agent's own tool appended: only the agent says who said it."""

INFERRED = ("inferred",)
"""In place of evidence: the user said things in that session, and nothing that it could rest on."""

PERSON, PROJECT = "person:", "project:"
"""How a tag begins that names whom or what a record is about."""

KIND = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*\Z")
ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}\Z")


class Record(Struct, frozen=True):
    """One memory."""

    id: str
    kind: str
    text: str
    timestamp: str
    """UTC, as `clock.stamp` writes it."""
    tags: tuple[str, ...] = ()
    supersedes: str = ""
    session: str = ""
    group: str = ""
    channel: str = ""
    username: str = ""
    confidence: float = 1.0
    sensitivity: str = Sensitivity.PERSONAL
    origin: str = Origin.AGENT
    valid_from: str = ""
    valid_to: str = ""
    sources: tuple[str, ...] = ()
    """The ids a summary was made from."""
    replaced_by: str = ""
    """The id of a record that replaced this one and has since left the documents."""
    seen: tuple[str, ...] = ()
    """When it was told again, each with the session; the oldest first."""
    evidence: tuple[str, ...] = ()
    """The user's message that it rests on: its id, its time, and the sentence where the text is not
    that sentence itself; or `INFERRED`.
    """
    found_by: tuple[str, ...] = ()
    """Words of the agent's wording by which a sentence of the user's is found, too."""
    when: tuple[str, ...] = ()
    """The moments at which a rule is told, such as `Bash(git push*)`; none: always."""
    must: str = ""
    """When the owner said that the first matching call of a session is to be denied; or empty."""
    pinned: str = ""
    """When a person pinned it, to be told before all others; or empty."""
    citations: tuple[str, ...] = ()
    """The files and lines that it rests on, each as `citations.written` puts it."""
    useful: tuple[str, ...] = ()
    """When it was called useful, each with the session; the oldest first."""
    wrong: tuple[str, ...] = ()
    """When it was called wrong, each with the session; the oldest first."""

    @property
    def behavioral(self) -> bool:
        """Whether it tells the agent how to behave, rather than what is so."""
        return self.kind in BEHAVIORAL

    @property
    def cites(self) -> bool:
        """Whether it rests on a message of the user's."""
        return len(self.evidence) > 1

    @property
    def is_quote(self) -> bool:
        """Whether its text is a sentence of the user's, as it was typed."""
        return len(self.evidence) == 2

    def words_one_of(self, ids: Sequence[str]) -> bool:
        """Whether it is an agent's wording of one of these sentences of the user's."""
        return len(self.evidence) == 3 and self.supersedes in ids and self.id not in ids

    @property
    def said_at(self) -> str:
        """When it was said, if it is a sentence of the user's; else when it was stored."""
        return self.evidence[1] if self.is_quote else self.timestamp

    @property
    def told_text(self) -> str:
        """The text with a mark of whose words it is, to stand behind a date and a kind."""
        if self.is_quote:
            return f", in the user's words: “{self.text}”"
        return f", inferred: {self.text}" if self.evidence == INFERRED else f": {self.text}"

    @property
    def is_checkpoint(self) -> bool:
        """Whether it only marks where a compaction began."""
        return self.kind == COMPACTION and self.text.startswith(CHECKPOINT)

    def data(self) -> dict[str, Any]:
        """Everything but the text, with what has its default value left out."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
            if name != "text" and value != DEFAULTS.get(name)
        }


LASTING = BEHAVIORAL | {"fact", "context", "decision", "person", "goal", "learned"}
"""The kinds of what is known. The others tell what happened, which may happen again."""
PASSING = frozenset(("note", "turn-summary", "heartbeat", "event", "message", COMPACTION))
"""The kinds of what happened, which belongs in the log of its day."""
ENDINGS = " .,;:!?…"


def same_words(text: str) -> str:
    """The text without what makes no difference: case, spacing and its last punctuation."""
    words = " ".join(text.casefold().split())
    return words.rstrip(ENDINGS) or words


def wording_key(record: Record) -> int:
    """A number that records of the same words, kind and user share; 0 for a kind that passes."""
    if record.kind not in LASTING:
        return 0
    key = "\0".join((record.kind, record.username, same_words(record.text)))
    digested = blake2b(key.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digested, "big", signed=True) or 1


DEFAULTS: dict[str, Any] = dict(
    zip(Record.__struct_fields__[-len(Record.__struct_defaults__) :], Record.__struct_defaults__)
)


class Now(Struct, frozen=True):
    """A moment with its day on the user's calendar, and `day_of` for the days of other moments."""

    moment: datetime
    day: date
    day_of: DayOf


def now_of(clock: Clock, moment: datetime | None = None) -> Now:
    """The moment, or the present one, that validity is checked against."""
    moment = moment or clock.now()
    return Now(moment, clock.local_day(moment), clock.day_of)


def is_over(record: Record, now: Now) -> bool:
    """Whether the time that the record names for itself has passed; a day counts whole."""
    return _order(record.valid_to, now) < 0


def is_to_come(record: Record, now: Now) -> bool:
    """Whether the time that the record names for itself has not begun."""
    return _order(record.valid_from, now) > 0


def _order(time: str, now: Now) -> int:
    """Less than 0 for what is before now, more for what is after; 0 too for what is no time."""
    if not time:
        return 0
    try:
        if len(time) == len("2026-11-15"):
            return (date.fromisoformat(time) - now.day).days
        return int((parse_stamp(time) - now.moment) / timedelta(milliseconds=1))
    except ValueError:
        return 0  # A person's line may say no time that can be read.


class Author(Struct, frozen=True):
    """Who makes a change: its origin, as the core knows it, and the session it happens in."""

    origin: str = Origin.AGENT
    session: str = ""


OWNER = Author(Origin.OWNER)
SYSTEM = Author(Origin.SYSTEM)


class Place(Struct, frozen=True):
    """Where a record stands: a document and the line it starts on, counted from 1."""

    document: str
    line: int


class Problem(Struct, frozen=True):
    """A mistake in a person's text: where it is and what it is. Never an exception."""

    document: str
    line: int
    what: str


class Neighbour(Struct, frozen=True):
    """A record beside a hit that may explain it."""

    id: str
    timestamp: str
    username: str
    text: str
    origin: str


WEAK = 0.25
"""The score below which a hit is weak: of such, at most one in four is an answer."""


class Hit(Struct, frozen=True):
    """Something found: the record, where it stands and how well it fits (0 to 1)."""

    record: Record
    places: tuple[Place, ...]
    score: float
    beside: tuple[Neighbour, ...] = ()
    """What is right before and after it, in its session or where it was found by that alone."""
    why: tuple[tuple[str, float], ...] = ()
    """Each signal's part of its rank, the weightiest first, where that was asked for."""
    reasons: tuple[str, ...] = ()
    """Why it was found, in plain words, the weightiest first; none where nothing was asked."""
    stale: str = ""
    """What has become of a file that the record rests on; empty where that is as it was."""

    @property
    def is_weak(self) -> bool:
        """Whether it was found for a question that it probably does not answer."""
        return 0 < self.score < WEAK

    @property
    def shown(self) -> tuple[Record | Neighbour, ...]:
        """The records whose text the hit shows."""
        return self.record, *self.beside


class SearchResult(list[Hit]):
    """The hits of a search, best first, and how they were found."""

    def __init__(
        self,
        hits: Iterable[Hit] = (),
        *,
        mode: str = "words",
        degraded: str = "",
        nearest: Sequence[Hit] = (),
        readings: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(hits)
        self.mode = mode
        """`words`, `vectors` or `hybrid`."""
        self.degraded = degraded
        """Why it may have found less than it could; empty when nothing was wanting."""
        self.nearest = tuple(nearest)
        """What came nearest to the question, where nothing was near enough to be found."""
        self.readings = dict(readings or {})
        """Misspelt words of the question, each with the word that it was read as."""

    @property
    def rests_on_files(self) -> bool:
        """Whether any of it cites a file or a document, which may have changed since."""
        return any(hit.record.citations for hit in self)

    @property
    def is_weak(self) -> bool:
        """Whether even the best of it is probably no answer."""
        return bool(self) and self[0].is_weak


def short_id(record_id: str) -> str:
    """As much of an id as tells it from others: its end, where ids of one moment differ."""
    return record_id if len(record_id) <= 12 else record_id[-8:]


def etag_of(data: bytes) -> str:
    """The mark of one exact text of a document."""
    return digest(data)


DERIVED = re.compile(r"mem-[0-9a-f]{32}\Z")


def derived_id(*parts: str) -> str:
    """The id of a text that carries none: the same text in the same place has the same id."""
    return "mem-" + digest("\x1f".join(parts).encode("utf-8", "surrogatepass"))
