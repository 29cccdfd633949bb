"""The forms in which clients take what a hook says.

It does not know what is said.
"""

from __future__ import annotations

import json

STARTS = "SessionStart"
PROMPTS = {"gemini": "BeforeAgent"}
MAY_NOT_START = ("qwen",)
"""Clients that announce no session's start when they are run with one prompt."""
ANNOUNCE_ALWAYS = ("gemini",)
"""Clients that announce a compaction on every turn, whether there will be one or not."""
SWEPT_BY = ("claude", "codex", "qwen", "gemini", "copilot")
"""Clients whose agent goes on when it is asked to as it stops."""


def at_start(client: str, text: str) -> str:
    """Text for the beginning of a session."""
    return _context(client, STARTS, text)


def at_prompt(client: str, text: str) -> str:
    """Text beside what the user asked."""
    return _context(client, PROMPTS.get(client, "UserPromptSubmit"), text)


def _context(client: str, event: str, text: str) -> str:
    if client == "copilot":
        return json.dumps({"additionalContext": text})
    told = {"hookEventName": event, "additionalContext": text}
    return json.dumps({"hookSpecificOutput": told})


def on_compaction(client: str, text: str) -> str:
    """Text for whoever writes the summary: only Claude Code hands it on, and takes it plain."""
    return text if client == "claude" else ""


def go_on(client: str, reason: str) -> str:
    """Have the agent do one more thing before it stops."""
    return json.dumps({"decision": "block", "reason": reason}) if client in SWEPT_BY else ""


def length(text: str) -> int:
    """Characters as clients count them: those beyond the first 65,536 of Unicode count twice."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
