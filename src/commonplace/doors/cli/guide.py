"""`help`, and the page that `commonplace` alone shows: the commands in their groups."""

from __future__ import annotations

import argparse
from importlib import import_module

from commonplace.doors.cli.main import COMMANDS, EVERYDAY, GROUPS
from commonplace.doors.cli.terminal import paint
from commonplace.doors.cli.wrapping import below, columns, folded

INDENT, GAP = 2, 18
WIDEST = 100
FORMS = {
    "remember": "remember TEXT",
    "edit": "edit ID",
    "remove": "remove ID",
    "search": "search WORDS",
    "show": "show ID",
}
ABOUT = {
    "remember": "keep something in mind, for you and your agents",
    "edit": "change what a memory says, or when it is told",
    "remove": "take a memory out; undo brings it back",
    "undo": "take back the last change",
    "search": "find memories by words or meaning",
    "list": "the newest memories",
    "show": "one memory: where it came from and stands",
    "today": "what was remembered today",
    "status": "what the vault holds and how it is",
    "serve": "serve the page, with a link to it",
    "store": "the same as remember",
    "strike": "the same as remove",
}
"""What commands do, in a few words; the others say it in the first sentence of their help."""


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="?", default="", help="the command to explain")
    parser.add_argument("--all", action="store_true", help="every command, by its purpose")


def explain(arguments: argparse.Namespace) -> int:
    """Show the commands of every day, all of them with --all, or one command's help."""
    if arguments.command:
        from commonplace.doors.cli.parser import build_parser

        build_parser([arguments.command]).parse_args([arguments.command, "--help"])
    print(_groups(GROUPS) if arguments.all else front_page())
    return 0


def front_page() -> str:
    """What `commonplace` alone shows."""
    ids = "An ID is a number of the last list, 'last', or the short id beside a memory."
    more = (
        f"'commonplace COMMAND --help' explains a command, 'commonplace help --all' lists all "
        f"{len(COMMANDS)}. New here? 'commonplace demo' shows it in a minute."
    )
    title = "Persistent memory for AI agents, kept as markdown."
    return "\n".join([*folded(title, _width()), "", _groups(EVERYDAY), "", *_lines(ids, more)])


def _lines(*sentences: str) -> list[str]:
    return [line for each in sentences for line in folded(each, _width())]


def _width() -> int:
    return min(columns(), WIDEST)


def _groups(groups: dict[str, dict[str, str]]) -> str:
    blocks = []
    for title, commands in groups.items():
        rows = [
            line
            for name in commands
            for line in below(
                FORMS.get(name, name), _about(name), indent=INDENT, gap=GAP, width=_width()
            )
        ]
        blocks.append("\n".join([paint(title, "bold"), *rows]))
    return "\n\n".join(blocks)


def _about(name: str) -> str:
    if name in ABOUT:
        return ABOUT[name]
    module, _, function = COMMANDS[name].partition(".")
    if module == "tools":
        from commonplace.doors.cli.parser import TO_PEOPLE

        said = TO_PEOPLE[function][""]
    else:
        said = getattr(import_module(f"commonplace.doors.cli.{module}"), function).__doc__ or ""
    first = said.replace("\n", " ").partition(". ")[0].rstrip(".")
    return first[:1].lower() + first[1:]
