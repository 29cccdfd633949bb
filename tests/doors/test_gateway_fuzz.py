"""Requests made from the gateway's own OpenAPI document, right and wrong: never a fault of ours.

`bench/fuzz_gateway.py` asks many more, from outside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from commonplace import Memory
from tests.support.gateways import client, made

WILD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1 << 70,
    10**400,
    -0.5,
    1e308,
    "",
    " ",
    "\0",
    "\ud800",
    "\u202e\u0000\uffff",
    "-->",
    "x" * 3000,
    "../../etc/passwd",
    "true",
    "9" * 5000,
    "'; DROP TABLE records; --",
    "\r\nSet-Cookie: a=b",
    [],
    [1],
    ["a", None],
    {},
    {"a": [{}]},
)
WORDS = (
    "MEMORY.md",
    "USER.md",
    "notes/a.md",
    "diary/",
    "tea",
    "fact",
    "2026-11-16",
    "mem-x",
    "first",
)
CASES = 15
"""Requests for each operation."""


def fitting(chance: Random, schema: dict[str, Any]) -> Any:
    """A value that a schema of ours allows."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    low, high = schema.get("minimum", -(1 << 40)), schema.get("maximum", 1 << 40)
    kinds: dict[str, Any] = {
        "string": chance.choice(WORDS),
        "integer": chance.randint(low, high),
        "number": chance.random(),
        "boolean": chance.random() < 0.5,
        "array": chance.choices(WORDS, k=chance.randrange(3)),
    }
    return kinds[schema["type"]]


def value(chance: Random, schema: dict[str, Any]) -> Any:
    """Mostly what fits, so that a request gets further than its first argument."""
    return fitting(chance, schema) if chance.random() < 0.7 else chance.choice(WILD)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, Any]]:
    root = tmp_path_factory.mktemp("fuzz")
    with Memory.open(root / "book", origin="owner", create=True) as memory:
        memory.store("Ann likes green tea", tags=["tea"])
        memory.conversations.record("user", "Please remember the tea", session="first")
    with client(made(root), "admin") as browser:
        document = browser.get("/api/openapi.json").json()
        yield browser, resolved(document, document["components"]["parameters"])


def resolved(document: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    """A document whose operations have their parameters in place of references to them."""
    for operations in document["paths"].values():
        for operation in operations.values():
            operation["parameters"] = [
                parameters[each["$ref"].split("/")[-1]] if "$ref" in each else each
                for each in operation["parameters"]
            ]
    return document


def is_stream(operation: dict[str, Any]) -> bool:
    """Whether the answer has no end."""
    return "text/event-stream" in operation["responses"]["200"]["content"]


def test_the_document_says_which_vaults_there_are(asked: tuple[TestClient, Any]) -> None:
    vault = asked[1]["components"]["parameters"]["vault"]
    assert vault["schema"]["enum"] == ["book"]


def request(chance: Random, path: str, operation: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """An address, and what goes with it."""
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    # With few arguments that nobody has to give, a request gets far more often than with many.
    optional = chance.choice((0.1, 0.5))
    for each in operation["parameters"]:
        if each["name"] == "vault":
            continue
        drawn = value(chance, each["schema"])
        if each["in"] == "path":
            spelled = quote(str(drawn), safe="", errors="replace")
            path = path.replace(f"{{{each['name']}}}", spelled)
        elif each["in"] == "header":
            headers[each["name"]] = quote(str(drawn), safe=" /", errors="replace")
        elif each["required"] or chance.random() < optional:
            query[each["name"]] = str(drawn).encode("utf-8", "replace").decode()
    rest: dict[str, Any] = {"params": query, "headers": headers}
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = {
            name: value(chance, each)
            for name, each in schema["properties"].items()
            if name in schema.get("required", ()) or chance.random() < optional
        }
        headers["content-type"] = "application/json"
        rest["content"] = json.dumps(body)
    return path.replace("{vault}", "book"), rest


@pytest.mark.long
def test_no_request_is_answered_with_a_fault(asked: tuple[TestClient, Any]) -> None:
    browser, document = asked
    statuses = set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if is_stream(operation):
                continue
            chance = Random(f"{method} {path}")
            for _ in range(CASES):
                address, rest = request(chance, path, operation)
                answer = browser.request(method.upper(), address, **rest)
                conforms(answer)
                statuses.add(answer.status_code)
    assert {200, 201, 400, 404} <= statuses


def conforms(answer: Any) -> None:
    """An answer is what the document says: data, or what is wrong in a sentence."""
    shown = f"{answer.request.method} {answer.request.url} {answer.request.content[:300]!r}"
    assert answer.status_code < 500, shown
    told = answer.json()
    assert isinstance(told, dict)
    if answer.status_code in (200, 201):
        assert answer.headers["content-type"] == "application/json", shown
    else:
        assert answer.headers["content-type"] == "application/problem+json", shown
        assert told["status"] == answer.status_code
        assert told["detail"]
