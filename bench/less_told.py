"""What is found where records say less of themselves: python bench/less_told.py FILE … [--every N].

Vaults differ in what they tell: many name no session, no speaker or no time. Each set is asked
through the product as it is, and then with some of that left out of every record.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from commonplace.doors.admin.evaluate import Case, Turn, run, summed
from question_sets import cases_in

Change = Callable[[Turn], Turn]
LESS: dict[str, Change] = {
    "all that the set tells": lambda turn: turn,
    "no session": lambda turn: replace(turn, session=""),
    "one session for all": lambda turn: replace(turn, session="one"),
    "no speaker": lambda turn: replace(turn, username=""),
    "no time": lambda turn: replace(turn, time=""),
    "no session and no speaker": lambda turn: replace(turn, session="", username=""),
    "the text alone": lambda turn: Turn(turn.id, turn.text),
    "the text alone, time and speaker written into it": lambda turn: Turn(
        turn.id, f"[{turn.time}] {turn.username}: {turn.text}"
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--every", type=int, default=1, help="take one vault of so many")
    arguments = parser.parse_args()
    for path in arguments.files:
        cases = [case for case in cases_in(path) if case.questions][:: arguments.every]
        asked = sum(len(case.questions) for case in cases)
        print(f"\n{path.name}, {asked} questions\n")
        print("| records tell | turn R@5 | R@10 | plain BM25 R@5 | R@10 |\n|---|---|---|---|---|")
        for name, less in LESS.items():
            _show(name, [_told(case, less) for case in cases])


def _told(case: Case, less: Change) -> Case:
    # In the order of time, which is all that is left of it where none is told.
    turns = sorted(case.turns, key=lambda turn: turn.time)
    questions = case.questions
    if not less(turns[0]).time:
        questions = tuple(replace(question, time="") for question in questions)
    return Case(case.name, tuple(map(less, turns)), questions)


def _show(name: str, cases: list[Case]) -> None:
    found = summed(run(cases))["all"]
    figures = [
        f"{found[system]['turns'][cut]:.1f}"
        for system in ("commonplace", "bm25")
        for cut in ("R@5", "R@10")
    ]
    print(f"| {name} | {' | '.join(figures)} |", flush=True)


if __name__ == "__main__":
    main()
