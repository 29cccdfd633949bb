"""A question and its candidates, as columns that the signals of a ranking read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import cached_property, lru_cache
from itertools import repeat
from math import log
from operator import itemgetter
from typing import Any

from commonplace.model.clock import DayOf, utc_day
from commonplace.model.records import MESSAGE
from commonplace.search.index import Candidate
from commonplace.search.time_phrases import Period
from commonplace.search.words import match

Column = list[float]

LONG = 600
"""Characters from which a text needs no neighbours: shorter ones lean on them the more."""
BRIEF = 90
"""Characters below which one text is as short as another."""
SENTENCE = 3
"""Words that say something from which a search is a question rather than a keyword."""
BEGINNING = 5
"""Letters by which a word is told from others, whatever its ending."""
KEYWORDS = 2
"""Words up to which a search is for texts that have them, and not for what is near in meaning."""
NEAR, FAINT = 0.3, 0.15
"""Cosines from which a text without any word of the question is an answer: where some text has most
of what the question says or the question is but a keyword, and else.
"""
MOSTLY = 0.8
"""The share of what a question says, counted by rarity, from which a text has most of it."""
ASSISTANTS = frozenset(("assistant", "agent", "ai", "bot", "model"))


class Scene:
    """A question and its candidates, with what several signals look at."""

    def __init__(
        self,
        found: Sequence[Candidate],
        question: str,
        today: date,
        event: Period | None = None,
        day_of: DayOf = utc_day,
        aside: Sequence[str] = (),
    ) -> None:
        self.found = found
        self.nothing = [0.0] * len(found)
        """What a signal sees that has nothing to look at."""
        self.question = question
        self.aside = aside
        self.today = today
        self.all = _columns(found)
        self.at = dict(zip(self.all.key, range(len(found))))
        self.texts = [text.lower() for text in self.all.text]
        self.words = _over_most(self.all.words)
        self.alike = _spread(self.all.cosine, self.all.cosine_rank)
        lengths = [*map(len, self.all.text)]
        self.short = [*map(_shortness, lengths)]
        self.length = [*map(_length, lengths)]
        self.asks = [
            1.0 if "?" in text and text.rstrip().endswith("?") else 0.0 for text in self.texts
        ]
        self.assistant = self._by_assistant()
        self.days = [*map(day_of, self.all.timestamp)]
        self.event = event
        self.together = _together(self.all.within, self.days)
        self.before = [*map(self.at.get, self.all.before, repeat(-1))]
        self.after = [*map(self.at.get, self.all.after, repeat(-1))]
        self.terms = _terms(question)
        self.shared = _SharedTerms(self.texts, self.terms)
        self.told = self.shared.shares(self.shared.has)
        """How much of what the question says each text has."""
        self.most_told = max(self.told, default=0.0)
        self.totals = self.nothing
        """What each has by all signals but those that look at it."""
        self.like = self._like()
        """Whether each has a word of the question, or is near it."""

    def _like(self) -> list[bool]:
        # Chinese and Japanese have no spaces between words.
        is_keyword = self.question.isascii() and len(self.question.split()) <= KEYWORDS
        near = NEAR if is_keyword or self.most_told >= MOSTLY else FAINT
        return [
            rank >= 0 or cosine >= near or told >= MOSTLY
            for rank, cosine, told in zip(self.all.words_rank, self.all.cosine, self.told)
        ]

    def turns(self) -> list[bool]:
        """Which were said in a conversation: a memory has a kind of its own, or no speaker."""
        return [
            kind == MESSAGE or (kind == "note" and bool(username))
            for kind, username in zip(self.all.kind, self.all.username)
        ]

    def _by_assistant(self) -> Column:
        names = {*self.all.username, *self.all.channel}
        if ASSISTANTS.isdisjoint(map(str.lower, names)):
            return self.nothing
        return [*map(_by_assistant, self.all.username, self.all.channel)]

    @property
    def by_words_alone(self) -> bool:
        """Whether no candidate was found by its vector."""
        return max(self.all.cosine_rank, default=-1) < 0

    @cached_property
    def followed(self) -> tuple[Column, Column]:
        """How much each follows up on a better one, and where it then speaks of a change."""
        from commonplace.search.successors import followed

        return followed(
            self.texts, self.all.timestamp, self.told, self.totals, asked=frozenset(self.terms)
        )

    def show_successors(self) -> None:
        """Count as like the question what tells of a change to something that is."""
        self.like = [like or change > 0 for like, change in zip(self.like, self.followed[1])]

    def shown(self, order: Sequence[int]) -> Iterator[int]:
        """Those that are like the question; of a question in words also what ranks ahead of one
        that is, if it was said in a session or stands beside another that is.
        """
        like = [self.like[at] for at in order]
        # Who searches for a word or two wants the texts that have them.
        is_sentence = len(self.terms) >= SENTENCE
        ahead = len(like) - like[::-1].index(True) if True in like else 0
        for at, itself in zip(order[:ahead], like):
            if itself or (is_sentence and (self.found[at].session or self._is_beside_like(at))):
                yield at

    def _is_beside_like(self, at: int) -> bool:
        sides = (self.before[at], self.after[at])
        return any(side >= 0 and self.like[side] for side in sides)

    def beside(self, column: Column) -> Column:
        """What the neighbours on both sides have, for those that are short."""
        padded = [*column, 0.0]
        return [
            short * (padded[before] + padded[after])
            for short, before, after in zip(self.short, self.before, self.after)
        ]

    def two_away(self, column: Column) -> Column:
        """The same of the neighbours' neighbours."""
        before, after = [*self.before, -1], [*self.after, -1]
        padded = [*column, 0.0]
        return [
            short * (padded[before[one]] + padded[after[other]])
            for short, one, other in zip(self.short, self.before, self.after)
        ]

    def answering(self, column: Column) -> Column:
        """What the record before has, where that one asks a question.

        Not the assistant's: most of what it says ends with an offer.
        """
        if not any(self.asks):
            return self.nothing
        asked = [
            value if ask and not own else 0.0
            for value, ask, own in zip(column, self.asks, self.assistant)
        ]
        asked.append(0.0)
        return [asked[before] for before in self.before]

    def best_in_session(self, column: Column) -> Column:
        """The best that the candidates of the same session have."""
        best = [*column]
        for members, values_of in self.together:
            most = max(values_of(column))
            for at in members:
                best[at] = most
        return best

    def mean_in_session(self, column: Column) -> Column:
        """The mean of their best three."""
        means = [value / 3 for value in column]
        for members, values_of in self.together:
            mean = sum(sorted(values_of(column), reverse=True)[:3]) / 3
            for at in members:
                means[at] = mean
        return means


class _SharedTerms:
    """Which of the question's words each text has, and how much they say."""

    def __init__(self, texts: Sequence[str], terms: Sequence[str]) -> None:
        self.has = [0] * len(texts)
        self._rare: list[tuple[int, float]] = []
        for number, term in enumerate(terms):
            places = [at for at, text in enumerate(texts) if term in text]
            for at in places:
                self.has[at] |= 1 << number
            self._rare.append((1 << number, log(1 + len(texts) / (len(places) + 0.5))))
        self._whole = sum([rare for _, rare in self._rare])

    def shares(self, having: Sequence[int]) -> Column:
        """How much of the question such words make up, the rare ones more than the common."""
        known = {has: self._share(has) for has in set(having)}
        return [known[has] for has in having]

    def _share(self, has: int) -> float:
        known = sum([rare for bit, rare in self._rare if has & bit])
        return known / self._whole if known else 0.0


def _columns(found: Sequence[Candidate]) -> Any:
    """Each field of all candidates, under its name: to ask every candidate takes far longer."""
    return Candidate._make(zip(*found) if found else ((),) * len(Candidate._fields))


def _over_most(values: Sequence[float]) -> Column:
    most = max(values, default=0.0)
    return [value / most for value in values] if most > 0 else [*values]


def _spread(cosines: Sequence[float], ranks: Sequence[int]) -> Column:
    """Cosines from 0, for the least of those that were near, to 1 for the nearest."""
    near = [cosine for cosine, rank in zip(cosines, ranks) if rank >= 0]
    if not near or max(near) == min(near):
        return [float(rank >= 0) for rank in ranks]
    least, width = min(near), max(near) - min(near)
    return [(cosine - least) / width if cosine > least else 0.0 for cosine in cosines]


@lru_cache(4096)
def _shortness(count: int) -> float:
    return 1.0 - count / LONG if count < LONG else 0.0


@lru_cache(4096)
def _length(count: int) -> float:
    return log(count / BRIEF) if count > BRIEF else 0.0


def _together(
    within: Sequence[str], days: Sequence[str]
) -> list[tuple[list[int], Callable[[list[Any]], Any]]]:
    """Where candidates of one session are, if there are several, and what gets their values.

    Of one day: there are sessions that go on for months, over everything that comes up.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for at, one in enumerate(zip(within, days)):
        members.setdefault(one, []).append(at)
    return [(places, itemgetter(*places)) for places in members.values() if len(places) > 1]


@lru_cache(16)
def _terms(question: str) -> tuple[str, ...]:
    return tuple(
        term.strip('"*')[:BEGINNING].lower() for term in match(question).split(" OR ") if term
    )


@lru_cache(1024)
def _by_assistant(username: str, channel: str) -> float:
    return float(username.lower() in ASSISTANTS or channel.lower() in ASSISTANTS)
