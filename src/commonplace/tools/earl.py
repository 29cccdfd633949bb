"""EARL's tools: `save_memory` and `search_memory`, over lines that a person could read aloud."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Annotated

from commonplace.library.documents import Screen
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, NoSuchDocument, Unreadable
from commonplace.tools import pages
from commonplace.tools.tool import Answer, Argument, tool
from commonplace.trust.neutralise import one_line

NOTE = "USER.md:"
AROUND = ".,;:!?\"'()[]…“”„‘’"


@tool(always=True)
def save_memory(
    memory: Memory,
    text: Annotated[
        str,
        Argument(
            "The fact or observation to save. One that begins with 'USER.md:' is put among the "
            "lasting notes about users instead."
        ),
    ],
    username: Annotated[str, Argument("The username this memory relates to.")] = "",
) -> Answer:
    """Save a fact or observation to today's daily memory file."""
    # An entry is one line of its file, so a text of several is joined.
    said = " ".join(line.strip() for line in text.splitlines() if line.strip())
    username = username.strip().lstrip("@")
    if said.startswith(NOTE) and memory.layout.user:
        return _save_note(memory, said.removeprefix(NOTE).strip(), username)
    record = memory.store(said, username=username)
    where = "today's memory file" if memory.layout.daily else memory.layout.memory
    return Answer({"text": record.text, "username": record.username}, f"Saved to {where}.")


def _save_note(memory: Memory, note: str, username: str) -> Answer:
    if not note:
        raise BadValue("text", "the note is empty", next_step="Say what is to be remembered.")
    about = f"`@{username}` | " if username else ""
    done = memory.update(f"- {about}{note}", document=memory.layout.user)
    return Answer({"text": note, "username": username}, f"Saved to {done.document}.")


@tool(read_only=True, always=True)
def search_memory(
    memory: Memory,
    query: Annotated[str, Argument("Keywords to search for; a line must hold all of them.")],
    limit: Annotated[
        int, Argument("Maximum results to return (default: 20).", minimum=1, maximum=1000)
    ] = 20,
) -> Answer:
    """Search all memory files for lines with the keywords, whatever their case.

    SOUL.md comes first, then USER.md, then the daily files, newest first.
    """
    unread: list[str] = []
    lines = list(islice(_matches(memory, _keywords(query), unread), limit))
    memory.note_read(*dict.fromkeys(name for name, _ in lines))
    shown = [f"**{one_line(name)}**: {line}" for name, line in lines]
    if unread:
        shown.append(one_line(f"Not searched, because they cannot be read: {', '.join(unread)}."))
    data = [{"file": name, "line": line} for name, line in lines]
    return Answer(data, "\n".join([_counted(len(lines)), *shown]))


TOOLS = (save_memory, search_memory)


def _counted(count: int) -> str:
    if not count:
        return "No memories found: no line holds all of these words. Try fewer or other words."
    return f"Found {count} {'memory' if count == 1 else 'memories'}:"


def _keywords(query: str) -> list[str]:
    """The words that a line must hold.

    All of them: results come in the order of the files, not of how well they fit, so lines that
    share but one common word with the query would crowd out the one that is looked for.
    """
    words = [word.strip(AROUND) or word for word in query.casefold().split()]
    if not words:
        raise BadValue("query", "it is empty", next_step="Send one word or more to look for.")
    return words


def _matches(memory: Memory, words: Sequence[str], unread: list[str]) -> Iterator[tuple[str, str]]:
    """Every matching line with its file, best file first; names of broken files go to `unread`."""
    screen = Screen(memory.library.documents)
    own, others = _in_order(memory)
    seen: set[str] = set()
    for name in (*own, *others):
        try:
            text = memory.library.text(name)[0]
        except NoSuchDocument:
            continue
        except Unreadable:
            unread.append(name)
            continue
        if not _holds(text, words):
            continue
        for line in _matching(memory, name, screen.shown(name, text), words):
            # A native vault keeps a record in MEMORY.md and in its daily file: once is enough.
            if name in own or line not in seen:
                yield name, line
            seen.add(line)


def _in_order(memory: Memory) -> tuple[dict[str, None], list[str]]:
    """EARL's own files as it ranks them, and whatever else the vault holds."""
    layout, names = memory.layout, memory.documents()
    days = sorted((name for name in names if layout.day_of(name)), reverse=True)
    first = (name for name in (layout.soul, layout.user) if name in names)
    own = dict.fromkeys((*first, *days))
    return own, [name for name in names if name not in own]


def _matching(memory: Memory, name: str, text: str, words: Sequence[str]) -> Iterator[str]:
    header = memory.layout.header(name).strip()
    for line in text.split("\n"):
        if line.isascii() and not _holds(line, words):
            continue  # What shows of it is no more than this.
        shown = pages.shown_line(line)
        if _holds(shown, words) and shown != header:
            yield shown


def _holds(text: str, words: Sequence[str]) -> bool:
    text = text.casefold()
    return all(word in text for word in words)
