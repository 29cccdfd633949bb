"""The frame of the page: who comes in, the keys, vaults, lost sessions and networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from commonplace import Memory
from tests.doors.page.conftest import serving
from tests.support import pages
from tests.support.pages import Served, go, keep, ready


@pytest.fixture
def stranger(world: Served) -> Iterator[Any]:
    """A page of somebody who is not logged in."""
    context = world.browser.new_context()
    made = context.new_page()
    made.set_default_timeout(pages.PATIENCE)
    yield made
    context.close()


def test_without_the_link_nothing_is_shown(stranger: Any, world: Served) -> None:
    stranger.goto(f"{world.base}/memory")
    stranger.wait_for_selector("main h1")
    assert stranger.locator("main h1").inner_text() == "Log in"
    assert "garden" not in stranger.content()


def test_who_is_not_logged_in_sees_no_control_that_does_nothing(
    stranger: Any, world: Served
) -> None:
    stranger.goto(world.link)
    stranger.get_by_text("This link was used already").wait_for()
    assert not stranger.locator("header, nav, button").filter(visible=True).count()
    assert stranger.locator("main").bounding_box()["width"] > 500
    keep(stranger, "locked")


@pytest.mark.parametrize("path", ["/login", ""])
def test_who_is_logged_in_is_let_in_by_a_link_that_was_used(
    page: Any, world: Served, path: str
) -> None:
    page.goto(world.base + path if path else world.link)
    page.locator("main h1", has_text="Home").wait_for()
    assert page.url == f"{world.base}/home"


def test_an_address_that_leads_nowhere_says_so_and_shows_the_way_home(
    page: Any, world: Served
) -> None:
    assert page.goto(f"{world.base}/gardening").status == 404
    page.get_by_text("This page has no such place").wait_for()
    page.get_by_role("link", name="Go to Home").click()
    page.locator("main h1", has_text="Home").wait_for()
    assert page.url == f"{world.base}/home"


def test_a_step_within_a_place_does_not_draw_it_anew(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.locator("main h1").evaluate("shown => { shown.dataset.same = 'yes'; }")
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/home#main")
    page.wait_for_timeout(300)
    assert page.locator("h1[data-same=yes]").count() == 1


def test_going_to_a_place_puts_the_focus_on_its_heading(page: Any, world: Served) -> None:
    go(page, world, "nowhere")
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.locator("main h1", has_text="Home").wait_for()
    page.wait_for_function("document.activeElement.tagName === 'H1'")


def test_the_keys_are_told(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open] >> text=Keyboard keys")
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")


def test_the_choice_of_colours_outlives_a_reload(page: Any, world: Served) -> None:
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    go(page, world, "home")
    light = page.evaluate(paper)
    page.get_by_role("button", name="Colours: As the system").click()
    page.get_by_role("button", name="Colours: Light").click()
    page.get_by_role("button", name="Colours: Dark").wait_for()
    dark = page.evaluate(paper)
    assert dark != light
    page.reload()
    ready(page)
    assert page.evaluate(paper) == dark
    page.get_by_role("button", name="Colours: Dark").click()
    assert page.evaluate(paper) == light


@pytest.fixture(scope="module")
def two(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway over two vaults."""
    home = tmp_path_factory.mktemp("two")
    for name in ("first", "second"):
        with Memory.open(home / name, origin="owner", create=True) as memory:
            memory.store(f"Kept in the {name} one", kind="fact")
    with serving(tmp_path_factory.mktemp("home"), home / "first", home / "second") as found:
        yield replace(found, browser=browser)


def test_the_vault_stays_when_the_place_changes(two: Served) -> None:
    with pages.opened(two) as guarded:
        page = guarded.page
        go(page, two, "home")
        page.get_by_label("Vault").select_option("second")
        page.wait_for_url(f"{two.base}/home?vault=second")
        links = page.locator("a[href^='/']").evaluate_all("all => all.map((each) => each.href)")
        assert links
        assert [each for each in links if not each.endswith("vault=second")] == []
        page.get_by_role("link", name="Review").click()
        page.wait_for_url(f"{two.base}/review?vault=second")
        page.go_back()
        page.wait_for_url(f"{two.base}/home?vault=second")
        page.get_by_label("Vault").select_option("first")
        page.wait_for_url(f"{two.base}/home")
        page.go_back()
        page.wait_for_url(f"{two.base}/home?vault=second")
        assert page.get_by_label("Vault").input_value() == "second"
        assert guarded.faults == []


def test_a_vault_that_is_not_there_is_told(two: Served) -> None:
    with pages.opened(two) as guarded:
        go(guarded.page, two, "home", "third")
        guarded.page.locator("#said", has_text="There is no vault third here").wait_for()


def test_a_lost_network_is_told_and_comes_back_by_itself(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.context.set_offline(True)
    page.keyboard.press("u")
    page.locator(".lost", has_text="The gateway does not answer").wait_for()
    page.context.set_offline(False)
    page.locator(".lost").wait_for(state="detached")


def test_a_place_first_opened_while_the_gateway_is_away_opens_when_it_is_back(
    page: Any, world: Served
) -> None:
    go(page, world, "nowhere")
    page.context.set_offline(True)
    page.get_by_role("link", name="Home", exact=True).click()
    page.locator(".lost", has_text="The gateway does not answer").wait_for()
    page.context.set_offline(False)
    page.locator(".lost").wait_for(state="detached")
    page.locator("main .place .lead, main .place .card").first.wait_for()


def test_a_session_that_is_over_is_told(page: Any, world: Served) -> None:
    go(page, world, "home")
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.keyboard.press("u")
    page.locator("main h1", has_text="Log in").wait_for()
    assert "This session is over" in page.locator("main").inner_text()
    page.context.add_cookies(cookies)
    page.locator("main h1", has_text="Home").wait_for()
