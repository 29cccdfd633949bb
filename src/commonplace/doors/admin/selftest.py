"""The stress test a person can run: writers that are killed at random, and nothing may be lost.

It uses a vault of its own and knows only what any program knows: `Memory`, and its documents.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable

from msgspec import Struct

from commonplace.memory import Memory
from commonplace.model.clock import Clock, monotonic
from commonplace.model.errors import BadValue, VaultTrouble
from commonplace.model.files import StrPath

OnProgress = Callable[[int, int], None]
PATIENCE = 20.0


class Report(Struct, frozen=True):
    """What was acknowledged and what was found."""

    acknowledged: int
    found: int
    lost: tuple[str, ...]
    duplicates: tuple[str, ...]
    torn: tuple[str, ...]
    """Lines that are not whole, with their place."""
    unlike: int
    """Rows in which the kept index differs from a rebuilt one."""
    kills: int

    @property
    def passed(self) -> bool:
        return not (self.lost or self.duplicates or self.torn or self.unlike)


class StoringProcess:
    """One process that stores as fast as it can and says what was acknowledged."""

    def __init__(self, place: StrPath, name: str) -> None:
        self.place = os.fspath(place)
        self.name = name
        self.acknowledged: list[str] = []
        self._start()

    def _start(self) -> None:
        command = [sys.executable, "-m", "commonplace.doors.admin.selftest", self.place, self.name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._listen, args=(self.process,), daemon=True)
        self.reader.start()

    def _listen(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            # A line without its end was cut off by the kill: its id is not whole.
            if line.endswith("\n"):
                self.acknowledged.append(line.strip())

    def wait_for(self, more: int, clock: Clock) -> None:
        """Return when it has stored some more, or is too slow for that."""
        enough, deadline = len(self.acknowledged) + more, monotonic() + PATIENCE
        while len(self.acknowledged) < enough and monotonic() < deadline:
            if self.process.poll() is not None:
                raise VaultTrouble(
                    f"{self.name} ended by itself with exit code {self.process.returncode}.",
                    next_step="What it printed says why.",
                )
            clock.sleep(0.001)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.reader.join()
        if self.process.stdout:
            self.process.stdout.close()

    def replace(self) -> None:
        self.kill()
        self._start()


def run(place: StrPath, *, writers: int, kills: int, seed: int = 0, progress: OnProgress) -> Report:
    """Let `writers` processes store into the vault at `place` while `kills` of them are killed."""
    _check_number("writers", writers, least=1)
    _check_number("kills", kills, least=0)
    chance, clock = random.Random(seed), Clock()
    crowd = [StoringProcess(place, f"writer-{number}") for number in range(writers)]
    try:
        for done in range(kills):
            progress(done, kills)
            victim = chance.choice(crowd)
            victim.wait_for(chance.randrange(1, 30), clock)
            clock.sleep(chance.uniform(0, 0.003))
            victim.replace()
        for writer in crowd:
            writer.wait_for(1, clock)
    finally:
        for writer in crowd:
            writer.kill()
    progress(kills, kills)
    return check(place, {key for writer in crowd for key in writer.acknowledged}, kills=kills)


def _check_number(argument: str, number: int, *, least: int) -> None:
    if number < least:
        raise BadValue(argument, f"{number} is too few", next_step=f"Use {least} or more.")


def check(place: StrPath, acknowledged: set[str], *, kills: int) -> Report:
    """Compare what was acknowledged with what the documents and the index hold."""
    with Memory.open(place) as memory:
        memory.library.refresh()
        counts = Counter(key for name in memory.documents() for key in _ids(memory, name))
        problems = [f"{p.document}:{p.line} {p.what}" for p in memory.problems()]
        kept = memory.parts.index.dump()
        memory.rebuild()
        rebuilt = memory.parts.index.dump()
        found = acknowledged & counts.keys()
        return Report(
            acknowledged=len(acknowledged),
            found=len(found),
            lost=tuple(sorted(acknowledged - found)),
            duplicates=tuple(key for key, count in counts.items() if count > 1),
            torn=tuple(problems),
            unlike=len(set(map(repr, kept)) ^ set(map(repr, rebuilt))),
            kills=kills,
        )


def _ids(memory: Memory, name: str) -> list[str]:
    text = memory.library.text(name)[0]
    return [item.record.id for item in memory.library.parse(name, text).items]


def write_forever(place: str, name: str) -> None:
    """Store until killed; an id is printed once its record is acknowledged."""
    with Memory.open(place, session=name) as memory:
        number = 0
        while os.getppid() != 1:
            number += 1
            record = memory.store(f"{name} wrote this as number {number} of its life", kind="fact")
            os.write(1, f"{record.id}\n".encode())


if __name__ == "__main__":
    write_forever(*sys.argv[1:])
