"""The context of each kind of agent: stages in a fixed order, each from a `State` to sections.

A stage is a plain function, so a program can put its own pipeline together.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from commonplace.context.budget import (
    UNLIMITED,
    Budget,
    Context,
    ContextLine,
    ContextSection,
    Frame,
    compiled,
)
from commonplace.context.parts import framed, relevant_section
from commonplace.context.sections import State, as_it_stands, document_lines, prompt_of
from commonplace.context.templates import template_of
from commonplace.context.tokens import counter
from commonplace.model.errors import BadValue
from commonplace.model.limits import check_type
from commonplace.trust.neutralise import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.history.messages import Message

MISSING = "Nothing of it is told here: tell the user."
MOST_UNREAD = 5
LARGEST = 400_000
"""Characters of a document that are looked at when a context has no limit."""
HEARTBEAT_PROMPT = """\
This is a heartbeat: nobody has written to you.
Look at the status board, and reflect on what has happened since the last heartbeat.
If something is worth keeping, write a diary entry: what happened, and what it meant.
If you learned something that lasts about yourself or the user, keep it in your memory.
Bring the status board up to date. If there is nothing to do, say so in one line."""

PROMPTS = {
    "journal": """\
You have persistent memory: markdown {pages} in {directory}.
- {soul} is who you are, {user} is what you know of the user. Both are put into your context at \
every run.
- diary/ has one {page} an entry, named by its time, never changed. Read entries when you need them.
- {status} is the status board, which you and the user both write.
A {page} that does not exist yet is yours to create.
Tools: read_memory reads a {page} or lists them, rewrite_memory writes one whole, search_memory \
finds what is written in them, diary writes or reads entries{shell}.
When you learn a preference, a correction or a new fact, rewrite {user} or {soul} in full, keeping \
what still holds. Only what you put there is kept there.""",
    "native": """\
You have persistent memory: markdown {pages} in {directory}.
- {soul} is who you are, {user} is who the user is, {memory} is what you keep of your own.
- {status} is the status board, which you and the user both write.
A {page} that does not exist yet is yours to create.
Tools: store keeps one memory, search finds what is kept, read and update are for documents, diary \
for diary entries.
When you learn a preference, a correction or a new fact, store it, or update {user} or {soul}. \
Only what you put there is kept there.""",
    "earl": """\
You have persistent memory: markdown {pages} in {directory}.
- {soul} is who you are, {user} has notes about users, and each day has a {page} of its own.
A {page} that does not exist yet is yours to create.
Tools: save_memory keeps a fact, search_memory finds what is kept.
When you learn a preference, a correction or a new fact, save it.""",
    "notebook": """\
You have persistent memory: {memory} in {directory}, which is put into every prompt.
A {page} that does not exist yet is yours to create.
Tools: memory_update adds to it or rewrites it, memory_read reads it.
When you learn what will still matter in three months and changes behaviour, update it.""",
    "claw": """\
You have persistent memory: markdown {pages} in {directory}.
- {user} is who the human is, {memory} is what you remember, memory/ has the same day by day.
- {status} is the status board, which you and the human both write.
A {page} that does not exist yet is yours to create.
Tools: remember_this keeps something, recall_memory finds what is like a question.
When you learn a preference, a correction or a new fact, remember it.""",
    "typed": """\
You have persistent memory across sessions.
Tools: memory_store keeps a typed entry, memory_search finds entries, memory_brief sums them up, \
memory_delete deletes one.
When you learn a preference, a correction, a fact or a standing instruction, store it.""",
}
"""What the system prompt says of tools and memory when none is given."""
SHELL = "; with a shell you can use the files themselves"
ASKING = """\
What was said before is in a database. Where you can run commands, `commonplace history sql "…"` \
answers one SELECT over messages(session, role, content, time, …). The last hour:
{question}"""


def system(state: State) -> list[ContextSection]:
    """The system prompt: the one given, or the dialect's own; none for a client that has one."""
    text = state.system or ("" if state.agent == "session" else _prompt(state))
    lines = tuple(
        ContextLine(each, reason="the system prompt") for each in text.strip().split("\n")
    )
    return (
        [ContextSection("system", lines, block="system", rank=-2, sure=1.0)] if text.strip() else []
    )


def _prompt(state: State) -> str:
    layout = state.library.layout
    where = f"{layout.subdirectory}/" if layout.subdirectory else "the vault"
    page = "file" if state.in_files else "document"
    text = PROMPTS.get(state.dialect, PROMPTS["native"]).format(
        directory=where if state.in_files else "a database",
        soul=layout.soul,
        user=layout.user,
        memory=layout.memory,
        status=layout.status,
        page=page,
        pages=f"{page}s",
        shell=SHELL if state.in_files else "",
    )
    if state.question is None or state.shut:
        return text
    return f"{text}\n{ASKING.format(question=state.question())}"


def memory(state: State) -> Sequence[ContextSection]:
    """The memory files, as the dialect shows them."""
    if state.shut or not state.options.session_memory_enabled:
        return []
    sections = template_of(state.dialect).stage(state)
    if state.agent == "session":
        return sections
    # A run gives up all else of its memory before it forgets who it is.
    return [replace(each, sure=1.0) if each.name == "identity" else each for each in sections]


def status(state: State) -> list[ContextSection]:
    """The status board: a document that the agent and the person both write."""
    if state.shut:
        return []
    name = state.library.layout.status
    found = document_lines(state, name, reason="the status board", write=as_it_stands)
    return [
        ContextSection(
            "status",
            found.lines,
            "## Status Board",
            block="status",
            rank=4,
            sure=0.1,
            unread=found.unread,
            left_out=found.left_out,
        )
    ]


def history(state: State) -> list[ContextSection]:
    """What was said before, oldest first; the first to go when room is short."""
    wanted = state.options.context_messages if state.last is None else state.last
    said = list(state.history(wanted + 1)) if state.history and wanted else []
    if said and said[-1].role == "user" and said[-1].content == state.message:
        said.pop()  # A hook may have recorded the current message already.
    lines = tuple(_said(state, message) for message in said[-wanted:])
    newest_first = tuple(range(len(lines) - 1, -1, -1))
    heading = "## Conversation History"
    return [ContextSection("history", lines, heading, block="history", rank=10, order=newest_first)]


def _said(state: State, message: Message) -> ContextLine:
    return ContextLine(
        neutralise(message.content),
        reason=f"said on {state.library.clock.day_of(message.time)}",
        age_days=state.age_days(message.time),
        role=message.role,
    )


def trigger(state: State) -> list[ContextSection]:
    """The message that the agent is to answer, as it was written."""
    line = ContextLine(state.message, reason="the current message", role="user")
    said = (line,) if state.message.strip() else ()
    return [
        ContextSection("trigger", said, "## Current Message", block="trigger", rank=-3, sure=1.0)
    ]


def heartbeat(state: State) -> list[ContextSection]:
    """The heartbeat prompt: what was given as one, the document a person wrote for it, or ours."""
    name = state.options.heartbeat_document
    text = state.message or prompt_of(state, name) or prompt_of(state, name.lower())
    of_document = text.strip() and not state.message
    reason = f"{name} is the prompt" if of_document else "the prompt of a heartbeat"
    line = ContextLine(text.strip() or HEARTBEAT_PROMPT, reason=reason, role="user")
    return [ContextSection("trigger", (line,), "## Heartbeat", block="trigger", rank=-3, sure=1.0)]


Stage = Callable[..., Sequence[ContextSection]]
"""A step of a pipeline: from the state of an agent's run to sections of its context."""
PIPELINES: dict[str, tuple[Stage, ...]] = {
    "session": (system, memory),
    "conversation": (system, memory, status, history, trigger),
    "heartbeat": (system, memory, status, heartbeat),
}


def check(message: Any, *, agent: Any = "session", system: Any = "", last: Any = None) -> None:
    """Refuse arguments that no context can be made of."""
    check_type(message, str, "message")
    check_type(system, str, "system")
    _check_number("last", last)
    if agent not in PIPELINES:
        known = ", ".join(PIPELINES)
        raise BadValue("agent", f"{agent!r} is not known", next_step=f"Use {known}.")


def limited(characters: Any = None, tokens: Any = None) -> Budget:
    """A budget of the given limits; None is no limit."""
    _check_number("characters", characters)
    _check_number("tokens", tokens)
    return Budget(
        UNLIMITED if characters is None else characters, UNLIMITED if tokens is None else tokens
    )


def _check_number(name: str, value: Any) -> None:
    if value is None or (type(value) is int and value >= 0):
        return
    raise BadValue(name, f"{value!r} is no number from 0 up", next_step="Use 0 or more.")


def budget(state: State, characters: Any, tokens: Any) -> Budget:
    """The budget of a context: what is given, or what the options say for its kind of agent."""
    if characters is None and tokens is None:
        if state.agent == "session":
            characters = state.options.session_memory_cap
        else:
            tokens = state.options.context_tokens or None
    return limited(characters, tokens)


def relevant(state: State, budget: Budget) -> Context:
    """The memories that fit the message, for a prompt that has the rest already."""
    if state.shut:
        return Context()
    count = counter(state.options.tokenizer)
    section = relevant_section(state, write=template_of(state.dialect).write)
    return compiled([framed(section)], Frame(), budget, count=count)


def context(
    state: State,
    budget: Budget,
    *,
    stages: Sequence[Stage] = (),
    only: Container[str] | None = None,
) -> Context:
    """The context of an agent's run, of its own stages or of those given.

    `only` are the ids of the records that it is to tell, and nothing besides; None: all.
    """
    steps = stages or PIPELINES[state.agent]
    template = template_of(state.dialect)
    room = min(budget.characters, budget.tokens * 8, LARGEST)
    state = replace(state, room=room, counts=not template.by_records)
    made = [section for stage in steps for section in stage(state)]
    first = sum(section.block == "system" for section in made)
    made[first:first] = unread(state, made)
    if only is not None:
        made = [_with_only(section, only) for section in made]
    sections = [framed(section) for section in unforged(made)]
    frame = template.frame if state.options.session_memory_enabled else Frame()
    return compiled(
        sections,
        frame,
        budget,
        count=counter(state.options.tokenizer),
        total=template.total(state),
    )


def _with_only(section: ContextSection, wanted: Container[str]) -> ContextSection:
    """A section with the lines of these records alone."""
    kept = [at for at, line in enumerate(section.lines) if line.record_id in wanted]
    places = {at: place for place, at in enumerate(kept)}
    order = section.order and tuple(places[at] for at in section.order if at in places)
    lines = tuple(section.lines[at] for at in kept)
    return replace(section, lines=lines, order=order, unread=0, left_out=(), elsewhere=())


def unread(state: State, made: Sequence[ContextSection]) -> list[ContextSection]:
    """What is said of documents that cannot be read: what they hold is missing from the context."""
    told = dict(state.unreadable)
    if any(section.block == "memory" for section in made):
        told = {**state.library.troubles, **told}
    shown = list(told.items())[:MOST_UNREAD]
    lines = tuple(
        ContextLine(f"[{one_line(why)} {MISSING}]", document=name, reason="it cannot be read")
        for name, why in shown
    )
    if len(told) > len(shown):
        more = f"[{len(told) - len(shown)} more documents cannot be read.]"
        lines += (ContextLine(more, reason="they cannot be read"),)
    return [ContextSection("unread", lines, rank=-1, sure=1.0, never_bare=True)] if lines else []


def unforged(sections: Sequence[ContextSection]) -> list[ContextSection]:
    """The sections, with every line marked as text that looks like one of their headings."""
    titles = PIPELINE_TITLES.union(_title(each.heading) for each in sections if each.heading)
    return [replace(each, lines=tuple(_marked(each, titles))) for each in sections]


def _marked(section: ContextSection, titles: Container[str]) -> Iterator[ContextLine]:
    for line in section.lines:
        forged = section.block in ("memory", "status") and _title(line.text) in titles
        yield replace(line, text=f"\\{line.text}") if forged else line


def _title(text: str) -> str:
    """A heading however it is spaced, closed or capitalised; empty for what is none."""
    if "#" not in text[:8]:
        return ""
    return " ".join(text.partition("\n")[0].split()).rstrip("# ").casefold()


PIPELINE_TITLES = frozenset(
    f"## {title}"
    for title in ("status board", "conversation history", "current message", "heartbeat")
)
"""Headings that some pipeline has."""


def as_anthropic(found: Context) -> dict[str, Any]:
    """The context as the Messages API takes it: roles that alternate, the user's first."""
    return {"system": found.system, "messages": alternating(found.messages)}


def as_openai(found: Context) -> dict[str, Any]:
    """The context as chat messages, the system's first."""
    first = [{"role": "system", "content": found.system}] if found.system else []
    return {"messages": [*first, *alternating(found.messages)]}


def alternating(said: Sequence[ContextLine]) -> list[dict[str, str]]:
    """Messages of user and assistant in turn; what others said is told to the assistant."""
    turns: list[dict[str, str]] = []
    for line in said:
        role = "assistant" if line.role == "assistant" else "user"
        text = line.text if line.role in ("assistant", "user") else f"[{line.role}] {line.text}"
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += f"\n\n{text}"
        elif turns or role == "user":
            turns.append({"role": role, "content": text})
    return turns
