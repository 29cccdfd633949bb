"""Documents: the tree, the editor and the preview; saving, conflicts, versions, names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from commonplace import Memory
from tests.support import pages
from tests.support.pages import Served

EDITOR = ".pane.write .cm-content"
BY_THE_BROWSER = "Applying inline style violates"
"""The browser's own editing puts styles into the text that is typed, and drops them."""


@pytest.fixture
def page(world: Served) -> Iterator[Any]:
    with pages.opened(world) as guarded:
        yield guarded.page
        assert [each for each in guarded.faults if not each.startswith(BY_THE_BROWSER)] == []


@pytest.fixture
def phone(world: Served) -> Iterator[Any]:
    with pages.opened(world, 390) as guarded:
        yield guarded.page
        assert [each for each in guarded.faults if not each.startswith(BY_THE_BROWSER)] == []


def opened(page: Any, world: Served, name: str) -> Any:
    """The text of a document in the editor."""
    pages.go(page, world, f"documents/{name}")
    found = page.locator(EDITOR)
    found.wait_for(state="attached")
    return found


def edit(page: Any, text: str) -> None:
    page.locator(EDITOR).click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def write(world: Served, name: str, text: str, **how: Any) -> None:
    """What an agent does meanwhile."""
    with Memory.open(world.vault, **{"session": "agent", **how}) as memory:
        memory.update(text, document=name, mode="rewrite")


def status(page: Any, text: str) -> None:
    """Wait until the document's own line says so."""
    page.locator(".save-state", has_text=re.compile(f"^{text}")).wait_for()


def said(page: Any, text: str) -> None:
    page.locator("#said", has_text=re.compile(f"^{text}")).wait_for()


def menu(page: Any, item: str) -> None:
    page.get_by_role("button", name="More about this document").click()
    page.get_by_role("menuitem", name=item).click()


def heading(page: Any, name: str) -> None:
    page.locator("main h1 .file-name", has_text=re.compile(f"^{re.escape(name)}$")).wait_for()


class Held:
    """Requests that get no answer until they are let go."""

    def __init__(self, page: Any, where: str, method: str = "GET") -> None:
        self.page, self.where, self.method = page, where, method
        self.waiting: list[Any] = []
        self.open = False
        page.route(where, self.hold)

    def hold(self, route: Any) -> None:
        if self.open or route.request.method != self.method:
            route.fallback()
        else:
            self.waiting.append(route)

    def wait(self) -> None:
        """Until something was asked."""
        for _ in range(1200):
            if self.waiting:
                return
            self.page.wait_for_timeout(50)
        pytest.fail("nothing was asked")

    def let_go(self) -> None:
        self.open = True
        with self.page.expect_response(self.where):
            for each in self.waiting:
                each.continue_()


@pytest.mark.claim("claw.gateway-ui")
def test_a_document_is_edited_and_saved(page: Any, world: Served) -> None:
    opened(page, world, "SOUL.md")
    edit(page, "# Soul\n\nCalm and exact.\n")
    status(page, "Not saved yet")
    page.keyboard.press("Control+s")
    said(page, "Saved")
    status(page, "Saved")
    assert (world.vault / "SOUL.md").read_text() == "# Soul\n\nCalm and exact.\n"
    page.locator(".pane.read", has_text="Calm and exact.").wait_for()


def test_a_document_is_saved_by_the_key_wherever_the_focus_is(page: Any, world: Served) -> None:
    opened(page, world, "SOUL.md")
    edit(page, "# Soul\n\nSaved from the tree.\n")
    page.get_by_label("Filter by name").focus()
    page.keyboard.press("Control+s")
    status(page, "Saved")
    assert (world.vault / "SOUL.md").read_text() == "# Soul\n\nSaved from the tree.\n"


def test_an_agent_s_write_meanwhile_costs_no_line_of_either(page: Any, world: Served) -> None:
    write(world, "USER.md", "# User\n\none\ntwo\nthree\n", origin="owner")
    opened(page, world, "USER.md")
    edit(page, "# User\n\nmine\ntwo\nthree\n")
    write(world, "USER.md", "# User\n\ntheirs\ntwo\nthree\n", origin="owner")
    status(page, "Not saved yet; somebody wrote meanwhile")
    assert "mine" in page.locator(EDITOR).inner_text()
    page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.locator("dialog[open]")
    dialog.wait_for()
    both = page.get_by_label("Both together").inner_text()
    assert "mine" in both
    assert "theirs" in both
    pages.keep(page, "conflict")
    for tab, word, other in (("Yours", "mine", "theirs"), ("Theirs", "theirs", "mine")):
        dialog.get_by_role("button", name=tab, exact=True).click()
        shown = dialog.locator("pre.text-choice").inner_text()
        assert word in shown
        assert other not in shown
    page.get_by_role("button", name="Save both together").click()
    dialog.wait_for(state="detached")
    said(page, "Saved")
    saved = (world.vault / "USER.md").read_text()
    assert "mine" in saved
    assert "theirs" in saved


@pytest.mark.parametrize(("choice", "stays"), [("Keep mine", "mine"), ("Take theirs", "theirs")])
def test_of_two_texts_one_can_be_chosen(page: Any, world: Served, choice: str, stays: str) -> None:
    name, rest = f"notes/{stays}.md", "two\nthree\n"
    write(world, name, f"one\n{rest}", origin="owner")
    opened(page, world, name)
    edit(page, f"mine\n{rest}")
    write(world, name, f"theirs\n{rest}", origin="owner")
    status(page, "Not saved yet; somebody wrote meanwhile")
    page.keyboard.press("Control+s")
    page.get_by_role("button", name=choice).click()
    status(page, "Saved")
    assert (world.vault / name).read_text() == f"{stays}\n{rest}"
    assert page.locator(EDITOR).inner_text().split() == [stays, "two", "three"]


def test_who_decides_later_keeps_what_was_typed(page: Any, world: Served) -> None:
    write(world, "notes/later.md", "one\ntwo\nthree\n", origin="owner")
    opened(page, world, "notes/later.md")
    edit(page, "mine\ntwo\nthree\n")
    write(world, "notes/later.md", "theirs\ntwo\nthree\n", origin="owner")
    status(page, "Not saved yet; somebody wrote meanwhile")
    page.keyboard.press("Control+s")
    page.locator("dialog[open]").wait_for()
    page.keyboard.press("Escape")
    page.locator("dialog[open]").wait_for(state="detached")
    page.reload()
    status(page, "Not saved yet; somebody wrote meanwhile")
    assert page.locator(EDITOR).inner_text().split() == ["mine", "two", "three"]
    assert (world.vault / "notes/later.md").read_text() == "theirs\ntwo\nthree\n"


def test_what_was_typed_and_not_saved_waits_where_it_was_typed(page: Any, world: Served) -> None:
    text = opened(page, world, "SOUL.md")
    before = (world.vault / "SOUL.md").read_text()
    edit(page, "half a thought")
    page.get_by_role("link", name="Home", exact=True).click()
    page.locator("main .documents").wait_for(state="detached")
    page.go_back()
    status(page, "Not saved yet")
    assert text.inner_text().strip() == "half a thought"
    assert (world.vault / "SOUL.md").read_text() == before
    edit(page, before)
    status(page, "Saved")


def test_what_was_typed_outlives_a_reload(page: Any, world: Served) -> None:
    text = opened(page, world, "SOUL.md")
    before = (world.vault / "SOUL.md").read_text()
    edit(page, "before the reload")
    page.reload()
    status(page, "Not saved yet: typed before")
    assert text.inner_text().strip() == "before the reload"
    page.get_by_role("link", name="SOUL").get_by_label("not saved yet").wait_for()
    edit(page, before)
    status(page, "Saved")
    page.reload()
    status(page, "Saved")


def test_a_new_document_of_a_name_that_is_taken_opens_the_one_that_is_there(
    page: Any, world: Served
) -> None:
    write(world, "USER.md", "# User\n\nkept\n", origin="owner")
    opened(page, world, "SOUL.md")
    page.get_by_role("button", name="New document").click()
    page.get_by_label("Name, such as").fill("USER.md")
    page.get_by_role("button", name="Make it").click()
    said(page, "USER.md is there already")
    heading(page, "USER.md")
    page.locator(EDITOR, has_text="kept").wait_for()
    assert (world.vault / "USER.md").read_text() == "# User\n\nkept\n"


def test_a_new_document_is_made_and_opened(page: Any, world: Served) -> None:
    pages.go(page, world, "documents")
    page.get_by_role("button", name="New document").click()
    page.get_by_label("Name, such as").fill("so what?.md")
    page.get_by_role("button", name="Make it").click()
    page.locator("dialog [role=alert]", has_text="is not a document of this vault").wait_for()
    page.get_by_label("Name, such as").fill("notes/new.md")
    page.get_by_role("button", name="Make it").click()
    heading(page, "new.md")
    page.get_by_role("navigation", name="Documents").get_by_role("link", name="new").wait_for()
    assert (world.vault / "notes/new.md").read_text() == "# new\n"


def test_a_document_gets_another_name_and_the_old_one_back(page: Any, world: Served) -> None:
    write(world, "notes/boat.md", "# Boat\n", origin="owner")
    opened(page, world, "notes/boat.md")
    menu(page, "Rename")
    page.get_by_label("New name").fill("SOUL.md")
    page.get_by_role("button", name="Rename").click()
    page.locator("dialog [role=alert]", has_text="there already").wait_for()
    page.get_by_label("New name").fill("notes/ship.md")
    page.get_by_role("button", name="Rename").click()
    heading(page, "ship.md")
    assert (world.vault / "notes/ship.md").read_text() == "# Boat\n"
    assert not (world.vault / "notes/boat.md").exists()
    page.locator("#said").get_by_role("button", name="Undo").click()
    heading(page, "boat.md")
    assert (world.vault / "notes/boat.md").read_text() == "# Boat\n"


def test_a_removed_document_is_brought_back(page: Any, world: Served) -> None:
    write(world, "notes/short.md", "# Short\n", origin="owner")
    opened(page, world, "notes/short.md")
    menu(page, "Remove")
    said(page, "notes/short.md was removed")
    assert not (world.vault / "notes/short.md").exists()
    page.locator("#said").get_by_role("button", name="Undo").click()
    heading(page, "short.md")
    page.locator(EDITOR, has_text="Short").wait_for()
    assert (world.vault / "notes/short.md").read_text() == "# Short\n"


def test_what_is_typed_while_a_save_is_on_its_way_stays(page: Any, world: Served) -> None:
    write(world, "notes/typed.md", "one\ntwo\nthree\n")
    text = opened(page, world, "notes/typed.md")
    text.get_by_text("three").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("four")
    status(page, "Not saved yet")
    saving = Held(page, "**/documents/notes/typed.md", "PUT")
    page.keyboard.press("Control+s")
    saving.wait()
    status(page, "Saving…")
    page.keyboard.type(" and five")
    write(world, "notes/typed.md", "zero\none\ntwo\nthree\n")
    saving.let_go()
    said(page, "Saved, together with")
    status(page, "Not saved yet")
    assert text.inner_text().split() == ["zero", "one", "two", "three", "four", "and", "five"]
    page.keyboard.press("Control+s")
    status(page, "Saved")
    saved = (world.vault / "notes/typed.md").read_text()
    assert saved == "zero\none\ntwo\nthree\nfour and five"


def test_saving_twice_at_once_is_no_conflict_with_oneself(page: Any, world: Served) -> None:
    write(world, "notes/twice.md", "one\n")
    text = opened(page, world, "notes/twice.md")
    saving = Held(page, "**/documents/notes/twice.md", "PUT")
    edit(page, "first")
    page.keyboard.press("Control+s")
    saving.wait()
    edit(page, "second")
    page.keyboard.press("Control+s")
    saving.let_go()
    status(page, "Saved")
    assert not page.locator("dialog[open]").count()
    assert text.inner_text() == (world.vault / "notes/twice.md").read_text() == "second"


def test_a_save_that_is_answered_elsewhere_leaves_nothing_waiting(page: Any, world: Served) -> None:
    write(world, "notes/way.md", "one\ntwo\nthree\n", origin="owner")
    opened(page, world, "notes/way.md")
    edit(page, "one\ntwo\nsaved on the way out")
    saving = Held(page, "**/documents/notes/way.md", "PUT")
    page.keyboard.press("Control+s")
    saving.wait()
    page.get_by_role("link", name="Home", exact=True).click()
    page.locator("main .documents").wait_for(state="detached")
    saving.let_go()
    said(page, "Saved")
    page.go_back()
    status(page, "Saved")
    assert (world.vault / "notes/way.md").read_text() == "one\ntwo\nsaved on the way out"


def test_what_was_typed_into_a_document_that_was_removed_can_be_saved(
    page: Any, world: Served
) -> None:
    write(world, "notes/gone.md", "one\n", origin="owner")
    opened(page, world, "notes/gone.md")
    edit(page, "half a thought")
    with Memory.open(world.vault, session="agent") as memory:
        memory.remove("notes/gone.md")
    removed = "Not saved yet; it was removed meanwhile. Saving makes it again"
    status(page, removed)
    page.get_by_role("link", name="Home", exact=True).click()
    page.locator("main .documents").wait_for(state="detached")
    page.get_by_role("link", name="Documents", exact=True).first.click()
    page.get_by_role("navigation", name="Documents").get_by_role("link", name="gone").click()
    heading(page, "gone.md")
    status(page, removed)
    page.get_by_role("button", name="Save", exact=True).click()
    status(page, "Saved")
    assert (world.vault / "notes/gone.md").read_text() == "half a thought"


def test_the_end_of_a_session_costs_no_typed_text(world: Served) -> None:
    with pages.opened(world) as guarded:
        page = guarded.page
        opened(page, world, "SOUL.md")
        before = (world.vault / "SOUL.md").read_text()
        edit(page, before + "More.\n")
        cookies = page.context.cookies()
        page.context.clear_cookies()
        page.keyboard.press("Control+s")
        page.locator("[role=alert]", has_text="commonplace serve --link").wait_for()
        assert "More." in page.locator(EDITOR).inner_text()
        page.context.add_cookies(cookies)
        page.get_by_role("button", name="Save", exact=True).click()
        status(page, "Saved")
        page.locator("[role=alert]").first.wait_for(state="detached")
        assert (world.vault / "SOUL.md").read_text() == before + "More.\n"


def test_a_save_without_a_network_says_so_and_can_be_tried_again(page: Any, world: Served) -> None:
    write(world, "notes/lost.md", "one\n", origin="owner")
    opened(page, world, "notes/lost.md")
    edit(page, "typed in a tunnel\n")
    page.context.set_offline(True)
    page.keyboard.press("Control+s")
    page.locator(".not-saved", has_text="Not saved: The gateway does not answer").wait_for()
    status(page, "Not saved yet")
    page.context.set_offline(False)
    page.keyboard.press("Control+s")
    status(page, "Saved")
    page.locator(".not-saved").wait_for(state="detached")
    assert (world.vault / "notes/lost.md").read_text() == "typed in a tunnel\n"


def test_the_lines_of_a_document_end_as_they_did(page: Any, world: Served) -> None:
    path = world.vault / "notes/ends.md"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"one\r\ntwo\nthree\r\n")
    opened(page, world, "notes/ends.md")
    status(page, "Saved")
    page.locator(EDITOR).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("four")
    page.keyboard.press("Enter")
    status(page, "Not saved yet")
    page.keyboard.press("Control+s")
    status(page, "Saved")
    assert path.read_bytes() == b"one\r\ntwo\nthree\r\nfour\r\n"


@pytest.mark.parametrize("name", ["100% sure", "#1", "a+b & c"])
def test_a_document_of_any_name_is_opened(page: Any, world: Served, name: str) -> None:
    path = world.vault / "notes" / f"{name}.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"The {name} is here.\n")
    pages.go(page, world, "documents")
    tree = page.get_by_role("navigation", name="Documents")
    tree.get_by_role("link", name=name, exact=True).click()
    heading(page, f"{name}.md")
    page.locator(EDITOR, has_text=f"The {name} is here.").wait_for()
    page.reload()
    heading(page, f"{name}.md")


def test_an_address_that_cannot_be_read_is_no_fault(page: Any, world: Served) -> None:
    pages.go(page, world, "documents/100%.md")
    page.locator("main", has_text="There is no document 100%.md").wait_for()


def test_the_tree_remembers_which_folders_are_closed(page: Any, world: Served) -> None:
    write(world, "notes/deep/well.md", "water\n", origin="owner")
    opened(page, world, "SOUL.md")
    tree = page.get_by_role("navigation", name="Documents")
    tree.get_by_role("button", name="deep").click()
    tree.get_by_role("link", name="well").wait_for(state="detached")
    page.reload()
    tree.get_by_role("button", name="deep").wait_for()
    assert tree.get_by_role("button", name="deep").get_attribute("aria-expanded") == "false"
    page.get_by_label("Filter by name").fill("deep wel")
    tree.get_by_role("link", name="notes/deep/well").click()
    heading(page, "well.md")
    page.get_by_label("Filter by name").fill("no such name")
    page.get_by_text("No document has “no such name” in its name.").wait_for()


def test_a_document_opens_at_a_line(page: Any, world: Served) -> None:
    write(world, "notes/lines.md", "".join(f"line {at}\n" for at in range(1, 400)), origin="owner")
    opened(page, world, "notes/lines.md?line=300")
    page.locator(".cm-activeLine", has_text=re.compile("^line 300$")).wait_for()
    box = page.locator(".cm-activeLine").bounding_box()
    assert 0 < box["y"] < 900


def test_an_agent_s_write_leaves_the_cursor_where_it_is(page: Any, world: Served) -> None:
    lines = [f"line {number}" for number in range(1, 9)]
    write(world, "notes/cursor.md", "\n".join(lines) + "\n")
    text = opened(page, world, "notes/cursor.md?line=5")
    text.focus()
    written = ["above", *lines[:6], "between", *lines[6:]]
    write(world, "notes/cursor.md", "\n".join(written) + "\n")
    page.locator(".cm-line", has_text="between").wait_for()
    assert text.inner_text().split("\n")[: len(written)] == written
    assert page.locator(".cm-activeLine").inner_text() == "line 5"


def test_panes_scroll_by_themselves_and_save_stays_in_reach(page: Any, world: Served) -> None:
    write(world, "notes/tall.md", "".join(f"- line {at}\n" for at in range(400)), origin="owner")
    opened(page, world, "notes/tall.md")
    page.locator(".pane.read li", has_text="line 399").scroll_into_view_if_needed()
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert page.locator(EDITOR).get_by_text("- line 0", exact=True).is_visible()
    assert page.get_by_role("button", name="Save", exact=True).bounding_box()["y"] < 200


def test_a_phone_shows_one_pane_at_a_time(phone: Any, world: Served) -> None:
    write(world, "notes/phone.md", "# Phone\n\nhello\n", origin="owner")
    pages.go(phone, world, "documents")
    phone.get_by_role("navigation", name="Documents").get_by_role("link", name="phone").click()
    phone.locator(".pane.read", has_text="hello").wait_for()
    assert not phone.locator(".pane.write").is_visible()
    phone.get_by_role("button", name="Write", exact=True).click()
    phone.locator(EDITOR).wait_for()
    assert not phone.locator(".pane.read").is_visible()
    edit(phone, "# Phone\n\nfrom a phone\n")
    phone.get_by_role("button", name="Save", exact=True).click()
    status(phone, "Saved")
    assert (world.vault / "notes/phone.md").read_text() == "# Phone\n\nfrom a phone\n"
    pages.sound(phone)


def test_a_box_is_ticked_in_the_preview(page: Any, world: Served) -> None:
    text = "<!-- a\ncomment -->\n\n```\n- [ ] code\n```\n\n- [ ] rope\n- [x] mast\n  - [ ] top\n"
    write(world, "notes/tasks.md", text, origin="owner")
    opened(page, world, "notes/tasks.md")
    boxes = page.locator(".pane.read input[type=checkbox]")
    boxes.nth(2).wait_for()
    assert [box.is_checked() for box in boxes.all()] == [False, True, False]
    boxes.nth(2).check()
    status(page, "Saved")
    boxes.nth(1).uncheck()
    said(page, "Saved")
    page.locator(EDITOR, has_text="- [ ] mast").wait_for()
    status(page, "Saved")
    wanted = text.replace("[x] mast", "[ ] mast").replace("[ ] top", "[x] top")
    assert (world.vault / "notes/tasks.md").read_text() == wanted


def test_a_link_in_the_preview_leads_to_the_other_document(page: Any, world: Served) -> None:
    write(world, "notes/a.md", "See [the other](b%20c.md), [up](../SOUL.md).\n", origin="owner")
    write(world, "notes/b c.md", "The other is here.\n", origin="owner")
    opened(page, world, "notes/a.md")
    page.get_by_role("link", name="the other").click()
    heading(page, "b c.md")
    page.locator(EDITOR, has_text="The other is here.").wait_for()
    page.go_back()
    page.get_by_role("link", name="up", exact=True).click()
    heading(page, "SOUL.md")


def test_a_diary_entry_is_read_and_not_written(page: Any, world: Served) -> None:
    pages.go(page, world, "documents")
    with Memory.open(world.vault, origin="owner") as memory:
        [entry, *_] = memory.diary()
    opened(page, world, entry)
    page.get_by_text("Kept as it was written").wait_for()
    assert not page.get_by_role("button", name="Save", exact=True).count()
    page.locator(EDITOR).click()
    page.keyboard.type("x")
    assert "A quiet day in the garden." in page.locator(EDITOR).inner_text()
    assert "x" not in page.locator(EDITOR).inner_text().replace("exact", "")


def test_the_changes_of_an_editor_lead_from_one_text_to_the_other(page: Any, world: Served) -> None:
    pages.go(page, world, "home")
    chance = Random(7)
    texts = ["".join(chance.choices(("a\n", "b\n", "c", "\n", "äé\n"), k=n)) for n in range(24)]
    wrong = page.evaluate(
        """async (texts) => {
          const { changes } = await import("/assets/lines.js");
          const changed = (text, made) => made.reduceRight((now, { from, to, insert }) =>
            now.slice(0, from) + insert + now.slice(to), text);
          const leads = (one, other) => changed(one, changes(one, other)) === other;
          return texts.flatMap((one) => texts.filter((other) => !leads(one, other)));
        }""",
        texts,
    )
    assert wrong == []


def long_lines() -> str:
    """Lines of several thousand characters, much of them data that is not shown."""
    words = " ".join(f"word{number}" for number in range(400))
    data = " ".join(f"word{number}" for number in range(200))
    return "".join(
        f"- **bold {at}** `code` {words} [l](http://x.y) "
        f"<!-- {json.dumps({'id': f'mem-{at}', 'text': data})} -->\n"
        for at in range(120)
    )


NUMBERS = """() => {
  const root = document.querySelector(".pane.write .editor").shadowRoot;
  const top = (each) => Math.round(each.getBoundingClientRect().top);
  const lines = new Map([...root.querySelectorAll(".cm-line")]
    .map((each) => [top(each), each.textContent.match(/bold (\\d+)/)?.[1]]));
  return [...root.querySelectorAll(".cm-lineNumbers .cm-gutterElement")]
    .filter((each) => each.style.visibility !== "hidden" && lines.get(top(each)) !== undefined)
    .map((each) => [Number(each.textContent), Number(lines.get(top(each))) + 1]);
}"""


def test_line_numbers_stand_beside_their_lines_however_long_these_are(
    page: Any, world: Served
) -> None:
    path = world.vault / "notes/lengthy.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(long_lines())
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    for line in (1, 5, 100):
        opened(page, world, f"notes/lengthy.md?line={line}")
        for width in (1400, 1100, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.locator(EDITOR).hover(position={"x": 60, "y": 8})
            for _ in range(10):
                page.mouse.wheel(0, 900)
                page.wait_for_timeout(40)
            page.locator(EDITOR).focus()
            for key in ("Control+End", "x", "Control+Home", "PageDown", "PageDown", "PageDown"):
                page.keyboard.press(key)
                page.wait_for_timeout(40)
            numbers = page.evaluate(NUMBERS)
            assert numbers
            assert [each for each in numbers if each[0] != each[1]] == []
        page.evaluate("localStorage.clear()")
    assert [each for each in said if "Measure loop" in each] == []


CONTRASTS = """() => {
  const light = (colour) => {
    const part = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    const [red, green, blue] = colour.match(/[0-9.]+/g).map((each) => part(Number(each) / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const text = document.querySelector(".editor").shadowRoot.querySelector(".cm-content");
  const below = light(getComputedStyle(text.closest(".cm-editor")).backgroundColor);
  return [...text.querySelectorAll("*")].filter((each) => each.textContent.trim()).map((each) => {
    const above = light(getComputedStyle(each).color);
    return (Math.max(above, below) + 0.05) / (Math.min(above, below) + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_part_of_a_text_can_be_read_in_the_editor(world: Served, scheme: str) -> None:
    text = "# One\n\n- *a* **b** `c`\n\n[d](https://e.example) <f g='h'>\n\n```python\ni\n```\n"
    write(world, "notes/marks.md", text, origin="owner")
    with pages.opened(world, scheme=scheme) as guarded:
        opened(guarded.page, world, "notes/marks.md")
        guarded.page.locator(".cm-line", has_text="python").wait_for()
        assert min(guarded.page.evaluate(CONTRASTS)) >= 4.5


def recorded(text: str) -> str:
    """A line as a record is written, with more data than a difference shows of a line."""
    data = {"id": uuid4().hex, "type": "fact", "tags": [f"tag{number}" for number in range(20)]}
    return f"- {text} <!-- {json.dumps(data)} -->\n"


def test_the_data_of_a_memory_is_not_in_the_way(page: Any, world: Served) -> None:
    write(world, "notes/data.md", recorded("The shed is green"), origin="owner")
    text = opened(page, world, "notes/data.md")
    assert '"id"' not in text.inner_text()
    page.locator(".cm-data").first.wait_for()
    assert '"id"' not in page.locator(".pane.read").inner_text()


def test_a_conflict_is_told_as_it_is(page: Any, world: Served) -> None:
    write(world, "notes/shed.md", recorded("The shed is green"), origin="owner")
    opened(page, world, "notes/shed.md")
    unknown = {"etag": "sha256-of-something-forgotten"}

    def forget(route: Any) -> None:
        told = route.request.post_data_json if route.request.method == "PUT" else None
        route.continue_(post_data={**told, **unknown}) if told else route.fallback()

    page.route("**/documents/notes/shed.md", forget)
    page.locator(EDITOR).click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Mine.")
    page.keyboard.press("Control+s")
    page.locator("dialog[open]").wait_for()
    page.unroute("**/documents/notes/shed.md")
    told = page.locator("dialog").inner_text()
    assert "same lines" not in told
    assert "It changed meanwhile" in told
    assert '"id"' not in told
    page.get_by_role("button", name="Save both together").click()
    status(page, "Saved")
    assert '<!-- {"id":' in (world.vault / "notes/shed.md").read_text()


def test_what_a_save_would_drop_is_shown_without_its_data(page: Any, world: Served) -> None:
    planks = (f"Plank {number} is oak, and it is as long as any that I had" for number in range(12))
    write(world, "notes/planks.md", "".join(map(recorded, planks)), origin="owner")
    opened(page, world, "notes/planks.md")
    edit(page, "# Nothing\n")
    page.keyboard.press("Control+s")
    page.locator("dialog[open]", has_text="This drops much").wait_for()
    told = page.locator("dialog").inner_text()
    assert "Plank 3 is oak" in told
    assert '"id"' not in told
    assert "confirm=" not in told
    page.get_by_role("button", name="Drop it").click()
    status(page, "Saved")
    assert (world.vault / "notes/planks.md").read_text() == "# Nothing\n"


def version(page: Any, words: str) -> Any:
    return page.locator(".version-list button", has_text=words)


def test_versions_are_told_in_words_compared_and_brought_back(page: Any, world: Served) -> None:
    write(world, "notes/plan.md", "one\ntwo\nfirst\n", origin="owner")
    write(world, "notes/plan.md", "one\ntwo\nsecond\nthird\n", origin="owner")
    opened(page, world, "notes/plan.md")
    menu(page, "Versions")
    version(page, "2 lines added, 1 removed").wait_for()
    assert version(page, "2 lines added").locator(".you").inner_text() == "You"
    page.locator(".diff ins", has_text="third").wait_for()
    version(page, "3 lines added").click()
    page.locator(".diff ins", has_text="first").wait_for()
    page.get_by_role("button", name="Compared with now").click()
    page.locator(".diff del", has_text="first").wait_for()
    pages.keep(page, "versions")
    page.get_by_role("button", name="Bring this version back").click()
    said(page, "That version is back")
    page.locator(EDITOR, has_text="first").wait_for()
    assert (world.vault / "notes/plan.md").read_text() == "one\ntwo\nfirst\n"


def test_a_difference_is_shown_where_the_person_looks(page: Any, world: Served) -> None:
    same = "same\n" * 60
    for number in range(30):
        write(world, "notes/often.md", f"{same}number {number}\n", session=f"{number}")
    opened(page, world, "notes/often.md?view=versions")
    version(page, "61 lines added").scroll_into_view_if_needed()
    version(page, "1 line added, 1 removed").last.click()
    page.locator(".diff ins").wait_for()
    for seen in (page.locator(".diff ins"), page.get_by_role("button", name="Bring this")):
        box = seen.bounding_box()
        assert 0 <= box["y"] < 900 - box["height"]


def test_versions_can_be_read_on_a_phone(phone: Any, world: Served) -> None:
    write(world, "notes/small.md", "one\ntwo\nfirst\n", origin="owner")
    write(world, "notes/small.md", "one\ntwo\nsecond\n", origin="owner")
    opened(phone, world, "notes/small.md?view=versions")
    version(phone, "3 lines added").click()
    phone.locator(".diff ins", has_text="first").wait_for()
    pages.sound(phone)
    phone.get_by_role("button", name="Back to the text").click()
    phone.locator(".pane.past").wait_for(state="detached")


def test_each_line_is_told_with_who_wrote_it(page: Any, world: Served) -> None:
    write(world, "notes/both.md", "One line of mine.\n" * 3, origin="owner")
    with Memory.open(world.vault, session="agent") as memory:
        memory.update("And one of the agent's.", document="notes/both.md")
    opened(page, world, "notes/both.md")
    menu(page, "Who wrote which line")
    page.locator(".blame section").nth(1).wait_for()
    mine, theirs = page.locator(".blame section").all_inner_texts()
    assert mine.startswith("You")
    assert mine.count("One line of mine.") == 3
    assert "And one of the agent's." in theirs
    assert "You" not in theirs
    opened(page, world, "MEMORY.md?view=blame")
    page.locator(".blame section").first.wait_for()
    assert '{"id":' not in page.locator(".blame").inner_text()


def test_the_editor_comes_after_a_first_try_that_failed(page: Any, world: Served) -> None:
    page.route("**/vendor-editor.js", lambda route: route.abort(), times=1)
    pages.go(page, world, "home")
    page.get_by_role("link", name="Documents", exact=True).first.click()
    page.locator(EDITOR).wait_for()


def test_an_empty_vault_says_what_documents_are(sizes: Served) -> None:
    with pages.opened(sizes) as guarded:
        pages.go(guarded.page, sizes, "documents", "empty")
        pages.sound(guarded.page)
        assert guarded.faults == []


def test_a_draft_belongs_to_its_vault(sizes: Served) -> None:
    with pages.opened(sizes) as guarded:
        page = guarded.page
        pages.go(page, sizes, "documents/MEMORY.md", "some")
        page.locator(EDITOR).wait_for()
        edit(page, "of the vault some")
        page.get_by_label("Vault").first.select_option("many")
        page.wait_for_url("**vault=many")
        pages.go(page, sizes, "documents/MEMORY.md", "many")
        page.locator(EDITOR).wait_for(state="attached")
        assert "of the vault some" not in page.locator(EDITOR).inner_text()
        pages.go(page, sizes, "documents/MEMORY.md", "some")
        status(page, "Not saved yet")
        assert page.locator(EDITOR).inner_text() == "of the vault some"
