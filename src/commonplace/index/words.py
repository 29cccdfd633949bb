"""Words: what of a record is searched beside its text, and a query as FTS5 takes it.

It does not know the index. Scripts that put no space between words are cut into overlapping pairs
of letters, on both sides alike.
"""

from __future__ import annotations

import re

from commonplace.records import Record

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Korean
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"  # Chinese
)
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
# A date stays in one piece, which FTS5 then takes as a phrase: 11 and 15 alone say little.
TOKEN = re.compile(f"[{UNSPACED}]+|\\d{{4}}-\\d\\d(?:-\\d\\d)?(?!\\d)|[^\\W{UNSPACED}]+")
MOST = 32
MONTHS = dict(
    zip(
        (f"{month:02}" for month in range(1, 13)),
        [
            "january",
            "february",
            "march",
            "april",
            "may",
            "june",
            "july",
            "august",
            "september",
            "october",
            "november",
            "december",
        ],
        strict=True,
    )
)
STOP = frozenset(
    [
        "a",
        "about",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "but",
        "by",
        "can",
        "could",
        "d",
        "did",
        "do",
        "does",
        "doing",
        "don",
        "for",
        "from",
        "get",
        "got",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "ll",
        "m",
        "me",
        "more",
        "most",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "out",
        "over",
        "own",
        "re",
        "s",
        "same",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "ve",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)


def indexed(record: Record) -> str:
    """What is searched beside the text: tags, who, when, and the pairs of unspaced scripts."""
    day = record.timestamp[:10]
    beside = " ".join((*record.tags, record.username, day, MONTHS.get(day[5:7], "")))
    if record.behavioral:
        beside += " " + record.kind
    if record.text.isascii() and beside.isascii():
        return beside
    runs = UNSPACED_RUN.findall(f"{record.text} {beside}")
    return " ".join((beside, *(pair for run in runs for pair in _indexed_pairs(run))))


def match(text: str) -> str:
    """The FTS5 expression for any text: quoted words joined by OR; empty when it has no words."""
    tokens = TOKEN.findall(text)
    told = [token for token in tokens if token.lower() not in STOP] or tokens
    terms = dict.fromkeys(term for token in told for term in _terms(token))
    return " OR ".join(list(terms)[:MOST])


def _terms(token: str) -> list[str]:
    if not UNSPACED_RUN.match(token):
        return [f'"{token}"']
    letters = _letters(token)
    if len(letters) == 1:
        return [f'"{letters}"*']
    return [f'"{letters[at : at + 2]}"' for at in range(len(letters) - 1)]


def _indexed_pairs(run: str) -> list[str]:
    """Every letter with the next; the last alone, so that each single letter starts a word."""
    letters = _letters(run)
    return [letters[at : at + 2] for at in range(len(letters))]


def _letters(run: str) -> str:
    """The run without its vowel and tone marks, at which FTS5 would cut it."""
    return "".join(filter(str.isalnum, run))
