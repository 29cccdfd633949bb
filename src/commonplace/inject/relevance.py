"""Which memories fit a message well enough to be shown unasked: few, and none for small talk.

It does not know how a search ranks; it is handed what a search found, best first.
"""

from __future__ import annotations

from commonplace.index.words import words_of
from commonplace.inject.sources import State
from commonplace.records import Hit

MOST = 10
ENGLISH = """again alright awesome bye cheers continue cool correct done excellent fine go good
goodbye great haha hello help hey hi hmm let lol make maybe morning need next nice nope oh ok okay
perfect please right see show sorry start stop sure tell thank thanks thing things think tomorrow
try understood want well yeah yep yes"""
SMALL_TALK = frozenset(ENGLISH.split())
"""Words that say nothing of what a message is about."""
LEAST_SHARE = 0.34
"""The share of a message's telling words that a memory must have, counted by their length."""
NEAR_BEST = 0.5
"""How far below the best a memory may score."""


def relevant_hits(state: State) -> list[Hit]:
    """The memories to show with the message; none when it is about nothing that is kept."""
    telling = [word for word in words_of(state.message) if word not in SMALL_TALK]
    if not telling or state.find is None:
        return []
    hits = state.find(" ".join(telling), MOST)
    best = max((hit.score for hit in hits), default=0.0)
    return [
        hit for hit in hits if hit.score >= best * NEAR_BEST and _share(telling, hit) >= LEAST_SHARE
    ]


def _share(telling: list[str], hit: Hit) -> float:
    """How much of what the message is about the memory has."""
    has = set(words_of(f"{hit.record.text} {' '.join(hit.record.tags)} {hit.record.username}"))
    stems = {word[:5] for word in has}
    weight = sum(map(len, telling[:MOST_WORDS]))
    found = sum(len(word) for word in telling[:MOST_WORDS] if word in has or word[:5] in stems)
    return found / weight if weight else 0.0


MOST_WORDS = 12
