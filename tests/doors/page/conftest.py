"""The page's worlds: one gateway over vaults of every size, and one of its own for each module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from msgspec.structs import replace

from commonplace import Memory
from tests.support import browser as chromium
from tests.support import pages
from tests.support.pages import Served


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For a module, not for the session: while it is open, no other test can run a loop."""
    with chromium.opened() as made:
        yield made


@contextmanager
def serving(home: Path, *vaults: Path) -> Iterator[Served]:
    """A gateway over vaults, with a person who followed its link."""
    with chromium.serving(vaults[0], home, *vaults[1:]) as (base, link):
        yield Served(base, link, None, logged_in(base, link), {each.name: each for each in vaults})


def logged_in(base: str, link: str) -> dict[str, Any]:
    """What a browser keeps of somebody who followed the link."""
    told = json.dumps({"code": link.rpartition("=")[2]}).encode()
    with urlopen(Request(f"{base}/api/login", told, {"content-type": "application/json"})) as said:
        name, _, value = said.headers["set-cookie"].partition(";")[0].partition("=")
    cookie = {"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}
    return {"cookies": [cookie], "origins": []}


@pytest.fixture(scope="session")
def gateway_of_sizes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("sizes")
    vaults = [home / name for name in pages.SIZES]
    for vault, count in zip(vaults, pages.SIZES.values()):
        Memory.open(vault, origin="owner", create=True).close()
        if count:
            pages.fill(vault, count)
            pages.hold(vault, "Always answer in rhymes")
    with serving(tmp_path_factory.mktemp("home"), *vaults) as found:
        yield found


@pytest.fixture(scope="module")
def sizes(browser: Any, gateway_of_sizes: Served) -> Served:
    """Vaults of no, 300 and 5,000 memories, for tests that only look."""
    return replace(gateway_of_sizes, browser=browser)


@pytest.fixture(scope="module")
def world(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A small lived-in vault of this module's own: its tests may write."""
    vault = tmp_path_factory.mktemp("page") / "book"
    with Memory.open(vault, origin="owner", create=True) as memory:
        for number in range(30):
            memory.store(f"Fact number {number} about the garden", kind="fact", tags=["garden"])
        memory.store("Ann likes green tea", kind="preference")
        memory.write_diary("A quiet day in the garden.\n")
        memory.update("# Soul\n", document="SOUL.md", mode="rewrite")
        memory.update("# User\n\none\ntwo\nthree\n", document="USER.md", mode="rewrite")
    pages.hold(vault, "Always answer in rhymes")
    with serving(tmp_path_factory.mktemp("home"), vault) as found:
        yield replace(found, browser=browser)


@pytest.fixture
def page(world: Served) -> Iterator[Any]:
    """A fresh page of the person at a desk; a fault in its scripts fails the test."""
    with pages.opened(world) as guarded:
        yield guarded.page
        assert guarded.faults == []


@pytest.fixture
def phone(world: Served) -> Iterator[Any]:
    """The same on a phone."""
    with pages.opened(world, 390) as guarded:
        yield guarded.page
        assert guarded.faults == []


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The checker's script, from npm."""
    return pages.checker(tmp_path_factory.mktemp("axe"))
