"""The page of a gateway in a real browser: vaults of every size, pages that are logged in, checks.

Knows how a page is opened and what must hold of any; what a place does is in tests/doors/page/.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from playwright.sync_api import Error

from commonplace import Memory
from commonplace.model.errors import HeldForReview
from tests.support.clocks import FixedClock
from tests.support.skips import unavailable

AXE = "axe-core@4.10.3"
PLACES = (
    "home",
    "memory",
    "documents",
    "days",
    "map",
    "trash",
    "agents",
    "told",
    "conversations",
    "review",
    "activity",
    "upkeep",
    "settings",
    "search?words=tea",
)
SIZES = {"empty": 0, "some": 300, "many": 5000}
"""The vaults that one gateway serves, by how many memories are in them."""
WIDTHS = {1400: 900, 390: 800}
"""A desk and a phone, with how tall they are."""
SCHEMES = ("light", "dark")
UNDRAWN = {"false", "null", "undefined", "[object Object]", "NaN"}
"""What a part that is left out must not become."""
PATIENCE = 120_000
"""Milliseconds after which something that is waited for has failed. It judges no speed."""

PEOPLE = ("Ann", "Bob", "Carmen", "Dilan", "Eva")
THINGS = ("the garden", "the boat", "the invoices", "release 4.2", "the kitchen", "the newsletter")
TAGS = ("garden", "work", "home", "boat", "people")
WORDINGS = {
    "note": "{person} looks at {thing} again in week {number}.",
    "preference": "{person} likes short answers about {thing}, and tea number {number}.",
    "fact": "The key of {thing} is in drawer {number}; {person} has another.",
    "instruction": "Ask {person} before changing line {number} of {thing}.",
    "context": "Moving {thing} is at step {number}; {person} helps.",
    "correction": "It was {person} who finished {thing} in week {number}.",
}
DAY = 86_400 * 10**9
LATEST = 1_780_000_000 * 10**9
"""When the newest of the seeded memories was stored: they begin a year before it."""


class Served(Struct, frozen=True):
    """A gateway that runs, and a person who is logged in there."""

    base: str
    link: str
    browser: Any
    state: Any
    vaults: dict[str, Path]

    @property
    def vault(self) -> Path:
        """The first vault, which needs no name in an address."""
        return next(iter(self.vaults.values()))

    def address(self, place: str, vault: str = "") -> str:
        named = f"{'&' if '?' in place else '?'}vault={vault}" if vault else ""
        return f"{self.base}/{place}{named}"


def fill(vault: Path, count: int, *, seed: int = 22) -> None:
    """So many memories, spread over a year, by a person and by an agent."""
    chance, clock = Random(seed), FixedClock(LATEST - 365 * DAY)
    batches = min(count, 24)
    for batch in range(batches):
        clock.nanoseconds += 365 * DAY // batches
        whose: dict[str, Any] = (
            {"origin": "owner"} if batch % 3 == 0 else {"session": f"session-{batch}"}
        )
        with Memory.open(vault, clock=clock, create=True, **whose) as memory:
            numbers = range(count * batch // batches, count * (batch + 1) // batches)
            memory.store_all(_made(chance, number) for number in numbers)
    with Memory.open(vault, origin="owner", create=True) as memory:
        memory.library.refresh()


def _made(chance: Random, number: int) -> dict[str, Any]:
    kind = chance.choice(tuple(WORDINGS))
    given = {"person": chance.choice(PEOPLE), "thing": chance.choice(THINGS), "number": number}
    return {
        "text": WORDINGS[kind].format(**given),
        "kind": kind,
        "tags": chance.sample(TAGS, chance.randrange(3)),
    }


def hold(vault: Path, *texts: str) -> None:
    """Texts of a web page that wait for a person's approval."""
    with Memory.open(vault, origin="web", session="outside", create=True) as memory:
        for text in texts:
            try:
                memory.store(text, kind="instruction")
            except HeldForReview:
                continue
            raise AssertionError(f"{text!r} does not wait")


class Guarded:
    """A page whose faults are remembered: errors, refusals of its policy, requests elsewhere."""

    def __init__(self, page: Any, base: str) -> None:
        self.page = page
        self.faults: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", self._heard)
        page.on("request", lambda request: self._asked(request.url, base))

    def _heard(self, said: Any) -> None:
        # The browser itself tells of answers that are errors: what the page makes of them counts.
        if said.type == "error" and not said.text.startswith("Failed to load resource"):
            self.faults.append(said.text)

    def _asked(self, url: str, base: str) -> None:
        if not url.startswith((base, "data:", "blob:")):
            self.faults.append(f"asked {url}")


@contextmanager
def opened(
    served: Served, width: int = 1400, scheme: str = "light", **more: Any
) -> Iterator[Guarded]:
    """A page of the person; leave it with its faults unread only where they are expected."""
    context = served.browser.new_context(
        viewport={"width": width, "height": WIDTHS.get(width, 800)},
        color_scheme=scheme,
        storage_state=served.state,
        **more,
    )
    try:
        yield Guarded(context.new_page(), served.base)
    finally:
        context.close()


def go(page: Any, served: Served, place: str, vault: str = "") -> None:
    """Open a place, and wait until it shows what it has."""
    page.goto(served.address(place, vault))
    ready(page)


def ready(page: Any) -> None:
    """Wait until a place is drawn: its heading is there and nothing is on its way."""
    page.wait_for_selector("main h1")
    page.locator("main .skeleton").first.wait_for(state="detached")


BEYOND = """() => {
  const found = [], range = document.createRange();
  const all = document.createTreeWalker(document.body, NodeFilter.SHOW_ALL);
  while (all.nextNode()) {
    range.selectNodeContents(all.currentNode);
    const { right } = range.getBoundingClientRect();
    const { outerHTML, data } = all.currentNode;
    if (right > document.documentElement.clientWidth) found.push((outerHTML || data).slice(0, 120));
  }
  return found.slice(-5);
}"""
"""What stands beyond the right edge."""


def sound(page: Any) -> None:
    """What must hold of every place at every width."""
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width, page.evaluate(BEYOND)
    assert page.locator("main h1").inner_text().strip()
    lines = page.locator("main").inner_text().split("\n")
    undrawn = UNDRAWN & {line.strip() for line in lines}
    assert not undrawn, undrawn
    assert "could not be shown" not in "\n".join(lines), lines


class Held:
    """Requests that get no answer until they are let go."""

    def __init__(self, page: Any, where: str, method: str = "GET") -> None:
        self.page, self.where, self.method = page, where, method
        self.waiting: list[Any] = []
        self.open = False
        page.route(where, self._hold)

    def _hold(self, route: Any) -> None:
        if self.open or route.request.method != self.method:
            route.fallback()
        else:
            self.waiting.append(route)

    def wait(self) -> None:
        """Until something was asked."""
        for _ in range(PATIENCE // 50):
            if self.waiting:
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("nothing was asked")

    def let_go(self) -> None:
        """Answer what waits, and hold nothing more. What the page gave up needs no answer."""
        self.open = True
        for each in self.waiting:
            with suppress(Error):
                each.continue_()


LETTERS = {"narrow": "-.08em", "wide": ".3em"}
"""How far apart letters stand: at the latter, words are wider than in any font."""


def set_letters(page: Any, letters: str) -> None:
    """Show the page in letters of a width that does not hang on the fonts of this machine."""

    def respond(route: Any) -> None:
        style = route.fetch()
        spaced = f"* {{ letter-spacing: {LETTERS[letters]} !important; }}"
        route.fulfill(response=style, body=style.text() + spaced)

    page.route("**/style.css", respond)


def keep(page: Any, name: str) -> None:
    """Keep a picture where a person can look at it, when asked to."""
    if directory := os.environ.get("COMMONPLACE_PICTURES"):
        page.screenshot(path=f"{directory}/{name}.png")


def checker(home: Path) -> str:
    """The script of axe, from npm."""
    words = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(home), AXE]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        trouble = done.stderr[-300:] if done.returncode else ""
    except FileNotFoundError:
        trouble = "there is no npm"
    if trouble:
        unavailable(f"axe-core was not installed: {trouble}", get="apt-get install npm")
    return (home / "node_modules/axe-core/axe.min.js").read_text()


def nothing_serious(page: Any, axe: str) -> None:
    """Axe finds nothing serious on a page, which was opened with `bypass_csp`."""
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [
        (each["id"], each["nodes"][0]["html"][:200], each["nodes"][0]["failureSummary"][:300])
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
    assert serious == [], serious
