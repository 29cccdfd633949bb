"""The written form of entries and kept texts, the same in a file and in PostgreSQL.

An entry is one line of JSON. A blanked entry is as many bytes long, so that positions stay true.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

import msgspec

from commonplace.storage.journal import BLANK, Entry
from commonplace.storage.machine_files import parsed

ENTRY = msgspec.json.Decoder(Entry)
PLAIN = ("op", "ids", "removed", "origin", "session", "why", "undoes", "data", "lines")
TUPLES = ("ids", "removed", "lines")
DEFAULTS: dict[str, Any] = {**dict.fromkeys(TUPLES, ()), "undoes": -1, "data": {}}


def first_line(mark: str, *, since: str) -> bytes:
    """What a journal begins with: who it is."""
    return _coded({"journal": mark, "since": since})


def mark_in(line: bytes) -> str:
    """The identity that the first line of a journal gives it; empty for a damaged one."""
    try:
        return str(parsed(line)["journal"])
    except (ValueError, KeyError, TypeError):
        return ""


def long_parts(entry: Entry) -> dict[str, bytes]:
    """The parts of an entry that may take long to write down, as they stand in its line."""
    return {name: _json(getattr(entry, name)) for name in TUPLES if getattr(entry, name)}


def line_of(entry: Entry, written: Mapping[str, bytes] | None = None) -> list[bytes]:
    """An entry as a line, with its end, in pieces: to join long ones takes its time.

    `written` are its `long_parts`, if somebody has them.
    """
    if not written:
        return [_coded(_value(entry, but=()))]
    pieces = [_json(_value(entry, but=written))[:-1]]
    for name, part in written.items():
        pieces += (b"," + _json(name) + b":", part)
    return [*pieces, b"}\n"]


def _value(entry: Entry, *, but: Container[str]) -> dict[str, Any]:
    value: dict[str, Any] = {"at": entry.at}
    for name in PLAIN:
        part = getattr(entry, name)
        if name not in but and part != DEFAULTS.get(name, ""):
            value[name] = part
    value["changes"] = msgspec.to_builtins(entry.changes)
    return value


def entry_in(line: bytes) -> Entry | None:
    """The entry a line holds; None for the first line and for a torn or damaged one.

    Each part is checked: a vault that came from somebody else brings its journal.
    """
    try:
        return ENTRY.decode(line)
    except (ValueError, RecursionError):
        return None


def _coded(value: dict[str, Any]) -> bytes:
    return _json(value) + b"\n"


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def written(text: str) -> bytes:
    """A text as it stands inside a line."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def blanked(line: bytes, ids: Iterable[str], clean: Callable[[bytes], bytes]) -> bytes:
    """The same entry, as many bytes long, without the texts of these records."""
    wanted = set(ids)
    try:
        value = parsed(line)
        texts, names = value["lines"], value.get("ids", ())
    except (ValueError, KeyError, TypeError):
        return line
    whole = {at for at, name in enumerate(names) if name in wanted and len(names) == len(texts)}
    value["lines"] = [
        (BLANK * len(text.encode()) if at in whole else clean(text.encode())).decode()
        for at, text in enumerate(texts)
    ]
    for name in wanted.intersection(value.get("data", ())):
        del value["data"][name]
    blank = _coded(value)[:-1]
    return blank.ljust(len(line)) if value["lines"] != texts else line


def packed(text: bytes) -> bytes:
    """A whole text as it is kept."""
    return zlib.compress(text, 1)


def unpacked(data: bytes) -> bytes | None:
    """The text that was kept; None when it is damaged."""
    try:
        return zlib.decompress(data)
    except zlib.error:
        return None


def cleaned(text: bytes, needles: Iterable[bytes], clean: Callable[[bytes], bytes]) -> bytes:
    """A kept text as it is to be kept once what the needles tell of is forgotten."""
    return clean(text) if any(needle in text for needle in needles) else text
