"""Whether it is the person who acts, or a program that an agent's client started.

A terminal tells nothing: agents have terminals too. The environment and the process's ancestors
do, by their names and by the hooks that they ran, as far as they can: a program that leaves its
client's processes is not seen. What the person alone may do calls `require_person`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from commonplace.doors.attached import agents_session, notes_of_user
from commonplace.doors.runs import SHELLS, Find, Process, all_above
from commonplace.model.errors import NotThePerson
from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.storage.notes import Notes

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


def require_person(deed: str, notes: Notes | None = None) -> None:
    """Refuse what only the person may do where an agent's client started this process.

    `notes` are those of the vault that it is about, if it is about one.
    """
    agent = agent_above() or _hooked(notes)
    if agent:
        raise NotThePerson(deed, agent)


def is_person() -> bool:
    """Whether a person types: at a terminal, and not one of an agent's."""
    return bool(sys.stdin and sys.stdin.isatty()) and not agent_above()


def agent_above(environ: Mapping[str, str] = os.environ, find: Find | None = None) -> str:
    """The client whose agent started this process; empty as far as nothing tells of one."""
    named = (title for name, title in VARIABLES.items() if environ.get(name))
    running = (client for process in all_above(find) if (client := _client(process)))
    return next(named, "") or next(running, "") or _hooked(notes_of_user(), find)


def _hooked(notes: Notes | None, find: Find | None = None) -> str:
    """The client above, whatever it is called, whose hooks were noted; empty if there is none."""
    session = agents_session(notes, find)
    return f"session {one_line(session)}" if session else ""


def _client(process: Process) -> str:
    """The client that a process is; empty if it is none."""
    names = [process.name, process.title]
    if process.name.startswith(INTERPRETERS) or process.name in SHELLS:
        script = next((word for word in process.words[1:] if not word.startswith("-")), "")
        script = script.replace("\\", "/")
        names.append(script)
        found = next((PACKAGES[part] for part in PACKAGES if part in script), "")
        if found:
            return found
    stems = (os.path.basename(name).partition(".")[0].lower() for name in names)
    return next((PROGRAMS[stem] for stem in stems if stem in PROGRAMS), "")
