"""Activity: every change with its words, live, filtered by the address, taken back one by one."""

from __future__ import annotations

from typing import Any

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served


def change(page: Any, text: str) -> Any:
    return page.locator(".change", has_text=text).first


def stored(world: Served, *texts: str, origin: str = "owner", session: str = "") -> None:
    with Memory.open(world.vault, origin=origin, session=session) as memory:
        for text in texts:
            memory.store(text, kind="fact")


def test_one_change_in_the_middle_is_taken_back_and_made_again(page: Any, world: Served) -> None:
    stored(world, "The ladder is in the shed", "The ladder has nine steps")
    pages.go(page, world, "activity")
    first = page.locator(".change.remembered", has_text="The ladder is in the shed")
    first.get_by_role("button", name="Undo").click()
    first.get_by_text("Taken back").wait_for()
    assert "The ladder is in the shed" in page.locator("#said").inner_text()
    with Memory.open(world.vault, origin="owner") as memory:
        texts = {hit.record.text for hit in memory.search("ladder")}
    assert "The ladder has nine steps" in texts
    assert "The ladder is in the shed" not in texts
    first.get_by_role("button", name="Redo").click()
    page.get_by_text("Made again").wait_for()
    with Memory.open(world.vault, origin="owner") as memory:
        assert "The ladder is in the shed" in {hit.record.text for hit in memory.search("ladder")}


def test_what_an_agent_stores_appears_by_itself_and_says_who(page: Any, world: Served) -> None:
    pages.go(page, world, "activity")
    with Memory.open(world.vault, session="talk") as memory:
        memory.conversations.record("user", "Where is the rake?", channel="codex")
        memory.store("The rake hangs on the wall", kind="fact")
    row = change(page, "The rake hangs on the wall")
    row.get_by_text("New").wait_for()
    assert "Codex remembered" in row.inner_text()


def test_a_rewording_by_hand_is_shown_word_by_word(page: Any, world: Served) -> None:
    stored(world, "The kettle holds one litre")
    with Memory.open(world.vault, origin="owner") as memory:
        document = world.vault / memory.layout.memory
        text = document.read_text(encoding="utf-8")
        document.write_text(text.replace("holds one litre", "holds two litres"), encoding="utf-8")
        memory.library.refresh()
    pages.go(page, world, "activity?who=editor")
    row = change(page, "The kettle holds")
    assert "An editor changed" in row.inner_text()
    assert row.locator("del").all_text_contents() == ["Removed: one litre"]
    assert row.locator("ins").all_text_contents() == ["Added: two litres"]


def test_filters_stand_in_the_address_and_clear(page: Any, world: Served) -> None:
    stored(world, "An agent counted the pots", origin="agent", session="count")
    pages.go(page, world, "activity")
    page.get_by_role("button", name="Agents").click()
    page.wait_for_url("**/activity?who=agent")
    change(page, "An agent counted the pots").wait_for()
    page.locator(".change", has_text="Fact number").first.wait_for(state="detached")
    page.get_by_label("What was done").select_option("removed")
    page.get_by_text("No change fits").wait_for()
    page.get_by_role("button", name="Clear").click()
    page.locator(".change", has_text="Fact number").first.wait_for()
    assert page.url == world.address("activity")
    page.get_by_label("On the day").fill("1999-01-01")
    page.get_by_text("No change fits").wait_for()
    assert "day=1999-01-01" in page.url


def test_older_changes_are_a_page_of_their_own(page: Any, world: Served) -> None:
    stored(world, *(f"Pot number {number} is empty" for number in range(60)))
    pages.go(page, world, "activity?who=you")
    newest = page.locator(".change").first.inner_text()
    page.get_by_role("button", name="Older changes").click()
    page.locator(".change", has_text="Fact number").first.wait_for()
    assert "before=" in page.url
    page.get_by_role("button", name="Newest changes").click()
    page.locator(".change", has_text="Pot number 59").wait_for()
    assert page.locator(".change").first.inner_text() == newest


def test_why_a_change_cannot_be_taken_back_is_said(page: Any, world: Served) -> None:
    stored(world, "The hose leaks")
    pages.go(page, world, "activity")
    row = change(page, "The hose leaks")
    row.wait_for()
    page.route("**/undo", lambda route: route.continue_(post_data='{"position": 1}'))
    row.get_by_role("button", name="Undo").click()
    page.get_by_text("there is no change 1").wait_for()


def test_what_was_forgotten_offers_no_way_back(page: Any, world: Served) -> None:
    with Memory.open(world.vault, origin="owner") as memory:
        memory.delete(memory.store("The gate code is 8841", kind="fact").id)
    pages.go(page, world, "activity")
    row = page.locator(".change", has_text="You forgot for good").first
    assert row.get_by_role("button").count() == 0
    assert "8841" not in page.content()
    assert "Forgotten since" in page.locator(".change").nth(1).inner_text()
