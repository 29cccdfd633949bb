"""Summaries of records without a model: the sentences that say most, and what they must keep.

Any other summarizer is held to the same rule: the names, dates and numbers that its sources agree
on must be in its summary.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log, sqrt
from typing import Protocol

from commonplace.model.clock import DayOf, utc_day
from commonplace.model.records import Record
from commonplace.trust.neutralise import one_line

WORD = re.compile(r"\w{3,}|\d+")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\s.!?])|\n+")
NUMBER = re.compile(r"(?<![\w.])\d[\d.,:/-]*(?<=\d)(?:%|[^\W\d_]+)?(?!\w)")
# Words that start with a capital inside a sentence, words with capitals inside, @names.
NAME = re.compile(
    r"(?<=[\w,;:)'\"] )[A-Z][\w'-]*\w|\b\w*[a-z]\w*[A-Z]\w*|\b[A-Z]{2,}\w*|@[\w.-]+\w"
)
ALIKE = 0.8
"""Likeness from which two sentences say the same."""
NOVELTY = 0.6
"""How much of a sentence's worth is lost by what it shares with the ones chosen before."""

Vector = dict[str, float]


class Summarizer(Protocol):
    """Says in one line what several records say."""

    name: str

    def body(self, records: Sequence[Record], *, characters: int) -> str:
        """What the records say, in about so many characters."""


class Extractive:
    """Chooses sentences of the records themselves: the most central, none that says the same."""

    name = "extractive"

    def body(self, records: Sequence[Record], *, characters: int) -> str:
        texts = [one_line(record.text) for record in records]
        units = list(dict.fromkeys(unit for text in texts for unit in sentences(text)))
        chosen = _chosen(units, characters)
        for fact in agreed(texts):
            # A fact that no sentence says alone was cut in two where they were told apart.
            saying = [at for at, unit in enumerate(units) if _says(unit, fact)]
            if saying and not set(saying).intersection(chosen):
                chosen.append(saying[0])
        return "; ".join(units[at].rstrip(" .;") for at in sorted(set(chosen)))


def sentences(text: str) -> list[str]:
    return [piece.strip() for piece in SENTENCE.split(text) if piece.strip()]


def facts(text: str) -> set[str]:
    """The names, dates and numbers in a text."""
    return {match[0] for pattern in (NUMBER, NAME) for match in pattern.finditer(text)}


def agreed(texts: Sequence[str]) -> list[str]:
    """What more than half of the texts name, sorted: a summary of them must name it too."""
    counts = Counter(fact for text in texts for fact in facts(text))
    return sorted(fact for fact, count in counts.items() if count * 2 > len(texts))


def dropped(summary: str, texts: Sequence[str]) -> list[str]:
    """The names, dates and numbers that the texts agree on and the summary lacks."""
    return [fact for fact in agreed(texts) if not _says(summary, fact)]


def _says(text: str, fact: str) -> bool:
    return fact in text and bool(_pattern(fact).search(text))


@lru_cache(maxsize=4096)
def _pattern(fact: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(fact)}(?!\w)", re.IGNORECASE)


def _chosen(units: Sequence[str], characters: int) -> list[int]:
    """The places of the units to keep: central ones first, until there is no room."""
    vectors = weighed(units)
    centre: Vector = {}
    for vector in vectors:
        for word, weight in vector.items():
            centre[word] = centre.get(word, 0.0) + weight
    worth = [likeness(vector, centre) for vector in vectors]
    nearest = [0.0] * len(units)
    chosen: list[int] = []
    left, room = set(range(len(units))), characters
    while left:
        best = max(left, key=lambda at: (worth[at] - NOVELTY * nearest[at], -at))
        left.discard(best)
        if nearest[best] >= ALIKE or (chosen and len(units[best]) > room):
            continue
        chosen.append(best)
        room -= len(units[best]) + 2
        if room <= 0:
            break
        for at in left:
            nearest[at] = max(nearest[at], likeness(vectors[at], vectors[best]))
    return chosen


def weighed(texts: Sequence[str]) -> list[Vector]:
    """The words of each text by how seldom they are among all, each vector of length one."""
    counts = [Counter(WORD.findall(text.lower())) for text in texts]
    spread = Counter(word for count in counts for word in count)
    found = []
    for count in counts:
        vector = {w: n * (1.0 + log(len(texts) / spread[w])) for w, n in count.items()}
        length = sqrt(sum(weight * weight for weight in vector.values())) or 1.0
        found.append({word: weight / length for word, weight in vector.items()})
    return found


def likeness(one: Vector, other: Vector) -> float:
    """The product of two vectors: their cosine, where both have length one."""
    if len(one) > len(other):
        one, other = other, one
    return sum(weight * other[word] for word, weight in one.items() if word in other)


def headed(records: Sequence[Record], body: str, *, limit: int, day_of: DayOf = utc_day) -> str:
    """A summary's whole text: when, how many and what kind of records it stands for, and what
    they say.
    """
    days = sorted(day_of(record.timestamp) for record in records)
    span = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    kinds = ", ".join(most_common(record.kind for record in records))
    sessions = {record.session for record in records}
    where = (
        f" of session {next(iter(sessions))}" if len(sessions) == 1 and "" not in sessions else ""
    )
    noun = "record" if len(records) == 1 else "records"
    head = f"{span}, {len(records)} {kinds} {noun}{where}: "
    return shortened(head + body, limit)


def most_common(values: Iterable[str]) -> list[str]:
    """The different values, the commonest first."""
    return [value for value, _ in Counter(value for value in values if value).most_common()]


def shortened(text: str, limit: int) -> str:
    """The text within a limit, cut between words."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 2]
    return cut[: cut.rfind(" ") if " " in cut else len(cut)] + " …"
