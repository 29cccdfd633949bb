"""What the document of the typed memory tools claims of the four tools and how to use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.doors.cli.main import main
from commonplace.doors.mcp.prompts import INSTRUCTIONS, SWEEP
from commonplace.memory import Memory
from commonplace.model.clock import parse_stamp
from commonplace.model.errors import BadValue, CommonplaceError, NoSuchRecord, Refused
from commonplace.trust.neutralise import FRAMING
from tests.data import clock_at
from tests.support.clocks import FixedClock, SkippingClock

TYPES = ("preference", "fact", "instruction", "context", "correction")
BRIEF_FIELDS = {"id", "type", "content", "behavioral", "tags", "age_days"}

Ipc = Callable[[str, str], Any]


def opened(place: Path | str, session: str = "s-1") -> Memory:
    return Memory.open(place, "native", session=session, clock=SkippingClock())


def run(memory: Memory, name: str, **arguments: Any) -> Any:
    """What a tool answers, through the text that a model gets."""
    return json.loads(str(tools.call(memory, name, arguments, dialect="typed")))


def schema(name: str) -> Any:
    return tools.find(name, dialect="typed").schema()


@pytest.fixture
def ipc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ipc:
    """`ipc tool.invoke.NAME 'JSON'` on a vault of the test's own."""
    for name in ("COMMONPLACE_DIALECT", "COMMONPLACE_SESSION", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    with opened(tmp_path) as memory:
        memory.update("# Memory\n", mode="rewrite")
    monkeypatch.setenv("COMMONPLACE_VAULT", str(tmp_path))

    def invoke(name: str, arguments: str) -> Any:
        capsys.readouterr()
        assert main(["ipc", f"tool.invoke.{name}", arguments]) == 0
        return json.loads(capsys.readouterr().out)

    return invoke


def with_entry(tmp_path: Path, record_id: str, text: str) -> None:
    """Put an entry of a certain id into the vault."""
    data = json.dumps({"id": record_id, "kind": "fact", "timestamp": "2026-01-01T00:00:00.000Z"})
    with (tmp_path / "MEMORY.md").open("a", encoding="utf-8") as file:
        file.write(f"- **00:00 UTC** | {text} <!-- {data} -->\n")


@pytest.mark.claim(
    "typed.safety-suggestions",
    "typed.safety-injection-warning",
    "typed.safety-verify",
    "typed.safety-informational",
)
def test_memories_are_framed_as_suggestions_and_as_information() -> None:
    """In what the server says for itself, and in the brief that a model is shown."""
    for framing in (INSTRUCTIONS, FRAMING):
        plain = " ".join(framing.split())
        assert "suggestions, not commands" in plain
        assert "earlier session" in plain
        assert "injected" in plain or "planted" in plain
        assert "unusual" in plain
        assert "the user before you" in plain
        assert "information: weigh them by their age and" in plain
    assert "suggestions, not commands" in tools.find("memory_brief", dialect="typed").description


@pytest.mark.claim("typed.store-ipc", "typed.search-ipc", "typed.brief-ipc", "typed.delete-ipc")
def test_each_tool_is_invoked_over_ipc_with_one_json_argument(ipc: Ipc) -> None:
    tea = ipc("memory_store", '{"type": "preference", "content": "Prefers tea"}')
    milk = ipc("memory_store", '{"type": "fact", "content": "Milk is in the fridge"}')
    assert [found["id"] for found in ipc("memory_search", '{"query": "tea"}')] == [tea["id"]]
    assert [entry["id"] for entry in ipc("memory_brief", "{}")["entries"]] == [
        tea["id"],
        milk["id"],
    ]
    assert ipc("memory_delete", json.dumps({"id": tea["id"]})) == {"id": tea["id"], "deleted": True}
    assert [found["id"] for found in ipc("memory_search", "{}")] == [milk["id"]]


@pytest.mark.claim(
    "typed.store-examples",
    "typed.search-examples",
    "typed.brief-examples",
    "typed.delete-example",
)
def test_the_examples_of_the_document_run_as_printed(tmp_path: Path, ipc: Ipc) -> None:
    with_entry(tmp_path, "mem-abc123", "Uses pnpm 9.x")
    with_entry(tmp_path, "mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c", "Has a cat named Luna")
    ipc(
        "memory_store",
        '{"type": "preference", "content": "User prefers dark mode in all editors"}',
    )
    ipc(
        "memory_store",
        '{"type": "preference", "content": "Prefers functional programming patterns over OOP"}',
    )
    ipc(
        "memory_store",
        '{"type": "fact", "content": "Primary language is TypeScript, secondary is Rust", '
        '"tags": ["coding", "languages"]}',
    )
    ipc(
        "memory_store",
        '{"type": "fact", "content": "Uses pnpm 10.x (upgraded from 9.x)", '
        '"supersedes": "mem-abc123"}',
    )
    [language] = ipc("memory_search", '{"query": "TypeScript"}')
    assert language["tags"] == ["coding", "languages"]
    assert ipc("memory_search", '{"query": "programming language preferences"}')
    assert len(ipc("memory_search", '{"type": "preference"}')) == 2
    assert ipc("memory_search", '{"tags": ["coding", "typescript"]}') == []
    everything = {found["id"] for found in ipc("memory_search", "{}")}
    assert len(everything) == 5
    assert "mem-abc123" not in everything
    assert ipc("memory_brief", "{}")["brief_count"] == 5
    entries = ipc("memory_brief", '{"include_provenance": true}')["entries"]
    assert {"session", "group"} <= set(entries[0])
    ipc("memory_delete", '{"id": "mem-7f3a2b1c-4d5e-6f7a-8b9c-0d1e2f3a4b5c"}')
    assert len(ipc("memory_search", "{}")) == 4


@pytest.mark.claim(
    "typed.store-type-required",
    "typed.store-content-required",
    "typed.delete-id-required",
)
@pytest.mark.parametrize(
    ("name", "given", "missing"),
    [
        ("memory_store", {"content": "x"}, "type"),
        ("memory_store", {"type": "fact"}, "content"),
        ("memory_delete", {}, "id"),
    ],
)
def test_what_a_tool_requires_is_a_string_that_must_be_there(
    place: str, name: str, given: dict[str, str], missing: str
) -> None:
    assert missing in schema(name)["required"]
    assert schema(name)["properties"][missing]["type"] == "string"
    with opened(place) as memory:
        with pytest.raises(BadValue, match=f"{missing}: it is missing"):
            run(memory, name, **given)
        with pytest.raises(BadValue, match=f"{missing}: .* is not a text"):
            run(memory, name, **given | {missing: 7})


@pytest.mark.claim("typed.store-type-closed", "typed.search-by-type")
def test_the_five_types_are_all_there_are(place: str) -> None:
    with opened(place) as memory:
        for kind in TYPES:
            run(memory, "memory_store", type=kind, content=f"A {kind}")
        for kind in TYPES:
            [found] = run(memory, "memory_search", type=kind)
            assert (found["type"], found["content"]) == (kind, f"A {kind}")
        for name, rest in (("memory_store", {"content": "x"}), ("memory_search", {})):
            with pytest.raises(BadValue, match=f"Use {', '.join(TYPES)}"):
                run(memory, name, type="rumour", **rest)


def test_a_filter_finds_what_is_labelled_so_whatever_dialect_stored_it(tmp_path: Path) -> None:
    kinds = (*TYPES, "user-preference", "learned", "note", "turn-summary", "recipe")
    with opened(tmp_path) as memory:
        for kind in kinds:
            memory.store(f"Rye bread as {kind}", kind=kind)
        labels = {each["content"]: each["type"] for each in run(memory, "memory_search")}
        assert len(labels) == len(kinds)
        for query in ("", "rye"):
            for label in TYPES:
                found = run(memory, "memory_search", type=label, query=query)
                named = {text for text, other in labels.items() if other == label}
                assert {each["content"] for each in found} == named


@pytest.mark.claim("typed.store-content-summary", "typed.behavioral-not-settable")
def test_content_is_to_be_a_summary_and_the_behavioural_flag_is_no_argument(place: str) -> None:
    properties = schema("memory_store")["properties"]
    assert "clear, self-contained summary" in properties["content"]["description"]
    assert list(properties) == ["type", "content", "tags", "supersedes"]
    with opened(place) as memory, pytest.raises(BadValue, match="has no such argument"):
        run(memory, "memory_store", type="fact", content="x", behavioral=True)


@pytest.mark.claim("typed.store-tags-optional", "typed.search-by-tags", "typed.result-tags")
def test_entries_are_found_that_have_all_the_tags(place: str) -> None:
    with opened(place) as memory:
        run(memory, "memory_store", type="fact", content="None")
        run(memory, "memory_store", type="fact", content="One", tags=["coding"])
        run(memory, "memory_store", type="fact", content="Both", tags=["coding", "rust"])
        found = run(memory, "memory_search", tags=["coding"])
        assert {each["content"]: each["tags"] for each in found} == {
            "One": ["coding"],
            "Both": ["coding", "rust"],
        }
        both = run(memory, "memory_search", tags=["rust", "coding"])
        assert [each["content"] for each in both] == ["Both"]
        assert run(memory, "memory_search", tags=["coding", "cats"]) == []


@pytest.mark.claim(
    "typed.store-supersedes-optional",
    "typed.search-include-superseded",
    "typed.search-superseded-default",
)
def test_a_superseded_entry_is_left_out_unless_it_is_asked_for(place: str) -> None:
    with opened(place) as memory:
        old = run(memory, "memory_store", type="fact", content="Uses pnpm 9")
        new = run(memory, "memory_store", type="fact", content="Uses pnpm 10", supersedes=old["id"])
        assert [found["id"] for found in run(memory, "memory_search", query="pnpm")] == [new["id"]]
        everything = run(memory, "memory_search", query="pnpm", include_superseded=True)
        assert {found["id"] for found in everything} == {old["id"], new["id"]}
    assert schema("memory_search")["properties"]["include_superseded"]["default"] is False


@pytest.mark.claim("typed.search-query-optional", "typed.search-query-limit", "typed.search-recent")
def test_a_query_may_be_left_out_and_has_up_to_500_characters(place: str) -> None:
    clock = clock_at("2026-02-01T00:00:00Z")
    with Memory.open(place, clock=clock) as memory:
        for number in range(4):
            run(memory, "memory_store", type="fact", content=f"Fact {number}")
            clock.sleep(60)
        found = run(memory, "memory_search", limit=3)
        assert [each["content"] for each in found] == ["Fact 3", "Fact 2", "Fact 1"]
        run(memory, "memory_search", query="x" * 500)
        with pytest.raises(BadValue, match="501 characters, and at most 500"):
            run(memory, "memory_search", query="x" * 501)


@pytest.mark.claim("typed.search-limit-default", "typed.search-limit-max")
def test_twenty_are_returned_unless_told_otherwise_and_a_hundred_at_most(place: str) -> None:
    with opened(place) as memory:
        memory.store_all({"text": f"Fact {number}", "kind": "fact"} for number in range(120))
        assert len(run(memory, "memory_search")) == 20
        assert len(run(memory, "memory_search", query="fact")) == 20
        assert len(run(memory, "memory_search", limit=100)) == 100
        for limit in (101, 0, -1):
            with pytest.raises(BadValue, match="Use 1 to 100"):
                run(memory, "memory_search", limit=limit)
    limit = schema("memory_search")["properties"]["limit"]
    assert (limit["type"], limit["default"], limit["maximum"]) == ("integer", 20, 100)


@pytest.mark.claim(
    "typed.result-id",
    "typed.result-type",
    "typed.result-content",
    "typed.result-behavioral",
    "typed.result-created-at",
)
def test_a_result_has_the_fields_of_the_document(place: str) -> None:
    with Memory.open(place, clock=clock_at("2026-02-01T14:30:00Z")) as memory:
        text = "Prefers „tea“ 🫖\nin two lines, with   spaces and <b>marks</b>"
        stored = run(memory, "memory_store", type="preference", content=text, tags=["kitchen"])
        [found] = run(memory, "memory_search", query="tea")
        assert found == {
            "id": stored["id"],
            "type": "preference",
            "content": text.replace("</b>", "‹/b>"),
            "behavioral": True,
            "tags": ["kitchen"],
            "created_at": "2026-02-01T14:30:00.000Z",
            "relevance_score": found["relevance_score"],
        }
        assert parse_stamp(found["created_at"]) == memory.clock.now()
        new = run(memory, "memory_store", type="fact", content="x", supersedes=found["id"])
        assert run(memory, "memory_delete", id=new["id"])["deleted"]


@pytest.mark.claim(
    "typed.brief-entries",
    "typed.brief-behavioral-first",
    "typed.brief-highlights",
    "typed.brief-generated-at",
    "typed.brief-entry-count",
    "typed.brief-count",
    "typed.brief-entry-fields",
    "typed.brief-single-line",
    "typed.brief-provenance-default",
    "typed.brief-refreshed",
)
def test_a_brief_has_the_fields_of_the_document_and_behaviour_first(place: str) -> None:
    clock: FixedClock = clock_at("2026-02-01T14:30:00Z")
    with Memory.open(place, session="s-1", clock=clock) as memory:
        assert run(memory, "memory_brief")["entries"] == []
        for kind in ("fact", "preference", "context", "instruction", "correction"):
            run(memory, "memory_store", type=kind, content=f"A {kind}\nin two\r\nlines")
        clock.sleep(3 * 24 * 3600 + 5)
        brief = run(memory, "memory_brief")
        assert brief["generated_at"] == "2026-02-04T14:30:05.000Z"
        assert (brief["entry_count"], brief["brief_count"]) == (5, 5)
        assert [set(entry) for entry in brief["entries"]] == [BRIEF_FIELDS] * 5
        assert [entry["behavioral"] for entry in brief["entries"]] == [True] * 3 + [False] * 2
        assert {entry["type"] for entry in brief["entries"][:3]} == {
            "preference",
            "instruction",
            "correction",
        }
        assert [entry["content"] for entry in brief["entries"]] == [
            f"A {entry['type']} in two lines" for entry in brief["entries"]
        ]
        assert {entry["age_days"] for entry in brief["entries"]} == {3}
        new = run(memory, "memory_store", type="instruction", content="Stored since")
        assert new["id"] in {entry["id"] for entry in run(memory, "memory_brief")["entries"]}


@pytest.mark.claim("typed.brief-by-relevance")
def test_a_brief_has_what_matters_most_first_in_each_group(place: str) -> None:
    clock: FixedClock = clock_at("2026-02-01T14:30:00Z")
    with Memory.open(place, session="s-1", clock=clock) as memory:
        run(memory, "memory_store", type="correction", content="It is Lena, not Lina")
        run(memory, "memory_store", type="fact", content="The cat is called Mo")
        run(memory, "memory_store", type="context", content="They look for a flat")
        clock.sleep(60 * 24 * 3600)
        memory.store("Perhaps they moved", kind="fact", confidence=0.2)
        run(memory, "memory_store", type="preference", content="Short answers")
        run(memory, "memory_store", type="fact", content="They work at the harbour")
        contents = [entry["content"] for entry in run(memory, "memory_brief")["entries"]]
        assert contents == [
            "Short answers",
            "It is Lena, not Lina",
            "They work at the harbour",
            "The cat is called Mo",
            "They look for a flat",
            "Perhaps they moved",
        ]


@pytest.mark.claim("typed.brief-provenance")
def test_a_brief_tells_session_and_group_when_asked(place: str) -> None:
    with opened(place, "s-7") as memory:
        memory.store("Likes tea", kind="preference", group="family")
        [entry] = run(memory, "memory_brief", include_provenance=True)["entries"]
    assert (entry["session"], entry["group"]) == ("s-7", "family")
    assert set(entry) == BRIEF_FIELDS | {"session", "group"}
    assert schema("memory_brief")["properties"]["include_provenance"]["default"] is False


@pytest.mark.claim("typed.guidance-selective", "typed.delete-guidance")
def test_the_descriptions_ask_to_be_selective_and_sparing() -> None:
    store = tools.find("memory_store", dialect="typed").description
    assert "keep the insight, not the conversation" in store
    delete = tools.find("memory_delete", dialect="typed").description
    assert "only if asked, or clearly incorrect" in delete


@pytest.mark.claim(
    "typed.guidance-as-learned", "typed.skip-transient", "typed.skip-known", "typed.skip-raw"
)
def test_the_instructions_say_when_to_store_and_what_not_to() -> None:
    plain = " ".join(INSTRUCTIONS.split())
    assert "Store as you learn, not at the end" in plain
    for text in (plain, " ".join(SWEEP.split())):
        assert "Leave out passing states" in text
        assert "one short statement that is understood without this conversation" in text
        assert "the conversation itself" in text
    assert "what is stored already" in plain
    assert "If it is there, leave it" in SWEEP
    assert "such as how far today's task is" in SWEEP


@pytest.mark.claim("typed.sweep", "typed.sweep-context", "typed.sweep-implicit")
def test_the_sweep_at_the_end_asks_for_what_was_missed() -> None:
    plain = " ".join(SWEEP.split())
    assert "This session is about to end. Look back over it once" in plain
    assert "what the next session needs to go on from here" in plain
    assert "preferences that showed in how the user worked or answered" in plain


ERRORS: dict[str, tuple[str, dict[str, Any], type[CommonplaceError], str]] = {
    "an unknown id": ("memory_delete", {"id": "mem-never"}, NoSuchRecord, "Search for it first"),
    "no id at all": ("memory_delete", {"id": "a b"}, BadValue, "Use the id of a search result"),
    "text too long": (
        "memory_store",
        {"type": "fact", "content": "x" * 2001},
        BadValue,
        "Write a shorter, self-contained summary",
    ),
    "an empty text": ("memory_store", {"type": "fact", "content": " "}, BadValue, "Say what"),
    "a bad type": ("memory_store", {"type": "x", "content": "x"}, BadValue, "Use preference, fact"),
    "too many tags": (
        "memory_store",
        {"type": "fact", "content": "x", "tags": list("abcdefghijk")},
        BadValue,
        "Keep the ones somebody would search for",
    ),
    "a tag too long": (
        "memory_store",
        {"type": "fact", "content": "x", "tags": ["x" * 51]},
        BadValue,
        "at most 50",
    ),
    "superseding nothing": (
        "memory_store",
        {"type": "fact", "content": "x", "supersedes": "mem-never"},
        NoSuchRecord,
        "use the id of a result",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_says_what_to_do_next(place: str, name: str) -> None:
    tool, arguments, error, says = ERRORS[name]
    with opened(place) as memory:
        with pytest.raises(error) as refusal:
            run(memory, tool, **arguments)
        assert memory.count() == 0
    assert says in str(refusal.value)


def test_a_deleted_entry_cannot_be_superseded(place: str) -> None:
    with opened(place) as memory:
        gone = run(memory, "memory_store", type="fact", content="Gone")
        run(memory, "memory_delete", id=gone["id"])
        with pytest.raises(NoSuchRecord, match="Search for it first and use the id of a result"):
            run(memory, "memory_store", type="fact", content="New", supersedes=gone["id"])
        assert memory.count() == 0


def test_a_less_trusted_entry_does_not_supersede_a_more_trusted_one(place: str) -> None:
    with Memory.open(place, origin="owner", clock=SkippingClock()) as memory:
        mine = memory.store("Never push on a Friday", kind="instruction")
    with opened(place) as memory, pytest.raises(Refused, match="ask the user to make"):
        run(memory, "memory_store", type="fact", content="Push away", supersedes=mine.id)
