"""Change options in a vault's own file; its comments and all else in it stay as they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from commonplace.model.errors import BadOption, Conflict, Refused
from commonplace.model.files import StrPath
from commonplace.model.options import DEFAULTS, HARMFUL, Options, flattened, snake
from commonplace.storage import machine_files
from commonplace.storage.option_files import (
    CLAW_FILE,
    FILE,
    LONGEST,
    load,
    read_text,
    user_file,
    values_in,
    variable_of,
    vault_files,
)

FIXED = frozenset(("dialect",))
"""Options that decide how every document is read: they are changed by hand, knowingly."""
Stand = tuple[tuple[int, int, int] | None, ...]
CONTINUITY = "continuity"


def why_fixed(name: str) -> str:
    """Why an option is changed in a file alone; empty if it may be changed from elsewhere."""
    if name in FIXED:
        return "It decides how every document is read and written."
    if name in HARMFUL:
        return "It can send your memory elsewhere or run a program, so only you set it, by hand."
    return ""


def sources(root: StrPath | None, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Where each option is set that is not at its default, the last source that counts."""
    found: dict[str, str] = {}
    if os.path.isfile(own := user_file(environ)):
        found |= dict.fromkeys(values_in(own), own)
    if root:
        said, ignored = vault_files(root, environ), load(root, environ=environ).ignored
        for name, values in ((CLAW_FILE, said.claw), (FILE, said.own)):
            path = os.path.join(root, name)
            found |= {key: path for key in values if key not in ignored.get(name, {})}
    found |= {name: variable for name in DEFAULTS if (variable := variable_of(name)) in environ}
    return found


def stand(root: StrPath, environ: Mapping[str, str] = os.environ) -> Stand:
    """How the files look that set options: another stand, and they may say something else."""
    paths = (os.path.join(root, FILE) if root else "", user_file(environ))
    return tuple(_look(path) if path else None for path in paths)


def _look(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def set_option(root: StrPath, name: str, value: Any) -> None:
    """Set an option in the vault's file, or take it out of there with None.

    To be called under the vault's lock. A person's editor takes none: what it saves in the same
    moment is not overwritten.
    """
    if why := why_fixed(name):
        raise Refused(f"{name} is not changed from here. {why}", next_step=f"Edit {FILE}.")
    path = os.path.join(root, FILE)
    if os.path.islink(path):
        raise Refused(f"{path} is a link.", next_step="Change the file that it leads to.")
    before = read_text(path) if os.path.isfile(path) else ""
    after = text_with(before, name, value, source=path)
    if after != before:
        _replace(path, before, after)


def _replace(path: str, before: str, after: str) -> None:
    there = os.path.isfile(path)
    if (read_text(path) if there else "") != before:
        raise Conflict(f"{path} changed meanwhile.", next_step="Look at it and try again.")
    mode = stat.S_IMODE(os.stat(path).st_mode) if there else None
    machine_files.write(path, after.encode(), durable=True)
    if mode is not None:
        os.chmod(path, mode)


def text_with(text: str, name: str, value: Any, *, source: str) -> str:
    """The text of an options file with an option set, or without it where the value is None."""
    import tomlkit

    typed = None if value is None else getattr(_checked(name, value, source), name)
    data = tomlkit.parse(text)
    places = list(_places(data, name))
    for table, key in places[:-1] if typed is not None else places:
        del table[key]
    if typed is not None:
        table, key = places[-1] if places else (data, name)
        table[key] = typed
    after = tomlkit.dumps(data)
    if "\r\n" in text:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    _check_says(after, name, typed, source=source)
    return after


def _checked(name: str, value: Any, source: str) -> Options:
    return Options().laid({name: value}, source=source)


def _places(data: MutableMapping[str, Any], name: str) -> Iterator[tuple[Any, str]]:
    """Every table that sets an option, with the key by which it does; the last one counts."""
    for key in list(data):
        if key == CONTINUITY and isinstance(data[key], MutableMapping):
            yield from ((data[key], each) for each in list(data[key]) if snake(each) == name)
        elif snake(key.removeprefix(f"{CONTINUITY}.")) == name:
            yield data, key


def _check_says(text: str, name: str, value: Any, *, source: str) -> None:
    """Check that a text can be read, and says what it should."""
    import tomllib

    said = flattened(tomllib.loads(text))
    if len(text.encode()) > LONGEST or said.get(name) != value:
        raise BadOption(name, "it cannot be written there", source=source)
