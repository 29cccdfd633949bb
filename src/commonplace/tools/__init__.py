"""The table of tools that every door reads: one for each dialect, in a fixed order.

It may import every room below it. It does not know how a door shows the tools.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from commonplace.memory import Memory
from commonplace.model.errors import BadInput, BadValue
from commonplace.model.lazy import module
from commonplace.tools.tool import Answer, Tool

DIALECTS = ("native", "earl", "journal", "notebook", "claw", "typed", "anthropic")


@cache
def table(dialect: str) -> dict[str, Tool]:
    """The tools of a dialect by name."""
    if dialect not in DIALECTS:
        raise BadInput(f"There is no dialect {dialect!r}.", next_step=f"Use {', '.join(DIALECTS)}.")
    return {tool.name: tool for tool in module(f"tools.{dialect}").TOOLS}


def dialect_of(layout: str) -> str:
    """The tools that belong to a layout: its own, or the native ones."""
    return layout if layout in DIALECTS else "native"


def own(name: str, *, dialect: str) -> Tool:
    """The tool of that name, of this dialect alone."""
    tools = table(dialect)
    if name not in tools:
        raise unknown(name, tools)
    return tools[name]


def unknown(name: str, tools: Iterable[str]) -> BadInput:
    """The error for a name that none of these tools has."""
    return BadInput(f"There is no tool {name!r} here.", next_step=f"Use {', '.join(tools)}.")


def find(name: str, *, dialect: str) -> Tool:
    """The tool of that name: of the dialect, or else of the only dialect that has it."""
    having = (other for other in (dialect, *DIALECTS) if name in table(other))
    return own(name, dialect=next(having, dialect))


def call(memory: Memory, name: str, arguments: Mapping[str, Any], *, dialect: str) -> Answer:
    """Run a tool by name."""
    return find(name, dialect=dialect).call(memory, arguments)


def parse_arguments(text: str) -> dict[str, Any]:
    """The arguments of a tool from JSON text."""
    try:
        arguments = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise BadValue(
            "arguments",
            f"they are not JSON ({error})",
            next_step="""Quote them for the shell: '{"query": "tea"}'.""",
        ) from None
    if not isinstance(arguments, dict):
        raise BadValue(
            "arguments", "they are not an object", next_step="""Send {"name": value, …}."""
        )
    return arguments
