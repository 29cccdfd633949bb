"""Other memories of a client: its own, and memory servers and plugins beside ours.

Two memories that do not know each other tell an agent two things. So a person is told of the other
one, and may copy what it holds (`memory_entries`) or switch it off: a switch is one value of the
client's settings, which `unsetup` sets back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from commonplace.doors.setup import clients
from commonplace.doors.setup.clients import CLIENTS, Where
from commonplace.doors.setup.config_files import NAME, Shape, Switch, Target, value_at, values
from commonplace.doors.setup.json_edit import Broken
from commonplace.doors.setup.plan import SetupPlan, changes_of, text_of
from commonplace.model.errors import CommonplaceError, NotFound

KNOWN = {
    "server-memory": r"server-memory\b|\bmcp/memory\b",
    "basic-memory": r"\bbasic[-_]memory\b",
    "mcp-memory-service": r"\bmcp[-_]memory[-_]service\b|\bmemory[-_]service\b",
    "mem0": r"\bmem0|\bopenmemory\b",
    "claude-mem": r"\bclaude[-_]mem\b",
    "memsearch": r"\bmemsearch\b",
    "letta": r"\bletta\b|\bmemgpt\b",
    "zep": r"\bzep\b|\bgraphiti\b",
    "cognee": r"\bcognee\b",
    "supermemory": r"\bsupermemory\b",
}
"""The memory servers that people use, by what their commands, addresses or names have in them."""
ANY_MEMORY = re.compile(r"(?:^|[-_ ./@])(memory|memories|remember)(?:$|[-_ ./@])", re.IGNORECASE)
"""A name that says what the server is, though we do not know it."""
OWN = "own"
"""The name of a client's own memory, which no server has."""
DISABLING: Mapping[str, tuple[str, bool]] = {
    "codex": ("enabled", False),
    "opencode": ("enabled", False),
    "cline": ("disabled", True),
}
"""The key by which a client switches a server off. The others know none: there the entry goes."""


class OtherMemory(Struct, frozen=True):
    """A memory that a client has beside ours."""

    client: str
    """The client's name, as `setup` takes it."""
    name: str
    """What tells it from the others of the client: `own`, or the server's or plugin's name."""
    title: str
    """What it is, for a sentence: "Claude Code's own memory"."""
    kind: str
    """`own`, one of the known servers (`mem0` …), or `server` for one that we do not know."""
    settings: str
    """The file that switches it on."""
    keys: tuple[str, ...]
    """The value in that file that switches it."""
    off: Any = None
    """What that value is when it is off; None: it is taken out."""
    on: bool = True
    """Whether it is switched on; what it holds can be copied either way."""
    entry: Mapping[str, Any] = {}
    """The server as the file has it: its command, arguments and variables, which may be secret."""

    def told(self) -> dict[str, Any]:
        """What may be shown of it: no variables, in which people keep keys."""
        names = ("client", "name", "title", "kind", "settings", "on")
        return {name: getattr(self, name) for name in names}


def find(client: str, where: Where) -> list[OtherMemory]:
    """The other memories of a client, on or off. A file that is broken tells nothing."""
    found = [*_own(client, where), *_servers(client, where)]
    return found + list(_plugins(where)) if client == "claude" else found


def switching_off(memories: Iterable[OtherMemory], *, client: str, where: Where) -> SetupPlan:
    """What switching memories of a client off would change in its files."""
    by_file: dict[str, list[Switch]] = {}
    for each in memories:
        by_file.setdefault(each.settings, []).append(Switch(each.keys, each.off))
    targets = [
        Target(Path(file), _shape(client, file, where), switches=tuple(switches), about=OFF)
        for file, switches in by_file.items()
    ]
    return SetupPlan(client, changes_of(targets, where.project))


OFF = "switches the other memory off"


def named(memories: Iterable[OtherMemory], names: Iterable[str]) -> list[OtherMemory]:
    """The memories of these names, or all of them where none is named."""
    known = {each.name: each for each in memories}
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none"
            raise NotFound(
                f"There is no other memory {name!r} to do that with.",
                next_step=f"There is: {there}.",
            )
    return [known[name] for name in names] or list(known.values())


def _shape(client: str, file: str, where: Where) -> Shape:
    """The form of one file of a client."""
    return CLIENTS[client].shape if file == str(CLIENTS[client].file(where)) else _plain(client)


def _plain(client: str) -> Shape:
    return clients.hooks_shape(client)


def data_of(path: Path, shape: Shape) -> dict[str, Any]:
    """What a file of a client says; nothing where there is none, or it cannot be read."""
    try:
        return values(shape, text_of(path) or "")
    except (Broken, CommonplaceError):
        return {}


def _own(client: str, where: Where) -> Iterator[OtherMemory]:
    if client == "claude":
        yield from _claudes_own(where)
    elif client == "codex":
        yield from _codexs_own(where)


def _claudes_own(where: Where) -> Iterator[OtherMemory]:
    """On by default: one fact a file, for each project, below its directory."""
    file = clients.claude_settings(where)
    said = [data_of(each, _plain("claude")) for each in (clients.claude_own_settings(where), file)]
    is_off = any(each.get("autoMemoryEnabled") is False for each in said)
    unwanted = where.environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").strip() not in ("", "0")
    yield OtherMemory(
        client="claude",
        name=OWN,
        title="Claude Code's own memory",
        kind=OWN,
        settings=str(file),
        keys=("autoMemoryEnabled",),
        off=False,
        on=not (is_off or unwanted),
    )


def _codexs_own(where: Where) -> Iterator[OtherMemory]:
    """Off by default; the feature had another name once."""
    file = CLIENTS["codex"].file(where)
    features = value_at(data_of(file, CLIENTS["codex"].shape), ("features",))
    on = [key for key in ("memories", "memory_tool") if value_at(features, (key,)) is True]
    if on or (clients.codex_directory(where) / "memories").is_dir():
        yield OtherMemory(
            client="codex",
            name=OWN,
            title="Codex's own memory",
            kind=OWN,
            settings=str(file),
            keys=("features", on[0] if on else "memories"),
            off=False,
            on=bool(on),
        )


def _servers(client: str, where: Where) -> Iterator[OtherMemory]:
    """Memory servers among those that the client's file names, also for single projects."""
    known, file = CLIENTS[client], CLIENTS[client].file(where)
    data = data_of(file, known.shape)
    above: list[tuple[str, ...]] = [()]
    if client == "claude" and isinstance(data.get("projects"), dict):
        above += [("projects", project) for project in data["projects"]]
    for keys in above:
        servers = value_at(data, (*keys, known.shape.key))
        for name, entry in (servers if isinstance(servers, dict) else {}).items():
            if isinstance(entry, dict) and name != NAME:
                path = (*keys, known.shape.key, name)
                yield from _server(client, name, entry, str(file), path)


def _is_on(entry: Mapping[str, Any]) -> bool:
    return entry.get("enabled") is not False and entry.get("disabled") is not True


def _server(
    client: str, name: str, entry: Mapping[str, Any], file: str, keys: tuple[str, ...]
) -> Iterator[OtherMemory]:
    kind = kind_of(name, entry)
    if kind:
        key, off = DISABLING.get(client, ("", None))
        project = f" of {keys[1]}" if keys[0] == "projects" else ""
        yield OtherMemory(
            client=client,
            name=name,
            title=f"the memory server “{name}”{project}",
            kind=kind,
            settings=file,
            keys=(*keys, key) if key else keys,
            off=off,
            on=_is_on(entry),
            entry=entry,
        )


def kind_of(name: str, entry: Mapping[str, Any]) -> str:
    """Which memory server an entry is: a known one, `server` by its name, or none at all."""
    said = " ".join(map(str, _words_of(name, entry)))
    for kind, pattern in KNOWN.items():
        if re.search(pattern, said, re.IGNORECASE):
            return kind
    return "server" if ANY_MEMORY.search(name) else ""


def _words_of(name: str, entry: Mapping[str, Any]) -> Iterator[Any]:
    """What names a server: never its variables, which hold keys."""
    yield name
    for key in ("command", "args", "url", "httpUrl", "serverUrl"):
        said = entry.get(key, ())
        yield from said if isinstance(said, list) else (said,)


def _plugins(where: Where) -> Iterator[OtherMemory]:
    """Claude Code's plugins that are known memories."""
    file = clients.claude_settings(where)
    enabled = data_of(file, _plain("claude")).get("enabledPlugins")
    for name, is_on in (enabled if isinstance(enabled, dict) else {}).items():
        kind = kind_of(name.partition("@")[0], {})
        if kind and not name.startswith(f"{NAME}@"):
            yield OtherMemory(
                client="claude",
                name=name.partition("@")[0],
                title=f"the plugin “{name.partition('@')[0]}”",
                kind=kind,
                settings=str(file),
                keys=("enabledPlugins", name),
                off=False,
                on=is_on is True,
            )
