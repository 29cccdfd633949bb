"""A writer that dies at any step: the next one finds everything that was begun, whole."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.model.errors import DiskFull
from commonplace.storage.journal import Op
from tests.support.clocks import SkippingClock


class Killed(BaseException):
    """What a kill -9 looks like from inside: nothing after it runs."""


def opened(path: Path) -> Memory:
    return Memory.open(path, clock=SkippingClock(), create=True)


def dying(memory: Memory, owner: Any, name: str, *, after: bool = False, times: int = 0) -> None:
    """Let the process 'die' before (or after) the call of one method, the `times`-th time."""
    real, calls = getattr(owner, name), iter(range(1000))

    def die(*arguments: Any, **named: Any) -> Any:
        if next(calls) < times:
            return real(*arguments, **named)
        if after:
            real(*arguments, **named)
        raise Killed

    setattr(owner, name, die)


def torn_append(memory: Memory) -> None:
    """Let the document's append stop in the middle of the line."""
    vault: Any = memory.library.vault
    real = vault.append

    def tear(name: str, data: bytes, **rest: Any) -> None:
        real(name, data[: len(data) // 2], **rest)
        raise Killed

    vault.append = tear


STEPS: dict[str, Callable[[Memory], None]] = {
    "after the journal was written": lambda m: dying(m, m.library.vault, "append"),
    "in the middle of a document's line": torn_append,
    "after the first document": lambda m: dying(m, m.library.vault, "append", times=1),
    "before the marks": lambda m: dying(m, m.library.progress_store, "save"),
    "before the index": lambda m: dying(m, m.library.writer, "_keep_up"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_store_that_died_is_finished_by_the_next_writer(tmp_path: Path, step: str) -> None:
    with Memory.open(tmp_path, "claw", clock=SkippingClock(), create=True) as memory:
        memory.store("the first, long ago")
    memory = opened(tmp_path)
    memory.count()
    STEPS[step](memory)
    with pytest.raises(Killed):
        memory.store("the one that died, with | pipes and `ticks`")

    with opened(tmp_path) as memory:
        found = memory.search("died")
        assert [hit.record.text for hit in found] == ["the one that died, with | pipes and `ticks`"]
        assert [place.document[:6] for place in found[0].places] == ["MEMORY", "memory"]
        assert memory.read().text.count("the one that died") == 1
        assert memory.problems() == []
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept


INSERTIONS: dict[str, Callable[[Memory], None]] = {
    "after the journal was written": lambda m: dying(m, m.library.vault, "replace"),
    "after the document was replaced": lambda m: dying(m, m.library.vault, "replace", after=True),
    "before the marks": lambda m: dying(m, m.library.progress_store, "save"),
    "before the index": lambda m: dying(m, m.library.writer, "_keep_up"),
}


@pytest.mark.parametrize("step", INSERTIONS)
def test_a_line_that_died_on_its_way_into_a_section_is_put_there_by_the_next_writer(
    tmp_path: Path, step: str
) -> None:
    with opened(tmp_path) as memory:
        memory.store("the first, long ago", kind="preference")
        memory.store("a fact below it", kind="fact")
    memory = opened(tmp_path)
    memory.count()
    INSERTIONS[step](memory)
    with pytest.raises(Killed):
        memory.store("the one that died", kind="preference")

    with opened(tmp_path) as memory:
        [hit] = memory.search("died")
        assert hit.record.kind == "preference"
        lines = [line.split(" (")[0] for line in memory.read().text.split("\n") if line]
        assert [line for line in lines if line[0] in "#-"] == [
            "# Memory",
            "## Preferences",
            "- the first, long ago",
            "- the one that died",
            "## Facts",
            "- a fact below it",
        ]
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept


REWRITES: dict[str, Callable[[Memory], None]] = {
    "after the journal was written": lambda m: dying(m, m.library.vault, "replace"),
    "after the document was replaced": lambda m: dying(m, m.library.vault, "replace", after=True),
    "before the marks": lambda m: dying(m, m.library.sync, "mark_synced"),
}


@pytest.mark.parametrize("step", REWRITES)
def test_a_rewrite_that_died_is_finished_by_the_next_writer(tmp_path: Path, step: str) -> None:
    with opened(tmp_path) as memory:
        memory.update("# Me\n\nOld words.", document="USER.md", mode="rewrite")
    memory = opened(tmp_path)
    memory.count()
    REWRITES[step](memory)
    with pytest.raises(Killed):
        memory.update("# Me\n\nOld words and new ones.", document="USER.md", mode="rewrite")
    with opened(tmp_path) as memory:
        memory.count()
        assert memory.read("USER.md").text == "# Me\n\nOld words and new ones."


FORGETS: dict[str, Callable[[Memory], None]] = {
    **REWRITES,
    "before the journal is scrubbed": lambda m: dying(m, m.library.journal, "scrub"),
    "before the index is erased": lambda m: dying(m, m.library.index, "erase"),
}


@pytest.mark.parametrize("step", FORGETS)
def test_a_delete_that_died_is_finished_by_the_next_writer(tmp_path: Path, step: str) -> None:
    with opened(tmp_path) as memory:
        memory.store("keep this one")
        secret = memory.store("xyzzy plugh is to be forgotten").id
        memory.update("prose beside it", document="MEMORY.md")
    memory = opened(tmp_path)
    memory.count()
    FORGETS[step](memory)
    with pytest.raises(Killed):
        memory.delete(secret)
    with opened(tmp_path) as memory:
        assert memory.search("xyzzy plugh") == []
        assert [hit.record.text for hit in memory.search("keep")] == ["keep this one"]
    assert files_with(tmp_path, b"xyzzy") == []


def files_with(root: Path, needle: bytes) -> list[str]:
    """Every file below that holds these bytes, packed or not."""
    import zlib

    found = []
    for path in root.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            whole = zlib.decompress(data) if path.suffix == ".z" else b""
            if needle in data or needle in whole:
                found.append(str(path.relative_to(root)))
    return found


def test_nothing_of_a_hundred_deleted_records_is_left_in_any_file(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        doomed = [
            memory.store(f"zanzibar number {number}", kind=("fact", "goal", "note")[number % 3]).id
            for number in range(100)
        ]
        kept = memory.store("zebra stays").id
        text = (tmp_path / "MEMORY.md").read_bytes()
        (tmp_path / "MEMORY.md").write_bytes(text + b"- a line of mine\n")
        memory.recall("zanzibar")
        receipt = memory.delete_all(doomed)
        assert receipt.documents[0] == "MEMORY.md"
        assert memory.get(kept).record.text == "zebra stays"
        assert [hit.record.id for hit in memory.search("zanzibar zebra")] == [kept]
    assert files_with(tmp_path, b"zanzibar") == []
    assert "a line of mine" in (tmp_path / "MEMORY.md").read_text(encoding="utf-8")


def test_a_deleted_record_does_not_come_back_with_a_stale_save(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        doomed = memory.store("quetzal to be deleted", kind="fact").id
        memory.store("another one", kind="fact")
        buffer = (tmp_path / "MEMORY.md").read_bytes()
        memory.delete(doomed)
        (tmp_path / "MEMORY.md").write_bytes(buffer)
        assert memory.search("quetzal") == []
    assert files_with(tmp_path, b"quetzal") == []


def test_a_full_disk_at_the_second_document_leaves_no_trace_of_the_store(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "claw", clock=SkippingClock(), create=True) as memory:
        memory.store("the first")
        before = {path: path.read_bytes() for path in tmp_path.rglob("*.md")}
        entries = memory.log()
        vault: Any = memory.library.vault
        real, calls = vault.append, iter(range(10))

        def full(name: str, data: bytes, **rest: Any) -> Any:
            if next(calls) == 1:
                raise DiskFull(name)
            return real(name, data, **rest)

        vault.append = full
        with pytest.raises(DiskFull):
            memory.store("the one too many")
        vault.append = real
        assert {path: path.read_bytes() for path in tmp_path.rglob("*.md")} == before
        assert memory.log() == entries
        memory.store("and now there is room")
        assert memory.search("room")[0].record.text == "and now there is room"
        assert memory.search("many") == []


def test_deleting_the_index_costs_one_rebuild_and_nothing_else(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.store("alpha beta")
        memory.count()
        kept = memory.library.index.dump()
    for path in (tmp_path / ".commonplace").glob("index.db*"):
        path.unlink()
    with opened(tmp_path) as memory:
        assert memory.search("beta")[0].record.text == "alpha beta"
        assert memory.library.index.dump() == kept


def test_deleting_all_machine_files_loses_no_memory(tmp_path: Path) -> None:
    import shutil

    with opened(tmp_path) as memory:
        record = memory.store("alpha beta", kind="preference", tags=["x"])
    shutil.rmtree(tmp_path / ".commonplace")
    with opened(tmp_path) as memory:
        assert memory.get(record.id).record == record


def test_what_a_power_cut_took_from_a_document_is_put_back_even_if_somebody_looked(
    tmp_path: Path,
) -> None:
    path = tmp_path / "MEMORY.md"
    memory = opened(tmp_path)
    memory.store("on disk before the cut", kind="fact")
    memory.library.settle()
    durable = path.read_bytes()
    memory.store("acknowledged, but the document was not synced", kind="fact")
    # The process is gone without closing, the page cache too, and another boot looks at it.
    path.write_bytes(durable)
    os.utime(path, ns=(memory.clock.now_ns(), memory.clock.now_ns() - 10**10))
    later = opened(tmp_path)
    later.library.sync.progress_store.boot = "another boot"
    later.count()
    assert "acknowledged, but" in path.read_text(encoding="utf-8")
    assert later.log()[0].op == Op.MENDED
    later.close()


def test_a_damaged_line_of_the_journal_hides_no_other(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        memory.store("one")
        memory.store("two")
        journal = Path(memory.library.journal.path)  # type: ignore[attr-defined]
        lines = journal.read_bytes().split(b"\n")
        lines[1] = lines[1][:20] + b"\xff\x00 garbage" + lines[1][31:]
        journal.write_bytes(b"\n".join(lines))
        assert memory.library.journal.damaged() == 1
        assert len(memory.log()) >= 1
        memory.store("three")
        assert {hit.record.text for hit in memory.search()} >= {"one", "two", "three"}


def test_what_a_new_document_starts_with_is_indexed_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "notebook", clock=SkippingClock()) as memory:
        memory.store("the first of all")
        memory.count()
        kept = memory.library.index.dump()
        memory.rebuild()
        assert memory.library.index.dump() == kept
