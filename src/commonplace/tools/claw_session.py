"""What CursorClaw's runtime calls at the start of a turn: the session's memory, as its names go.

It knows when memory goes into a prompt and how long the text can be kept; what is in the text it
leaves to the core.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue
from commonplace.model.options import snake
from commonplace.opening import find_root
from commonplace.storage.sessions import SessionKind, session_kind

KEPT = 8
"""How many profiles' texts are kept in a process."""
SECONDS = 60
"""How long a text is kept at most: what is valid until noon is not shown at one."""
SOURCES = ("MEMORY.md", "USER.md", "LONGMEMORY.md", "memory")
OWN = ("sessionId", "isMainSession", "message", "clock")

Load = Callable[[str, Mapping[str, Any]], str]


class Kept(Struct, frozen=True):
    """A text and what tells that it still holds."""

    text: str
    marks: tuple[object, ...]
    until_ns: int


_kept: OrderedDict[tuple[object, ...], Kept] = OrderedDict()


def loadSessionMemoryContext(  # noqa: N802
    profileRoot: str | Path,  # noqa: N803
    options: Mapping[str, Any] | None = None,
) -> str:
    """The text to inject for a profile; the same one again until something was appended.

    `options` are CursorClaw's continuity keys, with `sessionId`, `isMainSession` and the last user
    `message`.
    """
    given = dict(options or {})
    clock = given.get("clock") or Clock()
    if not os.path.isdir(os.path.expanduser(profileRoot)):
        raise BadValue("profileRoot", "it is no directory", next_step="Name the profile's root.")
    root = Path(find_root(os.path.expanduser(profileRoot)))
    key = (str(root), *sorted((name, str(value)) for name, value in given.items()))
    marks = (clock.today(), *_marks(root))
    kept = _kept.get(key)
    if kept is None or kept.marks != marks or clock.now_ns() > kept.until_ns:
        text = _loaded(root, given, clock)
        # Looked at again: loading a profile makes the files that it lacks.
        marks = (clock.today(), *_marks(root))
        kept = _kept[key] = Kept(text, marks, clock.now_ns() + SECONDS * 10**9)
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return kept.text


def _loaded(root: Path, given: Mapping[str, Any], clock: Clock) -> str:
    options = {snake(name): value for name, value in given.items() if name not in OWN}
    session = given.get("sessionId", "")
    is_main = given.get("isMainSession", False)
    with Memory.open(
        root, "claw", session, clock=clock, create=True, main=is_main, **options
    ) as memory:
        return memory.context(given.get("message", "")).text


def _marks(root: Path) -> list[object]:
    """How the sources look from outside."""
    paths = [root / name for name in SOURCES]
    if paths[-1].is_dir():
        paths += sorted(paths[-1].glob("*.md"))
    return [(str(path), _look(path)) for path in paths]


def _look(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return (found.st_size, found.st_mtime_ns, found.st_ino)


class Runtime:
    """The part of CursorClaw's runtime that puts memory into the system prompt."""

    def __init__(
        self,
        *,
        getSessionMemoryContext: Load | None = None,  # noqa: N803
        getProfileRoot: Callable[[], str] | None = None,  # noqa: N803
    ) -> None:
        self._load = getSessionMemoryContext
        self._root = getProfileRoot

    def buildMessages(  # noqa: N802
        self,
        sessionId: str,  # noqa: N803
        messages: Sequence[Mapping[str, str]],
        system: str = "",
        isMainSession: bool | None = None,  # noqa: N803
    ) -> list[dict[str, str]]:
        """The messages of a turn, the system prompt first, with memory in the main session only.

        Which one that is `isMainSession` says; where it does not, no id and `main` are.
        """
        is_main = session_kind(sessionId) == SessionKind.MAIN
        if isMainSession is not None:
            is_main = isMainSession
        parts = [system, self._memory(sessionId, messages) if is_main else ""]
        prompt = "\n\n".join(part for part in parts if part)
        first = [{"role": "system", "content": prompt}] if prompt else []
        return [*first, *(dict(message) for message in messages)]

    def _memory(self, session: str, messages: Sequence[Mapping[str, str]]) -> str:
        root = self._root() if self._root else ""
        if not self._load or not root:
            return ""
        said = [message["content"] for message in messages if message["role"] == "user"]
        told = {"sessionId": session, "isMainSession": True}
        return self._load(root, {**told, "message": said[-1] if said else ""})
