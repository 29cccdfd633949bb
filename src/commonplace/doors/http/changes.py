"""A stream of changes: each entry of a vault's journal, told to every page that listens.

It knows journals and Server-Sent Events. The text of a change is not in the stream: who may see it
asks for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from commonplace.hints import Any
from commonplace.journal import Entry
from commonplace.memory import Memory

LOOK_SECONDS = 0.4
ALIVE_SECONDS = 15.0
MOST = 200
"""Changes told one by one; when there are more, the page is told to look at everything anew."""


def end_of(memory: Memory) -> int:
    """Where the journal ends now."""
    memory.library.refresh()
    return memory.library.journal.end()


def since(memory: Memory, position: int) -> tuple[int, list[dict[str, Any]]]:
    """Where the journal ends now, and what was changed after a position."""
    end = end_of(memory)
    if end == position:
        return end, []
    entries = list(memory.library.journal.entries(since=position if position <= end else 0))
    # Somebody may have written between the two looks.
    end = max(end, entries[-1].end) if entries else end
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
        "end": entry.end,
    }


async def stream(
    look: Callable[[int], Any], start: int, *, over: asyncio.Event
) -> AsyncIterator[bytes]:
    """Events until the listener goes away or it is over, and a comment where nothing happens.

    A change has for id where the journal goes on: who comes back with it is told the rest.
    """
    position, quiet = start, 0.0
    yield f"event: ready\nid: {position}\ndata: {{}}\n\n".encode()
    while not await _set_within(over, LOOK_SECONDS):
        quiet += LOOK_SECONDS
        end, found = await look(position)
        for change in found:
            after = change.get("end", end)
            yield f"event: change\nid: {after}\ndata: {json.dumps(change)}\n\n".encode()
        if quiet >= ALIVE_SECONDS:
            yield b": still here\n\n"
        quiet = 0.0 if found or quiet >= ALIVE_SECONDS else quiet
        position = end


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
