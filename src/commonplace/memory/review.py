"""Approve or reject the memories that wait for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from commonplace.library import accounts, steering
from commonplace.memory import storing
from commonplace.model.errors import Conflict, NotFound
from commonplace.model.records import Origin, Place, Record

if TYPE_CHECKING:
    from commonplace.memory import Memory


def accounts_of(memory: Memory, records: Iterable[Record]) -> dict[str, accounts.Account]:
    library = memory.library
    said = memory.conversations.of_user

    def targets(record: Record) -> list[str]:
        return storing.targets(memory, record)

    found = accounts.Accounts(library, memory.sessions, of_user=said, targets=targets)
    return {record.id: found.of(record) for record in records}


def waiting(memory: Memory, ids: Iterable[str] | None) -> list[Record]:
    held = memory.library.approvals.held()
    if ids is None:
        return held
    known = {record.id: record for record in held}
    keys = dict.fromkeys(map(memory.meant_of_held, ids))
    if unknown := [key for key in keys if key not in known]:
        raise NotFound(
            f"Nothing waits for approval as {', '.join(unknown)}; nothing was decided.",
            next_step="'commonplace review' lists what waits.",
        )
    return [known[key] for key in keys]


def one(memory: Memory, record_id: str) -> tuple[Record, tuple[Place, ...]]:
    held = {record.id: record for record in memory.review()}
    key = memory.meant_of_held(record_id)
    if key in held and memory.origin == Origin.OWNER:
        return held[key], ()
    hit = memory.get(record_id)
    return hit.record, hit.places


def approve(memory: Memory, record_id: str) -> Record:
    key = memory.meant_of_held(record_id)
    if key in (changes := memory.library.approvals.held_changes()):
        return steering.approve(memory.library, key, changes[key], author=memory.author)
    record = memory.library.store.approve(
        key, to=lambda record: storing.targets(memory, record), author=memory.author
    )
    memory.trim()
    return record


def decide(
    memory: Memory, decision: str, ids: Iterable[str], *, shown: Iterable[Record] = ()
) -> list[Record]:
    decide = {"approve": memory.approve, "reject": memory.reject}[decision]

    def work() -> list[Record]:
        named = {record.id: record for record in memory.review(ids)}
        for record in shown:
            if named.get(record.id, record) != record:
                raise Conflict(
                    f"{record.id} reads otherwise than when it was shown; nothing was decided.",
                    next_step=f"Look at it again: 'commonplace review {record.id}'.",
                )
        return [decide(key) for key in named]

    return memory.library.locked(work)
