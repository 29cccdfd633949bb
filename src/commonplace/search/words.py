"""Words: what of a record is searched beside its text, and a query as FTS5 takes it.

It does not know the index. Scripts that put no space between words are cut into overlapping pairs
of letters, and some that inflect much have stems, on both sides alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from commonplace.model.lazy import Lazy
from commonplace.model.records import BEHAVIORAL, Record

if TYPE_CHECKING:
    from commonplace.search import stems
else:
    stems = Lazy("search.stems")

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Korean
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Chinese
)
OPTIONAL = (
    "\u0300-\u036f"  # accents
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Hebrew points
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"  # Arabic vowels
)
"""Marks that people write or leave out as they like."""
INDIC = "\u0900-\u0963\u0966-\u0dff"

WORD = f"(?:[^\\W{UNSPACED}]|[{OPTIONAL}{INDIC}])+"
# A date stays in one piece, which FTS5 then takes as a phrase: 11 and 15 alone say little.
DATE = "\\d{4}-\\d\\d(?:-\\d\\d)?(?!\\d)"
ASCII_TOKEN = re.compile(f"{DATE}|\\w+", re.ASCII)
MOST = 32
ENGLISH_MONTHS = """january february march april may june july august september october november
december"""
MONTHS = {f"{number:02}": name for number, name in enumerate(ENGLISH_MONTHS.split(), 1)}
ENGLISH_STOPS = """a about all also am an and any are as at be because been before being but by can
could d did do does doing don for from get got had has have having he her here him his how i if in
into is it its itself just ll m me more most my no nor not now of on once only or other our out
over own re s same she should so some such t than that the their them then there these they this
those through to too under until up us ve very was we were what when where which while who whom
whose why will with would you your"""
STOP = frozenset(ENGLISH_STOPS.split())
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* M* Co'"
"""How FTS5 cuts a text into words."""
K1, B = 1.2, 0.75
LEAST = 1e-6
"""FTS5's constants for BM25, and the least that it has a word count: one that most texts have
counts next to nothing, but never against a text.
"""


def indexed(record: Record) -> str:
    """What is searched beside the text: tags, who, when, an agent's words for it, other spellings
    of what is not Latin.
    """
    day = record.timestamp[:10]
    said = (*record.tags, record.username, day, MONTHS.get(day[5:7], ""), *record.found_by)
    beside = " ".join(said)
    if record.kind in BEHAVIORAL:
        beside += " " + record.kind
    if record.text.isascii() and beside.isascii():
        return beside
    return " ".join((beside, *_spellings(f"{record.text} {beside}")))


def spellings(text: str) -> str:
    """Other spellings of what is not Latin, to be searched beside a text."""
    return "" if text.isascii() else " ".join(_spellings(text))


def words_of(text: str) -> list[str]:
    """The words of a text that tell something, in small letters; runs of unspaced script whole."""
    found = ASCII_TOKEN.findall(text) if text.isascii() else _patterns().token.findall(text)
    return [word for word in map(str.lower, found) if word not in STOP]


def match(text: str) -> str:
    """The FTS5 expression for any text: quoted words joined by OR; empty when it has no words."""
    return any_of(terms(text))


def any_of(found: Sequence[str]) -> str:
    """The FTS5 expression for any of these terms."""
    return " OR ".join(found)


def terms(text: str) -> list[str]:
    """The words of any text as FTS5 takes them, each quoted."""
    tokens = ASCII_TOKEN.findall(text) if text.isascii() else _patterns().token.findall(text)
    told = [token for token in tokens if token.lower() not in STOP] or tokens
    return list(dict.fromkeys(term for token in told for term in _terms(token)))[:MOST]


def _terms(token: str) -> list[str]:
    if token.isascii():
        return [f'"{token}"']
    if not _patterns().unspaced.match(token):
        bare = _bare(token)
        return [f'"{each}"' for each in (bare, *stems.stems(bare))]
    if len(token) == 1:
        return [f'"{token}"*']
    return [f'"{token[at : at + 2]}"' for at in range(len(token) - 1)]


def _spellings(text: str) -> Iterator[str]:
    for token in _patterns().token.findall(text):
        if _patterns().unspaced.match(token):
            # The last letter stands alone, so that every letter is the start of something.
            yield from (token[at : at + 2] for at in range(len(token)))
        elif not token.isascii():
            bare = _bare(token)
            yield from (bare,) if bare != token else ()
            yield from stems.stems(bare)


def _bare(word: str) -> str:
    """The word without marks that are optional; FTS5 takes the accents off Latin letters itself."""
    if word.isascii() or not _patterns().beyond_latin.search(word):
        return word
    from unicodedata import normalize

    return normalize("NFC", _patterns().optional.sub("", normalize("NFD", word)))


class _Patterns(NamedTuple):
    token: re.Pattern[str]
    unspaced: re.Pattern[str]
    optional: re.Pattern[str]
    beyond_latin: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """Made when they are first needed: sets of so many letters take milliseconds to compile."""
    return _Patterns(
        token=re.compile(f"[{UNSPACED}]+|{DATE}|{WORD}"),
        unspaced=re.compile(f"[{UNSPACED}]"),
        optional=re.compile(f"[{OPTIONAL}]"),
        beyond_latin=re.compile(f"[^\x00-\u024f\u1e00-\u1eff{OPTIONAL}]"),
    )
