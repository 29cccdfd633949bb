"""Memory on the page: the list and its filters, edits in place, many at once, one memory's page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from commonplace import Memory
from tests.doors.page.conftest import serving
from tests.support import pages
from tests.support.pages import Served, go, keep, ready


def opened(world: Served, **given: Any) -> Memory:
    return Memory.open(world.vault, **{"origin": "owner", **given})


def card(page: Any, text: str) -> Any:
    return page.locator(".card", has_text=text).first


def choose(page: Any, item: str, of: str) -> None:
    """Take something from the menu of a memory."""
    card(page, of).get_by_role("button", name="More about this memory").click()
    page.get_by_role("menuitem", name=item).click()


def told(page: Any, text: str) -> Any:
    """What is said at the bottom of the page."""
    found = page.locator("#said", has_text=text)
    found.wait_for()
    return found


def test_the_list_is_filtered_while_typing_and_the_address_says_so(
    page: Any, world: Served
) -> None:
    go(page, world, "memory")
    page.get_by_label("Filter by words").fill("number 17")
    page.wait_for_url("**/memory?words=number+17")
    page.locator(".lead", has_text=", 1 match").wait_for()
    assert page.locator(".card").count() == 1
    page.reload()
    ready(page)
    assert page.get_by_label("Filter by words").input_value() == "number 17"
    assert page.locator(".card").count() == 1


def test_every_count_says_what_it_counts_and_agrees_with_the_list(page: Any, world: Served) -> None:
    with opened(world) as memory:
        total = memory.counts().memories
        facts = memory.counts().kinds["fact"]
    go(page, world, "memory")
    page.locator(".lead", has_text=f"{total} memories").wait_for()
    page.get_by_role("button", name=f"fact {facts}").click()
    page.locator(".lead", has_text=f"{total} memories, {facts} match").wait_for()
    page.wait_for_function("n => document.querySelectorAll('.card').length === n", arg=facts)
    page.get_by_role("button", name="Clear all").click()
    page.wait_for_url(f"{world.base}/memory")


def test_a_tag_of_a_memory_is_a_filter(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store("The tern is a small boat", kind="fact", tags=["project:boat", "sea"])
    go(page, world, "memory?words=tern")
    card(page, "The tern").get_by_role("button", name="boat").click()
    page.wait_for_url("**project=boat**")
    page.locator("aside").get_by_role("button", name="boat 1").wait_for()
    page.locator(".active").get_by_role("button", name="boat").click()
    page.wait_for_url(f"{world.base}/memory?words=tern")


def test_a_memory_is_edited_in_place(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The gate opens at seven", kind="fact", tags=["home"])
    go(page, world, "memory?words=gate+opens")
    choose(page, "Edit", "The gate opens")
    page.get_by_role("textbox", name="Text").fill("The gate opens at **eight**")
    page.get_by_label("Tags").fill("home, new")
    page.get_by_role("button", name="Save").click()
    page.locator(".card strong", has_text="eight").wait_for()
    with opened(world) as memory:
        now = memory.get(stored.id).record
        assert (now.text, now.tags) == ("The gate opens at **eight**", ("home", "new"))
    told(page, "Saved").get_by_role("button", name="Undo").click()
    card(page, "The gate opens at seven").wait_for()


def test_the_moment_of_a_rule_is_shown_and_edited(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("Dry-run the schema first", kind="instruction")
    go(page, world, f"memory/{stored.id}?edit=1")
    page.get_by_label("Tell it only at").fill("Bash(alembic *)\nwords: deploy, release")
    page.get_by_label("Deny the first such call").check()
    keep(page, "memory-moment-edit")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("It denies the first such call of a session.").wait_for()
    keep(page, "memory-moment")
    with opened(world) as memory:
        now = memory.get(stored.id).record
        assert now.when == ("Bash(alembic *)", "words: deploy, release")
        assert now.must
    go(page, world, "memory?words=dry-run+schema")
    card(page, "Dry-run").get_by_text("denies Bash(alembic *), words: deploy, release").wait_for()
    choose(page, "Edit", "Dry-run")
    page.get_by_label("Tell it only at").fill("git push")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").get_by_text("is no moment").wait_for()


def test_an_edit_that_meets_anothers_shows_both_and_keeps_what_was_typed(
    page: Any, world: Served
) -> None:
    with opened(world) as memory:
        stored = memory.store("The lamp is red", kind="fact")
    go(page, world, f"memory/{stored.id}?edit=1")
    page.get_by_role("textbox", name="Text").fill("The lamp is green and bright")
    with opened(world) as memory:
        memory.revise(stored.id, text="The lamp is blue", kind="fact", tags=[])
    page.get_by_role("button", name="Save").click()
    page.get_by_text("This memory was changed while you were typing").wait_for()
    keep(page, "memory-meanwhile")
    assert page.get_by_role("textbox", name="Text").input_value() == "The lamp is green and bright"
    assert "blue" in page.locator(".diff").first.inner_text()
    page.get_by_role("button", name="Keep mine").click()
    page.locator("article", has_text="The lamp is green and bright").wait_for()


def test_what_is_typed_into_a_memory_outlives_a_reload(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The rug is grey", kind="fact")
    go(page, world, f"memory/{stored.id}?edit=1")
    page.get_by_role("textbox", name="Text").fill("The rug is grey and worn")
    page.reload()
    ready(page)
    assert page.get_by_role("textbox", name="Text").input_value() == "The rug is grey and worn"
    page.get_by_role("button", name="Cancel").click()
    page.locator("article", has_text="The rug is grey").wait_for()


def test_many_memories_are_tagged_and_removed_with_one_undo_each(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store_all([{"text": f"Crate number {n}", "kind": "fact"} for n in range(3)])
    go(page, world, "memory?words=crate")
    page.get_by_role("button", name="Select", exact=True).click()
    page.get_by_role("button", name="Select all 3 on this page").click()
    page.locator(".bulk", has_text="3 memories selected").wait_for()
    keep(page, "memory-bulk")
    page.get_by_role("button", name="Tags…").click()
    page.get_by_label("Add these tags").fill("crate, store")
    page.get_by_role("button", name="Change tags").click()
    told(page, "Changed the tags of 3 memories")
    page.locator("aside").get_by_role("button", name="store 3").wait_for()
    page.locator(".bulk").get_by_role("button", name="Remove").click()
    page.get_by_text("Nothing matches").wait_for()
    told(page, "Removed 3 memories").get_by_role("button", name="Undo").click()
    page.locator(".lead", has_text=", 3 match").wait_for()
    with opened(world) as memory:
        assert memory.counts(tags=("store",)).matching == 3


def test_selected_memories_are_exported(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store("The tide turns at noon", kind="fact", tags=["sea"])
    go(page, world, "memory?words=tide+turns")
    card(page, "The tide turns").focus()
    page.keyboard.press("x")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as found:
        page.get_by_role("menuitem", name="Markdown file").click()
    with open(found.value.path(), encoding="utf-8") as file:
        assert "The tide turns at noon" in file.read()


def test_what_an_agent_stores_appears_by_itself(page: Any, world: Served) -> None:
    go(page, world, "memory?view=list")
    with opened(world, origin="agent") as memory:
        memory.store("The agent noted this by itself", kind="note")
    card(page, "The agent noted this by itself").wait_for()


def test_a_memory_that_is_refused_stays_as_it_was_typed(page: Any, world: Served) -> None:
    go(page, world, "memory")
    page.get_by_role("button", name="Remember", exact=True).click()
    box = page.get_by_label("What should be remembered?")
    box.fill("x" * 9000)
    page.locator("dialog").get_by_role("button", name="Remember").click()
    page.locator("dialog .wrong").first.wait_for()
    assert box.input_value() == "x" * 9000
    box.fill("The well is deep")
    page.locator("dialog").get_by_role("button", name="Remember").click()
    told(page, "Remembered")
    page.get_by_label("Filter by words").fill("well is deep")
    card(page, "The well is deep").wait_for()


def test_a_replacement_that_is_refused_stays_in_its_dialog(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store("The shed is locked", kind="fact")
    go(page, world, "memory?words=shed+is+locked")
    choose(page, "Replace", "The shed is locked")
    box = page.get_by_label("What is so now")
    box.fill("y" * 9000)
    page.get_by_role("button", name="Replace", exact=True).click()
    page.locator("dialog .wrong").first.wait_for()
    assert box.input_value() == "y" * 9000
    box.fill("The shed is open")
    page.get_by_role("button", name="Replace", exact=True).click()
    page.locator("article", has_text="The shed is open").wait_for()
    page.locator(".chain", has_text="The shed is locked").wait_for()


def test_who_reads_far_down_is_left_there_when_an_agent_stores(page: Any, world: Served) -> None:
    go(page, world, "memory?view=list")
    last = page.locator(".card").nth(24)
    last.focus()
    page.evaluate("scrollTo(0, document.activeElement.offsetTop - 200)")
    text = last.inner_text()
    before = last.bounding_box()["y"]
    with opened(world, origin="agent") as memory:
        memory.store("Something new at the top", kind="note")
    card(page, "Something new at the top").wait_for()
    focused = page.locator(".card:focus")
    assert focused.inner_text() == text
    assert abs(focused.bounding_box()["y"] - before) < 40


def test_j_and_k_go_through_memories_and_enter_opens_one(page: Any, world: Served) -> None:
    go(page, world, "memory?view=list&words=fact+number")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator(".card").first
    assert first.evaluate("card => card === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memory/mem-*")
    page.locator("article").wait_for()


def test_a_memory_is_forgotten_with_a_warning_and_a_receipt(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The lost glove is brown", kind="fact")
    go(page, world, "memory?words=lost+glove")
    choose(page, "Forget for good", "The lost glove")
    page.get_by_text("This can't be undone").wait_for()
    page.get_by_role("button", name="Forget it for good").click()
    page.locator("dialog", has_text="It was erased from").wait_for()
    with opened(world) as memory:
        assert memory.library.hit_of(stored.id) is None


def test_what_replaced_what_is_shown_in_words(page: Any, world: Served) -> None:
    with opened(world) as memory:
        first = memory.store("The anchor weighs 9 kg", kind="fact")
        second = memory.supersede(first.id, "The anchor weighs 10 kg")
        memory.supersede(second.id, "The anchor weighs 11 kg")
    go(page, world, "memory?words=anchor+weighs")
    page.locator(".lead", has_text=", 1 match").wait_for()
    page.get_by_label("Replaced ones too").check()
    old = card(page, "The anchor weighs 10 kg")
    old.wait_for()
    assert "replaced" in old.inner_text()
    old.focus()
    page.keyboard.press("Enter")
    page.locator(".chain li").first.wait_for()
    texts = [each.split("\n")[0] for each in page.locator(".chain li").all_inner_texts()]
    assert texts == [f"The anchor weighs {number} kg" for number in (9, 10, 11)]
    page.get_by_text("A newer memory replaced this one").wait_for()


def test_a_memory_tells_its_versions_and_an_older_one_comes_back(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The sail is white", kind="fact")
        memory.revise(stored.id, text="The sail is cream", kind="fact", tags=["boat"])
    go(page, world, f"memory/{stored.id}")
    page.locator(".versions .diff").wait_for()
    keep(page, "memory-versions")
    assert "white" in page.locator(".versions .diff").inner_text()
    page.get_by_role("button", name="Bring this version back").click()
    page.get_by_role("button", name="Bring it back").click()
    page.locator("article", has_text="The sail is white").wait_for()
    with opened(world) as memory:
        assert memory.get(stored.id).record.text == "The sail is white"


def test_a_memory_says_where_it_stands_and_leads_there(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The oar is ash", kind="fact")
        place = memory.get(stored.id).places[0]
    go(page, world, f"memory/{stored.id}")
    page.get_by_role("link", name=f"{place.document}, line {place.line}").click()
    page.wait_for_url(f"**/documents/{place.document}?line={place.line}")


def test_a_memory_that_was_removed_says_so_and_comes_back(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The bell is cracked", kind="fact")
        memory.strike([stored.id])
    go(page, world, f"memory/{stored.id}")
    page.get_by_role("button", name="Bring it back").click()
    page.locator("article", has_text="The bell is cracked").wait_for()
    go(page, world, "memory/mem-nobody-knows")
    page.get_by_text("There is no such memory").wait_for()


def test_a_long_memory_is_folded_and_its_markdown_is_drawn(page: Any, world: Served) -> None:
    text = "The plan\n\n" + "\n".join(f"- step **{n}**" for n in range(30))
    with opened(world) as memory:
        memory.store(text, kind="note", tags=["plan"])
    go(page, world, "memory?tag=plan")
    shown = card(page, "The plan")
    shown.locator("li strong").first.wait_for()
    short = shown.bounding_box()["height"]
    shown.get_by_role("button", name="Show all of it").click()
    page.wait_for_function("n => document.querySelector('.card').offsetHeight > n + 100", arg=short)


def test_filters_are_reached_on_a_phone(phone: Any, world: Served) -> None:
    go(phone, world, "memory")
    phone.get_by_role("button", name="Filters").click()
    keep(phone, "memory-filters-phone")
    phone.locator("dialog").get_by_role("button", name="preference").first.click()
    phone.wait_for_url("**kind=preference**")
    phone.locator("dialog").get_by_role("button", name="Close").click()
    phone.locator(".active").get_by_role("button", name="preference").wait_for()
    pages.sound(phone)


def test_five_thousand_are_shown_a_page_at_a_time(sizes: Served) -> None:
    with pages.opened(sizes) as guarded:
        page = guarded.page
        go(page, sizes, "memory?view=list", "many")
        page.locator(".lead", has_text="5,000 memories").wait_for()
        assert page.locator(".card").count() == 50
        page.get_by_text("1 to 50 of 5,000").wait_for()
        page.get_by_role("button", name="Next").click()
        page.get_by_text("51 to 100 of 5,000").wait_for()
        page.wait_for_url("**page=2**")
        page.go_back()
        page.get_by_text("1 to 50 of 5,000").wait_for()
        page.get_by_role("button", name="By kind").click()
        page.locator(".kinds").first.wait_for()
        assert page.locator(".card").count() <= 100
        assert guarded.faults == []


@pytest.fixture(scope="module")
def hostile(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A vault whose memories try to be more than text."""
    vault = tmp_path_factory.mktemp("hostile") / "book"
    with Memory.open(vault, origin="owner", create=True) as memory:
        memory.store("<img src=x onerror=alert(1)> **bold** <script>alert(2)</script>", kind="fact")
        memory.store("[press](javascript:alert(3)) ![far](https://elsewhere.example/x.png)")
        memory.store("A tag", tags=["<b>tag</b>", 'x" onclick="alert(4)'])
    with serving(tmp_path_factory.mktemp("home"), vault) as found:
        yield replace(found, browser=browser)


@pytest.mark.parametrize("where", ["memory?view=list", "search?words=bold+press+tag+alert"])
def test_no_memory_runs_or_calls_home(hostile: Served, where: str) -> None:
    with pages.opened(hostile) as guarded:
        alerts: list[str] = []

        def heard(dialog: Any) -> None:
            alerts.append(dialog.message)
            dialog.dismiss()

        guarded.page.on("dialog", heard)
        go(guarded.page, hostile, where)
        guarded.page.locator(".card").first.wait_for()
        pages.sound(guarded.page)
        assert alerts == []
        assert guarded.page.locator(".card script, .card [onclick], .card [onerror]").count() == 0
        assert guarded.faults == []


def test_escape_closes_an_edit_and_costs_no_typed_text(page: Any, world: Served) -> None:
    with opened(world) as memory:
        memory.store("The kite is torn", kind="fact")
    go(page, world, "memory?words=kite+is+torn")
    card(page, "The kite").focus()
    page.keyboard.press("e")
    page.get_by_role("textbox", name="Text").fill("The kite is torn at the tail")
    page.keyboard.press("Escape")
    card(page, "edited, not saved").wait_for()
    card(page, "The kite").focus()
    page.keyboard.press("e")
    page.get_by_role("button", name="Save").wait_for()
    typed = page.get_by_role("textbox", name="Text").input_value()
    assert typed == "The kite is torn at the tail"
    page.get_by_role("button", name="Cancel").click()
    page.locator(".card", has_text="edited, not saved").wait_for(state="detached")


@pytest.mark.parametrize("where", ["memory/{id}", "memory/{id}?edit=1"])
@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (390, "dark")])
def test_a_memorys_page_is_sound_and_axe_finds_nothing_serious(
    world: Served, axe: str, where: str, width: int, scheme: str
) -> None:
    with opened(world) as memory:
        old = memory.store("The mast is oak", kind="fact", tags=["project:boat"])
        memory.revise(old.id, text="The mast is spruce", kind="fact", tags=[])
        new = memory.supersede(old.id, "The mast is carbon")
    with pages.opened(world, width, scheme, bypass_csp=True) as guarded:
        go(guarded.page, world, where.format(id=old.id))
        guarded.page.locator(".versions li").first.wait_for()
        keep(guarded.page, f"one-memory-{width}-{scheme}{'-edit' * ('edit' in where)}")
        pages.sound(guarded.page)
        pages.nothing_serious(guarded.page, axe)
    with opened(world) as memory:
        memory.delete_all([new.id, old.id])


def test_a_memory_is_typed_on_a_phone(phone: Any, world: Served) -> None:
    go(phone, world, "memory")
    phone.get_by_role("button", name="Remember", exact=True).click()
    phone.get_by_label("What should be remembered?").fill("The phone is on the shelf")
    keep(phone, "memory-remember-phone")
    pages.sound(phone)
    phone.locator("dialog").get_by_role("button", name="Remember").click()
    told(phone, "Remembered")
    card(phone, "The phone is on the shelf").wait_for()


def test_a_memory_is_pinned_from_its_menu_and_found_by_the_filter(page: Any, world: Served) -> None:
    with opened(world) as memory:
        key = memory.store("Ring the bell twice", kind="instruction").id
    go(page, world, "memory?words=bell+twice")
    choose(page, "Pin", "Ring the bell")
    told(page, "Pinned: agents are told it before all others.")
    card(page, "Ring the bell").locator(".pinned").wait_for()
    go(page, world, "memory?pinned=1")
    page.locator(".lead", has_text=", 1 match").wait_for()
    assert page.locator(".card").count() == 1
    choose(page, "Take the pin off", "Ring the bell")
    page.get_by_text("Nothing matches").wait_for()
    page.locator("#said").get_by_role("button", name="Undo").click()
    card(page, "Ring the bell").wait_for()
    with opened(world) as memory:
        assert memory.get(key).record.pinned
        memory.unpin(key)


def test_a_memory_is_called_useful_or_wrong_on_its_page(page: Any, world: Served) -> None:
    with opened(world) as memory:
        key = memory.store("The cellar key hangs left", kind="fact").id
    go(page, world, f"memory/{key}")
    page.get_by_role("button", name="Useful").click()
    page.locator(".verdicts", has_text="useful once").wait_for()
    page.get_by_role("button", name="Wrong").click()
    told(page, "What is so instead?")
    box = page.get_by_label("Text", exact=True)
    box.wait_for()
    with opened(world) as memory:
        record = memory.get(key).record
        assert (record.useful, len(record.wrong)) == ((), 1)
    box.fill("The cellar key hangs right")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The cellar key hangs right").first.wait_for()
    with opened(world) as memory:
        # What was said was said of other words.
        assert memory.get(key).record.wrong == ()


def test_a_memory_is_given_an_end_in_words(page: Any, world: Served) -> None:
    with opened(world) as memory:
        stored = memory.store("The slipway is closed", kind="fact")
    go(page, world, f"memory/{stored.id}?edit=1")
    page.get_by_label("Holds until").fill("2030-06-30")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("2030-06-30").wait_for()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Holds until").fill("")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("2030-06-30").wait_for(state="hidden")
    with opened(world) as memory:
        assert memory.get(stored.id).record.valid_to == ""


def test_a_memory_shows_the_lines_that_it_rests_on_and_renews_them(
    page: Any, world: Served
) -> None:
    with opened(world) as memory:
        memory.update("The quay is stone.\n", document="quay.md")
        stored = memory.store("Moor at stone", kind="fact", evidence=["quay.md:1"])
        memory.update("# Quay\n\nThe quay is stone.\n", document="quay.md", mode="rewrite")
    go(page, world, f"memory/{stored.id}")
    page.get_by_text("Now at quay.md:3").wait_for()
    page.get_by_role("button", name="Renew").click()
    page.locator("code", has_text="quay.md:3").wait_for()
    page.get_by_text("as it was").wait_for()
    page.get_by_role("button", name="Drop quay.md:3").click()
    page.get_by_text("The files it rests on").wait_for(state="hidden")
    with opened(world) as memory:
        assert memory.get(stored.id).record.citations == ()


def test_a_memory_that_is_over_or_has_not_begun_says_so(page: Any, world: Served) -> None:
    with opened(world) as memory:
        over = memory.store("The lock was shut for repairs", kind="fact", valid_to="2020-01-01")
        memory.store("The lock has new hours", kind="fact", valid_from="2090-01-01")
        memory.store("The lock is 5 m wide", kind="fact", valid_to="2090-01-01")
    go(page, world, "memory?words=the+lock")
    assert "over since 2020-01-01" in card(page, "shut for repairs").inner_text()
    assert "from 2090-01-01" in card(page, "new hours").inner_text()
    assert "2090" not in card(page, "5 m wide").inner_text()
    keep(page, "memory-over")
    go(page, world, f"memory/{over.id}")
    page.locator("h1", has_text="over since 2020-01-01").wait_for()
    keep(page, "memory-over-one")


def test_versions_say_which_is_now_and_what_each_changed(page: Any, world: Served) -> None:
    with opened(world) as memory:
        key = memory.store("The mast is spruce", kind="fact").id
        memory.pin(key)
        memory.update("The mast is of spruce.\n", document="mast.md")
        memory.cite(key, "mast.md:1")
        memory.undo()
    go(page, world, f"memory/{key}")
    page.locator(".versions li").first.wait_for()
    told = page.locator(".versions li").all_inner_texts()
    assert [("as it is now" in each) for each in told] == [True, False, False, False]
    assert [each.split(" You")[0] for each in told] == [
        "Taken back: what it rests on",
        "Changed: what it rests on",
        "Pinned",
        "Remembered",
    ]
    keep(page, "memory-versions-besides")


def test_a_writer_has_one_name_wherever_it_is_shown(page: Any, world: Served) -> None:
    with opened(world, session="s-claude") as memory:
        memory.sessions.note("s-claude", client="claude")
    with Memory.open(world.vault, session="s-claude") as memory:
        key = memory.store("The tiller is oak", kind="fact").id
    go(page, world, "memory?words=tiller")
    assert "Claude Code" in card(page, "The tiller is oak").inner_text()
    go(page, world, f"memory/{key}")
    page.locator(".versions li", has_text="Claude Code").wait_for()
    assert "Claude Code" in page.locator(".about").first.inner_text()
    go(page, world, "home")
    page.locator(".card", has_text="The tiller is oak").wait_for()
    assert "Claude Code" in page.locator(".card", has_text="The tiller is oak").inner_text()
