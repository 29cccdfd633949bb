"""Home: remember something, what is new and who wrote it, what waits, and the first run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commonplace import Memory
from tests.doors.page.conftest import serving
from tests.support import pages
from tests.support.pages import Served, go, keep, ready


def remember(page: Any, text: str) -> Any:
    box = page.get_by_label("What should be remembered?")
    box.fill(text)
    return box


def told(page: Any, text: str) -> None:
    """Wait until it is said at the bottom."""
    page.locator("#said", has_text=text).wait_for()


def test_a_sentence_is_remembered_with_the_kind_that_its_words_tell(
    page: Any, world: Served
) -> None:
    go(page, world, "home")
    remember(page, "Ann prefers oat milk")
    assert page.get_by_label("Kind").input_value() == "preference"
    page.get_by_label("Tags").fill("#kitchen, people")
    page.get_by_role("button", name="Remember", exact=True).click()
    told(page, "Remembered.")
    page.locator(".card", has_text="Ann prefers oat milk").wait_for()
    assert page.get_by_label("What should be remembered?").input_value() == ""
    with Memory.open(world.vault, origin="owner") as memory:
        [found] = [hit.record for hit in memory.search("oat milk", kinds=("preference",), limit=1)]
    assert (found.kind, set(found.tags)) == ("preference", {"kitchen", "people"})


def test_the_kind_can_be_chosen(page: Any, world: Served) -> None:
    go(page, world, "home")
    remember(page, "Ann prefers the blue cup")
    page.get_by_label("Kind").select_option("context")
    page.keyboard.press("Control+Enter")
    told(page, "Remembered.")
    with Memory.open(world.vault, origin="owner") as memory:
        assert memory.search("the blue cup", limit=1)[0].record.kind == "context"


KINDS = {
    "Never deploy on Fridays": "instruction",
    "Bob likes long walks": "preference",
    "The gate is green": "fact",
    "Actually the meeting moved to noon": "correction",
    "We are working on the boat": "context",
    "Buy seeds": "note",
    "": "note",
}


def test_words_tell_the_kind(page: Any, world: Served) -> None:
    go(page, world, "home")
    found = page.evaluate(
        "async (texts) => texts.map((await import('/assets/remember.js')).kindOf)", list(KINDS)
    )
    assert found == list(KINDS.values())


def test_what_was_just_remembered_is_taken_back_at_once(page: Any, world: Served) -> None:
    go(page, world, "home")
    remember(page, "Stored by mistake")
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator("#said").get_by_role("button", name="Undo").click()
    told(page, "Taken back: “Stored by mistake”")
    page.locator("#said").get_by_role("button", name="Redo").click()
    told(page, "Made again: “Stored by mistake”")
    page.get_by_role("button", name="Undo").first.click()
    told(page, "Taken back: “Stored by mistake”")
    with Memory.open(world.vault, origin="owner") as memory:
        assert "Stored by mistake" not in memory.context().text


def test_undo_takes_back_your_own_change_and_never_somebody_else_s(
    page: Any, world: Served
) -> None:
    with Memory.open(world.vault, origin="owner") as memory:
        memory.store("Mine, and a mistake")
    with Memory.open(world.vault, session="agent") as memory:
        memory.store("The agent's own note")
    go(page, world, "home")
    page.keyboard.press("u")
    told(page, "Taken back: “Mine, and a mistake”")
    page.keyboard.press("r")
    told(page, "Made again: “Mine, and a mistake”")
    page.keyboard.press("u")
    told(page, "Taken back: “Mine, and a mistake”")
    with Memory.open(world.vault, origin="owner") as memory:
        texts = {hit.record.text for hit in memory.search("", limit=500)}
    assert "The agent's own note" in texts
    assert "Mine, and a mistake" not in texts


def test_a_memory_that_is_refused_stays_where_it_was_typed(page: Any, world: Served) -> None:
    go(page, world, "home")
    box = remember(page, "long " * 500)
    page.get_by_text("2,500 of 2,000 characters").wait_for()
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator("main [role=alert]", has_text="at most 2,000 are taken").wait_for()
    keep(page, "refused")
    assert box.input_value() == "long " * 500
    box.fill("The hose is behind the shed")
    page.context.set_offline(True)
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator("main [role=alert]", has_text="The gateway does not answer").wait_for()
    assert box.input_value() == "The hose is behind the shed"
    page.context.set_offline(False)
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator(".card", has_text="The hose is behind the shed").wait_for()


def test_what_is_typed_outlives_a_reload_and_the_end_of_the_session(
    page: Any, world: Served
) -> None:
    go(page, world, "home")
    remember(page, "Half a thought")
    page.reload()
    ready(page)
    box = page.get_by_label("What should be remembered?")
    assert box.input_value() == "Half a thought"
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.get_by_role("button", name="Remember", exact=True).click()
    page.locator(".over", has_text="commonplace serve --link").wait_for()
    assert box.input_value() == "Half a thought"
    keep(page, "session-over")
    page.context.add_cookies(cookies)
    page.locator(".over").wait_for(state="detached")
    page.get_by_role("button", name="Remember", exact=True).click()
    told(page, "Remembered.")


def test_what_an_agent_stores_appears_by_itself(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.locator("main .card").first.wait_for()
    with Memory.open(world.vault, session="agent") as memory:
        memory.store("The kettle is in the left cupboard")
    card = page.locator(".card", has_text="The kettle is in the left cupboard")
    card.wait_for()
    assert "The agent" in card.inner_text()


def test_home_tells_what_is_new_since_the_last_visit_and_who_wrote_it(
    page: Any, world: Served
) -> None:
    go(page, world, "home")
    page.get_by_role("heading", name="Lately").wait_for()
    long_ago = int(time.time() * 1000) - 3_600_000
    visit = json.dumps({"at": long_ago, "before": 0})
    with Memory.open(world.vault, session="agent") as memory:
        memory.store("Written while you were away")
    page.evaluate("visit => localStorage.setItem('commonplace:visit:', visit)", visit)
    page.reload()
    ready(page)
    page.get_by_role("heading", name="New since your last visit").wait_for()
    page.get_by_text("by the agent").wait_for()
    page.locator(".card", has_text="Written while you were away").wait_for()


def test_what_waits_is_told_with_the_way_to_it(page: Any, world: Served) -> None:
    go(page, world, "home")
    page.get_by_text("1 memory waits for your yes or no.").wait_for()
    page.get_by_role("link", name="Review", exact=True).last.click()
    page.wait_for_url(f"{world.base}/review")


@pytest.fixture
def fresh(browser: Any, tmp_path: Path) -> Iterator[Served]:
    """A gateway over a vault that nobody has used, where Cursor is installed."""
    home = tmp_path / "home"
    (home / ".cursor").mkdir(parents=True)
    Memory.open(tmp_path / "new", origin="owner", create=True).close()
    with serving(home, tmp_path / "new") as found:
        yield replace(found, browser=browser)


@pytest.mark.parametrize("width", pages.WIDTHS)
def test_an_empty_vault_is_begun_in_three_steps(fresh: Served, tmp_path: Path, width: int) -> None:
    with pages.opened(fresh, width) as guarded:
        page = guarded.page
        go(page, fresh, "home")
        keep(page, f"first-run-{width}")
        page.get_by_label("Who you are").fill("I am Ann, a gardener.")
        page.get_by_role("button", name="Keep this").click()
        page.get_by_text("Agents know who you are.").wait_for()
        assert (tmp_path / "new" / "USER.md").read_text() == "I am Ann, a gardener.\n"
        row = page.locator("li", has_text="Cursor").last
        row.get_by_role("button", name="Connect").click()
        page.get_by_text("Cursor uses this memory.").wait_for()
        assert (tmp_path / "home" / ".cursor" / "mcp.json").is_file()
        keep(page, f"first-run-done-{width}")
        page.get_by_label("Your first memory").fill("Ann prefers tea")
        page.get_by_role("button", name="Remember", exact=True).click()
        page.get_by_role("heading", name="Lately").wait_for()
        page.locator(".facts", has_text="Cursor").get_by_text("connected").wait_for()
        pages.sound(page)
        assert guarded.faults == []
