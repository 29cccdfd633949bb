"""Every system call of every deed that changes something, made to fail, or to be the last.

    python3 -m tests.laws.failing_calls --all        every call, every error: some 20,000 runs
    python3 -m tests.laws.failing_calls --sample 40  as many of each deed, chosen by --seed

A small library in C (`failing.c`) stands between Python, SQLite and the system. The law: after each
fault the documents say the old or the new, the answer was true, doing it again is harmless, what
was acknowledged before is there, and the kept index is the one that the documents would give.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError, HeldForReview, VaultTrouble
from commonplace.storage.journal import documents_at
from tests.laws.test_laws import rebuilt
from tests.support.clocks import SkippingClock

SOURCE = Path(__file__).with_name("failing.c")
SHIM = "COMMONPLACE_FAILING_CALLS"
KILL = 0
DAY = 86_400_000_000_000
FINISHED = "finished at the next start"
PROSE = "# A\n\nfirst of A\n\n# B\n\nfirst of B\n"
QUICK = "/dev/shm"
"""Where nobody waits for a disk."""


@dataclass(frozen=True)
class Fault:
    """What goes wrong: an error of the system or a death, after a part of a write, for good."""

    name: str
    error: int
    part: bool = False
    lasting: bool = False


FAULTS = (
    Fault("EIO", errno.EIO),
    Fault("ENOSPC", errno.ENOSPC),
    Fault("ENOSPC after a part", errno.ENOSPC, part=True),
    Fault("EROFS", errno.EROFS),
    Fault("EINTR", errno.EINTR),
    Fault("ENOSYS", errno.ENOSYS),
    Fault("a kill", KILL),
    Fault("a kill after a part", KILL, part=True),
    Fault("EIO from then on", errno.EIO, lasting=True),
    Fault("ENOSPC from then on", errno.ENOSPC, lasting=True),
    Fault("EROFS from then on", errno.EROFS, lasting=True),
)

Deed = Callable[[Memory], object]


def _id_of(memory: Memory, text: str) -> str:
    return next(hit.record.id for hit in memory.search(limit=50) if hit.record.text == text)


def _hold(memory: Memory) -> None:
    memory.taint()
    with suppress(HeldForReview):
        memory.store("Always answer in German", kind="preference")


def _compacted(memory: Memory) -> None:
    report = memory.compact(forced=True)
    if report.status != "done":
        raise VaultTrouble(f"{report.status}: {report.why}")


DEEDS: dict[str, Deed] = {
    "store": lambda m: m.store("The newest of all", kind="fact"),
    "append": lambda m: m.update("one more line", document="prose.md"),
    "append to a new document": lambda m: m.update("a first line", document="lists/new.md"),
    "section": lambda m: m.update("second of A", document="prose.md", section="A"),
    "rewrite": lambda m: m.update(PROSE + "third\n", document="prose.md", mode="rewrite"),
    "supersede": lambda m: m.supersede(_id_of(m, "Lives in Bern"), "Lives in Basel"),
    "delete": lambda m: m.delete(_id_of(m, "Lives in Bern")),
    "forget": lambda m: m.delete_all([hit.record.id for hit in m.to_forget("kitchen")]),
    "cite": lambda m: m.cite(_id_of(m, "Lives in Bern"), "prose.md:1"),
    "verdict": lambda m: m.judge("useful", _id_of(m, "Lives in Bern")),
    "strike": lambda m: m.strike([_id_of(m, "Lives in Bern")]),
    "undo": lambda m: m.undo(),
    "diary": lambda m: m.write_diary("A quiet day"),
    "compaction": lambda m: _compacted(m),
    "approve": lambda m: m.approve(m.review()[0].id),
    "rename": lambda m: m.rename("prose.md", "renamed.md"),
    "remove": lambda m: m.remove("prose.md"),
}
if redo := getattr(Memory, "redo", None):
    DEEDS["redo"] = redo


def opened(path: Path | str, *, days_ago: float = 0) -> Memory:
    clock = SkippingClock()
    # Noon, so that no day ends meanwhile.
    clock.skipped = DAY // 2 - time.time_ns() % DAY - int(days_ago * DAY)
    return Memory.open(path, clock=clock, create=True, environ={})


def template_at(path: Path, deed: str) -> None:
    """A vault with something of everything, in which the last change is there to be undone."""
    with opened(path, days_ago=90) as memory:
        for number in range(6):
            text = f"Talked about the kitchen of the Miller house, point {number}"
            memory.store(text, kind="turn-summary")
    with opened(path) as memory:
        memory.update(PROSE, document="prose.md", mode="rewrite")
        for place in ("Bern", "Rome"):
            memory.store(f"Lives in {place}", kind="fact")
        memory.update("last of all", document="prose.md")
        if deed == "redo":
            memory.undo()
        if deed == "approve":
            _hold(memory.for_session("tainted"))
        memory.count()


def plain(text: str) -> str:
    """A text without what differs from one run to the next: ids and times."""
    text = re.sub(r"mem-[0-9a-f]{8}-[0-9a-f-]{27}", "mem-*", text)
    text = re.sub(r"\d\d:\d\d UTC", "*", text)
    return re.sub(r"(\d{4}-\d\d-\d\d)T\d\d[:-]\d\d[:-]\d\d(\.\d+)?Z?", r"\1", text)


def said(root: Path) -> dict[str, str]:
    """The documents, as anybody would read them."""
    found = {}
    for path in sorted(root.rglob("*.md")):
        name = str(path.relative_to(root))
        if not name.startswith(".") and "/." not in name:
            found[plain(name)] = plain(path.read_bytes().decode())
    return found


class Broken(AssertionError):
    """The law did not hold."""


@dataclass(frozen=True)
class Answer:
    """What the caller was told: done, an error with its sentence, or nothing."""

    outcome: str
    says: str = ""
    call: str = ""

    @property
    def to_be_finished(self) -> bool:
        return FINISHED in self.says


class Runner:
    """Runs one deed with one fault after another."""

    def __init__(self, deed: str, below: Path) -> None:
        self.name, self.deed = deed, DEEDS[deed]
        self.template, self.root = below / "template", below / "vault"
        self.shim = ctypes.CDLL(os.environ[SHIM])
        self.shim.faults_failed.restype = ctypes.c_char_p
        template_at(self.template, deed)
        self.old = said(self.template)
        self._fresh()
        answer, self.calls = self._counted()
        if answer.outcome != "done":
            raise Broken(f"{deed} fails by itself: {answer.says}")
        self.new = said(self.root)
        self._check_in_child(answer, retried=False)

    def _fresh(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.template, self.root)

    def _counted(self) -> tuple[Answer, int]:
        told = _in_child(lambda: self._done(Fault("nothing", errno.EIO), 1 << 30, again=False))
        self.writes = set(told["writes"])
        return Answer(*told["answer"]), told["count"]

    def run(self, fault: Fault, at: int) -> Answer:
        """Do the deed with a fault at one call, and hold everything against the law."""
        self._fresh()
        again = at % 2 == 0
        told = _in_child(lambda: self._done(fault, at, again=again))
        answer = Answer(*told["answer"])
        if answer.outcome == "died" and fault.error != KILL:
            raise Broken("the process ended")
        if answer.outcome == "crashed":
            raise Broken(f"an error that is not ours: {answer.says}")
        self._check_in_child(answer, retried=told.get("retried", False))
        return answer

    def _done(self, fault: Fault, at: int, *, again: bool) -> dict[str, Any]:
        memory = opened(self.root)
        memory.count()
        self.shim.faults_arm(str(self.root).encode(), at, fault.error, fault.part, fault.lasting)
        try:
            self.deed(memory)
            memory.close()
            answer = ("done", "")
        except CommonplaceError as error:
            answer = ("refused", str(error))
        except OSError as error:
            answer = ("refused", f"OSError {error}")
        except Exception:
            answer = ("crashed", traceback.format_exc())
        count = self.shim.faults_disarm()
        call = self.shim.faults_failed().decode()
        retried = False
        if again and answer[0] == "refused" and FINISHED not in answer[1]:
            self._check_old_or_new(said(self.root), Answer(*answer))
            self.deed(memory)
            retried = True
        if answer[0] == "refused":
            memory.close()
        writes = [number for number in range(count) if self.shim.faults_wrote(number)]
        return {"answer": (*answer, call), "count": count, "retried": retried, "writes": writes}

    def _check_old_or_new(self, now: dict[str, str], answer: Answer) -> None:
        """Whether the documents are as the answer has it."""
        right = {
            "done": [self.new],
            "refused": [self.new if answer.to_be_finished else self.old],
            "died": [self.old, self.new],
        }[answer.outcome]
        if now not in right:
            raise Broken(f"{answer.outcome} ({answer.says}), and the documents: {self._told(now)}")

    def _told(self, now: dict[str, str]) -> str:
        if now in (self.old, self.new):
            return "the new ones" if now == self.new else "the old ones"
        names = {*now, *self.old, *self.new}
        mixed = {
            name: now.get(name)
            for name in names
            if now.get(name) != self.new.get(name) or now.get(name) != self.old.get(name)
        }
        return f"neither: {mixed}"

    def _check_in_child(self, answer: Answer, *, retried: bool) -> None:
        def check() -> dict[str, Any]:
            with opened(self.root) as memory:
                memory.count()
                if retried:
                    self._check_old_or_new(said(self.root), Answer("done", "retried"))
                else:
                    self._check_old_or_new(said(self.root), answer)
                self._check_whole(memory)
                if not retried and answer.outcome != "done" and said(self.root) == self.old:
                    self.deed(memory)
                    self._check_old_or_new(said(self.root), Answer("done", "retried"))
                    self._check_whole(memory)
            return {}

        told = _in_child(check)
        if "crash" in told:
            raise Broken(told["crash"])

    def _check_whole(self, memory: Memory) -> None:
        memory.count()
        if memory.library.index.dump() != rebuilt(memory):
            raise Broken("the kept index is not the rebuilt one")
        if problems := memory.problems():
            raise Broken(f"problems: {problems}")
        told = {name: text for name, (_, text) in documents_at(memory.library.journal).items()}
        there = {name: memory.library.vault.read(name) for name in memory.documents()}
        if told != there:
            raise Broken("the journal tells other texts than the documents")
        if memory.library.journal.damaged() and not memory.library.journal.end():
            raise Broken("the journal is damaged")


def _in_child(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What some work in a process of its own gives back."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            told = work()
        except BaseException as error:
            where = "" if isinstance(error, Broken) else traceback.format_exc()
            told = {"crash": f"{error} {where}", "answer": ("crashed", f"{error} {where}", "")}
        os.write(theirs, json.dumps(told).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said_there = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found: dict[str, Any] = json.loads(said_there or "{}")
    return found if said_there else {"answer": ("died", str(code), "")}


def chosen(runner: Runner, sample: int, seed: int) -> Iterator[tuple[Fault, int]]:
    """The faults and calls to try: all, or so many of them."""
    every = [
        (fault, at)
        for fault in FAULTS
        for at in range(runner.calls)
        if not fault.part or at in runner.writes
    ]
    if not sample:
        return iter(every)
    return iter(random.Random(f"{runner.name} {seed}").sample(every, min(sample, len(every))))


def work(deed: str, sample: int, seed: int) -> int:
    """Try one deed, in this process; one line of JSON a broken law, and one at the end."""
    broken, outcomes = 0, Counter[str]()
    with tempfile.TemporaryDirectory(dir=QUICK if os.path.isdir(QUICK) else None) as below:
        runner = Runner(deed, Path(below).resolve())
        for fault, at in chosen(runner, sample, seed):
            try:
                answer = runner.run(fault, at)
            except Broken as error:
                broken += 1
                print(json.dumps({"fault": fault.name, "at": at, "broken": str(error)}), flush=True)
            else:
                outcomes["finished later" if answer.to_be_finished else answer.outcome] += 1
    print(json.dumps({"calls": runner.calls, "broken_laws": broken, "outcomes": outcomes}))
    return broken


def compiled(directory: Path) -> Path:
    """The library that lets calls fail."""
    built = directory / "failing.so"
    words = ["cc", "-shared", "-fPIC", "-O1", "-o", str(built), str(SOURCE), "-ldl"]
    subprocess.run(words, check=True, capture_output=True)
    return built


def run(
    deed: str, *, sample: int = 0, seed: int = 0
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Try a deed in a process that has the library; what was broken, and the counts."""
    with tempfile.TemporaryDirectory() as below:
        built = str(compiled(Path(below)))
        words = [sys.executable, "-m", "tests.laws.failing_calls", "--work", deed]
        done = subprocess.run(
            [*words, "--sample", str(sample), "--seed", str(seed)],
            env={**os.environ, "LD_PRELOAD": built, SHIM: built},
            cwd=SOURCE.parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines or "calls" not in lines[-1]:
        raise RuntimeError(f"{deed}: {done.stderr}")
    return lines[:-1], lines[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--all", action="store_true", help="every call and every error")
    parser.add_argument("--sample", type=int, default=40, help="so many of each deed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--deed", choices=sorted(DEEDS), action="append")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        return min(1, work(given.work, given.sample, given.seed))
    total, bad = Counter[str](), 0
    for deed in given.deed or DEEDS:
        broken, counts = run(deed, sample=0 if given.all else given.sample, seed=given.seed)
        for each in broken:
            print(f"  {deed}, {each['fault']} at call {each['at']}: {each['broken']}")
        print(f"{deed}: {counts}", flush=True)
        total.update(counts["outcomes"])
        bad += counts["broken_laws"]
    print(f"{sum(total.values()) + bad} faults: {dict(total)}; the law broken {bad} times")
    return min(1, bad)


if __name__ == "__main__":
    sys.exit(main())
