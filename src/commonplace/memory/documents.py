"""Read and change whole documents and the diary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library import quoting, rewriting, steering
from commonplace.library.documents import Written
from commonplace.library.views import Given
from commonplace.markdown import documents
from commonplace.markdown.layouts import copy_of, entry_order, entry_stamp, split
from commonplace.memory import session, storing
from commonplace.model import limits
from commonplace.model.errors import BadName, BadValue, HeldForReview, Refused, WouldLose
from commonplace.model.records import Origin
from commonplace.trust import admission, permission

if TYPE_CHECKING:
    from commonplace.library.rewriting import Rewording, Rewrite
    from commonplace.memory import Memory


class Document(Struct, frozen=True):
    """One document with its text and the mark of that text."""

    name: str
    text: str
    etag: str


def names(memory: Memory) -> list[str]:
    names = () if memory.is_shut else memory.library.listing().documents
    return list(filter(memory.serves, names))


def read(memory: Memory, document: str = "") -> Document:
    page = memory.peek(document)
    if memory.origin != Origin.OWNER:
        memory.note_read(page.name)
        session.give(memory, {page.name: Given(page.etag)})
    return page


def peek(memory: Memory, document: str = "") -> Document:
    session.check_open(memory)
    name = session.document_named(memory, document)
    if memory.origin != Origin.OWNER and memory.library.stat(name):
        # What the journal has not seen could not be told again later.
        memory.library.refresh()
    text, etag = memory.library.text(name)
    if memory.origin != Origin.OWNER:
        text = memory.library.documents.without_secrets(name, text)
    return Document(name, text, etag)


def _changeable(memory: Memory, document: str) -> str:
    """The name of a document that may be changed: a diary entry never is."""
    name = session.document_named(memory, document)
    if memory.layout.diary_time(name) and memory.library.stat(name):
        raise Refused(
            f"{name} is a diary entry, and those are never changed.",
            next_step="Write a new entry with diary.",
        )
    if original := copy_of(name):
        raise BadName(
            name,
            f"it is how sync programs name a copy of {original}",
            next_step="'commonplace conflicts --merge' unites the two; or use another name.",
        )
    return name


def guards(memory: Memory, document: str) -> bool:
    if not _steers(memory, document) or memory.origin == Origin.OWNER:
        return False
    if permission.is_believed(memory.author.origin):
        return memory.options.trust == "hold" and memory.origin == Origin.AGENT
    if memory.options.trust == "open" or memory.origin != Origin.AGENT:
        permission.check_steers(memory.author.origin, document)
    return True


def _let_wait(memory: Memory, name: str, change: steering.Change) -> None:
    """Hold a change of what prompts are made of, and tell what of it the user said."""
    quotes = memory.options.trust == "quotes"
    waiting = steering.let_wait(
        memory.library,
        name,
        change,
        author=memory.author,
        said=quoting.said_by(memory.user_messages()) if quotes else (),
        alike=storing.alike_words(memory),
    )
    raise HeldForReview(waiting.id, document=name, told=waiting.told)


def _steers(memory: Memory, name: str) -> bool:
    """Whether prompts are made of a document: who agents are, whom they serve, what to do."""
    layout = memory.layout
    prompts = (layout.soul, layout.user, memory.options.heartbeat_document)
    # On some systems two names that differ by their case are one file.
    return name.casefold() in map(str.casefold, prompts)


def update(
    memory: Memory,
    content: str,
    *,
    document: str = "",
    mode: str = "append",
    section: str = "",
    etag: str = "",
    confirm: str = "",
    strict: bool = False,
) -> Written:
    name = _changeable(memory, document)
    if mode not in ("append", "rewrite", "section"):
        raise BadValue(
            "mode", f"{mode!r} is not known", next_step="Use append, rewrite or section."
        )
    limits.check_word(section, argument="section")
    if mode == "section" and not section.strip():
        raise BadValue("section", "it is missing", next_step="Name the heading of the section.")
    _check_content(content, may_be_empty=mode == "rewrite")
    content = admission.without_secrets(content, memory.options)
    section = admission.without_secrets(section, memory.options)
    if memory.guards(name):
        _let_wait(memory, name, steering.Change(content, mode, section, etag))
    if mode == "append" and not section:
        written = memory.library.locked(lambda: _appended(memory, name, content))
    else:
        written = _rewrite(
            memory,
            rewriting.Rewrite(
                name,
                _to_section(memory, section, content, mode) if section else content,
                memory.author,
                etag="" if mode == "append" else etag,
                confirm=confirm,
                strict=strict,
                view=session.view_of(memory),
                afresh=mode == "append",
            ),
        )
    return replace(written, etag=memory.library.text(name)[1]) if memory.trim() else written


def _rewrite(memory: Memory, wanted: Rewrite) -> Written:
    return rewriting.rewrite(memory.library, wanted)


def _appended(memory: Memory, name: str, content: str) -> Written:
    """Append to a document; who knew all of it does so still."""
    view, library = session.view_of(memory), memory.library
    given = view.given(name) if view else None
    is_new = library.stat(name) is None
    knows = is_new or (given is not None and given == Given(library.text(name)[1]))
    written = library.documents.append_text(name, content, author=memory.author)
    if knows:
        session.give(memory, {name: Given(written.etag)})
    return written


def edit(memory: Memory, document: str, change: Rewording) -> Written:
    def checked(text: str) -> str:
        new = change(text)
        _check_content(new, may_be_empty=True)
        return admission.without_secrets(new, memory.options)

    name = _changeable(memory, document)
    if memory.guards(name):
        text, etag = memory.library.text(name)
        _let_wait(memory, name, steering.Change(checked(text), "rewrite", etag=etag))
    wanted = rewriting.Rewrite(
        name, checked, memory.author, view=session.view_of(memory), afresh=True
    )
    try:
        return memory.library.locked(lambda: _edited(memory, wanted))
    except WouldLose as loss:
        if view := session.view_of(memory):
            view.ask(loss.token)
        raise loss.to_repeat() from None


def _edited(memory: Memory, wanted: Rewrite) -> Written:
    try:
        return _rewrite(memory, wanted)
    except WouldLose as loss:
        view = session.view_of(memory)
        if loss.guarded and view and not view.was_asked(loss.token):
            raise
        return _rewrite(memory, replace(wanted, confirm=loss.token))


def create(memory: Memory, content: str, *, document: str) -> Written:
    _check_content(content, may_be_empty=True)
    content = admission.without_secrets(content, memory.options)
    name = _changeable(memory, document)
    if memory.guards(name):
        _let_wait(memory, name, steering.Change(content, "rewrite"))
    return memory.library.documents.create(name, content, author=memory.author)


def _check_content(content: str, *, may_be_empty: bool) -> None:
    if may_be_empty and content == "":
        return
    limits.check_text(content, limit=limits.DOCUMENT_LIMIT, argument="content")


def _to_section(memory: Memory, section: str, body: str, mode: str) -> Rewording:
    change = documents.append_to_section if mode == "append" else documents.replace_section
    return lambda text: change(text, section, body, day=memory.clock.today())


def remove(memory: Memory, *documents: str) -> None:
    names = [_of_no_prompt(memory, _changeable(memory, name)) for name in documents]
    memory.library.documents.remove(names, author=memory.author)


def rename_all(memory: Memory, documents: Mapping[str, str]) -> None:
    names = {
        _of_no_prompt(memory, _changeable(memory, name)): _of_no_prompt(
            memory, _changeable(memory, new)
        )
        for name, new in documents.items()
    }
    memory.library.documents.rename(names, author=memory.author)


def _of_no_prompt(memory: Memory, name: str) -> str:
    """The name, unless prompts are made of it and this session is not believed."""
    if _steers(memory, name):
        permission.check_steers(memory.author.origin, name)
    return name


def write_diary(memory: Memory, text: str) -> Written:
    text = limits.check_text(text, limit=limits.DOCUMENT_LIMIT)
    text = admission.without_secrets(text, memory.options)
    directory = memory.layout.diary or "diary/"
    if not memory.layout.holds(f"{directory}.md"):
        raise Refused(
            f"The {memory.layout.name} layout has no diary.",
            next_step="Store it as a record instead: those go with the day they are of.",
        )
    return memory.library.documents.write_entry(directory, text, author=memory.author)


def diary(memory: Memory, since: str = "") -> list[str]:
    directory = memory.layout.diary or "diary/"
    start, day_of = since.removeprefix(directory).removesuffix(".md"), memory.clock.day_of
    entries = (
        name
        for name in memory.documents()
        if name.startswith(directory)
        and (stamp := entry_stamp(name))
        and (split(name)[1] if "T" in start else day_of(stamp)).startswith(start)
    )
    return sorted(entries, key=entry_order)
