"""Search on the page: as one types, why each was found, and the way to where it stands."""

from __future__ import annotations

from typing import Any

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served, go, keep, ready


def opened(world: Served, **given: Any) -> Memory:
    return Memory.open(world.vault, **{"origin": "owner", **given})


def test_words_typed_into_the_box_of_the_frame_find_a_memory(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.keyboard.press("/")
    page.keyboard.type("what does Ann drink, tea?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?words=**")
    first = page.locator(".card").first
    first.wait_for()
    assert "green tea" in first.inner_text()


def test_it_finds_while_one_types_and_the_address_says_what(page: Any, world: Served) -> None:
    go(page, world, "search")
    page.get_by_label("What to look for").fill("green")
    page.wait_for_url("**/search?words=green")
    page.locator(".card mark", has_text="green").first.wait_for()
    page.get_by_label("What to look for").fill("garden number 12")
    page.locator(".card", has_text="Fact number 12").first.wait_for()
    page.reload()
    ready(page)
    assert page.get_by_label("What to look for").input_value() == "garden number 12"


def test_the_words_that_were_found_are_marked_in_other_forms_too(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store("Carlos paints wooden boats in winter", kind="fact")
    go(page, world, "search?words=who+painted+a+boat")
    found = page.locator(".card", has_text="Carlos paints")
    found.locator("mark").first.wait_for()
    assert found.locator("mark").all_inner_texts() == ["paints", "boats"]


def test_why_it_was_found_is_told_in_words_and_the_numbers_are_behind_a_click(
    page: Any, world: Served
) -> None:
    go(page, world, "search?words=green+tea")
    first = page.locator(".card", has_text="green tea").first
    first.locator("summary", has_text="Shares “green” and “tea”").wait_for()
    assert not first.locator(".signals").is_visible()
    first.locator("summary").click()
    first.locator(".signals").wait_for()
    keep(page, "search-numbers")
    assert first.locator(".signals .bar").count() > 0


def test_what_speaks_against_a_hit_is_not_drawn_as_if_it_helped(page: Any, world: Served) -> None:
    go(page, world, "search?words=green+tea")
    first = page.locator(".card").first
    first.locator("summary").click()
    rows = first.locator(".signals > div")
    rows.first.wait_for()
    for at in range(rows.count()):
        value = float(rows.nth(at).locator(".numbers").inner_text())
        assert rows.nth(at).locator(".bar.bad").count() == int(value < 0)


def test_what_was_opened_stays_open_when_an_agent_stores(page: Any, world: Served) -> None:
    go(page, world, "search?words=green+tea")
    page.locator(".card summary").first.click()
    page.locator(".card .signals").first.wait_for()
    with opened(world, origin="agent") as memory:
        memory.store("Green tea is in the tin with the tern", kind="fact")
    page.locator(".card", has_text="in the tin with the tern").wait_for()
    assert page.locator(".card", has_text="Ann likes").locator("details[open]").count() == 1


def test_a_hit_of_a_conversation_opens_the_conversation_at_the_place(
    page: Any, world: Served
) -> None:
    with opened(world) as memory:
        memory.conversations.record("user", "The kettle whistles in D minor", session="kitchen")
    go(page, world, "search?words=kettle+whistles")
    page.get_by_role("button", name="Conversations").click()
    hit = page.locator(".card", has_text="D minor")
    hit.get_by_role("link", name="Open the conversation there").click()
    page.wait_for_url("**/conversations/kitchen?at=msg-*")


def test_where_nothing_is_found_the_nearest_are_shown_as_such(page: Any, world: Served) -> None:
    go(page, world, "search?words=quantum+chromodynamics")
    page.get_by_text("Nothing was found").first.wait_for()
    pages.sound(page)


def test_everything_about_something_comes_in_groups(page: Any, world: Served) -> None:
    go(page, world, "search?words=garden&all=1")
    page.get_by_text("may be about it").wait_for()
    page.get_by_role("heading", name="Fact").wait_for()


def test_a_search_is_filtered(page: Any, world: Served) -> None:
    go(page, world, "search?words=garden+tea")
    page.get_by_label("Every kind").select_option("preference")
    page.wait_for_url("**kind=preference**")
    page.locator(".card .kind", has_text="fact").first.wait_for(state="detached")
    assert "green tea" in page.locator(".card").first.inner_text()


def test_a_search_that_failed_does_not_look_like_one_that_found_nothing(
    page: Any, world: Served
) -> None:
    page.route(
        "**/api/**/search?*", lambda route: route.fulfill(status=400, json={"detail": "Not so."})
    )
    go(page, world, "search?words=tea")
    page.get_by_text("Not so.").wait_for()
    assert "Nothing was found" not in page.locator("main").inner_text()


def test_a_hit_is_called_wrong_and_corrected_there(page: Any, world: Served) -> None:
    with Memory.open(world.vault, origin="owner") as memory:
        key = memory.store("The kiln fires at nine hundred degrees", kind="fact").id
    go(page, world, "search?words=kiln+fires+degrees")
    hit = page.locator(".card", has_text="The kiln fires").first
    hit.get_by_role("button", name="Wrong").click()
    page.get_by_label("Text", exact=True).wait_for()
    with Memory.open(world.vault, origin="owner") as memory:
        assert len(memory.get(key).record.wrong) == 1
