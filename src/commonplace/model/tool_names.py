"""What clients call tools that do the same: each has its own names for a shell and an editor."""

from __future__ import annotations

SHELLS = frozenset(
    [
        "bash",
        "shell",
        "execcommand",
        "executebash",
        "executecommand",
        "localshell",
        "powershell",
        "runcommands",
        "runshellcommand",
        "monitor",
        "writestdin",
        "writebash",
    ]
)
"""Tools that run a command, which may read and write anything."""
WRITERS = frozenset(
    [
        "write",
        "writefile",
        "writetofile",
        "edit",
        "editfile",
        "editor",
        "multiedit",
        "notebookedit",
        "replace",
        "replaceinfile",
        "applypatch",
        "create",
        "strreplaceeditor",
    ]
)
"""Tools that write files, and nothing else."""
READERS = frozenset(["read", "readfile", "readmanyfiles", "view", "viewfile"])
"""Tools that read files."""

SPELLED = (
    *("Bash", "Shell", "run_shell_command", "exec_command", "local_shell", "PowerShell"),
    *("Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "edit_file", "apply_patch"),
    *("Read", "read_file", "read_many_files", "View", "Grep", "Glob", "LS", "list_directory"),
    *("WebFetch", "WebSearch", "web_fetch", "google_web_search", "Task", "Agent", "Skill"),
    *("TodoWrite", "search_file_content", "replace", "str_replace_editor", "view_image"),
)
"""Names of tools as clients spell them."""


def plain(name: str) -> str:
    """A tool's name without what clients write otherwise: case, hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()


def is_known(name: str) -> bool:
    """Whether a client that is known here may have such a tool: its own, or that of a server."""
    own = SHELLS | WRITERS | READERS | {plain(each) for each in SPELLED}
    return plain(name) in own or "*" in name or name.lower().startswith("mcp_") or "__" in name


def near(name: str) -> str:
    """The known name that is nearly this one; empty where none is."""
    from difflib import get_close_matches

    spelled = {plain(each): each for each in SPELLED}
    found = get_close_matches(plain(name), spelled, n=1, cutoff=0.75)
    return spelled[found[0]] if found else ""
