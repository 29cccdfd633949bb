"""Permission: what a writer may do to what others wrote, by how far both are believed.

Each function either returns or raises an error that says whom to ask. It knows origins and records,
not sessions: that who has read untrusted text writes as whoever wrote it, others have seen to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.model.errors import BadValue, NoSuchRecord, Refused
from commonplace.model.records import PASSAGE, Hit, Origin, Record
from commonplace.trust.origins import Trust, may_supersede, trust_of


def is_believed(origin: str) -> bool:
    """Whether what is written may be taken for an agent's own words."""
    return trust_of(origin) >= Trust.AGENT


def check_record(hit: Hit) -> Record:
    """The record of a hit. Prose is refused: no record replaces it."""
    if hit.record.kind == PASSAGE:
        names = dict.fromkeys(place.document for place in hit.places)
        raise NoSuchRecord(hit.record.id, said_in=tuple(names))
    return hit.record


def check_replaces(record: Record, hit: Hit) -> None:
    """Refuse a replacement by a less trusted origin, and any replacement of prose."""
    old = check_record(hit)
    if not may_supersede(record.origin, old.origin):
        raise Refused(
            f"{old.id} comes from {old.origin}, and a record from {record.origin} may not replace "
            "it.",
            next_step="Store it as a record of its own, or ask the user to make the change.",
        )


def check_erases(origin: str, records: Iterable[Record]) -> None:
    """Refuse, after untrusted reading, to erase records of a more trusted origin."""
    for record in records if not is_believed(origin) else ():
        if not may_supersede(origin, record.origin):
            raise Refused(
                f"{record.id} comes from {record.origin}, and this may come from untrusted text.",
                next_step=f"Ask the user: 'commonplace forget {record.id}' in a terminal.",
            )


def check_revises(origin: str) -> None:
    """Refuse to change a record in place to anybody but the owner: agents replace it."""
    if origin != Origin.OWNER:
        raise Refused(
            "Only its owner changes a memory in place.",
            next_step="Store what is so now, and name this one as superseded by it.",
        )


def check_judges(origin: str) -> None:
    """Refuse, after untrusted reading, to say what was useful and what was wrong."""
    if not is_believed(origin):
        raise Refused(
            "This session has read untrusted text, so its verdict on memories does not count; "
            "nothing was noted.",
            next_step="Ask the user: 'commonplace useful ID' or 'commonplace wrong ID' in a "
            "terminal.",
        )


def check_must(origin: str, when: Sequence[str]) -> None:
    """Refuse to let a rule deny a call to anybody but the owner, and without a moment."""
    if origin != Origin.OWNER:
        raise Refused(
            "Only its owner lets a rule deny a call.",
            next_step="Store the rule with its moment; the user may add --must to it.",
        )
    if not when:
        raise BadValue(
            "must",
            "the rule has no moment at which it could deny a call",
            next_step="Give it one: --when 'Bash(git push*)'.",
        )


def check_cites(origin: str) -> None:
    """Refuse, after untrusted reading, to change what a memory rests on."""
    if not is_believed(origin):
        raise Refused(
            "This session has read untrusted text, so it does not change what a memory rests on.",
            next_step="Ask the user: 'commonplace cite ID FILE:LINES' in a terminal.",
        )


def check_pins(origin: str) -> None:
    """Refuse to pin to anybody but the owner: what is pinned is told before all else."""
    if origin != Origin.OWNER:
        raise Refused(
            "Only its owner pins a memory.",
            next_step="Ask the user: 'commonplace pin ID' in a terminal.",
        )


def check_steers(origin: str, document: str) -> None:
    """Refuse, after untrusted reading, to change what agents are told to be and to do."""
    if not is_believed(origin):
        raise Refused(
            f"{document} tells agents who they are and what to do, and this may come from "
            "untrusted text.",
            next_step="Ask the user to change it, or change it in a session that has read no "
            "such text.",
        )


def check_takes_back(origin: str, *, change: int, of: str) -> None:
    """Refuse to take back a change of a more trusted origin."""
    if not may_supersede(origin, of):
        raise Refused(
            f"Change {change} comes from {of}, and {origin} may not take it back.",
            next_step=f"Ask the user: 'commonplace undo --change {change}' in a terminal.",
        )


def check_erases_messages(origin: str) -> None:
    """Refuse, after untrusted reading, to erase messages."""
    if not is_believed(origin):
        raise Refused(
            "Only who has read no untrusted text erases what was said in conversations.",
            next_step="Ask the user: 'commonplace forget WORDS --history' in a terminal.",
        )


def check_restores(origin: str) -> None:
    """Refuse, after untrusted reading, to bring back an earlier state."""
    if not is_believed(origin):
        raise Refused(
            "Only who has read no untrusted text brings back what others have changed.",
            next_step="Ask the user: 'commonplace restore --as-of TIME' in a terminal.",
        )
