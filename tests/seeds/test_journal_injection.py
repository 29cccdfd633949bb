"""What the document of the journal claims of contexts and of what is put into them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from commonplace import tools
from commonplace.context import agents
from commonplace.memory import Memory
from commonplace.model.errors import BadValue
from tests.data import clock_at, example
from tests.support.postgres import fresh_url


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    """The example journal, in a conversation that has begun."""
    root, clock = example("journal", place), clock_at("2026-02-04T10:00:00Z")
    with Memory.open(root, session="talk", clock=clock, create=True) as memory:
        memory.update("Waiting for the tide.\n", document="status.md")
        for number, role in enumerate(("user", "assistant", "user", "assistant")):
            memory.conversations.record(role, f"message {number}")
        yield memory


@pytest.fixture
def first_run(place: str) -> Iterator[Memory]:
    with Memory.open(place, "journal", clock=clock_at("2026-02-04T10:00:00Z")) as memory:
        yield memory


def places(text: str, *needles: str) -> list[int]:
    found = [text.find(needle) for needle in needles]
    assert -1 not in found, dict(zip(needles, found))
    return found


@pytest.mark.in_files
@pytest.mark.claim("journal.context-headings", "journal.soul-every-run", "journal.user-every-run")
@pytest.mark.parametrize("agent", ["session", "conversation", "heartbeat"])
def test_both_files_stand_under_their_headings_in_every_run(memory: Memory, agent: str) -> None:
    text = memory.context("hello", agent=agent).text
    assert "## Your Personality\nI am a patient assistant. I like plain words.\n" in text
    assert "## About the User\n# Nadia\n" in text
    at = places(text, "## Your Personality", "## About the User")
    assert at == sorted(at)
    (memory.root / "soul.md").write_text("I am somebody else now.\n", encoding="utf-8")
    assert "## Your Personality\nI am somebody else now.\n" in memory.context(agent=agent).text


@pytest.mark.claim("journal.two-files-into-context", "journal.diary-not-in-context")
@pytest.mark.parametrize("agent", ["session", "conversation", "heartbeat"])
def test_of_all_memory_files_only_soul_and_user_are_put_in(memory: Memory, agent: str) -> None:
    memory.write_diary("A walk by the harbour.")
    memory.store("noted by the way")
    found = memory.context("what about the tides and the harbour?", agent=agent)
    documents = {line.document for line in found.lines if line.section in ("identity", "user")}
    assert documents == {"soul.md", "user.md"}
    assert {line.document for line in found.lines} <= {"soul.md", "user.md", "status.md", ""}
    assert "harbour" not in found.system


@pytest.mark.claim("journal.conversation-pipeline", "journal.context-stage")
def test_a_conversation_has_its_five_stages_in_order(memory: Memory) -> None:
    text = memory.context("When is high water?", agent="conversation").text
    at = places(
        text,
        "You have persistent memory",
        "## Your Personality",
        "## About the User",
        "## Status Board\nWaiting for the tide.",
        "## Conversation History\nuser: message 0\nassistant: message 1\n",
        "## Current Message\nWhen is high water?",
    )
    assert at == sorted(at)


@pytest.mark.claim("journal.conversation-trigger-last")
def test_a_conversation_ends_with_the_current_message(memory: Memory) -> None:
    found = memory.context("When is high water?\nAnd low?", agent="conversation")
    assert found.text.endswith("\nWhen is high water?\nAnd low?")
    assert found.messages[-1].text == "When is high water?\nAnd low?"


def test_a_message_that_was_recorded_already_is_not_there_twice(memory: Memory) -> None:
    memory.conversations.record("user", "When is high water?")
    found = memory.context("When is high water?", agent="conversation", last=2)
    assert [line.text for line in found.messages] == [
        "message 2",
        "message 3",
        "When is high water?",
    ]


@pytest.mark.claim("journal.heartbeat-pipeline", "journal.heartbeat-without-history")
def test_a_heartbeat_has_its_four_stages_and_no_history(memory: Memory) -> None:
    text = memory.context(agent="heartbeat").text
    at = places(
        text,
        "You have persistent memory",
        "## Your Personality",
        "## About the User",
        "## Status Board\nWaiting for the tide.",
        "## Heartbeat\nThis is a heartbeat",
    )
    assert at == sorted(at)
    assert "message 0" not in text


@pytest.mark.in_files
def test_a_person_can_write_the_heartbeats_prompt(memory: Memory) -> None:
    (memory.root / "heartbeat.md").write_text("Check the weather.\n", encoding="utf-8")
    assert memory.context(agent="heartbeat").text.endswith("## Heartbeat\nCheck the weather.")
    assert memory.context("Now.", agent="heartbeat").text.endswith("## Heartbeat\nNow.")


@pytest.mark.claim("journal.system-prompt-instructions", "journal.prompt-asks-to-write")
@pytest.mark.parametrize("agent", ["conversation", "heartbeat"])
def test_the_system_prompt_tells_of_tools_and_asks_to_keep_what_is_learned(
    memory: Memory, agent: str
) -> None:
    prompt = [line.text for line in memory.context("x", agent=agent).lines if not line.document]
    text = "\n".join(prompt)
    for tool in ("read_memory", "rewrite_memory", "diary"):
        assert tool in text
    asked = "When you learn a preference, a correction or a new fact, rewrite user.md or soul.md"
    assert asked in text


@pytest.mark.claim("journal.conversation-last-messages")
def test_the_history_is_the_last_n_messages_with_n_an_option(place: str) -> None:
    clock = clock_at("2026-02-04T10:00:00Z")
    with Memory.open(place, "journal", "talk", clock=clock, context_messages=3) as memory:
        for number in range(6):
            clock.sleep(1)
            memory.conversations.record("user", f"message {number}")
        for last, wanted in ((None, [3, 4, 5]), (2, [4, 5]), (0, []), (9, [0, 1, 2, 3, 4, 5])):
            found = memory.context("now", agent="conversation", last=last)
            said = [line.text for line in found.messages[:-1]]
            assert said == [f"message {number}" for number in wanted]


@pytest.mark.in_files
@pytest.mark.claim("journal.context-omits-missing")
@pytest.mark.parametrize("missing", ["soul", "user"])
def test_a_missing_file_takes_its_section_with_it_and_not_the_other(
    memory: Memory, missing: str
) -> None:
    (memory.root / f"{missing}.md").unlink()
    text = memory.context("x", agent="conversation").text
    assert ("## Your Personality" in text) == (missing == "user")
    assert ("## About the User" in text) == (missing == "soul")


@pytest.mark.claim("journal.first-run-no-sections", "journal.first-run-prompt")
def test_on_a_first_run_there_is_no_memory_but_word_of_the_files(first_run: Memory) -> None:
    text = first_run.context("hello", agent="conversation").text
    assert "## Your Personality" not in text
    assert "## About the User" not in text
    assert "soul.md" in text
    assert "user.md" in text
    page = "file" if first_run.parts.database is None else "document"
    assert f"A {page} that does not exist yet is yours to create." in text
    assert first_run.context().text == ""


@pytest.mark.claim("journal.token-usage-tracked")
def test_the_context_is_counted_in_tokens_against_a_limit(memory: Memory) -> None:
    whole = memory.context("When is high water?", agent="conversation")
    assert whole.tokens == sum_of_tokens(whole.text)
    less = memory.context("When is high water?", agent="conversation", tokens=whole.tokens - 5)
    assert 0 < less.tokens <= whole.tokens - 5


def sum_of_tokens(text: str) -> int:
    from commonplace.context.tokens import estimate

    return estimate(text)


@pytest.mark.claim("journal.token-budget-trims-history")
def test_history_is_trimmed_first_and_its_oldest_messages_first(memory: Memory) -> None:
    whole = memory.context("When is high water?", agent="conversation")
    without_history = memory.context("When is high water?", agent="conversation", last=0)
    kept: list[list[str]] = []
    for tokens in range(whole.tokens + 20, without_history.tokens + 8, -4):
        found = memory.context("When is high water?", agent="conversation", tokens=tokens)
        rest = [line.text for line in found.lines if line.section != "history"]
        assert rest == [line.text for line in without_history.lines]
        kept.append([line.text for line in found.messages[:-1]])
    everything = [f"message {number}" for number in range(4)]
    assert kept[0] == everything
    assert kept[-1] != everything
    assert all(said == everything[len(everything) - len(said) :] for said in kept)


def test_identity_and_trigger_outlast_all_else(memory: Memory) -> None:
    found = memory.context("When is high water?", agent="conversation", tokens=340)
    sections = {line.section for line in found.lines}
    assert {"identity", "user", "trigger"} <= sections
    assert "history" not in sections


def test_the_messages_alternate_and_begin_with_the_user(memory: Memory) -> None:
    memory.conversations.record("tool", "the tide table")
    memory.conversations.record("user", "Thanks")
    found = memory.context("When is high water?", agent="conversation", last=5)
    given = agents.as_anthropic(found)
    assert given["system"] == found.system
    assert "## Conversation History" not in given["system"]
    assert given["messages"] == [
        {"role": "user", "content": "message 2"},
        {"role": "assistant", "content": "message 3"},
        {"role": "user", "content": "[tool] the tide table\n\nThanks\n\nWhen is high water?"},
    ]
    first, *rest = agents.as_openai(found)["messages"]
    assert first == {"role": "system", "content": found.system}
    assert rest == given["messages"]


@pytest.mark.claim("journal.prompt-shows-a-question", "journal.heartbeat-queries-history")
@pytest.mark.parametrize("agent", ["conversation", "heartbeat"])
def test_the_question_that_a_prompt_shows_finds_the_last_hour(place: str, agent: str) -> None:
    with Memory.open(place, "journal", "talk", create=True) as memory:
        memory.conversations.record("user", "Said just now")
        memory.conversations.record("user", "Said before", time="2020-01-01T00:00:00Z")
        prompt = memory.context("Hello", agent=agent).system
        [question] = [line for line in prompt.split("\n") if line.startswith("SELECT")]
        assert [row[-1] for row in memory.conversations.ask(question).rows] == ["Said just now"]


@pytest.mark.claim("journal.prompt-shows-a-question")
def test_the_question_is_that_of_where_the_messages_are(tmp_path: Path) -> None:
    with Memory.open(tmp_path, "journal", history=fresh_url(), create=True) as memory:
        memory.conversations.record("user", "Said just now")
        prompt = memory.context("Hello", agent="conversation").system
        [question] = [line for line in prompt.split("\n") if line.startswith("SELECT")]
        assert [row[-1] for row in memory.conversations.ask(question).rows] == ["Said just now"]


@pytest.mark.claim("journal.prompt-without-files")
@pytest.mark.parametrize("agent", ["conversation", "heartbeat"])
@pytest.mark.parametrize("dialect", ["journal", "native", "earl", "notebook", "claw", "typed"])
def test_no_prompt_speaks_of_files_or_a_shell_that_are_not_there(dialect: str, agent: str) -> None:
    with Memory.open(fresh_url(), create=True, session_memory_cap=200) as memory:
        memory.update("A long line of memory\n" * 100, document=memory.layout.memory)
        prompt = memory.context("Hello", agent=agent, dialect=dialect, tokens=300).text.lower()
        assert not any(word in prompt for word in ("file", "shell", "bash", "disk"))


@pytest.mark.claim("journal.diary-semantic-search")
def test_the_journal_searches_by_meaning_through_its_own_tool(place: str) -> None:
    with Memory.open(place, "journal", create=True) as memory:
        memory.write_diary("We adopted a puppy, and it chewed the carpet.")
        memory.update("- Drinks green tea\n", document="user.md", mode="rewrite")
        call = partial(tools.call, memory, "search_memory", dialect="journal")
        [found] = call({"query": "dog"}).data
        assert found["file"].startswith("diary/")
        assert "puppy" in str(call({"query": "dog"}))
        assert call({"query": "tea"}).data[0]["file"] == "user.md"
        with pytest.raises(BadValue):
            call({"query": " "})
