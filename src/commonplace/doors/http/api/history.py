"""The conversation history over HTTP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from msgspec.structs import asdict

from commonplace.doors.caller import client_title
from commonplace.doors.http.routes import IN_AN_ADDRESS, Limit, Offset, route
from commonplace.history.messages import Conversation, Message
from commonplace.memory import Memory
from commonplace.model.errors import NotFound
from commonplace.tools.tool import Argument

LONGEST_TITLE = 90
Session = Annotated[str, Argument("of this conversation", max_length=200)]


@route("GET", "/history/sessions", scope="read")
def list_sessions(memory: Memory, offset: Offset = 0, limit: Limit = 100) -> Any:
    """The conversations that were recorded, the one that spoke last first, a page at a time."""
    every = memory.messages.sessions()
    page = every[offset : offset + limit]
    return {
        "sessions": titled(memory, page),
        "count": len(every),
        "messages": sum(each.messages for each in every),
        "more": len(every) > offset + limit,
    }


def titled(memory: Memory, sessions: Sequence[Conversation]) -> list[dict[str, Any]]:
    """Conversations with what they are called."""
    openings = memory.conversations.openings(each.session for each in sessions)
    return [asdict(each) | _opened(openings.get(each.session)) for each in sessions]


def _opened(opening: Message | None) -> dict[str, str]:
    """How a conversation is called: by its first words, with who kept it."""
    if opening is None:
        return {"title": "", "client": "", "agent": ""}
    return {
        "title": title_of(opening),
        "client": client_title(opening.channel),
        "agent": opening.agent,
    }


def title_of(opening: Message) -> str:
    """The first words of a conversation, on one line."""
    words = " ".join(opening.content.split())
    if len(words) <= LONGEST_TITLE:
        return words
    whole, _, _ = words[:LONGEST_TITLE].rpartition(" ")
    return f"{whole or words[:LONGEST_TITLE]}…"


@route("GET", "/history/messages", scope="read", any_session=True)
def list_messages(
    memory: Memory,
    session: Session,
    limit: Limit = 100,
    at: Annotated[str, Argument("around this message", max_length=200)] = "",
    before: Annotated[str, Argument("right before this message", max_length=200)] = "",
    after: Annotated[str, Argument("right after this message", max_length=200)] = "",
    end: Annotated[
        Literal["first", "last"], Argument("from which end of the conversation, otherwise")
    ] = "last",
) -> Any:
    """Messages of a conversation, oldest first, and whether others come before or after them."""
    page = _Page(memory, session, limit)
    if at:
        found, earlier, later = page.around(at)
    elif after or (end == "first" and not before):
        found, later = page.on(after)
        earlier = bool(after)
    else:
        found, earlier = page.back(before)
        later = bool(before)
    return {
        "messages": [asdict(each) for each in found],
        "earlier": earlier,
        "later": later,
        "title": "".join(_titles(memory, found[:1]).values()),
    }


class _Page:
    """A way to read one conversation so many messages at a time."""

    def __init__(self, memory: Memory, session: str, limit: int) -> None:
        self._conversations = memory.conversations
        self._session = session
        self._limit = limit

    def on(self, past: str) -> tuple[list[Message], bool]:
        found = self._conversations.page(self._session, self._limit + 1, past=past)
        return found[: self._limit], len(found) > self._limit

    def back(self, past: str) -> tuple[list[Message], bool]:
        found = self._conversations.page(self._session, self._limit + 1, past=past, back=True)
        return found[-self._limit :], len(found) > self._limit

    def around(self, message_id: str) -> tuple[list[Message], bool, bool]:
        """The message in the middle, with half of the others on either side."""
        before, earlier = self.back(message_id)
        after, later = self.on(before[-1].id if before else "")
        if not any(each.id == message_id for each in after):
            raise NotFound(
                f"The conversation has no message {message_id}.",
                next_step="It may have been forgotten. Open the conversation without it.",
            )
        half = self._limit // 2
        kept, rest = before[-half:] if half else [], after[: self._limit - half]
        return [*kept, *rest], earlier or len(kept) < len(before), later or len(rest) < len(after)


def _titles(memory: Memory, messages: Iterable[Message]) -> dict[str, str]:
    openings = memory.conversations.openings(each.session for each in messages)
    return {session: title_of(opening) for session, opening in openings.items()}


@route("GET", "/history/search", scope="read", any_session=True)
def search_messages(
    memory: Memory,
    text: Annotated[str, Argument("words to look for", max_length=IN_AN_ADDRESS)],
    session: Annotated[str, Argument("in this conversation alone", max_length=200)] = "",
    limit: Limit = 20,
) -> Any:
    """Messages that fit the words, best first, with the titles of their conversations."""
    found = memory.conversations.search(text, limit=limit, session=session)
    return {"messages": [asdict(each) for each in found], "titles": _titles(memory, found)}


@route("POST", "/history/forget", scope="admin")
def forget_messages(memory: Memory, session: Session) -> Any:
    """Erase a whole conversation for good. Memories that were made of it stay."""
    found = memory.conversations.to_forget(session=session)
    return {"erased": memory.conversations.forget([each.id for each in found])}
