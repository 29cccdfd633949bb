"""Where a vault is and what it shows: its root and its dialect.

It knows names of files and how a document begins, not what any document says.
"""

from __future__ import annotations

import os

from commonplace.markdown.layouts import LAYOUTS, SHARED, Layout, detect, layout_named
from commonplace.model.errors import NoSuchVault, ReadOnly, StrangeFile
from commonplace.model.hints import StrPath
from commonplace.model.options import Options
from commonplace.storage import machine_files
from commonplace.storage.safe_paths import Tree
from commonplace.storage.state_places import STATE, was_written

DIALECT = "dialect"
"""The file of a state directory that names what its vault was written in."""


def make_directory(path: StrPath) -> None:
    """Make the directory of a vault, which only its owner may look into."""
    try:
        os.makedirs(path, 0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NoSuchVault(os.fspath(path)) from None
    except OSError:
        raise ReadOnly(os.fspath(path)) from None


def find_root(path: StrPath) -> str:
    """The vault itself when the directory above it was named: `memories/` or `data/`."""
    if _is_noted(path) or detected(path):
        return os.fspath(path)
    for layout in LAYOUTS.values():
        below = os.path.join(path, layout.subdirectory)
        if layout.subdirectory and os.path.isdir(below):
            found = detected(below)
            if found and found.name == layout.name:
                return below
    return os.fspath(path)


def has_layout(path: StrPath) -> bool:
    """Whether a directory is already a vault of some dialect."""
    root = find_root(path)
    return _is_noted(root) or detected(root) is not None


def dialect_of(root: StrPath) -> str:
    """The dialect that a vault was written in or shows; empty where nothing tells."""
    if _is_noted(root):
        return _noted_dialect(os.path.join(root, STATE))
    found = detected(root)
    return found.name if found else ""


def _is_noted(path: StrPath) -> bool:
    """Whether it was written to before, as most that are opened: no document need be read to tell.

    Whoever only looked into an empty directory has made no vault of it.
    """
    state = os.path.join(path, STATE)
    return _noted_dialect(state) in LAYOUTS and was_written(state)


def detected(path: StrPath) -> Layout | None:
    """The layout that the names in a directory and the beginnings of its documents show."""
    return detect(_names_in(path), lambda name: _start_of(path, name))


def _names_in(path: StrPath) -> list[str]:
    """What is in a directory, as `detect` takes it."""
    with os.scandir(path) as entries:
        return [entry.name + "/" * entry.is_dir(follow_symlinks=False) for entry in entries]


def _start_of(directory: StrPath, name: str) -> str:
    """The beginning of a file, as `detect` takes it.

    Without a trace in its access time, by which a stale save is told from a deletion.
    """
    tree = Tree(directory)
    try:
        return tree.read(name, most=65536).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        tree.close()


def layout_of(root: StrPath, options: Options, state: str) -> Layout:
    """The layout that was asked for, or that the vault was written in before, or that it shows.

    What is written first, a lone USER.md say, must not make another dialect of a vault; nor must
    who asks once for another dialect.
    """
    apart = not options.dialect or options.dialect in SHARED
    asked = None if apart else layout_named(options.dialect)
    noted = LAYOUTS.get(_noted_dialect(state))
    written = noted if noted and was_written(state) else detected(root)
    layout = asked or written or noted or LAYOUTS["native"]
    own = written or layout
    if noted != own:
        _note_dialect(state, own.name)
    return layout


def _noted_dialect(state: str) -> str:
    try:
        said = machine_files.read(os.path.join(state, DIALECT), most=100)
    except (OSError, StrangeFile):
        return ""
    return said.decode("utf-8", "replace").strip()


def _note_dialect(state: str, name: str) -> None:
    """At once or not at all: other processes open the vault while this one is killed."""
    machine_files.write(os.path.join(state, DIALECT), f"{name}\n".encode())
