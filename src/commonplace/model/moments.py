"""The moments at which a rule is told: the grammar of `when`, and whether a call is such a moment.

    Bash(git push*)       a command that begins so; `*` stands for anything
    Edit(src/**/*.sql)    a file that is edited: a path, or its end from any directory on
    path:migrations/      a file that any tool names, here one below a directory
    mcp__github__*        a tool, whatever it is asked
    words: deploy, prod   one of these words, in what a tool is asked or in a prompt

Clients call their tools otherwise: Bash, shell and run_shell_command are one tool here, and so are
Edit, Write and apply_patch. A match reminds; it protects nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from commonplace.model.errors import BadValue
from commonplace.model.shell_commands import commands_in, words_in
from commonplace.model.tool_names import READERS, SHELLS, WRITERS, is_known, near, plain

MOST, LONGEST = 10, 200
"""How many moments a rule may have, and how many characters each of them."""
LONGEST_PATH = 4096
LOOKED_AT = 65_536
"""Characters of a call that are looked through for words."""
NEXT_STEP = (
    "Write a tool with a command or a path, such as Bash(git push*) or Edit(src/**/*.sql), a tool "
    "alone, such as WebFetch, or path:migrations/**, or words: deploy, release."
)
TOOL = re.compile(r"[A-Za-z_][\w.*-]*\Z")
WITH_PATTERN = re.compile(r"([A-Za-z_][\w.-]*)\s*\((.*)\)\Z", re.DOTALL)
PATH, WORDS = "path", "words"
FAMILIES = {
    **dict.fromkeys(SHELLS, "shell"),
    **dict.fromkeys(WRITERS, "edit"),
    **dict.fromkeys(READERS, "read"),
}
SEPARATED = re.compile(r"[_.\-]+")
UNCLOSED = re.compile(r"\[(?!!?\]?[^\]]*\])")
"""The beginning of a set of letters that nothing ends."""


class CalledTool(Struct, frozen=True, dict=True):
    """What a tool is asked, or what a user says: what moments are compared with."""

    tool: str = ""
    """Its name in the client; empty for a prompt."""
    command: str = ""
    """What a shell is to run."""
    paths: tuple[str, ...] = ()
    """The files that are named, from the root on where that is known."""
    said: tuple[str, ...] = ()
    """Each text among what it is asked."""

    @cached_property
    def commands(self) -> list[str]:
        """The commands in it, and the whole line."""
        return [*commands_in(self.command), " ".join(self.command.split())] if self.command else []

    @cached_property
    def all_paths(self) -> list[str]:
        """The files, with those that a command names."""
        return [*self.paths, *(word for word in words_in(self.command) if is_path(word))]

    @cached_property
    def folded(self) -> str:
        """All that is said, as words are looked for in it."""
        return "\n".join(self.said)[:LOOKED_AT].casefold()


class Moment(Struct, frozen=True):
    """One moment of a rule."""

    tool: str = ""
    """A tool's name, or `path` or `words`."""
    pattern: str = ""
    """The command, the path or the words; empty for the tool alone."""

    def __str__(self) -> str:
        if self.tool == PATH:
            return f"{PATH}:{self.pattern}"
        if self.tool == WORDS:
            return f"{WORDS}: {self.pattern}"
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool

    def fits(self, call: CalledTool) -> bool:
        """Whether this is the moment."""
        if self.tool == WORDS:
            return any(_says(call.folded, word) for word in self.words)
        if not call.tool:
            return False
        if self.tool == PATH:
            return any(is_at(self.pattern, path) for path in call.all_paths)
        if not _is_tool(self.tool, call.tool):
            return False
        if not self.pattern:
            return True
        if FAMILIES.get(plain(call.tool)) == "shell":
            return any(begins(self.pattern, command) for command in call.commands)
        if call.paths:
            return any(is_at(self.pattern, path) for path in call.paths)
        return any(begins(self.pattern, text) for text in call.said)

    @property
    def names_paths(self) -> bool:
        """Whether its pattern is that of a path."""
        return self.tool == PATH or FAMILIES.get(plain(self.tool)) in ("edit", "read")

    @property
    def words(self) -> list[str]:
        """The words of a moment that is one of words."""
        return [word for each in self.pattern.split(",") if (word := each.strip().casefold())]

    @property
    def literal(self) -> str:
        """What of it somebody must have typed who meant this moment."""
        return " ".join(self.pattern.replace("*", " ").split()) or self.tool


def moments(when: Sequence[str]) -> list[Moment]:
    """The moments of a rule. One that cannot be read, as a person may write it, is left out."""
    return [moment for text in when if (moment := _parsed(text)) is not None]


def check_moments(when: Any) -> tuple[str, ...]:
    """The moments as they are written down, each once."""
    if isinstance(when, str) or not isinstance(when, Sequence):
        raise BadValue("when", f"{when!r} is not a list", next_step='Send ["Bash(git push*)"].')
    if len(when) > MOST:
        raise BadValue(
            "when", f"{len(when)} moments, and at most {MOST} are kept", next_step="Keep the best."
        )
    return tuple(dict.fromkeys(str(_checked(text)) for text in when))


def _checked(text: Any) -> Moment:
    moment = _parsed(text) if isinstance(text, str) and len(text) <= LONGEST else None
    if moment is None:
        shown = text if len(str(text)) <= LONGEST else f"{str(text)[:40]}…"
        raise BadValue("when", f"{shown!r} is no moment", next_step=NEXT_STEP)
    is_tool = moment.tool not in (PATH, WORDS)
    if is_tool and moment.pattern and not is_known(moment.tool) and (meant := near(moment.tool)):
        raise BadValue(
            "when",
            f"no known client has a tool {moment.tool}",
            next_step=f"Did you mean {Moment(meant, moment.pattern)}?",
        )
    if moment.names_paths and any(map(UNCLOSED.search, moment.pattern.split("/"))):
        raise BadValue(
            "when", f"a [ in {str(moment)!r} is not closed", next_step="Close it, or write ?."
        )
    return moment


def unknown_tools(when: Sequence[str]) -> str:
    """What is to be said of moments whose tools no known client has; empty without any."""
    names = dict.fromkeys(
        each.tool
        for each in moments(when)
        if each.tool not in (PATH, WORDS) and not is_known(each.tool)
    )
    return " ".join(
        f"No client that is known here has a tool {name}; it is told if one has." for name in names
    )


def _parsed(text: str) -> Moment | None:
    text = text.strip()
    kind, colon, rest = text.partition(":")
    kind, rest = kind.strip().lower(), " ".join(rest.split())
    if colon and kind in (PATH, WORDS):
        moment = Moment(kind, rest)
        named = moment.words if kind == WORDS else rest.strip("*/ ")
        return moment if named and text.isprintable() else None
    if not text.isprintable():
        return None
    if found := WITH_PATTERN.match(text):
        # Claude Code writes `git push:*` in its own rules.
        pattern = " ".join(found[2].split()).removesuffix(":*")
        pattern += "*" if found[2].rstrip().endswith(":*") else ""
        return Moment(found[1], "" if pattern == "*" else pattern)
    return Moment(text) if TOOL.match(text) and text.strip("*_.-") else None


def _is_tool(wanted: str, called: str) -> bool:
    """Whether a call is of the tool, as any client calls it."""
    family = FAMILIES.get(plain(wanted))
    if family:
        return family == FAMILIES.get(plain(called))
    if wanted.lower().startswith("mcp_"):
        return _globbed(_separated(wanted), _separated(called))
    return _globbed(plain(wanted), plain(called))


def _separated(name: str) -> str:
    """The name of a server's tool: `mcp__github__open`, `mcp_github_open` or `github-open`."""
    return SEPARATED.sub("_", name.lower()).removeprefix("mcp_")


def begins(pattern: str, text: str) -> bool:
    """Whether a text begins so, in whole words; `*` stands for anything.

    A pattern that ends in ` *` is also there without anything behind it.
    """
    first, *rest = pattern.removesuffix(" *").split("*")
    if not text.startswith(first):
        return False
    at, last = len(first), rest.pop() if rest else None
    for piece in rest:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    if last is None:
        return _is_end(text, at)
    if not last:
        return True
    while (at := text.find(last, at)) >= 0:
        at += len(last)
        if _is_end(text, at):
            return True
    return False


def _is_end(text: str, at: int) -> bool:
    """Whether no word goes on at this place."""
    return at >= len(text) or text[at].isspace() or (at > 0 and text[at - 1].isspace())


def is_at(pattern: str, path: str) -> bool:
    """Whether a path, or its end from one of its directories on, is as the pattern says."""
    if len(path) > LONGEST_PATH:
        return False
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
    wanted = [part for part in pattern.removeprefix("./").split("/") if part]
    if pattern.startswith("~/"):
        wanted = wanted[1:]  # Wherever the home is, below it.
    if pattern.endswith("/"):
        wanted.append("**")
    starts = range(1 if pattern.startswith("/") else len(parts))
    return any(_parts_fit(wanted, parts[at:]) for at in starts)


def _parts_fit(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a path are those wanted, `**` being any number of them."""
    reached = {0}
    for number, each in enumerate(wanted):
        if each == "**":
            least = min(reached, default=len(parts) + 1)
            # At the end it stands for what is inside, not for the directory itself.
            ends = number + 1 == len(wanted)
            reached = set(range(least + ends, len(parts) + 1))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and _globbed(each, parts[at])}
    return len(parts) in reached


def _globbed(pattern: str, text: str) -> bool:
    if "*" not in pattern and "?" not in pattern and "[" not in pattern:
        return pattern == text
    from fnmatch import fnmatchcase

    return fnmatchcase(text, pattern)


def is_path(word: str) -> bool:
    """Whether a word of a command may name a file."""
    return not word.startswith("-") and ("/" in word or "." in word.strip("."))


def _says(text: str, word: str) -> bool:
    """Whether a word stands in a text that is folded as the word is."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        before = at and _is_of_word(text[at - 1]) and _is_of_word(word[0])
        after = end < len(text) and _is_of_word(text[end]) and _is_of_word(word[-1])
        if not before and not after:
            return True
        at = text.find(word, at + 1)
    return False


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
