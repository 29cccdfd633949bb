"""Messages and the protocol of a history that keeps them.

A history is data: nothing else in a vault can tell it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.model.clock import parse_stamp, stamp
from commonplace.model.errors import BadInput, BadValue

if TYPE_CHECKING:
    from commonplace.model.clock import Clock
    from commonplace.model.records import SearchResult
    from commonplace.search.index import Query

ROLE = re.compile(r"[a-z][a-z0-9_-]{0,39}\Z")
HALF = re.compile("[\\ud800-\\udfff]")
PROBLEMS = 20
"""How many bad lines of a dump are named."""


class Message(Struct, frozen=True):
    """One message of a conversation."""

    id: str
    session: str
    agent: str
    channel: str
    role: str
    content: str
    time: str
    """UTC, ISO 8601 with milliseconds."""


FIELDS = Message.__struct_fields__


class Conversation(Struct, frozen=True):
    """What was said in one session, counted."""

    session: str
    messages: int
    first: str
    last: str


class Table(Struct, frozen=True):
    """What a question in SQL found."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    more: bool = False
    """Whether rows were left out."""
    cut: int = 0
    """How many cells were too long and end in `…`."""


class History(Protocol):
    """The messages of a vault. Messages of one time keep the order they came in."""

    def append(self, messages: Iterable[Message]) -> int:
        """Keep all of them or none; ids that are there already are skipped. On disk on return.

        Returns how many were new.
        """

    def get(self, message_id: str) -> Message | None: ...

    def last(
        self, session: str, count: int, *, agent: str = "", channel: str = ""
    ) -> list[Message]:
        """The last messages, oldest first: of a session, or of all when it has no name."""

    def page(
        self, session: str, count: int, *, past: str = "", back: bool = False
    ) -> list[Message]:
        """Messages of exactly this session, oldest first: those right after the one `past`.

        Without one, the first; `back`, those right before it, or the last.
        """

    def openings(self, sessions: Sequence[str]) -> list[Message]:
        """How each of these sessions began: the user's first message, else the first of any."""

    def search(self, text: str, *, limit: int, session: str = "") -> list[Message]:
        """What fits the words best first; without words, the newest first."""

    def find(self, query: Query, clock: Clock) -> SearchResult:
        """What fits a query best, ranked as records are; without text, the newest first."""

    def sql(self, statement: str, *, limit: int) -> Table:
        """Answer one SELECT over the views `messages` and `sessions`; nothing can be written."""

    def dump(self) -> Iterator[str]:
        """Every message as a line of JSON, oldest first."""

    def load(self, lines: Iterable[str], *, clean: Callable[[str], str] = str) -> int:
        """Keep the messages of a dump: all of them, or none when a line is bad.

        `clean` is what a text goes through before it is kept. Returns how many were new.
        """

    def sessions(self) -> list[Conversation]:
        """Every session, the one that spoke last first."""

    def count(self) -> int: ...

    def forget(self, ids: Sequence[str]) -> int:
        """Erase these messages, so that no byte of them is left. Returns how many there were."""

    def healthy(self) -> str:
        """A sentence on what is wrong with the history; empty when nothing is."""

    def size(self) -> int:
        """Bytes on disk."""

    def close(self) -> None: ...


def line_of(message: Message) -> str:
    """A message as one line of a dump."""
    return json.dumps(asdict(message), ensure_ascii=False)


def message_of(line: str) -> Message:
    """The message of one line of a dump."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise _bad("line", "it is not JSON") from None
    if not isinstance(value, dict) or set(value) != set(FIELDS):
        raise _bad("line", f"it is not an object with {', '.join(FIELDS)}")
    for name, each in value.items():
        if not isinstance(each, str) or HALF.search(each):
            raise _bad(name, "it is not a text")
    return checked(Message(**value))


def loaded(lines: Iterable[str], clean: Callable[[str], str]) -> Iterator[Message]:
    """The messages of a dump. After the last of them all bad lines are told, as one error."""
    problems = list[str]()
    for number, line in enumerate(lines, 1):
        if not line.strip() or len(problems) > PROBLEMS:
            continue
        try:
            message = message_of(line)
            kept = Message(**{**asdict(message), "content": clean(message.content)})
        except BadValue as error:
            problems.append(f"line {number}: {error.what}")
            continue
        if not problems:
            yield kept
    if problems:
        listed = "\n".join(problems[:PROBLEMS]) + ("\n…" if len(problems) > PROBLEMS else "")
        raise BadInput(
            f"Nothing was loaded, because of these lines:\n{listed}\n",
            next_step="Mend or remove them and load the file again.",
        )


def checked(message: Message) -> Message:
    """The message, when its id, role, time and content are what they must be."""
    if not message.id:
        raise _bad("id", "it is empty")
    if not ROLE.match(message.role):
        raise _bad("role", f"{message.role!r} is not a role", "Use user, assistant, system, tool.")
    if not message.content:
        raise _bad("content", "it is empty")
    try:
        time = stamp(parse_stamp(message.time))
    except ValueError:
        raise _bad("time", f"{message.time!r} is no time", "Use ISO 8601.") from None
    return message if time == message.time else Message(**{**asdict(message), "time": time})


def _bad(argument: str, problem: str, next_step: str = "A dump shows what one looks like.") -> Any:
    return BadValue(argument, problem, next_step=next_step)
