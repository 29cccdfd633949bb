"""A disk that fails at each single call to the system, as the kernel tells it: strace makes it so.

`tests/support/faults.py` does the same inside Python; here SQLite's own calls fail as well. Each
call is a run of its own, so a test run takes a sample of them, and

    COMMONPLACE_EACH_CALL=1 python -m pytest tests/laws/test_failing_calls.py

takes them all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.memory import Memory
from tests.laws.test_laws import rebuilt
from tests.support.programs import needed
from tests.upkeep.test_compact import old_notes, opened
from tests.upkeep.test_window import held

WRITES = (
    "openat", "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate", "renameat2",
    "rename", "linkat", "unlink", "unlinkat", "mkdir", "mkdirat", "fchmod",
)  # fmt: skip
READS = ("read", "pread64", "lseek")
"""No disk is too full to be read."""
DEEDS = {
    "trim": "memory.store('The newest of all')",
    "compaction": "memory.compact(forced=True)",
}
SCRIPT = """
import sys
from commonplace.memory import Memory
options = {{"memory_max_records": 6}} if "store" in {deed!r} else {{}}
memory = Memory.open(sys.argv[1], "notebook", **options)
memory.count()
sys.stderr.write("now\\n")
{deed}
"""
EACH_CALL = "COMMONPLACE_EACH_CALL" in os.environ
FIRST = 2
"""How many of the first calls of one name are in the sample, beside the middle and the last."""


def traced(root: Path, deed: str, log: Path, *more: str) -> int:
    calls = ",".join((*WRITES, *READS))
    words = ["strace", "-f", "-y", "-qq", "-o", str(log), "-e", f"trace={calls}", *more]
    script = SCRIPT.format(deed=DEEDS[deed])
    done = subprocess.run(
        [*words, sys.executable, "-B", "-c", script, str(root)],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode


def need_strace(tmp_path: Path) -> None:
    """Skip, loudly, where nothing can be traced; CI gets strace first, and fails without it."""
    words = [needed("strace", package="strace"), "-f", "-qq", "-o", str(tmp_path / "log"), "true"]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        unavailable = pytest.fail if "CI" in os.environ else pytest.skip
        unavailable("strace may not trace here: allow ptrace to run this test")


def failing(template: Path, root: Path, deed: str, error: str) -> Iterator[str]:
    """Do the deed with one call failing, for the calls that it makes; yields which one."""
    shutil.copytree(template, root)
    log = root.with_suffix(".log")
    assert traced(root, deed, log) == 0
    for name, numbers in made(log, root, error).items():
        for number in numbers if EACH_CALL else sample(numbers):
            shutil.rmtree(root)
            shutil.copytree(template, root)
            traced(root, deed, log, "-e", f"inject={name}:error={error}:when={number}")
            yield f"{name} number {number} of {numbers[-1]}"


def made(log: Path, root: Path, error: str) -> dict[str, list[int]]:
    """Which calls of each name were about the vault, once the deed began."""
    counts: Counter[str] = Counter()
    found: dict[str, list[int]] = defaultdict(list)
    begun = False
    for name, what in re.findall(r"^\d+ +(\w+)\((.*)", log.read_text(errors="replace"), re.M):
        counts[name] += 1
        begun = begun or '"now' in what
        fails = name in WRITES if error == "ENOSPC" else name in (*WRITES, *READS)
        only_reads = name == "openat" and "O_CREAT" not in what
        if begun and fails and not only_reads and str(root) in what:
            found[name].append(counts[name])
    return found


def sample(numbers: list[int]) -> list[int]:
    return sorted({*numbers[:FIRST], numbers[len(numbers) // 2], numbers[-1]})


@pytest.mark.long
@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
@pytest.mark.parametrize("deed", DEEDS)
def test_a_call_that_the_kernel_fails_leaves_the_old_text_or_the_new(
    tmp_path: Path, deed: str, error: str
) -> None:
    need_strace(tmp_path)
    template = tmp_path / "template"
    records = old_notes(template, 6, "notebook")
    with opened(template, "notebook") as memory:
        memory.count()
    before = (template / "MEMORY.md").read_bytes()
    tried = 0
    for at in failing(template, tmp_path / "vault", deed, error):
        tried += 1
        with opened(tmp_path / "vault", "notebook") as memory:
            check(memory, before, [record.id for record in records], at)
    assert tried > len(WRITES) // 2


def check(memory: Memory, before: bytes, ids: list[str], at: str) -> None:
    """Every record is there once, or left whole; the index is as a new one would be."""
    memory.count()
    main = [record.id for record in held(memory)]
    gone = [key for key in ids if key not in main]
    assert memory.library.vault.read("MEMORY.md").startswith(before) or gone, at
    if gone:
        archived = [record.id for record in held(memory, "archive/MEMORY.md")]
        assert archived == gone, at
    assert memory.library.index.dump() == rebuilt(memory), at
    assert memory.problems() == [], at
