"""A disk that fails at each single call to the system, as the kernel tells it: strace makes it so.

`tests/faults.py` does the same inside Python; here SQLite's own calls fail as well.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.memory import Memory
from tests.test_compact import old_notes, opened
from tests.test_laws import rebuilt
from tests.test_window import held

CALLS = (
    "write", "pwrite64", "fsync", "fdatasync", "ftruncate", "renameat2", "rename", "linkat",
    "unlinkat", "mkdirat", "fchmod",
)  # fmt: skip
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
TRIES = 2
"""Of the calls of one name: the first few and the last fail, each in a run of its own."""


def traced(root: Path, deed: str, log: Path, *more: str) -> int:
    words = ["strace", "-f", "-qq", "-o", str(log), "-e", f"trace={','.join(CALLS)}", *more]
    script = SCRIPT.format(deed=DEEDS[deed])
    done = subprocess.run(
        [*words, sys.executable, "-B", "-c", script, str(root)],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    return done.returncode


def need_strace(tmp_path: Path) -> None:
    """Skip, loudly, where nothing can be traced; CI gets strace first, and fails without it."""
    unavailable = pytest.fail if "CI" in os.environ else pytest.skip
    if "CI" in os.environ and not shutil.which("strace") and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-q", "strace"], check=False)
    words = ["strace", "-f", "-qq", "-o", str(tmp_path / "log"), "true"]
    if not shutil.which("strace"):
        unavailable("there is no strace here (apt-get install strace)")
    if subprocess.run(words, capture_output=True, check=False).returncode:
        unavailable("strace may not trace here: allow ptrace to run this test")


def failing(template: Path, root: Path, deed: str, error: str) -> Iterator[str]:
    """Do the deed with one call failing, for the calls that it makes; yields which one."""
    shutil.copytree(template, root)
    log = root.with_suffix(".log")
    assert traced(root, deed, log) == 0
    made = re.findall(r"^\d+ +(\w+)\((.*)", log.read_text(errors="replace"), re.M)
    calls = [name for name, _ in made]
    start = next(at for at, (_, what) in enumerate(made) if '"now' in what)
    for name in sorted(set(calls[start + 1 :])):
        first, last = calls[: start + 1].count(name) + 1, calls.count(name)
        for number in sorted({*range(first, min(first + TRIES, last + 1)), last}):
            shutil.rmtree(root)
            shutil.copytree(template, root)
            traced(root, deed, log, "-e", f"inject={name}:error={error}:when={number}")
            yield f"{name} number {number} of {last}"


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
    assert tried > len(CALLS) // 2


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
