"""The commands that are not tools: making, looking after and looking back into a vault.

Each is a parser and a few lines that call the core and print.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.cli.compaction import COMMANDS as COMPACTION
from commonplace.doors.cli.conflicts import COMMANDS as CONFLICTS
from commonplace.doors.cli.fetching import COMMANDS as FETCHING
from commonplace.doors.cli.gateway import serve, serve_arguments, token, token_arguments
from commonplace.doors.cli.main import (
    open_memory,
    run_tool,
    said,
    show,
    tool_dialect,
    vault_path,
    wait_for_vectors,
)
from commonplace.doors.cli.moving import COMMANDS as MOVING
from commonplace.doors.cli.parser import Page
from commonplace.doors.cli.returning import COMMANDS as RETURNING
from commonplace.doors.cli.review import COMMANDS as REVIEWING
from commonplace.doors.cli.terminal import agrees, at_terminal, paint, progress_bar
from commonplace.doors.cli.trust import COMMANDS as TRUSTING
from commonplace.doors.cli.trust import trust_what_was_made
from commonplace.doors.cli.upkeep import COMMANDS as UPKEEP
from commonplace.doors.persons import require_person
from commonplace.doors.which_vault import HOME
from commonplace.model.errors import BadOption, BadValue, CommonplaceError, NotFound, Refused
from commonplace.model.options import Options, is_url
from commonplace.model.records import Origin
from commonplace.storage.journal import Entry
from commonplace.storage.option_files import options_of
from commonplace.tools.tool import Answer
from commonplace.trust.safety import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.doors.admin.doctor import Finding
    from commonplace.doors.admin.init import Beginning
    from commonplace.library.undo import Restored

Subparsers = Any
Run = Callable[[argparse.Namespace], int]


def add(commands: Subparsers, name: str, shared: argparse.ArgumentParser) -> None:
    """Add the parser of one command."""
    run = RUNS[name]
    about = (run.__doc__ or "").split("\n\n")
    parser = commands.add_parser(
        name,
        help=about[0],
        description=" ".join(" ".join(about).split()),
        parents=[shared],
        formatter_class=Page,
        allow_abbrev=False,
    )
    if name in ARGUMENTS:
        ARGUMENTS[name](parser)
    parser.set_defaults(run=run)


def _init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", help=f"where; else --vault, or {HOME}")
    parser.add_argument("--yes", action="store_true", help="ask nothing")


def init(arguments: argparse.Namespace) -> int:
    """Make a vault, or complete the one that is there. Nothing is overwritten."""
    from commonplace.doors.admin.init import begin, begin_at

    named = arguments.path or arguments.vault or HOME
    if is_url(named):
        done = begin_at(named, dialect=arguments.dialect)
    elif _may_become_one(path := Path(named).expanduser(), sure=arguments.yes):
        done = begin(path, dialect=arguments.dialect or _detected(path))
        trust_what_was_made(done.shown)
    else:
        return 2
    made = ", ".join(done.created) or "nothing was missing"
    show(
        Answer(
            {"vault": done.shown, "dialect": done.layout.name, "created": done.created},
            f"Vault {done.shown} ({done.layout.name}): {made}." + _yours_to_write(done),
        ),
        as_json=arguments.json,
    )
    return 0


def _yours_to_write(done: Beginning) -> str:
    owned = {done.layout.soul: "who the agent is", done.layout.user: "who you are"}
    empty = [f"{name} ({what})" for name, what in owned.items() if name in done.created]
    return f"\nYours to write: {', '.join(empty)}." if empty else ""


def _may_become_one(path: Path, *, sure: bool) -> bool:
    """Whether a directory is a vault or empty, or the person agrees that it becomes one."""
    others = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    return sure or not others or _is_vault(path) or _agrees(path, len(others))


def _is_vault(path: Path) -> bool:
    return (path / ".commonplace").is_dir() or (path / "commonplace.toml").is_file()


def _detected(path: Path) -> str:
    """The dialect of what is there already; empty where nothing tells."""
    from commonplace.opening import dialect_of, find_root

    if not path.is_dir():
        return ""
    root = find_root(path)
    return options_of(root).dialect or dialect_of(root)


def _agrees(path: Path, count: int) -> bool:
    said = f"{path} holds {count} entries already, and its markdown would become memory"
    if not at_terminal():
        raise BadValue("path", said, next_step="Repeat with --yes, or name another.")
    return agrees(f"{said}. Go on?")


def _status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--options", action="store_true", help="list every option as well")


def status(arguments: argparse.Namespace) -> int:
    """What the vault holds and how it is."""
    try:
        with open_memory(arguments) as memory:
            data = memory.status()
            if arguments.options:
                data["options"] = memory.options_described()
    except BadOption as error:
        if not arguments.options:
            raise
        # Whoever has a bad option looks here for what it should be.
        data = {"trouble": error.what, "options": Options().described()}
    lines = [f"{name:>12}  {_plain(value)}" for name, value in data.items() if name != "options"]
    for option in data.get("options", ()):
        about = paint(f"# {option['description']}", "dim")
        lines.append(f"{option['name']} = {json.dumps(option['value'])}  {about}")
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _redo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--change", type=int, default=-1, help="the undo, or what it took back; else the last"
    )


def redo(arguments: argparse.Namespace) -> int:
    """Take back the last undo, of this session if it has one; again for the one before it.

    What was changed since the undo stays.
    """
    from commonplace import tools

    arguments.redo = True
    return run_tool(tools.table("native")["undo"], arguments)


def _log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=int, default=20, help="most changes (default 20)")


def log(arguments: argparse.Namespace) -> int:
    """The last changes, newest first, each with the number that undo takes."""
    with open_memory(arguments) as memory:
        memory.library.refresh()
        entries = memory.log(limit=arguments.limit)
    return show_entries(entries, arguments)


def show_entries(entries: list[Entry], arguments: argparse.Namespace) -> int:
    """Print changes, each with its number, when, what, who and where."""
    lines = [
        f"{entry.position:>8}  {entry.at}  {paint(f'{_deed(entry):<8}', 'cyan')}  {_who(entry)}  "
        f"{one_line(', '.join(entry.documents()))}  {one_line(' '.join(entry.ids[:3]))}"
        for entry in entries
    ]
    data = [_described(entry) for entry in entries]
    show(Answer(data, "\n".join(lines) or "Nothing yet."), as_json=arguments.json)
    return 0


def _deed(entry: Entry) -> str:
    """What was done; of an undo or a redo, to which change."""
    return entry.op if entry.undoes < 0 else f"{entry.op} of {entry.undoes}"


def _who(entry: Entry) -> str:
    session = one_line(entry.session)
    return (entry.origin or "unknown") + (f" ({session})" if session else "")


def _described(entry: Entry) -> dict[str, Any]:
    return {
        "change": entry.position,
        "at": entry.at,
        "op": entry.op,
        "origin": entry.origin,
        "session": entry.session,
        "documents": entry.documents(),
        "ids": entry.ids,
        "removed": entry.removed,
        "lines": entry.lines,
        "undoes": None if entry.undoes < 0 else entry.undoes,
    }


def _blame_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", help="such as MEMORY.md")


def blame(arguments: argparse.Namespace) -> int:
    """Each line of a document with when and by whom it was brought."""
    with open_memory(arguments) as memory:
        found = memory.blame(arguments.document)
    data = [
        {
            "line": line.line,
            "text": _without_end(line.text),
            "at": line.entry.at if line.entry else None,
            "origin": line.entry.origin if line.entry else None,
            "session": line.entry.session if line.entry else None,
            "change": line.entry.position if line.entry else None,
        }
        for line in found
    ]
    shown = [
        f"{line.entry.at[:19] if line.entry else 'before':<19}  "
        f"{_who(line.entry) if line.entry else '-':<12}  {line.line:>4}  "
        f"{neutralise(_without_end(line.text))}"
        for line in found
    ]
    show(Answer(data, "\n".join(shown)), as_json=arguments.json)
    return 0


def _without_end(line: str) -> str:
    """A line of a document whose lines end as on Windows, as it is shown."""
    return line.removesuffix("\r")


def _restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("document", nargs="?", default="", help="one document; else all")
    parser.add_argument("--as-of", required=True, metavar="TIME", help="ISO 8601")
    parser.add_argument("--show", action="store_true", help="only print the text of that time")


def restore(arguments: argparse.Namespace) -> int:
    """Make a document, or all, say again what they said at a time. Can be undone.

    Of all, those that were made since are taken away, but for diary entries and what was put
    there by hand.
    """
    from commonplace.model.clock import parse_stamp

    try:
        moment = parse_stamp(arguments.as_of)
    except ValueError:
        raise BadValue(
            "--as-of", f"{arguments.as_of!r} is no time", next_step="Use 2026-11-15T14:30."
        ) from None
    with open_memory(arguments) as memory:
        memory.library.refresh()
        if arguments.show:
            text = memory.text_at(arguments.document, moment)
            show(Answer({"text": text}, neutralise(text)), as_json=arguments.json)
            return 0
        done = memory.restore(moment, arguments.document)
    data = {"restored": done.documents, "removed": done.removed}
    show(Answer(data, _restored(done)), as_json=arguments.json)
    return 0


def _restored(done: Restored) -> str:
    restored = f"Restored {', '.join(done.documents)}." if done.documents else ""
    removed = f"Took away {', '.join(done.removed)}." if done.removed else ""
    return f"{restored} {removed}".strip() or "Nothing differs from what was there then."


def _review_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="*", metavar="ID", help="records; none: list what waits")
    parser.add_argument("--all", action="store_true", help="decide on all that waits")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--approve", action="store_true", help="let it in, exactly as it is")
    decision.add_argument("--reject", action="store_true", help="take it off the list")
    parser.add_argument("--as-owner", action="store_true", help="decide without a terminal")
    parser.add_argument("--yes", action="store_true", help="decide without being asked")


def review(arguments: argparse.Namespace) -> int:
    """What waits for your approval: rules that came from outside, and what you forgot before.

    At a terminal it shows what you decide on, and asks; with --approve or --reject alone it asks
    of each in turn.
    """
    from commonplace.doors.cli import review as reviewing

    with open_memory(arguments) as memory:
        if not (arguments.approve or arguments.reject):
            return reviewing.listed(memory, arguments)
        require_person("decide what is let in", memory.notes)
        if memory.origin != Origin.OWNER and not arguments.as_owner:
            raise Refused(
                "Only the owner decides what is let in, and this is not a terminal.",
                next_step="Decide in a terminal, or say --as-owner.",
            )
        return reviewing.decide(memory, arguments)


def rebuild(arguments: argparse.Namespace) -> int:
    """Make the index anew from the documents."""
    with open_memory(arguments) as memory:
        count = memory.rebuild(progress_bar("Rebuilding"))
    show(Answer({"records": count}, f"{count:,} records indexed."), as_json=arguments.json)
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    """Look the vault over and say what is wrong and how to mend it. Changes nothing."""
    findings = _examined(arguments)
    lines = []
    for finding in findings:
        mark = paint("ok  ", "green") if finding.good else paint("look", "red")
        lines.append(f"{mark} {finding.what:<10} {finding.says}")
        if not finding.good and finding.fix:
            lines.append(f"{'':15} {paint(finding.fix, 'yellow')}")
    show(
        Answer([asdict(finding) for finding in findings], "\n".join(lines)), as_json=arguments.json
    )
    return 0 if all(finding.good for finding in findings) else 1


def _examined(arguments: argparse.Namespace) -> list[Finding]:
    from commonplace.doors.admin.doctor import examine, examine_closed

    try:
        with open_memory(arguments) as memory:
            return examine(memory)
    except NotFound:
        raise
    except CommonplaceError as error:
        return examine_closed(vault_path(arguments), error)


def _tool_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", default="", help="the tool; none: list them")
    parser.add_argument("arguments", nargs="?", default="{}", help="a JSON object, or - for stdin")


def tool(arguments: argparse.Namespace) -> int:
    """Call any tool with JSON in, and print its own answer."""
    from commonplace import tools
    from commonplace.doors.runs import agent_run

    dialect = tool_dialect(arguments)
    if not arguments.name:
        listed = [
            {"name": each.name, "description": each.description, "inputSchema": each.schema()}
            for each in tools.table(dialect).values()
        ]
        shown = "\n".join(f"{each['name']}: {each['description']}" for each in listed)
        show(Answer(listed, shown), as_json=arguments.json)
        return 0
    given = tools.parse_arguments(said(arguments.arguments))
    with open_memory(arguments, for_tools=True) as memory:
        memory.for_agents = True
        memory.run = lambda: agent_run() or memory.clock.today().isoformat()
        wait_for_vectors(memory)
        answer = tools.call(memory, arguments.name, given, dialect=dialect)
    show(answer, as_json=arguments.json)
    return 0


def _ipc_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="tool.invoke.NAME", help="the tool")
    parser.add_argument("arguments", nargs="?", default="{}", help="a JSON object")


def ipc(arguments: argparse.Namespace) -> int:
    """The same as 'tool', in the form 'ipc tool.invoke.NAME JSON'."""
    prefix, _, name = arguments.name.rpartition("tool.invoke.")
    if prefix or not name:
        raise BadValue("name", f"{arguments.name!r} is not known", next_step="tool.invoke.NAME")
    arguments.name = name
    return tool(arguments)


def _setup_arguments(parser: argparse.ArgumentParser) -> None:
    from commonplace.doors.setup.main import add_arguments

    add_arguments(parser)


def setup(arguments: argparse.Namespace) -> int:
    """Make a client use this vault: shows the changes to its files first."""
    return _run_setup(arguments, undo=False)


def unsetup(arguments: argparse.Namespace) -> int:
    """Take a client's set-up back, byte for byte where nobody changed the files since."""
    return _run_setup(arguments, undo=True)


def _run_setup(arguments: argparse.Namespace, *, undo: bool) -> int:
    from commonplace.doors.setup.main import run

    with open_memory(arguments) as memory:
        in_files = memory.place == str(memory.root)
        vault = str(memory.root.resolve()) if in_files else memory.place
        state = Path(memory.parts.own())
    code = run(arguments, vault=vault, state=state, undo=undo)
    if in_files and not (undo or code or arguments.dry_run):
        trust_what_was_made(vault)
    return code


def _selftest_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--writers", type=int, default=8, help="processes (default 8)")
    parser.add_argument("--kills", type=int, default=50, help="kill -9, in all (default 50)")
    parser.add_argument("--seed", type=int, default=0, help="chooses whom to kill when")
    parser.add_argument("--keep", action="store_true", help="keep the vault it used")


def selftest(arguments: argparse.Namespace) -> int:
    """Store from many processes while they are killed at random, and look for what was lost.

    In a new directory next to the vault, or in a new profile beside it; your vault is not touched.
    """
    from commonplace.doors.admin.selftest import run

    with _vault_beside(vault_path(arguments), keep=arguments.keep) as place:
        report = run(
            place,
            writers=arguments.writers,
            kills=arguments.kills,
            seed=arguments.seed,
            progress=progress_bar("Killing"),
        )
    text = (
        f"{report.kills} kills, {report.acknowledged:,} acknowledged, {report.found:,} found, "
        f"{len(report.lost)} lost, {len(report.duplicates)} duplicates, {len(report.torn)} torn, "
        f"{report.unlike} differences between kept and rebuilt index"
    )
    show(Answer(asdict(report) | {"passed": report.passed}, text), as_json=arguments.json)
    return 0 if report.passed else 1


@contextmanager
def _vault_beside(path: str, *, keep: bool) -> Iterator[str]:
    """A new vault where another one is, for as long as the block."""
    import shutil
    import tempfile

    if is_url(path):
        from commonplace.memory import Memory

        with Memory.open(_new_profile(path), create=True) as memory:
            try:
                yield memory.place
            finally:
                if memory.parts.database and not keep:
                    memory.parts.database.erase()
        return
    above = Path(path).expanduser().parent
    where = tempfile.mkdtemp(prefix="selftest-", dir=above if above.is_dir() else None)
    try:
        yield where
    finally:
        if not keep:
            shutil.rmtree(where, ignore_errors=True)


def _new_profile(url: str) -> str:
    from msgspec.structs import replace

    from commonplace.model.clock import Clock
    from commonplace.postgres.urls import place_of

    return replace(place_of(url), profile=f"selftest-{Clock().new_id()}").url()


def _completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def completion(arguments: argparse.Namespace) -> int:
    """Print the completion script of a shell; source it from the shell's start file."""
    import shtab

    from commonplace.doors.cli.parser import build_parser

    print(shtab.complete(build_parser(()), shell=arguments.shell))
    return 0


def _why_not_arguments(parser: argparse.ArgumentParser) -> None:
    from commonplace.doors.cli.search import why_not_arguments

    why_not_arguments(parser)


def why_not(arguments: argparse.Namespace) -> int:
    """Explain why a search does not show a record."""
    from commonplace.doors.cli import search

    return search.why_not(arguments)


def _eval_arguments(parser: argparse.ArgumentParser) -> None:
    from commonplace.doors.cli.search import eval_arguments

    eval_arguments(parser)


def evaluate(arguments: argparse.Namespace) -> int:
    """Measure how much search finds, with grep and plain BM25 beside it.

    A file is stored in a temporary vault, a conversation or a haystack at a time, and asked as any
    program would. --self makes questions from half of the words of your own records and lists those
    that search misses.
    """
    from commonplace.doors.cli import search

    return search.evaluate(arguments)


RUNS: dict[str, Run] = {
    "init": init,
    "status": status,
    "redo": redo,
    "log": log,
    "blame": blame,
    "restore": restore,
    "review": review,
    "rebuild": rebuild,
    "why-not": why_not,
    "eval": evaluate,
    "doctor": doctor,
    "tool": tool,
    "ipc": ipc,
    "serve": serve,
    "token": token,
    "setup": setup,
    "unsetup": unsetup,
    "selftest": selftest,
    "completion": completion,
    **{
        name: run
        for name, (run, _) in (
            UPKEEP | COMPACTION | MOVING | FETCHING | RETURNING | CONFLICTS | REVIEWING | TRUSTING
        ).items()
    },
}
ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "init": _init_arguments,
    "status": _status_arguments,
    "redo": _redo_arguments,
    "log": _log_arguments,
    "blame": _blame_arguments,
    "restore": _restore_arguments,
    "review": _review_arguments,
    "why-not": _why_not_arguments,
    "eval": _eval_arguments,
    "tool": _tool_arguments,
    "ipc": _ipc_arguments,
    "serve": serve_arguments,
    "token": token_arguments,
    "setup": _setup_arguments,
    "unsetup": _setup_arguments,
    "selftest": _selftest_arguments,
    "completion": _completion_arguments,
    **{
        name: arguments
        for name, (_, arguments) in (
            UPKEEP | COMPACTION | MOVING | FETCHING | RETURNING | CONFLICTS | REVIEWING | TRUSTING
        ).items()
    },
}
