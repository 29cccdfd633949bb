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


def plain(name: str) -> str:
    """A tool's name without what clients write otherwise: case, hyphens and underscores."""
    return name.replace("_", "").replace("-", "").lower()
