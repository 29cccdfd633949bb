"""The setup door: show what would change in a client's files, ask, write, and take it back."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from commonplace.doors.setup.apply import load, set_up, take_back
from commonplace.doors.setup.clients import CLIENTS
from commonplace.doors.setup.plan import SetupPlan, SetupReceipt, plan, undoing
from commonplace.model.errors import BadValue, NotFound

INSTALL = "uv tool install commonplace-memory"
# Where uvx keeps what it runs: `uv cache clean` takes it away.
PASSING = re.compile(r"[/\\]uv[/\\](cache[/\\])?(archive|environments|builds)-v\d+[/\\]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `setup` and `unsetup`, which are the same."""
    parser.add_argument("client", choices=tuple(CLIENTS), help="which client")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument(
        "--project",
        nargs="?",
        const=".",
        metavar="DIR",
        help="for one project (default: this directory) instead of for all",
    )
    parser.add_argument(
        "--no-hooks",
        dest="hooks",
        action="store_false",
        help="only the tools: nothing is brought into sessions or recorded by itself",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="claude: enter the server as 'claude mcp add' does, instead of as a plugin",
    )
    parser.add_argument(
        "--plugin",
        nargs="?",
        const="",
        metavar="DIR",
        help="claude: write the plugin to DIR (default: with your data) for --plugin-dir",
    )


def run(
    arguments: argparse.Namespace,
    *,
    vault: str,
    state: Path,
    undo: bool,
) -> int:
    """Set a client up for a vault, or undo that. Returns the exit code."""
    kept = _in_scope(load(state, arguments.client), _project(arguments))
    planned = _undoing(arguments, kept) if undo else _planned(arguments, vault, state)
    agreed = _shown_and_agreed(planned, arguments)
    if agreed and undo:
        take_back(planned, state=state, undone=kept)
    elif agreed and planned.changes:
        set_up(planned, state=state)
    return _report(planned, arguments, undo=undo, written=agreed and bool(planned.changes))


def _planned(arguments: argparse.Namespace, vault: str, state: Path) -> SetupPlan:
    chosen = arguments.plugin
    return plan(
        arguments.client,
        home=Path.home(),
        project=_project(arguments),
        command=find_command(),
        vault=vault if "://" in vault else os.path.abspath(Path(vault).expanduser()),
        dialect=arguments.dialect,
        environ=os.environ,
        hooks=arguments.hooks,
        plain=arguments.plain,
        plugin_directory=None if chosen is None else _plugin_directory(chosen, state),
    )


def _plugin_directory(chosen: str, state: Path) -> Path:
    return Path(chosen).expanduser().absolute() if chosen else state / "plugin" / "claude"


def _undoing(arguments: argparse.Namespace, kept: Mapping[Path, SetupReceipt]) -> SetupPlan:
    return undoing(
        arguments.client,
        home=Path.home(),
        project=_project(arguments),
        environ=os.environ,
        receipts=kept,
    )


def _project(arguments: argparse.Namespace) -> Path | None:
    return Path(arguments.project).expanduser().absolute() if arguments.project else None


def _in_scope(kept: Mapping[Path, SetupReceipt], project: Path | None) -> dict[Path, SetupReceipt]:
    """The receipts of one project when one is named, else all of them."""
    real = project and project.resolve()
    return {path: each for path, each in kept.items() if not real or real in path.parents}


def find_command() -> str:
    """The installed command: next to this Python, or on the path."""
    name = "commonplace.exe" if sys.platform == "win32" else "commonplace"
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.is_file() else shutil.which("commonplace")
    if not found:
        raise NotFound(
            "The command 'commonplace' is not installed where a client could start it.",
            next_step=f"'{INSTALL}' or 'pipx install commonplace-memory' does that.",
        )
    if PASSING.search(found):
        raise NotFound(
            f"{found} is in a cache and will not stay there.",
            next_step=f"'{INSTALL}' installs it for good; then run this again.",
        )
    return os.path.abspath(found)


def _shown_and_agreed(planned: SetupPlan, arguments: argparse.Namespace) -> bool:
    if planned.changes and not arguments.json:
        print(planned.diff())
    if arguments.dry_run or arguments.yes or not planned.changes:
        return not arguments.dry_run
    if not (sys.stdin and sys.stdin.isatty()):
        raise BadValue(
            "--yes",
            "without a terminal nobody can be asked",
            next_step="Repeat with --yes to write this, or with --dry-run only to see it.",
        )
    return input("Write this? [y/N] ").strip().lower() in ("y", "yes")


def _report(planned: SetupPlan, arguments: argparse.Namespace, *, undo: bool, written: bool) -> int:
    if arguments.json:
        print(json.dumps(_described(planned, written=written), ensure_ascii=False, indent=2))
    else:
        print("\n".join([_said(planned, undo=undo, written=written), *planned.notes]))
    declined = planned.changes and not (written or arguments.dry_run)
    return 2 if declined else 0


def _described(planned: SetupPlan, *, written: bool) -> dict[str, object]:
    files = [{"path": str(change.path), "diff": change.diff()} for change in planned.changes]
    return {
        "client": planned.client,
        "files": files,
        "notes": list(planned.notes),
        "written": written,
    }


def _said(planned: SetupPlan, *, undo: bool, written: bool) -> str:
    title = CLIENTS[planned.client].title
    if not planned.changes:
        return f"{title} is {'not' if undo else 'already'} set up."
    if not written:
        return "Nothing was changed."
    if undo and (vault := planned.vault()):
        return f"{title} is set up for {vault} again, as it was before."
    return f"{title} is {'no longer' if undo else 'now'} set up."
