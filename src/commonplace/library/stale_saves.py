"""Tell the lines that an outside save overwrote from the lines that a person deleted.

A stale buffer lacks the lines that were written after it was loaded. So a piece that a save lacks
was deleted, not overwritten, when a later piece is there, or when the document was read between the
write and the save and the save came no sooner than a person can delete. Whoever read it may not
have been the one who saved it: a line that is taken for deleted stays in the journal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from commonplace.library.index_sync import IndexSync, went_back
from commonplace.library.record_reader import decoded
from commonplace.markdown.merge import merged_bytes
from commonplace.model.clock import from_ns, parse_stamp
from commonplace.model.files import Known, Signature
from commonplace.storage.journal import (
    OWES,
    Added,
    Entry,
    Journal,
    Op,
    Text,
    after_entry,
    document_at,
)
from commonplace.storage.vault import Stat

UNKNOWN = -1
"""The time of a read that can't be told any more."""
BLUR = timedelta(milliseconds=12)
"""A read takes a while: this long after an append it may still have missed it."""
RECENT = timedelta(minutes=10)
"""Where reads leave no trace, a piece this young that a save lacks counts as overwritten."""
AT_ONCE = timedelta(seconds=2)
"""A save this soon after an append overwrote it: a program saves so fast, a person does not."""
DOUBTFUL = timedelta(minutes=1)
"""What a save takes out this soon after it was written, its owner is told of."""
OUTSIDE = (Op.EDITED, Op.SEEN)
UNGUARDED = frozenset((*OUTSIDE, Op.INIT))
"""Whole texts whose lines are nobody's loss: those of others, and the first words of a vault."""


class StaleSaves:
    """Looks through the journal for the lines of ours that saves of one vault lack."""

    def __init__(self, sync: IndexSync) -> None:
        self.sync = sync
        self._saved: dict[tuple[str, str], int] = {}

    def observe(
        self, name: str, known: Known, stat: Stat, data: bytes | None = None
    ) -> SaveObservation:
        """What the outside saves of a document tell so far of the lines they lack."""
        seen = SaveObservation.read(known.glimpse)
        if seen.mtime_ns == stat.mtime_ns:
            return seen
        data = self.sync.vault.read(name) if data is None else data
        pieces = self._written_since(name, known)
        unknown = self.sync.after_power_cut or went_back(known, stat)
        read = read_before_save(atime_ns=stat.atime_ns, mtime_ns=stat.mtime_ns)
        return seen.after(
            pieces,
            there=self._are_there(name, pieces, data),
            read=UNKNOWN if unknown else read,
            mtime_ns=stat.mtime_ns,
            now=self.sync.clock.now(),
        )

    def missing(
        self, name: str, known: Known, stat: Stat, data: bytes
    ) -> tuple[list[Appended], list[Appended]]:
        """The pieces of ours that a save lacks: those that it overwrote, and those of the rest that
        it may have overwritten.
        """
        seen = self.observe(name, known, stat, data)
        pieces = self._written_since(name, known)
        there = self._are_there(name, pieces, data)
        missing = {piece.key: piece for piece, found in zip(pieces, there) if not found}
        return (
            [piece for key, piece in missing.items() if key in seen.back],
            doubtful(
                [piece for key, piece in missing.items() if key not in seen.back],
                saved=from_ns(stat.mtime_ns),
                replaced=stat.inode != known.signature.inode,
            ),
        )

    def owed(self, name: str, base: int) -> Known | None:
        """What to start from when the lines that the save at `base` lacked are not all put back.

        The save may be taken in and its taker dead, or another save may have come.
        """
        save = next(iter(self.sync.journal.entries(since=base)), None)
        if save is None or OWES not in save.data:
            return None
        known = Known(Signature(-1, 0, 0), 0, save.data[OWES])
        pieces = self._written_since(name, known)
        said = document_at(self.sync.journal, name, since=base) or b""
        there = self._are_there(name, pieces, said)
        back = tuple(piece.id for piece, found in zip(pieces, there) if piece.id and not found)
        return replace(known, glimpse=SaveObservation(0, back).written()) if back else None

    def merged(
        self, name: str, known: Known, lost: Sequence[Appended], *, ours: bytes, theirs: bytes
    ) -> bytes | None:
        """A saved text with all that we changed since it was loaded; None if we only appended."""
        first = min(piece.position for piece in lost)
        was_begun = known.signature.size < 0
        journal = self.sync.journal
        if first < 0 or was_begun or only_appended(journal, name, since=first):
            return None
        since = self._last_outside(name, known.base)
        return merged_bytes(loaded(journal, name, theirs, since=since, until=first), ours, theirs)

    def _are_there(self, name: str, pieces: Sequence[Appended], data: bytes) -> list[bool]:
        """Which of the pieces a text has: a record by its id, other text as it was written."""
        parsed = self.sync.reader.parse(name, decoded(name, data, lenient=True))
        ids = {item.record.id for item in parsed.items}
        return [piece.id in ids if piece.id else piece.line.encode() in data for piece in pieces]

    def _written_since(self, name: str, known: Known) -> list[Appended]:
        """What we wrote into a document since somebody saved it, and did not take out again."""
        since = self._last_outside(name, known.base)
        return written(self.sync.journal, name, since=since, read=known.signature.atime_ns)

    def _last_outside(self, name: str, base: int) -> int:
        """Where its text stands that was last saved from outside. To look for it takes long."""
        journal = self.sync.journal
        key = name, journal.mark()
        since = self._saved.get(key, 0)
        found = last_outside(journal, name, base, since=since if since <= base else 0)
        self._saved[key] = found
        return found


class Appended(Struct, frozen=True):
    """A piece of text that we appended to a document: a record's line, or any text."""

    id: str
    """The record's; empty for any other text."""
    line: str
    at: str
    read: int
    """The document's access time as seen right after the append; 0 when it is not known."""
    position: int = -1
    """Where the journal tells of the append."""
    kind: str = "note"
    """The kind of the record, if its line names none."""

    @property
    def key(self) -> str:
        return self.id or self.line


class SaveObservation(Struct, frozen=True):
    """What was made of the outside saves seen so far: a piece is judged when it is first missing.

    Several saves may follow each other before the document comes to rest, and only the first
    that lacks a piece tells why.
    """

    mtime_ns: int = 0
    back: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> SaveObservation:
        if not text:
            return cls()
        mtime_ns, back, gone = json.loads(text)
        return cls(mtime_ns, tuple(back), tuple(gone))

    def written(self) -> str:
        return json.dumps([self.mtime_ns, self.back, self.gone])

    def after(
        self,
        pieces: Sequence[Appended],
        *,
        there: Sequence[bool],
        read: int,
        mtime_ns: int,
        now: datetime,
    ) -> SaveObservation:
        """What was known, and what one more save tells."""
        judged = {*self.back, *self.gone}
        lost = overwritten(pieces, there=there, read=read, saved=from_ns(mtime_ns), now=now)
        late = {piece.key for piece in lost}
        missing = [
            piece.key
            for piece, found in zip(pieces, there)
            if not found and piece.key not in judged
        ]
        back = tuple(key for key in missing if key in late)
        gone = tuple(key for key in missing if key not in late)
        return SaveObservation(mtime_ns, self.back + back, self.gone + gone)


def read_before_save(*, atime_ns: int, mtime_ns: int) -> int:
    """When the document was last read before it was saved; 0 where reads leave no trace.

    Unknown when it was read since: only the last read leaves its time. In the same tick of the
    clock, a script read it and wrote it back.
    """
    return UNKNOWN if atime_ns > mtime_ns else atime_ns


def overwritten(
    pieces: Sequence[Appended],
    *,
    there: Sequence[bool],
    read: int,
    saved: datetime,
    now: datetime,
) -> list[Appended]:
    """The pieces to put back, of those that we appended, in order.

    `there` says which of them the saved text has, `read` when it was last read before the save.
    """
    last = max((at for at, found in enumerate(there) if found), default=-1)
    missing = pieces[last + 1 :]
    late = [_is_young(piece, saved, AT_ONCE) or _came_after(piece, read, now) for piece in missing]
    # One that surely came too late proves the buffer stale; then those about its loading are, too.
    return [
        piece
        for piece, is_late in zip(missing, late)
        if is_late or (any(late) and _came_about(piece, read))
    ]


def doubtful(pieces: Sequence[Appended], *, saved: datetime, replaced: bool) -> list[Appended]:
    """Of the pieces that were taken for deleted, those that may have been overwritten after all.

    Of a document that was `replaced` by another file nothing tells when it was read.
    """
    return [piece for piece in pieces if _is_young(piece, saved, RECENT if replaced else DOUBTFUL)]


def _is_young(piece: Appended, saved: datetime, age: timedelta) -> bool:
    return saved - parse_stamp(piece.at) < age


def _came_after(piece: Appended, read: int, now: datetime) -> bool:
    """Whether nobody can have read the document between this append and the save."""
    if read == UNKNOWN:
        return True
    if read and piece.read:
        return read <= piece.read
    return now - parse_stamp(piece.at) < RECENT


def _came_about(piece: Appended, read: int) -> bool:
    return from_ns(read) <= parse_stamp(piece.at) + BLUR


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
            if isinstance(change, Added):
                # The access time after the write before this one stands in this entry.
                pieces = [_seen(piece, change.read) for piece in pieces] + [
                    Appended(key, line, entry.at, -1, entry.position, change.kind)
                    for key, line in entry.pieces(change)
                ]
                lines.update(entry.appended(change).split(b"\n"))
                continue
            pieces = [piece for piece in pieces if piece.id not in entry.removed]
            text = journal.version(change.version) if isinstance(change, Text) else None
            if text is not None:
                if entry.op not in UNGUARDED:
                    pieces = _standing(pieces, text) + _added(entry, text, lines)
                lines = set(text.split(b"\n"))
    return [_seen(piece, read) for piece in pieces]


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
