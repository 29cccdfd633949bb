"""A simulated month with one vault: what sessions are told, and whether what they need is in it.

Work on several projects goes on for a number of sessions. Memories are stored as it goes, and some
prompts need one that was stored before: its evidence is inside if the session has been told it by
then. Sentences and questions are made here, from a seed.

python bench/month.py [--seed 1] [--sessions 30] [--prompts 40] [--memories 600]
    [--start 3600] [--against CHECKOUT]

`--start` is the most characters at the start of a session; with it the other checkout is asked
for as many as hooks sent before.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.options import DEFAULTS

AT_PROMPT = 1200
"""Characters that the hook of a prompt sends."""
NEEDED = 0.4
"""The share of prompts that need a memory."""


def listed(words: str) -> list[str]:
    return words.split()


PROJECTS = listed(
    "billing checkout warehouse newsletter mobile search reports login payroll booking"
)
PARTS = listed("importer scheduler dashboard parser exporter gateway cache worker form mailer")
HOSTS = listed("heron osprey kestrel plover linnet wren dunlin avocet siskin merlin")
PEOPLE = listed("Ada Bob Inês Duarte Mei Yusuf Lena Tomas Priya Olek")
TOOLS = listed("pytest ruff alembic terraform vite cargo gradle webpack poetry make")
PLACES = listed("cellar attic garage hallway kitchen shed office balcony")
THINGS = listed("boiler ladder passport toolbox bicycle projector suitcase stove printer telescope")


class Shape(NamedTuple):
    """A memory and the question that needs it, each with gaps of the same names."""

    kind: str
    text: str
    question: str


SHAPES = (
    Shape(
        "fact",
        "The {part} of {project} runs on {host}",
        "On which machine is the {project} {part}?",
    ),
    Shape(
        "fact",
        "{project} keeps its {part} logs for {n} days",
        "How long are {part} logs of {project} kept?",
    ),
    Shape(
        "fact",
        "The {part} of {project} listens on port {port}",
        "Which port does the {project} {part} use?",
    ),
    Shape(
        "decision",
        "We chose {tool} for the {part} of {project} because it is simpler",
        "Why do we use {tool} in the {project} {part}?",
    ),
    Shape(
        "decision",
        "The {part} of {project} is rewritten after release {n}",
        "When do we rewrite the {part} of {project}?",
    ),
    Shape(
        "person",
        "{person} owns the {part} of {project}",
        "Who is responsible for the {part} in {project}?",
    ),
    Shape(
        "person",
        "{person} is away in week {n}",
        "Can I ask {person} in week {n}?",
    ),
    Shape(
        "preference",
        "Prefers {tool} output without colours in {project}",
        "Run {tool} in {project} and show me the output",
    ),
    Shape(
        "instruction",
        "Never run {tool} against {host} by day",
        "Please run {tool} against {host} now",
    ),
    Shape(
        "correction",
        "The {part} of {project} has {n} replicas, not one",
        "How many replicas does the {part} in {project} have?",
    ),
    Shape(
        "context",
        "We are moving the {part} of {project} to {host}",
        "Where does the {part} of {project} move to?",
    ),
    Shape(
        "goal",
        "The {part} of {project} answers within {port} ms by spring",
        "What latency do we want of the {project} {part}?",
    ),
    Shape(
        "fact",
        "The {thing} of {person} is in the {place}",
        "Where did we put {person}'s {thing}?",
    ),
    Shape(
        "learned",
        "The {part} of {project} fails when {tool} runs twice",
        "The {project} {part} failed again, what was it with {tool}?",
    ),
    Shape(
        "note",
        "Talked to {person} about the {part} of {project}",
        "What did I discuss with {person} on the {project} {part}?",
    ),
)
OTHER = (
    "Rename the variable in this function, it reads badly",
    "Now write a test for that",
    "Explain the error above in one sentence",
    "Looks fine, commit it",
    "Split this file in two, please",
    "Why is this loop slow?",
    "Make the {part} of {project} log less",
    "Refactor the {part} of {project} a little",
)
"""Prompts that need no memory."""


class Made(NamedTuple):
    kind: str
    text: str
    question: str


FIRST, DAY = 1_772_438_400_000_000_000, 86_400_000_000_000
"""A Monday morning in nanoseconds, and a day."""


def memories(chance: random.Random, count: int) -> list[Made]:
    """Memories that no other one says."""
    made: dict[str, Made] = {}
    while len(made) < count:
        shape, names = chance.choice(SHAPES), _names(chance)
        text = shape.text.format(**names)
        made.setdefault(text, Made(shape.kind, text, shape.question.format(**names)))
    return list(made.values())


def _names(chance: random.Random) -> dict[str, object]:
    lists = {
        "project": PROJECTS,
        "part": PARTS,
        "host": HOSTS,
        "person": PEOPLE,
        "tool": TOOLS,
        "place": PLACES,
        "thing": THINGS,
    }
    names: dict[str, object] = {name: chance.choice(words) for name, words in lists.items()}
    return names | {"n": chance.randint(2, 52), "port": chance.randint(100, 9000)}


class Session(NamedTuple):
    """What is stored before a session, and what is asked in it, with the text that is needed."""

    stored: list[Made]
    prompts: list[tuple[str, str]]


def month(seed: int, sessions: int, prompts: int, count: int) -> Iterator[Session]:
    """People come back to what they worked on: half of the questions are about five memories."""
    chance = random.Random(seed)
    all_of_them, there = memories(chance, count), []
    each = count // sessions
    for at in range(sessions):
        stored = all_of_them[at * each : (at + 1) * each]
        there += stored
        again = chance.sample(there, 5)
        asked = []
        for _ in range(prompts):
            if chance.random() < NEEDED:
                wanted = chance.choice(again if chance.random() < 0.5 else there)
                asked.append((wanted.question, wanted.text))
            else:
                asked.append((chance.choice(OTHER).format(**_names(chance)), ""))
        yield Session(stored, asked)


def lived(root: Path, sessions: Iterator[Session], *, start: int, once: bool) -> dict[str, float]:
    """A month of sessions: the tokens told to each, and the share of needed texts among them."""
    tokens = inside = needed = number = 0
    clock = Clock(zone="UTC", now_ns=lambda: FIRST + number * DAY)
    with Memory.open(root, session="m", clock=clock, create=True) as storing:
        for number, session in enumerate(sessions, 1):
            storing.store_all({"text": made.text, "kind": made.kind} for made in session.stored)
            memory = storing.for_session(f"s{number}")
            first = memory.context(characters=start)
            tokens, told = tokens + first.tokens, [first.text]
            if once:
                memory.note_context("start", first)
            for prompt, wanted in session.prompts:
                found = memory.relevant(prompt, characters=AT_PROMPT)
                tokens += found.tokens
                told.append(found.text)
                if once:
                    memory.note_context("prompt", found)
                if wanted:
                    needed += 1
                    inside += any(wanted in text for text in told)
    return {"tokens": tokens / number, "inside": inside / needed, "needed": needed}


def told_by(arguments: argparse.Namespace, *, once: bool) -> dict[str, float]:
    plan = month(arguments.seed, arguments.sessions, arguments.prompts, arguments.memories)
    with tempfile.TemporaryDirectory() as directory:
        return lived(Path(directory), plan, start=arguments.start, once=once)


def told_by_other(arguments: argparse.Namespace) -> dict[str, float]:
    """The same month with the product of another checkout, which has no ledger."""
    given = [f"--{name}={getattr(arguments, name)}" for name in ("seed", *SIZES) if name != "start"]
    done = subprocess.run(
        [sys.executable, __file__, "--only-all", *given],
        env=os.environ | {"PYTHONPATH": str(Path(arguments.against) / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


SIZES = {
    "start": DEFAULTS.get("start_characters", 10_000),
    "sessions": 30,
    "prompts": 40,
    "memories": 600,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    for name, size in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size)
    parser.add_argument("--against", metavar="CHECKOUT", help="compare with the product there")
    parser.add_argument("--only-all", action="store_true", help="print the figures of all told")
    arguments = parser.parse_args()
    if arguments.only_all:
        print(json.dumps(told_by(arguments, once=False)))
        return
    found = {"told at every prompt": told_by(arguments, once=False)}
    if arguments.against:
        found = {f"before ({arguments.against})": told_by_other(arguments), **found}
    found["told once"] = told_by(arguments, once=True)
    first = next(iter(found.values()))
    for name, figures in found.items():
        print(
            f"{name:<32} {figures['tokens']:>8,.0f} tokens a session "
            f"({figures['tokens'] / first['tokens']:.2f}), needed evidence inside "
            f"{figures['inside']:.1%} of {figures['needed']:.0f}"
        )


if __name__ == "__main__":
    main()
