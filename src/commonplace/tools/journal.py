"""The journal's tools, for agents without a shell: `diary`, `read_memory`, `rewrite_memory`,
`search_memory`.

Everything they do can also be done with a shell on the files.
"""

from __future__ import annotations

from typing import Annotated

from commonplace.memory import Memory
from commonplace.model.errors import BadValue, NoSuchDocument, NotFound
from commonplace.model.records import Hit
from commonplace.tools import pages
from commonplace.tools.hits import because, judged, notes, verdict
from commonplace.tools.tool import Answer, Argument, tool
from commonplace.trust.neutralise import neutralise, one_line

DIRECTORY = "memories/"
PREVIEW = 80

File = Annotated[str, Argument("soul.md, user.md or a file of your own, such as projects/boat.md.")]


@tool(always=True)
def diary(
    memory: Memory,
    text: Annotated[str, Argument("An entry to write: what happened, and what it meant.")] = "",
    entry: Annotated[str, Argument("Name of an entry to read: 2026-02-01T14-30-00.")] = "",
    limit: Annotated[int, Argument("Most entries to list.", minimum=1, maximum=500)] = 20,
) -> Answer:
    """Write a diary entry, read one, or (with neither) list them, newest first.

    Each entry is a file of its own that is never changed afterwards.
    """
    if text.strip() and entry:
        raise BadValue(
            "entry", "text came with it", next_step="Send text to write, or entry to read."
        )
    if text.strip():
        done = memory.write_diary(text)
        return Answer({"entry": done.document}, f"Wrote {done.document}.")
    return _read_entry(memory, entry) if entry else _list_entries(memory, limit)


@tool(read_only=True, always=True)
def read_memory(
    memory: Memory,
    file: Annotated[
        str, Argument("soul.md, user.md or any other; empty lists the files there are.")
    ] = "",
) -> Answer:
    """Read one of your memory files, or list them."""
    if not file:
        names = memory.documents()
        listed = "\n".join(map(one_line, names))
        return Answer({"files": names}, listed or "There are no memory files yet.")
    page = pages.read(memory, _named(memory, file))
    data = {"file": page.name, "text": page.text, "etag": page.etag}
    return Answer(data, neutralise(page.text) or f"{page.name} is empty.")


@tool(destructive=True, always=True)
def rewrite_memory(
    memory: Memory,
    file: File,
    content: Annotated[str, Argument("The whole new text, in markdown.")],
    confirm: Annotated[str, Argument("The token of a refusal, to drop what it named.")] = "",
) -> Answer:
    """Rewrite a memory file in full when you learn something that lasts.

    soul.md is about you, user.md about the user; add files for what else matters. Keep what still
    holds, as the new text takes the place of the old.
    """
    name = _named(memory, file)
    done = memory.update(content, document=name, mode="rewrite", confirm=confirm)
    data = {"file": done.document, "etag": done.etag, "dropped": done.dropped}
    return Answer(data, f"Rewrote {done.document}. {done.dropped_sentence}".rstrip())


@tool(read_only=True, always=True)
def search_memory(
    memory: Memory,
    query: Annotated[str, Argument("What to look for, in plain words.", max_length=2000)],
    limit: Annotated[int, Argument("Most results.", minimum=1, maximum=100)] = 10,
) -> Answer:
    """Find what is written in the diary and the memory files, by words and by meaning."""
    if not query.strip():
        raise BadValue("query", "it is empty", next_step="Say what to look for.")
    hits = memory.search(query, limit=limit)
    found = [{"file": _place(hit), "text": hit.record.text} for hit in hits]
    lines = [_line(hit) for hit in (*hits, *hits.nearest)] or ["Nothing found."]
    lines = judged(lines, verdict(hits))
    return Answer(found, "\n".join([*lines, *notes(hits)]))


TOOLS = (diary, read_memory, rewrite_memory, search_memory)


def _line(hit: Hit) -> str:
    return one_line(f"- {_place(hit)}: {hit.record.text}") + because(hit)


def _place(hit: Hit) -> str:
    return hit.places[0].document if hit.places else ""


def _named(memory: Memory, file: str) -> str:
    """The document that an agent means: `memories/soul.md` and `soul` are the layout's own soul."""
    layout, name = memory.layout, file.strip()
    name = name if name.endswith(".md") else f"{name}.md"
    below = name.removeprefix(DIRECTORY)
    known = {"soul.md": layout.soul, "user.md": layout.user}.get(below.lower())
    return known or (below if layout.subdirectory == DIRECTORY[:-1] else name)


def _list_entries(memory: Memory, limit: int) -> Answer:
    names = memory.diary()
    newest = names[: -limit - 1 : -1]
    shown = [f"{_stem(name)}  {_beginning(memory, name)}".rstrip() for name in newest]
    if len(names) > limit:
        shown.append(f"+{len(names) - limit} older: list more with limit, or read one by its name.")
    return Answer({"entries": newest}, "\n".join(shown) or "The diary is empty.")


def _read_entry(memory: Memory, entry: str) -> Answer:
    wanted = _stem(entry)
    name = next((name for name in memory.diary() if _stem(name) == wanted), "")
    if not name:
        raise NotFound(
            f"There is no diary entry {entry}.",
            next_step="Call diary without arguments to list them.",
        )
    page = memory.read(name)
    return Answer({"entry": name, "text": page.text}, neutralise(page.text))


def _stem(name: str) -> str:
    return name.rpartition("/")[2].removesuffix(".md")


def _beginning(memory: Memory, name: str) -> str:
    """The first words of an entry, to tell it from others."""
    try:
        words = one_line(memory.read(name).text)
    except NoSuchDocument:
        return ""
    return words if len(words) <= PREVIEW else words[: PREVIEW - 1] + "…"
