"""The files that set options: the user's, the vault's and CursorClaw's.

Defaults < files < environment < arguments: the later source wins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from commonplace.model.errors import BadOption, Unreadable
from commonplace.model.files import StrPath
from commonplace.model.options import DEFAULTS, Options, flattened, is_harmless, snake
from commonplace.storage.trusted import Trusted, lapsed, trusted, unheeded

FILE = "commonplace.toml"
CLAW_FILE = "openclaw.json"
CLAW_NAMES = {
    "memoryCompactionScheduleCron": "memory_compaction_schedule",
    "memoryCompactionMaxRecords": "memory_compaction_threshold_records",
    "memoryCompactionMaxChars": "memory_compaction_threshold_chars",
}
"""Keys of CursorClaw's configuration that are called otherwise here."""
LONGEST = 1 << 20
"""Bytes of a file of options that are read."""
MEND_UNREAD = "Put a plain file there, or take it away."


class VaultFiles(Struct, frozen=True):
    """What the files in a vault set: its own, and CursorClaw's."""

    own: Mapping[str, Any]
    claw: Mapping[str, Any]

    @property
    def harmful(self) -> dict[str, dict[str, Any]]:
        """For each file the keys that count only in a trusted vault.

        All that CursorClaw's says is harmful: it is a program's, and comes with its workspace.
        """
        own = {key: value for key, value in self.own.items() if not is_harmless(key)}
        return {name: dict(said) for name, said in ((CLAW_FILE, self.claw), (FILE, own)) if said}

    @property
    def keys(self) -> str:
        """The hash of the harmful keys; empty if there are none."""
        if not self.harmful:
            return ""
        import json
        from hashlib import blake2b

        said = json.dumps(self.harmful, sort_keys=True, default=str)
        return blake2b(said.encode(), digest_size=32).hexdigest()

    def is_trusted(self, by: Trusted | None) -> bool:
        """Whether the person has trusted the vault with just these harmful keys."""
        return by is not None and by.keys == self.keys


class Loaded(Struct, frozen=True):
    """The options in force, and the keys that each file of the vault sets in vain."""

    options: Options
    ignored: Mapping[str, Mapping[str, Any]]
    distrusted: str = ""
    """The same as a sentence, with the reason; also where trust in the vault itself lapsed."""
    unread: tuple[str, ...] = ()
    """A sentence on each file of options that is not read, as it is no plain file."""


def load(
    root: StrPath | None,
    *,
    environ: Mapping[str, str] = os.environ,
    arguments: Mapping[str, Any] | None = None,
) -> Loaded:
    """Load the options, later sources winning, and the vault's keys that do not count."""
    options, ignored, distrusted = Options(), dict[str, dict[str, Any]](), ""
    if os.path.isfile(own := user_file(environ)):
        options = _laid(options, values_in(own), source=own)
    if path := environ.get("CURSORCLAW_CONFIG_PATH", "") if root else "":
        options = _laid(options, _continuity(path), source=path)
    if root:
        found = vault_files(root, environ)
        ignored = found.harmful
        if ignored and found.is_trusted(trusted(root, environ=environ)):
            ignored = {}
        distrusted = unheeded(ignored, why_distrusted(root, found, environ))
        options = _with_vault(options, found, root=root, is_trusted=not ignored)
    spoken = {
        name: environ[variable] for name in DEFAULTS if (variable := variable_of(name)) in environ
    }
    options = options.overlaid(spoken, source="environment")
    given = {name: value for name, value in (arguments or {}).items() if value is not None}
    named = [own, os.path.join(root, FILE)] if root else [own]
    unread = tuple(filter(None, map(_why_unread, named)))
    return Loaded(options.overlaid(given, source="arguments"), ignored, distrusted, unread)


def _with_vault(options: Options, found: VaultFiles, *, root: StrPath, is_trusted: bool) -> Options:
    """The options with the keys of a vault's files that count."""
    for name, said in ((CLAW_FILE, found.claw), (FILE, found.own)):
        ignored = {} if is_trusted else found.harmful.get(name, {})
        counts = {key: value for key, value in said.items() if key not in ignored}
        options = _laid(options, counts, source=os.path.join(root, name))
    return options


def _laid(options: Options, values: Mapping[str, Any], *, source: str) -> Options:
    """The options with the values of a file laid over them. An error names the line."""
    try:
        return options.laid(values, source=source)
    except BadOption as error:
        raise BadOption(
            error.option, error.problem, source=_with_line(source, error.option)
        ) from None


def _why_unread(path: str) -> str:
    """Why a file of options is not read, in a sentence; empty if it is, or there is none."""
    if os.path.isfile(path) or not os.path.lexists(path):
        return ""
    flaw = "it is no plain file"
    if os.path.islink(path):
        flaw = f"it is a link to {'no plain file' if os.path.exists(path) else 'nothing'}"
    return f"{path} is not read: {flaw}."


def why_distrusted(
    root: StrPath, found: VaultFiles, environ: Mapping[str, str] = os.environ
) -> str:
    """Why the person's trust in a vault, or in its harmful keys, counts no longer; else empty."""
    said = trusted(root, environ=environ)
    if said and found.harmful and not found.is_trusted(said):
        return "the keys changed since it was trusted"
    return "" if said else lapsed(root, environ=environ)


def vault_files(root: StrPath, environ: Mapping[str, str] = os.environ) -> VaultFiles:
    """What the files in a vault set. CursorClaw's is left out where the person names another."""
    own, claw = os.path.join(root, FILE), os.path.join(root, CLAW_FILE)
    named = environ.get("CURSORCLAW_CONFIG_PATH", "")
    return VaultFiles(
        values_in(own) if os.path.isfile(own) else {},
        _continuity(claw) if not named and os.path.isfile(claw) else {},
    )


def _continuity(path: str) -> dict[str, Any]:
    """What CursorClaw's configuration says of memory, as far as it is an option of ours.

    It is a program's of its own: what else is in it, or that it is no JSON, is not for us to say.
    """
    import json

    try:
        with open(path, "rb") as file:
            said = json.loads(file.read(LONGEST))["continuity"]
        pairs = [_ours(name, value) for name, value in said.items()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    return {
        name: value
        for name, value in pairs
        if name in DEFAULTS and is_harmless(name) and value is not None
    }


def _ours(name: str, value: Any) -> tuple[str, Any]:
    """One of CursorClaw's keys under our name."""
    if name == "memoryCompactionIntervalMs" and isinstance(value, int):
        return "memory_compaction_schedule", f"{max(1, value // 60_000)}m"
    return CLAW_NAMES.get(name, snake(name)), value


def _with_line(source: str, key: str) -> str:
    """Where an option is set: the file with its line, where that is found."""
    if not os.path.isfile(source):
        return source
    with open(source, encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            name = re.split("[=:]", line)[0].strip(" \t\r\n\"'[]")
            if snake(name.removeprefix("continuity.")) == key:
                return f"{source}, line {number}"
    return source


def variable_of(name: str) -> str:
    """The variable of the environment that sets an option."""
    return f"COMMONPLACE_{name.upper()}"


def values_in(path: str) -> dict[str, Any]:
    """The options that a file sets, by their own names."""
    import tomllib

    try:
        return flattened(tomllib.loads(read_text(path)))
    except ValueError as error:
        raise BadOption("", str(error), source=path) from None
    except RecursionError:
        raise BadOption("", "it is nested too deeply", source=path) from None


def read_text(path: str) -> str:
    """The text of a file of options."""
    try:
        with open(path, "rb") as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error)) from None
    if len(data) > LONGEST:
        raise BadOption("", f"it is longer than {LONGEST:,} bytes", source=path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadOption("", f"it is not UTF-8 (at line {line})", source=path) from None


def user_file(environ: Mapping[str, str]) -> str:
    """The file that sets options for all vaults of this user; empty where no home is known."""
    home = environ.get("XDG_CONFIG_HOME") or (
        environ.get("HOME", "") and environ["HOME"] + "/.config"
    )
    return os.path.join(home, "commonplace", FILE) if os.path.isabs(home) else ""
