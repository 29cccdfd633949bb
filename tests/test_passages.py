"""Prose is cut into passages so that every word of a document can be found, with its place."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.memory import Memory
from commonplace.records import Place
from tests.clocks import SkippingClock

WORD = st.text(alphabet="abcdefgh", min_size=3, max_size=12)
PARAGRAPH = st.lists(WORD, min_size=1, max_size=400).map(" ".join)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paragraphs=st.lists(PARAGRAPH, min_size=1, max_size=4))
def test_every_word_of_a_document_is_in_a_passage(paragraphs: list[str]) -> None:
    from commonplace.documents import PASSAGE_LIMIT, parse
    from commonplace.lines import Reading

    text = "\n\n".join(paragraphs) + "\n"
    items = parse(text, reading=Reading("notes.md")).items
    words = [word for item in items for word in item.record.text.split()]
    assert words == text.split()
    assert all(len(item.record.text) <= PASSAGE_LIMIT for item in items)


def test_a_long_diary_entry_is_found_to_its_last_word_at_its_place(tmp_path: Path) -> None:
    middle = "\n".join(f"Line {number} of a long day." for number in range(400))
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        name = memory.write_diary(f"quincebeginning\n{middle}\nquinceend\n").document
        first, last = memory.search("quincebeginning"), memory.search("quinceend")
        text = memory.read(name).text.split("\n")
    assert [hit.places for hit in first] == [(Place(name, 1),)]
    (place,) = last[0].places
    assert 1 < place.line <= text.index("quinceend") + 1
    assert "quinceend" in last[0].record.text
