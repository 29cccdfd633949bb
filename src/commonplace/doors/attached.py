"""Which session a client's process is in: its hooks note that, and other doors look it up.

Some clients give the servers and shells that they start no session. But hook, server and shell
have the client's process above them. It does not know what a session is for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from commonplace.doors import runs

if TYPE_CHECKING:
    from commonplace.doors.runs import Find
    from commonplace.memory import Memory
    from commonplace.storage.notes import FileNotes, Notes

NOTE = "clients.json"
MOST = 256
"""Processes that are remembered: of those that still run, the ones that said something last."""
SHELL_MARKS = {
    "claude": "AI_AGENT",
    "codex": "CODEX_TOOL_CALL_ID",
    "gemini": "GEMINI_CLI",
    "qwen": "QWEN_CODE",
    "copilot": "COPILOT_AGENT_SESSION_ID",
}
"""Variables that clients set for the commands of their agents, and not for hooks."""
HARNESS = "_harness"
"""How Claude Code's ends for hooks, which have it too."""


def note(notes: Notes, run: str, session: str) -> None:
    """Remember that the process is in this session now."""
    if not run or not session or _kept(notes.read(NOTE)).get(run) == session:
        return

    def changed(data: bytes | None) -> bytes:
        kept = {key: said for key, said in _kept(data).items() if runs.is_running(key)}
        kept.pop(run, None)
        newest = [*kept.items(), (run, session)][-MOST:]
        return json.dumps(dict(newest)).encode()

    notes.change(NOTE, changed)


def session_of(notes: Notes, keys: Iterable[str]) -> str:
    """The session that the first of these processes is in that was noted; empty when none was."""
    kept = _kept(notes.read(NOTE))
    return next((kept[key] for key in keys if key in kept), "") if kept else ""


def notes_of_user() -> FileNotes | None:
    """Where clients are noted for all vaults of this user; None where no home is known."""
    from commonplace.storage.notes import FileNotes
    from commonplace.storage.trusted import data_directory

    # The directory may be behind a link of the person's own.
    directory = data_directory()
    return FileNotes(os.path.realpath(directory)) if directory else None


def note_for_user(run: str, session: str) -> None:
    """Remember that the process runs hooks, whatever vault they are for."""
    if notes := notes_of_user():
        os.makedirs(notes.directory, 0o700, exist_ok=True)
        note(notes, run, session)


def agents_session(notes: Notes | None, find: Find | None = None) -> str:
    """The session of the client that this process runs below; empty when it is below none.

    A shell is no client: a hook that a person typed notes the shell of their terminal.
    """
    if notes is None:
        return ""
    above = runs.all_above(find)
    return session_of(notes, (each.key for each in above if each.name not in runs.SHELLS))


def heed(memory: Memory) -> None:
    """Let a command of an agent's belong to the session of its client, with what that has read.

    A session that the command names itself is another; but what it writes may come from the same
    reading.
    """
    if not memory.notes.has(NOTE):
        return
    if memory.origin == "owner" and agents_session(memory.notes):
        memory.origin = "agent"
    if memory.origin != "agent":
        return
    session = session_of(memory.notes, runs.keys_above())
    if not session or session == memory.session:
        return
    if not memory.session:
        memory.session = session
    elif memory.sessions.read(session).tainted and not memory.read_only:
        memory.taint(f"session {session}")


def mark(memory: Memory, read: str | None) -> None:
    """Mark the session with what a host says it has read; without one, this object alone."""
    if read is None or memory.read_only:
        return
    if not memory.session:
        from commonplace.storage.sessions import Sessions

        memory.sessions = Sessions(memory.notes)
    memory.taint(read)


def is_from_shell(client: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a hook was called by a command of the client's agent, and not by the client.

    What was in the environment when the client was started tells nothing.
    """
    mark = SHELL_MARKS.get(client, "")
    above = list(runs.ancestors())
    if above and _is_marked(mark, runs.environment(above[-1].pid)):
        return False
    below = (runs.environment(process.pid) for process in above[:-1])
    return any(_is_marked(mark, each) for each in (environ, *below))


def _is_marked(mark: str, environ: Mapping[str, str]) -> bool:
    value = environ.get(mark, "")
    return bool(value) and not value.endswith(HARNESS)


def _kept(data: bytes | None) -> dict[str, str]:
    try:
        kept = json.loads(data or b"{}")
    except ValueError:
        return {}
    return dict(_plain(kept)) if isinstance(kept, dict) else {}


def _plain(kept: Mapping[object, object]) -> Iterator[tuple[str, str]]:
    for run, session in kept.items():
        if isinstance(run, str) and isinstance(session, str):
            yield run, session
