"""Stems: what is left of a Russian or Arabic word without its endings and what is written onto it.

Small rules, no dictionary: the same word in two forms mostly has the same stem, on both sides of a
search alike, and that is all a stem is for. English words have theirs from SQLite. It knows single
words, bare of optional marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

SHORTEST = 3
"""Letters that are left at least."""
RUSSIAN_ENDINGS = """иями ями ами ией иям ием иях ость ости остью
ого его ому ему ыми ими ая яя ое ее ые ие ый ий ой ей ую юю ых их ым им ом ем ою ею
ай ае аю ея еем ия ии ию ью ья ах ях ам ям ов ев а я о е у ю ы и ь й
ает ают аем аешь аете яет яют еет еют
овать евать ывать ивать овал овала уют ует ешь ете ишь ите ет ют ут ит ат ят
ила ыла ела ала яла ило ело ало яло или ыли ели али яли ил ыл ел ал ял
ить ыть ать ять еть нуть ла ло ли ть"""
ADJECTIVES = "ическ енн онн ск н"
"""What makes an adjective of a noun, once its ending is off."""
ARABIC_ALIKE = str.maketrans("أإآٱىةؤئ", "اااايهوي")
"""Letters that people write one for the other."""
ARTICLES = ("وبال", "وال", "فال", "بال", "كال", "ولل", "لل", "ال")
JOINED = "وبلفكس"
"""Letters that are written onto the word that follows, and may also begin one."""
ARABIC_ENDINGS = """تهما هما كما تها ته تي ات ون ين ان ها هم هن كم نا وا يه تا
ه ي ا ت"""


def _longest_first(endings: str) -> tuple[str, ...]:
    return tuple(sorted(endings.split(), key=len, reverse=True))


# Bare words have lost the mark of й.
RUSSIAN = _longest_first(RUSSIAN_ENDINGS.replace("й", "и"))
ARABIC = _longest_first(ARABIC_ENDINGS)
ADJECTIVAL = _longest_first(ADJECTIVES)


def stems(word: str) -> tuple[str, ...]:
    """The stems of a word that are not the word itself; none for other scripts."""
    first = word[:1]
    if "\u0400" <= first <= "\u052f":
        return _russian(word.lower())
    if "\u0620" <= first <= "\u06d3":
        return _arabic(word)
    return ()


@lru_cache(maxsize=8192)
def _russian(word: str) -> tuple[str, ...]:
    stem = _without(word.removesuffix("ся").removesuffix("сь"), RUSSIAN)
    noun = _without(stem, ADJECTIVAL)
    return tuple(dict.fromkeys(each for each in (stem, noun) if each != word))


@lru_cache(maxsize=8192)
def _arabic(word: str) -> tuple[str, ...]:
    plain = word.translate(ARABIC_ALIKE)
    bare = next((plain.removeprefix(it) for it in ARTICLES if _begins(plain, it)), plain)
    found = [plain, *_roots(bare)]
    if bare is plain and plain[0] in JOINED and len(plain) > SHORTEST:
        found += _roots(plain[1:])
    return tuple(dict.fromkeys(each for each in found if each != word))


def _begins(word: str, article: str) -> bool:
    return word.startswith(article) and len(word) - len(article) >= SHORTEST - 1


def _roots(word: str) -> Iterator[str]:
    yield word
    yield _without(word, ARABIC)


def _without(word: str, endings: tuple[str, ...]) -> str:
    for ending in endings:
        if word.endswith(ending) and len(word) - len(ending) >= SHORTEST:
            return word[: -len(ending)]
    return word
