"""Clients over HTTP: which are on this machine, which use the vault, and connecting one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from commonplace.doors.http.routes import route
from commonplace.memory import Memory
from commonplace.model.errors import Refused
from commonplace.model.records import Origin
from commonplace.tools.tool import Argument

Client = Annotated[str, Argument("as 'commonplace setup' takes it, such as claude", max_length=40)]


@route("GET", "/clients", scope="admin")
def list_clients(memory: Memory) -> Any:
    """Every client that Commonplace can be set up in, those that use this vault first."""
    from commonplace.doors.setup.connections import clients_here, vault_of

    _check_person(memory)
    vault = vault_of(memory)
    return {"clients": [_shown(each, vault) for each in clients_here(vault)]}


def _shown(state: Any, vault: str) -> dict[str, Any]:
    return {
        "name": state.name,
        "title": state.title,
        "installed": state.installed,
        "connected": state.connected,
        "elsewhere": state.vault if state.vault != vault else "",
        "files": list(state.files),
        "memories": [{"name": each.name, "title": each.title} for each in state.memories],
        "trouble": state.trouble,
    }


@route("GET", "/clients/{client}", scope="admin")
def show_connecting(
    memory: Memory,
    client: Client,
    disconnect: Annotated[bool, Argument("what disconnecting would change instead")] = False,
) -> Any:
    """What connecting a client would change, file by file."""
    from commonplace.doors.setup import connections

    _check_person(memory)
    if disconnect:
        planned = connections.disconnecting(client, own=Path(memory.parts.own()))
    else:
        planned = connections.connecting(client, vault=connections.vault_of(memory))
    return _planned(planned)


@route("POST", "/clients/{client}/connect", scope="admin")
def connect_client(memory: Memory, client: Client) -> Any:
    """Connect a client to this vault; its files are changed, and can be changed back."""
    from commonplace.doors.setup import connections

    _check_person(memory)
    return _planned(connections.connect(memory, client))


@route("POST", "/clients/{client}/disconnect", scope="admin")
def disconnect_client(memory: Memory, client: Client) -> Any:
    """Take a client's connection back: its files say what they said before."""
    from commonplace.doors.setup import connections

    _check_person(memory)
    return _planned(connections.disconnect(memory, client))


def _planned(planned: Any) -> dict[str, Any]:
    return {
        "client": planned.client,
        "files": planned.counted(),
        "diff": planned.diff(),
        "notes": list(planned.notes),
    }


def _check_person(memory: Memory) -> None:
    """A client's settings are the person's own files: no token reads or writes them."""
    if memory.origin != Origin.OWNER:
        raise Refused(
            "Only you, logged in on the page, may see and connect clients.",
            next_step="'commonplace setup' does it in a terminal.",
        )
