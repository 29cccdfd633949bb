"""Map: points by what they say, with groups, lines, search, a window that moves, and a list."""

from __future__ import annotations

import re
from typing import Any

import pytest

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served


@pytest.fixture(scope="module")
def ids(world: Served) -> dict[str, str]:
    """The ids of some memories of the world by their first words."""
    with Memory.open(world.vault, origin="owner") as memory:
        old = memory.store("The anchor weighs 9 kg", kind="fact", tags=["boat"])
        new = memory.supersede(old.id, "The anchor weighs 10 kg")
        sail = memory.store("The sail is red", kind="preference", tags=["boat"])
        memory.rebuild()
    return {"old": old.id, "new": new.id, "sail": sail.id}


def opened(page: Any, world: Served, where: str = "map") -> Any:
    pages.go(page, world, where)
    room = page.locator(".map-room")
    room.wait_for()
    page.wait_for_function("() => document.querySelector('.map-room').dataset.scale")
    return room


def scale(room: Any) -> float:
    return float(room.get_attribute("data-scale"))


def scaled(page: Any, room: Any, was: float) -> float:
    """The scale, once it has changed."""
    page.wait_for_function(
        "was => Number(document.querySelector('.map-room').dataset.scale) !== was", arg=was
    )
    return scale(room)


def test_the_map_says_how_many_of_how_many_it_shows(
    page: Any, world: Served, ids: dict[str, str]
) -> None:
    opened(page, world)
    lead = page.locator(".lead").inner_text()
    count = re.match(r"(\d+) memories\.", lead)
    assert count
    told = page.locator(".map-room").get_attribute("aria-label")
    assert told == f"Map of {count[1]} memories"
    listed = page.locator(".map-list summary .count").all_inner_texts()
    assert sum(map(int, listed)) == int(count[1])


def test_many_memories_are_shown_as_the_newest_of_all(sizes: Served) -> None:
    with pages.opened(sizes, 390) as guarded:
        pages.go(guarded.page, sizes, "map", "many")
        lead = guarded.page.locator(".lead", has_text=re.compile(r"^1,500 of 5,\d{3} memories"))
        lead.wait_for()
        assert guarded.page.locator(".map-list details").count() >= 2
        pages.sound(guarded.page)
        assert guarded.faults == []


def test_a_point_is_read_with_the_keyboard(page: Any, world: Served, ids: dict[str, str]) -> None:
    opened(page, world)
    page.locator(".map-list summary").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    text = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")
    page.locator(".chosen-point", has_text=text).wait_for()
    assert "at=" in page.url
    page.get_by_role("link", name="Open this memory", exact=True).click()
    page.wait_for_url("**/memory/*")


def test_a_point_is_opened_by_a_click_on_it(page: Any, world: Served, ids: dict[str, str]) -> None:
    room = opened(page, world, f"map?at={ids['sail']}")
    page.locator(".chosen-point", has_text="The sail is red").wait_for()
    page.get_by_role("button", name="Close", exact=True).click()
    page.locator(".chosen-point").wait_for(state="detached")
    told = page.evaluate(
        """async (vault) => (await (await fetch(`/api/vaults/${vault}/map`)).json()).points""",
        "book",
    )
    size = room.bounding_box()
    point = page.evaluate(
        """async ([points, id, width, height]) => {
          const { fitted, placed } = await import("/assets/plane.js");
          const size = { width, height };
          return placed(fitted(points, width, height), size)(points.find((each) => each.id === id));
        }""",
        [told, ids["sail"], size["width"] - 2, size["height"] - 2],
    )
    page.mouse.move(size["x"] + 1 + point[0], size["y"] + 1 + point[1])
    page.locator(".map-tip", has_text="The sail is red").wait_for()
    page.mouse.down()
    page.mouse.up()
    page.locator(".chosen-point", has_text="The sail is red").wait_for()


def test_the_window_moves_with_the_wheel_the_pointer_and_the_keys(
    page: Any, world: Served, ids: dict[str, str]
) -> None:
    room = opened(page, world)
    canvas, box = page.locator(".map-room canvas"), room.bounding_box()
    assert scale(room) == 1
    canvas.hover()
    page.mouse.wheel(0, -300)
    near = scaled(page, room, 1)
    assert near > 1
    assert page.evaluate("scrollY") == 0
    at = room.get_attribute("data-at")
    page.mouse.move(box["x"] + 40, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 140, box["y"] + 260, steps=5)
    page.mouse.up()
    page.wait_for_function("was => document.querySelector('.map-room').dataset.at !== was", arg=at)
    canvas.focus()
    page.keyboard.press("-")
    assert scaled(page, room, near) < near
    page.keyboard.press("0")
    page.wait_for_function("() => document.querySelector('.map-room').dataset.scale === '1.000'")
    at = room.get_attribute("data-at")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("was => document.querySelector('.map-room').dataset.at !== was", arg=at)
    page.get_by_role("button", name="Closer").click()
    scaled(page, room, 1)
    page.get_by_role("button", name="Show all").click()
    page.wait_for_function("() => document.querySelector('.map-room').dataset.scale === '1.000'")


def test_a_search_and_a_kind_leave_what_fits(page: Any, world: Served, ids: dict[str, str]) -> None:
    opened(page, world)
    page.get_by_label("Search on the map").fill("anchor weighs")
    page.get_by_text(re.compile(r"^2 of \d+ memories fit\.$")).wait_for()
    page.locator(".map-list button", has_text="The anchor weighs 10 kg").wait_for()
    assert "words=anchor" in page.url
    page.get_by_label("Search on the map").fill("")
    page.get_by_role("group", name="Kinds").get_by_role("button", name="preference").click()
    page.locator(".map-list button", has_text="The sail is red").wait_for()
    assert not page.locator(".map-list button", has_text="Fact number").count()


PIXELS = """() => {
  const paper = document.querySelector(".map-room canvas");
  const { data } = paper.getContext("2d").getImageData(0, 0, paper.width, paper.height);
  let sum = 0;
  for (let at = 0; at < data.length; at += 1) sum = (sum * 31 + data[at]) % 1000000007;
  return sum;
}"""


def test_lines_are_drawn_when_they_are_asked_for(
    page: Any, world: Served, ids: dict[str, str]
) -> None:
    opened(page, world, f"map?at={ids['sail']}")
    page.locator(".chosen-point .card").wait_for()
    for label in ("Lines to what was replaced", "Lines between the same tags"):
        page.wait_for_timeout(100)
        before = page.evaluate(PIXELS)
        box = page.get_by_label(label)
        box.set_checked(not box.is_checked())
        page.wait_for_function(f"was => ({PIXELS})() !== was", arg=before)


def test_a_point_whose_memory_is_gone_is_told_so(page: Any, world: Served) -> None:
    with Memory.open(world.vault, origin="owner") as memory:
        gone = memory.store("The ladder stands behind the shed", kind="fact")
        memory.rebuild()
    opened(page, world)
    page.get_by_label("Search on the map").fill("ladder")
    point = page.locator(".map-list button", has_text="The ladder stands behind the shed")
    point.wait_for()
    with Memory.open(world.vault, origin="owner") as memory:
        memory.delete(gone.id)
    point.click()
    page.locator(".chosen-point [role=alert]").wait_for()
    page.get_by_role("button", name="Memories changed: draw it anew").click()
    point.wait_for(state="detached")


def test_a_kind_has_the_same_colour_in_every_vault(page: Any, world: Served) -> None:
    opened(page, world)
    chip = page.get_by_role("group", name="Kinds").get_by_role("button", name="fact")
    colour = chip.locator(".dot").evaluate("dot => dot.style.background")
    assert colour == "var(--tone-2)"


def test_an_empty_vault_has_no_map_yet(sizes: Served) -> None:
    with pages.opened(sizes) as guarded:
        pages.go(guarded.page, sizes, "map", "empty")
        guarded.page.get_by_text("No map yet").wait_for()
        assert guarded.faults == []
