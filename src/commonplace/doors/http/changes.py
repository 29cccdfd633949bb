"""A stream of changes: each entry of a vault's journal, told to every page that listens.

It knows journals and Server-Sent Events. The text of a change is not in the stream: who may see it
asks for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from commonplace.journal import Entry
from commonplace.memory import Memory

LOOK_SECONDS = 0.4
ALIVE_SECONDS = 15.0
MOST = 200
"""Changes told one by one; when there are more, the page is told to look at everything anew."""


def since(memory: Memory, position: int) -> tuple[int, list[dict[str, Any]]]:
    """Where the journal ends now, and what was changed after a position."""
    memory.library.refresh()
    end = memory.library.journal.end()
    if end == position:
        return end, []
    entries = list(memory.library.journal.entries(since=position if position <= end else 0))
    if len(entries) > MOST:
        return end, [{"op": "many", "documents": [], "ids": []}]
    return end, [told(entry) for entry in entries]


def told(entry: Entry) -> dict[str, Any]:
    """A change without its text."""
    return {
        "at": entry.at,
        "op": str(entry.op),
        "ids": list(entry.ids),
        "removed": list(entry.removed),
        "documents": list(entry.documents()),
        "origin": entry.origin,
        "session": entry.session,
        "why": entry.why,
        "position": entry.position,
    }


async def stream(look: Callable[[int], Any], start: int) -> AsyncIterator[bytes]:
    """Events until the listener goes away; a comment now and then keeps the line open."""
    position, quiet = start, 0.0
    yield f"event: ready\nid: {position}\ndata: {{}}\n\n".encode()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        quiet += LOOK_SECONDS
        end, found = await look(position)
        for change in found:
            yield f"event: change\nid: {end}\ndata: {json.dumps(change)}\n\n".encode()
        if found or quiet >= ALIVE_SECONDS:
            quiet = 0.0
            yield b": still here\n\n"
        position = end
