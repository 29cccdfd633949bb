"""What the gateway has at a path: the page at its places, its files, the API, MCP; else nothing.

A client that looks for something that is not there must learn so: a page in its place is taken for
an answer.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.http.app import APART, PAGES, PLACES, Gateway
from commonplace.doors.http.observed import METHODS
from commonplace.doors.mcp import http
from tests.support.gateways import client, made
from tests.support.mcp_client import opener

UNKNOWN = (
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/.well-known/openid-configuration/mcp",
    "/.well-known/security.txt",
    "/login/x",
    "/consent",
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/favicon.ico",
    "/robots.txt",
    "/sse",
    "/messages",
    "/homepage",
    "/assets",
    "/assets/",
    "/assets/none.js",
    "/index.html/x",
    "//home",
)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    root = tmp_path_factory.mktemp("paths")
    Memory.open(root / "book", create=True).close()
    return made(root)


@pytest.mark.parametrize("path", UNKNOWN)
@pytest.mark.parametrize("scope", ["", "read"])
def test_what_is_not_there_is_said_to_be_so_in_json(
    gateway: Gateway, path: str, scope: str
) -> None:
    asking = client(gateway, scope)
    asking.follow_redirects = False
    for method in METHODS:
        forms: tuple[Any, ...] = ({}, {"data": {"grant_type": "x"}}, {"json": {"client_name": "x"}})
        for form in forms:
            answer = asking.request(method, f"http://127.0.0.1:8377{path}", **form)
            assert answer.status_code == 404, (method, form)
            assert answer.headers["content-type"] == "application/problem+json"
            assert method == "HEAD" or answer.json()["status"] == 404


@given(st.text("abcmpi.-_/%~", min_size=1, max_size=12))
def test_a_path_is_a_place_a_file_a_door_or_nothing(gateway: Gateway, name: str) -> None:
    answer = client(gateway).get(f"http://127.0.0.1:8377/{name}")
    first = answer.request.url.path.strip("/").partition("/")[0]
    has_page = answer.headers["content-type"].startswith("text/html")
    assert has_page == (answer.status_code == 200)
    assert not has_page or first in (*PLACES, *APART, "", "index.html")
    assert has_page or answer.status_code == (401 if first in ("api", "mcp") else 404)


def test_the_places_are_those_of_the_page(gateway: Gateway) -> None:
    script = (PAGES / "assets" / "places.js").read_text(encoding="utf-8")
    listed = re.findall(r'{ name: "(\w+)"', script)
    assert sorted(PLACES) == sorted(listed)
    for place in (
        "",
        "?vault=book",
        "login",
        *PLACES,
        "documents/memory/2026-11-15.md",
        "login?code=x",
    ):
        answer = client(gateway).get(f"/{place}")
        assert (answer.status_code, "<!doctype html>" in answer.text) == (200, True), place


def test_a_place_of_the_page_is_only_looked_at(gateway: Gateway) -> None:
    answer = client(gateway).post("/home", data={"x": "y"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", [*UNKNOWN, "/"])
@pytest.mark.parametrize("brought", ["", "Bearer secret"])
def test_the_server_of_mcp_alone_has_nothing_else(tmp_path: Path, path: str, brought: str) -> None:
    inner: Any = http.app(opener(tmp_path), dialect="native", session="", token="secret")
    asking = TestClient(inner, base_url="http://127.0.0.1:8000")
    for method in ("GET", "POST"):
        answer = asking.request(method, path, headers={"authorization": brought})
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
