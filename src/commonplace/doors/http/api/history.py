"""The conversation history over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec.structs import asdict

from commonplace.doors.http.routes import IN_AN_ADDRESS, Limit, route
from commonplace.memory import Memory
from commonplace.tools.tool import Argument


@route("GET", "/history/sessions", scope="read")
def list_sessions(memory: Memory) -> Any:
    """The conversations that were recorded."""
    return {"sessions": [asdict(each) for each in memory.messages.sessions()]}


@route("GET", "/history/messages", scope="read", any_session=True)
def list_messages(
    memory: Memory,
    session: Annotated[str, Argument("of this conversation", max_length=200)],
    limit: Limit = 100,
) -> Any:
    """The last messages of a conversation, oldest first."""
    found = memory.conversations.last(limit, session=session)
    return {"messages": [asdict(each) for each in found]}


@route("GET", "/history/search", scope="read", any_session=True)
def search_messages(
    memory: Memory,
    text: Annotated[str, Argument("words to look for", max_length=IN_AN_ADDRESS)],
    limit: Limit = 20,
) -> Any:
    """Messages that fit the words, best first."""
    found = memory.conversations.search(text, limit=limit, session="")
    return {"messages": [asdict(each) for each in found]}
