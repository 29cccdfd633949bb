"""What the document of the typed memory tools claims, as far as it is built."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import BadValue, NoSuchRecord, NothingToUndo
from commonplace.storage.journal import Op
from tests.data import clock_at, contents
from tests.support.clocks import SkippingClock

TYPES = {
    "preference": True,
    "fact": False,
    "instruction": True,
    "context": False,
    "correction": True,
}
"""The entry types, and whether each is behavioural."""


def open_memory(place: Path | str, session: str = "s-1") -> Memory:
    return Memory.open(place, session=session, clock=SkippingClock())


@pytest.mark.claim("typed.persistent")
def test_what_one_session_stores_a_later_one_finds(place: str) -> None:
    with open_memory(place, "one") as memory:
        stored = memory.store("Has a cat named Luna", kind="fact")
    with open_memory(place, "two") as memory:
        assert [hit.record for hit in memory.search("cat")] == [stored]


@pytest.mark.claim("typed.types", "typed.behavioral-derived")
def test_there_are_five_types_and_the_behavioural_flag_follows_from_them(place: str) -> None:
    store = tools.find("memory_store", dialect="typed")
    assert store.schema()["properties"]["type"]["enum"] == list(TYPES)
    assert "behavioral" not in store.schema()["properties"]
    with open_memory(place) as memory:
        records = [memory.store(f"A {kind}", kind=kind) for kind in TYPES]
        found = [memory.get(record.id).record for record in records]
    assert {record.kind: record.behavioral for record in found} == TYPES


@pytest.mark.claim("typed.content-limit")
@pytest.mark.parametrize("character", ["x", "ß", "🐈"])
def test_content_has_up_to_2000_characters(place: str, character: str) -> None:
    with open_memory(place) as memory:
        longest = memory.store(character * 2000, kind="fact")
        assert memory.get(longest.id).record.text == character * 2000
        with pytest.raises(BadValue, match=r"2,001 characters.*2,000"):
            memory.store(character * 2001, kind="fact")
        assert memory.count() == 1


@pytest.mark.claim("typed.tags-limit")
def test_an_entry_has_up_to_10_tags(place: str) -> None:
    tags = [f"tag-{number}" for number in range(11)]
    with open_memory(place) as memory:
        stored = memory.store("Ten", kind="fact", tags=tags[:10])
        assert memory.get(stored.id).record.tags == tuple(tags[:10])
        with pytest.raises(BadValue, match="11 tags"):
            memory.store("Eleven", kind="fact", tags=tags)
        assert memory.count() == 1


@pytest.mark.claim("typed.tag-length")
def test_a_tag_has_up_to_50_characters(place: str) -> None:
    with open_memory(place) as memory:
        stored = memory.store("Fifty", kind="fact", tags=["ü" * 50])
        assert memory.get(stored.id).record.tags == ("ü" * 50,)
        with pytest.raises(BadValue, match="51 characters"):
            memory.store("One more", kind="fact", tags=["ü" * 51])
        assert memory.count() == 1


@pytest.mark.claim("typed.tags-default")
def test_an_entry_without_tags_has_the_empty_list(place: str) -> None:
    with open_memory(place) as memory:
        arguments = {"type": "fact", "content": "Uses macOS"}
        tools.call(memory, "memory_store", arguments, dialect="typed")
        [found] = tools.call(memory, "memory_search", {}, dialect="typed").data
    assert (found["content"], found["tags"]) == ("Uses macOS", [])


@pytest.mark.claim("typed.supersedes")
def test_a_superseded_entry_is_kept_and_counts_as_superseded(place: str) -> None:
    with open_memory(place) as memory:
        old = memory.store("Uses pnpm 9.x", kind="fact")
        new = memory.store("Uses pnpm 10.x", kind="fact", supersedes=old.id)
        assert [hit.record for hit in memory.search("pnpm")] == [new]
        everything = memory.search("pnpm", include_superseded=True)
        assert sorted(hit.record.id for hit in everything) == [old.id, new.id]
        assert memory.get(old.id).record == old
        assert (memory.count(), memory.status()["replaced"]) == (1, 1)
    assert b"Uses pnpm 9.x" in contents(place)["MEMORY.md"]


@pytest.mark.claim("typed.provenance-automatic")
def test_session_group_and_timestamp_are_recorded_though_the_caller_gives_none(
    place: str,
) -> None:
    clock = clock_at("2026-11-15T14:30:00Z")
    arguments = {"type": "fact", "content": "session: forged, group: forged, 1999-01-01"}
    with Memory.open(place, session="s-1", group="family", clock=clock) as memory:
        answer = tools.call(memory, "memory_store", arguments, dialect="typed").data
        record = memory.get(answer["id"]).record
    assert (record.session, record.group, record.timestamp) == (
        "s-1",
        "family",
        "2026-11-15T14:30:00.000Z",
    )


@pytest.mark.claim("typed.id-form")
@pytest.mark.parametrize("dialect", ["native", "claw", "notebook"])
def test_an_id_is_mem_and_a_uuid_in_lower_case(place: str, dialect: str) -> None:
    with Memory.open(place, dialect, clock=SkippingClock()) as memory:
        ids = [memory.store(f"Thing {number}").id for number in range(20)]
    form = re.compile(r"mem-[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
    assert [key for key in ids if not form.fullmatch(key)] == []
    assert len(set(ids)) == 20


@pytest.mark.claim("typed.delete-permanent")
def test_a_deleted_entry_comes_back_neither_by_restart_nor_rebuild_nor_undo(
    tmp_path: Path,
) -> None:
    with open_memory(tmp_path) as memory:
        gone = memory.store("Has a cat named Luna", kind="fact")
        memory.store("Uses macOS", kind="fact")
        memory.delete(gone.id)
        forgotten = memory.log()[0]
        assert forgotten.op == Op.FORGET
    with open_memory(tmp_path) as memory:
        memory.rebuild()
        with pytest.raises(NothingToUndo):
            memory.undo(forgotten.position)
        with pytest.raises(NoSuchRecord):
            memory.get(gone.id)
        assert [hit.record.text for hit in memory.search()] == ["Uses macOS"]
    (tmp_path / ".commonplace" / "index.db").unlink()
    with open_memory(tmp_path) as memory:
        assert memory.search("cat luna", include_superseded=True, include_secret=True) == []


@pytest.mark.claim("typed.delete-from-storage")
@pytest.mark.parametrize("text", ["Has a cat named Luna", "A cat, Luna\nand a dog, Luno"])
def test_the_text_of_a_deleted_entry_is_in_no_file_any_more(tmp_path: Path, text: str) -> None:
    with open_memory(tmp_path) as memory:
        memory.store("Uses macOS", kind="fact")
        gone = memory.store(text, kind="fact")
        memory.update(memory.read().text + "\nA remark.\n", mode="rewrite")
        before = contents(tmp_path)
        receipt = memory.delete(gone.id)
        after = contents(tmp_path)
    assert receipt.documents == tuple(sorted(before))
    assert {name for name, data in before.items() if b"Lun" in data} == set(before)
    assert [name for name, data in after.items() if b"Lun" in data] == []
    assert all(b"Uses macOS" in data for data in after.values())
    state = [path for path in (tmp_path / ".commonplace").rglob("*") if path.is_file()]
    assert [path.name for path in state if b"Lun" in path.read_bytes()] == []


@pytest.mark.claim("typed.delete-from-index")
def test_a_deleted_entry_is_in_the_index_no_more(tmp_path: Path) -> None:
    with open_memory(tmp_path) as memory:
        memory.store("Uses macOS", kind="fact")
        gone = memory.store("Has a cat named Luna", kind="fact")
        memory.recall("pets")
        memory.delete(gone.id)
        assert memory.search("luna", include_superseded=True) == []
        assert [hit.record.text for hit in memory.recall("cat luna")] == ["Uses macOS"]
        assert gone.id not in json.dumps(memory.library.index.dump())
    index = tmp_path / ".commonplace" / "index.db"
    db = sqlite3.connect(index)
    rows = "\n".join(db.iterdump())
    db.close()
    assert gone.id not in rows
    assert "luna" not in rows.lower()
    assert b"Luna" not in index.read_bytes()
