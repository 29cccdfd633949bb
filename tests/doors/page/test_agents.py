"""What agents see: the text as it is sent, what it costs, and why each line is there."""

from __future__ import annotations

from typing import Any

import pytest

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served, go, keep

TALLEST = 20_000
"""Pixels that the place may be tall on a phone before a person asks for more of it."""


def test_the_text_is_exactly_as_an_agent_gets_it(page: Any, world: Served) -> None:
    go(page, world, "agents")
    page.get_by_role("button", name="As it is sent").click()
    page.wait_for_url("**/agents?look=text")
    more = page.get_by_role("button", name="more line")
    if more.count():
        more.click()
    with Memory.open(world.vault, origin="owner") as memory:
        assert page.locator("pre.text").text_content() == memory.context().text


def test_every_line_is_shown_with_why_it_is_there(page: Any, world: Served) -> None:
    go(page, world, "agents")
    part = page.locator("#section-preferences")
    assert part.get_by_role("heading").inner_text() == "Preferences"
    assert "Ann likes green tea" in part.inner_text()
    assert "The user's own preference." in part.inner_text()
    with Memory.open(world.vault, origin="owner") as memory:
        tokens = memory.context().tokens
    assert f"{tokens:,} tokens" in page.locator(".cost-sum").inner_text()
    keep(page, "agents")


def test_what_was_left_out_is_told_with_the_reason(page: Any, world: Served) -> None:
    with Memory.open(world.vault, origin="owner") as memory:
        old = memory.store("The spare key is under the pot", kind="fact")
        memory.supersede(old.id, "The spare key is with Bob")
    go(page, world, "agents?look=left-out")
    part = page.locator(".part", has_text="The spare key is under the pot").first
    part.wait_for()
    assert "Replaced." in part.inner_text()
    assert "[object" not in page.locator("main").inner_text()


def test_a_message_changes_what_is_given_and_stands_in_the_address(
    page: Any, world: Served
) -> None:
    go(page, world, "agents")
    page.get_by_label("For this message").fill("What does Ann drink?")
    page.wait_for_url("**/agents?message=What+does+Ann+drink%3F")
    page.get_by_label("An agent is given this").select_option("conversation")
    page.locator(".part", has_text="The message itself").wait_for()
    page.reload()
    page.locator(".part", has_text="What does Ann drink?").first.wait_for()


def test_a_line_leads_to_its_memory(page: Any, world: Served) -> None:
    go(page, world, "agents")
    line = page.locator(".line", has_text="Ann likes green tea").first
    line.get_by_role("link").click()
    page.wait_for_url("**/memory/mem-*")


@pytest.mark.parametrize("look", ["sections", "text", "left-out"])
def test_5000_memories_are_read_on_a_phone(sizes: Served, look: str) -> None:
    with pages.opened(sizes, 390) as guarded:
        go(guarded.page, sizes, f"agents?look={look}", "many")
        assert guarded.page.evaluate("document.documentElement.scrollHeight") < TALLEST
        pages.sound(guarded.page)
        assert guarded.faults == []


def test_what_an_agent_stores_is_not_drawn_over_where_the_person_went(
    page: Any, world: Served
) -> None:
    go(page, world, "agents")
    slow = pages.Held(page, "**/context*")
    with Memory.open(world.vault, session="agent") as memory:
        memory.store("The kettle is blue")
    slow.wait()
    page.get_by_role("link", name="Home", exact=True).click()
    page.locator("main h1", has_text="Home").wait_for()
    slow.let_go()
    page.wait_for_timeout(300)
    assert page.locator("main h1").count() == 1
    assert page.locator("main h1", has_text="Home").count() == 1
