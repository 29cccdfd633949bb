"""Rules at tool calls: what a call asks for, and the client's own form of what is told with it.

It does not know which rules there are, nor whether they were told.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from commonplace.doors.hooks import clients, reading
from commonplace.doors.hooks.clients import HookCall, ToolUse
from commonplace.model.moments import CalledTool

if TYPE_CHECKING:
    from commonplace.memory import Memory

MOST = 1_200
"""Characters of rules with one call."""
COMMANDS = ("command", "cmd", "commands")
PATHS = (
    *("file_path", "absolute_path", "path", "notebook_path", "filePath", "target_file"),
    *("filename", "paths", "files", "dir_path"),
)
PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
"""The files of a patch as Codex and others write it."""
MOST_TEXTS = 1_000


def before(memory: Memory, call: HookCall, tool: ToolUse) -> tuple[str, bool]:
    """What the client is answered before a tool, and whether that keeps it from running."""
    told = memory.tell_rules(
        call_of(tool),
        characters=MOST,
        aside=tool.agent,
        may_deny=True,
        only_denials=call.client in clients.HEAR_AFTER_TOOLS,
    )
    if told.denies:
        return clients.deny(call.client, told.text), True
    return clients.beside_tool(call.client, call.name or "PreToolUse", told.text), False


def after(memory: Memory, call: HookCall, tool: ToolUse) -> str:
    """What the client is answered after a tool: rules that it could not be told before."""
    told = memory.tell_rules(call_of(tool), characters=MOST, aside=tool.agent)
    return clients.beside_tool(call.client, call.name or "PostToolUse", told.text)


def at_prompt(memory: Memory, prompt: str) -> str:
    """The rules whose words are in a prompt."""
    return memory.tell_rules(CalledTool(said=(prompt,)), event="prompt", characters=MOST).text


def call_of(tool: ToolUse) -> CalledTool:
    """What a tool is asked, as moments are compared with it."""
    said = tuple(_texts(tool.given))
    command = _command(tool) if reading.is_shell(tool) else ""
    patched = [name.strip() for text in said if "*** " in text for name in PATCHED.findall(text)]
    paths = (_from_root(path, tool.directory) for path in [*_paths(tool), *patched])
    return CalledTool(tool.name, command=command, paths=tuple(paths), said=said)


def _command(tool: ToolUse) -> str:
    given = next((given for key in COMMANDS if (given := tool.given.get(key))), "")
    if isinstance(given, list):
        # Cline runs several lines with one call; Codex names a program and its arguments.
        words = list(map(str, given))
        return "\n".join(words) if "commands" in tool.given else shlex.join(words)
    return given if isinstance(given, str) else ""


def _paths(tool: ToolUse) -> Iterator[str]:
    for key in PATHS:
        given = tool.given.get(key)
        for each in given if isinstance(given, list) else [given]:
            path = each.get("path") if isinstance(each, dict) else each
            if isinstance(path, str) and path:
                yield path


def _from_root(path: str, directory: str) -> str:
    return os.path.normpath(os.path.join(directory, os.path.expanduser(path)))


def _texts(given: Any) -> Iterator[str]:
    """Each text in the arguments of a tool, however deep."""
    waiting, seen = [given], 0
    while waiting and seen < MOST_TEXTS:
        each, seen = waiting.pop(0), seen + 1
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
