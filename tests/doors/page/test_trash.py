"""Trash on the page: what was removed, by whom, and the way back."""

from __future__ import annotations

from typing import Any

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served, go, keep


def opened(world: Served) -> Memory:
    return Memory.open(world.vault, origin="owner")


def removed(world: Served, *texts: str) -> list[str]:
    with opened(world) as memory:
        ids = [memory.store(text, kind="fact").id for text in texts]
        memory.strike(ids)
    return ids


def test_a_removed_memory_can_be_brought_back(page: Any, world: Served) -> None:
    [key] = removed(world, "The ladder is short")
    go(page, world, "trash")
    card = page.locator(".card", has_text="The ladder is short")
    card.get_by_role("button", name="Bring back").click()
    card.wait_for(state="detached")
    with opened(world) as memory:
        assert memory.get(key).record.text == "The ladder is short"
    said = page.locator("#said", has_text="Brought back")
    said.get_by_role("button", name="Undo").click()
    card.wait_for()


def test_many_are_brought_back_at_once(page: Any, world: Served) -> None:
    ids = removed(world, "The first plank", "The second plank")
    go(page, world, "trash")
    for text in ("The first plank", "The second plank"):
        page.locator(".card", has_text=text).get_by_role("checkbox").check()
    keep(page, "trash-many")
    page.get_by_role("button", name="Bring back 2 memories").click()
    page.locator(".card", has_text="plank").first.wait_for(state="detached")
    with opened(world) as memory:
        assert [memory.get(key).record.text for key in ids] == [
            "The first plank",
            "The second plank",
        ]


def test_what_cannot_be_brought_back_is_counted_and_never_told(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The hidden number is 4711", kind="fact")
        memory.delete(stored.id)
    go(page, world, "trash")
    page.get_by_text("forgotten for good").wait_for()
    assert "4711" not in page.content()


def test_the_trash_says_how_something_left(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store("A hasty note", kind="note")
        memory.undo()
    go(page, world, "trash")
    page.locator(".card", has_text="A hasty note").get_by_text("Taken back by an undo").wait_for()


def test_an_empty_trash_says_what_it_is_for(sizes: Served) -> None:
    with pages.opened(sizes, 390, "dark") as guarded:
        go(guarded.page, sizes, "trash", "empty")
        guarded.page.get_by_text("The trash is empty").wait_for()
        pages.sound(guarded.page)
        assert guarded.faults == []
