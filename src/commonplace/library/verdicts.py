"""Verdicts on records, beside them: that they were useful, or wrong; and the mark of a pinned one.

It does not know who may give a verdict, nor what one changes in a prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec.structs import replace

from commonplace.library import revising
from commonplace.library.library import Library
from commonplace.library.revising import Revised
from commonplace.model.records import Author, Record
from commonplace.storage.journal import Op

MOST = 5
"""Of the verdicts of one sort, the newest that a line keeps."""


class Verdict(StrEnum):
    """What is said of a record by who used it."""

    USEFUL = "useful"
    WRONG = "wrong"


OPPOSITE = {Verdict.USEFUL: Verdict.WRONG, Verdict.WRONG: Verdict.USEFUL}
OPS = {Verdict.USEFUL: Op.USEFUL, Verdict.WRONG: Op.WRONG}


def judge(
    library: Library, record_ids: Iterable[str], verdict: Verdict, *, session: str, author: Author
) -> Revised:
    """Note a verdict in the lines of records, as one change. Said again, it changes nothing.

    A session has one verdict on a record, its last; the owner, in no session, has one, too.
    """
    said = f"{library.clock.stamp()} {session}".rstrip()

    def change(record: Record) -> Record:
        return judged(record, verdict, said)

    changes = dict.fromkeys(record_ids, change)
    return revising.revise(library, changes, author=author, op=OPS[verdict])


def judged(record: Record, verdict: Verdict, said: str) -> Record:
    """The record with a verdict, `TIME SESSION`, unless that session has given it before."""
    given: tuple[str, ...] = getattr(record, verdict)
    session = session_of(said)
    if session in map(session_of, given):
        return record
    opposite = OPPOSITE[verdict]
    left = tuple(each for each in getattr(record, opposite) if session_of(each) != session)
    return replace(record, **{verdict: (*given, said)[-MOST:], opposite: left})


def session_of(said: str) -> str:
    """The session of a verdict as a line has it; empty for the owner's."""
    return said.partition(" ")[2]


def pin(library: Library, record_ids: Iterable[str], *, author: Author) -> Revised:
    """Mark records to be told before all others, as one change."""
    now = library.clock.stamp()
    changes = dict.fromkeys(record_ids, lambda record: replace(record, pinned=record.pinned or now))
    return revising.revise(library, changes, author=author, op=Op.PIN)


def unpin(library: Library, record_ids: Iterable[str], *, author: Author) -> Revised:
    """Take that mark off again."""
    changes = dict.fromkeys(record_ids, lambda record: replace(record, pinned=""))
    return revising.revise(library, changes, author=author, op=Op.UNPIN)
