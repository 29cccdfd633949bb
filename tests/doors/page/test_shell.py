"""The frame of the page: who comes in, the keys, vaults, lost sessions and networks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
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
    page.wait_for_function("() => document.activeElement.tagName === 'H1'")


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


LISTENERS = """
  window.streams = [];
  window.EventSource = class extends EventSource {
    constructor(...given) { super(...given); window.streams.push(this); }
  };
"""
HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_that_nobody_sees_keeps_no_line_open_and_catches_up(
    page: Any, world: Served
) -> None:
    page.add_init_script(LISTENERS)
    go(page, world, "home")
    page.wait_for_function("() => streams.length === 1 && streams[0].readyState === 1")
    page.wait_for_timeout(300)
    page.evaluate(HIDE, True)
    assert page.evaluate("streams.map((each) => each.readyState)") == [2]
    with Memory.open(world.vault, session="agent") as memory:
        memory.store("The ladder is behind the door")
    page.evaluate(HIDE, False)
    page.locator(".card", has_text="The ladder is behind the door").wait_for()
    assert page.evaluate("streams.map((each) => each.readyState)") == [2, 1]


def test_a_place_that_answers_late_is_not_drawn_over_another(page: Any, world: Served) -> None:
    go(page, world, "home")
    slow = pages.Held(page, "**/places/agents.js")
    page.get_by_role("link", name="What agents see").first.click()
    slow.wait()
    page.get_by_role("link", name="Home", exact=True).click()
    page.locator("main h1", has_text="Home").wait_for()
    page.get_by_label("What should be remembered?").fill("half a thought")
    slow.let_go()
    page.wait_for_timeout(300)
    assert page.locator("main h1", has_text="Home").count() == 1
    box = page.get_by_label("What should be remembered?")
    assert box.input_value() == "half a thought"
    box.fill("")


def test_a_place_whose_code_did_not_come_at_first_comes_by_itself(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.route("**/places/agents.js", lambda route: route.abort(), times=1)
    page.get_by_role("link", name="What agents see").first.click()
    page.locator(".part").first.wait_for()


def test_words_typed_into_the_box_go_to_the_search(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.keyboard.press("/")
    page.keyboard.type("what does Ann drink, tea?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?words=what+does+Ann+drink%2C+tea%3F")
    assert page.get_by_label("Search this memory").input_value() == "what does Ann drink, tea?"


def test_every_place_is_reached_without_a_mouse(page: Any, world: Served) -> None:
    go(page, world, "home")
    keys = page.evaluate(
        "async () => (await import('/assets/places.js')).PLACES.map(({name, key}) => [name, key])"
    )
    assert len({key for _, key in keys}) == len(keys)
    for name, key in keys:
        page.locator("main h1").first.focus()
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"{world.base}/{name}*")


def test_j_and_k_go_from_one_entry_to_the_next(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.locator(".card").nth(2).wait_for()
    at = "[...document.querySelectorAll('.card')].indexOf(document.activeElement)"
    for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        assert page.evaluate(at) == place


def test_every_place_is_reached_on_a_phone(phone: Any, world: Served) -> None:
    go(phone, world, "home")
    phone.locator(".bottombar .badge").wait_for()
    names = phone.evaluate(
        "async () => (await import('/assets/places.js')).PLACES.map(({title}) => title)"
    )
    bar = phone.locator(".bottombar").get_by_role("link").all_inner_texts()
    phone.get_by_role("button", name="More").click()
    phone.wait_for_selector("dialog[open]")
    links = phone.locator("dialog[open] nav a").all()
    found = {link.locator("span").first.inner_text() for link in links}
    assert found | {each.split("\n")[0] for each in bar} == set(names)
    keep(phone, "phone-more")
    boxes = [link.bounding_box() for link in links]
    assert [box for box in boxes if box["x"] < 0 or box["x"] + box["width"] > 390] == []
    assert [box for box in boxes if box["height"] < 40] == []
    phone.locator("dialog").get_by_role("link", name="Documents").click()
    phone.wait_for_url(f"{world.base}/documents*")
    phone.locator("dialog[open]").wait_for(state="detached")


def test_going_back_leads_to_where_the_person_was(phone: Any, world: Served) -> None:
    go(phone, world, "agents")
    phone.evaluate("scrollTo(0, 900)")
    phone.locator(".bottombar").get_by_role("link", name="Home").click()
    phone.locator("main h1", has_text="Home").wait_for()
    assert phone.evaluate("scrollY") < 10
    phone.go_back()
    phone.wait_for_function("() => scrollY > 850")


ATTACKS = (
    "<script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "<svg onload=window.hit=1>",
    "[x](javascript:window.hit=1)",
    "![x](http://127.0.0.1:9/beacon.png)",
    "<a href='javascript:window.hit=1'>x</a>",
    "</textarea><script>window.hit=1</script>",
    "\"><iframe srcdoc='<script>parent.hit=1</script>'>",
    "<math><mtext></p><img src=x onerror=window.hit=1>",
    "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}",
    "`;window.hit=1;//",
    "<style>@import 'http://127.0.0.1:9/x.css'</style>",
    "<details open ontoggle=window.hit=1>",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>",
    "data:text/html,<script>window.hit=1</script>",
)
WRAPS = ("{}", "{} tail", "head {}", "**{}**", "`{}`", "# {}", "> {}", "- {}", "|{}|\n|-|", "a\n{}")


def test_no_attack_in_any_field_runs_or_calls_home(browser: Any, tmp_path: Path) -> None:
    """2,000 hostile strings as text, tag-like words, names, diary, documents and review entries."""
    strings = [wrap.format(attack) for wrap in WRAPS for attack in ATTACKS]
    texts = [f"{text} {number}" for number in range(13) for text in strings][:2000]
    vault = tmp_path / "hostile"
    with Memory.open(vault, origin="owner", text_limit=4000, create=True) as memory:
        stored = memory.store_all(
            {"text": text, "username": " ".join(text.split())[:60]} for text in texts
        )
        memory.update("\n\n".join(texts), document="notes/all.md", mode="rewrite")
        memory.write_diary("\n\n".join(texts[:160]))
        for text in texts[:160]:
            memory.conversations.record("user", text, session="talk")
    pages.hold(vault, *(f"Always {text}" for text in texts[:16]))
    more = ("documents/notes/all.md", "search?words=hit", "conversations/talk")
    own = tuple(f"memory/{record.id}" for record in stored[:8])
    with serving(tmp_path, vault) as found:
        served = replace(found, browser=browser)
        with pages.opened(served) as guarded:
            page = guarded.page
            for place in (*pages.PLACES, *more, *own):
                go(page, served, place)
                page.wait_for_timeout(400)
                assert page.evaluate("window.hit") is None, place
            asked = [fault for fault in guarded.faults if fault.startswith("asked")]
            assert asked == []
