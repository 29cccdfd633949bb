"""Find two sentences that cannot both be true.

A claim has a key, which must be the same in both, and a value, which differs. English is read
by a few rules that would rather miss a contradiction than report a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

MOST = 20
"""Sentences of one text that are looked at."""
LONGEST = 30
"""Words past which a sentence says too much to be set against another."""
KNOWN = 1 << 16
"""Words of which is remembered what was found out: a vault has many texts of few words."""

SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
TOKEN = re.compile(
    r"[\w.+-]+@[\w.-]+\w|\d{4}-\d\d-\d\d|\d+(?:[.:/,]\d+)*(?:st|nd|rd|th|am|pm|%)?(?!\w)"
    r"|[^\W\d_][\w]*(?:[./+-]\w+)*(?:['\u2019][^\W\d_]+)*|\d\w*|[=:]"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ARTICLES = _words("a an the")
POINTING = _words(
    """it this that there these those he she they we today now yesterday tomorrow tonight current
    currently latest last next here what who which everything nothing something"""
)
"""Who is meant by these another sentence knows."""
COPULA = _words("is are equals = :")
AMOUNT = _words(
    """has have costs cost weighs uses use prefers prefer needs requires takes lasts listens runs
    earns pays owns holds measures drinks sleeps wants want limits allows"""
)
WHEN = _words("starts start ends begins begin opens closes expires meets wakes arrives leaves")
VERBS = COPULA | AMOUNT | WHEN
CHOOSING = _words("uses use prefers prefer wants want")
SELFLESS = _words("uses use prefers prefer drinks wants want sleeps wakes")
"""Verbs whose subject, where there is none, is the user."""
BETWEEN = _words(
    """set to at on in by from until for about around roughly exactly still always only now version
    port host due of the a an line limited capped no than more most least up every per"""
)
DAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
# Without may, which mostly is a verb.
MONTHS = _words("january february march april june july august september october november december")
COLOURS = _words("red green blue yellow black white orange purple pink brown grey gray teal violet")
KINDS = (
    dict.fromkeys(DAYS, "day") | dict.fromkeys(MONTHS, "month") | dict.fromkeys(COLOURS, "colour")
)
SETS = (
    "dark light",
    "tabs spaces",
    "true false",
    "enabled disabled",
    "on off",
    "left right",
    "metric imperial",
    "vegetarian vegan",
    "single married divorced",
    "open closed",
    "alive dead",
    "online offline",
    "public private",
    "required optional",
)
SWITCHED = ("on", "off")
CHOICES = {word: f"choice {number}" for number, words in enumerate(SETS) for word in words.split()}
FIGURES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: str(number) for number, word in enumerate(FIGURES)}
NEGATIONS = _words("not never nt")
AUXILIARIES = _words("do does did longer anymore ever")
OPPOSITES = {
    "dislike": "like",
    "hate": "like",
    "without": "with",
    "cannot": "can",
    "ca": "can",
    "wo": "will",
}
DENYING = frozenset((*NEGATIONS, "no", *OPPOSITES, *(f"{word}s" for word in OPPOSITES)))
"""Without one of these a sentence denies nothing."""
UNSAID = AUXILIARIES | ARTICLES
HEDGES = _words("maybe perhaps might could sometimes often usually if unless or either when")

FAVOURED = _words("favourite favorite preferred default primary main")
ATTRIBUTES = _words(
    """name surname birthday birthdate email mail phone number address timezone employer title wife
    husband spouse mother father hometown nationality age height weight size version port branch
    language editor theme shell deadline capital owner licence license host hostname url domain
    budget price salary manager boss doctor dentist plate pin code locale currency"""
)
"""Of these a thing has one."""
PHRASES = (
    ("lives", "in"),
    ("live", "in"),
    ("lives", "at"),
    ("works", "at"),
    ("works", "for"),
    ("work", "at"),
    ("work", "for"),
    ("reports", "to"),
    ("born", "in"),
    ("born", "on"),
    ("based", "in"),
    ("married", "to"),
    ("named",),
    ("called",),
    ("hosted", "on"),
    ("hosted", "at"),
    ("deployed", "to"),
    ("written", "in"),
    ("stored", "in"),
)
"""What comes after these there is one of."""
FIRSTS = frozenset(phrase[0] for phrase in PHRASES)
PREFER = _words("prefers prefer")


class Claim(NamedTuple):
    """The fixed part of a sentence and the part that another may tell differently."""

    key: tuple[str, ...]
    value: tuple[str, ...]


def claims(text: str) -> Iterator[Claim]:
    """Everything a text says that could be told differently."""
    for sentence in SENTENCE.split(text)[:MOST]:
        if sentence.rstrip().endswith("?"):
            continue
        raw = TOKEN.findall(sentence)
        if 2 <= len(raw) <= LONGEST:
            yield from _of(raw)


def _of(raw: Sequence[str]) -> Iterator[Claim]:
    """One sentence, by each of the rules."""
    words = _apart(raw)
    plain = [word.casefold() for word in words]
    if plain[0] in POINTING or _is_headed(plain):
        return
    negated, positive = _polarity(plain)
    yield Claim(("whether", *map(_stem, positive)), ("not",) if negated else ("so",))
    if negated or not HEDGES.isdisjoint(plain):
        return
    yield from _amount(plain)
    yield from _attribute(words, plain)
    yield from _phrase(words, plain)
    yield from _preference(plain)


def _is_headed(plain: Sequence[str]) -> bool:
    """Whether a label stands before a colon far into it: `Turn summary: …` is told of a turn."""
    return ":" in plain and plain.index(":") < len(plain) - 4


def _apart(raw: Sequence[str]) -> list[str]:
    """The words with `'s` and `n't` as words of their own, and numbers in figures."""
    words: list[str] = []
    for token in raw:
        if token.isalnum():
            # Most are: no mark to look for.
            words.append(NUMBERS.get(token.casefold(), token))
            continue
        stem, mark, ending = token.replace("\u2019", "'").partition("'")
        if mark and ending.casefold() == "t" and stem.casefold().endswith("n"):
            words += [stem[:-1], "nt"]
        elif mark and ending.casefold() == "s":
            words += [stem, "'s"]
        else:
            words.append(NUMBERS.get(token.casefold(), token))
    return words


def _polarity(plain: Sequence[str]) -> tuple[bool, list[str]]:
    """Whether a sentence denies, and its words as if it did not."""
    if DENYING.isdisjoint(plain):
        return False, [word for word in plain if word not in UNSAID]
    negated, kept = False, []
    for at, word in enumerate(plain):
        base = OPPOSITES.get(word) or OPPOSITES.get(_stem(word))
        if word in NEGATIONS or (word == "no" and at > 0):
            negated = not negated
        elif base:
            negated = negated != (word not in ("ca", "wo"))
            kept.append(base)
        elif word not in UNSAID:
            kept.append(word)
    return negated, kept


@lru_cache(KNOWN)
def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word


def _amount(plain: Sequence[str]) -> Iterator[Claim]:
    """`Subject verb … value …`: the value stands right behind a verb of which there is one."""
    verb = _first(plain, VERBS)
    if verb < 0 or (verb == 0 and plain[0] not in SELFLESS):
        return
    rest = plain[verb + 1 :]
    slots = [(at, kind) for at, word in enumerate(rest) if (kind := _kind(word))]
    # In the middle they are prepositions.
    slots = [slot for slot in slots if slot[0] == len(rest) - 1 or rest[slot[0]] not in SWITCHED]
    if not slots or not _fits(plain[verb], rest, slots[0]):
        return
    places = dict(slots)
    masked = [f"<{places[at]}>" if at in places else _stem(w) for at, w in enumerate(rest)]
    key = ("amount", *plain[: verb + 1], *(word for word in masked if word not in ARTICLES))
    yield Claim(key, tuple(_stem(rest[at]) for at, _ in slots))


def _first(plain: Sequence[str], wanted: frozenset[str]) -> int:
    """Where the first of some words stands; -1 when there is none."""
    if wanted.isdisjoint(plain):
        return -1
    return next(at for at, word in enumerate(plain) if word in wanted)


@lru_cache(KNOWN)
def _kind(word: str) -> str:
    """What sort of value a word is; empty for other words."""
    if word[0].isdigit():
        return "number"
    return CHOICES.get(word, "") or KINDS.get(word.removesuffix("s"), "")


def _fits(verb: str, rest: Sequence[str], slot: tuple[int, str]) -> bool:
    """Whether a value there is the one the verb is about, and not one of many beside it."""
    at, kind = slot
    between = rest[:at]
    if verb in COPULA:
        return all(word in BETWEEN for word in between)
    if verb in WHEN:
        return kind in ("number", "day", "month") and all(word in BETWEEN for word in between)
    if kind.startswith("choice"):
        return verb in CHOOSING and (not between or between[-1] in ARTICLES) and len(between) < 2
    if kind != "number" or len(between) > 4:
        return False
    inner = [word for at, word in enumerate(between) if at and word in ("on", "at", "in", "with")]
    return not inner and not any(word.endswith("ing") for word in between)


def _attribute(words: Sequence[str], plain: Sequence[str]) -> Iterator[Claim]:
    """`Ada's favourite colour is blue`, `The default branch is main`."""
    verb = _first(plain, COPULA)
    if verb < 1 or not 0 < len(words) - verb - 1 <= 5:
        return
    head = [word for word in plain[:verb] if word not in ARTICLES]
    value, shown = plain[verb + 1 :], words[verb + 1 :]
    if not head or len(head) > 7:
        return
    subject, attribute = _owner(head)
    if not attribute or not _is_one(attribute, shown):
        return
    bare = tuple(_stem(word) for word in value if word not in ARTICLES)
    if bare:
        key = ("attribute", *map(_stem, subject), "'s", *map(_stem, attribute))
        yield Claim(key, bare)


def _owner(head: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Whose it is, and what of theirs."""
    if "'s" in head:
        at = len(head) - 1 - list(reversed(head)).index("'s")
        return head[:at], head[at + 1 :]
    if "of" in head:
        at = head.index("of")
        return head[at + 1 :], head[:at]
    if head[0] in ("my", "your", "our"):
        return head[:1], head[1:]
    return (), head


def _is_one(attribute: Sequence[str], value: Sequence[str]) -> bool:
    """Whether there is but one of it, and the value is such a one and not a remark about it."""
    first = value[0].casefold()
    if first in BETWEEN - ARTICLES or first in HEDGES or first.endswith(("ed", "ing", "able")):
        return False
    if attribute[0] in FAVOURED and len(attribute) > 1:
        return True
    named = all(_is_name(word) for word in value if word not in ARTICLES)
    return attribute[-1] in ATTRIBUTES and named and first not in ARTICLES


def _is_name(word: str) -> bool:
    return word[0].isupper() or word[0].isdigit() or "@" in word


def _phrase(words: Sequence[str], plain: Sequence[str]) -> Iterator[Claim]:
    """`Ada lives in Lisbon`."""
    if FIRSTS.isdisjoint(plain):
        return
    for phrase in PHRASES:
        size = len(phrase)
        for at in range(1, len(plain) - size):
            if tuple(plain[at : at + size]) == phrase:
                value = words[at + size :]
                if len(value) <= 3 and all(map(_is_name, value)):
                    head = (word for word in plain[:at] if word not in ARTICLES)
                    key = ("phrase", *head, *phrase)
                    yield Claim(key, tuple(word.casefold() for word in value))
                return


def _preference(plain: Sequence[str]) -> Iterator[Claim]:
    """`Prefers tea to coffee`, `Prefers vim for editing`."""
    verb = _first(plain, PREFER)
    if verb < 0:
        return
    rest = [_stem(word) for word in plain[verb + 1 :] if word not in ARTICLES]
    for link in ("over", "to", "for", "as"):
        if link in rest[1:-1]:
            at = rest.index(link)
            one, other = rest[:at], rest[at + 1 :]
            if link in ("over", "to"):
                pair = sorted((" ".join(one), " ".join(other)))
                yield Claim(("over", *plain[:verb], *pair), tuple(one))
            elif len(one) <= 2:
                yield Claim(("for", *plain[:verb], link, *other), tuple(one))
            return


def disagree(one: Claim, other: Claim) -> bool:
    """Whether two values of one key exclude each other: not when one only says more."""
    if one.key != other.key or one.value == other.value:
        return False
    first, second = set(one.value), set(other.value)
    return not (first <= second or second <= first) or one.key[0] in ("whether", "amount")
