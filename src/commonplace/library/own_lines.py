"""The lines that we wrote into a document since somebody else last saved it, by the journal.

Appended lines and those that a change of the whole text brought count alike: a save of an older
text lacks both. It does not know the documents' files.
"""

from __future__ import annotations

from msgspec.structs import replace

from commonplace.library.stale import Appended
from commonplace.storage.journal import Append, Entry, Journal, Op, Text, after_entry

OUTSIDE = (Op.EDITED, Op.SEEN)
UNGUARDED = frozenset((*OUTSIDE, Op.INIT))
"""Whole texts whose lines are nobody's loss: those of others, and the first words of a vault."""


def last_outside(journal: Journal, name: str, base: int, *, since: int = 0) -> int:
    """Where a document's text stands that was last saved from outside, at or before its `base`.

    `since` is where one of those stands, or the beginning.
    """
    first = next(iter(journal.entries(since=max(base, 0))), None)
    if first is None or first.op in OUTSIDE or not _is_whole(first, name):
        return max(base, 0)
    return max(
        (
            entry.position
            for op in OUTSIDE
            for entry in journal.about(f'"op":"{op}"', since=since)
            if entry.position <= base and name in entry.documents()
        ),
        default=since,
    )


def written(journal: Journal, name: str, *, since: int, read: int) -> list[Appended]:
    """What we wrote from a position on and did not take out again, oldest first.

    `read` is the document's access time as it was last seen.
    """
    pieces: list[Appended] = []
    lines: set[bytes] = set()
    for entry in journal.entries(since=since):
        for change in entry.changes:
            if change.document != name:
                continue
            if isinstance(change, Append):
                # The access time after the write before this one stands in this entry.
                pieces = [_seen(piece, change.read) for piece in pieces] + _appended(entry)
                lines.update(entry.appended(change).split(b"\n"))
                continue
            pieces = [piece for piece in pieces if piece.id not in entry.removed]
            text = journal.version(change.version) if isinstance(change, Text) else None
            if text is not None:
                if entry.op not in UNGUARDED:
                    pieces = _standing(pieces, text) + _added(entry, text, lines)
                lines = set(text.split(b"\n"))
    return [_seen(piece, read) for piece in pieces]


def is_there(piece: Appended, *, ids: set[str], text: bytes) -> bool:
    """Whether a text has it: a record by its id, anything else as it was written."""
    return piece.id in ids if piece.id else piece.line.encode() in text


def only_appended(journal: Journal, name: str, *, since: int) -> bool:
    """Whether nothing but appends of ours was done to a document from a position on."""
    return not any(
        _is_whole(entry, name) for entry in journal.entries(since=since) if entry.op not in OUTSIDE
    )


def loaded(journal: Journal, name: str, saved: bytes, *, since: int, until: int) -> bytes:
    """Of what a document said between two positions, that from which a text was most likely made.

    Which of our appends a save has says enough of those. Of changes of the whole text it is the
    one with the most lines in common.
    """
    text, found = b"", []
    for entry in journal.entries(since=since):
        if entry.position >= until:
            break
        if name in entry.documents():
            if _is_whole(entry, name):
                found.append(text)
            text = after_entry(journal, text, entry, name) or b""
    lines = set(saved.split(b"\n"))
    return min([text, *reversed(found)], key=lambda each: len(lines ^ set(each.split(b"\n"))))


def _is_whole(entry: Entry, name: str) -> bool:
    return any(isinstance(each, Text) and each.document == name for each in entry.changes)


def _appended(entry: Entry) -> list[Appended]:
    keys = entry.ids or ("",) * len(entry.lines)
    return [
        Appended(key, line, entry.at, -1, entry.position) for key, line in zip(keys, entry.lines)
    ]


def _added(entry: Entry, text: bytes, before: set[bytes]) -> list[Appended]:
    new = (line for line in text.split(b"\n") if line.strip() and line not in before)
    return [
        Appended("", f"{line.decode('utf-8', 'replace')}\n", entry.at, -1, entry.position)
        for line in new
    ]


def _standing(pieces: list[Appended], text: bytes) -> list[Appended]:
    return [piece for piece in pieces if (piece.id or piece.line).encode() in text]


def _seen(piece: Appended, read: int) -> Appended:
    return replace(piece, read=read) if piece.read < 0 else piece
