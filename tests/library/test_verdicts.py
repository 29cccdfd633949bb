"""Verdicts on memories, and pins: once a session, beside the text, and who may give them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.memory.activity import Deed
from commonplace.model.errors import BadValue, NoSuchRecord, NothingToUndo, Refused
from commonplace.model.records import Origin
from commonplace.storage.journal import Op
from tests.data import clock_at
from tests.support.clocks import FixedClock

AT = "2026-11-15T10:00:00.000Z"


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-15T10:00:00Z")


@pytest.fixture
def owner(place: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(place, "native", origin="owner", clock=clock, environ={}) as memory:
        memory.store("Never push on Fridays", kind="instruction")
        yield memory


def agent(owner: Memory, session: str = "s-1") -> Memory:
    return owner.for_session(session, origin=Origin.AGENT)


def rule(memory: Memory) -> str:
    return memory.search("push", limit=1)[0].record.id


def said(memory: Memory) -> tuple[tuple[str, ...], tuple[str, ...]]:
    record = memory.get(rule(memory)).record
    return record.useful, record.wrong


def test_a_session_says_of_a_memory_once_that_it_helped(owner: Memory) -> None:
    first = agent(owner).judge("useful", rule(owner))
    again = agent(owner).judge("useful", rule(owner))
    agent(owner, "s-2").judge("useful", rule(owner))
    assert (first.change >= 0, again.change) == (True, -1)
    assert said(owner) == ((f"{AT} s-1", f"{AT} s-2"), ())


def test_the_last_verdict_of_a_session_counts(owner: Memory) -> None:
    agent(owner).judge("useful", rule(owner))
    agent(owner, "s-2").judge("useful", rule(owner))
    agent(owner).judge("wrong", rule(owner))
    assert said(owner) == ((f"{AT} s-2",), (f"{AT} s-1",))


def test_the_owner_has_one_verdict_in_whatever_session(owner: Memory) -> None:
    owner.judge("wrong", rule(owner))
    owner.for_session("s-9").judge("wrong", rule(owner))
    assert said(owner) == ((), (AT,))


def test_a_line_keeps_the_newest_verdicts(owner: Memory) -> None:
    for number in range(7):
        agent(owner, f"s-{number}").judge("useful", rule(owner))
    assert said(owner)[0] == tuple(f"{AT} s-{number}" for number in range(2, 7))


def test_a_verdict_leaves_the_text_and_the_section_as_they_are(owner: Memory) -> None:
    before = owner.read().text
    agent(owner).judge("useful", rule(owner))
    noted = f',"useful":["{AT} s-1"]'
    assert noted in owner.read().text
    assert owner.read().text.replace(noted, "") == before


def test_a_line_written_by_hand_keeps_its_id_and_its_words(owner: Memory) -> None:
    owner.update("- Feed the cat at nine", document="home.md")
    old = owner.search("cat", limit=1)[0].record
    agent(owner).judge("useful", old.id)
    new = owner.search("cat", limit=1)[0].record
    assert (new.id, new.text, new.useful) == (old.id, old.text, (f"{AT} s-1",))


def test_a_session_that_has_read_untrusted_text_gives_no_verdict(owner: Memory) -> None:
    tainted = agent(owner)
    tainted.taint("a page")
    with pytest.raises(Refused, match="verdict on memories does not count"):
        tainted.judge("wrong", rule(owner))
    assert said(owner) == ((), ())


def test_what_is_no_memory_or_no_verdict_is_refused(owner: Memory) -> None:
    with pytest.raises(NoSuchRecord):
        owner.judge("useful", rule(owner), "mem-nowhere")
    with pytest.raises(BadValue, match="useful or wrong"):
        owner.judge("splendid", rule(owner))
    assert said(owner) == ((), ())


def test_a_plain_undo_passes_verdicts_over_and_one_by_number_takes_them_back(owner: Memory) -> None:
    mine = agent(owner)
    change = mine.judge("wrong", rule(owner)).change
    with pytest.raises(NothingToUndo):
        mine.undo(session="s-1")
    mine.undo(change)
    assert said(owner) == ((), ())


def test_the_owner_pins_and_undo_takes_it_back(owner: Memory) -> None:
    owner.store("Likes tea", kind="fact")
    owner.pin(rule(owner))
    assert [hit.record.text for hit in owner.listed(pinned=True)] == ["Never push on Fridays"]
    assert owner.get(rule(owner)).record.pinned == AT
    owner.undo()
    assert owner.listed(pinned=True) == []
    owner.redo()
    owner.unpin(rule(owner))
    assert owner.get(rule(owner)).record.pinned == ""


@pytest.mark.parametrize("deed", ["pin", "unpin"])
def test_an_agent_pins_nothing(owner: Memory, deed: str) -> None:
    with pytest.raises(Refused, match="Only its owner pins a memory"):
        getattr(agent(owner), deed)(rule(owner))


def test_the_activity_tells_verdicts_and_pins_with_the_memorys_text(owner: Memory) -> None:
    agent(owner).judge("useful", rule(owner))
    owner.pin(rule(owner))
    pinned, useful = owner.activity(limit=2).changes
    assert [pinned.entry.op, useful.entry.op] == [Op.PIN, Op.USEFUL]
    assert [piece.after for piece in useful.pieces] == ["Never push on Fridays"]
    judged = owner.activity(deed=Deed.JUDGED).changes
    assert [each.entry.op for each in judged] == [Op.PIN, Op.USEFUL]


def test_a_tool_notes_verdicts_without_storing_and_asks_for_the_correction(owner: Memory) -> None:
    mine, key = agent(owner), rule(owner)
    done = tools.call(mine, "store", {"wrong": [key]}, dialect="native")
    assert done.text == (
        f"Noted as wrong: {key}. What is so instead? Store it with supersedes={key}."
    )
    assert done.data == {"verdicts": {"useful": [], "wrong": [key]}}
    assert owner.count() == 1


def test_a_tool_that_brings_the_correction_is_not_asked_for_it(owner: Memory) -> None:
    mine, key = agent(owner), owner.store("Likes tea", kind="fact").id
    given = {"text": "Likes coffee", "kind": "fact", "supersedes": key, "wrong": [key]}
    mine_too = mine.store("Drinks at nine", kind="fact").id
    with pytest.raises(Refused, match="may not replace it"):
        tools.call(mine, "store", given, dialect="native")
    given |= {"supersedes": mine_too, "wrong": [mine_too]}
    done = tools.call(mine, "store", given, dialect="native")
    assert done.text.endswith(f"Noted as wrong: {mine_too}.")
    assert done.text.startswith("Stored mem-")


def test_a_store_without_text_and_verdicts_says_what_is_missing(owner: Memory) -> None:
    with pytest.raises(BadValue, match="text"):
        tools.call(owner, "store", {}, dialect="native")


@pytest.mark.in_files
@pytest.mark.parametrize("dialect", ["native", "earl", "journal", "notebook", "claw"])
def test_verdicts_and_pins_are_kept_in_every_layout(place: str, dialect: str) -> None:
    with Memory.open(place, dialect, origin="owner", create=True, environ={}) as memory:
        old = memory.store("Never push on Fridays", kind="instruction")
        memory.store("Likes tea", kind="fact")
        memory.judge("useful", rule(memory))
        memory.pin(rule(memory))
        memory.rebuild()
        new = memory.get(rule(memory)).record
    assert (new.id, new.text) == (old.id, old.text)
    assert (len(new.useful), bool(new.pinned)) == (1, True)
