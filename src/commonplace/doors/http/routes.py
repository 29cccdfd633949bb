"""A route: one function with types and a docstring, reached by a method and a path.

Arguments are described and checked as those of tools are; where they stand (path, query or body)
follows from the path and the method.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.errors import BadValue
from commonplace.model.records import Origin
from commonplace.tools.tool import Answer, Argument, Parameter, Tool, tool

PREFIX = "/api/vaults/{vault}"
TRUTH = {"true": True, "1": True, "false": False, "0": False}
IN_AN_ADDRESS = 4000
"""Most characters of a text in a query: percent-encoded, they still fit a server's address line."""
Limit = Annotated[int, Argument("most to answer with", minimum=1, maximum=500)]
Offset = Annotated[int, Argument("how many to leave out first", minimum=0, maximum=100_000)]
Id = Annotated[str, Argument("the id of a record", max_length=200)]
Name = Annotated[str, Argument("the name of a document, such as MEMORY.md", max_length=400)]


class Reply(Struct, frozen=True):
    """What a route answers, when it is more than data."""

    data: Any
    etag: str = ""
    status: int = 200


class Route(Struct, frozen=True):
    """A method and a path below a vault, the scope that it needs, and what is done."""

    method: str
    path: str
    scope: str
    tool: Tool
    long: bool = False
    """Whether it reads everything, or all of its past: quick calls must not wait for several."""

    any_session: bool = False
    """Whether it is for sessions too that the vault keeps its memory from: what is their own."""

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def full_path(self) -> str:
        return PREFIX + self.path

    @property
    def only_asks(self) -> bool:
        return self.method == "GET"

    def stands_in_path(self, parameter: Parameter) -> bool:
        return re.search(rf"{{{parameter.name}[:}}]", self.path) is not None

    @property
    def template(self) -> str:
        """The path as OpenAPI spells it: names without what they may hold."""
        return re.sub(r":\w+}", "}", self.full_path)

    def arguments(
        self, path: Mapping[str, str], query: Mapping[str, list[str]], body: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The arguments of the function, from wherever they stand."""
        given = dict(body)
        known = {parameter.name: parameter for parameter in self.tool.parameters}
        for name, texts in query.items():
            given[name] = _read(known[name], texts) if name in known else texts[0]
        return given | {n: _read(known[n], [text]) for n, text in path.items() if n in known}

    def run(self, memory: Any, given: Mapping[str, Any]) -> Any:
        if memory.is_shut and not self.any_session:
            # Who may not see the log is told so, and sees nothing else of the vault either.
            memory.log(limit=1)
        answer = self.tool.call(memory, given)
        waiting = memory.waiting_shown() if memory.origin != Origin.OWNER else {}
        return _marked(answer, waiting) if waiting else answer


def _marked(answer: Any, waiting: Mapping[str, str]) -> Any:
    """What a route answers, with a word beside what of it waits for approval."""
    from commonplace.tools.answers import flagged

    if isinstance(answer, Reply):
        return replace(answer, data=flagged(answer.data, waiting))
    return flagged(answer, waiting)


def route(
    method: str, path: str, *, scope: str, long: bool = False, any_session: bool = False
) -> Callable[[Callable[..., Any]], Route]:
    """Make a route of a function whose first argument is the memory."""

    def made(function: Callable[..., Answer]) -> Route:
        does = tool(read_only=scope == "read")(function)
        return Route(method, path, scope, does, long, any_session)

    return made


def _read(parameter: Parameter, texts: list[str]) -> Any:
    """A value that came as text in the query."""
    if parameter.type == "array":
        return [word for text in texts for word in text.split(",") if word]
    text = texts[-1]
    try:
        if parameter.type == "boolean":
            return TRUTH[text.lower()]
        kinds: dict[str, Callable[[str], Any]] = {"integer": int, "number": float}
        return kinds.get(parameter.type, str)(text)
    except (ValueError, KeyError):
        raise BadValue(
            parameter.name,
            f"{text[:60]!r} is not what it takes",
            next_step=parameter.about.description,
        ) from None
