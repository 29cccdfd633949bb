"""The parsers of the commands, with their help.

Only the parser of the command that was asked for is built, and only its module is imported.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from commonplace import __version__
from commonplace.doors.cli.main import (
    COMMANDS,
    Run,
    bare_words,
    command_of,
    complain,
    defaults,
    run_tool,
)
from commonplace.model.errors import BadInput

if TYPE_CHECKING:
    from commonplace.tools.tool import Parameter

TO_PEOPLE = {
    "store": {
        "": "Keep something in mind, for you and your agents. 'commonplace undo' takes it back.",
        "text": "What to keep: a sentence that makes sense by itself.",
        "kind": "A word for what it is: preference, fact, instruction, context, correction, note, "
        "learned, or your own. Without it: note.",
        "tags": "Words to find it by, at most 10.",
        "supersedes": "The id of the memory that it takes the place of.",
        "username": "Whom it is about.",
        "quote": "The words that it rests on, as they were said.",
        "useful": "Ids of memories that helped.",
        "wrong": "Ids of memories that are wrong.",
        "evidence": "A file or document that it rests on, such as src/app.py:12-30 or USER.md:4; "
        "repeatable. When it changes, the memory says so.",
        "valid_from": "The day from which it holds, such as 2026-12-01 or tomorrow.",
        "valid_to": "The last day on which it holds, such as 2w, '3 months', tomorrow or "
        "2026-12-01. After it agents are not told it, and a search leaves it out.",
        "when": "A moment at which it is told, instead of always: 'Bash(git push*)', "
        "'Edit(src/**/*.sql)', 'path:migrations/', 'words: deploy, release', or a tool's name. "
        "Repeatable.",
    },
    "search": {
        "": "Find memories, documents and diary entries by words or by meaning, the best first.",
        "explain": "Show how much each reason counted.",
        "as_of": "What held on this day, though it was replaced or is over since.",
        "since": "What was stored on this day or later: 2026-03-01, March, last week.",
        "until": "What was stored on this day or earlier.",
        "within": "Where to look: in memory, in past conversations (history), or in both (all).",
        "all_about": "Show all memories about it under their kinds, with how many there are.",
        "limit": "The most results: 20, with --all-about 100.",
    },
    "undo": {
        "": "Take back the last change that was made through Commonplace, by you or by an agent; "
        "again for the one before it. An edit in your editor is taken back by its number only. "
        "'commonplace redo' makes the change again.",
        "change": "The number of the change to take back, as 'commonplace log' shows it.",
    },
    "brief": {
        "": "Show what is known, in the order in which agents are told it. 'commonplace context' "
        "prints the exact text that a session gets."
    },
    "read": {
        "": "Show a document with its etag, or list the documents.",
        "document": "Such as USER.md; without it the documents are listed.",
    },
    "update": {
        "": "Change a document. A rewrite that would drop much is refused, with a token to "
        "confirm it.",
        "content": "The markdown.",
    },
}
"""What people are told of commands that are tools, and of their arguments where it differs.

A tool's own description speaks to a model.
"""
AddArguments = Callable[[argparse.ArgumentParser], None]
GUESSES = {
    **dict.fromkeys(("add", "save", "note", "new", "write", "learn", "put", "insert"), "remember"),
    **dict.fromkeys(("find", "grep", "query", "ask", "look", "recall"), "search"),
    **dict.fromkeys(("ls", "all", "memories", "dir"), "list"),
    **dict.fromkeys(("cat", "get", "view", "open", "info", "print"), "show"),
    **dict.fromkeys(("change", "correct", "modify", "fix", "reword", "replace"), "edit"),
    **dict.fromkeys(("rm", "del", "drop", "unremember"), "remove"),
    **dict.fromkeys(("revert", "back", "rollback", "unremove"), "undo"),
    **dict.fromkeys(("erase", "purge", "wipe", "destroy"), "forget"),
    **dict.fromkeys(("stats", "stat", "state", "health", "count"), "status"),
    **dict.fromkeys(("web", "ui", "page", "gui", "browser", "start", "run", "dashboard"), "serve"),
    **dict.fromkeys(("changes", "activity", "journal", "versions"), "log"),
    **dict.fromkeys(("now", "day", "daily"), "today"),
    **dict.fromkeys(("create", "vault"), "init"),
    **dict.fromkeys(("connect", "install", "integrate", "client"), "setup"),
    **dict.fromkeys(("disconnect", "uninstall"), "unsetup"),
    **dict.fromkeys(("check", "verify", "diagnose"), "doctor"),
    **dict.fromkeys(("dump", "save-as"), "export"),
    **dict.fromkeys(("archive", "snapshot", "save-vault"), "backup"),
    **dict.fromkeys(("import", "copy", "move"), "migrate"),
    **dict.fromkeys(("tenant", "profiles", "profile"), "tenants"),
    **dict.fromkeys(("approve", "reject", "pending", "waiting", "inbox"), "review"),
    **dict.fromkeys(("tidy", "clean", "gc"), "scan"),
    **dict.fromkeys(("suggestions", "patterns", "repeated"), "suggest"),
    **dict.fromkeys(("tag", "labels"), "tags"),
    **dict.fromkeys(("star", "favorite", "favourite", "keep"), "pin"),
    **dict.fromkeys(("helped", "good", "upvote"), "useful"),
    **dict.fromkeys(("untrue", "bad", "downvote", "outdated"), "wrong"),
    **dict.fromkeys(("commands", "man", "usage"), "help"),
    **dict.fromkeys(("prompt", "inject"), "context"),
    **dict.fromkeys(("citation", "citations", "evidence", "source"), "cite"),
    **dict.fromkeys(("incognito", "private", "off"), "pause"),
    **dict.fromkeys(("unpause", "continue", "on"), "resume"),
    **dict.fromkeys(("costs", "ledger", "injected"), "told"),
}
"""What other programs call these commands."""
MUST = "Deny the first such call of each session, with this as the reason. Only you can."
METAVARS = {"evidence": "FILE[:LINES]", "when": "MOMENT"}
IN_WORDS = ("text", "query")
"""Arguments that are a sentence."""
FLAGS = {"within": "--in", "valid_from": "--from", "valid_to": "--until"}
"""Arguments whose short names are words of Python's own, or mean something else in a search."""


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser with the command that `words` name, or with all of them for help."""
    _check_known(next(bare_words(words), ""))
    command = command_of(words)
    wanted = [command] if command else COMMANDS
    parser = Parser(
        prog="commonplace",
        description="Persistent memory for AI agents, kept as markdown.",
        epilog="'commonplace help' shows the commands of every day, 'help --all' all by purpose.",
        parents=[_global_options(with_defaults=True)],
        formatter_class=HelpPage,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    # With its name given, argparse need not format a usage line to find it.
    commands = parser.add_subparsers(
        metavar="COMMAND", required=True, title="commands", prog="commonplace"
    )
    for name in wanted:
        _add_command(commands, name)
    return parser


def _check_known(said: str) -> None:
    """Fail for a command that there is none of, with the one that was probably meant."""
    if not said or said in COMMANDS:
        return
    from difflib import get_close_matches

    near = GUESSES.get(said) or next(iter(get_close_matches(said, [*COMMANDS, *GUESSES], n=1)), "")
    meant = GUESSES.get(near, near)
    step = f"Did you mean 'commonplace {meant}'?" if meant else "See 'commonplace help --all'."
    raise BadInput(f"There is no command {said!r}.", next_step=step)


class Parser(argparse.ArgumentParser):
    """A parser that says the next step where words are missing or too many."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        missing = message.removeprefix("the following arguments are required: ")
        said = message if missing == message else f"{missing}: it is missing"
        complain([f"{said}. '{self.prog} --help' explains it."])
        self.exit(2)


EVERYWHERE = (*defaults(),)
"""The options of every command."""


class HelpPage(argparse.HelpFormatter):
    """Help as wide as the terminal, found without shutil, which argparse would load for each."""

    def __init__(self, prog: str) -> None:
        try:
            width = os.get_terminal_size().columns - 2
        except OSError:
            columns = os.environ.get("COLUMNS", "")
            width = int(columns) - 2 if columns.isdecimal() else 78
        super().__init__(prog, width=max(width, 40))

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """The usage without the options of every command, which have a list of their own."""
        own = [action for action in actions if action.dest not in EVERYWHERE]
        super().add_usage(usage, own, groups, prefix)


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(f"commonplace {__version__}")
        parser.exit()


def _global_options(*, with_defaults: bool) -> argparse.ArgumentParser:
    """Options that may stand before or after the command."""
    options = argparse.ArgumentParser(add_help=False, formatter_class=HelpPage, allow_abbrev=False)
    group = options.add_argument_group("options of every command")
    values = defaults()

    def add(name: str, **rest: Any) -> None:
        default = values[name] if with_defaults else argparse.SUPPRESS
        group.add_argument(f"--{name}", default=default, **rest)

    add("vault", metavar="PATH|URL", help="the vault: a directory, or postgresql://…")
    add("dialect", metavar="NAME", help="the dialect, when it is not to be detected")
    add("session", metavar="ID", help="the session that this belongs to")
    add("main", action="store_true", help="the session is claw's main one, whatever its id")
    add("group", metavar="NAME", help="the group, such as a chat, that memories are recorded with")
    add("tainted", action="store_true", help="what is written may come from untrusted text")
    add("json", action="store_true", help="print JSON")
    return options


def _add_command(commands: Any, name: str) -> None:
    module, _, function = COMMANDS[name].partition(".")
    if module == "tools":
        _add_tool(commands, name, function)
        return
    found = import_module(f"commonplace.doors.cli.{module}")
    run = getattr(found, function)
    add(commands, name, run, getattr(found, f"{function}_arguments", None)).set_defaults(run=run)


def add(
    commands: Any, name: str, run: Run, add_arguments: AddArguments | None
) -> argparse.ArgumentParser:
    """Add the parser of a command, or of a word of one. Its help is the docstring of `run`."""
    first, *more = (run.__doc__ or "").split("\n\n")
    parser = _added(commands, name, first, " ".join(" ".join([first, *more]).split()))
    if add_arguments:
        add_arguments(parser)
    return parser


def _added(commands: Any, name: str, about: str, description: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=about,
        description=description,
        parents=[_global_options(with_defaults=False)],
        formatter_class=HelpPage,
        allow_abbrev=False,
    )
    return parser


def _add_tool(commands: Any, name: str, tool_name: str) -> None:
    from commonplace import tools

    tool, said = tools.table("native")[tool_name], TO_PEOPLE[tool_name]
    parser = _added(commands, name, said[""].split("\n")[0], said[""])
    positional = any(parameter.required for parameter in tool.parameters)
    for number, parameter in enumerate(tool.parameters):
        optional_first = not positional and number == 0 and parameter.type == "string"
        about = said.get(parameter.name, parameter.about.description)
        _add_parameter(parser, parameter, about, bare=parameter.required or optional_first)
    if tool_name == "store":
        parser.add_argument("--must", action="store_true", help=MUST)
    parser.set_defaults(run=lambda arguments: run_tool(tool, arguments))


def _how_many(parameter: Parameter) -> str | None:
    """How many words a positional argument takes: a text may be typed without quotes."""
    if parameter.name in IN_WORDS:
        return "+" if parameter.required else "*"
    return None if parameter.required else "?"


def _add_parameter(
    parser: argparse.ArgumentParser, parameter: Parameter, about: str, *, bare: bool
) -> None:
    about = about.replace("%", "%%")
    if bare:
        parser.add_argument(
            parameter.name,
            nargs=_how_many(parameter),
            default=argparse.SUPPRESS,
            help=about
            + (" '-' reads it from standard input." if parameter.type == "string" else ""),
        )
        return
    flag = FLAGS.get(parameter.name) or "--" + parameter.name.replace("_", "-")
    how: dict[str, Any] = {"dest": parameter.name, "default": argparse.SUPPRESS, "help": about}
    if parameter.type == "boolean":
        how["action"] = "store_true"
    elif parameter.type == "array":
        how |= {"action": "append", "metavar": METAVARS.get(parameter.name, "WORD[,WORD]")}
    else:
        how["type"] = {"integer": int, "number": float}.get(parameter.type, str)
        how["choices"] = parameter.choices or None
    parser.add_argument(flag, **how)
