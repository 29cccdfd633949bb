"""Agent skills over MCP (the extension `io.modelcontextprotocol/skills`): each file is a resource.

One skill is served, our own: when to remember and when to recall. Nothing that was remembered is
part of it.
"""

from __future__ import annotations

from functools import cache
from hashlib import sha256

from commonplace.doors.mcp.jsonrpc import Object
from commonplace.doors.setup.clients import skill

URI = "skill://commonplace/SKILL.md"
HOUR = 3_600_000
KEEPS: Object = {"resultType": "complete", "ttlMs": HOUR, "cacheScope": "public"}
"""What the extension wants around a result, in both eras."""


@cache
def text() -> str:
    """The skill's file, as `setup` gives it to clients that take files."""
    return skill()


def entry() -> Object:
    """The skill, with what its file says of it and the digest of the file."""
    data = text().encode()
    file = {"uri": URI, "digest": f"sha256:{sha256(data).hexdigest()}", "size": len(data)}
    return {"uri": URI, "frontmatter": front(text()), "resources": [file]}


def front(file: str) -> dict[str, str]:
    """The fields above the text of a skill: ours have one line each, and no marks around it."""
    _, fields, _ = file.split("---\n", 2)
    return dict(line.split(": ", 1) for line in fields.splitlines())


def resource() -> Object:
    """The skill's file in the list of resources."""
    said = front(text())
    return {
        "uri": URI,
        "name": said["name"],
        "title": "Skill",
        "description": said["description"],
        "mimeType": "text/markdown",
        "annotations": {"audience": ["assistant"], "priority": 0.5},
    }
