"""What the tools cost a context before anything is called, and that each explains itself."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import Any

import pytest

from commonplace import tools
from commonplace.tools.tool import Tool
from tests.support.tokenizer import exact

MOST_TOOLS = 9
MOST_TOKENS = 1_300
"""What docs/use.md says of the nine tools."""
PIECE = re.compile(r"\w{1,4}|[^\w\s]")
"""Shorter than the usual token, so that counting these never counts too few."""

EVERY_TOOL = [
    pytest.param(dialect, name, id=f"{dialect} {name}")
    for dialect in tools.DIALECTS
    for name in tools.table(dialect)
]


def listed(dialect: str) -> str:
    """What of `tools/list` a client puts before a model; titles and hints are for itself."""
    return json.dumps(
        [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.schema()}
            for tool in tools.table(dialect).values()
        ],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def estimate(text: str) -> int:
    """How many tokens a text has at most, without a tokenizer."""
    return len(PIECE.findall(text))


def test_the_native_tools_are_few_and_their_schemas_short() -> None:
    assert len(tools.table("native")) <= MOST_TOOLS
    assert exact(listed("native")) <= MOST_TOKENS


@pytest.mark.parametrize("dialect", tools.DIALECTS)
def test_the_estimate_never_counts_too_few(dialect: str) -> None:
    assert exact(listed(dialect)) <= estimate(listed(dialect))


@pytest.mark.parametrize("dialect", tools.DIALECTS)
def test_the_order_of_the_tools_and_their_arguments_is_fixed(dialect: str) -> None:
    module = import_module(f"commonplace.tools.{dialect}")
    assert isinstance(module.TOOLS, tuple)
    assert [tool.name for tool in module.TOOLS] == list(tools.table(dialect))
    first = listed(dialect)
    tools.table.cache_clear()
    assert listed(dialect) == first


@pytest.mark.parametrize(("dialect", "name"), EVERY_TOOL)
def test_a_tool_and_its_arguments_say_what_they_are(dialect: str, name: str) -> None:
    tool: Tool = tools.table(dialect)[name]
    assert tool.description.endswith(".")
    assert re.fullmatch(r"[a-z][a-z0-9_]{2,39}", tool.name)
    schema: dict[str, Any] = tool.schema()
    assert set(schema) <= {"type", "properties", "required", "additionalProperties"}
    assert set(schema.get("required", ())) <= set(schema["properties"])
    for argument, about in schema["properties"].items():
        assert about["description"].strip(), argument
        assert about["type"] in ("string", "integer", "number", "boolean", "array"), argument
        assert ("items" in about) == (about["type"] == "array"), argument


def test_a_default_is_a_value_that_the_tool_takes() -> None:
    """Some clients fill defaults in before they call."""
    for dialect in tools.DIALECTS:
        for tool in tools.table(dialect).values():
            for parameter in tool.parameters:
                if "default" in parameter.schema():
                    assert parameter.checked(parameter.default) == parameter.default


def test_a_name_that_two_dialects_share_means_the_same() -> None:
    """`tools.find` gives a tool of another dialect where one's own has none of that name."""
    names = [name for dialect in tools.DIALECTS for name in tools.table(dialect)]
    assert {name for name in names if names.count(name) > 1} == {"diary", "search_memory"}
