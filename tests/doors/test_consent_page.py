"""The page at which a person lets a client of OAuth in, in a real browser."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest

from commonplace import Memory
from tests.support import browser as chromium

BACK = "https://claude.example/api/callback"
CLAIMED = "Claude <script>alert(1)</script>"
VERIFIER = "v" * 43
CHALLENGE = urlsafe_b64encode(sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


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
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "kept",
        }
        at = f"{base}/authorize?{urlencode(given)}"
        yield {"browser": browser, "link": link, "at": at, "base": base, "client": client}


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
            page.click("button.primary")
            page.wait_for_selector("text=too old")
            page.fill("#code", world["link"])
            page.click("button.primary")
        page.wait_for_selector("h1:text-is('May it use your memory?')")
        shown = page.inner_text("main")
        assert "Claude <script>alert(1)" in shown
        assert "book" in shown
        assert "claude.example" in shown
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        state = context.storage_state()
        page.get_by_role("button", name=said).click()
        page.wait_for_url(f"{BACK}**")
        back = dict(parse_qsl(urlsplit(page.url).query))
        assert back["state"] == "kept"
        assert ("code" in back, back.get("error")) == (
            (True, None) if said == "Allow" else (False, "access_denied")
        )
        assert faults == []
        context.close()
        if said == "Allow":
            _ended_on_the_page(world, state, _exchanged(world, back["code"]))


def _exchanged(world: dict[str, Any], code: str) -> str:
    """The token that a client gets for its code."""
    given = {
        "grant_type": "authorization_code",
        "client_id": world["client"],
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
    }
    with urlopen(Request(f"{world['base']}/token", urlencode(given).encode())) as answer:
        return str(json.load(answer)["access_token"])


def _status(world: dict[str, Any], token: str) -> int:
    asked = Request(f"{world['base']}/api/vaults", headers={"authorization": f"Bearer {token}"})
    try:
        with urlopen(asked) as answer:
            return int(answer.status)
    except HTTPError as refused:
        return refused.code


def _ended_on_the_page(world: dict[str, Any], state: Any, token: str) -> None:
    """The person sees whom they let in, on a phone and on a desk, and ends it."""
    assert _status(world, token) == 403
    for width in (390, 1400):
        context = world["browser"].new_context(
            viewport={"width": width, "height": 800}, storage_state=state
        )
        page = context.new_page()
        page.set_default_timeout(120_000)
        faults: list[str] = []
        page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
        page.goto(f"{world['base']}/settings?tab=access")
        card = page.locator("[data-token]")
        card.wait_for()
        assert "Claude <script>alert(1)" in card.inner_text()
        assert "OAuth" in card.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        card.get_by_role("button", name="End…").click()
        if width == 390:
            page.get_by_role("button", name="Cancel").click()
        else:
            page.get_by_role("button", name="End it").click()
            page.wait_for_selector("text=No program may come in")
        assert faults == []
        context.close()
        assert _status(world, token) == (403 if width == 390 else 401)
