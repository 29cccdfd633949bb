"""The hooks: what a client runs when a session starts, is asked something, stops or ends.

A hook never breaks a session. Whatever goes wrong, nothing is said to the model, one line goes to a
log and the exit code is 0: to some clients any other code means that the user's prompt is blocked.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.errors import BadValue, CommonplaceError, NoSuchVault, Refused

if TYPE_CHECKING:
    from commonplace.memory import Memory

CLIENTS = ("claude", "codex", "gemini", "qwen", "copilot", "opencode", "cline")
EVENTS = (
    "session-start",
    "prompt-submit",
    "pre-tool",
    "post-tool",
    "pre-compact",
    "post-compact",
    "stop",
    "session-end",
)
AROUND_TOOLS = ("pre-tool", "post-tool")
LOCK_SECONDS = 1.0
"""A person waits for a hook: no longer than this for another writer …"""
TOOL_LOCK_SECONDS = 5.0
"""… but a session that read something must not pass for one that did not."""
MOST = 64 * 1024 * 1024
"""Bytes of a hook's input."""
NAMED = "--named"
VALUED = ("--vault", "--dialect", "--session", "--client", "--set")


class HookCommand(Struct, frozen=True):
    """One hook as it was called."""

    event: str = ""
    client: str = "claude"
    vault: str = ""
    dialect: str = ""
    session: str = ""
    options: tuple[str, ...] = ()
    named: bool = False
    """Whether memory comes with the name of its vault: a project's, beside that of all projects."""


def is_hook(words: Sequence[str]) -> bool:
    """Whether the command among the words is `hook`."""
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            return word == "hook"
    return False


def main(words: Sequence[str]) -> int:
    """Answer a hook. Returns 0, always."""
    gc.disable()  # The process ends before there is anything to collect.
    return guarded(lambda: run_or_fail(parse(words, os.environ)), " ".join(words))


def run(asked: HookCommand) -> int:
    """The same, for a call that was parsed already."""
    return guarded(lambda: run_or_fail(asked), f"{asked.client} {asked.event}")


def guarded(work: Callable[[], None], what: str) -> int:
    """Do the work; if it fails, say so in the log."""
    try:
        work()
    except BaseException as error:
        # Whatever it is: a session must go on without us.
        from commonplace.model.clock import Clock
        from commonplace.storage import error_log

        error_log.note(f"{what}: {described(error)}", at=Clock().stamp())
    return 0


def described(error: BaseException) -> str:
    """An error in a line. What an unforeseen one says may quote memory: only its place is told."""
    if isinstance(error, CommonplaceError | OSError):
        return f"{type(error).__name__}: {error}"
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "nowhere"
    return f"{type(error).__name__} at {place}"


def parse(words: Sequence[str], environ: Mapping[str, str]) -> HookCommand:
    """What the words of a command line ask for."""
    given: dict[str, str] = {}
    options: list[str] = []
    plain: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name not in VALUED:
            plain += [word] if word != NAMED else []
            continue
        value = value if equals else next(rest, "")
        options += [value] if name == "--set" else []
        given[name.removeprefix("--")] = value
    if plain[:1] != ["hook"] or len(plain) != 2 or plain[1] not in EVENTS:
        raise BadValue(
            "event", f"{plain[1:]} is none", next_step=f"Use one of {', '.join(EVENTS)}."
        )
    if given.get("client", "claude") not in CLIENTS:
        raise BadValue(
            "--client", f"{given['client']!r} is not known", next_step=f"Use {', '.join(CLIENTS)}."
        )
    return HookCommand(
        event=plain[1],
        client=given.get("client", "claude"),
        vault=given.get("vault") or environ.get("COMMONPLACE_VAULT", ""),
        dialect=given.get("dialect") or environ.get("COMMONPLACE_DIALECT", ""),
        session=given.get("session", ""),
        options=tuple(options),
        named=NAMED in words,
    )


def run_or_fail(asked: HookCommand) -> None:
    """Read the client's input, do what the event asks for, and answer in one piece."""
    from commonplace.doors import caller
    from commonplace.doors.hooks import events
    from commonplace.doors.hooks.clients import read_call
    from commonplace.doors.which_vault import left_out

    if caller.is_from_shell(asked.client):
        raise Refused(
            "A hook that a command of the agent's called is not heeded.",
            next_step="Only the client itself calls hooks.",
        )
    given = sys.stdin.buffer.read(MOST)
    call = read_call(
        given,
        client=asked.client,
        event=asked.event,
        session=asked.session,
        dialect=asked.dialect,
    )
    if asked.event == "session-start" and not asked.vault:
        call = replace(call, notice=left_out(asked.vault))
    if asked.named:
        call = replace(call, vault=asked.vault)
    try:
        with open_for(asked, call.session) as memory:
            said = events.answered(memory, call)
    except NoSuchVault:
        if not call.notice:
            raise
        said = events.noticed(call)
    if said:
        sys.stdout.buffer.write(said.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()


def open_for(asked: HookCommand, session: str) -> Memory:
    """The vault of a hook. A directory that is not one yet is left alone."""
    from commonplace.doors.session_id import NAMED, is_clients_own
    from commonplace.doors.which_vault import agents_path, open_vault
    from commonplace.model.options import is_url
    from commonplace.opening import has_layout
    from commonplace.storage.state_places import STATE

    path = agents_path(asked.vault, asked.dialect)
    if not is_url(path) and not (
        os.path.isdir(path) and (os.path.isdir(os.path.join(path, STATE)) or has_layout(path))
    ):
        raise NoSuchVault(path)
    environ = {**os.environ, **dict(map(_variable, asked.options))}
    most = TOOL_LOCK_SECONDS if asked.event in AROUND_TOOLS else LOCK_SECONDS
    waits = min(most, float(environ.get("COMMONPLACE_LOCK_SECONDS", most)))
    return open_vault(
        path,
        dialect=asked.dialect,
        session=session,
        origin="agent",
        for_tools=True,
        environ=environ,
        lock_seconds=waits,
        main=is_clients_own(session, asked.session or environ.get(NAMED[0], ""), environ),
    )


def _variable(option: str) -> tuple[str, str]:
    name, _, value = option.partition("=")
    return f"COMMONPLACE_{name.upper()}", value
