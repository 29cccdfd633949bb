"""Claude Code's plugin: server, hooks and skill in one directory that Claude Code loads by itself.

It does not know who asks for it, and writes nothing.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from commonplace.doors.setup.clients import (
    CLIENTS,
    Launch,
    Where,
    claude_directory,
    claude_entry,
    hook_groups,
    hooks_shape,
    json_text,
    whole,
)
from commonplace.doors.setup.config_files import NAME, Target

ABOUT = "Memory that lasts from one session to the next, kept as markdown you can read and edit."
README = f"""# Commonplace for Claude Code

{ABOUT}

`commonplace setup claude` wrote this directory and `commonplace unsetup claude` takes it away
again. It holds the memory server (`.mcp.json`), the hooks that bring memories into a session and
keep what was said (`hooks/`, unless it was set up with `--no-hooks`), and the skill that says when
to remember and when to recall (`skills/`). The memories are not here: they are in the vault whose
path `.mcp.json` names.
"""


def directory(where: Where) -> Path:
    """Where Claude Code finds plugins without being told."""
    return claude_directory(where) / "skills" / NAME


def targets(root: Path, launch: Launch, *, hooks: bool) -> tuple[Target, ...]:
    """The files of the plugin in `root`."""
    server = Target(root / ".mcp.json", CLIENTS["claude"].shape, claude_entry(launch))
    groups = hook_groups("claude", launch)
    events = Target(root / "hooks" / "hooks.json", hooks_shape("claude"), hooks=groups)
    return (
        whole(root / ".claude-plugin" / "plugin.json", json_text(_manifest())),
        server,
        *((events,) if hooks else ()),
        whole(root / "skills" / NAME / "SKILL.md", skill()),
        whole(root / "README.md", README),
    )


def skill() -> str:
    """When to remember and when to recall."""
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")


def _manifest() -> dict[str, object]:
    return {
        "name": NAME,
        "version": version(NAME),
        "description": ABOUT,
        "author": {"name": "Commonplace"},
        "license": "MIT",
        "keywords": ["memory", "markdown", "mcp"],
    }
