"""Say in plain words why something was found: the one place where signals become words.

`LABELS` has a name for each signal, for whoever asks for the numbers; `TOLD` has what is said of a
hit that a signal raised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.search.scene import NEAR
from commonplace.search.word_forms import forms_of
from commonplace.search.words import terms

if TYPE_CHECKING:
    from commonplace.search.index import Candidate
    from commonplace.search.ranking import Ranked

MOST = 3
"""Reasons that are told of a hit, and words that are told of a reason."""
BEGINNING = 5
"""Letters by which a word is told from others, whatever its ending."""
ENDING = 4
"""Letters that two forms of a word may differ by in length."""
FEW = 3
"""Words up to which a question is repeated where the meaning is told."""
LEAST = 0.2
"""The part of a rank from which a signal is worth a word."""
WORD = re.compile(r"\w+")

TOLD = {
    "follows": "the newer of two",
    "in_period": "of the time that you ask about",
    "beside_event": "of the time that you ask about",
    "tells_when": "says when",
    "speaker": "by whom you name",
    "of_assistant": "said by the assistant",
}
"""What is said of a hit that such a signal raised, beside its own words and meaning."""

LABELS = {
    "words": "its words",
    "words_rank": "place by words",
    "alike": "its meaning",
    "alike_rank": "place by meaning",
    "alike_unsaid": "its meaning, where words are missing",
    "told": "your words in it",
    "told_aside": "words beside your question",
    "phrases": "words side by side",
    "neighbours_words": "words of what is beside it",
    "two_away_words": "words two lines away",
    "answers_words": "words of the question that it answers",
    "answers_alike": "meaning of the question that it answers",
    "session_best_words": "best words in its session",
    "session_best_alike": "best meaning in its session",
    "session_mean_words": "words in its session as a whole",
    "told_around": "your words in it and beside it",
    "told_in_session": "your words in its session",
    "opens_session": "begins a session",
    "speaker": "by whom you name",
    "asks": "is itself a question",
    "of_oneself": "says I or my",
    "tells_when": "says when",
    "by_assistant": "by the assistant",
    "of_assistant": "said by the assistant, as you ask",
    "length": "its length",
    "length_by_assistant": "length of what the assistant said",
    "in_period": "of the time that you ask about",
    "recent": "how new it is",
    "follows": "newer, about the same as another",
    "tells_change": "speaks of a change to another",
    "beside_event": "of the time before or after what you name",
    "superseded": "replaced",
    "untrusted": "from the web or a tool",
    "derived": "made of others",
}
"""What each signal looks at, as a person would say it."""


def label(signal: str) -> str:
    """A signal's name for people."""
    return LABELS.get(signal, signal.replace("_", " "))


class AskedWords(Struct, frozen=True):
    """A question as it was looked for: what is asked, words beside it, and misspelt ones."""

    text: str
    aside: tuple[str, ...] = ()
    readings: Mapping[str, str] = {}
    """Misspelt words, each with the word that it was read as."""

    @property
    def words(self) -> str:
        return " ".join((self.text, *self.aside))


def reasons(each: Ranked, asked: AskedWords, by_key: Mapping[int, Candidate]) -> tuple[str, ...]:
    """Why it was found, the weightiest first."""
    return tuple(dict.fromkeys(_reasons(each, asked, by_key)))[:MOST]


def by_words(question: str, text: str) -> tuple[str, ...]:
    """Why a text was found that has words of the question."""
    found = shared(question, text)
    return (f"shares {quoted(found)}",) if found else ("shares a word in its tags, name or date",)


def shared(question: str, text: str) -> list[str]:
    """The question's words that a text has in this or another form, in the question's order."""
    lower = text.lower()
    words = {*WORD.findall(lower), *(form for word in WORD.findall(text) for form in _forms(word))}
    return [word for word in _asked(question) if word in words or _is_in(word, lower, words)]


def marked(question: str, text: str) -> list[str]:
    """The words of a text, as they stand in it, that it shares with a question in any form."""
    asked = _asked(question)
    found = dict.fromkeys(WORD.findall(text))
    return [word for word in found if any(_stands_for(word.lower(), each) for each in asked)]


def _stands_for(word: str, asked: str) -> bool:
    """Whether a word of a text is why a word of a question is told as shared."""
    if not asked.isascii() or "-" in asked:
        return asked in word
    kin = {word, *_forms(word)}
    return asked in kin or _is_in(asked, word, kin)


@lru_cache(16)
def _asked(question: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(term.strip('"*').lower() for term in terms(question)))


@lru_cache(8192)
def _forms(word: str) -> tuple[str, ...]:
    return forms_of(word) if word.isascii() else ()


def _is_in(word: str, lower: str, words: set[str]) -> bool:
    if not word.isascii() or "-" in word:
        return word in lower  # A pair of letters, or a date.
    kin = (word, *_forms(word))
    return any(_are_forms(one, other) for one in kin for other in words)


def _are_forms(one: str, other: str) -> bool:
    """Whether two words differ by their endings alone, as far as their letters tell."""
    count = min(len(one), len(other), BEGINNING)
    begin_alike = count >= MOST and one[:count] == other[:count]
    few = ENDING if count == BEGINNING else 1
    return begin_alike and abs(len(one) - len(other)) <= few


def _reasons(each: Ranked, asked: AskedWords, by_key: Mapping[int, Candidate]) -> Iterator[str]:
    it, parts = each.candidate, each.parts()
    own = {"words": it.words_rank >= 0, "meaning": it.cosine_rank >= 0 and each.is_like}
    if own["words"]:
        yield from by_words(asked.words, it.text)
        yield from _read_as(asked, it.text)
    if own["meaning"] and not (own["words"] and _by_words_rather(parts, asked.words, it.text)):
        yield _meant(asked.text)
    if not any(own.values()):
        yield _around(it, asked.words, by_key) or _meant(asked.text)
    yield from (said for name, said in TOLD.items() if parts.get(name, 0.0) >= LEAST)


def _read_as(asked: AskedWords, text: str) -> Iterator[str]:
    """How misspelt words were read that the text has."""
    for word, meant in asked.readings.items():
        if shared(meant, text):
            yield f"“{word}” read as “{meant}”"


def _by_words_rather(parts: Mapping[str, float], question: str, text: str) -> bool:
    """Whether its words say it all, or count for more than its meaning."""
    if len(shared(question, text)) == len(terms(question)):
        return True
    words = sum(parts.get(name, 0.0) for name in ("words", "words_rank", "told", "phrases"))
    return words > sum(parts.get(name, 0.0) for name in ("alike", "alike_rank", "alike_unsaid"))


def _meant(question: str) -> str:
    asked = [term.strip('"*') for term in terms(question)]
    few = 0 < len(asked) <= FEW and question.isascii()
    return f"near in meaning to “{' '.join(asked)}”" if few else "near in meaning"


def _around(it: Candidate, question: str, by_key: Mapping[int, Candidate]) -> str:
    """What is found beside something that has neither a word nor the meaning itself."""
    is_said = "said" if it.session else "stands"
    for side, key in (("after", it.before), ("before", it.after)):
        if key in by_key and (by_key[key].words_rank >= 0 or by_key[key].cosine >= NEAR):
            found = shared(question, by_key[key].text)
            beside = f"what shares {quoted(found)}" if found else "what is near in meaning"
            return f"{is_said} right {side} {beside}"
    return "said in the same session" if it.session else ""


def quoted(words: Sequence[str]) -> str:
    """A few words in quotation marks, and how many more there are."""
    shown = [f"“{word}”" for word in words[:MOST]]
    if len(words) > MOST:
        return f"{', '.join(shown)} and {len(words) - MOST} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
