"""Read what another memory holds, where it is plain text or JSON lines, as entries to be copied.

It reads files of other programs and changes none of them. What a store says is not believed: who
copies an entry marks it as imported, and an entry that tells agents what to do waits for a person.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from commonplace.doors import which_vault
from commonplace.doors.setup import clients
from commonplace.doors.setup.clients import Where
from commonplace.doors.setup.other_memories import OWN, OtherMemory, data_of
from commonplace.model.clock import stamp

LONGEST = 1 << 20
"""Bytes of one file that are read."""
MOST = 10_000
"""Entries of one memory."""
FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?)^---[ \t]*\r?\n", re.DOTALL | re.MULTILINE)
FIELD = re.compile(r"^[ \t]*([A-Za-z_]+)[ \t]*:[ \t]*(.+?)[ \t\r]*$", re.MULTILINE)
HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*$")
ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+(.*)")
POINTER = re.compile(r"\[[^\]]*\]\([^)]*\.md\)")
"""A line of an index, which only leads to a file."""
OBSERVATION = re.compile(r"[-*]\s+\[([^\]]+)\]\s+(.+)")
"""How basic-memory writes one: its category, then what is so."""
KINDS = {
    "user": "fact",
    "feedback": "preference",
    "project": "context",
    "reference": "fact",
    "preference": "preference",
    "decision": "decision",
    "fact": "fact",
    "rule": "instruction",
    "requirement": "instruction",
}
"""What other memories call their kinds, and what they are here."""
ORDER = re.compile(
    r"\b(always|never|must(?:n't)?|don'?t|do not|ignore|disregard|from now on|make sure|you should"
    r"|instead of asking|without asking|run|execute|immer|niemals|toujours|siempre)\b",
    re.IGNORECASE,
)
"""Words by which a text tells an agent what to do, whatever its store calls it."""
SPOKEN = {
    "mem0": "Its entries are in its own database or on its makers' servers",
    "mcp-memory-service": "Its entries are in a database of its own",
    "claude-mem": "Its entries are in a database of its own",
    "memsearch": "Its notes are in each project, below .memsearch/memory",
}
"""Where entries are that we do not read."""


class MemoryEntry(Struct, frozen=True):
    """One thing that another memory holds."""

    text: str
    kind: str
    file: str
    """The file that it came from, as a person would name it: below their home, with ~."""
    at: str = ""
    """When that file was written."""


class Entries(Struct, frozen=True):
    """What another memory holds, as far as it can be read."""

    found: tuple[MemoryEntry, ...] = ()
    unread: str = ""
    """Why it cannot be read, in a sentence; empty where it can."""


def entries_of(memory: OtherMemory, where: Where) -> Entries:
    """What another memory holds, or why that cannot be told."""
    readers = {
        ("claude", OWN): _of_claude,
        ("codex", OWN): _of_codex,
    }
    reader = readers.get((memory.client, memory.kind)) or {
        "server-memory": _of_server_memory,
        "basic-memory": _of_basic_memory,
    }.get(memory.kind)
    if reader is None:
        place = SPOKEN.get(memory.kind, "Where it keeps its entries is not known")
        return Entries(unread=f"{place}, which Commonplace does not read: export them there.")
    found = {entry.text: entry for entry in reader(memory, where) if entry.text.strip()}
    return Entries(tuple(found.values())[:MOST])


def told(other: OtherMemory, entries: Entries) -> str:
    """That another memory is switched on, and what it holds."""
    holds = f" and holds {counted(len(entries.found))}" if entries.found else ""
    return f"{_capital(other.title)} is switched on as well{holds}."


def commands(other: OtherMemory, entries: Entries, *, vault: str) -> str:
    """How to copy what another memory holds into a vault, and to switch it off."""
    command = f"{which_vault.command(vault)} setup {other.client}"
    off = f"'{command} --switch-off-memory {other.name}' switches it off"
    if entries.found:
        return f"'{command} --copy-memory {other.name}' copies it into the vault; {off}."
    return f"{off}.{f' {entries.unread}' * bool(entries.unread)}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def counted(count: int) -> str:
    """A number of entries, in words."""
    return "1 entry" if count == 1 else f"{count:,} entries"


def _of_claude(_: OtherMemory, where: Where) -> Iterator[MemoryEntry]:
    """One fact a file, with its kind in front; the index beside them, or all in it as before."""
    for directory in _claudes_directories(where):
        files = _markdown_below(directory)
        for path in files:
            text = _text(path)
            if path.name == "MEMORY.md":
                yield from _pieces(path, text, where)
            else:
                yield from _whole(path, text, where)


def _claudes_directories(where: Where) -> Iterator[Path]:
    projects = clients.claude_directory(where) / "projects"
    if projects.is_dir():
        yield from sorted(each / "memory" for each in projects.iterdir())
    settings = data_of(clients.claude_own_settings(where), clients.hooks_shape("claude"))
    named = settings.get("autoMemoryDirectory")
    if isinstance(named, str) and named:
        yield where.home / re.sub(r"^~[/\\]", "", named)


def _of_codex(_: OtherMemory, where: Where) -> Iterator[MemoryEntry]:
    """What Codex made of its threads, and notes beside it; not the raw notes it made that from."""
    directory = clients.codex_directory(where) / "memories"
    made_from = {"raw_memories.md", "memory_summary.md"}
    files = [path for path in _markdown_below(directory) if path.parent == directory]
    if not any(path.name == "MEMORY.md" for path in files):
        made_from.remove("memory_summary.md")
    for path in files:
        if path.name not in made_from:
            yield from _pieces(path, _text(path), where)


def _of_server_memory(memory: OtherMemory, where: Where) -> Iterator[MemoryEntry]:
    """A graph as JSON lines: things with what was observed of them, and what joins them."""
    for path in _graph_files(memory, where):
        for line in _text(path).splitlines():
            for text in _of_graph(_parsed(line)):
                yield _entry(text, path, where)


def _graph_files(memory: OtherMemory, where: Where) -> list[Path]:
    env = memory.entry.get("env") or memory.entry.get("environment")
    named = env.get("MEMORY_FILE_PATH") if isinstance(env, dict) else ""
    if named:
        return [where.home / re.sub(r"^~[/\\]", "", str(named))]
    package = "_npx/*/node_modules/@modelcontextprotocol/server-memory/dist"
    found = (where.home / ".npm").glob(f"{package}/memory.json*")
    return sorted(found)


def _of_graph(said: Any) -> Iterator[str]:
    if not isinstance(said, dict):
        return
    if said.get("type") == "entity" and isinstance(said.get("observations"), list):
        yield from (f"{said.get('name')}: {each}" for each in said["observations"])
    elif said.get("type") == "relation":
        yield " ".join(str(said.get(key, "")) for key in ("from", "relationType", "to"))


def _of_basic_memory(_: OtherMemory, where: Where) -> Iterator[MemoryEntry]:
    """Notes with observations in them; a note without any is one entry."""
    for root in _basic_memory_roots(where):
        for path in _markdown_below(root):
            text = _text(path)
            fields, body = _fields(text)
            title = fields.get("title", path.stem)
            seen = OBSERVATION.findall(body)
            for category, said in seen:
                kind = KINDS.get(category.casefold(), "note")
                yield _entry(f"{title}: {said}", path, where, kind=kind)
            if not seen:
                yield from _whole(path, text, where)


def _basic_memory_roots(where: Where) -> list[Path]:
    config = _parsed(_text(where.home / ".basic-memory" / "config.json"))
    projects = config.get("projects") if isinstance(config, dict) else None
    named = projects.values() if isinstance(projects, dict) else ()
    paths = [each.get("path") if isinstance(each, dict) else each for each in named]
    roots = [where.home / re.sub(r"^~[/\\]", "", path) for path in paths if isinstance(path, str)]
    return roots or [where.home / "basic-memory"]


def _whole(path: Path, text: str, where: Where) -> Iterator[MemoryEntry]:
    """A file that is one entry: its text, or its description where it says no more."""
    fields, body = _fields(text)
    kind = KINDS.get(fields.get("type", "").casefold(), "note")
    yield _entry(body.strip() or fields.get("description", ""), path, where, kind=kind)


def _pieces(path: Path, text: str, where: Where) -> Iterator[MemoryEntry]:
    """The items and paragraphs of a file, each under its heading; not the lines of an index."""
    for heading, said in _blocks(_fields(text)[1].splitlines()):
        if not POINTER.search(said):
            yield _entry(f"{heading}: {said}" if heading else said, path, where)


def _blocks(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each item or paragraph with the heading above it."""
    heading, gathered = "", list[str]()
    for line in [*lines, ""]:
        title, item = HEADING.match(line), ITEM.match(line)
        if gathered and (title or item or not line.strip()):
            yield heading, " ".join(gathered)
            gathered = []
        if title:
            heading = title[1]
        elif line.strip():
            gathered.append((item[1] if item else line).strip())


def _fields(text: str) -> tuple[dict[str, str], str]:
    """The simple fields in front of a text, and the text behind them."""
    found = FRONT.match(text)
    if not found:
        return {}, text
    fields = {name.casefold(): said.strip("\"'") for name, said in FIELD.findall(found[1])}
    return fields, text[found.end() :]


def _entry(text: str, path: Path, where: Where, *, kind: str = "fact") -> MemoryEntry:
    text = text.strip()
    if ORDER.search(text) and kind != "preference":
        kind = "instruction"
    return MemoryEntry(text, kind, shown(path, where), _written_at(path))


def shown(path: Path, where: Where) -> str:
    """A path as a person would name it."""
    try:
        return f"~/{path.relative_to(where.home).as_posix()}"
    except ValueError:
        return str(path)


def _written_at(path: Path) -> str:
    try:
        return stamp(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    except (OSError, ValueError, OverflowError):
        return ""


def _markdown_below(directory: Path) -> list[Path]:
    """The markdown files below a directory; links are not followed, nor hidden directories."""
    found = list[Path]()
    for above, below, names in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith("."))
        found += (Path(above, name) for name in sorted(names) if name.endswith(".md"))
    return found


def _text(path: Path) -> str:
    """The text of a plain file; nothing of a link, of what is no text or of what is too long."""
    try:
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LONGEST:
            return ""
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
