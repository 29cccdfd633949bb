"""A stream of changes: each entry of a vault's journal, sent to every page that listens.

The text of a change is not in the stream: a page that may see it asks for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NamedTuple

from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError
from commonplace.storage.journal import Entry

LOOK_SECONDS = 0.4
ALIVE_SECONDS = 15.0
MOST = 200
"""Changes told one by one; when there are more, the page is told to look at everything anew."""


def end_of(memory: Memory) -> int:
    """Where the journal ends now."""
    memory.library.refresh()
    return memory.library.end()


def since(memory: Memory, position: int) -> tuple[int, list[dict[str, Any]]]:
    """Where the journal ends now, and what was changed after a position."""
    end = end_of(memory)
    if end == position:
        return end, []
    entries = list(memory.library.entries(since=position if position <= end else 0))
    # Somebody may have written between the two looks.
    end = max(end, entries[-1].end) if entries else end
    if len(entries) > MOST:
        return end, [{"op": "many", "documents": [], "ids": []}]
    return end, [told(memory, entry) for entry in entries if is_seen(memory, entry)]


def is_seen(memory: Memory, entry: Entry) -> bool:
    """Whether a reader may hear of a change: not if every document in it is hidden."""
    names = entry.documents()
    return not names or any(map(memory.serves, names))


def told(memory: Memory, entry: Entry) -> dict[str, Any]:
    """A change without its text, as a reader may hear of it."""
    return {
        "at": entry.at,
        "op": str(entry.op),
        "ids": list(entry.ids),
        "removed": list(entry.removed),
        "documents": list(filter(memory.serves, entry.documents())),
        "origin": entry.origin,
        "session": entry.session,
        "why": entry.why,
        "undoes": None if entry.undoes < 0 else entry.undoes,
        "position": entry.position,
        "end": entry.end,
    }


Look = Callable[[int], Awaitable[tuple[int, list[dict[str, Any]]]]]
"""Where the journal ends, and what came after a position."""


class Watch:
    """Looks at one vault for all who listen to it, for as long as anybody does."""

    def __init__(self, look: Look) -> None:
        self._look = look
        self._end = 0
        self._listening: set[asyncio.Queue[News | None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._over = False

    async def stream(self, start: int) -> AsyncGenerator[bytes]:
        """Events until the listener goes away or it is over, a comment where nothing happens.

        A change has for id where the journal goes on: who comes back with it is told the rest.
        """
        news: asyncio.Queue[News | None] = asyncio.Queue()
        yield f"event: ready\nid: {start}\ndata: {{}}\n\n".encode()
        position, found = await self._look(start)
        if self._over:
            return
        self._listen(news, position)
        try:
            for change in found:
                yield _event(change, position)
            while (told := await _next(news)) is not None:
                for change in told.since(position):
                    yield _event(change, told.end)
                position = told.end if told.changes else position
                if not told.changes:
                    yield b": still here\n\n"
        finally:
            self._listening.discard(news)

    def __len__(self) -> int:
        """How many listen."""
        return len(self._listening)

    def end(self) -> None:
        """End all streams, also those that are about to begin."""
        self._over = True
        if self._looking is not None:
            self._looking.cancel()

    def _listen(self, news: asyncio.Queue[News | None], position: int) -> None:
        self._listening.add(news)
        if self._looking is None or self._looking.done():
            self._end = position
            self._looking = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        try:
            while self._listening:
                await asyncio.sleep(LOOK_SECONDS)
                end, found = await self._look(self._end)
                for each in self._listening if found else ():
                    each.put_nowait(News(end, found))
                self._end = end
        finally:
            # Told to stop, or what it looks at is in trouble: who listens may come back.
            for each in self._listening:
                each.put_nowait(None)


async def heard(
    stream: AsyncGenerator[bytes], may_listen: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """The stream, which ends when its listener's pass does. Each event asks again."""
    async with aclosing(stream):
        async for each in stream:
            if not await _is_so(may_listen):
                return
            yield each


async def _is_so(may_listen: Callable[[], Awaitable[bool]]) -> bool:
    """Whether they may; who cannot be asked about may come back, and is told why not."""
    try:
        return await may_listen()
    except CommonplaceError:
        return False


class News(NamedTuple):
    """Where the journal ends, and what led there."""

    end: int
    changes: list[dict[str, Any]]

    def since(self, position: int) -> list[dict[str, Any]]:
        """Those after a position; all of them when the journal began anew."""
        if self.end < position:
            return self.changes
        return [each for each in self.changes if each.get("end", self.end) > position]


def _event(change: dict[str, Any], end: int) -> bytes:
    after = change.get("end", end)
    return f"event: change\nid: {after}\ndata: {json.dumps(change)}\n\n".encode()


async def _next(news: asyncio.Queue[News | None]) -> News | None:
    """The next news; empty news after a while without any."""
    try:
        return await asyncio.wait_for(news.get(), ALIVE_SECONDS)
    except TimeoutError:
        return News(0, [])
