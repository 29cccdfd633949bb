"""The vaults that the person has trusted by hand, remembered outside of them.

Each vault has one small file, named by its real path, so that two processes never write the same
file unless they trust the same vault.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.model.errors import VaultTrouble
from commonplace.model.files import StrPath, digest
from commonplace.storage import machine_files

NAME = "trusted"
MOST = 65_536
"""Bytes of one file: a path, an owner, a hash and a time."""
GENERATION = 0x80087601
"""Linux' FS_IOC_GETVERSION: a directory may get the number of one that was deleted, not this."""
ENVIRON: Mapping[str, str] = os.environ


class Trusted(Struct, frozen=True):
    """A vault that the person trusted: where it is, whose, and what it was allowed to set."""

    root: str
    """Its real path."""
    owner: int
    """The user whose directory it was then."""
    keys: str
    """The hash of the harmful keys that its files set then."""
    shared: bool
    """Whether other users' machine files in it are used as well."""
    at: str
    directory: str = ""
    """What tells its directory from another at the same path; empty where that was not noted."""


def data_directory(environ: Mapping[str, str] = ENVIRON) -> str:
    """Where this user's programs keep data; empty where no home is known."""
    return machine_files.user_directory(environ, "XDG_DATA_HOME", ".local/share")


def trusted(root: StrPath, *, environ: Mapping[str, str] = ENVIRON) -> Trusted | None:
    """The trust in the vault at `root`; None if there is none, or the directory was replaced."""
    found = _said_of(os.path.realpath(root), environ)
    return found if found and not _lapse(found) else None


def lapsed(root: StrPath, *, environ: Mapping[str, str] = ENVIRON) -> str:
    """Why a vault lost its trust; empty if it is trusted, or never was."""
    found = _said_of(os.path.realpath(root), environ)
    return _lapse(found) if found else ""


def recorded(path: StrPath, *, environ: Mapping[str, str] = ENVIRON) -> str:
    """The path by which trust in a vault is remembered, gone or not; empty where none is."""
    as_named = (os.path.abspath(path), os.path.realpath(path))
    return next((each for each in as_named if _said_of(each, environ)), "")


def trust(
    root: StrPath,
    *,
    keys: str,
    at: str,
    shared: bool = False,
    environ: Mapping[str, str] = ENVIRON,
) -> Trusted:
    """Remember that the person trusts a vault, as it is now."""
    real = os.path.realpath(root)
    said = Trusted(real, _owner_of(real), keys, shared, at, _directory_at(real))
    path = _path_of(real, environ)
    if not path:
        raise VaultTrouble(
            "There is no place to remember it: no home directory is known.",
            next_step="Set HOME, or XDG_DATA_HOME.",
        )
    import json

    try:
        machine_files.make_private(os.path.dirname(path))
        machine_files.write(path, json.dumps(asdict(said)).encode(), depth=0)
    except OSError as error:
        why = error.strerror or str(error)
        step = "See to its permissions and its disk, then try again."
        raise VaultTrouble(f"{path}: {why}.", next_step=step) from None
    return said


def revoke(root: StrPath, *, environ: Mapping[str, str] = ENVIRON) -> bool:
    """Forget that a vault was trusted. Returns whether it was."""
    path = _path_of(recorded(root, environ=environ) or os.path.realpath(root), environ)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def all_trusted(environ: Mapping[str, str] = ENVIRON) -> list[Trusted]:
    """Every vault that was trusted, by path; those that are gone too."""
    above = os.path.join(data_directory(environ), NAME)
    try:
        names = os.listdir(above)
    except OSError:
        return []
    found = (_read(os.path.join(above, name)) for name in names if name.endswith(".json"))
    return sorted((each for each in found if each), key=lambda each: each.root)


def command_for(root: StrPath) -> str:
    """The command that trusts a vault, to be pasted into a shell: its path may be a stranger's."""
    import shlex

    return f"commonplace trust {shlex.quote(os.path.realpath(root))}"


def unheeded(ignored: Mapping[str, Iterable[str]], why: str) -> str:
    """A sentence on the keys of a vault that do not count; empty if there are none.

    `why`: for what reason trust that was given counts no longer; empty where none was.
    """
    named = "; ".join(f"{name}: {', '.join(sorted(keys))}" for name, keys in ignored.items())
    if named:
        reason = why or "nobody trusted it"
        return f"Set by files of this vault and ignored, as {reason} ({named})."
    return f"This vault is trusted no longer, as {why}." if why else ""


def _said_of(real: str, environ: Mapping[str, str]) -> Trusted | None:
    found = _read(_path_of(real, environ))
    return found if found and found.root == real else None


def _lapse(said: Trusted) -> str:
    """What keeps it from counting now; empty where nothing does."""
    if not os.path.isdir(said.root):
        return "it is gone"
    if said.owner != _owner_of(said.root):
        return "it is another user's than when it was trusted"
    if said.directory and said.directory != _directory_at(said.root):
        return "it is another directory than the one that was trusted"
    return ""


def _path_of(real: str, environ: Mapping[str, str]) -> str:
    above = data_directory(environ)
    return os.path.join(above, NAME, f"{digest(os.fsencode(real))}.json") if above else ""


def _owner_of(real: str) -> int:
    """The user whose directory it is; -1 where there is none."""
    try:
        return os.stat(real).st_uid
    except OSError:
        return -1


def _directory_at(real: str) -> str:
    """What another directory at the same path would not have; empty where there is none."""
    try:
        descriptor = os.open(real, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    except OSError:
        # Windows opens no directories. Its numbers, other than those of Linux, are not used again.
        return str(os.stat(real).st_ino) if os.path.isdir(real) else ""
    try:
        return f"{os.fstat(descriptor).st_ino}{_generation(descriptor)}"
    finally:
        os.close(descriptor)


def _generation(descriptor: int) -> str:
    if sys.platform != "linux":
        return ""
    import fcntl

    try:
        return f".{fcntl.ioctl(descriptor, GENERATION, bytes(8)).hex()}"
    except OSError:
        return ""


def _read(path: str) -> Trusted | None:
    """What one file says, if this user wrote it. Backups may have given it other names."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not _is_ours(os.fstat(descriptor)):
            return None
        data = file.read(MOST)
    try:
        said = machine_files.parsed(data)
        return Trusted(
            str(said["root"]),
            said["owner"],
            str(said["keys"]),
            said["shared"] is True,
            said["at"],
            str(said.get("directory", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _is_ours(found: os.stat_result) -> bool:
    own = getattr(os, "geteuid", lambda: found.st_uid)()
    return stat.S_ISREG(found.st_mode) and found.st_uid == own
