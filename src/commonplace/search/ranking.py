"""Rank the candidates for a question, and say why each stands where it does.

A signal is a function that gives every candidate one number. `WEIGHTS` has the weights of each
signal: turns of a conversation have theirs, memories have others. A candidate's score is the sum of
its numbers, each times its weight.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import lru_cache, reduce
from itertools import islice, pairwise
from math import exp, log
from operator import or_
from typing import NamedTuple

from msgspec import Struct

from commonplace.model.clock import DayOf, utc_day
from commonplace.model.records import COMPACTION, PASSAGE, Origin
from commonplace.search.index import BEST, STEEP, Candidate
from commonplace.search.scene import Column, Scene
from commonplace.search.time_phrases import Period, period_in

Signal = Callable[[Scene], Column]

STEEPS = (*(STEEP / (STEEP + rank) for rank in range(2 * BEST)), 0.0)
"""The part of a score that comes from the rank; the last is for what has none."""
MONTH = 30.0
"""Days after which a record is a third as recent as a new one."""
WORD = re.compile(r"\w+")
UNITS = ("date", "day", "time", "month", "year")
ASKS_WHEN = (
    *("when", "how long", "how recently"),
    *(f"{which} {unit}" for which in ("what", "which") for unit in UNITS),
    *(f"how many {unit}" for unit in ("days", "weeks", "months", "years")),
)
OF_BOTH = (
    *("we talked", "we discussed", "we chatted"),
    *("our previous", "our last", "our earlier", "our conversation", "our chat"),
)
"""What only a question says that is about what the assistant said; English, as the rest."""
OF_ONES_OWN = (
    *("did i", "have i", "had i"),
    *(f"i {told}" for told in ("said", "told", "mentioned", "asked", "described", "shared")),
)
"""What one says who asks for one's own words in such a conversation."""
DEEDS = """said told gave made wrote did had went came found chose showed sent taught thought saw
built drew put read brought kept left agreed"""
DID = frozenset(DEEDS.split())
"""What an assistant did, beside all words in -ed."""
BETWEEN = frozenset(("just", "also", "already", "previously", "originally", "initially", "once"))
"""Words that may stand before them."""
SAYINGS = """previous earlier last first answer answers reply response advice explanation list
example examples idea ideas recommendation recommendations suggestion suggestions"""
OF_YOURS = frozenset(SAYINGS.split())
"""What an assistant has only if it said it."""
WORDS_OF_TIME = """yesterday today tomorrow tonight ago last next recently since soon morning
evening weekend day days week weeks month months year years monday tuesday wednesday thursday friday
saturday sunday january february march april june july august september october november december"""
YEARS = range(1900, 2100)
OF_TIME = frozenset((*WORDS_OF_TIME.split(), *map(str, YEARS)))
OF_TIME_IN_ASCII = frozenset(word.encode() for word in OF_TIME)
SPACED = bytes(code if chr(code).isalnum() or code == 0x5F else 0x20 for code in range(256))
"""ASCII with a space for whatever is in no word."""
REMEMBERED = 32_768
"""Texts of which it is remembered what a signal saw in them."""
OF_ONESELF = 400
"""Characters in which those words are counted that people speak of themselves with."""
LOGS = tuple(log(1 + count) for count in range(OF_ONESELF))
UNTRUSTED = frozenset((Origin.WEB, Origin.TOOL))
LEAST_TOLD = 0.005
"""A part of a score that is less is 0.00 to whoever is told."""
MADE_OF_OTHERS = frozenset((COMPACTION, "turn-summary", "heartbeat", PASSAGE))


class Weighed(NamedTuple):
    """A signal that says something of some candidates: its name, its weight and its column."""

    name: str
    weight: float
    column: Column


class Curve(NamedTuple):
    """How likely a hit is an answer, by how good the best match is and how far behind it is."""

    start: float
    words: float
    """What the share of the question's words counts that the best match has."""
    cosine: float
    """What the nearest vector counts."""
    behind: float
    """What a score counts that is behind the best."""


class Ranked(Struct, frozen=True):
    """A candidate with how likely it is an answer, and why."""

    candidate: Candidate
    relevance: float
    """How likely it answers the question, 0 to 1, by what was found for other questions."""
    is_like: bool
    """Whether it is like the question itself, and not only beside what is."""
    at: int
    """Its place in the columns."""
    signals: Sequence[Weighed]

    def parts(self) -> dict[str, float]:
        """Each signal's part of the score, the weightiest first, without those of none."""
        parts = {name: weight * column[self.at] for name, weight, column in self.signals}
        told = [pair for pair in parts.items() if abs(pair[1]) >= LEAST_TOLD]
        return dict(sorted(told, key=lambda pair: -abs(pair[1])))


def words(scene: Scene) -> Column:
    return scene.words


def words_rank(scene: Scene) -> Column:
    return [STEEPS[rank] for rank in scene.all.words_rank]


def alike(scene: Scene) -> Column:
    return scene.alike


def alike_rank(scene: Scene) -> Column:
    return [STEEPS[rank] for rank in scene.all.cosine_rank]


def alike_unsaid(scene: Scene) -> Column:
    """Likeness once more, the less of the question any text has in so many words."""
    missing = 1 - scene.most_told
    return [missing * value for value in scene.alike]


def told(scene: Scene) -> Column:
    """How much of what the question says it has, the rare words more than the common.

    Squared, as in the two below: one word of four is most often there by accident.
    """
    return _squared(scene.told)


def told_aside(scene: Scene) -> Column:
    """How many words it has that stand beside the question."""
    if not scene.aside:
        return scene.nothing
    words = [f" {word}" for word in scene.aside]
    spaced = [f" {text}" for text in scene.texts]
    return [float(sum([word in text for word in words])) for text in spaced]


def phrases(scene: Scene) -> Column:
    """How many pairs of words stand side by side as in the question."""
    asked = WORD.findall(scene.question.lower())
    pairs = {f"{one} {two}" for one, two in pairwise(asked) if len(one) > 3 or len(two) > 3}
    having = [(at, scene.texts[at]) for at, rank in enumerate(scene.all.words_rank) if rank >= 0]
    counts = [0] * len(scene.found)
    for pair in pairs:
        for at in [at for at, text in having if pair in text]:
            counts[at] += 1
    return [log(1 + count) if count else 0.0 for count in counts]


def neighbours_words(scene: Scene) -> Column:
    return scene.beside(scene.words)


def two_away_words(scene: Scene) -> Column:
    return scene.two_away(scene.words)


def answers_words(scene: Scene) -> Column:
    return scene.answering(scene.words)


def answers_alike(scene: Scene) -> Column:
    return scene.answering(scene.alike)


def session_best_words(scene: Scene) -> Column:
    return scene.best_in_session(scene.words)


def session_best_alike(scene: Scene) -> Column:
    return scene.best_in_session(scene.alike)


def session_mean_words(scene: Scene) -> Column:
    return scene.mean_in_session(scene.words)


def told_around(scene: Scene) -> Column:
    """How much of the question's words it and its neighbours have between them."""
    has = [*scene.shared.has, 0]
    around = [
        own | has[before] | has[after] for own, before, after in zip(has, scene.before, scene.after)
    ]
    return _squared(scene.shared.shares(around))


def told_in_session(scene: Scene) -> Column:
    """How much of them the candidates of its session have between them."""
    having = [*scene.shared.has]
    for members, values_of in scene.together:
        between = reduce(or_, values_of(having))
        for at in members:
            having[at] = between
    return _squared(scene.shared.shares(having))


def _squared(column: Column) -> Column:
    return [value * value for value in column]


def opens_session(scene: Scene) -> Column:
    return [
        1.0 if session and not before else 0.0
        for session, before in zip(scene.all.session, scene.all.before)
    ]


def speaker(scene: Scene) -> Column:
    """Whether it is by the one person that the question names."""
    said = set(WORD.findall(scene.question.lower()))
    names = {name for name in scene.all.username if name}
    named = [name for name in names if said.intersection(WORD.findall(name.lower()))]
    if len(named) != 1:
        return scene.nothing
    return [float(name == named[0]) for name in scene.all.username]


def asks(scene: Scene) -> Column:
    return scene.asks


def of_oneself(scene: Scene) -> Column:
    """How often it says "I" or "my": what people tell of themselves is asked for later."""
    often = _of_oneself(scene)
    if scene.assistant is scene.nothing:
        return often
    return [0.0 if own else value for value, own in zip(often, scene.assistant)]


def tells_when(scene: Scene) -> Column:
    """Whether it speaks of time where the question asks when."""
    if not _asks_when(scene.question):
        return scene.nothing
    return _speak_of_time(scene)


def by_assistant(scene: Scene) -> Column:
    return scene.assistant


def of_assistant(scene: Scene) -> Column:
    """Whether it is the assistant's where the question is about what the assistant said."""
    return scene.assistant if _about_assistant(scene.question) else scene.nothing


def length(scene: Scene) -> Column:
    return scene.length


def length_by_assistant(scene: Scene) -> Column:
    if not any(scene.assistant):
        return scene.nothing
    return [other * value for other, value in zip(scene.assistant, scene.length)]


def in_period(scene: Scene) -> Column:
    """Whether it is of the time that the question names, or not far from it."""
    period = period_in(scene.question, scene.today)
    if period is None:
        return scene.nothing
    return _by_day(scene.days, lambda day: _closeness(period, day))


def beside_event(scene: Scene) -> Column:
    """Whether it is of the time before or after an event that the question names."""
    if scene.event is None:
        return scene.nothing
    first, last = scene.event.first.isoformat(), scene.event.last.isoformat()
    return [float(first <= day <= last) for day in scene.days]


def recent(scene: Scene) -> Column:
    return _by_day(scene.days, lambda day: _recency(day, scene.today))


def follows(scene: Scene) -> Column:
    """Whether it is newer than a better one that is about the same."""
    return scene.followed[0]


def tells_change(scene: Scene) -> Column:
    """Whether it then speaks of a change, too."""
    return scene.followed[1]


def superseded(scene: Scene) -> Column:
    return [*map(float, scene.all.superseded)] if any(scene.all.superseded) else scene.nothing


def untrusted(scene: Scene) -> Column:
    if UNTRUSTED.isdisjoint(scene.all.origin):
        return scene.nothing
    return [1.0 if origin in UNTRUSTED else 0.0 for origin in scene.all.origin]


def derived(scene: Scene) -> Column:
    """Whether it repeats others: a summary, or the prose around records."""
    if MADE_OF_OTHERS.isdisjoint(scene.all.kind):
        return scene.nothing
    return [1.0 if kind in MADE_OF_OTHERS else 0.0 for kind in scene.all.kind]


class Weights(NamedTuple):
    """What a signal counts for a turn of a conversation and for a memory: with vectors, and by
    words alone.
    """

    turn: float
    turn_by_words: float
    memory: float
    memory_by_words: float


# Fitted by bench/fit_ranking.py, which prints this table. The last six are set by hand: few
# questions name events, and no set to measure by has replaced, untrusted or derived records. So is
# what the sets of memories have no use for: `recent`, `speaker`, and those for turns whose speaker
# is not told, which count as memories (`asks`, `of_oneself` and the two of answers).
_of = Weights
WEIGHTS: dict[Signal, Weights] = {
    words: _of(1.36, 1.95, 0.00, 0.00),
    words_rank: _of(0.41, 0.70, 1.01, 2.80),
    alike: _of(0.39, 0.00, 0.49, 0.00),
    alike_rank: _of(1.12, 0.00, 1.41, 0.00),
    alike_unsaid: _of(0.00, 0.00, 1.37, 0.00),
    told_aside: _of(0.40, 0.40, 1.38, 0.58),
    told: _of(0.00, 0.00, 0.41, 0.60),
    phrases: _of(0.64, 0.74, 0.89, 1.42),
    neighbours_words: _of(0.61, 0.70, 0.00, 0.00),
    two_away_words: _of(1.16, 1.29, 0.00, 0.00),
    answers_words: _of(1.63, 2.22, 1.63, 2.22),
    answers_alike: _of(0.77, 0.00, 0.77, 0.00),
    session_best_words: _of(1.44, 1.76, 0.00, 0.00),
    session_best_alike: _of(1.05, 0.00, 1.82, 0.00),
    session_mean_words: _of(-0.98, -0.25, 0.00, 0.00),
    told_around: _of(1.27, 1.42, 2.24, 2.82),
    told_in_session: _of(1.01, 1.29, 0.89, 1.89),
    opens_session: _of(1.14, 1.27, 0.00, 0.00),
    speaker: _of(0.93, 0.90, 0.93, 0.91),
    asks: _of(-0.41, -0.36, -0.41, -0.36),
    of_oneself: _of(0.87, 0.89, 0.40, 0.40),
    tells_when: _of(1.62, 1.60, 1.00, 1.24),
    by_assistant: _of(-0.98, -0.99, 0.00, 0.00),
    of_assistant: _of(4.26, 4.26, 0.00, 0.00),
    length: _of(-0.05, -0.07, 0.00, 0.00),
    length_by_assistant: _of(-0.31, -0.31, 0.00, 0.00),
    in_period: _of(3.54, 3.56, 3.92, 3.28),
    recent: _of(0.67, 0.75, 0.10, 0.10),
    follows: _of(0.00, 0.00, 0.80, 0.80),
    tells_change: _of(0.00, 0.00, 2.50, 2.50),
    beside_event: _of(1.50, 1.50, 1.50, 1.50),
    superseded: _of(-2.00, -2.00, -2.00, -2.00),
    untrusted: _of(-1.50, -1.50, -1.50, -1.50),
    derived: _of(-0.30, -0.30, -0.30, -0.30),
}
SECOND = (follows, tells_change)
"""Signals that look at how good the candidates are by all others."""
TURN, MEMORY = 0, 2
"""Where the weights of each begin."""
CURVES = {TURN: Curve(-3.60, 1.93, 3.48, 1.01), MEMORY: Curve(-1.91, 2.00, 0.51, 1.00)}
"""Fitted with the weights, also on questions that nothing in the vault answers."""


def features(scene: Scene) -> dict[str, Column]:
    """Every signal's column, before weighing, but for those of the second look."""
    return {signal.__name__: signal(scene) for signal in WEIGHTS if signal not in SECOND}


def ranked(
    found: Sequence[Candidate],
    question: str,
    today: date,
    *,
    limit: int,
    aside: Sequence[str] = (),
    event: Period | None = None,
    day_of: DayOf = utc_day,
    every: bool = False,
) -> list[Ranked]:
    """The likeliest answers, best first; of those that are level, the newest.

    `aside` are words that stand beside the question in a prompt, the rarest first;
    `event` is the time before or after an event of the question's, where one was made out;
    `day_of` tells the day of a stamp on the calendar of which `today` is one. With `every` also
    those that are not like the question.
    """
    scene = Scene(found, question, today, event, day_of, aside)
    turns = scene.turns()
    judged = {of: _judged(scene, of) for of in {TURN if turn else MEMORY for turn in turns}}
    if MEMORY in judged:
        scene.show_successors()
    of_each = [judged[TURN if turn else MEMORY] for turn in turns]
    logits = [its.logits[at] for at, its in enumerate(of_each)]
    order = sorted(range(len(found)), key=scene.all.id.__getitem__)
    order.sort(key=scene.all.timestamp.__getitem__, reverse=True)
    order.sort(key=logits.__getitem__, reverse=True)
    return [
        Ranked(found[at], _likely(logits[at]), scene.like[at], at, of_each[at].signals)
        for at in islice(order if every else scene.shown(order), limit)
    ]


class _Judged(NamedTuple):
    """All candidates as turns, or as memories."""

    signals: Sequence[Weighed]
    logits: Column


def _judged(scene: Scene, of: int) -> _Judged:
    first = _weighed(scene, of + scene.by_words_alone)
    scene.totals = _totals(first, scene.nothing)
    second = _weighed(scene, of + scene.by_words_alone, second=True)
    signals, totals = [*first, *second], _totals(second, scene.totals)
    curve, best = CURVES[of], max(totals)
    by_words, by_cosine = strength(scene)
    base = curve.start + curve.words * by_words + curve.cosine * by_cosine
    return _Judged(signals, [base + curve.behind * (total - best) for total in totals])


def _weighed(scene: Scene, which: int, *, second: bool = False) -> list[Weighed]:
    """The signals that see anything and count there, in the order of the table."""
    looking = [signal for signal in WEIGHTS if (signal in SECOND) == second]
    counted = [(signal, WEIGHTS[signal][which]) for signal in looking if WEIGHTS[signal][which]]
    seen = [Weighed(signal.__name__, weight, signal(scene)) for signal, weight in counted]
    return [each for each in seen if each.column is not scene.nothing and any(each.column)]


def _totals(signals: Sequence[Weighed], totals: Column) -> Column:
    """What each has in all, by so many more signals.

    Four in one go: that takes half as long as singly.
    """
    none = Weighed("", 0.0, totals)
    for at in range(0, len(signals), 4):
        four = [*signals[at : at + 4], none, none, none][:4]
        (_, a, first), (_, b, second), (_, c, third), (_, d, fourth) = four
        totals = [
            total + a * one + b * two + c * three + d * more
            for total, one, two, three, more in zip(totals, first, second, third, fourth)
        ]
    return totals


@lru_cache(1024)
def date_of(day: str) -> date | None:
    """A day as a date, where it is one."""
    try:
        return date.fromisoformat(day)
    except ValueError:
        return None


def strength(scene: Scene) -> tuple[float, float]:
    """How good the best match is by itself, by words and by vectors: nonsense has neither."""
    best = [has for has, rank in zip(scene.shared.has, scene.all.words_rank) if 0 <= rank < 10]
    shared = max([has.bit_count() for has in best], default=0)
    return shared / len(scene.terms) if shared else 0.0, max(scene.all.cosine, default=0.0)


def _likely(logit: float) -> float:
    return 1 / (1 + exp(-max(min(logit, 30.0), -30.0)))


def _by_day(days: Sequence[str], judge: Callable[[str], float]) -> Column:
    known = {day: judge(day) for day in set(days)}
    return [known[day] for day in days]


def _remembered(judge: Callable[[str], float]) -> Signal:
    """Remembers what was judged of texts, and not the texts: one that is forgotten must be gone."""
    known: dict[int, float] = {}

    def judged(scene: Scene) -> Column:
        # As they stand in the index: a text that was read before knows its hash.
        keys = [*map(hash, scene.all.text)]
        if len(known) >= REMEMBERED:
            known.clear()
        for at in [at for at, key in enumerate(keys) if key not in known]:
            known[keys[at]] = judge(scene.texts[at])
        return [known[key] for key in keys]

    return judged


@_remembered
def _speak_of_time(text: str) -> float:
    if text.isascii():
        return float(not OF_TIME_IN_ASCII.isdisjoint(text.encode().translate(SPACED).split()))
    return float(not OF_TIME.isdisjoint(WORD.findall(text)))


@_remembered
def _of_oneself(text: str) -> float:
    start = f" {text[:OF_ONESELF]}"
    # Counted one by one: to cut the text into words would take ten times as long.
    return LOGS[start.count(" i ") + start.count(" my ") + start.count(" i'")]


def _closeness(period: Period, day: str) -> float:
    then = date_of(day)
    return period.closeness(then) if then else 0.0


@lru_cache(1024)
def _recency(day: str, today: date) -> float:
    then = date_of(day)
    return exp(-max((today - then).days, 0) / MONTH) if then else 0.0


def _asks_when(question: str) -> bool:
    return _has_any(_spaced(question), ASKS_WHEN)


def _has_any(spaced: str, phrases: Iterable[str]) -> bool:
    return any(f" {phrase} " in spaced for phrase in phrases)


def _about_assistant(question: str) -> bool:
    """Whether a question is about what the assistant said, and not only put or told to it."""
    spaced = _spaced(question)
    words = [word for word in spaced.split() if word not in BETWEEN]
    if any(map(_is_said, ["", *words], words, [*words[1:], ""])):
        return True
    return _has_any(spaced, OF_BOTH) and not _has_any(spaced, OF_ONES_OWN)


def _is_said(before: str, word: str, after: str) -> bool:
    """Whether the assistant is spoken of as one who did or said something."""
    if word == "your":
        return after in OF_YOURS
    did = after in DID or (after.endswith("ed") and not after.endswith("eed"))
    return word == "you" and (did or before == "did")


@lru_cache(16)
def _spaced(question: str) -> str:
    """The words of a question with a space around each: a quicker look than a pattern's, cold."""
    small = "".join(each if each.isalnum() else " " for each in question.lower())
    return f" {' '.join(small.split())} "
