"""The command line: the table of commands, running one, and printing its answer.

Exit codes are those of the errors. Shells start this many times a day, so a command imports only
what it needs.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import TextIOWrapper
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TextIO

from commonplace.model.errors import BadInput, CommonplaceError, Conflict, VaultTrouble

if TYPE_CHECKING:
    from argparse import Namespace

    from commonplace.memory import Memory
    from commonplace.tools.tool import Answer, Parameter, Tool

EVERYDAY = {
    "Remember": {
        "remember": "tools.store",
        "edit": "everyday.edit",
        "remove": "upkeep.strike",
        "undo": "tools.undo",
    },
    "Find": {
        "search": "tools.search",
        "list": "everyday.list_memories",
        "show": "records.show_record",
        "today": "everyday.today",
    },
    "The vault": {"status": "status.status", "serve": "serve.serve"},
}
"""The commands of every day in their groups: the page that `commonplace` alone shows."""
OTHERS = {
    "Memories": {
        "store": "tools.store",
        "recent": "everyday.recent",
        "tags": "everyday.tags",
        "brief": "tools.brief",
        "diary": "diary.diary",
        "rules": "rules.rules",
        "export": "everyday.export",
        "why-not": "search.why_not",
        "pin": "verdicts.pin",
        "unpin": "verdicts.unpin",
        "useful": "verdicts.useful",
        "wrong": "verdicts.wrong",
        "cite": "cite.cite",
        "review": "trust.review",
    },
    "Documents": {
        "read": "tools.read",
        "update": "tools.update",
        "blame": "records.blame",
        "conflicts": "records.conflicts",
    },
    "The past": {
        "redo": "records.redo",
        "log": "records.log",
        "restore": "records.restore",
        "put-back": "records.put_back",
        "history": "history.history",
    },
    "Upkeep": {
        "scan": "upkeep.scan",
        "tidy": "upkeep.tidy",
        "suggest": "upkeep.suggest",
        "compact": "upkeep.compact",
        "expand": "upkeep.expand",
        "unlink": "upkeep.unlink",
        "strike": "upkeep.strike",
        "upkeep": "upkeep.upkeep",
        "delete": "upkeep.delete",
        "forget": "upkeep.forget",
    },
    "Set-up": {
        "init": "init.init",
        "demo": "demo.demo",
        "setup": "setup.setup",
        "unsetup": "setup.unsetup",
        "doctor": "vault.doctor",
        "backup": "backup.backup",
        "restore-backup": "backup.restore_backup",
        "migrate": "vault.migrate",
        "upgrade": "vault.upgrade",
        "tenants": "tenants.tenants",
        "rebuild": "vault.rebuild",
        "trust": "trust.trust_vault",
        "token": "serve.token",
        "fetch": "search.fetch",
        "completion": "vault.completion",
        "help": "guide.explain",
    },
    "Agents": {
        "context": "context.context",
        "session": "trust.session",
        "told": "told.told",
        "pause": "pause.pause",
        "resume": "pause.resume",
        "conversation": "agents.conversation",
        "heartbeat": "agents.heartbeat",
    },
    "Measuring": {"eval": "measure.evaluate", "selftest": "vault.selftest"},
    "For programs": {
        "mcp": "serve.mcp",
        "hook": "serve.hook",
        "tool": "records.tool",
        "ipc": "records.ipc",
    },
}
"""The others, by their purpose; last those that no person types."""
GROUPS = {**EVERYDAY, **OTHERS}
COMMANDS = {name: where for group in GROUPS.values() for name, where in group.items()}
"""The module and function of each command.

The function's docstring is the help text; `FUNCTION_arguments` beside it adds the arguments. A
function of `tools` is the native tool of that name.
"""
HISTORY_WORDS = (
    *("record", "last", "search", "append", "sessions", "sql", "reader", "dump", "load", "forget"),
)
VALUED = ("--vault", "--dialect", "--session", "--group")
"""Global options that take a value, which may read like a command."""

FOR_EYES = ("search", "store", "undo", "brief")
"""Tools whose answers have a form of their own at a terminal."""
WHOLE = ("when", "evidence")
"""Lists whose texts may have commas in them."""
UNHEARD = ("hook", "mcp", "serve", "tool", "ipc")
"""Commands whose standard error no person reads."""

IN_A_PAUSE = (
    *("pause", "resume", "status", "doctor", "session", "conversation", "heartbeat", "upkeep"),
    *("backup", "migrate", "rebuild", "serve", "mcp", "tenants"),
)
"""Commands that neither tell nor record what a pause keeps back, or say themselves that it is on.
"""

VECTOR_SECONDS = 60.0
"""How long a search may make vectors: those of 6,000 passages take about 5 seconds."""

Run = Callable[["Namespace"], int]
MOST_TOLD = 5
_opened: list[Memory] = []
"""What the command has opened."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:
        sys.stderr = _sink()  # Without one, print would take standard output.
    if sys.stdout is None:
        sys.stdout = _sink()
        what = "Standard output is closed, so nothing was done."
        return _told(VaultTrouble(what, next_step="Send it to a file, or to /dev/null."))
    write_letters(errors="replace")
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        code = 0  # The reader of our output has seen enough.
    except OSError as error:
        code = _told(_unwritten(error) if _was_printing(error) else _failed(error))
    # What is left of the answer would be written again at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _was_printing(error: OSError) -> bool:
    """Whether it is standard output that takes nothing more: only here answers are written."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    return last is not None and last.tb_frame.f_globals["__name__"].startswith(f"{__package__}.")


def _failed(error: OSError) -> CommonplaceError:
    from commonplace.storage.safe_paths import trouble

    return trouble(error, "a file of the vault, or of this machine's")


def _unwritten(error: OSError) -> VaultTrouble:
    return VaultTrouble(
        f"The answer could not be written: {error.strerror}.",
        next_step="Send it elsewhere; 'commonplace log' tells what was done.",
    )


def _sink() -> TextIOWrapper:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def write_letters(*, encoding: str | None = None, errors: str | None = None) -> None:
    """Set the encoding of standard output, or what to do with letters that it lacks."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding=encoding, errors=errors)


def _told(error: CommonplaceError) -> int:
    complain([str(error)])
    return error.exit_code


def _run(words: Sequence[str]) -> int:
    try:
        if arguments := at_a_glance(words):
            return _telling(arguments, _run_native(arguments))
        if not words:
            from commonplace.doors.cli.guide import front_page

            print(front_page())
            return 0
        code, arguments = _parsed_and_run(words)
        return code if command_of(words) in UNHEARD else _telling(arguments, code)
    except CommonplaceError as error:
        return _told(error)
    except OSError as error:
        if error.filename is None:
            raise  # A stream's.
        step = "See to its permissions and its disk, then try again."
        return _told(VaultTrouble(f"{error.filename}: {error.strerror}.", next_step=step))
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # Below the ^C that the terminal shows.
        complain(["stopped"])
        return 130
    except SystemExit as end:
        # How argparse ends after help, and after a mistake that it has explained.
        return int(end.code or 0)


def _parsed_and_run(words: Sequence[str], *, origin: str = "") -> tuple[int, Namespace]:
    from commonplace.doors.cli.parser import build_parser

    words = spelled_out(words)
    arguments = build_parser(words).parse_args(words)
    arguments.origin, arguments.called = origin, command_of(words)
    run: Run = arguments.run
    return run(arguments), arguments


def run_words(words: Sequence[str], *, origin: str) -> int:
    """Run a command inside another, as this origin. Errors are the caller's. Returns its code."""
    return _parsed_and_run(words, origin=origin)[0]


def _telling(arguments: Namespace, code: int) -> int:
    """Print notices of edits by others that were never told. Returns the exit code."""
    opened, _opened[:] = list(_opened), []
    complain({said for memory in opened for said in _said_of_place(memory)})
    if any(memory.may_have_news() for memory in opened):
        with open_memory(arguments) as memory:
            untold = memory.tell_notices()
            complain(notice.sentence for notice in untold[:MOST_TOLD])
            if len(untold) > MOST_TOLD:
                complain([f"{len(untold) - MOST_TOLD} more such: commonplace doctor lists them."])
    return code


def _said_of_place(memory: Memory) -> Iterator[str]:
    """What a person must know about a vault's state directory and its options."""
    if memory.parts.apart:
        yield memory.parts.apart
    if memory.parts.unread:
        from commonplace.storage.option_files import MEND_UNREAD

        yield from (f"{each} {MEND_UNREAD}" for each in memory.parts.unread)


def at_a_glance(words: Sequence[str]) -> Any:
    """What `search WORDS` and `brief` mean; None where it takes a parser to tell.

    Loading argparse and building a parser takes half as long as the search.
    """
    found, bare, rest = SimpleNamespace(**defaults()), list[str](), iter(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if name in VALUED:
            value = value if equals else next(rest, "-")
        if name in VALUED and (equals or not value.startswith("-")):
            setattr(found, name.removeprefix("--"), value)
        elif word == "--json":
            found.json = True
        elif word.startswith("-"):
            return None
        else:
            bare.append(word)
    found.command, *said = bare or [""]
    if found.command == "search" and said:
        found.query = said
        return found
    return found if bare == ["brief"] else None


def defaults() -> dict[str, Any]:
    """The global options where nothing is said of them."""
    environ = os.environ
    return {
        "vault": environ.get("COMMONPLACE_VAULT", ""),
        "dialect": environ.get("COMMONPLACE_DIALECT", ""),
        "session": environ.get("COMMONPLACE_SESSION", "")
        or environ.get("CLAUDE_CODE_SESSION_ID", ""),
        "group": environ.get("COMMONPLACE_GROUP", ""),
        "json": False,
        "main": False,
        "tainted": False,
    }


def command_of(words: Sequence[str]) -> str:
    """The command among the words; empty when there is none, or help was asked for first."""
    return next((word for word in bare_words(words) if word in COMMANDS), "")


def bare_words(words: Sequence[str]) -> Iterator[str]:
    """The words that are no options, nor values of global ones."""
    return (words[at] for at in _bare(words))


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
    if command_of(words) == "history":
        rest = bare[[words[at] for at in bare].index("history") + 1 :]
        if rest and words[rest[0]] not in HISTORY_WORDS:
            spelled.insert(rest[0], "record")
    return spelled


def _run_native(arguments: Namespace) -> int:
    from commonplace import tools

    return run_tool(tools.table("native")[arguments.command], arguments)


def run_tool(tool: Tool, arguments: Namespace) -> int:
    given = {
        parameter.name: _value(getattr(arguments, parameter.name), parameter)
        for parameter in tool.parameters
        if hasattr(arguments, parameter.name)
    }
    with open_memory(arguments) as memory:
        wait_for_vectors(memory)
        if getattr(arguments, "must", False):
            from commonplace.doors.cli.rules import stored_to_deny

            answer = stored_to_deny(memory, tool, given)
        else:
            answer = tool.call(memory, given)
        if tool.name in FOR_EYES and is_for_eyes(arguments):
            from commonplace.doors.cli import everyday

            answer = everyday.seen(memory, tool.name, answer)
        show(answer, as_json=arguments.json)
        if tool.name == "brief":
            complain(memory.library.troubles.values())
    return 0


def wait_for_vectors(memory: Memory) -> None:
    """Let a search make the vectors that are missing: nobody makes them after a command."""
    bars: list[Callable[[int, int], None]] = []

    def progress(done: int, total: int) -> None:
        from commonplace.doors.cli.terminal import progress_bar

        if not bars:
            bars.append(progress_bar("Vectors"))
        bars[0](done, total)

    memory.library.engine.embedder.patience = VECTOR_SECONDS
    memory.library.engine.embedder.progress = progress


def complain(troubles: Iterable[str]) -> None:
    """Print troubles on standard error."""
    for trouble in troubles:
        print(_within_terminal(f"commonplace: {trouble}"), file=sys.stderr)


def _within_terminal(text: str) -> str:
    """The text broken between words where a terminal would break it anywhere."""
    if not sys.stderr.isatty():
        return text
    from commonplace.doors.cli.wrapping import columns, folded

    width = columns(sys.stderr.fileno())
    return "\n".join(part for line in text.split("\n") for part in folded(line, width))


def _value(value: Any, parameter: Parameter) -> Any:
    if parameter.type == "array":
        if parameter.name in WHOLE:
            return list(value)
        return [word for part in value for word in part.split(",") if word]
    value = " ".join(value) if isinstance(value, list) else value
    return said(value) if parameter.type == "string" else value


def said(value: str) -> str:
    """The value; for '-' what standard input says, without the newline that a line ends with."""
    if value != "-":
        return value
    try:
        return standard_input().read().removesuffix("\n")
    except UnicodeDecodeError:
        raise BadInput(
            "What standard input says is no UTF-8.", next_step="Convert it, as with iconv."
        ) from None


def standard_input() -> TextIO:
    """Standard input, which a shell may have closed."""
    if sys.stdin is None:
        raise VaultTrouble(
            "Standard input is closed, and '-' reads it.",
            next_step="Pipe the text into the command, or write it in place of '-'.",
        )
    return sys.stdin


def show(answer: Answer, *, as_json: bool) -> None:
    """Print an answer: its text, or its data as JSON."""
    print(json_text(answer.data) if as_json else str(answer))


def is_for_eyes(arguments: Namespace) -> bool:
    """Whether a person reads the answer as it is printed."""
    return not arguments.json and sys.stdout.isatty()


def json_text(data: Any) -> str:
    """Data as JSON that keeps every letter, also where standard output has not all of them."""
    has_all = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    return json.dumps(data, ensure_ascii=not has_all, indent=2)


def unconfirmed(*, again: str = "--confirm") -> int:
    """Say that what was shown is still there. Returns the exit code of that."""
    return _told(Conflict("Nothing was erased.", next_step=f"Repeat with {again} to erase this."))


def open_memory(arguments: Namespace, *, for_tools: bool = False) -> Memory:
    """The vault that the options, the environment or the working directory name."""
    from commonplace.doors import caller
    from commonplace.doors.which_vault import open_vault

    memory = open_vault(
        vault_path(arguments),
        dialect=arguments.dialect,
        session=arguments.session,
        origin=getattr(arguments, "origin", ""),
        group=arguments.group,
        for_tools=for_tools,
        main=arguments.main or arguments.session == os.environ.get("CLAUDE_CODE_SESSION_ID"),
    )
    _opened.append(memory)
    caller.heed(memory)
    if arguments.tainted:
        memory.origin = "agent"
        caller.mark_tainted(memory, "")
    _mind_pause(memory, getattr(arguments, "called", ""))
    return memory


def _mind_pause(memory: Memory, command: str) -> None:
    """While memory is paused the person is told so, and agents' commands are refused."""
    if command in IN_A_PAUSE or not (found := memory.paused()):
        return
    memory.check_recording()
    from commonplace.memory.pausing import sentence

    complain([sentence(found, memory.clock)])


def vault_path(arguments: Namespace) -> str:
    from commonplace.doors import which_vault

    return which_vault.vault_path(arguments.vault, arguments.dialect)


def tool_dialect(arguments: Namespace) -> str:
    """The dialect whose tools are meant: the one named, or the vault's own."""
    from commonplace import tools

    if arguments.dialect:
        return str(arguments.dialect)
    with open_memory(arguments) as memory:
        return tools.dialect_of(memory.layout.name)
