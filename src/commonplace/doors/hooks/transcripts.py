"""The messages of a session, read from the transcript that a client keeps of it.

The forms are the clients' own and may change: a line that cannot be read is passed over.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from commonplace.doors.hooks.clients import typed

TAIL = 2 * 1024 * 1024
"""Bytes that are looked at: what was said last is what may be missing."""


class TranscriptMessage(Struct, frozen=True):
    """One message of a turn."""

    turn: str
    role: str
    text: str
    time: str = ""


def last_reply(path: str) -> str:
    """What the assistant said last, by the transcript of Copilot CLI."""
    replies = [entry.get("data") for entry in _entries(path, "assistant.message")]
    return next((text for data in reversed(replies) if (text := _words(data))), "")


def read(path: str) -> list[TranscriptMessage]:
    """What the user said in each turn, and what the assistant said last in it, by Claude Code's."""
    found: list[TranscriptMessage] = []
    turn = ""
    for entry in _entries(path, "user", "assistant"):
        role = entry["type"]
        if entry.get("isMeta") or entry.get("isSidechain") or entry.get("isCompactSummary"):
            continue
        turn = str(entry.get("promptId") or turn)
        text = typed(_words(entry.get("message")))
        if not turn or not text.strip():
            continue
        said = TranscriptMessage(turn, role, text, str(entry.get("timestamp") or ""))
        if found and (found[-1].turn, found[-1].role) == (turn, "assistant") == (turn, role):
            found[-1] = said
        else:
            found.append(said)
    return found


def _entries(path: str, *kinds: str) -> Iterator[dict[str, Any]]:
    for line in _tail(path):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict) and entry.get("type") in kinds:
            yield entry


def _tail(path: str) -> list[bytes]:
    """The last lines of a plain file; none where there is no such file."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return []
        with open(path, "rb") as file:
            file.seek(max(0, status.st_size - TAIL))
            lines = file.read(TAIL).split(b"\n")
    except (OSError, ValueError):
        return []
    # The first of them may be the rest of a longer one.
    return lines if status.st_size <= TAIL else lines[1:]


def _words(message: Any) -> str:
    """The plain text of a message: results of tools are not what anybody said."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return "" if content.startswith("<") else content
    if not isinstance(content, list):
        return ""
    parts = [part for part in content if isinstance(part, dict)]
    if any(part.get("type") == "tool_result" for part in parts):
        return ""
    return "\n".join(str(part.get("text", "")) for part in parts if part.get("type") == "text")
