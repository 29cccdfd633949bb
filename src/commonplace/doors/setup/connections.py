"""Connections: which clients this machine has, which of them use a vault, and connecting one.

For the command line and for the page alike: values in, values out, nothing is asked or printed.

- `clients_here(vault)` lists every client that `setup` knows, with its state.
- `connecting(client, …)` and `disconnecting(client, …)` plan; a plan tells its files and its diff.
- `carry_out(plan, own=…)` and `take_out(plan, own=…, undone=…)` write it.
- `connect(memory, client)` and `disconnect(memory, client)` do both at once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.doors.setup import apply, clients, other_memories
from commonplace.doors.setup.agents_file import AGENTS
from commonplace.doors.setup.clients import CLIENTS, Where
from commonplace.doors.setup.command import find_command
from commonplace.doors.setup.config_files import vault_in
from commonplace.doors.setup.json_edit import Broken, WrongShape
from commonplace.doors.setup.other_memories import OtherMemory
from commonplace.doors.setup.plan import SetupPlan, plan, text_of, undoing, usual_targets
from commonplace.model.errors import BadValue, CommonplaceError
from commonplace.model.options import is_url, shown_value

if TYPE_CHECKING:
    from commonplace.memory import Memory


ALONE = "In this project it is left out: agents have the tools and memory of this vault alone."
BOTH = (
    "In this project agents have the tools of this vault, and are told the memory of both; each "
    "prompt takes twice as long. 'unsetup', here with --project or for all, leaves one."
)


class ClientState(Struct, frozen=True):
    """One client on this machine."""

    name: str
    """As `setup` takes it: "claude"."""
    title: str
    """As people call it: "Claude Code"."""
    installed: bool
    """Whether its command is on the path, or it has kept settings here."""
    connected: bool
    """Whether it uses the vault that was asked about."""
    vault: str
    """The vault that it uses through us, that one or another; empty when none."""
    files: tuple[str, ...]
    """The files in which our entry stands."""
    memories: tuple[OtherMemory, ...] = ()
    """Other memories that are switched on in it."""
    trouble: str = ""
    """Why its files could not be read; then nothing else is known of it."""

    def told(self) -> dict[str, Any]:
        """The state as plain data that may be shown."""
        memories = [each.told() for each in self.memories]
        return asdict(self) | {"vault": shown_value(self.vault), "memories": memories}


def here(environ: Mapping[str, str] = os.environ, *, project: Path | None = None) -> Where:
    """Where clients keep their files for the person who runs this."""
    return Where(Path.home(), environ, project)


def clients_here(vault: str, *, where: Where | None = None) -> list[ClientState]:
    """Every client that `setup` knows; those that are connected or installed come first.

    `vault` is the path or URL of the vault that is asked about.
    """
    found = [_state(name, vault, where or here()) for name in CLIENTS]
    return sorted(found, key=lambda each: (not each.connected, not each.installed))


def vault_of(memory: Memory) -> str:
    """What a client is told to open: a real path, or a URL."""
    return memory.place if is_url(memory.place) else str(memory.root.resolve())


def _state(name: str, vault: str, where: Where) -> ClientState:
    installed = _is_installed(name, where)
    try:
        used = _used(name, where)
    except (Broken, WrongShape, CommonplaceError) as error:
        return ClientState(
            name, CLIENTS[name].title, installed, False, "", (), trouble=_sentence(error)
        )
    same = [file for file, named in used.items() if _is_same(named, vault)]
    # Another vault's URL is only told: without its password.
    first = vault if same else str(shown_value(next(iter(used.values()), "")))
    others = other_memories.find(name, where) if installed or used else []
    memories = tuple(each for each in others if each.on)
    return ClientState(
        name, CLIENTS[name].title, installed, bool(same), first, tuple(same or used), memories
    )


def _sentence(error: Exception) -> str:
    return error.what if isinstance(error, CommonplaceError) else str(error)


def _is_installed(name: str, where: Where) -> bool:
    """Whether the client's command is on the path, or it has kept settings here."""
    anywhere = Where(where.home, where.environ, None, where.platform)
    own = CLIENTS[name].file(anywhere).parent
    if name == "claude":
        own = clients.claude_directory(where)
    return own.is_dir() or bool(
        shutil.which(CLIENTS[name].program, path=where.environ.get("PATH", ""))
    )


def _used(name: str, where: Where) -> dict[str, str]:
    """The files of a client that have our entry, with the vault that each names."""
    found: dict[str, str] = {}
    for target in usual_targets(name, where):
        text = text_of(target.path) if target.path.is_file() else None
        if text and (vault := vault_in(target.shape, text)):
            found[str(target.path)] = vault
    return found


def gone_vault(client: str, where: Where | None = None) -> str:
    """A vault that a client is connected to and that is not there any more; empty if none is."""
    used = _vaults(known(client), where or here())
    return next((each for each in used if not is_url(each) and not os.path.exists(each)), "")


def _vaults(client: str, where: Where) -> list[str]:
    """The vaults that a client is connected to; none where its files cannot be read."""
    try:
        return list(dict.fromkeys(_used(client, where).values()))
    except (Broken, WrongShape, CommonplaceError):
        return []


def _is_same(one: str, other: str) -> bool:
    if is_url(one) or is_url(other):
        return one == other
    return os.path.realpath(os.path.expanduser(one)) == os.path.realpath(os.path.expanduser(other))


def connecting(
    client: str,
    *,
    vault: str,
    dialect: str = "",
    where: Where | None = None,
    command: str = "",
    hooks: bool = True,
    plain: bool = False,
    plugin_directory: Path | None = None,
) -> SetupPlan:
    """What connecting a client to a vault would change; nothing, when it is connected like this."""
    where = where or here()
    planned = plan(
        known(client),
        home=where.home,
        project=where.project,
        command=command or find_command(),
        vault=vault if is_url(vault) else os.path.abspath(os.path.expanduser(vault)),
        dialect=dialect,
        environ=where.environ,
        hooks=hooks,
        plain=plain,
        plugin_directory=plugin_directory,
        platform=where.platform,
    )
    return replace(planned, notes=planned.notes + tuple(twice(client, where)))


def twice_here(where: Where) -> list[str]:
    """The same for every client that is set up in the project."""
    in_project = [client for client in CLIENTS if _vaults(client, where)]
    return [said for client in in_project for said in twice(client, where)]


def twice(client: str, where: Where) -> Iterator[str]:
    """A sentence on a client of a project that is set up for all projects too."""
    everywhere = Where(where.home, where.environ, None, where.platform)
    if client == AGENTS or not where.project:
        return
    for vault in _vaults(client, everywhere):
        title, shown = CLIENTS[client].title, shown_value(vault)
        here = ALONE if client == "claude" else BOTH
        yield f"{title} is also set up for all projects, with the vault {shown}. {here}"


def disconnecting(client: str, *, own: Path, where: Where | None = None) -> SetupPlan:
    """What disconnecting a client would change: its files as they were, other memories on again.

    `own` is where the receipts of the vault are: `memory.parts.own()`.
    """
    where = where or here()
    return undoing(
        known(client),
        home=where.home,
        project=where.project,
        environ=where.environ,
        receipts=apply.receipts_in(own, client, where.project),
        platform=where.platform,
    )


def carry_out(planned: SetupPlan, *, own: Path) -> None:
    """Write a plan, with receipts by which it is undone byte for byte."""
    if planned.changes:
        apply.set_up(planned, state=own)


def take_out(planned: SetupPlan, *, own: Path, where: Where | None = None) -> None:
    """Write a plan of `disconnecting`."""
    project = (where or here()).project
    apply.take_back(planned, state=own, undone=apply.receipts_in(own, planned.client, project))


def connect(memory: Memory, client: str, *, where: Where | None = None) -> SetupPlan:
    """Connect a client to a vault. Returns what was changed; `notes` are for the person."""
    planned = connecting(client, vault=vault_of(memory), where=where)
    carry_out(planned, own=Path(memory.parts.own()))
    return planned


def disconnect(memory: Memory, client: str, *, where: Where | None = None) -> SetupPlan:
    """Take a client's connection back. Returns what was changed."""
    own = Path(memory.parts.own())
    planned = disconnecting(client, own=own, where=where)
    take_out(planned, own=own, where=where)
    return planned


def switch_off(
    memory: Memory, client: str, names: tuple[str, ...] = (), *, where: Where | None = None
) -> SetupPlan:
    """Switch other memories of a client off, or those named. `disconnect` switches them on."""
    where = where or here()
    on = [each for each in other_memories.find(known(client), where) if each.on]
    wanted = other_memories.named(on, names)
    planned = other_memories.switching_off(wanted, client=client, where=where)
    carry_out(planned, own=Path(memory.parts.own()))
    return planned


def known(client: str) -> str:
    """The name of a client, or of a file for several, which must be one that setup knows."""
    names = (*CLIENTS, AGENTS)
    if client not in names:
        raise BadValue("client", f"there is no {client!r}", next_step=f"Use {', '.join(names)}.")
    return client
