"""Clients over HTTP: a person sees and connects them; no token does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.doors.http.app import Gateway
from tests.support.gateways import AT, client, made, opened, person


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which Cursor was used, and no other client."""
    place = tmp_path / "home"
    (place / ".cursor").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("PATH", "")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    opened(str(tmp_path / "book"), "owner").close()
    return made(tmp_path)


def test_a_client_is_connected_and_disconnected_by_its_person(gateway: Gateway, home: Path) -> None:
    browser, settings = person(gateway), home / ".cursor" / "mcp.json"
    before = {each["name"]: each for each in browser.get(f"{AT}/clients").json()["clients"]}
    assert (before["cursor"]["installed"], before["cursor"]["connected"]) == (True, False)
    assert not before["codex"]["installed"]
    planned = browser.get(f"{AT}/clients/cursor").json()
    assert str(settings) in planned["diff"]
    assert not settings.exists()
    assert browser.post(f"{AT}/clients/cursor/connect").status_code == 200
    assert "commonplace" in json.loads(settings.read_text())["mcpServers"]
    now = browser.get(f"{AT}/clients").json()["clients"][0]
    assert (now["name"], now["connected"], now["elsewhere"]) == ("cursor", True, "")
    assert browser.post(f"{AT}/clients/cursor/disconnect").status_code == 200
    assert not settings.exists()


def test_a_client_that_is_not_known_is_told(gateway: Gateway, home: Path) -> None:
    answer = person(gateway).post(f"{AT}/clients/clippy/connect")
    assert answer.status_code == 400
    assert "clippy" in answer.json()["detail"]


def test_no_token_sees_or_changes_the_settings_of_clients(gateway: Gateway, home: Path) -> None:
    admin = client(gateway, "admin")
    asked = [
        admin.get(f"{AT}/clients"),
        admin.get(f"{AT}/clients/cursor"),
        admin.post(f"{AT}/clients/cursor/connect"),
        admin.post(f"{AT}/clients/cursor/disconnect"),
    ]
    assert [each.status_code for each in asked] == [403] * 4
    assert not (home / ".cursor" / "mcp.json").exists()
