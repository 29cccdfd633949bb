"""What the owner forgot does not come back from anybody else: it is held, or refused."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

from commonplace.library.tombstones import normal
from commonplace.memory import Memory
from commonplace.model.errors import HeldForReview, Refused
from commonplace.model.records import OWNER, Origin, Record
from commonplace.storage.journal import Op
from commonplace.upkeep.compaction import summarizers
from tests.data import clock_at, documents_of
from tests.support.clocks import FixedClock

TEXT = "Ada's safe is behind the blue door."
ALIKE = {
    "the same": TEXT,
    "another case": TEXT.upper(),
    "other spacing": "Ada's  safe is\tbehind the blue door. ",
    "other punctuation": "- adas safe: is behind “the blue door”!",
    "with hidden letters": "Ada's sa\u200bfe is behind the blue door.",
    "as a line among others": f"Two things:\n- {TEXT}\n- The kettle is new.",
}
BELOW = [Origin.AGENT, Origin.TOOL, Origin.WEB, Origin.IMPORT, Origin.SYSTEM]


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-11-15T10:00:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    with Memory.open(
        place, "native", session="s-1", clock=clock, create=True, lose_share=1.0
    ) as memory:
        yield memory


def owner_of(memory: Memory) -> Memory:
    return memory.for_session("", origin=Origin.OWNER)


def forget(memory: Memory, text: str = TEXT) -> None:
    """Let the owner store and forget a text, on a Sunday."""
    person = owner_of(memory)
    person.delete(person.store(text).id)


def said(memory: Memory) -> bytes:
    return b"".join(documents_of(memory).values())


@pytest.mark.parametrize("origin", BELOW)
@pytest.mark.parametrize("kind", ["fact", "instruction"])
def test_what_the_owner_forgot_is_held_from_every_origin_below(
    memory: Memory, origin: str, kind: str
) -> None:
    forget(memory)
    other = memory.for_session("s-2", origin=origin)
    with pytest.raises(HeldForReview, match="The owner forgot this on 2026-11-15"):
        other.store(TEXT, kind=kind)
    [waiting] = memory.review()
    assert (waiting.text, waiting.origin) == (TEXT, origin)
    assert memory.review_reasons() == {waiting.id: "the owner forgot this on 2026-11-15"}
    assert b"safe" not in said(memory)


@pytest.mark.parametrize("form", ALIKE)
def test_it_is_compared_without_case_spacing_and_punctuation(memory: Memory, form: str) -> None:
    forget(memory)
    with pytest.raises(HeldForReview):
        memory.store(ALIKE[form])
    memory.store("Ada's safe is behind the green door.")
    assert len(memory.review()) == 1


@pytest.mark.parametrize("text", ["茶は緑です。", "हिन्दी चाय", "👍👍", "Straße 5", "§ 5 — é"])
def test_texts_of_any_script_are_told_from_others(memory: Memory, text: str) -> None:
    forget(memory, text)
    with pytest.raises(HeldForReview):
        memory.store(f" {text.upper()} ")
    memory.store(f"{text} and more 茶")
    assert normal(normal(text)) == normal(text)


def test_an_agents_own_delete_is_not_the_owners(memory: Memory) -> None:
    memory.delete(memory.store(TEXT).id)
    assert memory.store(TEXT).text == TEXT


def test_the_owner_may_say_it_again_and_then_anybody_may(memory: Memory) -> None:
    forget(memory)
    owner_of(memory).store(TEXT)
    assert memory.store("Ada’s safe: behind the blue door").text
    assert memory.store(TEXT, kind="fact").text == TEXT
    assert memory.review() == []


def test_an_approval_lets_it_in_and_lifts_the_tombstone(memory: Memory) -> None:
    forget(memory)
    with pytest.raises(HeldForReview) as held:
        memory.store(TEXT)
    owner_of(memory).approve(held.value.record_id)
    assert memory.get(held.value.record_id).record.text == TEXT
    memory.delete(held.value.record_id)
    assert memory.store(TEXT.upper()).text == TEXT.upper()
    forget(memory)
    with pytest.raises(HeldForReview):
        memory.store(TEXT)


def test_what_is_stored_again_and_again_waits_once(memory: Memory) -> None:
    forget(memory)
    ids = set()
    for form in (TEXT, TEXT.upper(), TEXT):
        with pytest.raises(HeldForReview) as held:
            memory.store(form)
        ids.add(held.value.record_id)
    assert len(ids) == len(memory.review()) == 1
    owner_of(memory).reject(ids.pop())
    with pytest.raises(HeldForReview):
        memory.store(TEXT)


def test_of_several_memories_the_others_are_stored(memory: Memory) -> None:
    forget(memory)
    stored = memory.store_all([{"text": "The kettle is new"}, {"text": TEXT}])
    assert [record.text for record in stored] == ["The kettle is new"]
    assert [record.text for record in memory.review()] == [TEXT]


def test_a_replacement_is_held_and_what_it_would_replace_stays(memory: Memory) -> None:
    forget(memory)
    old = memory.store("Ada has no safe")
    with pytest.raises(HeldForReview):
        memory.supersede(old.id, TEXT)
    assert [hit.record.id for hit in memory.search("safe", include_passages=False)] == [old.id]


DOCUMENT = "notes.md"
BRINGING: dict[str, Callable[[Memory], object]] = {
    "append": lambda memory: memory.update(f"- {TEXT}", document=DOCUMENT),
    "append to a section": lambda memory: memory.update(TEXT, document=DOCUMENT, section="A"),
    "section": lambda memory: memory.update(
        f"More.\n{TEXT}", document=DOCUMENT, mode="section", section="A"
    ),
    "rewrite": lambda memory: memory.update(
        f"# Notes\n\nOne.\n\n{TEXT.lower()}\n", document=DOCUMENT, mode="rewrite"
    ),
    "create": lambda memory: memory.create(f"{TEXT}\n", document="new.md"),
    "diary": lambda memory: memory.write_diary(f"Today.\n\n* {TEXT}"),
}


@pytest.mark.parametrize("way", BRINGING)
def test_no_change_to_a_document_brings_a_forgotten_line_back(memory: Memory, way: str) -> None:
    memory.update("# Notes\n\nOne.\n\n## A\n\nTwo.\n", document=DOCUMENT)
    forget(memory)
    before = documents_of(memory)
    with pytest.raises(Refused, match="say again what the owner forgot on 2026-11-15"):
        BRINGING[way](memory)
    assert documents_of(memory) == before
    BRINGING[way](owner_of(memory))
    assert documents_of(memory) != before


def test_no_undo_redo_or_restore_of_an_agent_brings_it_back(
    memory: Memory, clock: FixedClock
) -> None:
    memory.update(f"# Notes\n\n{TEXT.upper()}\n", document=DOCUMENT)
    clock.sleep(60)
    then = clock.now()
    clock.sleep(60)
    memory.update("# Notes\n", document=DOCUMENT, mode="rewrite")
    change = memory.log()[0].position
    forget(memory)
    before = documents_of(memory)
    for way in (
        lambda: memory.undo(change),
        lambda: memory.restore(then, DOCUMENT),
        lambda: memory.for_session("s-9", origin=Origin.SYSTEM).undo(change),
    ):
        with pytest.raises(Refused, match="say again what the owner forgot"):
            way()
    assert documents_of(memory) == before
    owner_of(memory).undo(change)
    assert TEXT.upper().encode() in said(memory)


def test_what_stands_there_already_hinders_no_change(memory: Memory) -> None:
    memory.update(f"# Notes\n\n{TEXT}\n", document=DOCUMENT)
    forget(memory, "ADAS SAFE is behind the blue door")
    memory.update("One more line.", document=DOCUMENT)
    memory.update(f"# Notes\n\n{TEXT}\nTwo.\n", document=DOCUMENT, mode="rewrite")
    memory.rename(DOCUMENT, "moved.md")
    memory.undo()
    assert TEXT.encode() in said(memory)


def test_tombstones_of_an_older_vault_keep_working(memory: Memory) -> None:
    library = memory.library

    def forgotten_then() -> None:
        stone = {"mem-old": library.tombstones.exact(TEXT)}
        entry = library.entry(Op.FORGET, (), ids=("mem-old",), author=OWNER, data=stone)
        library.journal.append(entry)
        library.sync.mark_synced(library.journal.end())
        library.sync.progress.forgot = -1

    library.locked(forgotten_then)
    with pytest.raises(HeldForReview):
        memory.store(TEXT)
    assert memory.store(TEXT.upper())


def test_what_one_process_forgot_another_does_not_store(
    memory: Memory, place: str, clock: FixedClock
) -> None:
    memory.store("The kettle is new")
    with Memory.open(place, "native", session="s-2", clock=clock) as other:
        assert other.store("First").text == "First"
        forget(memory)
        with pytest.raises(HeldForReview):
            other.store(TEXT)
        memory.rebuild()
        with pytest.raises(HeldForReview):
            memory.store(TEXT)


class Parrot:
    """A model that says again what its sources do not."""

    name = "parrot"

    def body(self, records: Sequence[Record], *, characters: int) -> str:
        return f"Some notes of the kettle; {TEXT.lower()}"


def test_a_models_summary_that_says_it_again_is_not_taken(
    memory: Memory, clock: FixedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summarizers, "summarizer_of", lambda *_, **__: Parrot())
    forget(memory)
    for number in range(6):
        memory.store(f"The kettle whistled, note {number}", kind="note")
    clock.sleep(90 * 24 * 3600)
    assert memory.compact(forced=True).compacted == 6
    assert b"behind the blue door" not in said(memory)
    assert b"whistled" in documents_of(memory)["LONGMEMORY.md"]


AGENT = """
import json, sys
from commonplace.model.errors import HeldForReview
from commonplace.memory import Memory
place, name, text = sys.argv[1:]
with Memory.open(place, session=name) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    stored, held = [], 0
    while not held:
        try:
            stored.append(memory.store(f"{text} ({name} {len(stored)})\\n{text}").id)
        except HeldForReview:
            held += 1
    print(json.dumps(stored))
"""


def test_a_race_of_forget_and_store_lets_nothing_in_after_the_forgetting(
    memory: Memory, place: str
) -> None:
    person = owner_of(memory)
    record = person.store(TEXT)
    agents = [
        subprocess.Popen(
            [sys.executable, "-c", AGENT, place, f"a-{number}", TEXT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for agent in agents:
        assert agent.stdout
        assert agent.stdin
        assert agent.stdout.readline() == "ready\n"
        agent.stdin.write("go\n")
        agent.stdin.flush()
    person.delete(record.id)
    acknowledged = {key for agent in agents for key in json.loads(agent.communicate()[0])}
    entries = list(memory.library.journal.entries())
    forgot = next(entry.position for entry in entries if entry.op == Op.FORGET)
    added = {key: e.position for e in entries if e.op == Op.ADD for key in e.ids}
    assert acknowledged == added.keys() - {record.id}
    assert all(position < forgot for position in added.values())
    assert len(memory.review()) == len(agents)
