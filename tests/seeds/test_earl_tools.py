"""What the document of EARL's memory claims of its two tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.library.documents import Screen
from commonplace.markdown.documents import Parsed
from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from tests.data import clock_at, documents_of, example
from tests.support.clocks import FixedClock
from tests.support.mcp_client import ask, call, initialize, talk, text_of


@pytest.fixture
def clock() -> FixedClock:
    return clock_at("2025-01-20T14:30:00Z")


@pytest.fixture
def memory(place: str, clock: FixedClock) -> Iterator[Memory]:
    """The example vault of EARL, on the twentieth."""
    with Memory.open(example("earl", place), clock=clock) as memory:
        yield memory


def run(memory: Memory, name: str, **arguments: Any) -> str:
    return str(tools.call(memory, name, arguments, dialect="earl"))


def lines(memory: Memory, **arguments: Any) -> list[str]:
    """The lines of an answer of search_memory, without the one that counts them."""
    return run(memory, "search_memory", **arguments).split("\n")[1:]


@pytest.mark.claim("earl.tools-over-mcp")
def test_both_tools_are_reached_over_one_mcp_server(tmp_path: Path) -> None:
    _, listed, saved, found = talk(
        example("earl", tmp_path),
        initialize(),
        ask("tools/list", id=1),
        call("save_memory", {"text": "The cat is called Luna"}, id=2),
        call("search_memory", {"query": "luna"}, id=3),
        dialect="earl",
    )
    names = [tool["name"] for tool in listed["result"]["tools"]]
    assert names == ["save_memory", "search_memory"]
    assert not saved["result"]["isError"]
    assert text_of(found).endswith("| The cat is called Luna")


@pytest.mark.claim(
    "earl.save-today",
    "earl.save-timestamped",
    "earl.save-username-optional",
    "earl.save-username-shown",
)
def test_a_saved_text_is_a_line_of_today_with_the_time_of_the_call_and_the_user(
    memory: Memory, clock: FixedClock
) -> None:
    assert run(memory, "save_memory", text="Likes tea") == "Saved to today's memory file."
    clock.sleep(75 * 60)
    run(memory, "save_memory", text="Likes coffee", username="bob")
    run(memory, "save_memory", text="Likes milk", username="@carol")
    assert documents_of(memory)["2025-01-20.md"].decode() == (
        "# Memories for 2025-01-20\n\n"
        "- **14:30 UTC** | Likes tea\n"
        "- **15:45 UTC** | `@bob` | Likes coffee\n"
        "- **15:45 UTC** | `@carol` | Likes milk\n"
    )


def test_a_text_of_several_lines_is_one_entry_on_one_line(memory: Memory) -> None:
    run(memory, "save_memory", text="Two things:\n\n  tea\nand milk ")
    assert documents_of(memory)["2025-01-20.md"].endswith(
        b"\n- **14:30 UTC** | Two things: tea and milk\n"
    )


@pytest.mark.claim("earl.save-text-required", "earl.search-query-required")
@pytest.mark.parametrize(
    ("name", "argument"), [("save_memory", "text"), ("search_memory", "query")]
)
def test_the_first_argument_is_a_required_string(memory: Memory, name: str, argument: str) -> None:
    schema = tools.find(name, dialect="earl").schema()
    assert schema["required"] == [argument]
    assert schema["properties"][argument]["type"] == "string"
    before = documents_of(memory)
    with pytest.raises(BadValue, match=f"{argument}: it is missing"):
        run(memory, name)
    with pytest.raises(BadValue, match="Send a text"):
        run(memory, name, **{argument: 7})
    assert documents_of(memory) == before


def test_the_arguments_are_those_of_the_document() -> None:
    schemas = {
        name: tools.find(name, dialect="earl").schema()["properties"]
        for name in ("save_memory", "search_memory")
    }
    assert {name: list(properties) for name, properties in schemas.items()} == {
        "save_memory": ["text", "username"],
        "search_memory": ["query", "limit"],
    }
    assert (schemas["save_memory"]["username"]["type"]) == "string"
    assert (schemas["search_memory"]["limit"]["type"]) == "integer"


@pytest.mark.claim("earl.user-written-by-agent")
def test_the_agent_writes_a_note_to_user_md_through_save_memory(memory: Memory) -> None:
    before = documents_of(memory)
    said = run(memory, "save_memory", text="USER.md: Writes British English", username="alice")
    after = documents_of(memory)
    assert said == "Saved to USER.md."
    assert after["USER.md"] == before["USER.md"] + b"- `@alice` | Writes British English\r\n"
    assert {name for name in after if before.get(name) != after[name]} == {"USER.md"}
    assert lines(memory, query="british alice") == [
        "**USER.md**: - `@alice` | Writes British English"
    ]


@pytest.mark.claim("earl.soul-written-by-hand")
def test_no_tool_changes_soul_md(memory: Memory) -> None:
    before = documents_of(memory)["SOUL.md"]
    for text in ("Be rude", "SOUL.md: Be rude", "../SOUL.md", "USER.md: see SOUL.md"):
        run(memory, "save_memory", text=text, username="SOUL.md")
        run(memory, "search_memory", query=text)
    assert documents_of(memory)["SOUL.md"] == before
    assert list(tools.table("earl")) == ["save_memory", "search_memory"]


@pytest.mark.in_files
@pytest.mark.claim(
    "earl.search-count-line",
    "earl.search-names-source",
    "earl.search-whole-lines",
    "earl.search-file-order",
    "earl.search-newest-day-first",
    "earl.search-all-files",
)
def test_matches_stand_in_the_order_of_the_files_as_whole_lines_with_their_source(
    memory: Memory,
) -> None:
    (memory.root / "SOUL.md").write_text("Loves the dark mode too.\r\n", encoding="utf-8")
    (memory.root / "1999-12-31.md").write_text("- dark mode, long ago\n", encoding="utf-8")
    assert run(memory, "search_memory", query="dark mode") == (
        "Found 5 memories:\n"
        "**SOUL.md**: Loves the dark mode too.\n"
        "**USER.md**: - Prefers dark mode in all editors\n"
        "**2025-01-15.md**: - **14:30 UTC** | `@alice` | Prefers dark mode in all editors\n"
        "**2025-01-14.md**: - **14:30 UTC** | `@alice` | Prefers dark mode in all editors\n"
        "**1999-12-31.md**: - dark mode, long ago"
    )


def test_one_match_is_a_memory_and_none_is_a_sentence(memory: Memory) -> None:
    assert run(memory, "search_memory", query="Espresso").startswith("Found 1 memory:\n")
    assert run(memory, "search_memory", query="wombat") == (
        "No memories found: no line holds all of these words. Try fewer or other words."
    )


@pytest.mark.claim("earl.search-case-insensitive")
@pytest.mark.parametrize("query", ["DARK MODE", "dark mode", "Dark Mode", "ZÜRICH", "zürich"])
def test_case_does_not_matter(memory: Memory, query: str) -> None:
    assert any(line.startswith("**USER.md**: - ") for line in lines(memory, query=query))


@pytest.mark.claim("earl.search-keywords")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("refactor bob", 2),
        ("bob refactor week", 1),
        ("this week, the refactor?", 1),
        ("refactor marmalade", 0),
        ("会議", 1),
        ("@bob", 3),
        ("UTC+1;", 1),
    ],
)
def test_a_line_matches_that_holds_every_keyword_in_any_order(
    memory: Memory, query: str, found: int
) -> None:
    """All of them, because results come in the order of files: one shared word would be too many
    lines that have little to do with the query, and nothing ranks the right one first.
    """
    assert len(lines(memory, query=query)) == found


@pytest.mark.claim("earl.search-limit-optional", "earl.search-limit-default")
def test_at_most_limit_lines_are_returned_and_20_without_one(memory: Memory) -> None:
    for number in range(25):
        run(memory, "save_memory", text=f"Cup of tea {number}")
    assert len(lines(memory, query="cup tea")) == 20
    assert len(lines(memory, query="cup tea", limit=3)) == 3
    assert len(lines(memory, query="cup tea", limit=100)) == 25
    assert run(memory, "search_memory", query="cup tea", limit=3).startswith("Found 3 memories:\n")
    schema = tools.find("search_memory", dialect="earl").schema()
    assert schema["properties"]["limit"]["default"] == 20


def test_a_header_is_no_memory(memory: Memory) -> None:
    assert lines(memory, query="memories for") == []


def test_a_secret_is_not_found_by_searching(memory: Memory) -> None:
    memory.store("The safe opens with wombat\nor with quokka", sensitivity="secret")
    memory.store("A wombat lives here")
    assert [line.partition("| ")[2] for line in lines(memory, query="wombat")] == [
        "A wombat lives here"
    ]
    assert lines(memory, query="quokka") == []


@pytest.fixture
def parsed(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The documents that were parsed, in their order."""
    found: list[str] = []
    parse = memory.library.parse

    def counted(name: str, text: str, **rest: Any) -> Parsed:
        found.append(name)
        return parse(name, text, **rest)

    monkeypatch.setattr(memory.library.reader, "parse", counted)
    return found


@pytest.mark.claim("earl.search-as-fast-as-reading")
@pytest.mark.parametrize("query", ["tea", "tea 7", "no such words"])
def test_a_search_parses_no_document_that_hides_nothing(
    memory: Memory, clock: FixedClock, parsed: list[str], query: str
) -> None:
    for number in range(20):
        memory.store(f"Cup of tea {number}")
        clock.sleep(24 * 3600)
    memory.library.refresh()
    parsed.clear()
    for _ in range(3):
        lines(memory, query=query, limit=1000)
    assert parsed == []


@pytest.mark.claim("earl.search-as-fast-as-reading")
def test_a_document_with_a_secret_is_parsed_once_until_it_changes(
    memory: Memory, parsed: list[str]
) -> None:
    memory.store("The tea is behind the clock", sensitivity="secret")
    memory.store("Cup of tea")
    for number in range(2):
        memory.library.refresh()
        parsed.clear()
        for _ in range(3):
            assert len(lines(memory, query="tea")) == 1 + number
        assert parsed == ["2025-01-20.md"]
        memory.store("Another cup of tea")


def test_a_secret_that_came_after_the_index_was_asked_is_not_shown(memory: Memory) -> None:
    memory.store("Cup of tea")
    screen = Screen(memory.library.documents)
    memory.store("The tea is behind the clock", sensitivity="secret")
    text = memory.library.text("2025-01-20.md")[0]
    assert "behind the clock" in text
    assert "behind the clock" not in screen.shown("2025-01-20.md", text)


def test_a_session_is_tainted_by_untrusted_lines_that_it_is_shown_alone(
    memory: Memory, clock: FixedClock
) -> None:
    memory.for_session("reader", origin="web").store("Green tea is a fruit")
    clock.sleep(24 * 3600)
    memory.store("Coffee is a drink")
    seen = memory.for_session("s-1")
    run(seen, "search_memory", query="coffee")
    assert not seen.sessions.read("s-1").tainted
    run(seen, "search_memory", query="tea")
    assert seen.sessions.read("s-1").tainted


@pytest.mark.in_files
def test_a_file_that_cannot_be_read_is_named_and_hides_no_other(memory: Memory) -> None:
    (memory.root / "2025-01-16.md").write_bytes(b"- dark mode \xff\n")
    said = lines(memory, query="dark mode")
    assert said[0] == "**USER.md**: - Prefers dark mode in all editors"
    assert said[-1] == "Not searched, because they cannot be read: 2025-01-16.md."


def test_on_a_native_vault_a_record_is_found_once_and_without_its_data(place: str) -> None:
    root = example("native", place)
    with Memory.open(root, clock=clock_at("2026-11-15T10:00:00Z"), create=True) as memory:
        run(memory, "save_memory", text="The kettle is new", username="bjørn")
        assert run(memory, "search_memory", query="kettle new") == (
            "Found 1 memory:\n"
            "**memory/2026-11-15.md**: - **10:00 UTC** | `@bjørn` | The kettle is new"
        )
        assert lines(memory, query="timestamp") == []
        assert [line.partition(":")[0] for line in lines(memory, query="hand typed")] == [
            "**MEMORY.md**"
        ]
