"""What a power cut, or a disk that went away and came back, leaves of documents and state."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.doors.admin import doctor
from commonplace.markdown.mending import refilled
from commonplace.memory import Memory
from commonplace.storage.journal import Op
from tests.laws import power_cuts
from tests.laws.test_laws import rebuilt
from tests.support.clocks import SkippingClock
from tests.support.programs import needed
from tests.support.skips import skip

CUTS = 3


def opened(path: Path) -> Memory:
    return Memory.open(path, create=True, clock=SkippingClock())


def left_behind(path: Path) -> list[str]:
    """A vault whose writer was killed before the documents were on disk; the ids it stored."""
    with opened(path) as memory:
        first = [
            memory.store(f"äöü of before, number {number}", kind="fact").id for number in (1, 2)
        ]
    memory = opened(path)
    later = [memory.store(f"since then, number {number}", kind="fact").id for number in range(5)]
    memory.update("prose since then", document="prose.md")
    # Nothing is closed: what was opened is forgotten, as by a kill.
    memory.library.writer.unsettled = 0
    memory.close()
    return first + later


def documents_of(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*.md"))
        if ".commonplace" not in path.parts
    }


def damaged(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change what a file says, and nothing else that a look at it tells."""
    before = path.stat()
    data = change(path.read_bytes())
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def hollow(data: bytes, start: float, end: float) -> bytes:
    first, last = int(len(data) * start), int(len(data) * end)
    return data[:first] + b"\0" * (last - first) + data[last:]


DAMAGES: dict[str, Callable[[Path], None]] = {
    "the tail is NUL bytes": lambda p: damaged(p, lambda data: hollow(data, 0.6, 1)),
    "the middle is NUL bytes": lambda p: damaged(p, lambda data: hollow(data, 0.3, 0.7)),
    "two runs of NUL bytes": lambda p: damaged(
        p, lambda data: hollow(hollow(data, 0.2, 0.3), 0.8, 0.9)
    ),
    "all of it is NUL bytes": lambda p: damaged(p, lambda data: hollow(data, 0, 1)),
    "more NUL bytes than there was text": lambda p: damaged(p, lambda data: data + b"\0" * 99),
    "NUL bytes, and the end is missing": lambda p: damaged(
        p, lambda data: hollow(data, 0.5, 0.7)[: int(len(data) * 0.7)]
    ),
    "it is as long as before": lambda p: damaged(p, lambda data: data[: len(data) // 3]),
    "it ends in the middle of a line": lambda p: damaged(p, lambda data: data[:-20]),
    "it is empty": lambda p: damaged(p, lambda data: b""),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("boot", ["the same", "another"])
def test_what_a_disk_lost_is_there_again_and_no_nul_byte_is_left(
    tmp_path: Path, damage: str, boot: str
) -> None:
    ids = left_behind(tmp_path)
    before = documents_of(tmp_path)
    names = sorted({"MEMORY.md", "prose.md", *(n for n in before if n.startswith("memory/"))})
    for name in names:
        DAMAGES[damage](tmp_path / name)
        # Somebody has looked at it since.
        (tmp_path / name).read_bytes()
    with opened(tmp_path) as memory:
        if boot == "another":
            memory.library.progress_store.boot = "another"
        assert {hit.record.id for hit in memory.search("number", limit=50)} >= set(ids)
        now = documents_of(tmp_path)
        assert {name: sorted(text.splitlines()) for name, text in now.items()} == {
            name: sorted(text.splitlines()) for name, text in before.items()
        }
        assert memory.library.index.dump() == rebuilt(memory)
        assert memory.problems() == []


def test_a_damaged_text_is_kept_and_the_log_says_that_it_was_mended(tmp_path: Path) -> None:
    left_behind(tmp_path)
    path = tmp_path / "MEMORY.md"
    damaged(path, lambda data: hollow(data, 0.5, 0.8))
    found = path.read_bytes()
    with opened(tmp_path) as memory:
        memory.count()
        [entry] = [entry for entry in memory.log() if entry.op == Op.MENDED]
        versions = [memory.library.journal.version(c.version) for c in entry.changes]  # type: ignore[union-attr]
        assert versions == [found, path.read_bytes()]


def test_what_a_person_wrote_before_the_cut_stays_beside_what_is_filled_in(tmp_path: Path) -> None:
    ids = left_behind(tmp_path)
    path = tmp_path / "MEMORY.md"
    with opened(tmp_path) as memory:
        memory.store("the last one", kind="fact")
        text = path.read_bytes().replace(b"\n\n", b"\n\nA line of my own.\n", 1)
        text = hollow(text, 0.7, 0.8)
        path.write_bytes(text)
        found = {hit.record.id for hit in memory.search("number", limit=50)}
        assert found >= set(ids)
        assert b"A line of my own." in path.read_bytes()
        assert b"\0" not in path.read_bytes()


LOST_STATE: dict[str, Callable[[Path], None]] = {
    "heads.json is NUL bytes": lambda s: damaged(s / "heads.json", lambda data: b"\0" * len(data)),
    "heads.json is empty": lambda s: damaged(s / "heads.json", lambda data: b""),
    "heads.json ends in NUL bytes": lambda s: damaged(
        s / "heads.json", lambda data: hollow(data, 0.5, 1)
    ),
    "the journal ends in NUL bytes": lambda s: damaged(
        s / "journal.jsonl", lambda data: data + b"\0" * 700
    ),
    "a torn line and NUL bytes": lambda s: damaged(
        s / "journal.jsonl", lambda data: data + b'{"at":"2026' + b"\0" * 700
    ),
    "the index is gone": lambda s: (s / "index.db").unlink(),
}


@pytest.mark.parametrize("loss", LOST_STATE)
def test_state_that_a_cut_left_half_written_costs_no_memory(tmp_path: Path, loss: str) -> None:
    ids = left_behind(tmp_path)
    before = documents_of(tmp_path)
    LOST_STATE[loss](tmp_path / ".commonplace")
    damaged(tmp_path / "MEMORY.md", lambda data: hollow(data, 0.7, 1))
    with opened(tmp_path) as memory:
        ids.append(memory.store("number next", kind="fact").id)
        assert {hit.record.id for hit in memory.search("number", limit=50)} >= set(ids)
        now = documents_of(tmp_path)
        assert all(now[name].startswith(text) for name, text in before.items())
        assert memory.library.index.dump() == rebuilt(memory)
        assert memory.library.journal.damaged() <= ("torn" in loss)


@pytest.mark.parametrize("level", [True, False])
def test_a_journal_that_lost_its_end_takes_no_record_out_of_the_documents(
    tmp_path: Path, level: bool
) -> None:
    ids = left_behind(tmp_path)
    journal = tmp_path / ".commonplace" / "journal.jsonl"
    if level:
        kept = journal.read_bytes()
        with opened(tmp_path) as memory:
            memory.count()
        journal.write_bytes(kept)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]))
    before = documents_of(tmp_path)
    with opened(tmp_path) as memory:
        assert {hit.record.id for hit in memory.search("number", limit=50)} >= set(ids)
        assert documents_of(tmp_path) == before
        assert memory.library.index.dump() == rebuilt(memory)


def test_a_new_document_that_never_reached_the_disk_is_made_again(tmp_path: Path) -> None:
    left_behind(tmp_path)
    before = documents_of(tmp_path)
    (tmp_path / "prose.md").unlink()
    with opened(tmp_path) as memory:
        memory.library.progress_store.boot = "another"
        memory.count()
        assert documents_of(tmp_path) == before


def test_a_document_that_a_person_deletes_stays_deleted(tmp_path: Path) -> None:
    left_behind(tmp_path)
    with opened(tmp_path) as memory:
        memory.store("and closed as it should be", kind="fact")
    (tmp_path / "prose.md").unlink()
    with opened(tmp_path) as memory:
        memory.library.progress_store.boot = "another"
        memory.count()
        assert "prose.md" not in memory.documents()


def test_doctor_names_a_document_with_nul_bytes_of_which_nothing_is_known(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.store("one", kind="fact")
        (tmp_path / "foreign.md").write_bytes(b"# Foreign\n\0\0\0\n")
        found = [each for each in doctor.examine(memory) if each.what == "hollow"]
        assert [each.good for each in found] == [False]
        assert found[0].says.startswith("foreign.md holds 3 NUL bytes")
        assert (tmp_path / "foreign.md").read_bytes().count(b"\0") == 3


@pytest.mark.parametrize(
    ("text", "told", "mended"),
    [
        (b"one\0\0\0\0\0three\n", b"one\ntwo\nthree\n", b"one\ntwo\nthree\n"),
        (b"mine\none\n\0\0\0\nthree\n", b"one\ntwo\nthree\n", b"mine\none\ntwo\nthree\n"),
        (b"strange\0\0other\n", b"one\n", b"strange\nother\n"),
        (b"strange\n\0\0\0", b"one\n", b"strange\n"),
        ("ä".encode()[:1] + b"\0x\n", b"one\n", b"\nx\n"),
        (b"\0\0\0\0", b"one\n", b"one\n"),
    ],
)
def test_runs_are_filled_with_what_is_told_and_cut_where_nothing_is(
    text: bytes, told: bytes, mended: bytes
) -> None:
    assert refilled(text, told) == mended


@pytest.mark.parametrize("system", power_cuts.SYSTEMS)
def test_a_sample_of_real_power_cuts_loses_nothing_that_was_acknowledged(system: str) -> None:
    if os.geteuid() == 0:
        needed(power_cuts.SYSTEMS[system][0], package=power_cuts.PACKAGES[system])
    if reason := power_cuts.why_not(system):
        skip(f"NO POWER WAS CUT: {reason}", get="use Linux as root, with loop devices")
    found = power_cuts.run(system, cuts=CUTS, seed=18)
    assert found.passed, found
    assert found.acknowledged > CUTS
