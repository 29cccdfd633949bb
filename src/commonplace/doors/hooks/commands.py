"""How a shell command ended, and its shape: what the log of commands keeps of it.

Of what a command printed nothing is kept but which of the failures listed here it names, so that no
stranger's words get in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from commonplace.doors.hooks.clients import ToolUse
from commonplace.trust.sentences import word_set

SILENT = ("codex",)
"""Clients that do not say how a command ended."""
PRINTED = ("llmContent", "textResultForLlm")
"""Where clients hand over what was printed, with the code below it unless that is 0."""
LOOKED_AT = 4000
"""Characters at either end of what was printed that are looked at."""
FAILURES = (
    "command not found",
    "No such file or directory",
    "Permission denied",
    "ModuleNotFoundError",
    "Cannot find module",
    "Connection refused",
    "Address already in use",
    "Temporary failure in name resolution",
    "No space left on device",
    "not a git repository",
    "timed out",
)
EXIT = re.compile(r"\bexit(?:ed with)? (?:code|status):?\s+(\d{1,3})\b", re.I)
STEP = re.compile(r"&&|\|\||;|\n")
PIPED = re.compile(r"\||\d?[<>]|&$")
QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|\$\([^()]*\)|`[^`]*`")
SETTING = re.compile(r"[A-Za-z_]\w*=\S*\Z")
PROGRAM = re.compile(r"[\w.~/+-]{1,60}\Z")
WORD = re.compile(r"[a-z][a-z.:-]{0,30}\Z")
FLAG = re.compile(r"-[A-Za-z]{1,2}\Z|--[a-z][a-z-]{0,30}\Z")
BESIDE = frozenset(("cd", "export", "set", "source", ".", "env", "time", "nice"))
"""What stands before the command that matters."""
LOOKING = """ls cat pwd echo head tail grep rg find which type env printenv date whoami stat wc tree
file less sed awk sleep true test jq diff history"""
"""Programs that only look: a failure does not end with one of them."""
GIT_LOOKING = frozenset(("git", each) for each in ("status", "diff", "log", "show", "branch"))
MOST_WORDS = 6


class Ended(Struct, frozen=True):
    """A command as it ended: its shape, and what went wrong in a word; empty for nothing."""

    command: str
    failure: str = ""


def ended(client: str, tool: ToolUse) -> Ended | None:
    """What a command was and how it ended; None where that is not told, or says nothing."""
    failure = _failure(client, tool)
    shape = shape_of(_command(tool)) if failure is not None else ""
    return Ended(shape, failure) if shape and failure is not None else None


def _command(tool: ToolUse) -> str:
    given = tool.given.get("command", tool.given.get("cmd"))
    if isinstance(given, list):
        # As Codex has it: a shell, its flag and the script.
        given = given[-1] if len(given) == 3 and str(given[1]).startswith("-") else " ".join(given)
    return given if isinstance(given, str) else ""


def shape_of(command: str) -> str:
    """The program and the words that choose what it does, the rest as `…`.

    Empty for a command that only looks, and for one that is too odd to tell.
    """
    steps = [words for step in STEP.split(QUOTED.sub(" … ", command)) if (words := _words(step))]
    if not steps:
        return ""
    program, *rest = steps[-1]
    looks = program.rpartition("/")[2] in word_set(LOOKING) or (program, *rest[:1]) in GIT_LOOKING
    if not PROGRAM.match(program) or looks:
        return ""
    kept = [word if _tells(word) else "…" for word in rest]
    told = [program, *kept[:MOST_WORDS], *(["…"] if len(kept) > MOST_WORDS else [])]
    return " ".join(word for at, word in enumerate(told) if word != "…" or told[at - 1] != "…")


def _words(step: str) -> list[str]:
    """The words of one step, without settings and what stands before the program."""
    words = PIPED.split(step.strip())[0].split()
    if words[:1] == ["cd"]:
        return []
    while words and (SETTING.match(words[0]) or words[0] in BESIDE):
        words = words[1:]
    return words


def _tells(word: str) -> bool:
    return bool(WORD.match(word) or FLAG.match(word))


def _failure(client: str, tool: ToolUse) -> str | None:
    """What went wrong, in a word of ours; empty when nothing did, None when that is not told."""
    if tool.stopped:
        return None
    if tool.error:
        return _named(tool.error)
    if client in SILENT:
        return None
    printed = _printed(tool.response)
    codes = EXIT.findall(printed[-LOOKED_AT:])
    return _named(printed) if codes and int(codes[-1]) else ""


def _printed(response: Any) -> str:
    """What was printed; nothing where the client tells failures by an event of their own."""
    found = response
    if isinstance(response, Mapping):
        found = next((response[key] for key in PRINTED if key in response), "")
    return found if isinstance(found, str) else ""


def _named(text: str) -> str:
    """The failure that a text names; its exit code where it names none."""
    seen = text if len(text) <= 2 * LOOKED_AT else text[:LOOKED_AT] + text[-LOOKED_AT:]
    named = next((each for each in FAILURES if each.casefold() in seen.casefold()), "")
    codes = EXIT.findall(seen)
    return named or (f"exit code {codes[-1]}" if codes else "an error")
