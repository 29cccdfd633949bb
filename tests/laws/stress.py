"""Eight agents and a person write one vault at once: what is lost, doubled, undone or refused.

    python3 -m tests.laws.stress [--minutes 10 | --calls N] [--seed N] [--place DIRECTORY-OR-URL]

Each agent is a process. It appends to four sections of MEMORY.md and to its end, changes its own
line in one of them, replaces whole sections of another document, stores, supersedes and writes
diary entries. In files a person saves MEMORY.md meanwhile, in place and by rename, slowly and fast.
Afterwards the vault is opened anew. Every line that was acknowledged must be there once, and
nothing may have been refused but for a real conflict. Beside a person's stale saves fewer than one
line in 1,000 may be missing. The exit code is 1 when anything of this does not hold.
Without `--place` it runs in a temporary directory and then on a PostgreSQL server of its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from commonplace.markdown.documents import sections
from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError, NoSuchRecord, WouldLose
from tests.support.postgres import new_server

AGENTS = 8
SECTIONS = ("Alpha", "Beta", "Gamma", "Delta")
STATE = "notes/state.md"
TOKEN = re.compile(r"\b[a-z]\d+n\d+x\b")
WEIGHTS = {
    "store": 30,
    "append_to_section": 25,
    "supersede": 12,
    "diary": 9,
    "append": 8,
    "change_own_line": 8,
    "replace_section": 8,
}
REAL_CONFLICTS = {
    "change_own_line": ("DocumentChanged", "WouldLose"),
    "supersede": ("NoSuchRecord",),
}
"""What may be refused: a text that others changed since, and what a person has deleted."""
READING = 3.0
"""Seconds for which a person has read a line before they delete it."""
MISSING_BESIDE_A_PERSON = 1000
"""One line in that many may be missing where a person saves older texts meanwhile."""


@dataclass(frozen=True, kw_only=True)
class Done:
    """One call that was acknowledged, or refused."""

    verb: str
    token: str
    began: float
    ended: float
    where: str = ""
    key: str = ""
    old: str = ""
    refused: str = ""


class Agent:
    """One process: its memory, its chance, and a log of what it was told."""

    def __init__(self, place: str, number: int, seed: int) -> None:
        self.number, self.count = number, 0
        self.chance = random.Random(f"{seed} {number}")
        self.memory = Memory.open(place, session=f"agent-{number}")
        self.mine: list[str] = []

    def calls(self, enough: Callable[[int], bool]) -> Iterator[Done]:
        with self.memory:
            while not enough(self.count):
                [verb] = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
                yield self.call(verb)

    def call(self, verb: str) -> Done:
        self.count += 1
        token = f"a{self.number}n{self.count}x"
        where = self.chance.choice(SECTIONS)
        began = time.monotonic()
        try:
            told = getattr(self, verb)(token, where) or {}
        except CommonplaceError as error:
            told = {"refused": f"{type(error).__name__}: {error}"}
        ended = time.monotonic()
        return Done(verb=verb, token=token, where=where, began=began, ended=ended, **told)

    def store(self, token: str, where: str) -> dict[str, str]:
        kind = self.chance.choice(("fact", "preference", "decision", "goal"))
        kept = self.memory.store(f"Agent {self.number} saw thing {token}", kind=kind)
        self.mine.append(kept.id)
        return {"key": kept.id}

    def supersede(self, token: str, where: str) -> dict[str, str]:
        """Replace one of its own that stands; the first time there is none, and it stores."""
        if not self.mine:
            return self.store(token, where)
        old = self.mine.pop(self.chance.randrange(len(self.mine)))
        kept = self.memory.supersede(old, f"Agent {self.number} now says {token}")
        self.mine.append(kept.id)
        return {"key": kept.id, "old": old}

    def append_to_section(self, token: str, where: str) -> None:
        self.memory.update(f"- Told {where} {token}\n", mode="append", section=where)

    def append(self, token: str, where: str) -> None:
        self.memory.update(f"- At the end {token}\n")

    def diary(self, token: str, where: str) -> dict[str, str]:
        return {"key": self.memory.write_diary(f"The day of {token}\n").document}

    def change_own_line(self, token: str, where: str) -> None:
        """Rewrite a section from what was read, with the etag of that."""
        document = self.memory.read()
        start = f"- Agent {self.number} in {where} stands at"
        body = _body(document.text, where)
        others = re.sub(rf"(?m)^{start} .*\n?", "", body)
        text = f"{others.rstrip()}\n{start} {token}\n"
        self._confirmed(text, section=where, etag=document.etag)

    def replace_section(self, token: str, where: str) -> None:
        """Say how something stands now, whatever was there before."""
        self._confirmed(f"{where} is at {token}.\n", section=where, document=STATE)

    def _confirmed(self, text: str, **rest: Any) -> None:
        try:
            self.memory.update(text, mode="section", **rest)
        except WouldLose as refusal:
            self.memory.update(text, mode="section", confirm=refusal.token, **rest)


def _body(text: str, title: str) -> str:
    for section in sections(text):
        if section.title == title:
            return re.sub(r"^\*Updated: .*\*\n", "", text[section.body : section.end].lstrip("\n"))
    return ""


class Person:
    """Loads MEMORY.md, thinks, adds a thought, sometimes deletes an old line, and saves."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path, self.count = path, 0
        self.chance = random.Random(f"{seed} person")
        self.seen: dict[str, float] = {}

    def saves(self, enough: Callable[[int], bool]) -> Iterator[Done]:
        while not enough(self.count):
            yield self.save()
            time.sleep(self.chance.uniform(0.2, 1))

    def save(self) -> Done:
        self.count += 1
        token, began = f"p0n{self.count}x", time.monotonic()
        lines = self.path.read_text(encoding="utf-8").split("\n")
        # A script needs next to no time for what a person thinks about.
        time.sleep(self.chance.choice((0.005, 0.3)) * self.chance.random())
        gone = self.chance.choice(self._read(lines) or [""]) if self.count % 2 else ""
        if gone:
            lines.remove(gone)
        lines.insert(self.chance.randrange(2, len(lines) - 1), f"- A person's thought {token}")
        how = self.chance.choice(("in place", "by rename"))
        self._write("\n".join(lines), how)
        old_token = "".join(TOKEN.findall(gone))
        return Done(verb=how, token=token, old=old_token, began=began, ended=time.monotonic())

    def _read(self, lines: list[str]) -> list[str]:
        """The lines that the person has had before their eyes long enough to delete them."""
        now = time.monotonic()
        theirs = [line for line in lines if "saw thing" in line or "- Told" in line]
        self.seen = {line: self.seen.get(line, now) for line in theirs}
        return [line for line in theirs if now - self.seen[line] > READING]

    def _write(self, text: str, how: str) -> None:
        if how == "in place":
            self.path.write_text(text, encoding="utf-8")
            return
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.path)


def _work(place: str, number: int, seed: int, calls: int, until: float, log: str) -> None:
    def enough(made: int) -> bool:
        return made >= calls if calls else time.monotonic() >= until

    _write_down(Agent(place, number, seed).calls(enough), log)


def _be_the_person(place: str, seed: int, stop: Any, log: str) -> None:
    _write_down(Person(Path(place) / "MEMORY.md", seed).saves(lambda made: stop.is_set()), log)


def _write_down(done: Iterator[Done], log: str) -> None:
    with Path(log).open("w", encoding="utf-8") as file:
        for each in done:
            file.write(json.dumps(asdict(each)) + "\n")


def _read_back(log: str) -> list[Done]:
    return [Done(**json.loads(line)) for line in Path(log).read_text().splitlines()]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What was acknowledged in one vault, and what does not hold of it."""

    acknowledged: int
    lost: list[str]
    wrong: list[str]
    conflicts: Counter[str]

    def holds(self, *, beside_a_person: bool) -> bool:
        allowed = -(-self.acknowledged // MISSING_BESIDE_A_PERSON) if beside_a_person else 0
        return not self.wrong and len(self.lost) <= allowed


def judged(place: str, calls: list[Done], saves: list[Done]) -> Verdict:
    """Open the vault anew and compare it with what agents and the person were told."""
    acknowledged = [each for each in calls if not each.refused]
    with Memory.open(place, session="judge") as memory:
        memory.library.refresh()
        texts = {name: memory.read(name).text for name in memory.documents()}
        wrong = [
            *_wrongly_refused(calls),
            *_wrong_lines(texts, acknowledged, saves),
            *_wrong_headings(texts),
            *_wrong_states(texts.get(STATE, ""), acknowledged),
            *_wrong_records(memory, acknowledged, {each.old for each in saves}),
        ]
        kept = memory.library.index.dump()
        memory.rebuild()
        if memory.library.index.dump() != kept:
            wrong.append("the index that was kept is not the one that the documents give")
    return Verdict(
        acknowledged=len(acknowledged),
        lost=list(_lost(texts, acknowledged, saves)),
        wrong=wrong,
        conflicts=Counter(each.verb for each in calls if each.refused),
    )


def _wrongly_refused(calls: list[Done]) -> Iterator[str]:
    for each in calls:
        if each.refused and not each.refused.startswith(REAL_CONFLICTS.get(each.verb, ("-",))):
            yield f"{each.verb} {each.token} was refused: {each.refused[:300]}"


def _standing(acknowledged: list[Done]) -> dict[str, Done]:
    """What must be there by its token: all but what the same agent or others wrote over."""
    there: dict[str, Done] = {}
    own_lines: dict[tuple[str, str], str] = {}
    for each in acknowledged:
        if each.verb == "replace_section":
            continue
        if each.verb == "change_own_line":
            agent = each.token.split("n")[0]
            there.pop(own_lines.get((agent, each.where), ""), None)
            own_lines[agent, each.where] = each.token
        there[each.token] = each
    return there


def _home(each: Done) -> str:
    return each.key if each.verb == "diary" else "MEMORY.md"


def _lost(texts: dict[str, str], acknowledged: list[Done], saves: list[Done]) -> Iterator[str]:
    deleted = {each.old for each in saves}
    for token, each in _standing(acknowledged).items():
        if token not in deleted and token not in texts.get(_home(each), ""):
            yield f"{each.verb} {token} in {each.where or _home(each)}"


def _wrong_lines(
    texts: dict[str, str], acknowledged: list[Done], saves: list[Done]
) -> Iterator[str]:
    found = Counter(TOKEN.findall(texts["MEMORY.md"]))
    yield from (f"{token} stands {count} times" for token, count in found.items() if count > 1)
    yield from (f"the person's {each.token} is lost" for each in saves if not found[each.token])
    yield from (f"{each.old} was deleted and is back" for each in saves if found[each.old])
    if saves:
        # Where a stale save and an agent changed the same line, both stay.
        return
    there = _standing(acknowledged).keys()
    yield from (f"{token} stands though it was written over" for token in found.keys() - there)


def _wrong_headings(texts: dict[str, str]) -> Iterator[str]:
    for name in ("MEMORY.md", STATE):
        count = Counter(section.title for section in sections(texts.get(name, "")))
        yield from (f"{name}: {title} {count[title]} times" for title in count if count[title] > 1)


def _wrong_states(text: str, acknowledged: list[Done]) -> Iterator[str]:
    """A section that is replaced whole says one of the last replaces.

    Beside it may stand what others said at the same time: where two touch the same lines, both
    stay.
    """
    for where in SECTIONS:
        said = TOKEN.findall(_body(text, where))
        replaces = [a for a in acknowledged if (a.verb, a.where) == ("replace_section", where)]
        latest = max((each.began for each in replaces), default=0)
        last = [each.token for each in replaces if each.ended >= latest]
        if replaces and not set(said) & set(last):
            yield f"{where} of {STATE} says {said} and not one of {last}"


def _wrong_records(memory: Memory, acknowledged: list[Done], deleted: set[str]) -> Iterator[str]:
    """Each record is found by its id, and what it replaces is not current."""
    current = {hit.record.id for hit in memory.search(limit=1_000_000)}
    for each in acknowledged:
        if not each.key.startswith("mem-") or each.token in deleted:
            continue
        try:
            record = memory.get(each.key).record
        except NoSuchRecord:
            continue
        if each.token not in record.text or record.supersedes != each.old:
            yield f"{each.key} is not as it was acknowledged: {record}"
        if each.old in current:
            yield f"{each.old} is current, and {each.key} replaces it"


def run(place: str, *, seed: int, calls: int = 0, minutes: float = 0) -> bool:
    """Let them all write, print what came of it, and say whether it holds."""
    in_files = "://" not in place
    with Memory.open(place, create=True) as memory:
        memory.store("There before anybody came", kind="fact")
    context = multiprocessing.get_context("spawn")
    until, stop = time.monotonic() + minutes * 60, context.Event()
    with tempfile.TemporaryDirectory() as directory:
        logs = [f"{directory}/{number}" for number in range(AGENTS + 1)]
        agents = [
            context.Process(target=_work, args=(place, number, seed, calls, until, logs[number]))
            for number in range(AGENTS)
        ]
        person = context.Process(target=_be_the_person, args=(place, seed, stop, logs[AGENTS]))
        others = [person] if in_files else []
        for each in (*agents, *others):
            each.start()
        for each in agents:
            each.join()
        stop.set()
        for each in others:
            each.join()
        if any(each.exitcode for each in (*agents, *others)):
            print("A process ended with an error.")
            return False
        made = [done for log in logs[:AGENTS] for done in _read_back(log)]
        saves = _read_back(logs[AGENTS]) if in_files else []
    verdict = judged(place, made, saves)
    _print(verdict, place=place, made=made, saves=saves)
    return verdict.holds(beside_a_person=in_files)


def _print(verdict: Verdict, *, place: str, made: list[Done], saves: list[Done]) -> None:
    took = max(each.ended for each in made) - min(each.began for each in made)
    print(
        f"{place.split('?')[0]}: {len(made):,} calls by {AGENTS} processes and {len(saves):,} "
        f"saves of a person in {took:.0f} s; acknowledged {verdict.acknowledged:,}"
    )
    for verb, count in Counter(each.verb for each in made).most_common():
        print(f"  {verb:18} {count:7,}  refused {verdict.conflicts[verb]:,}")
    for name, faults in (("lost", verdict.lost), ("wrong", verdict.wrong)):
        print(f"{name}: {len(faults)}")
        for fault in faults[:20]:
            print(f"  {fault}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10, help="how long, for each place")
    parser.add_argument("--calls", type=int, default=0, help="so many of each process instead")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--place", default="", help="a new directory or an unused database profile")
    given = parser.parse_args()
    limits = {"seed": given.seed, "calls": given.calls, "minutes": given.minutes}
    if given.place:
        return 0 if run(given.place, **limits) else 1
    with tempfile.TemporaryDirectory() as directory:
        in_files = run(f"{directory}/vault", **limits)
    server = new_server("stress")
    return 0 if run(f"{server.url()}?profile=stress", **limits) and in_files else 1


if __name__ == "__main__":
    sys.exit(main())
