"""The notebook's tools: `memory_read` and `memory_update`, on one document that stays small.

They keep the document in order: no line twice, a size, sections with dates.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from commonplace.markdown import documents
from commonplace.markdown.record_lines import plain, says_day, undated
from commonplace.memory import Memory
from commonplace.memory.documents import Document
from commonplace.model.errors import BadValue, NoSuchDocument
from commonplace.tools import pages
from commonplace.tools.tool import Answer, Argument, tool
from commonplace.trust.neutralise import neutralise
from commonplace.upkeep import window

BULLET = re.compile(r"[-*+][ \t]+")

File = Annotated[
    str, Argument("A category's own file, such as facts.md or projects.md; else MEMORY.md.")
]


@tool(read_only=True)
def memory_read(memory: Memory, document: File = "") -> Answer:
    """Read the full contents of MEMORY.md, or of one category's file.

    Rarely needed for MEMORY.md, which is in your prompt already.
    """
    try:
        page = pages.read(memory, document) if document else memory.read()
    except NoSuchDocument:
        page = _page(memory, "")
    data = {"document": page.name, "text": page.text, "etag": page.etag}
    return Answer(data, neutralise(page.text) or f"{page.name} is empty.")


@tool(always=True, destructive=True)
def memory_update(
    memory: Memory,
    content: Annotated[str, Argument("Markdown.")],
    mode: Annotated[
        Literal["append", "rewrite"],
        Argument("append adds the content at the end; rewrite puts it in place of everything."),
    ],
    section: Annotated[
        str, Argument("Append to, or rewrite, only the section with this heading, and date it.")
    ] = "",
    document: File = "",
    confirm: Annotated[str, Argument("The token of a refusal, to rewrite all the same.")] = "",
) -> Answer:
    """Update MEMORY.md when you learn what will still matter in three months and changes behaviour.

    Prefer a section to a rewrite of everything, which is refused when it would lose much.
    """
    if document and memory.guards(document):
        memory.update(content, document=document, mode=mode, section=section)
    return memory.library.locked(
        lambda: _updated(memory, content, mode, section, document, confirm)
    )


TOOLS = (memory_read, memory_update)


def _updated(
    memory: Memory, content: str, mode: str, section: str, document: str, confirm: str
) -> Answer:
    """Under the lock: what is new, and how much room there is, hangs on what is there."""
    page = _page(memory, document)
    if mode == "append":
        content = _dated(_new(memory, page, content), memory.clock.today())
        section = section or _last_dated(page.text)
    if not content and mode == "append":
        return Answer(_measured(memory, page), f"{page.name} says this already: nothing was added.")
    text = _foreseen(memory, page, content, mode=mode, section=section)
    window.check_cap(memory.library, memory.options, page.name, page.text, text)
    done = memory.update(content, document=page.name, mode=mode, section=section, confirm=confirm)
    size = _measured(memory, _page(memory, page.name)) | {"dropped": done.dropped}
    room = f" of {size['cap']:,}" if size["cap"] else ""
    told = f"{page.name} is updated: {size['characters']:,}{room} characters."
    return Answer(size, f"{told} {done.dropped_sentence}".rstrip())


def _page(memory: Memory, document: str) -> Document:
    """The document, or a new one if there is none."""
    try:
        return memory.peek(document)
    except NoSuchDocument:
        name = document or memory.layout.memory or memory.layout.user
        return Document(name, memory.layout.header(name), "")


def _new(memory: Memory, page: Document, content: str) -> str:
    """The lines of the content that the document does not have yet.

    Of a plain list that is the items that are new; other lines hang together and stay so.
    """
    if not content.strip():
        raise BadValue("content", "it is empty", next_step="Say what is to be remembered.")
    held = _held(memory, page)
    lines = [line for line in content.splitlines() if line.strip()]
    new = [line for line in lines if _key(line) not in held]
    is_list = all(BULLET.match(line) for line in lines)
    return "\n".join(new) if is_list or not new else content


def _held(memory: Memory, page: Document) -> set[str]:
    """Every line of a document, and every line of its records without what is around them."""
    parsed = memory.library.parse(page.name, page.text)
    texts = [page.text, *(item.record.text for item in parsed.items)]
    return {_key(line) for text in texts for line in text.splitlines()}


def _key(line: str) -> str:
    """A line however it is marked, dated, spaced or capitalised."""
    return " ".join(undated(BULLET.sub("", plain(line).strip(), count=1)).casefold().split())


def _foreseen(memory: Memory, page: Document, content: str, *, mode: str, section: str) -> str:
    """The text after the update, if nobody else writes meanwhile."""
    if section:
        append = mode == "append"
        change = documents.append_to_section if append else documents.replace_section
        return change(page.text, section, content, day=memory.clock.today())
    return f"{page.text}{content}\n" if mode == "append" else content


def _dated(content: str, day: date) -> str:
    """The content with each item of a list saying its day, where it says none."""
    lines = content.split("\n")
    return "\n".join(
        f"{line.rstrip()} ({day})" if BULLET.match(line) and not says_day(line) else line
        for line in lines
    )


def _last_dated(text: str) -> str:
    """The heading of the last section, which a text at the end belongs to, if it says its day."""
    found = documents.sections(text)
    titles = [section.title.casefold() for section in found]
    if found and found[-1].updated and titles.count(titles[-1]) == 1:
        return found[-1].title
    return ""


def _measured(memory: Memory, page: Document) -> dict[str, Any]:
    return {
        "document": page.name,
        "characters": window.told_size(page.text),
        "cap": memory.options.document_cap,
    }
