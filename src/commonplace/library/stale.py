"""Tells what an outside save overwrote from what a person deleted.

Pure: it weighs when a document was appended to, read and saved. It knows no files.

A stale buffer lacks what was appended after it was loaded. So a piece that a save lacks was
deleted, not overwritten, when one that came later is there, or when the document was read between
the append and the save and the save came no sooner than a person can delete. Whoever read it may
not have been the one who saved it: what is taken for deleted stays in the journal.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from commonplace.model.clock import from_ns, parse_stamp

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

    @property
    def key(self) -> str:
        return self.id or self.line


class Glimpse(Struct, frozen=True):
    """What was made of the outside saves seen so far: a piece is judged when it is first missing.

    Several saves may follow each other before the document comes to rest, and only the first
    that lacks a piece tells why.
    """

    mtime_ns: int = 0
    back: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    @classmethod
    def read(cls, text: str) -> Glimpse:
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
    ) -> Glimpse:
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
        return Glimpse(mtime_ns, self.back + back, self.gone + gone)


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
