"""How alike two texts are, by their words: the same, nearly the same, or not.

Texts that differ by a number, a name or a "not" are not the same. It does not know which texts
there are.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache

WORD = re.compile(r"\w+(?:['\u2019.@:/+-]\w+)*")
ALIKE = 0.8
"""The share of their words that two texts have in common when they are nearly the same."""
FEWEST = 5
"""Words below which one more or less changes what is said."""
COMMON = 8
"""How many of the texts may have a word by which two are found that may be alike."""
KNOWN = 1 << 16
"""Words of which the stem is remembered: a vault has many texts of few words."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP = _words(
    """a an the and also is are was were be been of in on at to for with that this it its as by his
    her their our my your has have had will would very really just please so"""
)
ORDERED = _words("over than before after from not never no without nor nt cannot")
"""With one of these the order of the words decides what is said."""


def fixed(raw: Sequence[str]) -> frozenset[str]:
    """The words that must be the same in another text to be like it: names, numbers, "not"."""
    return frozenset(
        small if small in ORDERED else word
        for at, (word, small) in enumerate(zip(raw, map(str.casefold, raw)))
        if small in ORDERED or not word.isalpha() or (at and word[0].isupper())
    )


class TextWords:
    """A text as its words, and as the stems that count."""

    __slots__ = ("ordered", "stems", "words")

    def __init__(self, raw: Sequence[str]) -> None:
        self.words = tuple(map(str.casefold, raw))
        self.stems = frozenset(map(_stem, set(self.words) - STOP))
        self.ordered = not ORDERED.isdisjoint(self.words)


def in_order(one: TextWords, other: TextWords) -> bool:
    """Whether the words that both have come in the same order, where that matters."""
    if not one.ordered:
        return True
    shared = set(one.words).intersection(other.words)
    first, second = (
        [word for word in told.words if word in shared and word not in STOP]
        for told in (one, other)
    )
    return first == second


@lru_cache(KNOWN)
def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 3:
            return word[: -len(ending)]
    return word


def is_near(one: frozenset[str], other: frozenset[str]) -> bool:
    if one == other:
        return True
    shared = len(one & other)
    return min(len(one), len(other)) >= FEWEST and shared >= ALIKE * len(one | other)


def repeats(texts: Sequence[str]) -> dict[int, int]:
    """The numbers of the texts that say what an earlier one says, each with that one's number.

    A word may be added or missing. None may stand in place of another: "heron" is not "osprey".
    """
    told: dict[int, int] = {}
    whole: dict[frozenset[str], int] = {}
    having: dict[str, list[int]] = {}
    read = cache(lambda at: _read(texts[at]))
    for at, text in enumerate(texts):
        spelt = frozenset(text.casefold().split())
        if (same := whole.setdefault(spelt, at)) != at and _says_the_same(read(at), read(same)):
            told[at] = told.get(same, same)
            continue
        held = [holders for word in spelt if len(holders := having.get(word, ())) <= COMMON]
        shared = Counter(other for holders in held for other in holders)
        likely = sorted(other for other, count in shared.items() if count * 2 >= len(held))
        first = next((other for other in likely if _says_the_same(read(at), read(other))), None)
        if first is not None:
            told[at] = first
            continue
        for word in spelt:
            having.setdefault(word, []).append(at)
    return told


Read = tuple[frozenset[str], TextWords]


def _read(text: str) -> Read:
    raw = WORD.findall(text)
    return fixed(raw), TextWords(raw)


def _says_the_same(one: Read, other: Read) -> bool:
    (names, mine), (other_names, theirs) = one, other
    if mine.words == theirs.words:
        return True
    within = mine.stems <= theirs.stems or theirs.stems <= mine.stems
    alike = within and names == other_names and bool(mine.stems)
    return alike and is_near(mine.stems, theirs.stems) and in_order(mine, theirs)
