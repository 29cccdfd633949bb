"""Where a vault is and what it shows: its root, its dialect, and the place of its machine state.

It knows names of files and how a document begins, not what any document says.
"""

from __future__ import annotations

import os
from pathlib import Path

from commonplace.config import Options
from commonplace.errors import NoSuchVault, ReadOnly
from commonplace.layouts import LAYOUTS, SHARED, Layout, detect, layout_named
from commonplace.vault.tree import Tree

STATE = ".commonplace"


def make_directory(path: Path) -> None:
    """Make the directory of a vault, which only its owner may look into."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise NoSuchVault(str(path)) from None
    except OSError:
        raise ReadOnly(str(path)) from None


def find_root(path: Path) -> Path:
    """The vault itself when the directory above it was named: `memories/` or `data/`."""
    if detected(path):
        return path
    for layout in LAYOUTS.values():
        below = path / layout.subdirectory if layout.subdirectory else None
        if below and below.is_dir():
            found = detected(below)
            if found and found.name == layout.name:
                return below
    return path


def has_layout(path: Path) -> bool:
    """Whether a directory is already a vault of some dialect."""
    root = find_root(path)
    return _noted_dialect(root / STATE) in LAYOUTS or detected(root) is not None


def detected(path: Path) -> Layout | None:
    """The layout that the names in a directory and the beginnings of its documents show."""
    return detect(_names_in(path), lambda name: _start_of(path / name))


def _names_in(path: Path) -> list[str]:
    """What is in a directory, as `detect` takes it."""
    with os.scandir(path) as entries:
        return [entry.name + "/" * entry.is_dir(follow_symlinks=False) for entry in entries]


def _start_of(path: Path) -> str:
    """The beginning of a file, as `detect` takes it.

    Without a trace in its access time, by which a stale save is told from a deletion.
    """
    tree = Tree(path.parent)
    try:
        return tree.read(path.name, most=65536).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        tree.close()


def layout_of(root: Path, options: Options, state: Path) -> Layout:
    """The layout that was asked for, or that the vault was opened with before, or that it shows.

    What is written first, a lone USER.md say, must not make another dialect of a vault.
    """
    noted = _noted_dialect(state)
    if options.dialect and options.dialect not in SHARED:
        layout = layout_named(options.dialect)
    elif noted in LAYOUTS:
        return LAYOUTS[noted]
    else:
        layout = detected(root) or LAYOUTS["native"]
    if noted != layout.name:
        _note_dialect(state, layout.name)
    return layout


def _noted_dialect(state: Path) -> str:
    try:
        return (state / "dialect").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _note_dialect(state: Path, name: str) -> None:
    """At once or not at all: other processes open the vault while this one is killed."""
    fresh = state / f".dialect.{os.getpid()}.tmp"
    fresh.write_text(name + "\n", encoding="utf-8")
    os.replace(fresh, state / "dialect")


def state_directory(root: Path, options: Options) -> tuple[Path, bool]:
    """Where machine state lives; a directory of this process's own when the vault is read-only."""
    chosen = Path(options.state_dir).expanduser() if options.state_dir else root / STATE
    try:
        chosen.mkdir(mode=0o700, parents=True, exist_ok=True)
        ignore = chosen / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
        if os.access(chosen, os.W_OK):
            return chosen, False
    except OSError:
        if options.state_dir:
            raise ReadOnly(str(chosen)) from None
    from tempfile import mkdtemp

    return Path(mkdtemp(prefix="commonplace-")), True
