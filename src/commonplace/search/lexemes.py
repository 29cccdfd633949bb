"""Lexemes: a text's words as FTS5 has them, for an index that is not in SQLite.

The same tokenizer that SQLite's index uses makes them, in a table in memory, so that two indexes of
one vault find the same. It does not know where the lexemes go.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import cache
from threading import Lock
from typing import NamedTuple

from commonplace.search import words
from commonplace.search.words import TOKENIZER

LONGEST = 255
"""Letters of a word that count: PostgreSQL takes no word of more than 2,046 bytes."""
LAST_PLACE = 16_383
"""The last place that PostgreSQL can note; words that come after it are all there."""
ROOM = 800_000
"""Bytes that the words of one text may take, for the same reason; those after them are left out."""
MOST_CUT = 4096
SLOT = 16
"""What a word takes beside its letters, at most, the first time that it comes."""

MAKE = f"CREATE VIRTUAL TABLE texts USING fts5(text, words, content='', tokenize=\"{TOKENIZER}\")"
MAKE_WORDS = "CREATE VIRTUAL TABLE lexemes USING fts5vocab(texts, 'instance')"
ADD = "INSERT INTO texts(rowid, text, words) VALUES(?, ?, ?)"
READ = "SELECT doc, term, col = 'words', offset FROM lexemes"
EMPTY = "INSERT INTO texts(texts) VALUES('delete-all')"


class Lexemes(NamedTuple):
    """The words of a text with their places, which count from 1, and how many they are in all."""

    places: dict[str, list[int]]
    length: int


class Term(NamedTuple):
    """Something to look for: words side by side, the last perhaps only the beginning of one."""

    words: tuple[str, ...]
    is_beginning: bool


def lexemes(texts: Iterable[tuple[str, str]]) -> list[Lexemes]:
    """The words of each text, and of what is searched beside it, which stands well after it."""
    return [_joined(each) for each in _tokens(list(texts))]


def terms(text: str) -> tuple[Term, ...]:
    """What to look for, any of it, when a text is asked for."""
    return terms_of([text])[0]


def terms_of(texts: Sequence[str]) -> list[tuple[Term, ...]]:
    """The same for each of several texts."""
    told = [words.terms(text) for text in texts]
    every = list(dict.fromkeys(term for each in told for term in each))
    cut = dict(zip(every, cut_into_words(every)))
    return [tuple(cut[term] for term in each if cut[term].words) for each in told]


def cut_into_words(terms: Sequence[str]) -> list[Term]:
    """Terms as FTS5 takes them, each as what it then looks for."""
    fresh = [term for term in terms if term not in _cut]
    if len(_cut) + len(fresh) > MOST_CUT:
        _cut.clear()
        fresh = list(terms)
    cut = _tokens([(term.strip('"*'), "") for term in fresh]) if fresh else ()
    for term, tokens in zip(fresh, cut):
        found = tuple(word for _, _, word in sorted(tokens) if word)
        _cut[term] = Term(found, term.endswith("*"))
    return [_cut[term] for term in terms]


_cut: dict[str, Term] = {}
"""Terms that were asked for before: whoever asks for words one by one asks for them again."""

Token = tuple[int, int, str]
"""Whether it is beside the text, its place there, and the word."""


def _joined(tokens: Sequence[Token]) -> Lexemes:
    # No phrase reaches from the text into what is beside it.
    after = 2 + max((at for beside, at, _ in tokens if not beside), default=-1)
    places: dict[str, list[int]] = {}
    room = ROOM
    for beside, at, word in sorted(token for token in tokens if token[2]):
        found = places.get(word)
        if found is None:
            room -= len(word.encode()) + SLOT
            found = places.setdefault(word, []) if room >= 0 else []
        found.append(min(1 + at + (after if beside else 0), LAST_PLACE))
    return Lexemes(places, len(tokens))


def _tokens(texts: Sequence[tuple[str, str]]) -> list[list[Token]]:
    found: list[list[Token]] = [[] for _ in texts]
    db, lock = _tokenizer()
    with lock:
        db.execute("BEGIN")
        db.executemany(ADD, [(at, *each) for at, each in enumerate(texts)])
        rows = db.execute(READ).fetchall()
        db.execute(EMPTY)
        db.execute("COMMIT")
    for number, word, beside, at in rows:
        # Accents that stand alone are a word without letters.
        found[number].append((beside, at, (word or "")[:LONGEST]))
    return found


@cache
def _tokenizer() -> tuple[sqlite3.Connection, Lock]:
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    # FTS5 cuts a word of 32 kB short, in the middle of a letter if need be.
    db.text_factory = lambda data: data.decode("utf-8", "ignore")
    db.execute(MAKE)
    db.execute(MAKE_WORDS)
    return db, Lock()
