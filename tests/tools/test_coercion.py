"""Arguments that mean what a tool asks for are taken, however a model spells them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import tools
from commonplace.model.errors import BadValue, CommonplaceError
from commonplace.tools.tool import Parameter, Tool, coerced

EVERY_TOOL = [
    pytest.param(tool, id=f"{dialect} {tool.name}")
    for dialect in tools.DIALECTS
    for tool in tools.table(dialect).values()
]
SPELLINGS: dict[str, list[Callable[[Any], Any]]] = {
    "integer": [str, float, lambda n: f" {n} ", lambda n: f"{n}.0"],
    "number": [str, lambda n: f" {n} "],
    "boolean": [str, lambda b: str(b).lower(), lambda b: f" {b}".upper()],
    "array": [json.dumps],
    "string": [],
}
WRONG: dict[str, list[Any]] = {
    "integer": [5.5, "5.5", "abc", "", "1_0", "٥", True, [5], "9" * 5000, float("nan"), "inf"],
    "number": ["abc", "", True, [0.5], "1_0"],
    "boolean": ["yes", 1, 0, "", []],
    "array": [7, {"a": 1}, [1], [None], '["a", 1]'],
    "string": [7, ["a"], {"a": 1}, False],
}


def proper(parameter: Parameter) -> Any:
    """A value that the schema of a parameter allows."""
    if parameter.choices:
        return parameter.choices[0]
    about = parameter.about
    least = about.minimum if about.minimum is not None else 1
    values = {"integer": least, "number": float(least), "boolean": True, "array": ["a", "b"]}
    if parameter.name == "view_range":
        return [1, 2]
    return values.get(parameter.type, "a")


def received(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the function of a tool is called with."""
    return tool.checked(arguments)


def needed(tool: Tool) -> dict[str, Any]:
    return {each.name: proper(each) for each in tool.parameters if each.required}


PARAMETERS = [
    pytest.param(tool, parameter, id=f"{dialect} {tool.name} {parameter.name}")
    for dialect in tools.DIALECTS
    for tool in tools.table(dialect).values()
    for parameter in tool.parameters
]
LISTS = [
    pytest.param(tool, parameter, id=f"{dialect} {tool.name} {parameter.name}")
    for dialect in tools.DIALECTS
    for tool in tools.table(dialect).values()
    for parameter in tool.parameters
    if parameter.type == "array"
]


@pytest.mark.claim("earl.arguments-as-models-send-them")
@pytest.mark.parametrize(("tool", "parameter"), PARAMETERS)
def test_every_spelling_of_a_value_is_that_value(tool: Tool, parameter: Parameter) -> None:
    value = proper(parameter)
    plainly = received(tool, needed(tool) | {parameter.name: value})
    for spelling in SPELLINGS[parameter.type]:
        assert received(tool, needed(tool) | {parameter.name: spelling(value)}) == plainly


@pytest.mark.claim("earl.arguments-as-models-send-them")
@pytest.mark.parametrize("tool", EVERY_TOOL)
def test_null_is_the_same_as_nothing(tool: Tool) -> None:
    nothing = {each.name: None for each in tool.parameters if not each.required}
    assert received(tool, needed(tool) | nothing) == received(tool, needed(tool))
    for name in needed(tool):
        with pytest.raises(BadValue, match=f"{name}: it is missing"):
            received(tool, needed(tool) | {name: None})


@pytest.mark.parametrize(("tool", "parameter"), PARAMETERS)
def test_what_means_something_else_is_refused_in_a_sentence(
    tool: Tool, parameter: Parameter
) -> None:
    for value in WRONG[parameter.type]:
        with pytest.raises(BadValue, match=f"^{parameter.name}: .* (Send|Use) "):
            received(tool, needed(tool) | {parameter.name: value})


@pytest.mark.claim("typed.search-tags-many")
@pytest.mark.parametrize("items", [["a"] * 101, ["t"] * 100_000, ["x" * 2001]])
@pytest.mark.parametrize(("tool", "parameter"), LISTS)
def test_a_list_without_end_is_refused_by_every_tool(
    tool: Tool, parameter: Parameter, items: list[str]
) -> None:
    with pytest.raises(CommonplaceError, match=f"^{parameter.name}: "):
        received(tool, needed(tool) | {parameter.name: items})


@given(st.integers(-(10**30), 10**30))
def test_every_whole_number_is_read_back(number: int) -> None:
    assert coerced(str(number), "integer") == number
    assert coerced(float(number % 10**15), "integer") == number % 10**15


@given(st.text())
def test_no_text_is_taken_for_a_number_that_python_does_not_read_as_one(text: str) -> None:
    found = coerced(text, "integer")
    assert found == text or float(text) == found


@given(st.lists(st.text(min_size=1)))
def test_a_list_that_came_as_json_is_that_list_and_a_text_is_a_list_of_one(
    texts: list[str],
) -> None:
    assert coerced(json.dumps(texts), "array") == texts
    assert coerced(texts, "array") == texts
    assert [coerced(text, "array") for text in texts if text.strip() and text[0] != "["] == [
        [text] for text in texts if text.strip() and text[0] != "["
    ]
