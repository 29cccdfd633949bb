"""Find texts that say the same, word for word or nearly, without comparing each with each.

Texts that differ by a number, a name or a "not" are not the same. `nearby` looks for records that
say nearly the same as a new one, or disagree with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from msgspec import Struct

from commonplace.library.library import Library
from commonplace.model.records import LASTING, Record, is_over, now_of
from commonplace.search.alike import ALIKE, FEWEST, WORD, TextWords, fixed, in_order, is_near
from commonplace.search.index import Query
from commonplace.upkeep.scan.contradictions import claims, disagree

LOOKED_AT = 20
"""The records with the most words in common that a new one is compared with."""
FEW = 40
"""Texts up to which each is compared with each: to sort them into blocks would take longer."""
CROWD = 200
"""How many texts with the same rare words are compared; more are a form letter."""


def same(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The keys of texts that are the same but for case, spaces and signs; two or more each."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, text in texts.items():
        groups[tuple(WORD.findall(text.casefold())) or (text.strip(),)].append(key)
    return [tuple(keys) for keys in groups.values() if len(keys) > 1]


def alike(texts: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The keys of texts that are nearly the same, two or more each; those the same left out."""
    clusters = _Clusters()
    for group in _with_the_same_fixed(texts):
        told = {key: TextWords(raw) for key, raw in group.items()}
        for one, other in _pairs(told):
            if told[one].words != told[other].words and in_order(told[one], told[other]):
                clusters.join(one, other)
    return clusters.found(texts)


def _with_the_same_fixed(texts: Mapping[str, str]) -> Iterator[dict[str, list[str]]]:
    """The words of texts by key, in groups that name the same; most texts are alone in theirs."""
    groups: dict[frozenset[str], dict[str, list[str]]] = defaultdict(dict)
    for key, text in texts.items():
        raw = WORD.findall(text)
        groups[fixed(raw)][key] = raw
    return (group for group in groups.values() if len(group) > 1)


def _pairs(told: Mapping[str, TextWords]) -> Iterator[tuple[str, str]]:
    """Pairs whose words are the same set, or share enough."""
    keys = [key for key, each in told.items() if each.stems]
    if len(keys) <= FEW:
        yield from _near(keys, told)
        return
    counts = Counter(stem for key in keys for stem in told[key].stems)
    blocks: dict[object, list[str]] = defaultdict(list)
    for key in keys:
        for block in _blocks(told[key].stems, counts):
            blocks[block].append(key)
    for block in blocks.values():
        if len(block) > 1:
            yield from _near(block[:CROWD], told)


def _blocks(stems: frozenset[str], counts: Mapping[str, int]) -> Iterator[object]:
    """The blocks of a text: whoever is near it is in one of them, too."""
    yield stems
    size = len(stems)
    if size >= FEWEST:
        # Who shares `ALIKE` of the words shares at least two of so many of the rarest.
        rarest = sorted(stems, key=lambda stem: (counts[stem], stem))
        rarest = [stem for stem in rarest[: size - int(ALIKE * size) + 2] if counts[stem] > 1]
        yield from combinations(rarest, 2)


def _near(keys: Sequence[str], told: Mapping[str, TextWords]) -> Iterator[tuple[str, str]]:
    for at, one in enumerate(keys):
        for other in keys[at + 1 :]:
            if is_near(told[one].stems, told[other].stems):
                yield one, other


class _Clusters:
    """Keys that were joined, directly or through others."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def join(self, one: str, other: str) -> None:
        self._above[self._top(one)] = self._top(other)

    def _top(self, key: str) -> str:
        while (above := self._above.setdefault(key, key)) != key:
            self._above[key] = self._above[above]
            key = above
        return key

    def found(self, keys: Iterable[str]) -> list[tuple[str, ...]]:
        """The groups, each in the order of `keys`."""
        groups: dict[str, list[str]] = defaultdict(list)
        for key in keys:
            if key in self._above:
                groups[self._top(key)].append(key)
        return [tuple(group) for group in groups.values()]


class Nearby(Struct, frozen=True):
    """The ids of records beside which a new one stands."""

    alike: tuple[str, ...] = ()
    disagreeing: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What to do about them, in words; empty without any."""
        told = [f"{key} says nearly the same: {_way(key)}" for key in self.alike]
        told += [f"{key} says something else of it: {_way(key)}" for key in self.disagreeing]
        return " ".join(told)


def _way(key: str) -> str:
    return f"if this replaces it, store it again with supersedes {key}."


def nearby(library: Library, record: Record) -> Nearby:
    """What stands beside a record that was just stored."""
    if record.kind not in LASTING:
        return Nearby()
    library.refresh()
    query = Query(record.text, kinds=tuple(sorted(LASTING)), limit=LOOKED_AT)
    now = now_of(library.clock)
    others = {
        hit.record.id: hit.record
        for hit in library.search(query)
        if hit.record.id not in (record.id, record.supersedes)
        and hit.record.username == record.username
        and sorted(hit.record.when) == sorted(record.when)
        and not is_over(hit.record, now)
    }
    differing = tuple(key for key, other in others.items() if _disagree(record, other))
    groups = (alike({"": record.text, key: it.text}) for key, it in others.items())
    same_words = [key for key, found in zip(others, groups) if found and key not in differing]
    return Nearby(tuple(same_words), differing)


def _disagree(one: Record, other: Record) -> bool:
    theirs = {each.key: each for each in claims(other.text)}
    return any(ours.key in theirs and disagree(ours, theirs[ours.key]) for ours in claims(one.text))
