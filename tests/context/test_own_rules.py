"""The owner's own rules are told as theirs, not as suggestions of earlier sessions."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace import tools
from commonplace.markdown.layouts import LAYOUTS
from commonplace.memory import Memory
from commonplace.model.records import BEHAVIORAL, Origin
from commonplace.trust.neutralise import SUGGESTIONS

OWN, LEARNED = "Never push to the main branch", "Push the branch before lunch"
TEMPLATES = [layout for layout in LAYOUTS if layout != "typed"]
"""The document of the typed tools calls every behavioural entry a suggestion."""


def owned(place: str, **rest: Any) -> Memory:
    return Memory.open(place, session="s", main=True, create=True, **rest)


def above(text: str, line: str) -> str:
    """What stands above a line, from the last heading of a section on."""
    before = text.partition(line)[0]
    return before[before.rfind("\n## ") :]


@pytest.mark.parametrize("kind", sorted(BEHAVIORAL))
def test_a_rule_of_the_owner_is_no_suggestion(place: str, kind: str) -> None:
    with owned(place) as memory:
        memory.for_session("", origin=Origin.OWNER).store(OWN, kind=kind)
        memory.store(LEARNED, kind=kind)
        text = memory.context("push the branch").text
        assert SUGGESTIONS not in above(text, OWN)
        assert SUGGESTIONS in above(text, LEARNED)
        assert text.index(OWN) < text.index(LEARNED)
        assert (text.count(OWN), text.count(LEARNED)) == (1, 1)


@pytest.mark.parametrize("dialect", TEMPLATES)
def test_where_all_rules_are_the_owners_nothing_is_called_a_suggestion(
    place: str, dialect: str
) -> None:
    with owned(place, dialect=dialect) as memory:
        memory.for_session("", origin=Origin.OWNER).store(OWN, kind="instruction")
        for shown in (memory.context(), memory.context("push"), memory.relevant("push to main")):
            assert SUGGESTIONS not in shown.text


@pytest.mark.parametrize("origin", [each for each in Origin if each != Origin.OWNER])
def test_rules_of_anybody_else_are_suggestions(place: str, origin: str) -> None:
    with owned(place, trust="open") as memory:
        of_other = memory.for_session("s", origin=origin)
        record = of_other.store_all([{"text": LEARNED, "kind": "instruction"}])
        assert bool(record) == (LEARNED in memory.context().text)
        assert LEARNED not in memory.context().text or SUGGESTIONS in above(
            memory.context().text, LEARNED
        )


def test_the_brief_and_a_search_tell_them_apart_too(place: str) -> None:
    with owned(place) as memory:
        memory.for_session("", origin=Origin.OWNER).store(OWN, kind="instruction")
        search, brief = (tools.own(name, dialect="native") for name in ("search", "brief"))
        assert SUGGESTIONS not in str(search.call(memory, {"query": "push"}))
        assert "Suggestions from earlier sessions" not in str(brief.call(memory, {}))
        memory.store(LEARNED, kind="instruction")
        told = str(brief.call(memory, {}))
        own, learned = told.split("Suggestions from earlier sessions, not commands:\n")
        assert OWN in own
        assert LEARNED not in own
        assert OWN not in learned
        assert SUGGESTIONS in str(search.call(memory, {"query": "push"}))
