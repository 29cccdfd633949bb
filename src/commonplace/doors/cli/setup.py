"""The commands that connect clients: `setup` and `unsetup` say what changes, ask and write.

Setup alone lists the clients. It also copies what another memory holds, or switches it off.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors import which_vault
from commonplace.doors.cli.main import json_text, open_memory, show, vault_path
from commonplace.doors.cli.terminal import ask, at_terminal, paint
from commonplace.doors.cli.trust import trust_what_was_made
from commonplace.doors.setup import connections, other_memories
from commonplace.doors.setup.agents_file import AGENTS, TITLE
from commonplace.doors.setup.clients import CLIENTS
from commonplace.doors.setup.command import find_command
from commonplace.doors.setup.memory_entries import commands, counted, entries_of, shown, told
from commonplace.doors.setup.other_memories import OtherMemory
from commonplace.doors.setup.plan import SetupPlan
from commonplace.model.errors import BadValue, NoSuchVault, VaultTrouble
from commonplace.model.options import is_url
from commonplace.storage.state_places import own_place
from commonplace.tools.tool import Answer

if TYPE_CHECKING:
    from commonplace.doors.setup.connections import ClientState
    from commonplace.doors.setup.copying import CopyReport
    from commonplace.memory import Memory

NAMES = (*CLIENTS, AGENTS)
WHICH = f"which client; {AGENTS}: a block in a project's AGENTS.md, for clients without hooks"
COPY, OFF, BOTH = ("c", "copy"), ("o", "off"), ("b", "both")
"""Answers to what is to become of another memory."""


def setup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", choices=NAMES, help=f"{WHICH}; none: list the clients")
    _add_common(parser)
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
    parser.add_argument(
        "--copy-memory",
        nargs="*",
        metavar="NAME",
        help="copy what the client's other memories hold into the vault (default: all of them)",
    )
    parser.add_argument(
        "--switch-off-memory",
        nargs="*",
        metavar="NAME",
        help="switch the client's other memories off (default: all); 'unsetup' switches them on",
    )


def unsetup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", choices=NAMES, help=WHICH)
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--diff", action="store_true", help="show every line that changes")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument(
        "--project",
        nargs="?",
        const=".",
        metavar="DIR",
        help="for one project (default: this directory) instead of for all",
    )


def setup(arguments: argparse.Namespace) -> int:
    """Connect a client to this vault, after a summary of what changes; alone: list the clients.

    A client may have a second memory that is switched on: its own, or another memory server. Then
    setup says so, and copies what it holds or switches it off if you want that.
    """
    with open_memory(arguments) as memory:
        vault = connections.vault_of(memory)
        if not arguments.client:
            return _list(arguments, connections.clients_here(vault), vault, memory.shown)
        own = Path(memory.parts.own())
        return SetupRun(arguments, vault=vault, own=own, memory=memory).run(undo=False)


def unsetup(arguments: argparse.Namespace) -> int:
    """Take a client's set-up back, byte for byte where nobody changed the files since.

    Other memories that setup switched off are on again. The vault need not be there any more.
    """
    vault, own = _set_up_for(arguments)
    return SetupRun(arguments, vault=vault, own=own).run(undo=True)


def _set_up_for(arguments: argparse.Namespace) -> tuple[str, Path]:
    """The vault to take back, which may be gone, and where its receipts are."""
    gone = "" if arguments.vault else connections.gone_vault(arguments.client)
    if not gone:
        try:
            with open_memory(arguments) as memory:
                return connections.vault_of(memory), Path(memory.parts.own())
        except (NoSuchVault, VaultTrouble):
            gone = vault_path(arguments)
    vault = gone if is_url(gone) else os.path.realpath(gone)
    return vault, Path(own_place(vault, os.environ))


class SetupRun:
    """One `setup` or `unsetup` of a client: the plan is told, agreed to and written."""

    def __init__(
        self, arguments: argparse.Namespace, *, vault: str, own: Path, memory: Memory | None = None
    ) -> None:
        self.arguments = arguments
        self.client = str(arguments.client)
        in_project = self.client == AGENTS
        self.title = TITLE if in_project else CLIENTS[self.client].title
        self.vault = vault
        self.own = own
        self.memory = memory
        named = arguments.project or ("." if in_project else "")
        project = Path(named).expanduser().absolute() if named else None
        self.where = connections.here(project=project)
        self.data: dict[str, Any] = {"client": self.client}

    def run(self, *, undo: bool) -> int:
        """Do it, and say so. Returns the exit code."""
        planned = self._disconnecting() if undo else self._connecting()
        agreed = self._agreed(planned, "Write this?")
        if agreed:
            self._write(planned, undo=undo)
        written = agreed and bool(planned.changes)
        self.data |= _described(planned) | {"written": written}
        self._say(self._result(planned, undo=undo, written=written), *planned.notes)
        declined = bool(planned.changes) and not (written or self.arguments.dry_run)
        if not (undo or declined or self.client == AGENTS):
            self._see_to_others()
        if self.arguments.json:
            print(json_text(self.data))
        return 2 if declined else 0

    def _connecting(self) -> SetupPlan:
        chosen = self.arguments.plugin
        return connections.connecting(
            self.client,
            vault=self.vault,
            dialect=self.arguments.dialect,
            where=self.where,
            command=find_command(),
            hooks=self.arguments.hooks,
            plain=self.arguments.plain,
            plugin_directory=None if chosen is None else self._plugin_directory(chosen),
        )

    def _plugin_directory(self, chosen: str) -> Path:
        return Path(chosen).expanduser().absolute() if chosen else self.own / "plugin" / "claude"

    def _disconnecting(self) -> SetupPlan:
        return connections.disconnecting(self.client, own=self.own, where=self.where)

    def _write(self, planned: SetupPlan, *, undo: bool) -> None:
        if undo:
            connections.take_out(planned, own=self.own, where=self.where)
            return
        connections.carry_out(planned, own=self.own)
        if self.memory and not is_url(self.vault):
            trust_what_was_made(self.vault)

    def _result(self, planned: SetupPlan, *, undo: bool, written: bool) -> str:
        if not planned.changes:
            return f"{self.title} is {'not' if undo else 'already'} set up."
        if not written:
            return "Nothing was changed."
        if undo and (vault := planned.vault()):
            return f"{self.title} is set up for {vault} again, as it was before."
        return f"{self.title} is {'no longer' if undo else 'now'} set up."

    def _agreed(self, planned: SetupPlan, question: str) -> bool:
        """Whether the plan is to be carried out, after it was told."""
        arguments = self.arguments
        if planned.changes:
            self._say(*self._summary(planned))
            if arguments.diff:
                self._say(planned.diff())
        if arguments.dry_run or arguments.yes or not planned.changes:
            return not arguments.dry_run
        if not at_terminal():
            raise BadValue(
                "--yes",
                "without a terminal nobody can be asked",
                next_step="Repeat with --yes to write this, or with --dry-run --diff to see it.",
            )
        while (answer := ask(f"{question} [y/N, d: see every line] ")) in ("d", "diff"):
            print(planned.diff())
        return answer in ("y", "yes")

    def _summary(self, planned: SetupPlan) -> Iterator[str]:
        """Each file that changes, and what it is for."""
        yield f"{paint(self.title, 'bold')}: {planned.counted()}."
        for change in planned.changes:
            yield f"  {change.deed:<8} {shown(change.path, self.where)}"
            if change.about:
                yield " " * 11 + paint(change.about, "dim")

    def _see_to_others(self) -> None:
        """Copy other memories of the client, switch them off, or say that they are on."""
        arguments, found = self.arguments, other_memories.find(self.client, self.where)
        on = [each for each in found if each.on]
        copied, off = list[OtherMemory](), list[OtherMemory]()
        if arguments.copy_memory is not None:
            copied = other_memories.named(found, arguments.copy_memory)
        if arguments.switch_off_memory is not None:
            off = other_memories.named(on, arguments.switch_off_memory)
        untold = [each for each in on if each not in copied and each not in off]
        self.data["memories"] = [each.told() for each in on]
        for each in untold:
            answer = self._answer(each)
            copied += [each] * (answer in (*COPY, *BOTH))
            off += [each] * (answer in (*OFF, *BOTH))
        for each in copied:
            self._copy(each)
        if off:
            self._switch_off(off)

    def _answer(self, other: OtherMemory) -> str:
        """What the person wants to become of another memory; nothing where nobody is asked."""
        arguments, entries = self.arguments, entries_of(other, self.where)
        self._say(told(other, entries))
        if arguments.yes or arguments.dry_run or arguments.json or not at_terminal():
            self._say(commands(other, entries, vault=self.vault))
            return ""
        if not entries.found:
            return ask("Switch it [o]ff, or [l]eave it? [l] ")
        return ask(
            "[c]opy its entries into the vault, switch it [o]ff, [b]oth, or [l]eave it? [l] "
        )

    def _copy(self, other: OtherMemory) -> None:
        from commonplace.doors.setup.copying import copy_entries

        entries = entries_of(other, self.where)
        if entries.unread:
            self._say(f"Nothing was copied of {other.title}. {entries.unread}")
        elif self.arguments.dry_run or self.memory is None:
            self._say(f"{counted(len(entries.found))} of {other.title} would be copied.")
        else:
            report = copy_entries(self.memory, entries.found)
            self.data.setdefault("copied", {})[other.name] = asdict(report)
            self._say(*_copied(report, other))

    def _switch_off(self, others: Sequence[OtherMemory]) -> None:
        planned = other_memories.switching_off(others, client=self.client, where=self.where)
        agreed = self._agreed_to_switch(planned)
        if agreed:
            connections.carry_out(planned, own=self.own)
            self.data["switched_off"] = [each.name for each in others]
            names = ", ".join(each.title for each in others)
            undo = f"{which_vault.command(self.vault)} unsetup {self.client}"
            self._say(f"Switched off: {names}. '{undo}' undoes it.")

    def _agreed_to_switch(self, planned: SetupPlan) -> bool:
        """Who was asked about a memory has agreed; who gave the option may look first."""
        if self.arguments.switch_off_memory is None:
            return True
        return self._agreed(planned, "Switch it off?")

    def _say(self, *lines: str) -> None:
        if not self.arguments.json:
            print("\n".join(lines))


def _copied(report: CopyReport, other: OtherMemory) -> Iterator[str]:
    there = f", {report.there:,} there before" if report.there else ""
    yield f"Copied from {other.title}: {report.added:,} new{there}."
    if report.held:
        yield (
            f"{counted(report.held)} would tell agents what to do and wait for you: "
            "commonplace review"
        )
    yield from (f"Not copied: {each}" for each in report.refused[:5])
    if len(report.refused) > 5:
        yield f"… and {len(report.refused) - 5} more that were not copied."


def _described(planned: SetupPlan) -> dict[str, Any]:
    files = [
        {
            "path": str(change.path),
            "deed": change.deed,
            "about": change.about,
            "diff": change.diff(),
        }
        for change in planned.changes
    ]
    return {"files": files, "notes": list(planned.notes)}


def _list(
    arguments: argparse.Namespace, states: Sequence[ClientState], vault: str, shown_vault: str
) -> int:
    """The clients with their state, and the next command."""
    where = connections.here()
    lines = [paint("Clients that can use ", "bold") + shown_vault, ""]
    for each in states:
        if is_here(each):
            state = paint(in_words(each), "green" if each.connected else "yellow")
            lines.append(f"  {each.name:<9} {each.title:<12} {state}")
    missing = [each.name for each in states if not is_here(each)]
    lines += [paint(f"  not found here: {', '.join(missing)}", "dim")] if missing else []
    others = [other for each in states for other in each.memories]
    for other in others:
        entries = entries_of(other, where)
        lines += ["", told(other, entries), commands(other, entries, vault=vault)]
    lines += ["", _next(states, which_vault.command(vault))]
    show(Answer([each.told() for each in states], "\n".join(lines)), as_json=arguments.json)
    return 0


def is_here(client: ClientState) -> bool:
    """Whether there is anything to tell of a client."""
    return bool(client.installed or client.vault or client.trouble)


def in_words(client: ClientState) -> str:
    """The state of a client, for a person."""
    if client.trouble:
        return client.trouble
    if client.connected:
        return "connected"
    if client.vault:
        return f"connected to {client.vault}"
    return "installed, not connected" if client.installed else "not found here"


def _next(states: Sequence[ClientState], command: str) -> str:
    waiting = [each for each in states if each.installed and not each.connected]
    if waiting:
        return f"Next: {command} setup {waiting[0].name}"
    if any(each.installed for each in states):
        return "Every client that is installed here is connected."
    return (
        "No client was found on this machine. "
        f"Install one, or run '{command} setup CLIENT' all the same."
    )
