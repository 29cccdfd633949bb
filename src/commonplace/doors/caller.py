"""Who runs this command: the person, or the client of an agent, and in which of its sessions.

The environment and the processes above this one tell: by their names, and by the hooks that they
ran. A terminal tells nothing, because agents have terminals too. A program that leaves the
processes of its client is not seen. `require_person` guards what only the person may do.

Some clients give no session to the servers and shells that they start. Hook, server and shell have
the client's process above them, so a hook notes its session under that process.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from commonplace.doors import processes
from commonplace.model.errors import Refused

if TYPE_CHECKING:
    from commonplace.doors.processes import Find, Process
    from commonplace.memory import Memory
    from commonplace.storage.notes import FileNotes, Notes

VARIABLES = {
    "CLAUDECODE": "Claude Code",
    "CLAUDE_CODE_ENTRYPOINT": "Claude Code",
    "CLAUDE_CODE_SESSION_ID": "Claude Code",
    "CODEX_SANDBOX": "Codex",
    "CODEX_SANDBOX_NETWORK_DISABLED": "Codex",
    "CODEX_THREAD_ID": "Codex",
    "GEMINI_CLI": "Gemini CLI",
    "QWEN_CODE": "Qwen Code",
    "OPENCODE": "opencode",
    "CLINE_ACTIVE": "cline",
    "CURSOR_AGENT": "Cursor",
    "COPILOT_CLI": "Copilot CLI",
    "AI_AGENT": "an agent",
}
"""What clients put into the environment of the commands that their agents run."""
PROGRAMS = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "qwen": "Qwen Code",
    "opencode": "opencode",
    "copilot": "Copilot CLI",
    "cline": "cline",
    "cursor-agent": "Cursor",
    "goose": "goose",
    "aider": "aider",
    "amp": "Amp",
    "crush": "Crush",
    "droid": "Droid",
}
PACKAGES = {
    "@anthropic-ai/claude-code/": "Claude Code",
    "@openai/codex/": "Codex",
    "@google/gemini-cli/": "Gemini CLI",
    "@qwen-code/qwen-code/": "Qwen Code",
    "opencode-ai/": "opencode",
    "@github/copilot/": "Copilot CLI",
}
"""Where the scripts of clients are that an interpreter runs."""
INTERPRETERS = ("node", "bun", "deno", "python", "pypy", "ruby")
NOTE = "clients.json"
MOST_NOTED = 256
"""Processes that are remembered: of those that still run, the ones that said something last."""
SHELL_MARKS = {
    "claude": "AI_AGENT",
    "codex": "CODEX_TOOL_CALL_ID",
    "gemini": "GEMINI_CLI",
    "qwen": "QWEN_CODE",
    "copilot": "COPILOT_AGENT_SESSION_ID",
}
"""Variables that clients set for the commands of their agents, and not for hooks."""
SHELL_LESS = ("opencode", "cline")
"""Clients in which a script of ours runs the hooks: no shell stands between."""
HARNESS = "_harness"
"""How Claude Code's ends for hooks, which have it too."""


def require_person(deed: str, notes: Notes | None = None) -> None:
    """Refuse what only the person may do where an agent's client started this process.

    `notes` are those of the vault that it is about, if it is about one.
    """
    agent = agent_above() or _hooked(notes)
    if agent:
        raise Refused(
            f"Only the person may {deed}, and this was started by an agent ({agent}).",
            next_step="Do it yourself, in a terminal of your own.",
        )


def is_person() -> bool:
    """Whether a person types: at a terminal, and not one of an agent's."""
    return bool(sys.stdin and sys.stdin.isatty()) and not agent_above()


def agent_above(environ: Mapping[str, str] = os.environ, find: Find | None = None) -> str:
    """The client whose agent started this process; empty as far as nothing tells of one."""
    named = (title for name, title in VARIABLES.items() if environ.get(name))
    running = (client for process in processes.all_above(find) if (client := _client(process)))
    return next(named, "") or next(running, "") or _hooked(notes_of_user(), find)


def _hooked(notes: Notes | None, find: Find | None = None) -> str:
    """The client above, whatever it is called, whose hooks were noted; empty if there is none."""
    from commonplace.trust.neutralise import one_line

    session = agents_session(notes, find)
    return f"session {one_line(session)}" if session else ""


def _client(process: Process) -> str:
    """The client that a process is; empty if it is none."""
    names = [process.name, process.title]
    if process.name.startswith(INTERPRETERS) or process.name in processes.SHELLS:
        script = next((word for word in process.words[1:] if not word.startswith("-")), "")
        script = script.replace("\\", "/")
        names.append(script)
        found = next((PACKAGES[part] for part in PACKAGES if part in script), "")
        if found:
            return found
    stems = (os.path.basename(name).partition(".")[0].lower() for name in names)
    return next((PROGRAMS[stem] for stem in stems if stem in PROGRAMS), "")


def client_title(name: str) -> str:
    """A client as people call it; as it calls itself where that is all that is known."""
    from commonplace.trust.neutralise import one_line

    first = name.lower().replace("-", " ").partition(" ")[0]
    titles = {program.partition("-")[0]: title for program, title in PROGRAMS.items()}
    return titles.get(first, one_line(name))


def note_session(notes: Notes, run: str, session: str) -> None:
    """Remember that the process is in this session now."""
    if not run or not session or _kept(notes.read(NOTE)).get(run) == session:
        return

    def changed(data: bytes | None) -> bytes:
        kept = {key: said for key, said in _kept(data).items() if processes.is_running(key)}
        kept.pop(run, None)
        newest = [*kept.items(), (run, session)][-MOST_NOTED:]
        return json.dumps(dict(newest)).encode()

    notes.change(NOTE, changed)


def noted_session(notes: Notes, keys: Iterable[str]) -> str:
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
        note_session(notes, run, session)


def agents_session(notes: Notes | None, find: Find | None = None) -> str:
    """The session of the client that this process runs below; empty when it is below none.

    A shell is no client: a hook that a person typed notes the shell of their terminal.
    """
    if notes is None:
        return ""
    above = processes.all_above(find)
    return noted_session(notes, (each.key for each in above if each.name not in processes.SHELLS))


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
    session = noted_session(memory.notes, processes.keys_above())
    if not session or session == memory.session:
        return
    if not memory.session:
        memory.session = session
    elif memory.sessions.read(session).tainted and not memory.read_only:
        memory.taint(f"session {session}")


def mark_tainted(memory: Memory, read: str | None) -> None:
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
    above = list(processes.ancestors())
    if client in SHELL_LESS:
        return len(above) > 1 and _client(above[-1]) == PROGRAMS[client]
    if above and _is_marked(mark, processes.environment(above[-1].pid)):
        return False
    below = (processes.environment(process.pid) for process in above[:-1])
    return any(_is_marked(mark, each) for each in (environ, *below))


def _is_marked(mark: str, environ: Mapping[str, str]) -> bool:
    value = environ.get(mark, "")
    return bool(value) and not value.endswith(HARNESS)


def _kept(data: bytes | None) -> dict[str, str]:
    from commonplace.storage.machine_files import parsed

    try:
        kept = parsed(data or b"{}")
    except ValueError:
        return {}
    return dict(_plain(kept)) if isinstance(kept, dict) else {}


def _plain(kept: Mapping[object, object]) -> Iterator[tuple[str, str]]:
    for run, session in kept.items():
        if isinstance(run, str) and isinstance(session, str):
            yield run, session
