"""Ranking: which candidate answers a question best.

Words and vectors, and what stands beside them. It sees candidates, not the index.
"""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.index import Candidate, Query

ALIKE = 0.4
"""A cosine from which a text without any word of the question is an answer."""
BESIDE, WITHIN = 0.1, 0.3
"""What the neighbours' scores add, and the best of the same session."""
LONG = 600
"""Characters from which a text needs no neighbours."""


def ranked(found: Sequence[Candidate], query: Query) -> list[tuple[int, float]]:
    """Keys with scores between 0 and 1, best first."""
    most = max((each.words for each in found), default=0.0) or 1.0
    own = {each.key: 0.5 * each.words / most + 0.5 * max(each.cosine, 0.0) for each in found}
    best: dict[str, float] = {}
    for each in found:
        best[each.within] = max(best.get(each.within, 0.0), own[each.key])
    whole = 1.0 + 2 * BESIDE + WITHIN
    scored = [
        (each, (own[each.key] + _beside(each, own) + WITHIN * best[each.within]) / whole)
        for each in found
        if each.words_rank >= 0 or each.cosine >= ALIKE
    ]
    scored.sort(key=lambda pair: pair[0].id)
    scored.sort(key=lambda pair: (pair[1], pair[0].timestamp), reverse=True)
    return [(each.key, score) for each, score in scored]


def _beside(each: Candidate, own: dict[int, float]) -> float:
    near = own.get(each.before, 0.0) + own.get(each.after, 0.0)
    return BESIDE * max(1 - len(each.text) / LONG, 0.0) * near
