"""Compaction as CursorClaw's document has it, and its own program beside ours."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from commonplace.memory import Memory, upkeep
from commonplace.model.options import Options
from commonplace.model.records import Record
from commonplace.storage.notes import FileNotes
from commonplace.storage.option_files import load
from commonplace.upkeep import claw_workspace
from commonplace.upkeep.claw_workspace import vector_of
from commonplace.upkeep.compaction.plan import last_report
from commonplace.upkeep.schedule import read_when
from tests.support.trusting import trust_as_it_is
from tests.upkeep.test_compact import LONG, old_notes, opened

EXPERIENCES: Any = {"experience_store_enabled": True, "inject_experience_context": True}


def checkpoints(memory: Memory) -> int:
    return memory.read("MEMORY.md").text.count("Checkpoint before compaction")


@pytest.mark.claim("claw.compaction-enabled-alone")
def test_compaction_that_is_only_enabled_runs_daily_and_past_500_records(place: str) -> None:
    with opened(place, memory_compaction_enabled=True) as memory:
        [job] = memory.schedule().jobs
        assert (job.name, job.when) == ("compaction", read_when("daily", argument=""))
        assert memory.options.memory_compaction_threshold_records == 500
    with opened(place) as memory:
        assert memory.schedule().jobs == ()


@pytest.mark.claim("claw.one-checkpoint")
def test_a_run_leaves_one_checkpoint_and_nobody_is_told_of_it(place: str) -> None:
    for turn in range(3):
        with opened(place, days_ago=120 - turn) as memory:
            for number in range(5):
                memory.store(f"Turn {turn} was about the boat, part {number}", kind="note")
        with opened(
            place, memory_embeddings_enabled=True, memory_compaction_enabled=True
        ) as memory:
            assert memory.compact(forced=True).status == "done"
            assert checkpoints(memory) == 1
            assert memory.compact(forced=True).status == "skipped"
            assert checkpoints(memory) == 1
    with opened(place, memory_embeddings_enabled=True) as memory:
        told = [
            memory.context("checkpoint before compaction", dialect=dialect).text
            for dialect in ("claw", "native", "typed", "notebook")
        ]
        told += [hit.record.text for hit in memory.recall("Checkpoint before compaction")]
        told += [record.text for record in memory.brief()]
        told += [memory.read(LONG).text]
        assert not any("Checkpoint" in each for each in told)


@pytest.mark.claim("claw.one-checkpoint")
def test_a_checkpoint_does_not_call_for_another_run(place: str) -> None:
    old_notes(place)
    with opened(
        place, memory_compaction_enabled=True, memory_compaction_threshold_records=4
    ) as memory:
        assert memory.compact().status == "done"
        assert memory._backgrounds == []
        assert checkpoints(memory) == 1


@pytest.mark.claim("claw.compacted-stays-in-prompt")
def test_what_was_compacted_is_still_in_the_prompt(place: str) -> None:
    old_notes(place)
    with opened(place) as memory:
        memory.compact(forced=True)
        assert "kitchen of the Miller house" in memory.context().text
    with opened(place, include_long_memory_in_session=False) as memory:
        assert "kitchen of the Miller house" not in memory.context().text


@pytest.mark.claim("claw.experiences-outlive-compaction")
@pytest.mark.parametrize("dialect", ["claw", "native"])
def test_experiences_outlive_the_compaction_of_their_records(place: str, dialect: str) -> None:
    [first, *_] = old_notes(place, dialect=dialect, kind="context")
    with opened(place, dialect, **EXPERIENCES) as memory:
        memory.take_in_experiences()
        for name in list(memory.documents()):
            if name.startswith("memory/"):
                memory.remove(name)
        assert memory.compact(forced=True).status == "done"
        asked = "What did we say about the kitchen of the Miller house?"
        [hit] = memory.recall_experiences(asked)
        assert (hit.record.id, hit.record.text) == (first.id, first.text)
        assert hit.places
        if dialect == "claw":
            shown = memory.context(asked).text.partition("## Relevant past experiences")[2]
            assert first.text in shown
        memory.delete(first.id)
        assert memory.recall_experiences(asked) == []


@pytest.mark.claim("claw.experience-block")
def test_the_block_of_experiences_has_no_blank_lines_and_a_lowest_likeness(place: str) -> None:
    with opened(place, **EXPERIENCES) as memory:
        memory.update("- The harbour master is called Ahab\n", document="MEMORY.md")
        memory.store("The bakery opens at seven")
        memory.take_in_experiences()
        told = memory.context("Who is the harbour master?").text
        block = told.partition("## Relevant past experiences\n")[2]
        assert block.splitlines()[:1] == ["- The harbour master is called Ahab"]
        assert "bakery" not in block
        assert "## Relevant past experiences" not in memory.context("Zebra quartz?").text


class Spy:
    """A summarizer that looks at the lock while a compaction runs."""

    name = "spy"

    def __init__(self, lock: Path) -> None:
        self.lock = lock
        self.seen: list[str] = []

    def body(self, records: Sequence[Record], *, characters: int) -> str:
        self.seen.append(self.lock.read_text())
        return "; ".join(record.text for record in records)


@pytest.mark.claim("claw.lock-file")
def test_the_lock_of_cursorclaw_is_held_and_let_go(tmp_path: Path) -> None:
    old_notes(tmp_path)
    lock = tmp_path / "tmp" / "memory-compaction.lock"
    with opened(tmp_path) as memory:
        run = upkeep.compaction_of(memory)
        run.summarizer = spy = Spy(lock)
        assert run.run(forced=True).status == "done"
        assert spy.seen == [str(os.getpid())]
        assert not lock.exists()


@pytest.mark.claim("claw.lock-file")
@pytest.mark.parametrize(
    "holder",
    [str(os.getpid()), "1", "99999999", "", "somebody"],
    ids=["this process", "the first", "none that runs", "nobody", "a name"],
)
def test_a_lock_that_another_program_holds_is_respected(tmp_path: Path, holder: str) -> None:
    old_notes(tmp_path)
    lock = tmp_path / "tmp" / "memory-compaction.lock"
    lock.parent.mkdir()
    lock.write_text(holder)
    with opened(tmp_path) as memory:
        before = memory.read("MEMORY.md").text
        report = memory.compact(forced=True)
        assert (report.status, "tmp/memory-compaction.lock" in report.why) == ("skipped", True)
        assert memory.read("MEMORY.md").text == before
        assert lock.read_text() == holder
        os.utime(lock, (1, 1))
        stale = holder not in (str(os.getpid()), "1")
        assert memory.compact(forced=True).status == ("done" if stale else "skipped")


@pytest.mark.claim("claw.lock-file")
def test_the_lock_goes_with_a_run_that_fails(tmp_path: Path) -> None:
    lock = tmp_path / "tmp" / "memory-compaction.lock"
    (tmp_path / "state").mkdir()
    held = partial(claw_workspace.alone_beside, str(tmp_path), FileNotes(str(tmp_path / "state")))
    with held(now=time.time()):
        assert lock.exists()
    with suppress(ZeroDivisionError), held(now=time.time()):
        raise ZeroDivisionError
    assert not lock.exists()


def test_a_link_in_place_of_tmp_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "tmp").symlink_to(tmp_path / "elsewhere")
    notes = FileNotes(str(tmp_path))
    with (
        pytest.raises(OSError, match="tmp"),
        claw_workspace.alone_beside(str(tmp_path / "vault"), notes, now=time.time()),
    ):
        pass
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.claim("claw.published-files")
def test_both_files_are_written_as_cursorclaw_reads_them(tmp_path: Path) -> None:
    with opened(tmp_path, cursorclaw_files=True, session="main", **EXPERIENCES) as memory:
        first = memory.store("The boat is blue")
        memory.store("The code of the safe", sensitivity="secret")
        memory.take_in_experiences()
        memory.recall("boat")
        [chunk] = json.loads((tmp_path / "tmp" / "memory-embeddings.json").read_text())["chunks"]
        assert chunk == {
            "id": first.id,
            "recordId": first.id,
            "text": "The boat is blue",
            "category": "note",
            "sessionId": "main",
            "updatedAt": chunk["updatedAt"],
            "vector": vector_of("The boat is blue"),
        }
        path = tmp_path / "tmp" / "experience-store.json"
        assert json.loads(path.read_text()) == {
            "version": 1,
            "experiences": [
                {
                    "id": first.id,
                    "text": "The boat is blue",
                    "category": "note",
                    "sessionId": "main",
                    "recordId": first.id,
                    "timestamp": first.timestamp,
                    "vector": vector_of("The boat is blue"),
                }
            ],
        }
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        memory.delete(first.id)
        for name in ("memory-embeddings.json", "experience-store.json"):
            assert "boat" not in (tmp_path / "tmp" / name).read_text()


@pytest.mark.claim("claw.published-files")
def test_a_vector_is_that_of_cursorclaw() -> None:
    # Words of two letters or more, by the first four bytes of their SHA-1, of length 1.
    found = vector_of("Hello, hello a World_1!")
    assert len(found) == 128
    assert {at: round(value, 4) for at, value in enumerate(found) if value} == HELLO
    assert vector_of("…") == [0.0] * 128


HELLO = {29: 0.8944, 25: 0.4472}


def test_no_file_is_written_unless_an_option_asks_for_it(tmp_path: Path) -> None:
    with opened(tmp_path, **EXPERIENCES) as memory:
        record = memory.store("The boat is blue")
        memory.recall("boat")
        memory.take_in_experiences()
        assert not (tmp_path / "tmp").exists()
        (tmp_path / "tmp").mkdir()
        kept = tmp_path / "tmp" / "memory-embeddings.json"
        kept.write_text(json.dumps({"chunks": [{"recordId": record.id}]}))
        assert any(
            "tmp/memory-embeddings" in each for each in memory.delete(record.id).out_of_reach
        )


@pytest.mark.claim("claw.json-configuration")
def test_the_configuration_of_cursorclaw_is_read(tmp_path: Path) -> None:
    said = {
        "gateway": {"bind": "loopback"},
        "continuity": {
            "memoryMaxRecords": 7,
            "memoryCompactionEnabled": True,
            "memoryCompactionScheduleCron": "0 3 * * *",
            "memoryCompactionMaxRecords": 11,
            "memoryCompactionMaxChars": 12,
            "experienceUniquenessThreshold": 0.5,
            "somethingElse": True,
            "secrets": "allow",
            "memoryArchivePath": None,
        },
    }
    (tmp_path / "openclaw.json").write_text(json.dumps(said))
    environ = {"XDG_DATA_HOME": str(tmp_path / "data")}
    assert load(tmp_path, environ=environ).options == Options(), "nobody trusted it yet"
    trust_as_it_is(tmp_path, environ)
    options = load(tmp_path, environ=environ).options
    assert options.memory_max_records == 7
    assert options.memory_compaction_enabled
    assert options.memory_compaction_schedule == "0 3 * * *"
    assert options.memory_compaction_threshold_records == 11
    assert options.memory_compaction_threshold_chars == 12
    assert options.experience_uniqueness_threshold == 0.5
    assert options.secrets == "redact"
    said["continuity"] = {"memoryCompactionIntervalMs": 86_400_000}
    other = tmp_path / "other.json"
    other.write_text(json.dumps(said))
    options = load(tmp_path, environ={"CURSORCLAW_CONFIG_PATH": str(other)}).options
    assert options.memory_compaction_schedule == "1440m"
    assert options.memory_max_records == 0
    (tmp_path / "commonplace.toml").write_text("memory_max_records = 9\n")
    assert load(tmp_path, environ={}).options.memory_max_records == 9


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"continuity": 7}', '{"continuity": [1]}'])
def test_a_configuration_that_says_nothing_of_memory_is_let_be(tmp_path: Path, text: str) -> None:
    (tmp_path / "openclaw.json").write_text(text)
    assert load(tmp_path, environ={}).options == Options()


WAITS = """import os, sys, time
sys.stdin.read()
open(sys.argv[1], "w").close()
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
print("It was about the kitchen of the Miller house")
"""


def until(held: Any) -> None:
    deadline = time.monotonic() + 60
    while not held():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.claim("claw.compaction-not-blocking")
def test_a_store_in_a_shell_does_not_wait_for_the_compaction_it_calls_for(tmp_path: Path) -> None:
    vault, begun, go = tmp_path / "vault", tmp_path / "begun", tmp_path / "go"
    old_notes(vault)
    (tmp_path / "waits.py").write_text(WAITS)
    (vault / "commonplace.toml").write_text(
        'dialect = "claw"\nmemory_compaction_enabled = true\n'
        'memory_compaction_threshold_records = 4\nsummarizer = "command"\n'
        f'summarizer_command = "{sys.executable} {tmp_path}/waits.py {begun} {go}"\n'
    )
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    trust_as_it_is(vault, environ)
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "--vault", str(vault), "store", "One more"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    # The summary has not been made: nobody let the summarizer go on.
    assert (done.returncode, done.stderr) == (0, "")
    until(begun.exists)
    assert not (vault / LONG).exists()
    go.touch()
    with opened(vault) as memory:
        until(lambda: last_report(memory.notes))
        report = last_report(memory.notes)
        assert report
        assert (report.status, report.compacted) == ("done", 8)
    until(lambda: not _running(str(vault)))


def _running(vault: str) -> list[str]:
    """The processes that jobs run in, as the system tells."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
            cwd = os.readlink(path.parent / "cwd")
        except OSError:
            continue
        if b"commonplace.doors.job_process" in words and cwd == os.getcwd():
            found.append(str(path))
    return found
