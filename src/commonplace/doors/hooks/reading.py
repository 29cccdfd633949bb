"""What a tool may have read, and whether it can write files, by its name and arguments.

Every tool that is not listed here counts as one that reads other people's words: a tool that nobody
has heard of is not to be trusted.
"""

from __future__ import annotations

from commonplace.doors.hooks.clients import ToolUse
from commonplace.model.tool_names import SHELLS, WRITERS, plain

OWN_SERVERS = frozenset(["commonplace", "plugin_commonplace_commonplace"])
"""How clients call the server that `setup` enters: what its tools show is judged line by line."""
OWN_SKILL = "commonplace:commonplace"
READS_NOTHING = frozenset(
    [
        "write",
        "writefile",
        "create",
        "askquestion",
        "askuser",
        "askuserquestion",
        "requestuserinput",
        "enterplanmode",
        "exitplanmode",
        "planenter",
        "planexit",
        "question",
        "reportintent",
        "submitandexit",
        "taskcreate",
        "tasklist",
        "taskupdate",
        "taskstop",
        "todoread",
        "todowrite",
        "toolsearch",
        "updateplan",
        "updatetopic",
        "writetodos",
    ]
)
"""Tools that show the agent nothing but what it said itself, or what the user answers."""
TELLING = (
    "url",
    "uri",
    "query",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "path",
    "files",
    "command",
    "commands",
    "cmd",
    "pattern",
    "prompt",
    "skill",
    "server",
)
"""Arguments that say best what was read, the best first."""
FILES = ("file_path", "filePath", "absolute_path", "path", "files")
IN_BACKGROUND = ("run_in_background", "is_background")


def reads(tool: ToolUse) -> bool:
    """Whether the tool may have shown the agent somebody else's words."""
    own = _is_own(tool) or _said(tool, "skill") == OWN_SKILL
    return not own and plain(tool.name) not in READS_NOTHING


def name_of(tool: ToolUse) -> str:
    """What was read, by its name: the tool, and the page, file or command that it was asked for."""
    asked = next((text for key in TELLING if (text := _said(tool, key))), "")
    return f"{tool.name} {asked}".strip()


def file_of(tool: ToolUse) -> str:
    """The file that a tool was asked for; empty if it names none, or runs a command."""
    return "" if is_shell(tool) else next((p for key in FILES if (p := _said(tool, key))), "")


def is_shell(tool: ToolUse) -> bool:
    """Whether it runs a command."""
    return plain(tool.name) in SHELLS


def writes(tool: ToolUse) -> bool:
    """Whether files may have changed while it ran, which other servers' tools may do too."""
    name = plain(tool.name)
    return name in SHELLS or name in WRITERS or (_is_servers(tool) and not _is_own(tool))


def goes_on(tool: ToolUse) -> bool:
    """Whether it runs on after the client calls it done."""
    return any(tool.given.get(key) is True for key in IN_BACKGROUND)


def _is_own(tool: ToolUse) -> bool:
    if tool.server:
        return tool.server in OWN_SERVERS
    server, _, rest = tool.name.removeprefix("mcp__").replace("-", "__", 1).partition("__")
    return server in OWN_SERVERS and bool(rest) and "-" not in rest


def _is_servers(tool: ToolUse) -> bool:
    return bool(tool.server) or tool.name.startswith("mcp_")


def _said(tool: ToolUse, key: str) -> str:
    value = tool.given.get(key)
    if isinstance(value, list):
        value = " ".join(map(_word, value))
    return value if isinstance(value, str) else ""


def _word(value: object) -> str:
    """One of several: Cline names files as objects with a path."""
    return str(value.get("path", value) if isinstance(value, dict) else value)
