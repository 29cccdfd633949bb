"""Find the machine state of a vault: inside the vault, where its person said, or outside of it.

State that a stranger may have put into a vault is not used.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress

from msgspec import Struct

from commonplace.model.errors import ReadOnly, Refused, StrangeFile, VaultTrouble
from commonplace.model.files import digest
from commonplace.model.options import Options
from commonplace.storage import machine_files
from commonplace.storage.option_files import FILE, Loaded
from commonplace.storage.trusted import command_for, data_directory, trusted
from commonplace.storage.version_control import is_kept

STATE = ".commonplace"
JOURNAL, FIRST = "journal.jsonl", 4096
"""The journal, and more bytes than its first line has."""
OWNER = "vault"
"""The file in a state directory apart that names the vault it belongs to."""
OUTSIDE = "state"
"""The directory in this user's data that has the state of vaults whose own is not used."""

COPY_PREFIX = "commonplace-"
VERSIONS = "versions"


class StatePlace(Struct, frozen=True):
    """A state directory."""

    path: str
    read_only: bool = False
    """It is a copy of this process's own, since the vault's takes no writes."""
    copied: str = ""
    """What it is a copy of."""
    why: str = ""
    """Why the vault's own is not used; empty when it is, or when the person chose another."""

    def told(self) -> str:
        """What a person must know about the state directory; usually nothing."""
        return self.why and f"Machine state is kept in {self.path}, not in the vault: {self.why}"


def find_state(root: str, options: Options, environ: Mapping[str, str]) -> StatePlace:
    """The state directory of a vault, which is made if it is not there."""
    environ = _with_home(environ)
    said = trusted(root, environ=environ)
    chosen = options.state_dir and os.path.realpath(os.path.expanduser(options.state_dir))
    inside = os.path.join(root, STATE)
    if said and said.shared:
        _share(chosen or inside)
    if chosen:
        return _apart(root, chosen)
    flaw = _flaw_inside(root, inside, trusting=bool(said), shared=bool(said and said.shared))
    outside = outside_of(root, environ)
    if not flaw and not said and was_written(outside):
        flaw = f"it was begun there. Move it to {inside} to have it in the vault again."
    return _outside(root, outside, flaw) if flaw else _inside(inside)


def _share(state: str) -> None:
    machine_files.share(state)
    found = machine_files.look(state, depth=0)
    if found and not machine_files.flaw_of(found) and not found.st_mode & stat.S_IWGRP:
        machine_files.widen(state)


def outside_of(root: str, environ: Mapping[str, str]) -> str:
    """Where the state of a vault is kept when its own is not used; empty without a home."""
    above = data_directory(environ)
    name = digest(os.fsencode(os.path.realpath(root)))
    return os.path.join(os.path.realpath(above), OUTSIDE, name) if above else ""


def own_place(root: str, environ: Mapping[str, str]) -> str:
    """Where the person's own files are: keys, and work for files elsewhere.

    It is never in a vault, which may be a stranger's.
    """
    found = outside_of(root, _with_home(environ))
    if not found:
        raise VaultTrouble(
            "There is no place for what belongs to you alone: no home directory is known.",
            next_step="Set HOME, or XDG_DATA_HOME.",
        )
    return found


def _with_home(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment, or the process's own if it does not name a home."""
    return environ if data_directory(environ) else os.environ


def was_written(state: str) -> bool:
    """Whether the journal says more than when it was begun."""
    try:
        start = machine_files.read(os.path.join(state, JOURNAL), most=FIRST)
    except (OSError, StrangeFile):
        return False
    return start.partition(b"\n")[2] != b""


def strange_in(
    state: str, *, shared: bool = False, deep: bool = False
) -> Iterator[tuple[str, str]]:
    """What in a state directory is not used, and why."""
    found = machine_files.look(state, depth=0)
    if found is None:
        return
    flaw = machine_files.flaw_of(found, shared=shared)
    if flaw or not stat.S_ISDIR(found.st_mode):
        yield STATE, flaw or "it is no directory"
    else:
        yield from _strange_below(state, STATE, shared=shared, deep=deep)


def _strange_below(path: str, name: str, *, shared: bool, deep: bool) -> Iterator[tuple[str, str]]:
    with suppress(PermissionError), os.scandir(path) as entries:
        for entry in entries:
            below = f"{name}/{entry.name}"
            try:
                found = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            if flaw := machine_files.flaw_of(found, shared=shared):
                yield below, flaw
            elif deep and stat.S_ISDIR(found.st_mode):
                yield from _strange_below(entry.path, below, shared=shared, deep=deep)


def _flaw_inside(root: str, inside: str, *, trusting: bool, shared: bool) -> str:
    """Why the state in the vault is not used, and what to do; empty when it is used."""
    for name, flaw in strange_in(inside, shared=shared):
        from commonplace.trust.neutralise import one_line

        step = (
            f"'{command_for(root)} --shared' uses it."
            if flaw.startswith(machine_files.FOREIGN)
            else "Look at what it is, and delete it."
        )
        return f"{one_line(name)}: {flaw}. {step}"
    if not trusting and os.path.lexists(inside) and is_kept(root, STATE):
        return (
            f"version control has files of {STATE}, which others may have written. "
            f"'{command_for(root)}' uses them."
        )
    return ""


def _apart(root: str, chosen: str) -> StatePlace:
    try:
        os.makedirs(chosen, 0o700, exist_ok=True)
        if _is_ready(chosen):
            _claim(chosen, os.path.realpath(root))
            return StatePlace(chosen)
    except OSError:
        raise ReadOnly(chosen) from None
    return _copied(chosen)


def _outside(root: str, outside: str, why: str) -> StatePlace:
    if not outside:
        raise VaultTrouble(
            f"There is no place for the machine state of {root}: {why}",
            next_step="Set HOME or XDG_DATA_HOME, or the option state_dir.",
        )
    with suppress(OSError):  # What can't be made is said below.
        machine_files.make_private(outside)
    return StatePlace(_apart(root, outside).path, why=why)


def _inside(inside: str) -> StatePlace:
    with suppress(OSError):
        machine_files.make_directory(inside, depth=0)
        if _is_ready(inside):
            return StatePlace(inside)
    return _copied(inside)


def _copied(state: str) -> StatePlace:
    return StatePlace(writable_copy(state), read_only=True, copied=state)


def writable_copy(state: str) -> str:
    """Copy the state of a vault that takes no writes into a directory of this process's own.

    So the journal of a vault on a read-only disk can be read, and its index can follow the
    documents. The kept texts are many and never change: they are read where they are.
    """
    from tempfile import mkdtemp

    own = os.path.realpath(mkdtemp(prefix=COPY_PREFIX))
    _copy(os.path.abspath(state), own, depth=0)
    return own


def _copy(directory: str, to: str, *, depth: int) -> None:
    """Copy what this user may read, and what is ours: the rest is as if it were not there."""
    try:
        names = machine_files.names_in(directory, depth=depth)
    except (OSError, StrangeFile):
        return
    for name in names:
        if depth or name != VERSIONS:
            _copy_one(os.path.join(directory, name), os.path.join(to, name), depth=depth + 1)


def _copy_one(path: str, to: str, *, depth: int) -> None:
    try:
        found = machine_files.look(path, depth=depth)
        if found and stat.S_ISDIR(found.st_mode):
            os.mkdir(to, 0o700)
            _copy(path, to, depth=depth)
        elif found:
            data = machine_files.read(path, depth=depth)
            machine_files.write(to, data)
    except (OSError, StrangeFile):
        return


def _is_ready(state: str) -> bool:
    """Whether a state directory takes writes; git is told to let it be."""
    machine_files.make(os.path.join(state, ".gitignore"), b"*\n")
    return os.access(state, os.W_OK)


def check_unused(root: str, loaded: Loaded) -> None:
    """Refuse a vault whose journal is where its own file says while that does not count.

    With another journal, what was forgotten would come back and what was written be unknown.
    """
    said = loaded.ignored.get(FILE, {}).get("state_dir")
    if not isinstance(said, str) or not said or said == loaded.options.state_dir:
        return
    state, real = os.path.realpath(os.path.expanduser(said)), os.path.realpath(root)
    if os.path.isfile(os.path.join(state, JOURNAL)) and _owner_of(state) in ("", real):
        raise Refused(
            f"The journal of the vault at {real} is in {state}, which its commonplace.toml says, "
            "and nobody has trusted that file: without its journal the vault is not opened.",
            next_step=f"Look at the file; '{command_for(real)}' then trusts it.",
        )


def _owner_of(state: str) -> str:
    """The vault that a state directory belongs to; empty if to none that is there."""
    try:
        owner = os.fsdecode(machine_files.read(os.path.join(state, OWNER), most=FIRST))
    except (OSError, StrangeFile):
        return ""
    return owner if os.path.isdir(owner) else ""


def _claim(state: str, root: str) -> None:
    """Have a state directory belong to this vault: with the journal of another it would lose both.

    One whose vault is no longer there was moved along with it.
    """
    path = os.path.join(state, OWNER)
    if machine_files.make(path, os.fsencode(root)):
        return
    owner = os.fsdecode(machine_files.read(path))
    if owner != root and os.path.isdir(owner):
        raise Refused(
            f"{state} keeps the state of the vault at {owner}. Nothing was changed.",
            next_step="Set state_dir to a directory of this vault's own, in its commonplace.toml.",
        )
    if owner != root:
        machine_files.write(path, os.fsencode(root))
