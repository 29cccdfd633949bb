"""The command that copies a vault to another place: files, PostgreSQL, either way."""

from __future__ import annotations

import argparse

from msgspec.structs import asdict

from commonplace.doors.cli.main import show
from commonplace.doors.cli.terminal import progress_bar
from commonplace.doors.which_vault import vault_path
from commonplace.tools.tool import Answer


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
        vault_path(arguments.source, ""), vault_path(arguments.target, ""), progress=progress_bar
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


COMMANDS = {"migrate": (migrate, migrate_arguments)}
