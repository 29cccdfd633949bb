"""Settings: options, clients, who may come in, copies to carry away, vaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commonplace import Memory
from commonplace.doors.admin.backup import check_backup
from tests.doors.page.conftest import serving
from tests.support import pages
from tests.support.pages import Served


def option(page: Any, name: str) -> Any:
    return page.locator(f"[data-option={name}]")


@pytest.fixture
def file(world: Served) -> Iterator[Path]:
    """The vault's file of options, which is empty again for the next test."""
    path = world.vault / "commonplace.toml"
    path.write_text("# My own words.\n", encoding="utf-8")
    yield path
    path.unlink()


def test_an_option_is_found_set_and_taken_back(page: Any, world: Served, file: Path) -> None:
    pages.go(page, world, "settings?tab=options")
    page.get_by_label("Find an option").fill("longest text")
    page.wait_for_url("**find=longest+text")
    row = option(page, "text_limit")
    row.get_by_role("textbox").fill("900")
    row.get_by_role("textbox").press("Enter")
    row.get_by_text("Set", exact=True).wait_for()
    assert file.read_text(encoding="utf-8") == "# My own words.\ntext_limit = 900\n"
    page.locator("#said").get_by_role("button", name="Undo").click()
    row.get_by_text("Set", exact=True).wait_for(state="detached")
    assert row.get_by_role("textbox").input_value() == "2000"
    assert file.read_text(encoding="utf-8") == "# My own words.\n"


def test_a_value_that_does_not_fit_is_told_beside_it(page: Any, world: Served, file: Path) -> None:
    pages.go(page, world, "settings?find=tag_limit")
    box = option(page, "tag_limit").get_by_role("textbox")
    box.fill("several")
    box.press("Enter")
    option(page, "tag_limit").get_by_text("no number from 0 up").wait_for()
    assert box.input_value() == "several"
    assert "tag_limit" not in file.read_text(encoding="utf-8")


def test_an_option_that_is_set_by_hand_alone_says_why(page: Any, world: Served) -> None:
    pages.go(page, world, "settings?find=summarizer_command")
    row = option(page, "summarizer_command")
    assert "only you set it, by hand" in row.inner_text()
    assert row.get_by_role("textbox").count() == 0


def test_a_token_is_made_shown_once_and_ended(page: Any, world: Served) -> None:
    pages.go(page, world, "settings?tab=access")
    page.get_by_role("button", name="New token").click()
    dialog = page.locator("dialog[open]")
    dialog.get_by_label("What will use it").fill("my phone")
    dialog.get_by_role("button", name="Make it").click()
    token = page.locator("code.token").inner_text()
    answer = page.request.get(
        f"{world.base}/api/vaults/book/records", headers={"authorization": f"Bearer {token}"}
    )
    assert answer.ok
    page.get_by_role("button", name="I have it").click()
    page.reload()
    pages.ready(page)
    assert token not in page.content()
    card = page.locator("[data-token='my phone']")
    assert "last used" in card.inner_text()
    card.get_by_role("button", name="End…").click()
    page.locator("dialog[open]").get_by_role("button", name="End it").click()
    page.get_by_text("No program may come in").wait_for()


def test_a_name_that_is_taken_is_told_in_the_dialog(page: Any, world: Served) -> None:
    pages.go(page, world, "settings?tab=access")
    for _ in range(2):
        page.get_by_role("button", name="New token").click()
        page.locator("dialog[open]").get_by_label("What will use it").fill("twice")
        page.locator("dialog[open]").get_by_role("button", name="Make it").click()
    page.locator("dialog[open]").get_by_text("A token 'twice'").wait_for()
    page.keyboard.press("Escape")
    page.locator("[data-token=twice]").get_by_role("button", name="End…").click()
    page.locator("dialog[open]").get_by_role("button", name="End it").click()
    page.locator("[data-token=twice]").wait_for(state="detached")


def test_memories_and_the_whole_vault_are_carried_away(
    page: Any, world: Served, tmp_path: Path
) -> None:
    pages.go(page, world, "settings?tab=copies")
    kept = {}
    for name in ("Markdown", "JSONL, with all data"):
        with page.expect_download() as waiting:
            page.get_by_role("link", name=name).click()
        kept[name] = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "Ann likes green tea (preference)" in kept["Markdown"]
    lines = kept["JSONL, with all data"].splitlines()
    assert "Ann likes green tea" in {json.loads(line)["text"] for line in lines}
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Make a backup").click()
    assert waiting.value.suggested_filename.startswith("book-")
    waiting.value.save_as(tmp_path / "kept.tar.gz")
    assert check_backup(tmp_path / "kept.tar.gz").format


@pytest.fixture
def two(browser: Any, tmp_path: Path) -> Iterator[Served]:
    """A gateway over two vaults, on a machine where a client has kept settings."""
    for name in ("book", "other"):
        with Memory.open(tmp_path / name, origin="owner", create=True) as memory:
            memory.store(f"This is the {name}", kind="fact")
    (tmp_path / "home" / ".cursor").mkdir(parents=True)
    with serving(tmp_path / "home", tmp_path / "book", tmp_path / "other") as found:
        yield replace(found, browser=browser)


def test_a_client_is_connected_after_its_files_were_shown(two: Served, tmp_path: Path) -> None:
    file = tmp_path / "home" / ".cursor" / "mcp.json"
    with pages.opened(two) as guarded:
        page = guarded.page
        pages.go(page, two, "settings?tab=clients")
        card = page.locator(".card", has_text="Cursor").first
        card.get_by_role("button", name="Connect…").click()
        dialog = page.locator("dialog[open]")
        dialog.get_by_text("Every line that changes").click()
        assert "mcp.json" in dialog.inner_text()
        assert not file.exists()
        dialog.get_by_role("button", name="Connect").click()
        card.get_by_text("Connected", exact=True).wait_for()
        assert str(two.vault) in file.read_text(encoding="utf-8")
        card.get_by_role("button", name="Disconnect…").click()
        page.locator("dialog[open]").get_by_role("button", name="Disconnect").click()
        card.get_by_text("Connected", exact=True).wait_for(state="detached")
        assert not file.exists()
        assert guarded.faults == []


def test_vaults_are_told_with_their_places_and_opened(two: Served) -> None:
    with pages.opened(two) as guarded:
        page = guarded.page
        pages.go(page, two, "settings?tab=vaults")
        assert str(two.vaults["other"]) in page.locator("main").inner_text()
        other = page.locator(".card", has_text="other")
        other.get_by_role("button", name="Open").click()
        page.wait_for_url("**vault=other")
        page.get_by_role("button", name="Dark").count()
        assert guarded.faults == []
