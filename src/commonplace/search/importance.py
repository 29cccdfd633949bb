"""How much a record matters when nothing in particular is asked, as in a brief.

Importance is the product of four factors: the record's kind and how fast such records fade, its
confidence, the trust in its origin, and whether it still holds. `in_order` sorts what is always
told: by whose words it is and what it asks for, and among those alike by importance and by use.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import date
from enum import IntEnum

from commonplace.model.clock import Clock
from commonplace.model.records import Hit, Now, Origin, Record, is_over, is_to_come, now_of
from commonplace.trust.origins import Trust, trust_of

LASTING, PASSING = 180.0, 30.0
"""Days after which a record of such a kind matters half as much."""
KINDS = {
    "correction": (1.0, LASTING),
    "instruction": (0.9, LASTING),
    "preference": (0.8, LASTING),
    "user-preference": (0.8, LASTING),
    "fact": (0.8, LASTING),
    "learned": (0.8, LASTING),
    "decision": (0.8, LASTING),
    "person": (0.8, LASTING),
    "goal": (0.8, LASTING),
    "context": (0.9, PASSING),
    "turn-summary": (0.4, PASSING),
    "heartbeat": (0.3, PASSING),
}
"""Worth of a new record, and how fast it fades. A correction was a mistake once already; what is
going on now is worth more than a fact, for a week; what repeats others is worth least.
"""
ANY_OTHER = (0.6, PASSING)
BELIEVED = {Trust.NONE: 0.4, Trust.IMPORTED: 0.8}
STALE = 0.8
"""What is left of a record that rests on something that changed since."""
OVER = 0.1
"""What is left of a record that is no longer valid, or not yet."""
RULES = frozenset(("instruction", "correction"))
"""The kinds that say what to do; a preference says what is liked."""
VERDICTS = 0.2
"""How far verdicts can raise or lower what a record is worth: one never hides it."""
REPEATED = 0.5
"""How far it can raise it that a record was told again and again."""


class Precedence(IntEnum):
    """Who is told first, whatever the age."""

    PINNED = 0
    OWNERS_RULE = 1
    QUOTED_RULE = 2
    RULE = 3
    PREFERENCE = 4
    OTHER = 5


def standing(record: Record) -> Precedence:
    """Where a record stands by its pin, its kind and whose words it rests on."""
    if record.pinned:
        return Precedence.PINNED
    if record.kind not in RULES:
        return Precedence.PREFERENCE if record.behavioral else Precedence.OTHER
    if record.origin == Origin.OWNER:
        return Precedence.OWNERS_RULE
    return Precedence.QUOTED_RULE if record.cites else Precedence.RULE


def importance(record: Record, now: Now) -> float:
    """How much it matters, from 0 to 1."""
    holds = not is_over(record, now) and not is_to_come(record, now)
    age = _age(now.day_of(record.timestamp), now.day)
    return _worth(record, age) * (1.0 if holds else OVER)


def weight(record: Record, age: float) -> float:
    """How much one that is so many days old matters, by its kind and by the use it was of."""
    return _worth(record, age) * verdict(record) * _repeats(record)


def verdict(record: Record) -> float:
    """A factor from 0.8 to 1.2: how often it was called useful, and how often wrong."""
    good, bad = len(record.useful), len(record.wrong)
    return 1 + VERDICTS * (good - bad) / (good + bad + 1)


def _repeats(record: Record) -> float:
    again = len(record.seen)
    return 1 + REPEATED * again / (again + 1)


def _worth(record: Record, age: float) -> float:
    worth, fades = KINDS.get(record.kind, ANY_OTHER)
    believed = BELIEVED.get(trust_of(record.origin), 1.0)
    return worth / (1 + age / fades) * record.confidence * believed


def by_importance(hits: Iterable[Hit], clock: Clock, *, stale: Container[str] = ()) -> list[Hit]:
    """What matters most first; what matters the same stays in its order.

    `stale` are the ids of those that rest on a file which changed since.
    """
    now = now_of(clock)

    def weight(hit: Hit) -> float:
        return importance(hit.record, now) * (STALE if hit.record.id in stale else 1.0)

    return sorted(hits, key=weight, reverse=True)


def in_order(hits: Iterable[Hit], now: Now, *, stale: Container[str] = ()) -> list[Hit]:
    """What is to be told first comes first; what is level stays in its order.

    `stale` are the ids of those that rest on a file which changed since.
    """

    def order(hit: Hit) -> tuple[int, float]:
        record = hit.record
        worth = weight(record, _age(now.day_of(record.timestamp), now.day))
        return standing(record), -worth * (STALE if record.id in stale else 1.0)

    return sorted(hits, key=order)


def _age(day: str, today: date) -> int:
    try:
        return max((today - date.fromisoformat(day)).days, 0)
    except ValueError:
        return 0
