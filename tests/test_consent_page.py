"""The page at which a person lets a client of OAuth in, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest

from commonplace import Memory
from tests import browser as chromium

BACK = "https://claude.example/api/callback"
CLAIMED = "Claude <script>alert(1)</script>"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """A gateway with OAuth, and where a client of it sends its user."""
    vault, home = tmp_path_factory.mktemp("consent") / "book", tmp_path_factory.mktemp("home")
    Memory.open(vault, origin="owner", create=True).close()
    served = chromium.serving(vault, home, options=("--oauth",))
    with served as (base, link), chromium.opened() as browser:
        told = json.dumps({"redirect_uris": [BACK], "client_name": CLAIMED}).encode()
        asked = Request(f"{base}/register", told, {"content-type": "application/json"})
        with urlopen(asked) as answer:
            client = json.load(answer)["client_id"]
        given = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": BACK,
            "code_challenge": "c" * 43,
            "code_challenge_method": "S256",
            "state": "kept",
        }
        yield {"browser": browser, "link": link, "at": f"{base}/authorize?{urlencode(given)}"}


def test_a_person_logs_in_is_asked_and_sends_the_client_back(world: dict[str, Any]) -> None:
    sizes = {"width": 390, "height": 780}, {"width": 1200, "height": 800}
    state: Any = None
    for size, scheme, said in ((sizes[0], "light", "Allow"), (sizes[1], "dark", "Refuse")):
        context = world["browser"].new_context(
            viewport=size, color_scheme=scheme, storage_state=state
        )
        page = context.new_page()
        page.set_default_timeout(120_000)
        faults: list[str] = []
        page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
        page.route(f"{BACK}**", lambda route: route.fulfill(body="back"))
        # The client is a page of another site, which sends the browser here.
        page.route("https://claude.example/", lambda route: route.fulfill(body="<p>x"))
        page.goto("https://claude.example/")
        page.evaluate(f"location.href = {json.dumps(world['at'])}")
        if state is None:
            page.fill("#code", "wrong")
            page.click("button.main")
            page.wait_for_selector("text=too old")
            page.fill("#code", world["link"])
            page.click("button.main")
        page.wait_for_selector("h1:text-is('May it use your memory?')")
        shown = page.inner_text("main")
        assert "Claude <script>alert(1)" in shown
        assert "book" in shown
        assert "claude.example" in shown
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        state = context.storage_state()
        page.click(f"button:text-is('{said}')")
        page.wait_for_url(f"{BACK}**")
        back = dict(parse_qsl(urlsplit(page.url).query))
        assert back["state"] == "kept"
        assert ("code" in back, back.get("error")) == (
            (True, None) if said == "Allow" else (False, "access_denied")
        )
        assert faults == []
        context.close()
