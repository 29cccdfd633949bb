"""What a tool is: a function, its arguments and how it behaves. Each door derives its own form.

Models send `"5"` and `5.0` for 5, and a text for a list of one: `coerced` reads such a value as the
type that the tool's schema asks for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct

from commonplace.model.errors import BadValue
from commonplace.model.limits import check_list, too_long

JSON_TYPES: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
}
SPOKEN = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list of texts",
}
DIGITS = 40
"""How long a number may be spelt: longer ones are no counts."""
SAID = {"true": True, "false": False}


class Argument(Struct, frozen=True):
    """The description and limits of a tool's argument."""

    description: str
    max_length: int | None = None
    minimum: int | None = None
    maximum: int | None = None
    max_items: int | None = None
    item_length: int | None = None


class Answer(Struct, frozen=True):
    """What a tool answers: data for programs, and the text a reader gets."""

    data: Any
    text: str = ""

    def __str__(self) -> str:
        return self.text or json.dumps(self.data, ensure_ascii=False)


class Parameter(Struct, frozen=True):
    """One argument of a tool, as its function's signature tells it."""

    name: str
    type: str
    required: bool
    default: Any
    about: Argument
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        limits = {
            "maxLength": self.about.max_length,
            "minimum": self.about.minimum,
            "maximum": self.about.maximum,
            "maxItems": self.about.max_items,
        }
        schema: dict[str, Any] = {"type": self.type, "description": self.about.description}
        schema |= {name: limit for name, limit in limits.items() if limit is not None}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.type == "array":
            item = {"type": "string"}
            longest = {"maxLength": self.about.item_length} if self.about.item_length else {}
            schema["items"] = item | longest
        if not self.required and self.default not in (None, "", ()):
            schema["default"] = self.default
        return schema

    def checked(self, value: Any) -> Any:
        """The value when it means what the schema asks for; otherwise the error that says so."""
        sent, value = value, coerced(value, self.type)
        if not self._is_typed(value):
            raise BadValue(
                self.name,
                f"{_short(sent)} is not {SPOKEN[self.type]}",
                next_step=f"Send {SPOKEN[self.type]}.",
            )
        if self.choices and value not in self.choices:
            raise BadValue(
                self.name,
                f"{_short(value)} is not known",
                next_step=f"Use {', '.join(self.choices)}.",
            )
        self._check_limits(value)
        return value

    def _is_typed(self, value: Any) -> bool:
        if self.type == "array":
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        kinds = {"string": str, "integer": int, "number": float, "boolean": bool}
        return isinstance(value, kinds[self.type]) and (
            self.type == "boolean" or not isinstance(value, bool)
        )

    def _check_limits(self, value: Any) -> None:
        about = self.about
        if self.type == "array":
            check_list(value, argument=self.name)
        if about.max_length is not None and len(value) > about.max_length:
            raise too_long(self.name, length=len(value), limit=about.max_length)
        low, high = about.minimum, about.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            bounds = f"{low} to {high}" if high is not None else f"{low} or more"
            raise BadValue(self.name, f"{value} is out of range", next_step=f"Use {bounds}.")


class Tool(Struct, frozen=True, dict=True):
    """One tool: a function with types and a docstring, and how it behaves."""

    name: str
    run: Callable[..., Answer]
    description: str
    read_only: bool = False
    destructive: bool = False
    always: bool = False
    """Whether clients that load tools on demand should show this one from the start."""
    obstacle: Callable[[Any], str] | None = None
    """Says why a session may not have it, or nothing; without it, every session may."""
    asks: Callable[[Any, Mapping[str, Any]], str] | None = None
    """What the person is asked before it is done, where a door can ask; or nothing."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(_parameters(self.run))

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        required = [parameter.name for parameter in self.parameters if parameter.required]
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return (
            schema | ({"required": required} if required else {}) | {"additionalProperties": False}
        )

    def is_for(self, memory: Any) -> bool:
        """Whether the session may use the tool."""
        return not (self.obstacle and self.obstacle(memory))

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them; fails on what it does not take."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in arguments:
            if name not in known:
                named = ", ".join(known) or "none"
                raise BadValue(
                    str(name),
                    f"{self.name} has no such argument",
                    next_step=f"Its arguments: {named}.",
                )
        sent = {name: value for name, value in arguments.items() if value is not None}
        given = {name: known[name].checked(value) for name, value in sent.items()}
        for parameter in self.parameters:
            if parameter.required and parameter.name not in given:
                raise BadValue(
                    parameter.name, "it is missing", next_step=parameter.about.description
                )
        return given

    def call(self, memory: Any, arguments: Mapping[str, Any]) -> Answer:
        """Check the arguments, run the tool, and mark what of its answer waits for approval."""
        given = self.checked(arguments)
        if memory.for_agents:
            memory.check_recording()
        memory.waiting_shown()
        answer = self.run(memory, **given)
        if not isinstance(answer, Answer):
            return answer  # A route of the gateway answers with its own form.
        if waiting := memory.waiting_shown():
            from commonplace.tools.answers import with_unapproved

            answer = with_unapproved(answer, waiting)
        if self.read_only:
            return answer
        from commonplace.tools.answers import with_redactions

        return with_redactions(answer, given, memory.options)


def tool(
    *,
    read_only: bool = False,
    destructive: bool = False,
    always: bool = False,
    name: str = "",
    obstacle: Callable[[Any], str] | None = None,
    asks: Callable[[Any, Mapping[str, Any]], str] | None = None,
) -> Callable[[Callable[..., Answer]], Tool]:
    """Make a tool of a function whose first argument is the memory."""

    def made(function: Callable[..., Answer]) -> Tool:
        return Tool(
            name or function.__name__,
            function,
            _unwrapped(function.__doc__ or ""),
            read_only,
            destructive,
            always,
            obstacle,
            asks,
        )

    return made


def _parameters(function: Callable[..., Answer]) -> list[Parameter]:
    # Read from the function itself: importing inspect would cost a cold start 8 ms.
    code = function.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    defaults = dict(zip(reversed(names), reversed(function.__defaults__ or ())))
    defaults |= function.__kwdefaults__ or {}
    return [_parameter(name, _hint(function, name), defaults) for name in names]


def _hint(function: Callable[..., Answer], name: str) -> Any:
    """The annotation of an argument: `Annotated` with a type or `Literal`, and an `Argument`."""
    return eval(function.__annotations__[name], function.__globals__)


def _parameter(name: str, hint: Any, defaults: Mapping[str, Any]) -> Parameter:
    kind, about = get_args(hint)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    json_type = "string" if choices else JSON_TYPES[get_origin(kind) or kind]
    return Parameter(name, json_type, name not in defaults, defaults.get(name), about, choices)


def _unwrapped(docstring: str) -> str:
    """A docstring as paragraphs without its indentation and line breaks."""
    paragraphs = docstring.strip().split("\n\n")
    return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "…"


def coerced(value: Any, kind: str) -> Any:
    """The value as this JSON type where it plainly means one; otherwise as it came."""
    if kind in ("integer", "number"):
        return _number(value, whole=kind == "integer")
    if kind == "boolean" and isinstance(value, str):
        return SAID.get(value.strip().lower(), value)
    if kind == "array" and isinstance(value, str):
        return _texts(value)
    return value


def _number(value: Any, *, whole: bool) -> Any:
    if isinstance(value, bool):
        return value
    number = _spelt(value) if isinstance(value, str) else value
    if whole and isinstance(number, float):
        return int(number) if number.is_integer() else value
    if not whole and isinstance(number, int):
        # A whole number beyond every float is as wrong as infinity.
        return float(number) if abs(number) < 1 << 1000 else float("inf")
    return number


def _spelt(text: str) -> Any:
    """The number that a text spells; the text itself when it spells none."""
    if len(text) > DIGITS or not text.isascii() or "_" in text:
        return text
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _texts(value: str) -> list[Any]:
    """A text that is no list as a list of one; a list that came as its JSON as that list."""
    if value.lstrip().startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        if isinstance(found, list):
            return found
    return [value] if value.strip() else []
