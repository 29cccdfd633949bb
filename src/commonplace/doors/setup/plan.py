"""Plans: for each file of a client the text before and after, as a value that can be shown first.

It reads files and decides; `apply` writes, and who calls it asks and prints.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from commonplace.doors.setup import agents_file, clients
from commonplace.doors.setup.agents_file import AGENTS
from commonplace.doors.setup.clients import CLIENTS, PREFIX, Launch, Where
from commonplace.doors.setup.config_files import (
    NAME,
    Containers,
    Kind,
    Shape,
    Switch,
    Switched,
    Target,
    drop,
    is_all_ours,
    is_shell,
    put,
    switch_back,
    vault_in,
)
from commonplace.doors.setup.json_edit import Broken, WrongShape
from commonplace.model.errors import BadValue, VaultTrouble
from commonplace.model.options import DEFAULTS
from commonplace.storage import machine_files

AS_BEFORE = "as it was before setup"
WITHOUT_US = "without our part"
UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class FileChange:
    """One file as it is and as it is to be; None where there is none."""

    path: Path
    before: str | None
    after: str | None
    shape: Shape
    about: str = ""
    """What the file is for, in a few words."""
    switches: tuple[Switch, ...] = ()

    @property
    def deed(self) -> str:
        """What happens to the file, in a word."""
        if self.before is None:
            return "new"
        return "gone" if self.after is None else "changed"

    def diff(self) -> str:
        """What changes, as a unified diff."""
        sides = [
            ([], "/dev/null")
            if text is None
            else (text.removesuffix("\n").split("\n"), str(self.path))
            for text in (self.before, self.after)
        ]
        (old, old_name), (new, new_name) = sides
        lines = difflib.unified_diff(old, new, old_name, new_name, lineterm="")
        return "\n".join(line.rstrip("\r") for line in lines)


@dataclass(frozen=True)
class SetupPlan:
    """Every file that a setup, or its undoing, would change, and what to tell the person."""

    client: str
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...] = ()

    def diff(self) -> str:
        return "\n".join(change.diff() for change in self.changes)

    def counted(self) -> str:
        """How many files change and how, such as "3 files, 2 new"."""
        count, deeds = len(self.changes), [change.deed for change in self.changes]
        kinds = [f"{deeds.count(deed)} {deed}" for deed in ("new", "gone") if deed in deeds]
        return ", ".join([f"{count} file{'s' * (count != 1)}", *kinds])

    def vault(self) -> str:
        """The vault that the client is set up for when this is done; empty when for none."""
        vaults = (vault_in(each.shape, each.after) for each in self.changes if each.after)
        return next(filter(None, vaults), "")


@dataclass(frozen=True)
class SetupReceipt:
    """How to get from a file's text after setup to the text before it, byte for byte.

    Only the part that setup replaced is kept: the rest of the file may hold other people's keys.
    """

    kind: Kind
    there: bool
    after: str
    start: int = 0
    end: int = 0
    old: str = ""
    made: tuple[str, ...] = ()
    switched: tuple[Switched, ...] = ()
    """The switches of other memories, for a file that somebody changed since."""
    containers: Containers | None = None
    """What may hold our entries and stood in the file before; None where that was not noted."""
    server: str = ""
    """The entry by our name that stood in it before, as JSON."""

    def fits(self, text: str) -> bool:
        """Whether the text is the one that setup wrote."""
        return _digest(text) == self.after

    def previous(self, text: str) -> str | None:
        """What the file said before; None when it was not there."""
        return text[: self.start] + self.old + text[self.end :] if self.there else None


def receipt(
    before: str | None,
    after: str,
    *,
    kind: Kind,
    made: tuple[str, ...] = (),
    switched: tuple[Switched, ...] = (),
    containers: Containers | None = None,
    server: str = "",
) -> SetupReceipt:
    """The receipt of one change."""
    more: dict[str, Any] = {
        "made": made,
        "switched": switched,
        "containers": containers,
        "server": server,
    }
    if before is None:
        return SetupReceipt(kind, False, _digest(after), **more)
    start = len(os.path.commonprefix([before, after]))
    rest = min(len(before), len(after)) - start
    same = len(os.path.commonprefix([before[::-1][:rest], after[::-1][:rest]]))
    end, old = len(after) - same, before[start : len(before) - same]
    return SetupReceipt(kind, True, _digest(after), start, end, old, **more)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def plan(
    client: str,
    *,
    home: Path,
    project: Path | None,
    command: str,
    vault: str,
    dialect: str,
    environ: Mapping[str, str],
    hooks: bool = True,
    plain: bool = False,
    plugin_directory: Path | None = None,
    platform: str = sys.platform,
) -> SetupPlan:
    """What setting up a client would change. Nothing, when it is set up like this already.

    Claude Code takes a plugin, except in a project or when `plain`: then it is entered as
    `claude mcp add` does.
    """
    where = Where(home, environ, project, platform)
    launch = Launch(command, vault, dialect, _options(environ), platform, named=bool(project))
    _check_words(launch)
    if client == AGENTS:
        return SetupPlan(client, changes_of([agents_file.target(where)], project))
    if client == "claude" and not (plain or project):
        root = plugin_directory or clients.plugin_directory(where)
        wanted = clients.plugin_targets(root, launch, hooks=hooks)
    else:
        wanted = clients.targets(client, launch, where, hooks=hooks)
    if client == "claude" and (off := clients.plugin_switched_off(where)):
        wanted = _joined(wanted, off)
    found = changes_of(wanted, project)
    notes = (CLIENTS[client].note, CLIENTS[client].hooks_note if hooks else "")
    return SetupPlan(client, found, tuple(note for note in notes if note))


def _joined(wanted: tuple[Target, ...], more: Target) -> tuple[Target, ...]:
    """The targets with one more, or with its switches where its file is one of them."""
    if more.path not in [each.path for each in wanted]:
        return (*wanted, more)
    return tuple(
        replace(each, switches=more.switches) if each.path == more.path else each for each in wanted
    )


def changes_of(wanted: Iterable[Target], project: Path | None) -> tuple[FileChange, ...]:
    """The files that do not say yet what is to stand in them."""
    return tuple(change for target in wanted if (change := _change(target, project)))


def _options(environ: Mapping[str, str]) -> dict[str, str]:
    """The options that the environment sets: a server started by a client does not see them."""
    names = [PREFIX + name.upper() for name in DEFAULTS if name != "dialect"]
    return {name: environ[name] for name in names if environ.get(name)}


def _check_words(launch: Launch) -> None:
    for word in launch.words():
        if UNWRITABLE.search(word):
            problem = f"{word!a} cannot be written into a client's file"
            raise BadValue("--vault", problem, next_step="Rename it, or use a link to it.")


def _change(target: Target, project: Path | None) -> FileChange | None:
    path = real(target.path)
    _check_stays(path, target.path, project)
    before = text_of(path)
    with _explained(path):
        after = put(target, before)
    if after == before:
        return None
    return FileChange(path, before, after, target.shape, target.about, target.switches)


def real(path: Path) -> Path:
    """The file behind links, of which some people's configuration is made."""
    return Path(os.path.realpath(path))


def _check_stays(path: Path, named: Path, project: Path | None) -> None:
    """No link of a project leads out of it: it may be a stranger's. No file is another user's."""
    if project and real(project) not in path.parents:
        raise _unusable(named, f"it is a link to {path}, outside of the project")
    if (found := machine_files.look(str(path))) and (flaw := machine_files.flaw_of(found)):
        raise _unusable(path, flaw)


def text_of(path: Path) -> str | None:
    """What a file says; None when it is not there."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise _unusable(path, "it is no plain file")
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _unusable(path, f"line {line}: it is not UTF-8") from None
    except OSError as error:
        raise _unusable(path, (error.strerror or str(error)).lower()) from None


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise an error that names the file for what is wrong with its text."""
    try:
        yield
    except (Broken, WrongShape) as error:
        raise _unusable(path, str(error)) from None


def _unusable(path: Path, why: str) -> VaultTrouble:
    return VaultTrouble(
        f"{path} cannot be used: {why}. Nothing was changed.",
        next_step="Mend the file and run this again.",
    )


def undoing(
    client: str,
    *,
    home: Path,
    project: Path | None,
    environ: Mapping[str, str],
    receipts: Mapping[Path, SetupReceipt],
    platform: str = sys.platform,
) -> SetupPlan:
    """What taking back a client's setup would change, with receipts or as far as can be seen."""
    where = Where(home, environ, project, platform)
    usual = {real(target.path): target for target in usual_targets(client, where)}
    restored = _plan(client, (_restored(path, each, client) for path, each in receipts.items()))
    if restored.vault():
        # What there is no receipt of is that other vault's.
        return restored
    cleaned = _plan(client, (_cleaned(path, usual[path]) for path in usual if path not in receipts))
    return SetupPlan(client, restored.changes + cleaned.changes, restored.notes + cleaned.notes)


def _plan(client: str, found: Iterable[tuple[FileChange | None, str]]) -> SetupPlan:
    """A plan of what was found for each file: a change, a note, both or neither."""
    each = list(found)
    changes = tuple(change for change, _ in each if change)
    return SetupPlan(client, changes, tuple(note for _, note in each if note))


def usual_targets(client: str, where: Where) -> tuple[Target, ...]:
    """The files that may hold something of ours."""
    if client == AGENTS:
        return (agents_file.target(where),)
    launch = Launch("", "")
    wanted = clients.targets(client, launch, where, hooks=True)
    if client == "claude" and not where.project:
        wanted += clients.plugin_targets(clients.plugin_directory(where), launch, hooks=True)
    return wanted


def _restored(path: Path, receipt: SetupReceipt, client: str) -> tuple[FileChange | None, str]:
    """A file that setup wrote, as it was before."""
    current = text_of(path)
    if current is None:
        return None, ""
    shape = clients.shape(client, receipt.kind)
    with _explained(path):
        after = without_us(current, shape, receipt)
    if receipt.fits(current):
        about = "" if after is None else AS_BEFORE
        return FileChange(path, current, after, shape, about), ""
    if after == current:
        return None, f"{path} changed since setup and stays as it is."
    note = f"{path} changed since setup: only our part goes."
    return FileChange(path, current, after, shape, WITHOUT_US), note


def _cleaned(path: Path, target: Target) -> tuple[FileChange | None, str]:
    """A file of which there is no receipt, without what is ours in it."""
    current = text_of(path) if path.is_file() else None
    if current is None or NAME not in current:
        return None, ""
    with _explained(path):
        after = None if is_all_ours(target, current) else drop(target.shape, current)
    if after == current:
        return None, ""
    note = f"What {path} said before setup is not on record: only our part goes."
    return FileChange(path, current, after, target.shape, WITHOUT_US), note


def without_us(current: str, shape: Shape, receipt: SetupReceipt) -> str | None:
    """What a file says when setup's part is taken back; None when there is no file then."""
    if receipt.fits(current):
        return receipt.previous(current)
    after = drop(shape, current, there=receipt.containers, server=receipt.server)
    for done in reversed(receipt.switched):
        after = switch_back(shape, after, done, there=receipt.containers)
    return None if not receipt.there and is_shell(shape, after) else after
