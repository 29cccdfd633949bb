"""A gateway over a small vault, for tests: how it is made, opened and asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.http import server
from commonplace.doors.http.app import Gateway

PORT = 8377
HOST = f"127.0.0.1:{PORT}"
AT = "/api/vaults/book"


def opened(path: str, origin: str) -> Memory:
    return Memory.open(path, origin=origin, create=True)


def made(tmp_path: Path, **options: Any) -> Gateway:
    """A gateway over the vault `book`, with its tokens beside it."""
    given = {"port": PORT, "tokens": tmp_path / "tokens.json", **options}
    return server.gateway([str(tmp_path / "book")], opened, **given)


def client(gateway: Gateway, scope: str = "", *, vaults: tuple[str, ...] = ()) -> TestClient:
    """A client with a token of a scope, or with none."""
    headers = {}
    if scope:
        token = gateway.tokens.add(f"{scope} {len(gateway.tokens.named())}", scope, vaults=vaults)
        headers = {"authorization": f"Bearer {token}"}
    return TestClient(gateway.app, base_url=f"http://{HOST}", headers=headers)


def person(gateway: Gateway) -> TestClient:
    """A client that has followed the login link."""
    browser = client(gateway)
    answer = browser.post("/api/login", json={"code": gateway.tokens.login_code()})
    assert answer.status_code == 200
    return browser
