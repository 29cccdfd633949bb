"""The command line: parses, calls the tools, prints. Exit codes are those of the error tree.

Only the parser of the command that was asked for is built, and only what it needs is imported:
hooks and shells start this many times a day.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence

from commonplace.errors import CommonplaceError
from commonplace.hints import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from commonplace.dialects import Answer, Parameter, Tool
    from commonplace.memory import Memory

TOOL_COMMANDS = ("store", "search", "brief", "read", "update", "delete", "diary", "undo")
OTHER_COMMANDS = (
    "init",
    "status",
    "log",
    "history",
    "context",
    "heartbeat",
    "blame",
    "restore",
    "review",
    "rebuild",
    "why-not",
    "eval",
    "doctor",
    "upkeep",
    "forget",
    "scan",
    "strike",
    "unlink",
    "compact",
    "expand",
    "tool",
    "ipc",
    "mcp",
    "hook",
    "serve",
    "token",
    "setup",
    "unsetup",
    "selftest",
    "completion",
)
COMMANDS = (*TOOL_COMMANDS, *OTHER_COMMANDS)
FLAGS = {"within": "--in"}
"""Arguments whose short names are words of Python's own."""
HISTORY_WORDS = (
    *("record", "last", "search", "append", "sessions", "sql", "dump", "load", "forget"),
)
VALUED = ("--vault", "--dialect", "--session")
"""Global options that take a value, which may read like a command."""

Run = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader of our output has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _run(words: Sequence[str]) -> int:
    try:
        words = spelled_out(words)
        arguments = build_parser(words).parse_args(words)
        run: Run = arguments.run
        return run(arguments)
    except CommonplaceError as error:
        print(f"commonplace: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("commonplace: stopped", file=sys.stderr)
        return 130
    except SystemExit as end:
        # How argparse ends after help, and after a mistake that it has explained.
        return int(end.code or 0)


def build_parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser with the command that `words` name, or with all of them for help."""
    wanted = [command] if (command := _command_of(words)) else COMMANDS
    parser = argparse.ArgumentParser(
        prog="commonplace",
        description="Persistent memory for AI agents, kept as markdown.",
        epilog="'commonplace COMMAND --help' explains a command.",
        parents=[_global_options(with_defaults=True)],
        formatter_class=Page,
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


def _command_of(words: Sequence[str]) -> str:
    """The command among the words; empty when there is none, or help was asked for first."""
    return next((words[at] for at in _bare(words) if words[at] in COMMANDS), "")


def _bare(words: Sequence[str]) -> Iterator[int]:
    """Where the words stand that are no options, nor values of global ones."""
    is_value = False
    for at, word in enumerate(words):
        if not is_value and not word.startswith("-"):
            yield at
        is_value = not is_value and word in VALUED


def spelled_out(words: Sequence[str]) -> list[str]:
    """`history ID` as `history record ID`."""
    spelled, bare = list(words), list(_bare(words))
    if _command_of(words) == "history":
        rest = bare[[words[at] for at in bare].index("history") + 1 :]
        if rest and words[rest[0]] not in HISTORY_WORDS:
            spelled.insert(rest[0], "record")
    return spelled


class Page(argparse.HelpFormatter):
    """Help as wide as the terminal, found without shutil, which argparse would load for each."""

    def __init__(self, prog: str) -> None:
        try:
            width = os.get_terminal_size().columns - 2
        except OSError:
            columns = os.environ.get("COLUMNS", "")
            width = int(columns) - 2 if columns.isdecimal() else 78
        super().__init__(prog, width=max(width, 40))


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"commonplace {version('commonplace')}")
        parser.exit()


def _global_options(*, with_defaults: bool) -> argparse.ArgumentParser:
    """Options that may stand before or after the command."""
    options = argparse.ArgumentParser(add_help=False, formatter_class=Page, allow_abbrev=False)

    def add(name: str, default: Any, **rest: Any) -> None:
        options.add_argument(name, default=default if with_defaults else argparse.SUPPRESS, **rest)

    environ = os.environ
    add("--vault", environ.get("COMMONPLACE_VAULT", ""), metavar="PATH", help="the vault to use")
    add(
        "--dialect",
        environ.get("COMMONPLACE_DIALECT", ""),
        metavar="NAME",
        help="the dialect, when it is not to be detected",
    )
    add(
        "--session",
        environ.get("COMMONPLACE_SESSION", "") or environ.get("CLAUDE_CODE_SESSION_ID", ""),
        metavar="ID",
        help="the session that this belongs to",
    )
    add("--json", False, action="store_true", help="print JSON")
    return options


def _add_command(commands: Any, name: str) -> None:
    shared = _global_options(with_defaults=False)
    if name == "diary":
        from commonplace.doors.cli import diary

        diary.add(commands, shared)
    elif name in TOOL_COMMANDS:
        from commonplace import tools

        _add_tool(commands, tools.table("native")[name], shared)
    elif name in ("mcp", "hook"):
        from commonplace.doors.cli import hooking, serving

        {"mcp": serving, "hook": hooking}[name].add(commands, shared)
    elif name == "history":
        from commonplace.doors.cli import history

        history.add(commands, shared)
    elif name == "context":
        from commonplace.doors.cli import contexts

        contexts.add(commands, shared)
    elif name == "heartbeat":
        from commonplace.doors.cli import heartbeat

        heartbeat.add(commands, shared)
    else:
        from commonplace.doors.cli import commands as others

        others.add(commands, name, shared)


def _add_tool(commands: Any, tool: Tool, shared: argparse.ArgumentParser) -> None:
    first = tool.description.split("\n")[0]
    parser = commands.add_parser(
        tool.name,
        help=first,
        description=tool.description,
        parents=[shared],
        formatter_class=Page,
        allow_abbrev=False,
    )
    positional = any(parameter.required for parameter in tool.parameters)
    for number, parameter in enumerate(tool.parameters):
        optional_first = not positional and number == 0 and parameter.type == "string"
        _add_parameter(parser, parameter, bare=parameter.required or optional_first)
    parser.set_defaults(run=lambda arguments: _run_tool(tool, arguments))


def _add_parameter(parser: argparse.ArgumentParser, parameter: Parameter, *, bare: bool) -> None:
    about = parameter.about.description.replace("%", "%%")
    if bare:
        parser.add_argument(
            parameter.name,
            nargs=None if parameter.required else "?",
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
        how |= {"action": "append", "metavar": "WORD[,WORD]"}
    else:
        how["type"] = {"integer": int, "number": float}.get(parameter.type, str)
        how["choices"] = parameter.choices or None
    parser.add_argument(flag, **how)


def _run_tool(tool: Tool, arguments: argparse.Namespace) -> int:
    given = {
        parameter.name: _value(getattr(arguments, parameter.name), parameter)
        for parameter in tool.parameters
        if hasattr(arguments, parameter.name)
    }
    with open_memory(arguments) as memory:
        show(tool.call(memory, given), as_json=arguments.json)
    return 0


def _value(value: Any, parameter: Parameter) -> Any:
    if parameter.type == "array":
        return [word for part in value for word in part.split(",") if word]
    return sys.stdin.read() if value == "-" and parameter.type == "string" else value


def show(answer: Answer, *, as_json: bool) -> None:
    """Print an answer: its text, or its data as JSON."""
    print(json.dumps(answer.data, ensure_ascii=False, indent=2) if as_json else str(answer))


def open_memory(arguments: argparse.Namespace, *, for_tools: bool = False) -> Memory:
    """The vault that the options, the environment or the working directory name."""
    from commonplace.doors.opening import open_vault

    return open_vault(
        vault_path(arguments),
        dialect=arguments.dialect,
        session=arguments.session,
        for_tools=for_tools,
    )


def vault_path(arguments: argparse.Namespace) -> str:
    from commonplace.doors import opening

    return opening.vault_path(arguments.vault, arguments.dialect)


def tool_dialect(arguments: argparse.Namespace) -> str:
    """The dialect whose tools are meant: the one named, or the vault's own."""
    from commonplace import tools

    if arguments.dialect:
        return str(arguments.dialect)
    with open_memory(arguments) as memory:
        return tools.dialect_of(memory.layout.name)
