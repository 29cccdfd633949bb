"""The command `status`: a person's page at a terminal, every value where it is piped or JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.doors import which_vault
from commonplace.doors.cli.main import is_for_eyes, open_memory, show
from commonplace.doors.cli.pages import heading
from commonplace.doors.cli.terminal import paint
from commonplace.doors.cli.wrapping import below, columns
from commonplace.doors.setup.connections import vault_of
from commonplace.model.errors import BadOption
from commonplace.model.options import Options
from commonplace.tools.tool import Answer

if TYPE_CHECKING:
    from commonplace.memory import Memory

WIDEST = 100
GAP = 12
"""Columns of the names on a person's page."""
MOST_KINDS = 5
SERVE = "serve --open"
LINK = "serve --link"


def status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--options", action="store_true", help="list every option as well")


def status(arguments: argparse.Namespace) -> int:
    """Show what the vault holds, where its page is, which clients use it and what waits for you."""
    try:
        with open_memory(arguments) as memory:
            data = memory.status() | _around(memory)
            command = which_vault.command(vault_of(memory))
            if arguments.options:
                data["options"] = memory.options.described()
    except BadOption as error:
        if not arguments.options:
            raise
        # Whoever has a bad option looks here for what it should be.
        data, command = {"trouble": error.what, "options": Options().described()}, ""
    for_eyes = is_for_eyes(arguments) and "records" in data
    lines = list(_page(data, command) if for_eyes else _every_value(data))
    for option in data.get("options", ()):
        about = paint(f"# {option['description']}", "dim")
        lines.append(f"{option['name']} = {json.dumps(option['value'])}  {about}")
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


def _around(memory: Memory) -> dict[str, Any]:
    """What is around a vault: its page, the clients that use it, and what waits for a person."""
    from commonplace.doors.cli.serve import running_page
    from commonplace.doors.setup.connections import clients_here
    from commonplace.upkeep.jobs import NOTHING
    from commonplace.upkeep.schedule import last_runs

    scan = last_runs(memory.notes).get("scan")
    findings = scan.what if scan and scan.outcome == "done" and scan.what != NOTHING else ""
    found = clients_here(vault_of(memory))
    return {
        "page": running_page(memory.place),
        "clients": [each.name for each in found if each.connected],
        "other clients": [each.name for each in found if each.installed and not each.connected],
        "other memories": [
            other.title for each in found if each.connected for other in each.memories
        ],
        "waiting": {
            "review": len(memory.review()),
            "notices": len(memory.notices()),
            "findings": findings,
        },
    }


def _every_value(data: Mapping[str, Any]) -> Iterator[str]:
    """One value a line, by name."""
    width = max(map(len, data))
    for name, value in data.items():
        if name != "options":
            yield f"{name:>{width}}  {_plain(value)}"


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value) or "none"


def _page(data: Mapping[str, Any], command: str) -> Iterator[str]:
    """What a person wants to know, in their words; the rest is in --json."""
    read_only = ", read-only" * data["read only"]
    yield from heading(str(data["vault"]) + read_only, "bold")
    rows = {
        "Memories": [_memories(data)],
        "Page": [_where_the_page_is(data, command)],
        "Clients": [*_clients(data, command)],
        "Paused": data["paused"],
        "Waiting": [*_waiting(data["waiting"], command)] or ["Nothing waits for you."],
        "Trouble": [str(each) for each in data["troubles"]],
    }
    width = min(columns(), WIDEST)
    for name, sentences in rows.items():
        for number, sentence in enumerate(sentences):
            first = "" if number else name
            colour = {"Trouble": "red", "Paused": "yellow"}.get(name, "dim")
            head, *more = below(first, sentence, indent=0, gap=GAP, width=width)
            yield head.replace(first, paint(first, colour), 1) if first else head
            yield from more
    yield from heading(f"'{command} status --json' tells the rest.", "dim")


def _memories(data: Mapping[str, Any]) -> str:
    kinds = list(data["kinds"].items())
    others = sum(count for _, count in kinds[MOST_KINDS:])
    said = ", ".join(f"{count:,} {kind}" for kind, count in kinds[:MOST_KINDS])
    said += f" and {others:,} of other kinds" if others else ""
    messages = data["messages"] if isinstance(data["messages"], int) else 0
    told = f"; {_counted(messages, 'message')} of conversations" if messages else ""
    documents = _counted(data["documents"], "document")
    total = _counted(data["records"], "memory", "memories")
    return f"{total} in {documents}{f' ({said})' if said else ''}{told}.{_left_out(data)}"


def _left_out(data: Mapping[str, Any]) -> str:
    """What is there and not counted, and what is counted though its time is over."""
    replaced, over = data["replaced"], data["over"]
    said = f" Not counted: {replaced:,} replaced." if replaced else ""
    return said + (f" Of them {over:,} {'is' if over == 1 else 'are'} over." if over else "")


def _where_the_page_is(data: Mapping[str, Any], command: str) -> str:
    if data["page"]:
        return f"{data['page']} is running; '{command} {LINK}' prints a link that lets you in."
    return f"Not running. '{command} {SERVE}' starts it and opens it in your browser."


def _clients(data: Mapping[str, Any], command: str) -> Iterator[str]:
    connected = _listed(data["clients"], "is connected", "are connected")
    yield f"{connected or 'None is connected'}."
    others: Sequence[str] = data["other clients"]
    if others:
        said = _listed(others, "is installed", "are installed")
        yield f"{said}, not connected: '{command} setup {others[0]}' connects it."
    for title in data["other memories"]:
        yield f"{title[:1].upper()}{title[1:]} is on as well: '{command} setup' says more."


def _listed(names: Sequence[str], one: str, several: str) -> str:
    from commonplace.doors.setup.clients import CLIENTS

    titles = [CLIENTS[name].title for name in names]
    if not titles:
        return ""
    if len(titles) == 1:
        return f"{titles[0]} {one}"
    return f"{', '.join(titles[:-1])} and {titles[-1]} {several}"


def _waiting(waiting: Mapping[str, Any], command: str) -> Iterator[str]:
    if count := waiting["review"]:
        wait = "waits" if count == 1 else "wait"
        yield f"{_counted(count, 'memory', 'memories')} {wait} for your word: {command} review"
    if count := waiting["notices"]:
        yield f"{_counted(count, 'notice')} about edits: {command} doctor"
    if said := waiting["findings"]:
        yield f"Upkeep found {said}."


def _counted(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"
