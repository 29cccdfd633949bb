"""Everyday sentences and questions put together from WordNet's common nouns.

The dictionaries lack the first person and the question; people's memories are full of both.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

KINDS = {
    "act": "04",
    "animal": "05",
    "thing": "06",
    "food": "13",
    "place": "15",
    "person": "18",
    "plant": "20",
    "event": "11",
    "feeling": "12",
    "topic": "09",
}
NAMES = (
    "Anna", "Ben", "Carla", "David", "Emma", "Farid", "Grace", "Hugo", "Ines", "James", "Kate",
    "Leo", "Maria", "Nina", "Omar", "Paul", "Rosa", "Sam", "Tina", "Victor", "Yuki", "Zoe", "Ahmed",
    "Chen", "Priya", "Diego", "Olga", "Ravi", "Sofia", "Tom"
)  # fmt: skip
WHENS = (
    "yesterday",
    "last week",
    "last summer",
    "in March",
    "two years ago",
    "this morning",
    "on Tuesday",
    "a few months ago",
    "next weekend",
    "last Christmas",
    "when I was a child",
    "right after work",
)
WHOS = (
    "my sister",
    "my brother",
    "my mom",
    "my dad",
    "my boss",
    "a friend",
    "my wife",
    "my husband",
    "my daughter",
    "my son",
    "our neighbour",
    "my grandmother",
    "a colleague",
    "my partner",
)
FRAMES = """
I bought a new {thing} {when}.
I lost my {thing} {when} and still can't find it.
{name} gave me a {thing} for my birthday.
We had {food} for dinner {when}.
I can't eat {food}, it makes me ill.
My favourite food is {food}.
{who} makes the best {food} in town.
I'm learning how to cook {food}.
We went to {place} {when}.
{who} moved to {place} {when}.
I grew up in {place}.
Have you ever been to {place}?
I work as a {person}.
{name} wants to become a {person}.
{who} is a {person} in {place}.
I talked to a {person} about {topic} {when}.
We adopted a {animal} {when}.
My {animal} is called {name}.
{name} saw a {animal} near the {thing}.
I planted some {plant} in the garden {when}.
I joined a class on {topic} {when}.
I've been reading a lot about {topic}.
The {event} was amazing, I'm so glad we went!
I felt so much {feeling} after the {event}.
{name} told me about the {event} {when}.
I started {act} {when} and I love it.
{who} gave up {act} because of the {event}.
That's great, {name}! How is the {act} going?
Thanks, {name}. I appreciate your {feeling}.
I'm planning a {event} for {who}.
Wow, that {thing} looks amazing!
We talked about {topic} and {act} for hours.
What {thing} did {name} buy {when}?
When did {name} go to {place}?
Where did {who} find the {animal}?
What does {name} do for a living?
What kind of {food} does {name} like?
Who gave {name} the {thing}?
How long has {name} been doing {act}?
Why did {name} feel {feeling} about the {event}?
Which {person} did I talk to about {topic}?
What did I say about {topic}?
How many {thing}s do I own?
Did {name} ever see a {animal}?
What is {name} planning for the {event}?
What was the name of the {person} I met in {place}?
Can you recommend a {thing} for {act}?
How do I get better at {act}?
What should I cook with {food}?
Where did I put my {thing}?
The user prefers {food} to {food}.
The user's {who_else} is a {person}.
The user has a {animal} and lives in {place}.
Always ask before using the {thing}.
We decided to use {topic} for the {thing}.
""".strip().splitlines()


def everyday(wordnet: Path, *, count: int) -> Iterator[str]:
    chosen = random.Random(11)
    nouns = {kind: common(wordnet, number) for kind, number in KINDS.items()}
    for _ in range(count):
        frame = chosen.choice(FRAMES)
        text = re.sub(r"\{(\w+)\}", lambda slot: filled(slot[1], nouns, chosen), frame)
        text = re.sub(r"\ba (?=[aeiou])", "an ", text)
        yield text[0].upper() + text[1:]


def filled(slot: str, nouns: dict[str, list[str]], chosen: random.Random) -> str:
    if slot == "who_else":
        return chosen.choice(WHOS).split()[-1]
    words = {"name": NAMES, "when": WHENS, "who": WHOS} | nouns
    return chosen.choice(words[slot])


def common(wordnet: Path, number: str) -> list[str]:
    """Nouns of one of WordNet's files that were met in tagged text."""
    counted = {
        line.split()[0]
        for line in (wordnet / "index.noun").read_text(encoding="utf-8").splitlines()
        if not line.startswith(" ") and tagged(line)
    }
    found = []
    for line in (wordnet / "data.noun").read_text(encoding="utf-8").splitlines():
        fields = line.split(" | ")[0].split()
        if not line.startswith(" ") and fields[1] == number and fields[4].lower() in counted:
            found.append(fields[4].replace("_", " "))
    return sorted(set(found))


def tagged(line: str) -> bool:
    """Whether a word of the index was met in tagged text."""
    fields = line.split()
    return int(fields[-1 - int(fields[2])]) > 0
