"""Many agents on one PostgreSQL that is restarted under them: what is lost, what leaks, what fails.

    python bench/postgres_stress.py [--calls 20000] [--profiles 50] [--processes 4] [--threads 4]
        [--restart immediate|fast|promote|none] [--seed 0]

Each thread is an agent with a connection of its own; it makes mixed calls on random profiles,
whose texts share their words and each carry the canary of their profile. In the middle the server
is stopped (`immediate` is a crash) and started again; or it crashes for good and its replica,
which had every commit before it was answered, is promoted (`promote`). Afterwards every profile is
opened anew: what was acknowledged must be there, what was erased must not, no canary of another
profile may have been seen, and the kept index must be the one that the documents give. The exit
code is 1 when anything of this does not hold.
"""

from __future__ import annotations

import argparse
import multiprocessing
import pickle
import random
import re
import statistics
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.postgres import Server, new_server, psql

from commonplace.memory import Memory
from commonplace.model.errors import CommonplaceError, NoSuchRecord

COMMON = """tea cake deploy server bread garden wall paint river stone morning evening train ticket
music concert doctor recipe budget meeting report password-less backup window door lamp"""
WORDS = COMMON.split()
WEIGHTS = {
    "store": 35,
    "search": 25,
    "message": 15,
    "append": 5,
    "supersede": 5,
    "search messages": 4,
    "read": 4,
    "delete": 3,
    "last": 3,
    "brief": 1,
}
CANARY = re.compile(r"canary(\d+)x")


class Seen:
    """What one thread was told: acknowledged writes, times, failures, and what it must not see."""

    def __init__(self) -> None:
        self.stored: dict[tuple[int, str], str] = {}
        self.deleted: dict[tuple[int, str], str] = {}
        self.messages: dict[tuple[int, str], str] = {}
        self.appended: set[tuple[int, str]] = set()
        self.times: dict[str, list[float]] = defaultdict(list)
        self.failures: Counter[str] = Counter()
        self.leaks: list[str] = []

    def join(self, other: Seen) -> None:
        self.stored |= other.stored
        self.deleted |= other.deleted
        self.messages |= other.messages
        self.appended |= other.appended
        self.failures += other.failures
        self.leaks += other.leaks
        for verb, times in other.times.items():
            self.times[verb] += times


class Agent:
    """One thread: a memory of each profile, and what it does with them."""

    def __init__(self, urls: list[str], seed: int) -> None:
        self.urls = urls
        self.random = random.Random(seed)
        self.session = f"agent-{seed}"
        self.seen = Seen()
        self._memories: dict[int, Memory] = {}
        self._replaced: set[str] = set()

    def run(self, calls: int, done: Callable[[], None]) -> None:
        for _ in range(calls):
            [verb] = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))
            profile = self.random.randrange(len(self.urls))
            began = time.perf_counter()
            try:
                getattr(self, verb.replace(" ", "_"))(profile)
            except CommonplaceError as error:
                self.seen.failures[f"{verb}: {type(error).__name__}: {error}"[:160]] += 1
            self.seen.times[verb].append(time.perf_counter() - began)
            done()
        for memory in self._memories.values():
            memory.close()

    def memory(self, profile: int) -> Memory:
        if profile not in self._memories:
            self._memories[profile] = Memory.open(
                self.urls[profile], session=self.session, create=True
            )
        return self._memories[profile]

    def text(self, profile: int) -> str:
        words = " ".join(self.random.choices(WORDS, k=8))
        return f"{words} canary{profile}x {uuid.uuid4().hex}"

    def question(self) -> str:
        return " ".join(self.random.choices(WORDS, k=2))

    def look(self, profile: int, texts: Iterable[str]) -> None:
        for text in texts:
            if any(int(found) != profile for found in CANARY.findall(text)):
                self.seen.leaks.append(f"profile {profile} was shown: {text[:200]}")

    def mine(self, profile: int) -> str:
        """A record of this agent's in a profile that nothing replaced; empty when it has none."""
        stored = (key for at, key in self.seen.stored if at == profile)
        return next((key for key in stored if key not in self._replaced), "")

    def store(self, profile: int) -> None:
        kept = self.memory(profile).store(self.text(profile), kind="fact")
        self.seen.stored[profile, kept.id] = kept.text

    def supersede(self, profile: int) -> None:
        if old := self.mine(profile):
            memory = self.memory(profile)
            self._replaced.add(old)
            kept = memory.store(self.text(profile), kind="fact", supersedes=old)
            self.seen.stored[profile, kept.id] = kept.text

    def delete(self, profile: int) -> None:
        if key := self.mine(profile):
            # Until it is acknowledged nobody knows whether it is there.
            text = self.seen.stored.pop((profile, key))
            self.memory(profile).delete(key)
            self.seen.deleted[profile, key] = text

    def append(self, profile: int) -> None:
        line = self.text(profile)
        self.memory(profile).update(f"- {line}\n", document="notes/shared.md", mode="append")
        self.seen.appended.add((profile, line))

    def message(self, profile: int) -> None:
        said = self.memory(profile).conversations.record("user", self.text(profile))
        self.seen.messages[profile, said.id] = said.content

    def search(self, profile: int) -> None:
        found = self.memory(profile).search(self.question(), limit=10)
        self.look(profile, (hit.record.text for hit in found))

    def search_messages(self, profile: int) -> None:
        found = self.memory(profile).conversations.search(self.question(), limit=10, session="")
        self.look(profile, (message.content for message in found))

    def last(self, profile: int) -> None:
        found = self.memory(profile).conversations.last(10, session="")
        self.look(profile, (message.content for message in found))

    def read(self, profile: int) -> None:
        memory = self.memory(profile)
        self.look(profile, (memory.read(name).text for name in list(memory.documents())[:2]))

    def brief(self, profile: int) -> None:
        self.look(profile, [str(self.memory(profile).brief())])


def work(urls: list[str], number: int, calls: int, threads: int, done: Any, into: str) -> None:
    """One process with its agents."""
    agents = [Agent(urls, number * threads + at) for at in range(threads)]

    def count() -> None:
        with done.get_lock():
            done.value += 1

    running = [threading.Thread(target=each.run, args=(calls, count)) for each in agents]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    whole = Seen()
    for each in agents:
        whole.join(each.seen)
    Path(into).write_bytes(pickle.dumps(whole))


def wrong(urls: list[str], seen: Seen) -> list[str]:
    """What does not hold, profile by profile, when each is opened anew."""
    found = list(seen.leaks)
    for profile, url in enumerate(urls):
        with Memory.open(url, session="judge", create=True) as memory:
            found += [f"profile {profile}: {each}" for each in _wrong(memory, profile, seen)]
    return found


def _wrong(memory: Memory, profile: int, seen: Seen) -> Iterable[str]:
    vault = memory.library.vault
    documents = "\n".join(vault.read(name).decode() for name in vault.listing().documents)
    said = "\n".join(memory.messages.dump())
    strangers = {key for key in CANARY.findall(documents + said) if int(key) != profile}
    if strangers:
        yield f"holds canaries of {sorted(strangers)}"
    for key, text in ((key, text) for (at, key), text in seen.stored.items() if at == profile):
        try:
            kept = memory.get(key).record.text
        except NoSuchRecord:
            kept = ""
        if kept != text or text not in documents:
            yield f"lost {key}"
    for text in (text for at, text in seen.appended if at == profile):
        if text not in documents:
            yield f"lost the line {text}"
    for key, text in ((key, text) for (at, key), text in seen.messages.items() if at == profile):
        message = memory.messages.get(key)
        if message is None or message.content != text:
            yield f"lost the message {key}"
    for key, text in ((key, text) for (at, key), text in seen.deleted.items() if at == profile):
        if text in documents:
            yield f"still has {key}"
    kept_index = memory.library.index.dump()
    memory.rebuild()
    if memory.library.index.dump() != kept_index:
        yield "has another index than its documents give"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--profiles", type=int, default=50)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument(
        "--restart", default="immediate", choices=("immediate", "fast", "promote", "none")
    )
    given = parser.parse_args()
    server = new_server("stress")
    replica = followed(server) if given.restart == "promote" else None
    base = either(server, replica) if replica else f"{server.url()}?"
    urls = [f"{base}profile=p{number}" for number in range(given.profiles)]
    Memory.open(urls[0], create=True).close()
    each = given.calls // (given.processes * given.threads)
    context = multiprocessing.get_context("spawn")
    done = context.Value("i", 0)
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as directory:
        files = [f"{directory}/{number}" for number in range(given.processes)]
        processes = [
            context.Process(target=work, args=(urls, number, each, given.threads, done, file))
            for number, file in enumerate(files)
        ]
        for process in processes:
            process.start()
        total, away = each * given.processes * given.threads, 0.0
        while done.value < total // 2 and any(process.is_alive() for process in processes):
            time.sleep(0.01)
        if given.restart != "none":
            stopped = time.perf_counter()
            if replica:
                server.stop("immediate")
                replica.promote()
            else:
                server.stop(given.restart)
                server.start()
            away = time.perf_counter() - stopped
        for process in processes:
            process.join()
        took = time.perf_counter() - began
        seen = Seen()
        for file in files:
            seen.join(pickle.loads(Path(file).read_bytes()))
    return report(seen, wrong(urls, seen), took=took, away=away, given=given)


def followed(server: Server) -> Server:
    """A replica that has every commit before the server answers it."""
    replica = server.replica()
    for said in ("alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"):
        psql(server.url(), "-c", said)
    return replica


def either(server: Server, replica: Server) -> str:
    """A URL of whichever of the two takes writes, to be followed by the profile."""
    hosts = f"127.0.0.1:{server.port},127.0.0.1:{replica.port}"
    return f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&"


def report(
    seen: Seen, faults: list[str], *, took: float, away: float, given: argparse.Namespace
) -> int:
    made = sum(map(len, seen.times.values()))
    print(
        f"{made:,} calls by {given.processes * given.threads} connections in {given.processes} "
        f"processes on {given.profiles} profiles in {took:.0f} s: {made / took:.0f} a second; "
        f"server away {away:.1f} s ({given.restart})"
    )
    print(
        f"acknowledged: {len(seen.stored) + len(seen.deleted):,} records, "
        f"{len(seen.deleted):,} erased, {len(seen.messages):,} messages, "
        f"{len(seen.appended):,} lines"
    )
    for verb, times in sorted(seen.times.items()):
        cut = statistics.quantiles(times, n=20) if len(times) > 1 else [times[0]] * 19
        print(
            f"  {verb:16} {len(times):6,}  median {statistics.median(times) * 1000:7.1f} ms  "
            f"95 % {cut[18] * 1000:7.1f} ms  longest {max(times):5.1f} s"
        )
    print(f"calls that failed: {sum(seen.failures.values())}")
    for failure, count in seen.failures.most_common(10):
        print(f"  {count} x {failure}")
    print(f"lost, leaked or wrong: {len(faults)}")
    for fault in faults[:20]:
        print(f"  {fault}")
    return 1 if faults or seen.failures else 0


if __name__ == "__main__":
    sys.exit(main())
