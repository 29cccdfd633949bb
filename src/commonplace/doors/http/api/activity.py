"""Activity over HTTP: every change with its texts, who made it, and how it is taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec.structs import asdict

from commonplace.doors.caller import client_title
from commonplace.doors.http import event_stream
from commonplace.doors.http.routes import Limit, route
from commonplace.library.activity import Activity
from commonplace.memory import Memory
from commonplace.memory.activity import deed_of, who_made
from commonplace.storage.journal import Entry
from commonplace.tools.tool import Argument

PIECES = 8
"""Memories of one change that a list tells of; the change itself tells of more."""
ALL_PIECES = 1000
LONGEST = 4000
"""Characters of one text that a list tells."""


@route("GET", "/activity", scope="read", long=True)
def list_activity(
    memory: Memory,
    who: Annotated[
        Literal["", "you", "agent", "editor", "import", "commonplace"], Argument("made by")
    ] = "",
    deed: Annotated[
        Literal["", "remembered", "changed", "removed", "taken-back", "decided", "upkeep"],
        Argument("what was done"),
    ] = "",
    day: Annotated[str, Argument("YYYY-MM-DD, on the user's calendar", max_length=10)] = "",
    document: Annotated[str, Argument("changes of this document", max_length=400)] = "",
    way: Annotated[
        Literal["", "undo", "redo"], Argument("those that can be taken back, or made again")
    ] = "",
    before: Annotated[
        int, Argument("the position to go on before; else the newest", minimum=0, maximum=1 << 53)
    ] = -1,
    limit: Limit = 50,
) -> Any:
    """Changes with what they said before and after, newest first, a page at a time.

    `next` is where the page after it begins; null at the end. The texts are for the owner.
    """
    start = None if before < 0 else before
    page = memory.activity(
        who=who,
        deed=deed,
        day=day,
        document=document,
        way=way,
        before=start,
        limit=limit + 1,
    )
    shown = page.changes[:limit]
    clients = memory.clients(each.entry.session for each in shown)
    return {
        "changes": [told(memory, each, clients, most=PIECES) for each in shown],
        "count": page.count,
        "next": shown[-1].entry.position if len(page.changes) > limit else None,
    }


@route("GET", "/activity/{position}", scope="read", long=True)
def show_activity(
    memory: Memory,
    position: Annotated[int, Argument("of the change", minimum=0, maximum=1 << 53)],
) -> Any:
    """One change with all that it said before and after."""
    return one(memory, position, most=ALL_PIECES)


def one(memory: Memory, position: int, *, most: int = PIECES) -> dict[str, Any]:
    """A change by its position."""
    found = memory.change(position)
    return told(memory, found, memory.clients([found.entry.session]), most=most)


def told(
    memory: Memory, change: Activity, clients: Mapping[str, str], *, most: int
) -> dict[str, Any]:
    entry = change.entry
    return {
        **told_by(memory, entry, clients),
        "ids": list(entry.ids[:most]),
        "removed": list(entry.removed[:most]),
        "memories": len(entry.ids),
        "deed": deed_of(entry),
        "pieces": [_piece(each, short=most == PIECES) for each in change.pieces[:most]],
        "more": max(0, len(change.pieces) - most),
        "undo": None if change.undo < 0 else change.undo,
        "way": change.way,
    }


def told_by(memory: Memory, entry: Entry, clients: Mapping[str, str]) -> dict[str, Any]:
    """A change with who made it, as a person tells them apart."""
    return {
        **event_stream.told(memory, entry),
        "day": memory.clock.day_of(entry.at),
        "who": who_made(entry),
        "client": client_title(clients.get(entry.session, "")),
    }


def _piece(piece: Any, *, short: bool) -> dict[str, str]:
    told = asdict(piece)
    if short:
        for side in ("before", "after"):
            text = told[side]
            told[side] = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return told
