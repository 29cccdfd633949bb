"""The gateways that were started on this machine: where each is reached, and what it serves.

They are noted beside the tokens, so that other commands of the user find them. What a gateway does
with a request is not known here.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterable
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.doors.http.access_tokens import tokens_file
from commonplace.storage.notes import FileNotes

NOTE = "gateways.json"
MOST = 32
"""Gateways that are remembered, those that were started last."""
SECONDS = 1.0
"""How long a gateway on this machine may take to be connected to."""


class Started(Struct, frozen=True):
    """A gateway that was started, and may run still."""

    host: str
    port: int
    url: str
    """The address by which people reach it."""
    vaults: tuple[str, ...]

    def is_running(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=SECONDS).close()
        except OSError:
            return False
        return True


def note(started: Started) -> None:
    """Remember a gateway in place of any that was at its address."""
    notes = _notes()
    os.makedirs(notes.directory, 0o700, exist_ok=True)

    def changed(data: bytes | None) -> bytes:
        others = [each for each in _kept(data) if _address(each) != _address(started)]
        newest = [*others, started][-MOST:]
        return json.dumps([asdict(each) for each in newest]).encode()

    notes.change(NOTE, changed)


def started() -> list[Started]:
    """Those that were started, the newest first."""
    return _kept(_notes().read(NOTE))[::-1]


def running(vaults: Iterable[str], *, port: int | None) -> Started | None:
    """The newest that runs, at a port if one is named; sooner one that has these vaults."""
    wanted = set(vaults)
    found = [each for each in started() if port in (None, each.port)]
    found.sort(key=lambda each: not wanted <= set(each.vaults))
    return next((each for each in found if each.is_running()), None)


def _notes() -> FileNotes:
    return FileNotes(os.path.realpath(tokens_file().parent))


def _address(started: Started) -> tuple[str, int]:
    return started.host, started.port


def _kept(data: bytes | None) -> list[Started]:
    try:
        return [_started(each) for each in json.loads(data or b"[]")]
    except (ValueError, TypeError, KeyError):
        return []


def _started(told: Any) -> Started:
    vaults = tuple(map(str, told["vaults"]))
    return Started(str(told["host"]), int(told["port"]), str(told["url"]), vaults)
