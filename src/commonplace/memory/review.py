"""Approve or reject the memories that wait for a person."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from commonplace.library import accounts, steering
from commonplace.library.approvals import ASKED, RAN, SAID
from commonplace.memory import storing
from commonplace.model import limits
from commonplace.model.errors import BadValue, Conflict, NotFound
from commonplace.model.records import Origin, Place, Record
from commonplace.trust import admission

if TYPE_CHECKING:
    from commonplace.memory import Memory

LEARNED = {
    SAID: "you said this {} times, and no memory says it",
    ASKED: "you asked this {} times; it is kept with the answer that you give",
    RAN: "it helped {} times after this failure",
}
"""Why what history showed waits, by what it showed."""


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


def reasons(memory: Memory) -> dict[str, str]:
    approvals = memory.library.approvals
    days = approvals.forgotten_days()
    found = {key: f"the owner forgot this on {day}" for key, day in days.items()}
    learned = approvals.learned()
    times = {record.id: len(record.seen) for record in approvals.held()} if learned else {}
    found |= {
        key: LEARNED[what].format(times[key]) for key, what in learned.items() if key in times
    }
    return found


def approve(memory: Memory, record_id: str, answer: str) -> Record:
    key = memory.meant_of_held(record_id)
    answer = _checked_answer(memory, key, answer)
    if key in (changes := memory.library.approvals.held_changes()):
        return steering.approve(memory.library, key, changes[key], author=memory.author)
    record = memory.library.store.approve(
        key,
        to=lambda record: storing.targets(memory, record),
        author=memory.author,
        answer=answer,
    )
    memory.trim()
    return record


def _checked_answer(memory: Memory, key: str, answer: str) -> str:
    """The answer to a question that waits, as it may be kept; only such a question takes one."""
    asked = memory.library.approvals.learned().get(key) == ASKED
    if answer.strip() and not asked:
        raise BadValue(
            "answer", f"{key} is no question", next_step="Leave the answer out to approve it."
        )
    if asked and not answer.strip():
        raise BadValue(
            "answer",
            f"{key} is a question, which is kept with its answer",
            next_step=f"Say it: 'commonplace review {key} --approve --answer TEXT'.",
        )
    if not asked:
        return ""
    question = memory.library.approvals.one_held(key).text
    room = memory.options.text_limit - len(question) - 1
    answer = limits.check_text(answer.strip(), limit=room, argument="answer")
    return admission.without_secrets(answer, memory.options)


def decide(
    memory: Memory,
    decision: str,
    ids: Iterable[str],
    *,
    shown: Iterable[Record] = (),
    answer: str = "",
) -> list[Record]:
    def work() -> list[Record]:
        named = {record.id: record for record in memory.review(ids)}
        for record in shown:
            if named.get(record.id, record) != record:
                raise Conflict(
                    f"{record.id} reads otherwise than when it was shown; nothing was decided.",
                    next_step=f"Look at it again: 'commonplace review {record.id}'.",
                )
        if decision == "reject":
            return [memory.reject(key) for key in named]
        for key in named:
            _checked_answer(memory, key, answer)
        return [memory.approve(key, answer=answer) for key in named]

    return memory.library.locked(work)
