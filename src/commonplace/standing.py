"""Standing: how much a record matters when nothing in particular is asked, as in a brief.

Four small factors and their product: what kind it is and how fast such things fade, how sure it
was, how far its origin is believed, and whether it still holds. It knows neither the index nor the
clock: it is told the day.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from commonplace.records import Hit, Record
from commonplace.safety import Trust, trust_of

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
OVER = 0.1
"""What is left of a record that is no longer valid, or not yet."""


def standing(record: Record, today: date) -> float:
    """How much it matters, from 0 to 1."""
    worth, fades = KINDS.get(record.kind, ANY_OTHER)
    fresh = 1 / (1 + _age(record, today) / fades)
    believed = BELIEVED.get(trust_of(record.origin), 1.0)
    holds = 1.0 if _holds(record, today.isoformat()) else OVER
    return worth * fresh * record.confidence * believed * holds


def by_standing(hits: Iterable[Hit], today: date) -> list[Hit]:
    """What matters most first; what matters the same stays in its order."""
    return sorted(hits, key=lambda hit: standing(hit.record, today), reverse=True)


def _age(record: Record, today: date) -> int:
    try:
        return max((today - date.fromisoformat(record.timestamp[:10])).days, 0)
    except ValueError:
        return 0


def _holds(record: Record, day: str) -> bool:
    begins, ends = record.valid_from[:10], record.valid_to[:10]
    return begins <= day and (not ends or day <= ends)
