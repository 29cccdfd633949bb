"""Memories that follow up on another: newer, about the same, and perhaps telling of a change.

Nothing says that "Duarte left, Inês runs Lisbon" replaces "The Lisbon office is headed by Duarte".
But the two have words in common that few others have, and the newer one speaks of a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt

from commonplace.search.scene import BEGINNING, Column
from commonplace.search.words import words_of

HEADS, COMPARED = 3, 48
"""How many of the best are looked at for one that follows them, and among how many of the best."""
READ = 400
"""Characters of a text that are read."""
APART = 1.5
"""How far above the others a likeness must be, in standard deviations."""
LEAST_SPREAD = 0.03
ENGLISH = """now longer more anymore instead switched switches moved move stopped stops quit left
dropped drops replaced replaces replacing changed changes cancelled canceled cancels new since until
again become becomes became went gone gave ends ended over took corrected final finally renamed
migrated upgraded fixed sold died broke fell postponed shut closed off raised lowered formerly no
not out rather lost"""
GERMAN = "jetzt mehr statt stattdessen neu neue neuen neuer seit gewechselt umgezogen ersetzt"
FRENCH = "désormais maintenant depuis nouveau nouvelle nouveaux remplacé remplacée changé"
SPANISH = "ahora ya desde nuevo nueva cambió cambiado cambia"
PORTUGUESE = "agora desde novo nova mudou mudado trocou"
ITALIAN = "adesso ora più nuovo nuova cambiato cambiata dal"
RUSSIAN = "теперь больше вместо новый новая новое новые сменил сменила сейчас"
CHANGE = frozenset(
    " ".join((ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN)).split()
)
"""Words that tell of a change."""
PHRASES = (
    "as of",
    "set to",
    "used to",
    "these days",
    "现在",
    "改",
    "换",
    "不再",
    "変更",
    "やめ",
    "新し",
)


def followed(
    texts: Sequence[str],
    times: Sequence[str],
    told: Sequence[float],
    totals: Sequence[float],
    *,
    asked: frozenset[str],
) -> tuple[Column, Column]:
    """How much each text follows up on a better one, and the same where it speaks of a change.

    It must share two words with that one, or one that is not `asked` for; words are told by their
    beginnings.
    Counted in standard deviations of likeness, by how near to the best the other one is and by how
    much of the question it has: only what is surely about it is followed up on.
    """
    follows, changes = [0.0] * len(texts), [0.0] * len(texts)
    best = sorted(range(len(texts)), key=totals.__getitem__, reverse=True)[:COMPARED]
    if len(best) < 2:
        return follows, changes
    likeness = _Likeness({at: texts[at][:READ] for at in best}, asked)
    for head in best[:HEADS]:
        ahead = told[head] * exp(totals[head] - totals[best[0]])
        for at, apart in likeness.standing_out(head):
            if times[at] > times[head] and ahead * apart > follows[at]:
                follows[at] = ahead * apart
                changes[at] = follows[at] if _tells_change(texts[at][:READ]) else 0.0
    return follows, changes


def _tells_change(text: str) -> bool:
    words = {word.strip(".,;:!?()") for word in text.split()}
    return not CHANGE.isdisjoint(words) or any(phrase in text for phrase in PHRASES)


class _Likeness:
    """How alike texts are by their words, those that few of them have more than the others."""

    def __init__(self, texts: Mapping[int, str], asked: frozenset[str]) -> None:
        self._asked = asked
        self._words = {
            at: frozenset(word[:BEGINNING] for word in words_of(text)) for at, text in texts.items()
        }
        counts: dict[str, int] = {}
        for words in self._words.values():
            for word in words:
                counts[word] = counts.get(word, 0) + 1
        self._rare = {word: log(1 + len(texts) / (has - 0.5)) for word, has in counts.items()}
        self._whole = {at: self._sum(words) for at, words in self._words.items()}

    def _sum(self, words: frozenset[str]) -> float:
        return sum([self._rare[word] for word in words])

    def _is_about(self, shared: frozenset[str]) -> bool:
        """Whether words say that two texts are about the same, and not only that both answer."""
        return len(shared) > 1 or not shared <= self._asked

    def standing_out(self, head: int) -> list[tuple[int, float]]:
        """Those that are far more like one than the rest is, and how far."""
        own, whole = self._words[head], self._whole[head]
        alike = {
            at: self._sum(own & words) / sqrt(whole * self._whole[at])
            if self._is_about(own & words)
            else 0.0
            for at, words in self._words.items()
            if at != head
        }
        # In a small vault two that are alike would else make up the mean they are measured by.
        mean = sum(alike.values()) / COMPARED
        spread = sqrt(sum([value * value for value in alike.values()]) / COMPARED - mean * mean)
        apart = {
            at: (value - mean) / (spread + LEAST_SPREAD) - APART for at, value in alike.items()
        }
        return [(at, value) for at, value in apart.items() if value > 0]
