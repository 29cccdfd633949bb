"""Told: what each session was told, what it cost, and pausing memory."""

from __future__ import annotations

from typing import Any

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served, go, keep


def tell(world: Served) -> None:
    """A session is told what fits a message, as by a hook."""
    with Memory.open(world.vault, session="s-told", origin="owner") as memory:
        memory.note_context("start", memory.context())


def test_a_session_is_read_with_each_line_its_reason_and_cost(page: Any, world: Served) -> None:
    tell(world)
    go(page, world, "told")
    page.get_by_role("heading", name="Tokens of each day").wait_for()
    keep(page, "told")
    page.get_by_role("link", name="s-told").first.click()
    page.get_by_role("heading", name="At the start").wait_for()
    assert "Ann likes green tea" in page.locator(".tellings").inner_text()
    pages.sound(page)
    keep(page, "told-session")


def test_memory_is_paused_and_the_pause_is_ended_wherever_one_is(page: Any, world: Served) -> None:
    tell(world)
    go(page, world, "told")
    page.get_by_role("button", name="Pause memory").click()
    page.get_by_text("Memory is paused: nothing is recorded").wait_for()
    with Memory.open(world.vault) as memory:
        assert memory.paused()
    go(page, world, "memory")
    page.get_by_role("button", name="End the pause").click()
    page.get_by_text("Memory is paused:").wait_for(state="detached")
    with Memory.open(world.vault) as memory:
        assert memory.paused() is None


def test_on_a_phone_it_needs_no_scrolling_sideways(phone: Any, world: Served) -> None:
    tell(world)
    go(phone, world, "told")
    phone.get_by_role("heading", name="Sessions").wait_for()
    pages.sound(phone)
    keep(phone, "told-phone")
