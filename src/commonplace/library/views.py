"""Note what each session was last shown of each document, and how much its rewrites took out.

Each session has one small note. Every process that speaks for the session changes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from msgspec import Struct

from commonplace.model.files import digest
from commonplace.storage.machine_files import parsed
from commonplace.storage.notes import Notes

DIRECTORY = "views"
MOST_ASKED = 8


class Given(Struct, frozen=True):
    """A text that a session was shown, by its mark."""

    etag: str
    shown: tuple[str, ...] | None = None
    """The entries of it that it was shown, by their ids; None: all."""


class View:
    """One session's view of the documents."""

    def __init__(self, notes: Notes, session: str, *, otherwise: Callable[[], str]) -> None:
        """`otherwise` says what the rewrites of a session without a name are counted by."""
        self._notes = notes
        self._session = session
        self._otherwise = otherwise
        self.is_named = bool(session)
        self._nameless: dict[str, Given] = {}

    def given(self, document: str) -> Given | None:
        """What it was last shown of a document; None when that is not known."""
        if not self.is_named:
            return self._nameless.get(document)
        found = self._read()["given"].get(document)
        return Given(found[0], None if found[1] is None else tuple(found[1])) if found else None

    def give(self, document: str, given: Given) -> None:
        """Note what it is shown."""
        if not self.is_named:
            self._nameless[document] = given
        elif self.given(document) != given:
            self._change(lambda value: value["given"].update({document: [given.etag, given.shown]}))

    def lost(self, document: str) -> Mapping[str, int]:
        """How many entries its rewrites took out unasked, in the whole and by section."""
        counts: dict[str, int] = self._read()["lost"].get(document, {})
        return counts

    def lose(self, document: str, counts: Mapping[str, int]) -> None:
        """Count what a rewrite took out."""

        def count(value: dict[str, Any]) -> None:
            earlier = Counter(value["lost"].get(document, {}))
            value["lost"][document] = dict(earlier + Counter(counts))

        if any(counts.values()):
            self._change(count)

    def settle(self, document: str) -> None:
        """Count anew: what went was confirmed."""
        if self.lost(document):
            self._change(lambda value: value["lost"].pop(document, None))

    def was_asked(self, token: str) -> bool:
        """Whether it was asked to confirm this."""
        return token in self._read()["asked"]

    def ask(self, token: str) -> None:
        """Note that it is asked to confirm this."""
        self._change(lambda value: value.update(asked=[*value["asked"], token][-MOST_ASKED:]))

    @cached_property
    def _name(self) -> str:
        whose = self._session or self._otherwise()
        return f"{DIRECTORY}/{digest(whose.encode())}.json"

    def _read(self) -> dict[str, Any]:
        return _value(self._notes.read(self._name))

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        def changed(note: bytes | None) -> bytes:
            value = _value(note)
            change(value)
            return json.dumps(value).encode()

        self._notes.change(self._name, changed)


def _value(note: bytes | None) -> dict[str, Any]:
    """What a note says; one that is missing or damaged says nothing."""
    empty: dict[str, Any] = {"given": {}, "lost": {}, "asked": []}
    try:
        empty |= parsed(note or b"{}")
        return empty
    except (ValueError, TypeError):
        return empty


def shown_of(lines: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """The ids of what was shown of each document, of pairs of a document and an id."""
    found: dict[str, dict[str, None]] = {}
    for document, key in lines:
        found.setdefault(document, {})[key] = None
    return {document: tuple(filter(None, keys)) for document, keys in found.items()}
