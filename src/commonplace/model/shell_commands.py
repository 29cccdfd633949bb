"""The single commands in a line for a shell, as they would be typed alone.

`cd x && FOO=1 sudo git -C y push` holds `git push`. It reads what people and agents write every
day, and is no shell: a command that a variable, a script or an alias hides is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct, field

LONGEST = 65_536
"""Characters of a line that are looked at."""
DEEPEST = 3
"""How often a command may stand inside another one."""
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([^\s'\"<>;&|()]+)\1")
KEYWORDS = frozenset(
    ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "coproc"]
)
WRAPPERS = frozenset(
    [
        "sudo",
        "doas",
        "env",
        "nohup",
        "nice",
        "ionice",
        "command",
        "exec",
        "builtin",
        "stdbuf",
        "setsid",
        "timeout",
        "xargs",
    ]
)
"""Programs that run the command behind their own options."""
MOST_OPTIONS = 6
"""Words of options that may stand before a command, or before its first argument."""
SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "fish"])


class _Reading(Struct):
    """What has been read of a line so far."""

    commands: list[list[str]] = field(default_factory=lambda: [[]])
    word: str | None = None
    inner: list[str] = field(default_factory=list)
    """Commands inside the line, which the shell runs first."""
    until: list[str] = field(default_factory=list)
    """The words that end the texts which the next lines are."""

    def add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def end_word(self) -> None:
        if self.word is not None:
            self.commands[-1].append(self.word)
            self.word = None

    def end_command(self) -> None:
        self.end_word()
        if self.commands[-1]:
            self.commands.append([])


def commands_in(line: str) -> list[str]:
    """Every command of the line in each form that it may be known by, its words one space apart."""
    return list(dict.fromkeys(_commands(line[:LONGEST], DEEPEST)))


def words_in(line: str) -> list[str]:
    """The words of all the commands of a line."""
    return list(_words(line[:LONGEST], DEEPEST))


def _words(line: str, depth: int) -> Iterator[str]:
    read = _read(line)
    for words in read.commands:
        yield from words
    for text in read.inner if depth else ():
        yield from _words(text, depth - 1)


def _commands(line: str, depth: int) -> Iterator[str]:
    read = _read(line)
    for words in read.commands:
        yield from _forms(words, depth)
    for text in read.inner if depth else ():
        yield from _commands(text, depth - 1)


def _forms(words: list[str], depth: int) -> Iterator[str]:
    """One command without what stands before it, and without its program's own options."""
    while words and (words[0] in KEYWORDS or ASSIGNMENT.match(words[0])):
        words = words[1:]
    if not words:
        return
    program = words[0].rpartition("/")[2].rpartition("\\")[2].removesuffix(".exe")
    words = [program, *words[1:]]
    yield " ".join(words)
    if program in WRAPPERS:
        for at in range(1, min(len(words), MOST_OPTIONS + 1)):
            yield from _forms(words[at:], depth)
    elif depth and program in SHELLS:
        yield from _commands(_script(words), depth - 1)
    elif depth and program == "eval":
        yield from _commands(" ".join(words[1:]), depth - 1)
    else:
        yield from _without_options(words)


def _script(words: list[str]) -> str:
    """What a shell is given to run by its option `-c`."""
    options = (at for at, word in enumerate(words) if word.startswith("-") and "c" in word[1:])
    at = next(options, len(words))
    return words[at + 1] if at + 1 < len(words) else ""


def _without_options(words: list[str]) -> Iterator[str]:
    """The command without the options before its first argument, each with or without a value."""
    for at in range(1, min(len(words), MOST_OPTIONS + 1)):
        if not words[at].startswith("-") and not words[at - 1].startswith("-"):
            return
        yield " ".join([words[0], *words[at + 1 :]])


def _read(line: str) -> _Reading:
    read, at = _Reading(), 0
    while at < len(line):
        at = _step(read, line, at)
    read.end_command()
    return read


def _step(read: _Reading, line: str, at: int) -> int:
    """Read on from a place in the line. Returns where to go on."""
    sign = line[at]
    if sign == "\\":
        if line[at + 1 : at + 2] != "\n":
            read.add(line[at + 1 : at + 2])
        return at + 2
    if sign == "'":
        return _quoted(read, line, at)
    if sign == '"':
        return _in_double_quotes(read, line, at + 1)
    if sign == "`" or line.startswith("$(", at):
        return _inner(read, line, at)
    if sign == "#" and read.word is None:
        end = line.find("\n", at)
        return len(line) if end < 0 else end
    if sign == "<" and (found := HEREDOC.match(line, at)):
        read.until.append(found[2])
        return found.end()
    if sign == "\n":
        read.end_command()
        return _after_texts(read, line, at + 1)
    if sign in ";|()" or (sign == "&" and line[at - 1 : at] != ">"):
        read.end_command()
    elif sign.isspace():
        read.end_word()
    elif sign in "<>" and read.word is not None and not read.word.isdigit():
        read.end_word()
        read.add(sign)
    else:
        read.add(sign)
    return at + 1


def _quoted(read: _Reading, line: str, at: int) -> int:
    end = line.find("'", at + 1)
    end = len(line) if end < 0 else end
    read.add(line[at + 1 : end])
    return end + 1


def _in_double_quotes(read: _Reading, line: str, at: int) -> int:
    read.add("")
    while at < len(line) and line[at] != '"':
        if line[at] == "\\":
            read.add(line[at + 1 : at + 2])
            at += 2
        elif line[at] == "`" or line.startswith("$(", at):
            at = _inner(read, line, at)
        else:
            read.add(line[at])
            at += 1
    return at + 1


def _inner(read: _Reading, line: str, at: int) -> int:
    """Read a command whose output the shell puts in its place."""
    if line[at] == "`":
        end = line.find("`", at + 1)
        end, start = len(line) if end < 0 else end, at + 1
    else:
        end, start = _closing(line, at + 2), at + 2
    read.inner.append(line[start:end])
    read.add(line[at : end + 1])
    return end + 1


def _closing(line: str, at: int) -> int:
    """Where the parenthesis closes that was opened before this place."""
    depth = 1
    for here in range(at, len(line)):
        depth += {"(": 1, ")": -1}.get(line[here], 0)
        if not depth:
            return here
    return len(line)


def _after_texts(read: _Reading, line: str, at: int) -> int:
    """Where the line goes on behind the texts that a command gets as its input."""
    while read.until and at < len(line):
        text, _, _ = line[at:].partition("\n")
        at += len(text) + 1
        if text.strip() == read.until[0]:
            read.until.pop(0)
    return at
