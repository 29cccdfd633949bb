"""One function an event: memory for the model, the turns into history, one look back."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.doors import caller, processes
from commonplace.doors.hooks import clients, reading, spool
from commonplace.doors.hooks.clients import HookCall, ToolUse
from commonplace.model.errors import CommonplaceError, DiskFull, Paused, SecretFound
from commonplace.model.files import digest
from commonplace.model.options import shown_value
from commonplace.storage.brackets import Bracket

if TYPE_CHECKING:
    from commonplace.context.budget import Context
    from commonplace.memory import Memory

AT_START = 10_000
"""Characters that clients take from one hook; of one more they show a 2 KB preview."""
AT_PROMPT = 1_200
KEEP = """\
Keep in the summary, in the user's own words where there are some: preferences, corrections and \
standing instructions; what was decided and why; names, paths, numbers and commands that the rest \
of the work needs; what is unfinished, and the very next step. What a tool printed can go, unless \
the work still rests on it. Lasting things that are not in memory yet: name them, so that they can \
be stored after the compaction.
"""
SWEEP = """\
Before you stop, look back over this session once. Would a later one miss something? First: where \
the work stands and what comes next, so that it can be picked up. Second: what the user prefers, \
corrected or asked for in general, said or shown, that is not stored yet. Store each with the \
memory tools as one short record that makes sense to a reader who was not here, and let it replace \
what it contradicts. Leave out what is stored already, what is over tomorrow, keys and passwords, \
and the conversation itself. If nothing is missing, store nothing. Then stop; the user need not \
hear of this.
"""
NOW_PAUSED = """\
Memory is paused for this session: nothing is recorded or told until the user begins a prompt with \
"on the record:" or runs 'commonplace resume'. Memory tools refuse meanwhile.
"""
NOT_PAUSED = """\
The user asked to pause memory, and it could not be paused. {why} This prompt is not recorded; \
later ones may be. Tell the user.
"""
OF_VAULT = "This project's own memory, in the vault {}:\n"


BETWEEN_TOOLS = ("session-start", "prompt-submit", "stop", "session-end")
"""Events at which no tool of the session runs, unless it goes on by itself."""


def answered(memory: Memory, call: HookCall) -> str:
    """The answer to the client, which is often empty."""
    _tried(lambda: _note_client(memory))
    if call.event in BETWEEN_TOOLS:
        _tried(lambda: _end_brackets(memory, lambda each: _is_over(memory, call, each)))
    if call.event == "prompt-submit" and (said := _heed_first_word(memory, call)):
        return said
    _tried(lambda: _heed_environment(memory))
    paused = memory.paused() is not None
    return (PAUSED if paused else DEEDS).get(call.event, _silent)(memory, call)


def _heed_first_word(memory: Memory, call: HookCall) -> str:
    """Pause the session whose prompt begins so, and say so; or let it go on."""
    if clients.begins_with(call.prompt, clients.OFF_RECORD):
        _mark_named(memory, call, silently=True)
        try:
            memory.pause(memory.session, reason="said in a prompt")
            _remember(memory, off_record=True)
        except (CommonplaceError, OSError) as error:
            return clients.at_prompt(call.client, NOT_PAUSED.format(why=error))
        return clients.at_prompt(call.client, NOW_PAUSED)
    if memory.session and clients.begins_with(call.prompt, clients.ON_RECORD):
        _tried(lambda: memory.resume(memory.session))
    return ""


def _heed_environment(memory: Memory) -> None:
    """Note when the client of a session was paused from outside: what it says then is left out
    when the session's transcript is read, by a client that may not be.
    """
    from commonplace.memory.pausing import OUTSIDE

    if not memory.session or memory.read_only:
        return
    found = memory.library.pauses.of(memory.session, at=memory.clock.stamp())
    if memory.paused_outside and not found:
        memory.pause(memory.session, reason=OUTSIDE)
    elif found and found.session and found.reason == OUTSIDE and not memory.paused_outside:
        memory.resume(memory.session)


def _silent(memory: Memory, call: HookCall) -> str:
    """What a paused session hears of most events."""
    return ""


def _prompt_in_pause(memory: Memory, call: HookCall) -> str:
    """Of a prompt only that it may have read something, and that its turn is off the record."""
    _mark_named(memory, call, silently=True)
    _tried(lambda: _remember(memory, off_record=True))
    return ""


def _mark_named(memory: Memory, call: HookCall, *, silently: bool = False) -> None:
    """Mark the session with the files that a prompt names; `silently`, without their names."""
    for name in call.named if memory.session and not memory.read_only else ():
        memory.taint("" if silently else f"@{name}")


def _bracket_in_pause(memory: Memory, call: HookCall) -> str:
    if call.tool:
        _begin_bracket(memory, call.tool)
    return ""


def _read_in_pause(memory: Memory, call: HookCall) -> str:
    """Mark the session with what a tool read, without its name, and take in what it wrote."""
    tool = call.tool
    if tool is None or not memory.session or memory.read_only:
        return ""
    if reading.reads(tool):
        if document := _own_document(memory, tool):
            memory.note_read(document)
        else:
            memory.taint()
    _end_bracket_of(memory, tool)
    return ""


def _start_in_pause(memory: Memory, call: HookCall) -> str:
    """Only that a new context knows nothing of what the session was told."""
    if call.source != "resume":
        _tried(memory.note_lost)
    return ""


def _compaction_in_pause(memory: Memory, call: HookCall) -> str:
    if not (call.client in clients.ANNOUNCE_ALWAYS and call.trigger == "auto"):
        _tried(memory.note_lost)
    return ""


def _end_in_pause(memory: Memory, call: HookCall) -> str:
    if memory.session and not memory.read_only:
        memory.conversations.end()
    return ""


def _is_over(memory: Memory, call: HookCall, bracket: Bracket) -> bool:
    """Whether a tool without an end event runs no more: it was denied, or stopped."""
    ended = call.event == "session-end" or not (bracket.goes_on or bracket.aside)
    return (ended and bracket.session == memory.session) or not processes.is_running(bracket.run)


def _note_client(memory: Memory) -> None:
    """Note which session the client is in: servers and shells that it starts may not be told."""
    run = processes.agent_run()
    caller.note_for_user(run, memory.session)
    if not memory.read_only:
        caller.note_session(memory.notes, run, memory.session)


def session_start(memory: Memory, call: HookCall) -> str:
    """Give memory to a new session, and do the work that ended sessions left."""
    _tried(lambda: take_over(memory))
    _note_conversation(memory)
    _tried(lambda: _remember(memory, client=call.client, compacting=False))
    if call.source != "resume":
        _tried(memory.note_lost)
    text = _told_at_start(memory, call)
    _note_unreadable(memory, call)
    return clients.at_start(call.client, text) if text else ""


def _told_at_start(memory: Memory, call: HookCall) -> str:
    """The notice and the session's memory, noted as told; of what it was told, what is new."""
    from commonplace.memory.telling import AtStart

    has_it = memory.told_at_start() == AtStart.TOLD
    text, told = _fitted(memory, call, memory.news if has_it else memory.context)
    memory.note_context("start", told)
    return text


def noticed(call: HookCall) -> str:
    """The answer when there is a notice but no memory."""
    return clients.at_start(call.client, call.notice)


def _fitted(memory: Memory, call: HookCall, made: Callable[..., Context]) -> tuple[str, Context]:
    """The notice and the memory, cut to the length that clients take."""
    most = _most_at_start(memory, call)
    while True:
        told = made(characters=most, dialect=call.dialect)
        named = told.text and call.vault and OF_VAULT.format(shown_value(call.vault))
        text = "\n\n".join(filter(None, [call.notice, named + told.text]))
        length = clients.length(text)
        if length <= AT_START:
            return text, told
        most = most * AT_START // (length + 1)


def _most_at_start(memory: Memory, call: HookCall) -> int:
    """The characters to tell: the rest comes when a prompt is about it. Seeds tell all they can."""
    dialect = call.dialect or memory.options.dialect or memory.layout.name
    wanted = memory.options.start_characters if dialect == "native" else 0
    return min(wanted or AT_START, AT_START)


def prompt_submit(memory: Memory, call: HookCall) -> str:
    """Find memory for the user's message, and record the message."""
    _mark_named(memory, call)
    # Some clients hand the look back that a hook asked for to us as if the user had said it.
    if not call.prompt.strip() or call.prompt.strip() == SWEEP.strip():
        return ""
    if not _tried(lambda: record(memory, call, role="user", text=call.prompt)):
        _note_conversation(memory)
    text = _told_at_start(memory, call) if _waits_for_start(memory, call) else ""
    if memory.sessions.read(memory.session).off_record:
        _tried(lambda: _remember(memory, off_record=False))
    if not text:
        told = memory.relevant(call.prompt, characters=AT_PROMPT)
        memory.note_context("prompt", told)
        text = told.text
    text = "\n\n".join(filter(None, [text, _rules_at(memory, call.prompt)]))
    _note_unreadable(memory, call)
    return clients.at_prompt(call.client, text) if text else ""


def _waits_for_start(memory: Memory, call: HookCall) -> bool:
    """Whether a prompt is to bring what the start did not, or a compaction took away.

    Run with one prompt only, some clients announce no start: the prompt is the first we hear. A
    session that began in a pause is told at the first prompt after it.
    """
    from commonplace.memory.telling import AtStart

    told = memory.told_at_start()
    unannounced = call.client in clients.MAY_NOT_START
    if told == AtStart.NEVER:
        return unannounced or memory.sessions.read(memory.session).off_record
    return told == AtStart.LOST


def _rules_at(memory: Memory, prompt: str) -> str:
    """The rules whose words are in a prompt. Where none has words, nothing else is loaded."""
    moments = (moment for rule in memory.library.rules() for moment in rule.when)
    if not any(moment.strip().lower().startswith("words") for moment in moments):
        return ""
    from commonplace.doors.hooks import rules

    return rules.at_prompt(memory, prompt)


def pre_tool(memory: Memory, call: HookCall) -> str:
    """Note that a tool begins that can write files, after what the person saved before it.

    Before that the rules are told that fit the call, one of which may deny it.
    """
    tool = call.tool
    if tool is None:
        return ""
    told = ""
    if _has_rules(memory):
        from commonplace.doors.hooks import rules

        told, denied = rules.before(memory, call, tool)
        if told:
            _tried(lambda: _note_who_is_told(memory, call))
        if denied:
            return told
    _begin_bracket(memory, tool)
    return told


def _note_who_is_told(memory: Memory, call: HookCall) -> None:
    """Note the client of a session that announced no start: what it was told names it."""
    if not memory.sessions.read(memory.session).client:
        _remember(memory, client=call.client)


def _begin_bracket(memory: Memory, tool: ToolUse) -> None:
    if not _is_in_files(memory) or not reading.writes(tool):
        return
    # What a command reads taints its session; the rest is the user's wish in one that is clean.
    if reading.is_shell(tool) or memory.sessions.read(memory.session).tainted:
        bracket = Bracket(
            memory.session,
            call=_key(tool),
            began=memory.clock.now().timestamp(),
            goes_on=reading.goes_on(tool),
            aside=tool.aside,
            run=processes.agent_run(),
        )
        _after_looking(memory, lambda: memory.library.brackets.begin(bracket))


def _has_rules(memory: Memory) -> bool:
    """Whether there are rules that are told at moments: where not, nothing else is loaded."""
    memory.library.refresh()
    return bool(memory.library.rules())


def _key(tool: ToolUse) -> str:
    """What tells one call of a tool from another, without what it says."""
    return tool.id or _mark(reading.name_of(tool))


def post_tool(memory: Memory, call: HookCall) -> str:
    """Mark the session with the name of what a tool read that is not the user's own words, take in
    what it wrote, and tell the rules that could not be told before it.
    """
    tool = call.tool
    if tool is None:
        return ""
    if memory.session and not memory.read_only:
        _take_in(memory, call.client, tool)
    if not (_hears_now(call, tool) and _has_rules(memory)):
        return ""
    from commonplace.doors.hooks import rules

    return rules.after(memory, call, tool)


def _hears_now(call: HookCall, tool: ToolUse) -> bool:
    """Whether the rules about a tool are told after it: most clients were told them before."""
    if call.client == clients.ASKS_BEFORE_SOME:
        return not reading.writes(tool)
    return call.client in clients.HEAR_AFTER_TOOLS


def _take_in(memory: Memory, client: str, tool: ToolUse) -> None:
    """Mark the session with what a tool read, and take in what it wrote."""
    if reading.reads(tool):
        if document := _own_document(memory, tool):
            memory.note_read(document)
        else:
            memory.taint(_name_of(memory, tool))
    _end_bracket_of(memory, tool)
    if reading.is_shell(tool) and memory.options.learning_schedule:
        _tried(lambda: _note_command(memory, client, tool))


def _end_bracket_of(memory: Memory, tool: ToolUse) -> None:
    if reading.writes(tool):
        key = (memory.session, _key(tool))
        _end_brackets(memory, lambda each: (each.session, each.call) == key and not each.goes_on)


def _note_command(memory: Memory, client: str, tool: ToolUse) -> None:
    """Keep how a command ended, so that what helps after a failure can be learned."""
    # Most commands succeed where nothing failed before: what it takes to read one stays out.
    if client == "claude" and not (tool.error or _may_wait(memory)):
        return
    from commonplace.doors.hooks import commands
    from commonplace.storage.command_log import CommandLog, CommandRun
    from commonplace.trust.admission import without_secrets

    if tool.aside or reading.goes_on(tool) or not (ended := commands.ended(client, tool)):
        return
    try:
        command = without_secrets(ended.command, memory.options)
    except SecretFound:
        return
    ran = CommandRun(memory.session, memory.clock.stamp(), command, ended.failure)
    CommandLog(memory.notes).note(ran)


def _may_wait(memory: Memory) -> bool:
    """Whether the log of commands tells of this session."""
    from commonplace.storage.command_log import NAME

    log = memory.notes.read(NAME) or b""
    return memory.session.encode() in log


def _end_brackets(memory: Memory, ended: Callable[[Bracket], bool]) -> None:
    """Take in what tools have written, then note that they are over."""
    brackets = memory.library.brackets
    if _is_in_files(memory) and any(map(ended, brackets.open())):
        _after_looking(memory, lambda: brackets.end(ended))


def _after_looking(memory: Memory, do: Callable[[], None]) -> None:
    """Run the work after all edits in the files were taken in."""
    library = memory.library

    def work() -> None:
        library.take_in_changes()
        do()

    library.locked(work)


def _is_in_files(memory: Memory) -> bool:
    writable = memory.session and not memory.read_only
    return bool(writable) and memory.parts.database is None


def _own_document(memory: Memory, tool: ToolUse) -> str:
    """The document that a tool was asked for: what its lines may be from is known of each."""
    path = reading.file_of(tool)
    if not path or not memory.root_path:
        return ""
    found = os.path.realpath(os.path.join(tool.directory, os.path.expanduser(path)))
    root = os.path.realpath(memory.root_path)
    if not found.startswith(root + os.sep):
        return ""
    name = os.path.relpath(found, root).replace(os.sep, "/")
    memory.library.refresh()
    return name if memory.library.known_of(name) else ""


def _name_of(memory: Memory, tool: ToolUse) -> str:
    from commonplace.trust.admission import without_secrets

    try:
        return without_secrets(reading.name_of(tool), memory.options)
    except SecretFound:
        return tool.name


def pre_compact(memory: Memory, call: HookCall) -> str:
    """Store a checkpoint, and tell the summary's writer what to keep."""
    if call.client in clients.ANNOUNCE_ALWAYS and call.trigger == "auto":
        return ""
    if call.client in clients.SAY_WHEN_COMPACTED:
        _tried(lambda: _remember(memory, compacting=True))
    else:
        _tried(memory.note_lost)
    _once(memory, f"checkpoint {call.turn or _turns(memory, most=1000)}", memory.checkpoint)
    return clients.on_compaction(call.client, KEEP)


def post_compact(memory: Memory, call: HookCall) -> str:
    """Store the whole summary. Where no start was announced meanwhile, the next prompt brings
    memory.
    """
    if memory.sessions.read(memory.session).compacting:
        _tried(memory.note_lost)
        _tried(lambda: _remember(memory, compacting=False))
    text = _inner(call.summary)
    if text:
        _once(memory, f"summary {text}", lambda: memory.store_summary(text))
    return ""


def _inner(summary: str) -> str:
    """The summary itself, where the client hands over the model's notes and marks around it."""
    _, opening, rest = summary.rpartition("<summary>")
    inner = rest.partition("</summary>")[0] if opening else summary
    return inner.strip()


def stop(memory: Memory, call: HookCall) -> str:
    """Record the assistant's reply; once in a long session, ask the agent to look back."""
    if memory.sessions.read(memory.session).off_record:
        return ""
    record(memory, call, role="assistant", text=call.reply or _reply(call))
    turns = memory.options.session_sweep
    if call.again or not turns or memory.read_only or not memory.session:
        return ""
    if memory.sessions.read(memory.session).swept or _turns(memory, most=turns) < turns:
        return ""
    said = clients.go_on(call.client, SWEEP)
    if said:
        _remember(memory, swept=True)
    return said


def _reply(call: HookCall) -> str:
    """The assistant's reply, from the transcript if the client names only that."""
    from commonplace.doors.hooks import transcripts

    return transcripts.last_reply(call.transcript) if call.transcript else ""


def _turns(memory: Memory, *, most: int) -> int:
    """How often the user spoke in this session, as far as it matters."""
    last = memory.messages.last(memory.session, 8 * most)
    return sum(message.role == "user" for message in last)


def session_end(memory: Memory, call: HookCall) -> str:
    """Leave the rest to the next start: a client does not wait for this."""
    if not memory.session or memory.read_only:
        return ""
    memory.conversations.end()
    if call.transcript:
        work = {"session": memory.session, "client": call.client, "transcript": call.transcript}
        spool.leave(memory.parts.own(), memory.session, work)
    return ""


def _note_conversation(memory: Memory) -> None:
    """Keep the heartbeat away while somebody talks."""
    if memory.session:
        memory.conversations.note()


def take_over(memory: Memory) -> None:
    """Do what ended sessions left: record what was said in turns that no hook saw the end of."""
    if memory.read_only:
        return
    for work in spool.waiting(memory.parts.own()):
        session, transcript = work.get("session"), work.get("transcript")
        if isinstance(session, str) and isinstance(transcript, str):
            _catch_up(memory, session, transcript, channel=str(work.get("client", "")))


def _catch_up(memory: Memory, session: str, transcript: str, *, channel: str) -> None:
    from commonplace.doors.hooks import transcripts

    pauses, left_out = memory.library.pauses.all(), set[str]()
    for said in transcripts.read(transcript):
        off = said.role == "user" and clients.begins_with(said.text, clients.OFF_RECORD)
        if off or any(each.session in ("", session) and each.covers(said.time) for each in pauses):
            left_out.add(said.turn)
        if said.turn in left_out:
            continue
        _recorded(
            memory,
            said.role,
            said.text,
            channel=channel,
            session=session,
            message_id=_message_id(session, said.turn, said.role, said.text),
            time=said.time,
        )


def record(memory: Memory, call: HookCall, *, role: str, text: str) -> bool:
    """Put what was said into history, once, however often the client tells it.

    Returns whether it was, which also says that the conversation goes on.
    """
    if not text.strip() or memory.read_only:
        return False
    key = _next_id(memory, call, role, text)
    return bool(key) and _recorded(memory, role, text, channel=call.client, message_id=key)


def _recorded(memory: Memory, role: str, text: str, **rest: str) -> bool:
    try:
        memory.conversations.record(role, text, **rest)
    except (SecretFound, Paused):
        # The vault refuses texts with a secret in them: then this one is not kept.
        return False
    return True


def _next_id(memory: Memory, call: HookCall, role: str, text: str) -> str:
    """An id that the same words of the same turn get again; empty when they are there already.

    Where a client names no turn, the message before takes its place.
    """
    if call.turn:
        return _message_id(memory.session, call.turn, role, text)
    before = ["", "", *(message.id for message in memory.messages.last(memory.session, 2))]
    if _message_id(memory.session, before[-2], role, text) == before[-1]:
        return ""
    return _message_id(memory.session, before[-1], role, text)


def _message_id(session: str, turn: str, role: str, text: str) -> str:
    return "msg-" + _mark("\0".join((session, turn, role, text)))


def _mark(text: str) -> str:
    return digest(text.encode())


def _once(memory: Memory, deed: str, do: Callable[[], object]) -> None:
    """Run the work once a session. Work that fails is done the next time."""
    if memory.read_only:
        return
    sessions, session, mark = memory.sessions, memory.session, _mark(deed)
    if not memory.library.undisturbed(lambda: sessions.begin(session, mark)):
        return
    try:
        do()
    except BaseException:
        memory.library.undisturbed(lambda: sessions.leave_off(session, mark))
        raise


def _remember(memory: Memory, **changes: object) -> None:
    if memory.session and not memory.read_only:
        memory.library.undisturbed(lambda: memory.sessions.note(memory.session, **changes))


def _tried(deed: Callable[[], object]) -> object:
    """Run work that the answer can do without: a full disk must not keep memory back."""
    try:
        return deed()
    except (DiskFull, OSError) as error:
        from commonplace.model.clock import Clock
        from commonplace.storage import error_log

        error_log.note(str(error), at=Clock().stamp())
        return None


def _note_unreadable(memory: Memory, call: HookCall) -> None:
    """Put it into the log when a main document cannot be read: no person sees what a hook says."""
    from commonplace.storage import error_log

    layout = memory.layout
    main = ("index", layout.soul, layout.user, layout.memory, layout.long_memory, layout.status)
    for document, trouble in memory.library.troubles.items():
        if document in main or layout.day_of(document):
            error_log.note(f"{call.client} {call.event}: {trouble}", at=memory.clock.stamp())


DEEDS: dict[str, Callable[[Memory, HookCall], str]] = {
    "session-start": session_start,
    "prompt-submit": prompt_submit,
    "pre-tool": pre_tool,
    "post-tool": post_tool,
    "pre-compact": pre_compact,
    "post-compact": post_compact,
    "stop": stop,
    "session-end": session_end,
}
PAUSED: dict[str, Callable[[Memory, HookCall], str]] = {
    "prompt-submit": _prompt_in_pause,
    "pre-tool": _bracket_in_pause,
    "post-tool": _read_in_pause,
    "session-end": _end_in_pause,
    "session-start": _start_in_pause,
    "pre-compact": _compaction_in_pause,
    "post-compact": _compaction_in_pause,
}
"""What is done while memory is paused: nothing is told, and of what is read only that it was."""
