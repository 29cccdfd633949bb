"""Conversations: record and show messages, and tell which sessions are talking now.

A session may be tainted by a message it reads, so each message shown is reported with its role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from commonplace.history.messages import History, Message, Table, checked
from commonplace.model import limits
from commonplace.model.errors import BadValue, CommonplaceError, NotFound, Paused, Refused
from commonplace.model.records import BY_TOOL

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from commonplace.model.clock import Clock
    from commonplace.model.options import Options
    from commonplace.storage.leases import Lease, Leases

HEARTBEAT = "heartbeat"
"""The agent of a heartbeat's command, as the environment names it: what it does is no conversation.
"""

MOST_SAID = 2_000
"""How many of the last messages of a session are looked at for what its user said."""
Shown = Callable[[Iterable[tuple[str, str]]], None]
"""Is told the session and the role of each message that was shown."""


class ConversationParts(Protocol):
    """The parts of a vault that conversations need."""

    clock: Clock
    options: Options
    read_only: bool

    def history(self) -> History: ...

    def has_history(self) -> bool:
        """Whether any message may have been kept."""

    def leases(self) -> Leases: ...

    def refusal(self) -> CommonplaceError:
        """The error for a write where `read_only` is set."""


class Conversations:
    """The conversations of one vault, as one session and its agent see them."""

    def __init__(
        self,
        parts: ConversationParts,
        *,
        session: str,
        agent: str,
        alone: bool = False,
        clean: Callable[[str], str],
        shown: Shown,
        paused: Callable[[str, str], bool] = lambda session, time: False,
    ) -> None:
        self._parts = parts
        self._session = session
        self._agent = agent
        self._alone = alone
        """Whether it sees what was said in its own session alone."""
        self._clean = clean
        self._shown = shown
        self._paused = paused
        """Tells of a session and a moment whether nothing was to be recorded then."""

    @property
    def _history(self) -> History:
        """The messages, as they were recorded."""
        return self._parts.history()

    @property
    def leases(self) -> Leases:
        """Which conversations are running."""
        return self._parts.leases()

    def record(
        self,
        role: str,
        content: str,
        *,
        agent: str = "",
        channel: str = "",
        session: str | None = None,
        message_id: str = "",
        time: str = "",
    ) -> Message:
        """Keep one message of a conversation. It becomes history, never memory by itself.

        A message whose id is there already is not kept twice; what is there is returned. Its time
        is now, unless it was said before.
        """
        self._check_writable()
        clock = self._parts.clock
        limits.check_text(content, limit=limits.DOCUMENT_LIMIT, argument="content")
        message = Message(
            id=limits.check_word(message_id, argument="id") or clock.new_message_id(),
            session=limits.check_word(self._of(session), argument="session"),
            agent=limits.check_word(agent or self._agent, argument="agent"),
            channel=limits.check_word(channel, argument="channel"),
            role=limits.check_word(role, argument="role"),
            content=self._clean(content),
            time=time or clock.stamp(),
        )
        if self._paused(message.session, message.time):
            raise Paused(session=message.session)
        self._history.append([checked(message)])
        self.note()
        return self._history.get(message.id) or message

    def last(
        self, count: int = 20, *, agent: str = "", channel: str = "", session: str | None = None
    ) -> list[Message]:
        """The last messages, oldest first: of this session, or of all when it has no name."""
        limits.check_limit(count, most=1 << 30)
        return self._told(
            self._history.last(self._of(session), count, agent=agent, channel=channel)
        )

    def page(
        self, session: str, count: int, *, past: str = "", back: bool = False
    ) -> list[Message]:
        """Messages of one session, oldest first: right after the one `past`, or the first.

        `back`, those right before it, or the last.
        """
        limits.check_limit(count, most=1 << 30)
        return self._told(self._history.page(self._of(session), count, past=past, back=back))

    def openings(self, sessions: Iterable[str]) -> dict[str, Message]:
        """How each of these sessions began, by its name: with what its user first said."""
        seen = dict.fromkeys(map(self._of, sessions))
        return {each.session: each for each in self._told(self._history.openings([*seen]))}

    def of_user(self, session: str) -> list[Message]:
        """What the user said in a session, oldest first, by hooks and hosts; none without a name.

        Nobody is told of it: who asks looks for the user's words, and shows no others.
        """
        if not session or not self._parts.has_history():
            return []
        said = self._history.last(session, MOST_SAID)
        return [each for each in said if each.role == "user" and each.channel != BY_TOOL]

    def search(self, text: str, *, limit: int = 20, session: str | None = None) -> list[Message]:
        """The messages that fit best: of this session, or of all when it has no name."""
        limits.check_type(text, str, "text")
        limits.check_limit(limit, most=1 << 30)
        return self._told(self._history.search(text, limit=limit, session=self._of(session)))

    def ask(self, statement: str, *, limit: int = 100) -> Table:
        """Answer one SELECT over the messages. Nothing can be written with it."""
        if self._alone:
            raise Refused(
                "SQL would show what was said in other sessions.",
                next_step="'history last' and 'history search' show this one's.",
            )
        table = self._history.sql(statement, limit=limits.check_limit(limit, most=10_000))
        said = self._history.sql("SELECT DISTINCT session, role FROM messages", limit=10_000)
        self._shown((str(session), str(role)) for session, role in said.rows)
        return table

    def load(self, lines: Iterable[str]) -> int:
        """Keep the messages of a dump, without their secrets. Returns how many were new."""
        self._check_writable()
        return self._history.load(lines, clean=self._clean)

    def to_forget(
        self, ids: Sequence[str] = (), *, query: str = "", session: str | None = None
    ) -> list[Message]:
        """The messages of these ids, with all these words, or of a whole session: one of them."""
        found = self._meant(ids, query=query, session=session)
        if not found:
            raise NotFound(
                "There is no such message.",
                next_step="'commonplace history search' finds messages, with their ids.",
            )
        return found

    def _meant(self, ids: Sequence[str], *, query: str, session: str | None) -> list[Message]:
        if (bool(ids), bool(query.strip()), session is not None).count(True) != 1:
            raise BadValue(
                "what", "it is not clear", next_step="Name ids, a query or a session, one of them."
            )
        if ids:
            return [message for key in ids if (message := self._history.get(key))]
        if session is not None:
            said = self._history.last(session, 1 << 30)
            return [message for message in said if message.session == session]
        words = query.lower().split()
        found = self._history.search(query, limit=1 << 30)
        return [each for each in found if all(word in each.content.lower() for word in words)]

    def forget(self, ids: Sequence[str]) -> int:
        """Erase messages for good. Returns how many there were."""
        self._check_writable()
        return self._history.forget(ids)

    def note(self, *, seconds: float | None = None) -> None:
        """Say that this session is talking; said at every turn, it keeps the heartbeat away.

        A disk or a server that takes no note is no reason to stop talking.
        """
        if self._agent != HEARTBEAT and not self._parts.read_only:
            limit = self._parts.options.conversation_minutes * 60 if seconds is None else seconds
            with suppress(OSError, CommonplaceError):
                self.leases.note(self._session, seconds=limit)

    def end(self) -> None:
        """Say that this session talks no more."""
        self.leases.end(self._session)

    def held(self, seconds: float = 3600) -> AbstractContextManager[Lease]:
        """A conversation that runs as long as the block, the process, or `seconds` at most."""
        return self.leases.held(self._session, seconds=seconds)

    def are_running(self) -> bool:
        """Whether any conversation is going on in this vault."""
        return bool(self.leases.running())

    def _of(self, session: str | None) -> str:
        return self._session if session is None or self._alone else session

    def _told(self, found: list[Message]) -> list[Message]:
        self._shown((message.session, message.role) for message in found)
        return found

    def _check_writable(self) -> None:
        """A message that went into the state of this process alone would be lost with it."""
        if self._parts.read_only:
            raise self._parts.refusal()
