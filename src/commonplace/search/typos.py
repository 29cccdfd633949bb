"""Read a misspelt word of a question as the word of the vault that was meant.

A word that is none is also read as the two words of the vault that it is made of. A slip is two
letters swapped, a letter left out or doubled, or a neighbouring key; other wrong
letters count half a slip more. Every index looks the words up in the same way: those that begin
alike, and those that the word becomes when a slip in its first letters is undone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from commonplace.search.words import STOP, cut_terms, stops_of, tokens, words_of

if TYPE_CHECKING:
    from commonplace.search.encoders.static import WeightsFile
    from commonplace.search.index import Index, Query

ALIKE = 3
"""Letters that a word and the word that was meant begin with, unless the slip is among them."""
SHORTEST, LONGEST = 4, 32
"""Letters of a word that may be read otherwise."""
LONG = 8
"""Letters from which a word may have two slips."""
WRONG = 1.5
"""What a letter counts that no slip explains."""
MOST_SLIPS = {SHORTEST: 1.0, LONG: 2.5}
ENDING = 4
"""Letters that a stem may lack of its word."""
MOST = 8
"""Of a text with more strange words none is read otherwise: it is a log, or another language."""
ENDINGS = ("s", "es", "ed", "ing", "ly")
WORST = 1e9
NO_WORD = ""
"""What no record has is as rare as this."""
FEW = 12
"""How many words are looked at closely."""
KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдежзийклмнопрстуфхцчшщъыьэюя")


class Slipped(NamedTuple):
    """What an index looks up for a word that no record has."""

    word: str
    beginning: str
    undone: tuple[str, ...]
    """Words that it becomes when a slip in its first letters is undone."""


def suspects(text: str) -> list[str]:
    """Words of a question that may be misspelt: they are long enough, and no word of English.

    Of another language, whose words nobody knows here, only the long ones.
    """
    told = tokens(text)
    shortest = SHORTEST if stops_of(told) is STOP else LONG
    found = (token for token in told if _is_suspect(token, shortest))
    return list(dict.fromkeys(found))


def _is_suspect(token: str, shortest: int) -> bool:
    word = token.lower()
    return (
        shortest <= len(word) <= LONGEST
        and word.isalpha()
        and not token.isupper()
        and word not in STOP
        and any(letter in ALPHABETS[0] or letter in ALPHABETS[1] for letter in word)
        and not any(_english().find(each) >= 0 for each in (word, *_bases(word)))
    )


def _bases(word: str) -> Iterator[str]:
    """What an English word may be a form of."""
    for ending in ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) >= SHORTEST:
            yield from (base, base + "e")


@cache
def _english() -> WeightsFile:
    """The words of the static encoder, which has every frequent one of English."""
    from commonplace.search.encoders.static import FILE, WeightsFile

    return WeightsFile(FILE)


def readings(text: str, index: Index, query: Query) -> dict[str, str]:
    """Misspelt words of a question, each with the word of a record that fits the query."""
    words = suspects(text)
    if not 0 < len(words) <= MOST:
        return {}
    rare = index.rarity([*words, NO_WORD])
    unknown = [word for word in words if rare[word] == rare[NO_WORD]]
    told = ((word, _reading(slipped(word), index, query)) for word in unknown)
    return {word: meaning for word, meaning in told if meaning}


def _reading(it: Slipped, index: Index, query: Query) -> str:
    stems = index.stems(it)
    # Counts are cached: a record that came since may have the word.
    if any(term.words[0] in stems for term in cut_terms(it.word)):
        return ""
    return meant(it.word, index.having_stems(closest(it.word, stems), query)) or _parts(it, index)


def _parts(it: Slipped, index: Index) -> str:
    """The two words that a compound is made of, if records have both of them."""
    word = it.word
    cuts = range(SHORTEST, len(word) - SHORTEST + 1)
    halves = [(word[:at], word[at:]) for at in sorted(cuts, key=lambda at: abs(2 * at - len(word)))]
    rare = index.rarity([NO_WORD, *(half for both in halves for half in both)])
    known = (both for both in halves if max(rare[half] for half in both) < rare[NO_WORD])
    return " ".join(next(known, ()))


def slipped(word: str) -> Slipped:
    word = word.lower()
    return Slipped(word, word[:ALIKE], tuple(dict.fromkeys(_undone(word))))


def _undone(word: str) -> Iterator[str]:
    alphabet = next((each for each in ALPHABETS if word[0] in each), "")
    for at in range(ALIKE):
        before, after = word[:at], word[at:]
        yield before + after[1:2] + after[:1] + after[2:]
        if after[:1] == after[1:2]:
            yield before + after[1:]
        yield from (before + key + after[1:] for key in sorted(_near().get(after[:1], "")))
        if at:
            yield from (before + letter + after for letter in alphabet)


@cache
def _near() -> dict[str, frozenset[str]]:
    """The keys around each key; a row stands half a key to the right of the one above."""
    near: dict[str, set[str]] = {}
    for row, below in zip(KEYS, (*KEYS[1:], "")):
        for at, key in enumerate(row):
            for other in (row[at + 1 : at + 2], below[max(at - 1, 0) : at + 1]):
                for each in other:
                    near.setdefault(key, set()).add(each)
                    near.setdefault(each, set()).add(key)
    return {key: frozenset(keys) for key, keys in near.items()}


def closest(word: str, stems: Iterable[str]) -> list[str]:
    """A few stems that the word may have, the closest first."""
    most = _most(word)
    letters = set(word)
    scored: list[tuple[float, str]] = []
    for stem in stems:
        if stem.startswith(word):
            scored.append((WRONG, stem))
            continue
        bare = stem.removesuffix("i")
        if -ENDING <= len(bare) - len(word) <= 2 and len(letters.symmetric_difference(bare)) <= 6:
            slips = min(_slips(word, bare)[-ENDING - 1 :])
            scored += [(slips, stem)] if slips <= most else []
    return [stem for _, stem in sorted(scored)[:FEW]]


def meant(word: str, texts: Iterable[tuple[str, int]]) -> str:
    """The word that was meant, of texts and how many records have the word of each; or none.

    The fewest slips win, then the word that most records have.
    """
    found = [
        (_slips_to(word, other), -having, other)
        for text, having in texts
        for other in dict.fromkeys(words_of(text))
        if len(other) >= len(word) - 2
    ]
    slips, _, best = min(found, default=(WORST, 0, ""))
    return best if slips <= _most(word) else ""


def _slips_to(word: str, other: str) -> float:
    """How many slips lead from the other word to this one; its beginning is as good as one."""
    if other.startswith(word):
        return WRONG if len(other) > len(word) + 1 else 1.0
    return _slips(word, other)[-1] if len(other) <= len(word) + 2 and other.isalpha() else WORST


def _most(word: str) -> float:
    return MOST_SLIPS[LONG] if len(word) >= LONG else WRONG if len(word) > SHORTEST else 1.0


def _slips(word: str, other: str) -> list[float]:
    """How many slips lead from the other word to each beginning of this one."""
    near = _near()
    rows = [[float(at) for at in range(len(other) + 1)]]
    for at, letter in enumerate(word, 1):
        last, doubled = rows[-1], at > 1 and letter == word[at - 2]
        row = [last[0] + WRONG]
        for to, wanted in enumerate(other, 1):
            wrong = 0.0 if letter == wanted else 1.0 if letter in near.get(wanted, "") else WRONG
            least = min(
                last[to] + (1.0 if doubled else WRONG), row[to - 1] + 1.0, last[to - 1] + wrong
            )
            if at > 1 < to and letter == other[to - 2] and word[at - 2] == wanted:
                least = min(least, rows[at - 2][to - 2] + 1.0)
            row.append(least)
        rows.append(row)
    return [row[-1] for row in rows]


def read_as(text: str, readings: Mapping[str, str]) -> str:
    """The question with each misspelt word as it was meant."""
    for word, meaning in readings.items():
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", meaning, text)
    return text
