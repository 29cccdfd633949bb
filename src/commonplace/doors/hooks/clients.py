"""The clients' own forms: the JSON that each sends to a hook, and the answers that each takes.

Clients differ in spelling (`session_id`, `sessionId`) and in names (`prompt_response`,
`last_assistant_message`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from commonplace.doors.session_id import session_of
from commonplace.model.errors import BadInput

TURN = ("promptid", "turnid")
MACHINES = (
    "hook_context",
    "task-notification",
    "system-reminder",
    "local-command-stdout",
    "local-command-stderr",
    "bash-stdout",
    "bash-stderr",
    "untrusted_context",
)
"""Tags around what clients put into a prompt that nobody typed, our own words among it."""
REFERENCED = "--- Content from referenced files ---"
"""Below it Gemini CLI and Qwen Code put the text of files that a prompt names."""
PUNCTUATION = ".,;:!?)]}>\"'`"
OFF_RECORD = ("incognito", "off the record")
ON_RECORD = ("on the record",)
"""First words of a prompt, before a colon, with which its session pauses, and goes on."""
REPLY = ("lastassistantmessage", "promptresponse")
STARTS = "SessionStart"
PROMPTS = {"gemini": "BeforeAgent"}
MAY_NOT_START = ("qwen",)
"""Clients that announce no session's start when they are run with one prompt."""
ANNOUNCE_ALWAYS = ("gemini",)
"""Clients that announce a compaction on every turn, whether there will be one or not."""
SAY_WHEN_COMPACTED = ("claude", "codex", "qwen", "opencode")
"""Clients that announce the end of a compaction too, or the start of what comes after it."""
HEAR_AFTER_TOOLS = ("gemini", "qwen")
"""Clients whose model hears what a hook says after a tool, and not what one says before it."""
ASKS_BEFORE_SOME = "claude"
"""The client that runs no hook before a tool that only reads: one takes a while."""
SWEPT_BY = ("claude", "codex", "qwen", "gemini", "copilot", "opencode")
"""Clients whose agent goes on when it is asked to as it stops."""


class ToolUse(Struct, frozen=True):
    """One call of a tool."""

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""
    """The client's own id of the call, where it has one."""
    server: str = ""
    """The MCP server that has the tool, where the client tells it apart."""
    directory: str = ""
    agent: str = ""
    """The client's own id of the subagent that calls it; empty: the session's own agent."""
    response: Any = None
    """What it gave, after it has run."""
    error: str = ""
    """Why it failed, where the client tells failures apart."""
    stopped: bool = False
    """Whether the person stopped it."""

    @property
    def aside(self) -> bool:
        """Whether a subagent calls it."""
        return bool(self.agent)


class HookCall(Struct, frozen=True):
    """One hook of a client: who, what, in which session."""

    client: str
    event: str
    session: str = ""
    name: str = ""
    """What the client calls the event."""
    turn: str = ""
    """The client's own id of the turn, where it has one."""
    source: str = ""
    """Why a session starts: startup, resume, clear or compact."""
    trigger: str = ""
    """Who wants a compaction: manual or auto."""
    prompt: str = ""
    named: tuple[str, ...] = ()
    """The files that the prompt names, which the client reads with it."""
    reply: str = ""
    summary: str = ""
    again: bool = False
    """Whether the agent goes on because a hook asked it to: it must not be asked once more."""
    transcript: str = ""
    tool: ToolUse | None = None
    """The tool that is about to run, or has run."""
    dialect: str = ""
    """The dialect whose wording was asked for; empty: the vault's own."""
    vault: str = ""
    """The vault that memory is to be named by; empty: it is the only one."""
    notice: str = ""
    """What the person should hear at the start: a working directory that is left out, say."""


def read_call(
    data: bytes,
    *,
    client: str,
    event: str,
    session: str = "",
    dialect: str = "",
    environ: Mapping[str, str] = os.environ,
) -> HookCall:
    """The call that a client's JSON describes."""
    given = _object(data)
    spelt = {_plain(key): value for key, value in given.items()}
    said = _text(spelt.get("prompt"))
    prompt, told = typed(said), ["files in the prompt"] if REFERENCED in said else []
    return HookCall(
        client=client,
        event=event,
        session=session or session_of(given, environ),
        name=_text(spelt.get("hookeventname")),
        turn=_first(spelt, TURN),
        source=_text(spelt.get("source")),
        trigger=_text(spelt.get("trigger")),
        prompt=prompt,
        named=tuple(referenced(prompt, _text(spelt.get("cwd"))) or told),
        reply=_first(spelt, REPLY),
        summary=_text(spelt.get("compactsummary")),
        again=spelt.get("stophookactive") is True,
        transcript=_text(spelt.get("transcriptpath")),
        tool=_tool(spelt),
        dialect=dialect,
    )


def typed(prompt: str) -> str:
    """The prompt as the person typed it, without what the client added.

    Of each tag all from its first opening to its last end goes, or what stands inside could end it.
    """
    prompt = prompt.partition(REFERENCED)[0].rstrip() if REFERENCED in prompt else prompt
    for tag in MACHINES:
        before, opening, rest = prompt.partition(f"<{tag}>")
        if opening:
            _, end, after = rest.rpartition(f"</{tag}>")
            prompt = f"{before.rstrip()}\n{after.lstrip()}".strip() if end else before.rstrip()
    return prompt


def begins_with(prompt: str, words: tuple[str, ...]) -> bool:
    """Whether one of these is the prompt, or stands before its first colon."""
    return prompt.lstrip()[:40].partition(":")[0].strip().casefold() in words


def referenced(prompt: str, directory: str) -> list[str]:
    """What a client reads because the prompt names it with `@`: files, and resources of servers."""
    words = (word[1:].rstrip(PUNCTUATION) for word in prompt.split() if word.startswith("@"))
    return [word for word in words if word and ("://" in word or _is_there(directory, word))]


def _is_there(directory: str, name: str) -> bool:
    try:
        return os.path.exists(os.path.join(directory, os.path.expanduser(name)))
    except ValueError:
        return False


def _tool(spelt: Mapping[str, Any]) -> ToolUse | None:
    """The tool of a call: Copilot CLI says `toolArgs` where others say `tool_input`."""
    name = _text(spelt.get("toolname"))
    if not name:
        return None
    given, context = spelt.get("toolinput") or spelt.get("toolargs"), spelt.get("mcpcontext")
    if isinstance(given, str) and given.startswith("{"):
        given = _opened(given)
    return ToolUse(
        name,
        given if isinstance(given, dict) else {},
        id=_text(spelt.get("tooluseid")),
        server=_text(context.get("server_name")) if isinstance(context, dict) else "",
        directory=_text(spelt.get("cwd")),
        agent=_text(spelt.get("agentid")),
        response=spelt.get("toolresponse") or spelt.get("toolresult"),
        error=_text(spelt.get("error")),
        stopped=spelt.get("isinterrupt") is True,
    )


def _opened(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(data: bytes) -> dict[str, Any]:
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        raise BadInput("The hook's input is no JSON.") from None
    if not isinstance(given, dict):
        raise BadInput("The hook's input is no JSON object.")
    return given


def _plain(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _first(spelt: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := _text(spelt.get(name)))), "")


def _text(value: Any) -> str:
    """A text as it can be written: half characters, which some clients cut out of emoji, go."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else ""


def at_start(client: str, text: str) -> str:
    """Text for the beginning of a session."""
    return _context(client, STARTS, text)


def at_prompt(client: str, text: str) -> str:
    """Text beside what the user asked."""
    return _context(client, PROMPTS.get(client, "UserPromptSubmit"), text)


def beside_tool(client: str, event: str, text: str) -> str:
    """Text beside a call of a tool."""
    return _context(client, event, text) if text else ""


def deny(client: str, reason: str) -> str:
    """Keep a tool from running, with the reason that its model is told."""
    if client == "gemini":
        return json.dumps({"decision": "deny", "reason": reason})
    told = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    if client == "copilot":
        return json.dumps(told)
    return json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", **told}})


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
