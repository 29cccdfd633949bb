"""What CursorClaw's document claims of its tools, and its `MemoryStore` as it describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from commonplace import tools
from commonplace.memory import Memory
from commonplace.model.errors import AlreadyExists, BadValue, Refused
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.tools.claw import MemoryStore, offered
from commonplace.upkeep.scan import Finding
from tests.data import clock_at, documents_of, example
from tests.support.clocks import FixedClock, SkippingClock

EVERYTHING: Any = {"memory_embeddings_enabled": True, "experience_store_enabled": True}


def run(memory: Memory, name: str, **arguments: Any) -> str:
    return str(tools.call(memory, name, arguments, dialect="claw"))


def names(memory: Memory) -> list[str]:
    return [tool.name for tool in offered(memory)]


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2026-02-13T08:00:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    """The example workspace in the main session, with everything switched on."""
    root = example("claw", place)
    with Memory.open(root, session="main", clock=clock, **EVERYTHING, create=True) as memory:
        yield memory


@pytest.mark.claim(
    "claw.recall-main-session", "claw.remember-this-tool", "claw.query-experiences-sessions"
)
@pytest.mark.parametrize(
    ("session", "there"),
    [
        ("main", ["remember_this", "recall_memory", "query_experiences"]),
        ("heartbeat-7", ["query_experiences"]),
        ("shared:slack-42", []),
    ],
)
def test_each_session_is_offered_its_own_tools_and_refused_the_others(
    place: str, session: str, there: list[str]
) -> None:
    calls = {
        "remember_this": {"text": "Wren likes tea"},
        "recall_memory": {"query": "telescope"},
        "query_experiences": {"query": "telescope"},
    }
    root = example("claw", place)
    with Memory.open(
        root, session=session, clock=SkippingClock(), **EVERYTHING, create=True
    ) as memory:
        assert names(memory) == there
        for name, arguments in calls.items():
            if name in there:
                run(memory, name, **arguments)
            else:
                with pytest.raises(
                    Refused, match=f"{name} is not offered here: it is for the main"
                ):
                    run(memory, name, **arguments)


@pytest.mark.claim("claw.recall-when-enabled")
@pytest.mark.parametrize("enabled", [True, False])
def test_recall_is_offered_when_embeddings_are_enabled_and_not_otherwise(
    place: str, enabled: bool
) -> None:
    root = example("claw", place)
    options: Any = {"memory_embeddings_enabled": enabled}
    with Memory.open(root, clock=SkippingClock(), **options, create=True) as memory:
        assert ("recall_memory" in names(memory)) == enabled
        if enabled:
            assert "Dobson" in run(memory, "recall_memory", query="telescope")
        else:
            with pytest.raises(Refused, match=r"memory_embeddings_enabled is off\. Use remember"):
                run(memory, "recall_memory", query="telescope")


def test_experiences_are_offered_when_their_store_is_enabled(place: str) -> None:
    with Memory.open(example("claw", place), clock=SkippingClock()) as memory:
        assert "query_experiences" not in names(memory)
        with pytest.raises(Refused, match="experience_store_enabled is off"):
            run(memory, "query_experiences", query="telescope")


@pytest.mark.in_files
@pytest.mark.claim("claw.recall-top-k", "claw.query-experiences-top-k")
@pytest.mark.parametrize("name", ["recall_memory", "query_experiences"])
def test_the_k_most_alike_are_returned_best_first_and_nothing_else(
    memory: Memory, name: str
) -> None:
    for number in range(30):
        memory.store(f"Filler number {number} about nothing at all")
    memory.store("Wren drinks oolong tea in the morning")
    answer = tools.call(
        memory, name, {"query": "oolong tea in the morning", "limit": 2}, dialect="claw"
    )
    lines = str(answer).split("\n")
    assert len(lines) == len(answer.data) == 2
    assert "Wren drinks oolong tea in the morning" in lines[0]
    scores = [hit["similarity"] for hit in answer.data]
    assert scores == sorted(scores, reverse=True)
    assert len(str(answer)) < len((memory.root / "MEMORY.md").read_text(encoding="utf-8")) / 10


def test_what_is_in_no_way_alike_is_not_returned_to_fill_up_the_count(memory: Memory) -> None:
    assert run(memory, "recall_memory", query="zzzzz") == "No memory is like this. Try other words."


@pytest.mark.in_files
@pytest.mark.claim("claw.recall-syncs")
def test_the_next_recall_knows_what_came_and_what_went(memory: Memory, clock: FixedClock) -> None:
    query = "oolong tea"
    assert "oolong" not in run(memory, "recall_memory", query=query)
    record = memory.store("Wren drinks oolong tea")
    assert record.id in run(memory, "recall_memory", query=query)
    memory.delete(record.id)
    assert "oolong" not in run(memory, "recall_memory", query=query)
    with (memory.root / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write("- The oolong tea is in the tin, typed by hand\n")
    clock.sleep(5)
    assert "typed by hand" in run(memory, "recall_memory", query=query)


@pytest.mark.claim("claw.recall-no-background-sync")
def test_only_a_recall_syncs_the_index(memory: Memory) -> None:
    def waiting() -> int:
        return len(memory.library.index.window(HashedEncoder.model, size=100))

    run(memory, "recall_memory", query="telescope")
    assert waiting() == 0
    memory.store("Wren drinks oolong tea")
    memory.search("oolong")
    assert waiting() == 1
    run(memory, "recall_memory", query="telescope")
    assert waiting() == 0


@pytest.mark.claim("claw.remember-this-appends")
def test_remember_this_appends_one_record_to_memory_and_to_the_log_of_the_day(
    memory: Memory,
) -> None:
    before = documents_of(memory)
    said = run(memory, "remember_this", text="I prefer oolong", category="user-preference")
    after = documents_of(memory)
    added = after["MEMORY.md"].removeprefix(before["MEMORY.md"]).decode().strip()
    assert {name for name in after if before.get(name) != after[name]} == {
        "MEMORY.md",
        "memory/2026-02-13.md",
    }
    assert after["memory/2026-02-13.md"].decode().strip().split("\n")[-1] == added
    record = json.loads(added.removeprefix("- "))
    assert (record["category"], record["text"]) == ("user-preference", "I prefer oolong")
    assert record["sessionId"] == "main"
    assert said == f"Remembered as user-preference ({record['id']})."


@pytest.mark.claim("claw.remember-this-recalled")
def test_what_was_remembered_is_recalled(memory: Memory) -> None:
    run(memory, "remember_this", text="The operator prefers oolong tea")
    assert "note: The operator prefers oolong tea" in run(
        memory, "recall_memory", query="which tea does the operator prefer?", limit=1
    )


def test_a_secret_is_never_recalled(memory: Memory) -> None:
    assert "bookcase" not in run(
        memory, "recall_memory", query="The safe is behind the second bookcase"
    )


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("remember_this", {"text": "x", "category": "My Own"}, "category: 'My Own' is not a kind"),
        ("remember_this", {"text": " "}, "text: it is empty"),
        ("remember_this", {"text": "x" * 2001}, "Write a shorter, self-contained summary"),
        ("recall_memory", {"query": " "}, "query: it is empty. Say what to look for."),
        ("recall_memory", {"query": "x", "limit": 0}, "Use 1 to 100."),
        ("query_experiences", {}, "query: it is missing"),
    ],
)
def test_a_bad_call_is_told_what_to_do(
    memory: Memory, name: str, arguments: dict[str, Any], says: str
) -> None:
    before = documents_of(memory)
    with pytest.raises(BadValue) as refusal:
        run(memory, name, **arguments)
    assert says in str(refusal.value)
    assert documents_of(memory) == before


def test_the_store_appends_for_the_session_that_the_record_names(memory: Memory) -> None:
    store = MemoryStore(memory)
    record: dict[str, Any] = {
        "sessionId": "slack-42",
        "category": "turn-summary",
        "text": "Talked about the train",
        "provenance": {"sourceChannel": "slack", "confidence": 0.5, "sensitivity": "public"},
    }
    stored = store.append(record)
    assert stored == record | {
        "id": stored["id"],
        "provenance": record["provenance"] | {"timestamp": "2026-02-13T08:00:00.000Z"},
    }
    assert store.readAll()[-1] == stored
    assert documents_of(memory)["memory/2026-02-13.md"].count(b"Talked about") == 1
    assert memory.session == "main"


@pytest.mark.claim("claw.append-keeps-id-and-time", "claw.own-labels")
@pytest.mark.parametrize("label", ["private-user", "operational", "public", "secret"])
def test_the_store_keeps_the_id_the_time_and_the_label_of_a_record(
    memory: Memory, label: str
) -> None:
    store = MemoryStore(memory)
    record: dict[str, Any] = {
        "id": "f47ac10b-58cc-4372-a567-0e02b2c3d479",
        "sessionId": "main",
        "category": "note",
        "text": "The train left at nine",
        "provenance": {
            "sourceChannel": "cli",
            "confidence": 1,
            "timestamp": "2026-02-12T09:00:00.000Z",
            "sensitivity": label,
        },
    }
    assert store.append(record) == record
    assert store.readAll()[-1] == record
    before = documents_of(memory)
    with pytest.raises(AlreadyExists):
        store.append(record)
    assert documents_of(memory) == before
    assert memory.get(record["id"]).record.sensitivity == label


@pytest.mark.claim("claw.own-labels")
@pytest.mark.parametrize("label", ["private-user", "operational"])
def test_what_has_a_label_of_claws_own_is_compacted_and_keeps_it(
    memory: Memory, clock: FixedClock, label: str
) -> None:
    store, stamp = MemoryStore(memory), "2026-01-01T09:00:00.000Z"
    provenance = {"timestamp": stamp, "sensitivity": label}
    for number in range(4):
        store.append({"text": f"The train {number} left", "provenance": provenance})
    assert memory.compact(forced=True).status == "done"
    made = memory.search("train", kinds=("compaction",))
    assert label in {hit.record.sensitivity for hit in made}


def test_the_store_reads_all_of_memory_md_in_order_and_nothing_else(memory: Memory) -> None:
    found = MemoryStore(memory).readAll()
    assert [record["id"] for record in found if record["sessionId"]] == [
        "a1f0",
        "a1f1",
        "a1f2",
        "a1f3",
        "a1f4",
    ]
    assert found[0] == {
        "id": "a1f0",
        "sessionId": "main",
        "category": "turn-summary",
        "text": "Set up the workspace; operator is called Wren",
        "provenance": {
            "sourceChannel": "chat",
            "confidence": 0.9,
            "timestamp": "2026-02-10T08:12:44.120Z",
            "sensitivity": "personal",
        },
    }


def test_the_store_retrieves_by_session_and_secrets_only_when_allowed(memory: Memory) -> None:
    store = MemoryStore(memory)

    def ids(**asked: Any) -> list[str]:
        return [record["id"] for record in store.retrieveForSession(**asked)]

    assert ids(sessionId="main", allowSecret=False) == ["a1f0", "a1f1", "a1f4"]
    assert ids(sessionId="main", allowSecret=True) == ["a1f0", "a1f1", "a1f3", "a1f4"]
    assert ids(sessionId="slack-42") == ["a1f2"]
    assert ids(sessionId="nobody", allowSecret=True) == []


def test_a_flush_leaves_a_checkpoint_of_the_session(memory: Memory) -> None:
    store = MemoryStore(memory)
    checkpoint = store.flushPreCompaction("main")
    assert (checkpoint["category"], checkpoint["sessionId"]) == ("compaction", "main")
    assert checkpoint["text"] == ("Checkpoint before compaction: 4 records of this session so far.")
    assert store.readAll()[-1] == checkpoint


@pytest.mark.claim("claw.scan-contradictions", "claw.scan-staleness", "claw.scan-changes-nothing")
def test_a_scan_finds_contradictions_and_what_is_stale_and_changes_nothing(
    memory: Memory, clock: FixedClock
) -> None:
    store = MemoryStore(memory)
    tea = store.append({"sessionId": "s", "category": "note", "text": "The tea is in the tin"})
    store.append({"sessionId": "s", "category": "learned", "text": "The tea is in the tin"})
    store.append({"sessionId": "t", "category": "note", "text": "The tea is gone"})
    assert store.integrityScan() == []
    box = store.append({"sessionId": "s", "category": "note", "text": "The tea is in the box"})
    before = documents_of(memory)
    [found] = store.integrityScan()
    assert found == Finding(
        "contradiction",
        (tea["id"], box["id"]),
        "2 different texts of category note in session s",
        f"commonplace strike {tea['id']}",
    )
    clock.sleep(118 * 24 * 3600)
    stale = [finding.ids for finding in store.integrityScan() if finding.kind == "stale"]
    assert stale == [("a1f0",), ("a1f1",)]
    assert documents_of(memory) == before


def test_a_replaced_record_contradicts_nobody(memory: Memory) -> None:
    old = memory.store("The tea is in the tin", kind="fact")
    memory.supersede(old.id, "The tea is in the box")
    assert MemoryStore(memory).integrityScan() == []


@pytest.mark.parametrize(
    "record",
    [
        {"text": "x", "origin": "owner"},
        {"text": "x", "provenance": {"origin": "owner"}},
        {"text": "x", "provenance": "chat"},
        {"text": ""},
        {"text": "x", "category": "No Such"},
        {"text": "x", "provenance": {"sensitivity": "deep"}},
        {"text": "x", "provenance": {"confidence": 7}},
        {"text": "x", "sessionId": 7},
        {"text": "x", "id": "a b"},
        {"text": "x", "id": 7},
        {"text": "x", "provenance": {"timestamp": "yesterday"}},
        {"text": "x", "provenance": {"timestamp": 7}},
    ],
)
def test_a_record_that_is_none_is_refused_with_a_sentence(
    memory: Memory, record: dict[str, Any]
) -> None:
    before = documents_of(memory)
    with pytest.raises(BadValue) as refusal:
        MemoryStore(memory).append(record)
    assert refusal.value.next_step
    assert documents_of(memory) == before


def test_a_layout_without_memory_md_has_no_such_store(place: str) -> None:
    with (
        Memory.open(example("earl", place), clock=SkippingClock()) as memory,
        pytest.raises(
            Refused, match=r"The earl layout has no MEMORY\.md\. Open a vault of the claw"
        ),
    ):
        MemoryStore(memory)
