"""Records change where they stand, their versions are told, and what was taken out comes back."""

from __future__ import annotations

import pytest

from commonplace.library.revising import mark_of
from commonplace.memory import Memory
from commonplace.model.errors import NoSuchRecord, RecordChanged, Refused


def test_a_record_is_changed_in_place_told_by_versions_removed_and_brought_back(place: str) -> None:
    with Memory.open(place, origin="owner", create=True) as memory:
        other = memory.store("Bea drinks coffee", kind="fact")
        stored = memory.store("The boat needs paint", kind="fact", tags=["boat"])
        done = memory.revise(stored.id, text="The boat needs tar", kind="note", tags=["work"])
        assert [record.id for record in done.records] == [stored.id]
        told = [
            each.record and (each.record.text, each.record.kind, each.record.tags)
            for each in memory.record_versions(stored.id)
        ]
        assert told == [
            ("The boat needs paint", "fact", ("boat",)),
            ("The boat needs tar", "note", ("work",)),
        ]
        memory.strike([stored.id, other.id])
        assert memory.count() == 0
        assert {each.record.text for each in memory.removed()} == {
            "The boat needs tar",
            "Bea drinks coffee",
        }
        memory.put_back_records([stored.id])
        assert memory.get(stored.id).record.tags == ("work",)
        assert [each.record.id for each in memory.removed()] == [other.id]
        memory.put_back_records([other.id])
        assert memory.removed() == []
        assert memory.count() == 2


def test_several_records_change_in_one_change_or_not_at_all(place: str) -> None:
    with Memory.open(place, origin="owner", create=True) as memory:
        ids = [memory.store(f"Plank {number}", kind="fact").id for number in range(3)]
        with pytest.raises(NoSuchRecord):
            memory.revise_all([*ids, "mem-nobody-knows"], kind="note")
        assert memory.counts().kinds == {"fact": 3}
        done = memory.revise_all(ids, kind="note", add_tags=["wood"])
        assert memory.counts(tags=("wood",)).matching == 3
        memory.undo(done.change)
        assert memory.counts().kinds == {"fact": 3}


def test_a_record_that_was_changed_since_it_was_read_is_not_written_over(place: str) -> None:
    with Memory.open(place, origin="owner", create=True) as memory:
        read = memory.store("The lamp is red", kind="fact")
        memory.revise(read.id, text="The lamp is blue", kind="fact", tags=())
        with pytest.raises(RecordChanged):
            memory.revise(
                read.id, text="The lamp is green", kind="fact", tags=(), mark=mark_of(read)
            )
        assert memory.get(read.id).record.text == "The lamp is blue"


def test_new_words_are_their_writers_and_rest_on_no_message(place: str) -> None:
    with Memory.open(place, session="s-1", create=True) as memory:
        memory.conversations.record("user", "Always use metric units", session="s-1")
        stored = memory.store("Use metric units", kind="instruction")
        assert stored.cites
    with Memory.open(place, origin="owner") as memory:
        memory.revise_all([stored.id], add_tags=["units"])
        assert memory.get(stored.id).record.evidence == stored.evidence
        memory.revise(stored.id, text="Use imperial units", kind="instruction", tags=())
        now = memory.get(stored.id).record
        assert (now.origin, now.evidence) == ("owner", ())


def test_only_the_owner_changes_a_record_in_place(place: str) -> None:
    with Memory.open(place, create=True) as memory:
        stored = memory.store("The lamp is red", kind="fact")
        with pytest.raises(Refused):
            memory.revise(stored.id, text="The lamp is blue", kind="fact", tags=())


def test_what_was_forgotten_is_no_longer_among_what_was_removed(place: str) -> None:
    with Memory.open(place, origin="owner", create=True) as memory:
        stored = memory.store("The hidden number is 4711", kind="fact")
        memory.strike([stored.id])
        assert [each.record.id for each in memory.removed()] == [stored.id]
        memory.delete(stored.id)
        assert memory.removed() == []
        assert [count for _, count in memory.forgotten()] == [1]
        assert not [line for _, line in memory.library.journal.lines() if b"4711" in line]
        with pytest.raises(NoSuchRecord):
            memory.put_back_records([stored.id])


def test_prose_that_a_person_changed_is_no_removed_record(place: str) -> None:
    with Memory.open(place, origin="owner", create=True) as memory:
        memory.update("# Boat\n\nIt is blue.\n", document="notes.md", mode="rewrite")
        memory.update("# Boat\n\nIt is red.\n", document="notes.md", mode="rewrite")
        memory.remove("notes.md")
        assert memory.removed() == []
