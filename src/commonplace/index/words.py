"""Words: what of a record is searched beside its text, and a query as FTS5 takes it.

It does not know the index. Scripts that put no space between words are cut into overlapping pairs
of letters, on both sides alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commonplace.records import Record

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

UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
OPTIONAL_MARK = re.compile(f"[{OPTIONAL}]")
# FTS5 takes the accents off Latin letters itself.
BEYOND_LATIN = re.compile(f"[^\x00-\u024f\u1e00-\u1eff{OPTIONAL}]")
WORD = f"(?:[^\\W{UNSPACED}]|[{OPTIONAL}{INDIC}])+"
# A date stays in one piece, which FTS5 then takes as a phrase: 11 and 15 alone say little.
TOKEN = re.compile(f"[{UNSPACED}]+|\\d{{4}}-\\d\\d(?:-\\d\\d)?(?!\\d)|{WORD}")
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


def indexed(record: Record) -> str:
    """What is searched beside the text: tags, who, when, other spellings of what is not Latin."""
    day = record.timestamp[:10]
    beside = " ".join((*record.tags, record.username, day, MONTHS.get(day[5:7], "")))
    if record.behavioral:
        beside += " " + record.kind
    if record.text.isascii() and beside.isascii():
        return beside
    return " ".join((beside, *_spellings(f"{record.text} {beside}")))


def _spellings(text: str) -> Iterator[str]:
    for token in TOKEN.findall(text):
        if UNSPACED_RUN.match(token):
            # The last letter stands alone, so that every letter is the start of something.
            yield from (token[at : at + 2] for at in range(len(token)))
        elif BEYOND_LATIN.search(token) and _bare(token) != token:
            yield _bare(token)


def match(text: str) -> str:
    """The FTS5 expression for any text: quoted words joined by OR; empty when it has no words."""
    tokens = TOKEN.findall(text)
    told = [token for token in tokens if token.lower() not in STOP] or tokens
    terms = dict.fromkeys(term for token in told for term in _terms(token))
    return " OR ".join(list(terms)[:MOST])


def _terms(token: str) -> list[str]:
    if not UNSPACED_RUN.match(token):
        return [f'"{_bare(token) if BEYOND_LATIN.search(token) else token}"']
    if len(token) == 1:
        return [f'"{token}"*']
    return [f'"{token[at : at + 2]}"' for at in range(len(token) - 1)]


def _bare(word: str) -> str:
    """The word without the marks that are written or left out at will."""
    from unicodedata import normalize

    return normalize("NFC", OPTIONAL_MARK.sub("", normalize("NFD", word)))
