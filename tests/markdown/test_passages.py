"""Prose is cut into passages so that every word of a document can be found, with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from commonplace.memory import Memory
from commonplace.model.records import Place
from tests.support.clocks import SkippingClock

WORD = st.text(alphabet="abcdefgh", min_size=3, max_size=12)
PARAGRAPH = st.lists(WORD, min_size=1, max_size=400).map(" ".join)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paragraphs=st.lists(PARAGRAPH, min_size=1, max_size=4))
def test_every_word_of_a_document_is_in_a_passage(paragraphs: list[str]) -> None:
    from commonplace.markdown.documents import PASSAGE_LIMIT, parse
    from commonplace.markdown.record_lines import Reading

    text = "\n\n".join(paragraphs) + "\n"
    items = parse(text, reading=Reading("notes.md")).items
    words = [word for item in items for word in item.record.text.split()]
    assert words == text.split()
    assert all(len(item.record.text) <= PASSAGE_LIMIT for item in items)


ODD = {
    "headings": "# quinceone\n\nText.\n\n## quincetwo\n\n# quincethree\n\nText.\n",
    "last headings": "# quinceone\n\n- an item\n\n## quincetwo\n\n- another\n\n## quincethree\n",
    "comments": "<!-- quinceone -->\n\n- an item\n\n<!--\nquincetwo\n\nquincethree\n-->\n",
    "remarks": "More <!-- quinceone --> of <!-- quincetwo --> it.\n\n> <!-- quincethree -->\n",
    "front matter": "---\ntitle: quinceone\ntags: [quincetwo, quincethree]\n---\n\nText.\n",
    "a table": "| name | quinceone |\n|---|---|\n| quincetwo | quincethree |\n",
    "fences": "```python quinceone\nquincetwo = 1\n```\n\n~~~\nquincethree\n",
    "what is indented": "Text.\n\n    quinceone\n\n> quincetwo\n\n1. quincethree\n",
    "HTML": "<div id='quinceone'>quincetwo</div>\n\n<details>\n\nquincethree\n\n</details>\n",
    "links": "[quinceone](a/quincetwo.md)\n\n[ref]: http://quincethree.example\n",
    "an item with a remark": "- quinceone <!-- quincetwo -->\n  and quincethree\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_whatever_markdown_has_is_found(tmp_path: Path, text: str) -> None:
    (tmp_path / "notes.md").write_text(text, encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        for word in ("quinceone", "quincetwo", "quincethree"):
            hits = [hit for hit in memory.search(word) if word in hit.record.text]
            assert {place.document for hit in hits for place in hit.places} == {"notes.md"}, word


def test_the_headings_that_a_document_is_begun_with_are_no_hits(tmp_path: Path) -> None:
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        memory.store("A plum", kind="fact")
        assert memory.read("MEMORY.md").text.startswith("# Memory\n\n## Facts")
        assert [hit.record.text for hit in memory.search("facts")] == []
        assert [hit.record.text for hit in memory.search("memory")] == []


def test_a_last_heading_is_the_same_passage_after_a_record_is_appended_below_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n## quincelast\n", encoding="utf-8")
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        before = [hit.record.id for hit in memory.search("quincelast")]
        memory.store("A plum")
        assert [hit.record.id for hit in memory.search("quincelast")] == before
        memory.rebuild()
        assert [hit.record.id for hit in memory.search("quincelast")] == before
        assert len(before) == 1


def test_a_long_diary_entry_is_found_to_its_last_word_at_its_place(tmp_path: Path) -> None:
    middle = "\n".join(f"Line {number} of a long day." for number in range(400))
    with Memory.open(tmp_path, clock=SkippingClock()) as memory:
        name = memory.write_diary(f"quincebeginning\n{middle}\nquinceend\n").document
        first, last = memory.search("quincebeginning"), memory.search("quinceend")
        text = memory.read(name).text.split("\n")
    assert first[0].places == (Place(name, 1),)
    (place,) = last[0].places
    assert 1 < place.line <= text.index("quinceend") + 1
    assert "quinceend" in last[0].record.text


def kinds(memory: Memory) -> dict[str, int]:
    memory.library.refresh()
    return memory.library.index.kinds()


def test_a_heading_that_the_vault_writes_for_a_kind_is_no_passage(place: str) -> None:
    with Memory.open(place, create=True, clock=SkippingClock()) as memory:
        memory.store("The banana is ripe", kind="banana")
        assert "## Banana\n" in memory.read("MEMORY.md").text
        assert [hit.record.text for hit in memory.search("banana")] == ["The banana is ripe"]
        assert kinds(memory) == {"banana": 1}
        memory.rebuild()
        assert kinds(memory) == {"banana": 1}


def test_a_heading_that_somebody_wrote_becomes_that_of_its_kind_at_once(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n## Banana\n", encoding="utf-8")
    with Memory.open(tmp_path, "native", clock=SkippingClock()) as memory:
        assert [hit.record.text for hit in memory.search("banana")] == ["Memory: Banana"]
        memory.store("The banana is ripe", kind="banana")
        assert kinds(memory) == {"banana": 1}
        memory.rebuild()
        assert kinds(memory) == {"banana": 1}
