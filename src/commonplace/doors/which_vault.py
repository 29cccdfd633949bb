"""Which vault a call means, and opening it. Shared by the doors that are started as a command.

It does not know how the words were parsed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commonplace.model.errors import NoSuchVault, Unreadable, VaultTrouble
from commonplace.model.options import is_url

if TYPE_CHECKING:
    from commonplace.memory import Memory

HOME = "~/commonplace"
HOMES = {"earl": "~/.config/earl/memory"}
"""Where a dialect's own program keeps its memory."""


def vault_path(vault: str, dialect: str) -> str:
    """The vault that is named, the working directory if it is one, or the one at home."""
    return _named(vault) or vault_here() or _home(dialect)


def agents_path(vault: str, dialect: str) -> str:
    """The same for hooks and MCP, which nobody typed in the working directory.

    It is left out unless the person has trusted it: a folder that came from a stranger would tell
    agents who they are.
    """
    if found := _named(vault):
        return found
    here = vault_here()
    return here if here and _is_trusted(here) else _home(dialect)


def left_out(vault: str) -> str:
    """A sentence on what hooks and MCP ignore in the working directory; empty if nothing.

    All of it where nobody trusted it, or its harmful keys where they changed since.
    """
    here = "" if vault else vault_here()
    if not here:
        return ""
    from commonplace.opening import find_root
    from commonplace.storage.trusted import command_for, lapsed
    from commonplace.trust.neutralise import one_line

    root = find_root(here)
    if _is_trusted(here):
        said = _keys_left_out(root)
    else:
        why = lapsed(root) or "nobody named or trusted it"
        said = f"{one_line(here)} looks like a vault, but {why}: it is left out."
    step = f"'{one_line(command_for(here))}' in a terminal trusts it; --vault names one."
    return said and f"{said} {step}"


def _keys_left_out(root: str) -> str:
    from commonplace.model.errors import CommonplaceError
    from commonplace.storage.option_files import load
    from commonplace.trust.neutralise import one_line

    try:
        said = load(root).distrusted
    except CommonplaceError:
        # Opening the vault says it.
        return ""
    return said and f"{one_line(root)}: {said}"


def command(vault: str) -> str:
    """How a person calls `commonplace` for a vault: by its path where it is not the usual one."""
    usual = vault_path(os.environ.get("COMMONPLACE_VAULT", ""), "")
    if vault == usual or (not is_url(vault) and _real(vault) == _real(usual)):
        return "commonplace"
    from shlex import quote

    from commonplace.model.options import shown_value

    return f"commonplace --vault {quote(str(shown_value(vault)))}"


def _real(path: str) -> str:
    from commonplace.opening import find_root

    return os.path.realpath(find_root(path) if os.path.isdir(path) else path)


def _named(vault: str) -> str:
    return vault if is_url(vault) else os.path.expanduser(vault)


def _home(dialect: str) -> str:
    return os.path.expanduser(HOMES.get(dialect, HOME))


def vault_here() -> str:
    """The working directory, if it is a vault; else empty."""
    here = _working_directory()
    return here if _is_vault(here) else ""


def _is_trusted(path: str) -> bool:
    from commonplace.opening import find_root
    from commonplace.storage.trusted import trusted

    return trusted(find_root(path)) is not None


def _is_vault(path: str) -> bool:
    """Whether a directory was made a vault, or holds what some dialect keeps its memory in."""
    if os.path.isdir(f"{path}/.commonplace") or os.path.isfile(f"{path}/commonplace.toml"):
        return True
    from commonplace.opening import has_layout

    try:
        return has_layout(path)
    except OSError:
        return False


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise VaultTrouble(
            "The working directory is gone.", next_step="Name the vault with --vault."
        ) from None


def open_vault(
    path: str,
    *,
    dialect: str,
    session: str,
    origin: str = "",
    for_tools: bool = False,
    environ: Mapping[str, str] = os.environ,
    **options: Any,
) -> Memory:
    """The vault at `path`, which must be there.

    `for_tools`: a dialect that is named means its tools; a vault stays what it is.
    """
    from commonplace.memory import Memory
    from commonplace.opening import has_layout

    environ = dict(environ)
    try:
        if for_tools and (is_url(path) or (os.path.isdir(path) and has_layout(path))):
            dialect = environ["COMMONPLACE_DIALECT"] = ""
        memory = Memory.open(
            path,
            dialect=_layout_dialect(dialect),
            session=session,
            origin=origin or _origin(),
            environ=environ,
            **options,
        )
    except NoSuchVault as error:
        raise NoSuchVault(error.path, dialect=dialect) from None
    except PermissionError as error:
        raise Unreadable(error.filename or path, "permission denied") from None
    if session and not origin and memory.origin == "owner" and memory.is_tainted:
        # A host started in a terminal speaks for a session that read untrusted text.
        memory.origin = "agent"
    return memory


def _layout_dialect(dialect: str) -> str | None:
    """The layout to open with. A dialect that brings only tools leaves the vault as it is."""
    from commonplace.markdown.layouts import SHARED

    return None if not dialect or dialect in SHARED else dialect


def _origin() -> str:
    """A person types at a terminal of their own; anything else is an agent's call."""
    if not (sys.stdin and sys.stdin.isatty()):
        return "agent"
    from commonplace.doors.caller import is_person

    return "owner" if is_person() else "agent"
