"""Makes a vault: the first documents of each layout, and the file that keeps them out of git.

It does not know who asks, nor whether there should be a vault at all.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from commonplace.markdown.layouts import Layout, layout_named
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue
from commonplace.model.records import OWNER
from commonplace.opening import find_root, make_directory
from commonplace.storage import machine_files
from commonplace.storage.journal import Op, Text
from commonplace.storage.option_files import FILE

SETTINGS = """\
# Options of this vault; 'commonplace status --options' lists them all with what they do.
dialect = "{dialect}"
"""
IGNORED = {
    "native": (
        ".",
        [
            "SOUL.md",
            "USER.md",
            "MEMORY.md",
            "LONGMEMORY.md",
            "STATUS.md",
            "memory/",
            "diary/",
            "archive/",
            ".commonplace/",
            "commonplace.toml",
        ],
    ),
    "earl": (".", ["SOUL.md", "USER.md", "????-??-??.md", ".commonplace/"]),
    "journal": ("..", ["memories/"]),
    "notebook": ("..", ["data/"]),
    "claw": (".", ["MEMORY.md", "LONGMEMORY.md", "memory/", "tmp/", ".commonplace/"]),
}
"""For each layout where its .gitignore is, seen from the vault, and what it must say."""


class Beginning(Struct, frozen=True):
    """A vault that was made, and the files that are new in it."""

    shown: str
    """Where it is, as it may be printed."""
    layout: Layout
    created: tuple[str, ...]
    """The files that are new, or say something for the first time."""
    filled: tuple[str, ...] = ()
    """Of these, the documents that say what the person answered."""


def begin(
    path: Path, *, dialect: str, clock: Clock | None = None, texts: Mapping[str, str] | None = None
) -> Beginning:
    """Make a vault at `path`, or complete the one that is there. Nothing is overwritten.

    `texts` are what documents say at first, where they say nothing yet.
    """
    layout = layout_named(dialect or "native")
    root = root_of(path, layout)
    check_place(root)
    make_directory(root)
    alone = not any(root.iterdir())
    with Memory.open(root, dialect=layout.name, origin=OWNER.origin, clock=clock) as memory:
        settings = write_settings(root, layout, alone=alone)
        written = _write_documents(memory, texts or {})
    filled = tuple(name for name in written if name in (texts or {}))
    return Beginning(str(root), layout, (*settings, *written), filled)


def check_place(root: Path) -> None:
    """A file where the vault, or a directory above it, should be cannot be completed."""
    there = next(path for path in (root, *root.parents) if path.exists())
    if not there.is_dir():
        raise BadValue("path", f"{there} is a file", next_step="Name a directory, or a new one.")


def begin_at(url: str, *, dialect: str) -> Beginning:
    """Make a vault in PostgreSQL, or complete the one that is there."""
    with Memory.open(url, dialect=dialect or None, origin=OWNER.origin, create=True) as memory:
        return Beginning(memory.shown, memory.layout, tuple(_write_documents(memory, {})))


def _write_documents(memory: Memory, said: Mapping[str, str]) -> list[str]:
    library = memory.library

    def now(name: str) -> bytes | None:
        return library.read(name) if library.look(name) else None

    def work() -> list[str]:
        library.take_in_changes()
        wanted = _first_documents(memory.layout) | dict(said)
        there = {name: now(name) for name in wanted}
        missing = [name for name in wanted if _lacks(there[name], wanted[name])]
        texts = {name: (there[name], wanted[name].encode()) for name in missing}
        # As whole texts: what is appended would be put back by whoever saves over it unread.
        changes = [Text(name, library.keep(text)) for name, (_, text) in texts.items()]
        if missing:
            library.replace_texts(library.entry(Op.INIT, changes, author=OWNER), texts)
        return missing

    return library.locked(work)


def _lacks(there: bytes | None, wanted: str) -> bool:
    """Whether a document is missing, or says nothing where there is something to say."""
    return there is None or (bool(wanted) and not there.strip())


def root_of(path: Path, layout: Layout) -> Path:
    """Where the vault is: below the directory named, for the layouts that say so."""
    below = layout.subdirectory
    found = Path(find_root(path)) if path.is_dir() else path
    return found if not below or path.name == below or found != path else path / below


def _first_documents(layout: Layout) -> dict[str, str]:
    """What a person writes is empty at first: every word of it would be told to agents."""
    owned = {name: "" for name in (layout.soul, layout.user) if name}
    return owned | ({layout.memory: layout.memory_header} if layout.memory_header else {})


def write_settings(root: Path, layout: Layout, *, alone: bool) -> list[str]:
    """Write what a vault in a directory has beside its documents. Returns what is new.

    `alone`: the directory was empty, so that all of it may be kept out of git.
    """
    return [*_write_options(root, layout), *_write_ignored(root, layout, alone=alone)]


def _write_options(root: Path, layout: Layout) -> list[str]:
    text = SETTINGS.format(dialect=layout.name)
    made = machine_files.make(os.path.join(os.path.realpath(root), FILE), text.encode())
    return [FILE] if made else []


def _write_ignored(root: Path, layout: Layout, *, alone: bool) -> list[str]:
    """Keep personal memory from being committed by accident, and nothing else that is there."""
    where, wanted = IGNORED[layout.name]
    if where == "." and alone:
        wanted = ["*"]
    path = str((root / where).resolve() / ".gitignore")
    there = _text_of(path)
    lines = there.split("\n")
    missing = [] if "*" in lines else [line for line in wanted if line not in lines]
    if not missing:
        return []
    guard = "" if not there or there.endswith("\n") else "\n"
    # Added to, not rewritten: somebody else may be adding to it as well.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    with open(machine_files.opened(path, flags), "a", encoding="utf-8") as file:
        file.write(guard + "\n".join(missing) + "\n")
    return [".gitignore"]


def _text_of(path: str) -> str:
    try:
        return machine_files.read(path).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
