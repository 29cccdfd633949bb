"""Power cuts on real file systems: what was acknowledged is there once, and no NUL byte is left.

    python3 -m tests.laws.power_cuts --cuts 100 --system ext4 --system xfs        as root

Writers work in a vault on a file system of its own, in an image on a loop device. A cut is the
system's own call for it (EXT4_IOC_SHUTDOWN, XFS_IOC_GOINGDOWN): from that moment nothing reaches
the disk any more, and what is only in memory is lost. Then the image is mounted again, which plays
back the file system's journal, and the vault is held against what the writers were told.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from commonplace.memory import Memory
from commonplace.storage.journal import documents_at
from tests.laws.test_laws import rebuilt
from tests.support.clocks import SkippingClock

SHUTDOWN, WITHOUT_THE_LOG = 0x8004587D, 2
PACKAGES = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}
SYSTEMS = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
SIZE = 400 << 20
ATTEMPTS = 120
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
TEMPERS = ("stores", "reopens", "appends")


@dataclass
class Found:
    """What many cuts left behind."""

    cuts: int = 0
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    nul_bytes: int = 0
    mended: int = 0
    """Documents that were mended after a cut."""
    wrong: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not (self.lost or self.doubled or self.nul_bytes or self.wrong)


def why_not(system: str) -> str:
    """Why no power can be cut here; empty when it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "power cuts need Linux and root: sudo python3 -m tests.laws.power_cuts"
    maker = SYSTEMS[system][0]
    if not shutil.which(maker, path=PATH):
        return f"there is no {maker} (apt-get install {PACKAGES[system]})"
    if _run(["losetup", "-f"]).returncode:
        return "there are no loop devices"
    with tempfile.TemporaryDirectory() as below:
        try:
            with disk(system, Path(below)) as place:
                place.cut()
        except (OSError, subprocess.CalledProcessError) as error:
            return f"{system} on a loop device can't be mounted or cut: {error}"
    return ""


def _run(words: list[str], *, check: bool = False) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, capture_output=True, check=check, env={**os.environ, "PATH": PATH})


class Disk:
    """A file system in an image, and where it is mounted."""

    def __init__(self, image: Path, mount: Path) -> None:
        self.image, self.mount = image, mount

    def connect(self) -> None:
        """Mount it, again while another namespace keeps the one that was cut from going away."""
        for _ in range(ATTEMPTS):
            _run(["mount", "-o", "loop", str(self.image), str(self.mount)], check=True)
            if self._takes_writes():
                return
            self.disconnect()
            time.sleep(0.5)
        raise OSError(f"{self.image} stays cut off")

    def _takes_writes(self) -> bool:
        try:
            (self.mount / "probe").write_bytes(b"")
        except OSError:
            return False
        return True

    def cut(self) -> None:
        descriptor = os.open(self.mount, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_THE_LOG))
        finally:
            os.close(descriptor)

    def disconnect(self) -> None:
        _run(["umount", str(self.mount)], check=True)


@contextmanager
def disk(system: str, below: Path) -> Iterator[Disk]:
    """A new file system that goes away afterwards."""
    image, mount = below / "image", below / "mount"
    mount.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE)
    _run([*SYSTEMS[system], str(image)], check=True)
    made = Disk(image, mount)
    made.connect()
    try:
        yield made
    finally:
        _run(["umount", "-l", str(mount)])


class Writer:
    """A process that writes into a vault, and what it said was acknowledged."""

    def __init__(self, vault: Path, name: str, temper: str) -> None:
        self.acknowledged: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.laws.power_cuts", "--write", str(vault), name, temper],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        self._more = threading.Condition()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                with self._more:
                    self.acknowledged.append(line.strip())
                    self._more.notify_all()
        with self._more:
            self._more.notify_all()

    def wait_for(self, count: int) -> None:
        with self._more:
            self._more.wait_for(
                lambda: len(self.acknowledged) >= count or not self._listener.is_alive(), 60
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        assert self.process.stdout is not None
        self.process.stdout.close()


def write(vault: str, name: str, temper: str) -> None:
    """Write until the power goes; what was acknowledged is printed, a word each."""
    memory = Memory.open(vault, create=True)
    for number in range(1 << 30):
        word = f"{name}x{number}x"
        if temper == "appends" and number % 2:
            memory.update(f"prose {word}", document=f"prose-{name[-1]}.md")
        elif temper == "appends" and number % 5 == 0:
            memory.update(f"in a section {word}", document="sections.md", section="A")
        else:
            memory.store(f"fact {word} " + "and so on " * (number % 7), kind="fact")
        os.write(1, f"{word}\n".encode())
        if temper == "reopens" and number % 7 == 6:
            memory.close()
            memory = Memory.open(vault, create=True)


def cut_once(place: Disk, number: int, chance: random.Random, found: Found) -> None:
    """Let writers write, cut the power, and look what is there."""
    vault = place.mount / "vault"
    writers = [
        Writer(vault, f"c{number}w{which}", chance.choice(TEMPERS))
        for which in range(chance.randint(1, 2))
    ]
    for writer in writers:
        writer.wait_for(chance.randint(1, 60))
    # What is acknowledged after this would have been told to nobody.
    words = [word for writer in writers for word in writer.acknowledged]
    place.cut()
    for writer in writers:
        writer.kill()
    place.disconnect()
    place.connect()
    found.cuts += 1
    found.acknowledged += len(words)
    check(vault, words, found)


def check(vault: Path, words: list[str], found: Found) -> None:
    with Memory.open(vault, create=True, clock=SkippingClock()) as memory:
        memory.count()
        texts = {name: memory.library.vault.read(name) for name in memory.documents()}
        whole = b"\n".join(texts.values())
        found.lost += [word for word in words if word.encode() not in whole]
        for name, text in texts.items():
            counts = Counter(part for part in text.decode().split() if part.endswith("x"))
            found.doubled += [f"{word} in {name}" for word, n in counts.items() if n > 1]
        found.nul_bytes += whole.count(b"\0")
        found.mended += sum(entry.op == "mended" for entry in memory.log(limit=50))
        found.wrong += [f"{p.document}:{p.line} {p.what}" for p in memory.problems()]
        if memory.library.index.dump() != rebuilt(memory):
            found.wrong.append("the kept index is not the rebuilt one")
        told = {name: text for name, (_, text) in documents_at(memory.library.journal).items()}
        if told != texts:
            found.wrong.append("the journal tells other texts than the documents")


def run(system: str, *, cuts: int, seed: int, progress: bool = False) -> Found:
    """So many cuts, one after another, of the same vault."""
    found, chance = Found(), random.Random(f"{system} {seed}")
    with tempfile.TemporaryDirectory() as below, disk(system, Path(below)) as place:
        for number in range(cuts):
            if number % 10 == 0:
                # Some cuts come upon a vault that is new.
                shutil.rmtree(place.mount / "vault", ignore_errors=True)
            cut_once(place, number, chance, found)
            if progress:
                print(f"\r{system}: {number + 1} of {cuts}", end="", file=sys.stderr, flush=True)
    if progress:
        print(file=sys.stderr)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--system", choices=sorted(SYSTEMS), action="append")
    parser.add_argument("--write", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write(*given.write)
    failed = False
    for system in given.system or SYSTEMS:
        if reason := why_not(system):
            print(f"{system}: NOT TRIED: {reason}")
            failed = True
            continue
        found = run(system, cuts=given.cuts, seed=given.seed, progress=True)
        print(f"{system}: {found}", flush=True)
        failed = failed or not found.passed
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
