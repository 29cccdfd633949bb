"""Whom to believe: how far each origin is trusted, and what follows for a write."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Trust(IntEnum):
    """How far a record's origin is believed."""

    NONE = 0
    IMPORTED = 1
    AGENT = 2
    OWNER = 3


_TRUST = {
    "owner": Trust.OWNER,
    "agent": Trust.AGENT,
    "system": Trust.AGENT,
    "import": Trust.IMPORTED,
    "tool": Trust.NONE,
    "web": Trust.NONE,
}


BELIEVED = tuple(origin for origin, trust in _TRUST.items() if trust > Trust.NONE)
"""The origins whose texts taint nobody who reads them."""


def trust_of(origin: str) -> Trust:
    """The trust of an origin; one we don't know has none."""
    return _TRUST.get(origin, Trust.NONE)


def lowest(origins: Iterable[str]) -> str:
    """The least trusted of the origins, which is what a record derived from them takes."""
    return min(origins, key=lambda origin: (trust_of(origin), origin))


def stamped(origin: str, *, tainted: bool) -> str:
    """The origin a write gets: after untrusted reading an agent speaks for what it read."""
    return "web" if tainted and origin == "agent" else origin


def may_supersede(new_origin: str, old_origin: str) -> bool:
    """Whether a record of `new_origin` may replace one of `old_origin`."""
    return trust_of(new_origin) >= trust_of(old_origin)


def needs_review(*, behavioral: bool, origin: str, tainted: bool) -> bool:
    """Whether a record waits in quarantine until a person has approved it."""
    return behavioral and trust_of(stamped(origin, tainted=tainted)) < Trust.AGENT
