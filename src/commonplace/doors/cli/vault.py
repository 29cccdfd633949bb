"""The commands about a whole vault: examine, rebuild, copy and test it.

Each command is a parser and a few lines that call the core and print.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from commonplace.doors import which_vault
from commonplace.doors.cli.main import complain, open_memory, show, vault_path
from commonplace.doors.cli.terminal import paint, progress_bar
from commonplace.model.errors import BadValue, CommonplaceError, NotFound
from commonplace.model.options import is_url
from commonplace.tools.tool import Answer

if TYPE_CHECKING:
    from commonplace.doors.admin.doctor import Check


def rebuild(arguments: argparse.Namespace) -> int:
    """Make the index anew from the documents."""
    with open_memory(arguments) as memory:
        count = memory.rebuild(progress_bar("Rebuilding"))
        trouble = memory.library.engine.embedder.trouble
        complain([trouble] if trouble else [])
    show(Answer({"records": count}, f"{count:,} records indexed."), as_json=arguments.json)
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    """Check the vault, and say what is wrong and how to mend it. Changes nothing."""
    checks = _examined(arguments)
    lines = []
    for check in checks:
        mark = paint("ok  ", "green") if check.good else paint("look", "red")
        lines.append(f"{mark} {check.what:<10} {check.says}")
        if not check.good and check.fix:
            lines.append(f"{'':15} {paint(check.fix, 'yellow')}")
    show(Answer([asdict(check) for check in checks], "\n".join(lines)), as_json=arguments.json)
    return 0 if all(check.good for check in checks) else 1


def _examined(arguments: argparse.Namespace) -> list[Check]:
    from commonplace.doors.admin.doctor import examine, examine_closed

    try:
        with open_memory(arguments) as memory:
            return [*examine(memory), *_set_up_twice()]
    except NotFound:
        raise
    except CommonplaceError as error:
        return examine_closed(vault_path(arguments), error)


def _set_up_twice() -> Iterator[Check]:
    """What holds where a client is set up for this directory and for all projects."""
    from commonplace.doors.admin.doctor import Check
    from commonplace.doors.setup.connections import here, twice_here

    for said in twice_here(here(project=Path.cwd())):
        yield Check("clients", True, said)


def migrate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="FROM", help="a vault: a directory or a URL")
    parser.add_argument("target", metavar="TO", help="an empty directory, or the URL of a profile")


def migrate(arguments: argparse.Namespace) -> int:
    """Copy a vault to where there is none: between directories and PostgreSQL, either way.

    Documents, journal, messages and what sessions share go with it. A copy that was cut off goes
    on where it was. It is done when both were compared, and says so; the source stays as it is.
    """
    from commonplace.doors.admin.migrate import move

    done = move(
        which_vault.vault_path(arguments.source, ""),
        which_vault.vault_path(arguments.target, ""),
        progress=progress_bar,
    )
    text = (
        f"Copied {done.source} to {done.target}.\n"
        f"Verified: {done.documents:,} documents, byte for byte ({done.bytes:,} bytes); "
        f"{done.records:,} records; {done.entries:,} journal entries at their positions, "
        f"{done.versions:,} kept texts; {done.messages:,} messages; {done.notes:,} notes.\n"
        "The source is as it was. Options stay with it: 'commonplace status --options' lists them."
    )
    show(Answer(asdict(done), text), as_json=arguments.json)
    return 0


def upgrade_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", default="", metavar="URL", help="else the vault")
    parser.add_argument(
        "--distribute", action="store_true", help="spread the tables over the servers of Citus"
    )


def upgrade(arguments: argparse.Namespace) -> int:
    """Bring the tables of a database to this version, and tell what was done and what is left.

    Opening a memory does so as well. Only --distribute is never done without being asked for: it
    copies the tables, all or none, and calls wait until it is done.
    """
    named = arguments.url or vault_path(arguments)
    if not is_url(named):
        raise BadValue("URL", f"{named} is a directory", next_step="Directories need no upgrade.")
    from commonplace.model.clock import Clock
    from commonplace.postgres.connection import Database
    from commonplace.postgres.urls import parse_url

    place = parse_url(named)
    done = Database.upgrade(place, clock=Clock(), spread=arguments.distribute)
    taken = [f"taken  {step}" for step in done.taken] or [f"{place.shown()} is up to date."]
    text = "\n".join([*taken, *(f"left   {what}" for what in done.left)])
    show(Answer(asdict(done), text), as_json=arguments.json)
    return 0


def selftest_arguments(parser: argparse.ArgumentParser) -> None:
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
    from commonplace.postgres.urls import parse_url

    return replace(parse_url(url), profile=f"selftest-{Clock().new_id()}").url()


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def completion(arguments: argparse.Namespace) -> int:
    """Print the completion script of a shell; source it from the shell's start file."""
    import shtab

    from commonplace.doors.cli.parser import build_parser

    print(shtab.complete(build_parser(()), shell=arguments.shell))
    return 0
