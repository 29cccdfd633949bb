"""Honest use: sessions of 2 to 14 user messages, and the memory an agent would make of one of them.

python -m tests.laws.honest [--seed 19]
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace.search.encoders import nearness
from commonplace.search.encoders.static import StaticEncoder
from commonplace.trust.evidence import SHORTEST, Evidence, UserMessage, found, quoted
from commonplace.trust.sentences import sentences

DATA = Path(__file__).parents[1] / "data"


class Case(NamedTuple):
    """One session, and what the agent made of one of its messages."""

    said: tuple[str, ...]
    right: int
    kind: str
    memory: str

    def messages(self) -> list[UserMessage]:
        return [
            UserMessage(f"m{n}", "2026-11-17T10:00:00.000Z", text)
            for n, text in enumerate(self.said)
        ]


def wishes() -> list[tuple[str, str, str]]:
    """The kind, the user's message and the agent's memory of it."""
    lines = (DATA / "honest.txt").read_text().splitlines()
    return [(kind, said, memory) for kind, said, memory in (line.split(" || ") for line in lines)]


def sessions(seed: int = 19) -> Iterator[Case]:
    """A session for each wish: small talk, tasks, and wishes about other things around it."""
    chance = random.Random(seed)
    others = (DATA / "other_words.txt").read_text().splitlines()
    every = wishes()
    for kind, said, memory in every:
        beside = [other for _, other, _ in every if other != said]
        count = chance.randint(1, 13)
        around = chance.sample(others, k=count - count // 3) + chance.sample(beside, k=count // 3)
        chance.shuffle(around)
        right = chance.randint(0, count)
        yield Case((*around[:right], said, *around[right:]), right, kind, memory)


def cited(case: Case) -> list[Evidence]:
    return found(case.messages(), case.memory, NEAR)


NEAR = nearness(StaticEncoder())


class Figures(NamedTuple):
    """The shares of sessions whose right message is cited first, or in the first two; and told."""

    sessions: int
    first: float
    in_two: float
    told: float
    quoted: float
    """The share that is told in the user's words where the agent quotes the message."""


def measured(cases: Iterable[Case]) -> Figures:
    cases = list(cases)
    hits = [(f"m{case.right}", [each.message for each in cited(case)]) for case in cases]
    count = len(hits)
    return Figures(
        count,
        sum(right in cited[:1] for right, cited in hits) / count,
        sum(right in cited[:2] for right, cited in hits) / count,
        sum(bool(cited) for _, cited in hits) / count,
        sum(_is_quoted(case) for case in cases) / count,
    )


def _is_quoted(case: Case) -> bool:
    """Whether every sentence of the right message is found again by its quote."""
    typed = [each for each in sentences(case.said[case.right]) if len(each) >= SHORTEST]
    return bool(typed) and all(
        (evidence := quoted(case.messages(), each)) and evidence.sentence == each for each in typed
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=19)
    figures = measured(sessions(parser.parse_args().seed))
    print(
        f"{figures.sessions} sessions without a quote: the right message first {figures.first:.1%}"
        f" (85 %), in the first two {figures.in_two:.1%} (95 %), told {figures.told:.1%} (90 %); "
        f"with one, told in the user's words {figures.quoted:.1%} (100 %)"
    )


if __name__ == "__main__":
    main()
