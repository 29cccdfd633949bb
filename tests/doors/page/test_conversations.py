"""Conversations: the list, one to read, at a message, page by page; search; forgetting."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served


@pytest.fixture(scope="module")
def talk(world: Served) -> list[str]:
    """The ids of the messages of a long conversation, beside a short one."""
    with Memory.open(world.vault) as memory:
        said = [
            memory.conversations.record(
                "assistant" if number % 2 else "user",
                f"Word {number} of the **ferry**",
                session="long talk",
                channel="claude-code",
                time=f"2026-05-01T{10 + number // 60}:{number % 60:02}:00.000Z",
            ).id
            for number in range(160)
        ]
        memory.conversations.record("user", "# Which kettle?", session="a/b c?", channel="codex")
        memory.conversations.record("tool", "A page about kettles", session="a/b c?")
    with Memory.open(world.vault, session="a/b c?") as memory:
        memory.store("The kettle is blue", kind="fact")
    return said


def test_conversations_are_called_by_their_first_words(
    page: Any, world: Served, talk: list[str]
) -> None:
    pages.go(page, world, "conversations")
    row = page.locator(".card", has_text="Word 0 of the **ferry**")
    told = row.inner_text()
    assert "160 messages" in told
    assert "Claude Code" in told
    row.get_by_role("link").click()
    page.locator(".message", has_text="Word 0 of the ferry").wait_for()
    assert page.locator(".message.yours").first.locator(".who").inner_text() == "You"
    assert page.locator(".message.assistant").first.locator(".who").inner_text() == "The agent"


def test_a_long_conversation_is_read_page_by_page(
    page: Any, world: Served, talk: list[str]
) -> None:
    pages.go(page, world, "conversations/long%20talk")
    shown = page.locator(".message")
    page.get_by_role("button", name="Show later messages").click()
    page.locator(".message", has_text="Word 99 of").wait_for()
    assert shown.count() == 100
    page.get_by_role("button", name="Show later messages").click()
    page.locator(".message", has_text="Word 149 of").wait_for()
    page.get_by_role("button", name="Show later messages").click()
    page.locator(".message", has_text="Word 159 of").wait_for()
    page.get_by_role("button", name="Show later messages").wait_for(state="detached")
    texts = [each.split()[1] for each in page.locator(".message .prose").all_inner_texts()]
    assert texts == [str(number) for number in range(160)]


@pytest.mark.parametrize("width", [1400, 390])
def test_a_conversation_opens_at_a_message(world: Served, talk: list[str], width: int) -> None:
    with pages.opened(world, width) as guarded:
        page = guarded.page
        pages.go(page, world, f"conversations/long%20talk?at={talk[80]}")
        marked = page.locator(".message.marked", has_text="Word 80 of the ferry")
        marked.wait_for()
        box = marked.bounding_box()
        assert 0 < box["y"] < 800
        page.get_by_role("button", name="Show earlier messages").click()
        page.locator(".message", has_text="Word 6 of the ferry").wait_for(state="attached")
        pages.sound(page)
        assert guarded.faults == []


def test_a_message_that_is_not_there_is_told_so(page: Any, world: Served, talk: list[str]) -> None:
    pages.go(page, world, "conversations/long%20talk?at=msg-none")
    page.get_by_text("This message is not here").wait_for()
    page.get_by_role("button", name="Open the conversation").click()
    page.locator(".message", has_text="Word 0 of the ferry").wait_for()


def test_words_that_were_said_are_found_and_opened_where_they_stand(
    page: Any, world: Served, talk: list[str]
) -> None:
    pages.go(page, world, "conversations")
    page.get_by_label("Search in what was said").fill("kettles")
    found = page.locator(".card", has_text="A page about kettles")
    found.locator("mark").first.wait_for()
    assert "words=kettles" in page.url
    found.get_by_role("link").click()
    page.locator(".message.marked", has_text="A page about kettles").wait_for()
    page.locator("main h1", has_text="Which kettle?").wait_for()


def test_words_are_looked_for_in_one_conversation(
    page: Any, world: Served, talk: list[str]
) -> None:
    pages.go(page, world, "conversations/long%20talk")
    page.get_by_label("Search in this conversation").fill("kettle")
    page.get_by_text("Nobody said that here").wait_for()
    page.get_by_label("Search in this conversation").fill("word 123")
    page.locator(".card", has_text="Word 123 of").get_by_role("link").click()
    page.locator(".message.marked", has_text="Word 123 of").wait_for()


def test_a_conversation_shows_what_was_remembered_of_it(
    page: Any, world: Served, talk: list[str]
) -> None:
    pages.go(page, world, "conversations/a%2Fb%20c%3F")
    page.locator("main h1", has_text="Which kettle?").wait_for()
    page.locator(".card", has_text="The kettle is blue").wait_for()
    assert page.locator("main h1").count() == 1


def test_a_conversation_is_forgotten_when_that_is_asked_for_twice(page: Any, world: Served) -> None:
    with Memory.open(world.vault) as memory:
        memory.conversations.record("user", "Forget me", session="gone")
    pages.go(page, world, "conversations/gone")
    page.get_by_role("button", name="More about this conversation").click()
    page.get_by_role("menuitem", name="Forget this conversation").click()
    page.locator("dialog", has_text="can't be undone").wait_for()
    page.get_by_role("button", name="Forget it for good").click()
    page.locator("#said", has_text="Forgotten: 1 message.").wait_for()
    assert page.url.endswith("/conversations")
    with Memory.open(world.vault) as memory:
        assert "gone" not in {each.session for each in memory.messages.sessions()}


def test_without_conversations_the_next_step_is_told(sizes: Served) -> None:
    with pages.opened(sizes) as guarded:
        pages.go(guarded.page, sizes, "conversations", "empty")
        guarded.page.get_by_role("link", name="Connect a client").wait_for()
        assert guarded.faults == []
