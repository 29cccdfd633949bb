"""Days: the year as a strip with its scale, the months, one day to read, how the memory grew."""

from __future__ import annotations

import re
from typing import Any

import pytest

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served


def today(world: Served) -> str:
    with Memory.open(world.vault, origin="owner") as memory:
        return memory.clock.today().isoformat()


def dated(world: Served, day: str, text: str) -> None:
    """A line that a person wrote with a day of its own."""
    line = f'- {text} <!-- {{"id":"mem-{day}-x","timestamp":"{day}T12:05:06.000Z"}} -->\n'
    with Memory.open(world.vault, origin="owner") as memory:
        memory.update(line, document=f"notes/{day}.md", mode="rewrite")


def test_a_day_of_the_calendar_is_read(page: Any, world: Served) -> None:
    pages.go(page, world, "days")
    page.locator(".calendar .today a").click()
    page.locator("main h1", has_text=re.compile(r"\d{4}$")).wait_for()
    page.get_by_text("A quiet day in the garden.").wait_for()
    assert page.get_by_text("Fact number 7 about the garden").count() == 1
    pages.sound(page)


def test_a_log_is_read_without_the_data_of_its_records(page: Any, world: Served) -> None:
    with Memory.open(world.vault, origin="owner") as memory:
        memory.update(
            '- Walked far <!-- {"id":"mem-far-1"} -->\n',
            document="memory/2025-03-04.md",
            mode="rewrite",
        )
    pages.go(page, world, "days/2025-03-04")
    read = page.get_by_role("button", name="Read the log here")
    if read.count():
        read.click()
    page.locator(".paper", has_text="Walked far").wait_for()
    assert "mem-far" not in page.locator("main").inner_text()
    page.get_by_role("link", name="Open the document").click()
    page.locator("main h1", has_text="2025-03-04.md").wait_for()


def test_a_day_lists_its_conversations(page: Any, world: Served) -> None:
    with Memory.open(world.vault) as memory:
        memory.conversations.record(
            "user", "Where is the ferry?", session="old talk", time="2024-02-03T12:00:00.000Z"
        )
    pages.go(page, world, "days/2024-02-03")
    page.get_by_role("link", name="Where is the ferry?").click()
    page.locator("main h1", has_text="Where is the ferry?").wait_for()


def test_a_day_without_anything_says_so(page: Any, world: Served) -> None:
    pages.go(page, world, "days/1999-12-31")
    page.get_by_text("Nothing on this day").wait_for()


def test_another_month_leaves_the_focus_and_the_strip_where_they_were(
    page: Any, world: Served
) -> None:
    page.set_viewport_size({"width": 600, "height": 850})
    pages.go(page, world, "days")
    scrolled = "document.querySelector('.heat').scrollLeft"
    month = page.locator(".month-head h2")
    before, name = page.evaluate(scrolled), month.inner_text()
    assert before > 0
    page.get_by_label("Month before").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "was => document.querySelector('.month-head h2').textContent !== was", arg=name
    )
    assert page.evaluate("document.activeElement.ariaLabel") == "Month before"
    assert page.evaluate(scrolled) == before
    page.get_by_label("Month after").click()
    assert month.inner_text() == name


def test_the_strip_counts_the_days_that_it_shows(page: Any, world: Served) -> None:
    dated(world, "2001-02-03", "Long ago")
    pages.go(page, world, "days/2001-02")
    page.get_by_label(re.compile("3 February 2001: 1 memory")).wait_for()
    shown = page.locator(".heat-days button").evaluate_all(
        "cells => cells.reduce((sum, cell) => sum + Number(cell.title.match(/: ([\\d,]+)/)[1]"
        ".replace(',', '')), 0)"
    )
    told = page.locator(".heat").get_attribute("aria-label")
    assert told == f"{shown} memories over the last year, by day"


def test_a_day_of_the_strip_is_opened_with_the_keys(page: Any, world: Served) -> None:
    pages.go(page, world, "days")
    last = page.locator(".heat-days button").last
    last.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    chosen = page.evaluate("document.activeElement.dataset.day")
    assert chosen < last.get_attribute("data-day")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/days/{chosen}")


LIGHT = """cells => cells.map((cell) => {
  const paint = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const brush = paint.getContext("2d");
  brush.fillStyle = getComputedStyle(cell).backgroundColor;
  brush.fillRect(0, 0, 1, 1);
  const [red, green, blue] = brush.getImageData(0, 0, 1, 1).data;
  return red + green + blue;
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_scale_goes_one_way_and_says_what_its_colours_mean(world: Served, scheme: str) -> None:
    with pages.opened(world, scheme=scheme) as guarded:
        pages.go(guarded.page, world, "days")
        scale = guarded.page.locator(".heat-scale i")
        lights = scale.evaluate_all(LIGHT)
        assert lights == sorted(lights, reverse=scheme == "light")
        assert len(set(lights)) == 5
        words = guarded.page.locator(".heat-scale").inner_text()
        assert "none" in words
        assert "or more" in words


@pytest.mark.parametrize("month", ["garbage", "2026-13", "99"])
def test_an_address_that_names_no_month_shows_the_last_one(
    page: Any, world: Served, month: str
) -> None:
    pages.go(page, world, "days")
    usual = page.locator(".month-head h2").inner_text()
    pages.go(page, world, f"days/{month}")
    assert page.locator(".month-head h2").inner_text() == usual


@pytest.mark.parametrize("width", [1400, 390])
def test_how_the_memory_grew_is_drawn(world: Served, width: int) -> None:
    for month in (1, 2, 3):
        dated(world, f"2002-0{month}-03", f"Grew {month}")
    with pages.opened(world, width) as guarded:
        pages.go(guarded.page, world, "days")
        guarded.page.locator(".plot canvas").wait_for()
        guarded.page.get_by_role("button", name="Characters").click()
        guarded.page.locator(".plot [aria-label^=Characters] canvas").wait_for()
        pages.sound(guarded.page)
        assert guarded.faults == []
