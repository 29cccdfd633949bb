"""Which memories fit a message well enough to be shown unasked: few, and none for small talk.

It does not know how a search ranks; it is handed what a search found, best first.
"""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.context.sections import State
from commonplace.model.records import Hit
from commonplace.search.words import words_of

MOST = 10
LONGEST = 500
"""Characters of a message that are searched for."""
MOST_WORDS = 12
"""Words of a message that are looked at: what it is about stands in its first sentences."""
ENGLISH = """again alright awesome bye cheers continue cool correct done excellent fine go going
good goodbye great haha hello help hey hi hmm keep let lol look looks lot make maybe morning need
next nice nope oh ok okay perfect please right say says see show sorry start stop sure tell thank
thanks thing things think tomorrow try understood use want well yeah yep yes"""
SMALL_TALK = frozenset(ENGLISH.split())
"""Words that say nothing of what a message is about."""
LEAST_SHARE = 0.4
"""The share of a message's telling words that a memory must have, counted by how rare they are."""
LEAST_SCORE = 0.3
"""The score that makes up for a smaller share."""
LEAST_ALIKE = 0.1
"""The score from which a memory is alike that has none of the words."""
NEAR_BEST, BEST_BY_LIKENESS = 0.5, 0.9
"""How far below the best a memory may score; one without the words must be nearly the best, as
what stands beside a good one scores by that alone.
"""
ENDINGS = ("ing", "ed", "s")


def relevant_hits(state: State) -> list[Hit]:
    """The memories to show with the message; none when it is about nothing that is kept."""
    telling = [word for word in words_of(state.message) if word not in SMALL_TALK][:MOST_WORDS]
    if not telling or state.find is None:
        return []
    hits = state.find(state.message[:LONGEST], MOST)
    if not hits:
        return []
    rarity = state.library.index.rarity(telling)
    best = max(hit.score for hit in hits)
    return [hit for hit in hits if _fits(hit, rarity, best)]


def _fits(hit: Hit, rarity: Mapping[str, float], best: float) -> bool:
    share = _share(hit, rarity)
    if not share:
        return hit.score >= max(LEAST_ALIKE, best * BEST_BY_LIKENESS)
    return hit.score >= best * NEAR_BEST and (share >= LEAST_SHARE or hit.score >= LEAST_SCORE)


def _share(hit: Hit, rarity: Mapping[str, float]) -> float:
    """How much of what the message is about the memory has."""
    record = hit.record
    has = {stem(word) for word in words_of(f"{record.text} {' '.join(record.tags)}")}
    found = sum(weight for word, weight in rarity.items() if stem(word) in has)
    return found / (sum(rarity.values()) or 1.0)


def stem(word: str) -> str:
    """An English word without its ending, so that `tests` and `testing` are one."""
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word.removesuffix(ending)
            return word[:-1] if len(word) > 3 and word[-1] == word[-2] != "s" else word
    return word
