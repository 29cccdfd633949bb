"""The commands `backup` and `restore-backup`: a whole vault as one file, and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from msgspec.structs import asdict

from commonplace.doors import which_vault
from commonplace.doors.cli.main import is_for_eyes, open_memory, show, vault_path
from commonplace.doors.cli.pages import when
from commonplace.doors.cli.terminal import progress_bar
from commonplace.model.clock import Clock
from commonplace.tools.tool import Answer

MOST_NAMED = 3
"""Files that are named of those which a backup leaves out."""


def backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", default="", help="where to; default: a dated name here")


def backup(arguments: argparse.Namespace) -> int:
    """Write the whole vault into one file, and read it back to be sure.

    Documents, journal, messages, notes and options are in it; the index is made again. It is a
    .tar.gz that only you can read. A file that is there is not overwritten.
    """
    from commonplace.doors.admin.backup import back_up, backup_name

    with open_memory(arguments) as memory:
        file = Path(arguments.file or backup_name(memory))
        done = back_up(memory, file, progress=progress_bar)
    text = (
        f"Backed up to {done.file} ({done.size:,} bytes), and read back: {done.documents:,} "
        f"documents, {done.records:,} records, {done.entries:,} changes with {done.versions:,} "
        f"kept texts, {done.messages:,} messages."
    )
    if done.left_out:
        named = ", ".join(done.left_out[:MOST_NAMED])
        more = len(done.left_out) - MOST_NAMED
        text += f"\nNot in it, as they are no memory: {named}{f' and {more} more' * (more > 0)}."
    text += f"\n'commonplace restore-backup {file} PATH' makes a vault of it, on any machine."
    show(Answer(asdict(done), text), as_json=arguments.json)
    return 0


def restore_backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="what 'commonplace backup' wrote")
    parser.add_argument(
        "path", nargs="?", default="", metavar="PATH|URL", help="where; else --vault or your vault"
    )
    parser.add_argument(
        "--replace", action="store_true", help="move what is there aside, beside it"
    )


def restore_backup(arguments: argparse.Namespace) -> int:
    """Make a vault of a backup, after every byte of it was checked.

    It becomes a vault at once or not at all. A place that holds something is refused, unless you
    say --replace: then what is there is moved aside, and nothing of it is changed.
    """
    from commonplace.doors.admin import backup as backups
    from commonplace.doors.caller import require_person

    if arguments.replace:
        require_person("replace a vault")
    place = arguments.path or vault_path(arguments)
    done = backups.restore_backup(
        Path(arguments.file), place, replace=arguments.replace, progress=progress_bar
    )
    moment = when(done.made, Clock()) if is_for_eyes(arguments) else done.made
    text = (
        f"Restored {done.place} as it was ({moment}): {done.documents:,} documents, "
        f"{done.records:,} records, {done.entries:,} changes, {done.messages:,} messages."
    )
    if done.moved:
        text += f"\nWhat was there before is in {done.moved}."
    text += f"\nNext: {which_vault.command(done.place)} setup"
    show(Answer(asdict(done), text), as_json=arguments.json)
    return 0
