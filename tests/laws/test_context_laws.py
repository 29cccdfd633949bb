"""The laws of what is told: never over budget, the same bytes, nothing twice, no kind starved."""

from __future__ import annotations

import tempfile
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.context.budget import Budget, ContextLine, ContextSection, Frame, compiled
from commonplace.memory import Memory
from commonplace.model.records import Origin
from commonplace.search.alike import repeats
from tests.data import clock_at

NOW = "2026-02-12T12:00:00Z"
LONGEST, HEADING = 400, "## A heading"
LEAST = 24 + len(HEADING) + 8
"""Characters in which a heading and the beginning of a line have room."""
KINDS = ("instruction", "correction", "preference", "fact", "decision", "person", "goal", "note")
GROUPS = {"instruction": "learned", "correction": "learned", "preference": "preferences"}
TEXTS = st.builds(
    "{} {} the {} of {}{}".format,
    st.sampled_from(["Never touch", "Paint", "Likes", "Keep", "The user likes"]),
    st.integers(1, 40),
    st.sampled_from(["boiler", "keel", "ledger", "garden gate"]),
    st.sampled_from(["Ada", "Bob", "Vienna"]),
    st.sampled_from(["", ".", " " + "and so on " * 30]),
)


def lines_of(name: str) -> st.SearchStrategy[tuple[ContextLine, ...]]:
    sizes = st.lists(st.integers(1, LONGEST), max_size=30)
    return sizes.map(lambda found: tuple(ContextLine(name * size, section=name) for size in found))


@st.composite
def grouped(draw: st.DrawFn) -> list[ContextSection]:
    """Groups whose shares are at most the whole."""
    cuts = sorted(draw(st.lists(st.floats(0, 1), min_size=1, max_size=6)))
    shares = [later - earlier for earlier, later in pairwise([0.0, *cuts])]
    return [
        ContextSection(
            name,
            draw(lines_of(name)),
            HEADING,
            rank=draw(st.integers(0, 3)),
            sure=share,
            most=max(share, draw(st.floats(0, 1))),
            never_bare=True,
        )
        for name, share in zip("abcdefg", shares)
    ]


@settings(max_examples=300)
@given(grouped(), st.integers(0, 4000))
def test_a_group_whose_share_holds_a_line_is_never_left_without_one(
    sections: list[ContextSection], characters: int
) -> None:
    found = compiled(sections, Frame(), Budget(characters))
    assert len(found.text) <= characters
    shown = {line.section for line in found.lines}
    for section in sections:
        if section.lines and int(characters * section.sure) >= min(
            LEAST, len(section.lines[0].text) + len(HEADING) + 4
        ):
            assert section.name in shown


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.sampled_from(KINDS), st.booleans()), max_size=80), st.data())
def test_a_vault_of_any_memories_is_told_within_its_budget_the_same_and_each_once(
    memories: list[tuple[str, str, bool]], data: st.DataObject
) -> None:
    with (
        tempfile.TemporaryDirectory() as root,
        Memory.open(root, session="s", clock=clock_at(NOW), create=True) as memory,
    ):
        owner = memory.for_session("", origin=Origin.OWNER)
        for whose, own in ((memory, False), (owner, True)):
            whose.store_all({"text": t, "kind": kind} for t, kind, by in memories if by is own)
        characters = data.draw(st.sampled_from([300, 1000, 4000, 10_000]))
        message = data.draw(st.sampled_from(["", "What of the keel of Ada?"]))
        found = memory.context(message, characters=characters)
        assert found.text == memory.context(message, characters=characters).text
        assert len(found.text) <= characters
        records = [line for line in found.lines if line.is_record and line.record]
        ids = [line.record_id for line in records]
        assert len(ids) == len(set(ids))
        assert repeats([line.record.text for line in records if line.record]) == {}
        if characters >= 4000:
            wanted = {
                "rules" if own and GROUPS.get(kind) == "learned" else GROUPS.get(kind)
                for _, kind, own in memories
            } - {None}
            shown = {line.section for line in found.lines}
            said_elsewhere = {line.section for line in found.left_out if "says nearly" in line.why}
            assert wanted <= shown | said_elsewhere
