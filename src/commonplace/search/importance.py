"""How much a record matters when nothing in particular is asked, as in a brief.

Importance is the product of four factors: the record's kind and how fast such records fade, its
confidence, the trust in its origin, and whether it still holds.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import date

from commonplace.model.clock import Clock
from commonplace.model.records import Hit, Now, Record, is_over, is_to_come, now_of
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


def importance(record: Record, now: Now) -> float:
    """How much it matters, from 0 to 1."""
    worth, fades = KINDS.get(record.kind, ANY_OTHER)
    fresh = 1 / (1 + _age(now.day_of(record.timestamp), now.day) / fades)
    believed = BELIEVED.get(trust_of(record.origin), 1.0)
    holds = not is_over(record, now) and not is_to_come(record, now)
    return worth * fresh * record.confidence * believed * (1.0 if holds else OVER)


def by_importance(hits: Iterable[Hit], clock: Clock, *, stale: Container[str] = ()) -> list[Hit]:
    """What matters most first; what matters the same stays in its order.

    `stale` are the ids of those that rest on a file which changed since.
    """
    now = now_of(clock)

    def weight(hit: Hit) -> float:
        return importance(hit.record, now) * (STALE if hit.record.id in stale else 1.0)

    return sorted(hits, key=weight, reverse=True)


def _age(day: str, today: date) -> int:
    try:
        return max((today - date.fromisoformat(day)).days, 0)
    except ValueError:
        return 0
