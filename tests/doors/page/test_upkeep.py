"""Upkeep: findings by kind with one decision for many, what is done by itself, size over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commonplace import Memory
from tests.doors.page.conftest import serving
from tests.support import pages
from tests.support.pages import Served

COLOURS = ("Ada's favourite colour is blue", "Ada's favourite colour is green")


@pytest.fixture
def upkept(browser: Any, tmp_path: Path) -> Iterator[Served]:
    """A vault with something to mend, which nobody else looks at."""
    vault = tmp_path / "book"
    with Memory.open(vault, origin="owner", create=True) as memory:
        for text in COLOURS:
            memory.store(text)
        for number in range(3):
            memory.store(f"Shelf {number} holds paper")
            memory.store(f"shelf {number} holds paper.")
        memory.store("On holiday in the hills", valid_to="2020-01-01")
    with serving(tmp_path / "home", vault) as found:
        yield replace(found, browser=browser)


@pytest.fixture
def page(upkept: Served) -> Iterator[Any]:
    with pages.opened(upkept) as guarded:
        pages.go(guarded.page, upkept, "upkeep")
        yield guarded.page
        assert guarded.faults == []


def group(page: Any, title: str) -> Any:
    return page.locator("section.group", has=page.get_by_role("heading", name=title))


def texts(served: Served) -> set[str]:
    with Memory.open(served.vault, origin="owner") as memory:
        return {hit.record.text for hit in memory.search("", limit=100)}


def test_a_pair_shows_which_memory_goes_and_the_person_chooses(page: Any, upkept: Served) -> None:
    found = group(page, "Memories that disagree")
    assert COLOURS[0] in found.locator("li.goes").inner_text()
    found.locator("li.goes").get_by_role("button", name="Keep this").click()
    found.wait_for(state="detached")
    assert COLOURS[0] in texts(upkept)
    assert COLOURS[1] not in texts(upkept)
    page.locator("#said").get_by_role("button", name="Undo").click()
    found.wait_for()
    assert set(COLOURS) <= texts(upkept)


def test_many_findings_are_one_decision_that_is_shown_first(page: Any, upkept: Served) -> None:
    before = texts(upkept)
    found = group(page, "Said twice")
    found.get_by_role("button", name="Keep one of each").click()
    dialog = page.locator("dialog[open]")
    assert dialog.locator("del").count() == 3
    dialog.get_by_role("button", name="Keep one of each").click()
    found.wait_for(state="detached")
    assert len(before - texts(upkept)) == 3
    page.locator("#said").get_by_role("button", name="Undo").click()
    found.wait_for()
    assert texts(upkept) == before


def test_what_is_left_stays_away_and_can_be_looked_at_again(page: Any, upkept: Served) -> None:
    found = group(page, "Memories that disagree")
    found.get_by_role("button", name="Keep both").click()
    found.wait_for(state="detached")
    page.reload()
    pages.ready(page)
    group(page, "Said twice").wait_for()
    assert found.count() == 0
    page.get_by_role("button", name="1 left as they are").click()
    page.wait_for_url("**left=1*")
    found.get_by_role("button", name="Look at it again", exact=True).first.click()
    page.get_by_text("Nothing was left").wait_for()
    page.get_by_role("button", name="Back to the findings").click()
    found.wait_for()


def test_old_memories_are_never_offered_for_removal(sizes: Served) -> None:
    with pages.opened(sizes) as guarded:
        pages.go(guarded.page, sizes, "upkeep", "many")
        old = group(guarded.page, "Older than four months")
        assert old.get_by_role("button", name="Still true", exact=True).count() == 10
        assert old.get_by_role("button", name="Remove").count() == 0
        old.get_by_role("button", name="Show").click()
        old.locator(".card").nth(200).wait_for()
        assert guarded.faults == []


def test_a_schedule_is_set_here_run_by_hand_and_told(page: Any, upkept: Served) -> None:
    page.get_by_role("button", name="By itself").click()
    page.get_by_label("Look the memory over").select_option("weekly")
    row = page.locator("tr", has_text="Look the memory over")
    row.wait_for()
    assert "not yet" in row.inner_text()
    assert 'scan_schedule = "weekly"' in (upkept.vault / "commonplace.toml").read_text()
    row.get_by_role("button", name="Run now").focus()
    page.keyboard.press("Enter")
    row.get_by_text("duplicate").wait_for()
    assert "not yet" not in row.inner_text()
    page.get_by_label("Look the memory over").select_option("")
    page.get_by_text("Nothing is done by itself").wait_for()


def test_a_time_that_is_none_is_told_beside_it_and_stays_typed(page: Any, upkept: Served) -> None:
    page.get_by_role("button", name="By itself").click()
    page.get_by_label("Look the memory over").select_option("own")
    page.get_by_label("Time of: Look the memory over").fill("each full moon")
    page.keyboard.press("Enter")
    page.get_by_role("alert").filter(has_text="no schedule").wait_for()
    assert page.get_by_label("Time of: Look the memory over").input_value() == "each full moon"


def test_the_window_is_set_and_lifted(page: Any, upkept: Served) -> None:
    file = upkept.vault / "commonplace.toml"
    page.get_by_role("button", name="By itself").click()
    box = page.get_by_label("At most memories")
    box.fill("40")
    box.press("Enter")
    page.get_by_text("At most 40 memories from now on").wait_for()
    assert "memory_max_records = 40" in file.read_text()
    box.fill("")
    box.press("Enter")
    page.get_by_text("No limit of memories from now on").wait_for()
    assert "memory_max_records" not in file.read_text()


def test_size_over_time_is_drawn_and_said(sizes: Served) -> None:
    with pages.opened(sizes, 390) as guarded:
        pages.go(guarded.page, sizes, "upkeep?tab=size", "some")
        plot = guarded.page.locator("figure.plot [role=img]")
        plot.locator("canvas").wait_for()
        assert plot.get_attribute("aria-label").startswith("Memories: 300 on ")
        guarded.page.get_by_role("button", name="Tokens").click()
        guarded.page.locator("figure.plot [aria-label^='Tokens: ']").wait_for()
        assert guarded.faults == []


def test_tidying_is_offered_with_what_it_would_change(page: Any, upkept: Served) -> None:
    with Memory.open(upkept.vault, origin="owner") as memory:
        document = upkept.vault / memory.layout.memory
    loose = '- **17:57 UTC** | Likes dry toast <!-- {"id":"mem-toast","kind":"preference"} -->\n'
    text = document.read_text(encoding="utf-8") if document.exists() else "# Memory\n\n"
    document.write_text(text + loose, encoding="utf-8")
    page.get_by_role("button", name="Look again").click()
    found = group(page, "Could be tidier")
    found.get_by_role("button", name="Show what tidying would change").click()
    dialog = page.locator("dialog[open]")
    assert "Likes dry toast" in dialog.locator(".diff").inner_text()
    dialog.get_by_role("button", name="Tidy").click()
    found.wait_for(state="detached")
    page.locator("#said").get_by_role("button", name="Undo").click()
    found.wait_for()


def test_evidence_that_changed_is_renewed_or_dropped_where_it_is_found(
    page: Any, upkept: Served
) -> None:
    with Memory.open(upkept.vault, origin="owner") as memory:
        memory.update("The quay is stone.\n", document="quay.md")
        memory.update("The pier is wood.\n", document="pier.md")
        moor = memory.store("Moor at stone", evidence=["quay.md:1"]).id
        tie = memory.store("Tie up at wood", evidence=["pier.md:1"]).id
        memory.update("The quay is brick.\n", document="quay.md", mode="rewrite")
        memory.update("# Pier\n\nThe pier is wood.\n", document="pier.md", mode="rewrite")
    pages.go(page, upkept, "upkeep")
    found = group(page, "Evidence that changed")
    found.wait_for()
    assert "commonplace cite" not in found.inner_text()
    found.scroll_into_view_if_needed()
    pages.keep(page, "upkeep-evidence")
    card = found.locator(".card", has_text="Tie up at wood")
    card.get_by_role("button", name="Renew").click()
    card.wait_for(state="detached")
    found.get_by_role("button", name="Drop").click()
    found.wait_for(state="detached")
    with Memory.open(upkept.vault, origin="owner") as memory:
        assert "pier.md:3" in memory.get(tie).record.citations[0]
        assert memory.get(moor).record.citations == ()


def test_home_tells_how_many_findings_there_are(page: Any, upkept: Served) -> None:
    pages.go(page, upkept, "home")
    page.get_by_role("link", name="findings in Upkeep").wait_for()
    assert "Everything is in order" not in page.locator("main").inner_text()
    pages.keep(page, "home-findings")


def test_home_does_not_say_that_all_is_well_while_memory_is_paused(
    browser: Any, tmp_path: Path
) -> None:
    with Memory.open(tmp_path / "calm", origin="owner", create=True) as memory:
        memory.store("The boat is called Albatros", kind="fact")
        memory.update("# User\n\nAnn\n", document="USER.md", mode="rewrite")
    with serving(tmp_path / "gateway", tmp_path / "calm") as found:
        served = replace(found, browser=browser)
        with pages.opened(served) as guarded:
            pages.go(guarded.page, served, "home")
            guarded.page.get_by_text("Everything is in order.").wait_for()
            with Memory.open(served.vault, origin="owner") as memory:
                memory.pause()
            guarded.page.reload()
            guarded.page.get_by_text("Memory is paused").wait_for()
            guarded.page.get_by_text("last ran").or_(
                guarded.page.get_by_text("never ran")
            ).wait_for()
            assert "Everything is in order" not in guarded.page.locator("main").inner_text()
