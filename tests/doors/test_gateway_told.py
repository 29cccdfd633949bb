"""What sessions were told, and pauses, over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.http.app import Gateway
from tests.support.gateways import AT, client, made, person


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", session="s-1", origin="owner", create=True) as memory:
        memory.store("The boat is called Albatros", kind="fact")
        memory.note_context("prompt", memory.relevant("What is the boat called?"))
    return made(tmp_path)


@pytest.fixture
def browser(gateway: Gateway) -> TestClient:
    return person(gateway)


def test_sessions_and_costs_are_told(browser: TestClient) -> None:
    told = browser.get(f"{AT}/told?days=2").json()
    assert (told["count"], told["sessions"][0]["session"]) == (1, "s-1")
    assert told["costs"][-1][1] == told["tokens"] > 0
    one = browser.get(f"{AT}/told/session?session=last").json()
    assert one["tellings"][0]["lines"][0]["text"] == "The boat is called Albatros"
    assert browser.get(f"{AT}/told/session?session=none").status_code == 404


def test_a_pause_is_begun_and_ended(browser: TestClient) -> None:
    assert browser.get(f"{AT}/pauses").json() == {"pauses": []}
    begun = browser.post(f"{AT}/pause", json={"seconds": 3600, "reason": "a surprise"})
    assert begun.status_code == 200
    [held] = browser.get(f"{AT}/pauses").json()["pauses"]
    assert (held["reason"], bool(held["until"])) == ("a surprise", True)
    # The person's own page goes on.
    assert browser.get(f"{AT}/records").status_code == 200
    assert len(browser.post(f"{AT}/resume", json={}).json()["ended"]) == 1
    assert browser.get(f"{AT}/pauses").json() == {"pauses": []}


def test_a_pause_refuses_agents_and_their_tokens_neither_begin_nor_end_one(
    gateway: Gateway, browser: TestClient
) -> None:
    agent = client(gateway, "write")
    assert agent.post(f"{AT}/pause", json={}).status_code == 403
    browser.post(f"{AT}/pause", json={})
    refused = agent.get(f"{AT}/records")
    assert (refused.status_code, "paused" in refused.text) == (403, True)
    assert agent.post(f"{AT}/resume", json={}).status_code == 403
