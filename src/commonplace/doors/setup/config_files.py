"""Our entry in a client's file: put it in and take it out again, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from commonplace.doors.setup import json_edit, toml_edit
from commonplace.doors.setup.json_edit import Broken, Flavour

NAME = "commonplace"
HOOKS = "hooks"
Containers = tuple[tuple[str, ...], ...]
OURS = re.compile(r"commonplace.* hook [a-z-]+ --client [a-z]+")
FENCED = re.compile(
    r"<!-- commonplace: begin[^\n]*\n(?:.*\n)*?<!-- commonplace: end[^\n]*(?:\n|\Z)"
)
# A person may have narrowed or switched off the rest: what is there stays.
OWN = ("type", "command", "args", "env", "environment")


class Kind(StrEnum):
    """How a file is written."""

    JSON = "json"
    TOML = "toml"
    WHOLE = "whole"
    BLOCK = "block"
    """Prose, with some lines of ours between two comments."""


@dataclass(frozen=True)
class Shape:
    """How one file names its servers, what its reader takes and how a new one begins."""

    kind: Kind
    key: str = ""
    flavour: Flavour = field(default_factory=Flavour)
    new: str = ""


@dataclass(frozen=True)
class Switch:
    """One value of a file by which another memory goes off; None takes the value out."""

    keys: tuple[str, ...]
    value: Any = None


@dataclass(frozen=True)
class Switched:
    """What a switch changed, as JSON; empty where there was, or is, no value."""

    keys: tuple[str, ...]
    was: str
    now: str


@dataclass(frozen=True)
class Target:
    """One file with what is to stand in it: a server, hooks, switches, or all of its text."""

    path: Path
    shape: Shape
    server: Mapping[str, Any] = field(default_factory=dict)
    hooks: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    about: str = ""
    """What the file is for, in a few words."""
    switches: tuple[Switch, ...] = ()


def put(target: Target, text: str | None) -> str:
    """The text with what is ours in it."""
    if target.shape.kind == Kind.WHOLE:
        return target.text
    if target.shape.kind == Kind.BLOCK:
        return _put_block(target.text, text or "")
    text = target.shape.new if text is None else text
    if target.server:
        text = _put_server(target, text)
    for event, group in target.hooks.items():
        text = _put_hook(text, event, group, target.shape.flavour)
    for switch in target.switches:
        text = _set(target.shape, text, switch.keys, switch.value)
    return text


def server_of(shape: Shape, text: str) -> str:
    """The entry by our name as JSON; empty where there is none."""
    return _json_at(shape, text, (shape.key, NAME)) if shape.key else ""


def containers(shape: Shape, text: str, *, also: Containers = ()) -> Containers:
    """What may hold our entries and stands in a text already, such as an empty list of hooks."""
    if shape.kind not in (Kind.JSON, Kind.TOML):
        return ()
    data = values(shape, text)
    hooks = data.get(HOOKS)
    events = hooks if isinstance(hooks, dict) and shape.kind == Kind.JSON else {}
    named = [(shape.key,), (HOOKS,), *((HOOKS, event) for event in events), *also]
    return tuple(keys for keys in named if value_at(data, keys) is not None)


def switched(shape: Shape, before: str, after: str, keys: tuple[str, ...]) -> Switched:
    """What became of one value between two texts of a file."""
    return Switched(keys, _json_at(shape, before, keys), _json_at(shape, after, keys))


def switch_back(shape: Shape, text: str, done: Switched, *, there: Containers | None = None) -> str:
    """The text with a value as it was; a value that somebody has changed since stays."""
    if _json_at(shape, text, done.keys) != done.now:
        return text
    text = _set(shape, text, done.keys, json.loads(done.was) if done.was else None)
    above = done.keys[:-1]
    ours = above and there is not None and above not in there and shape.kind == Kind.JSON
    return _drop_empty(text, above, shape.flavour) if ours else text


def values(shape: Shape, text: str) -> dict[str, Any]:
    """What a file says, as plain data."""
    if shape.kind == Kind.TOML:
        return toml_edit.value(text)
    found = json_edit.value(text, flavour=shape.flavour)
    return found if isinstance(found, dict) else {}


def value_at(data: Any, keys: tuple[str, ...]) -> Any:
    """The value below `data` that the keys name; None where there is none."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _json_at(shape: Shape, text: str, keys: tuple[str, ...]) -> str:
    found = value_at(values(shape, text), keys)
    return "" if found is None else json.dumps(found, sort_keys=True)


def _set(shape: Shape, text: str, keys: tuple[str, ...], value: Any) -> str:
    """The text with one value set, or taken out."""
    if shape.kind == Kind.TOML:
        if value is None:
            return toml_edit.drop(text, keys)
        if isinstance(value, dict):
            return toml_edit.put(text, keys, value)
        return toml_edit.put(text, keys[:-1], {keys[-1]: value})
    if value is None:
        return json_edit.drop(text, keys, flavour=shape.flavour)
    return json_edit.put(text, keys, value, flavour=shape.flavour)


def drop(shape: Shape, text: str, *, there: Containers | None = None, server: str = "") -> str:
    """The text without what is ours. A file that is all ours is left: somebody changed it.

    `there` are the containers that stood in it before, and stay; None where that is not known.
    `server` is the entry of the person's own that ours replaced.
    """
    if shape.kind == Kind.WHOLE:
        return text
    if shape.kind == Kind.BLOCK:
        return _drop_block(text)
    if shape.key:
        text = _set(shape, text, (shape.key, NAME), None)
    if shape.key and server:
        text = _set(shape, text, (shape.key, NAME), json.loads(server))
    if shape.kind == Kind.TOML:
        return text
    text = _drop_hooks(text, shape.flavour, there or ())
    ours = shape.key and there is not None and (shape.key,) not in there
    return _drop_empty(text, (shape.key,), shape.flavour) if ours else text


def is_all_ours(target: Target, text: str) -> bool:
    """Whether a file that setup writes whole is ours still."""
    return target.shape.kind == Kind.WHOLE and (text == target.text or bool(OURS.search(text)))


def is_shell(shape: Shape, text: str) -> bool:
    """Whether nothing is left but what a new file begins with, and no servers."""
    if shape.kind != Kind.JSON:
        return shape.kind != Kind.WHOLE and not text.strip(json_edit.MARK + json_edit.BLANK)
    began = json_edit.value(shape.new, flavour=shape.flavour)
    try:
        left = json_edit.value(text, flavour=replace(shape.flavour, comments=False))
    except Broken:
        return False  # Somebody's comment is left.
    return {**left, shape.key: left.get(shape.key) or {}} == {**began, shape.key: {}}


def _put_block(block: str, text: str) -> str:
    """The text with the block: where it stood, or else at the end, below one more line end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = block.replace("\n", newline)
    if FENCED.search(text):
        return FENCED.sub(lambda _: block, text, count=1)
    return text + newline * bool(text) + block


def _drop_block(text: str) -> str:
    """The text without the block and the line end above it, which came with it."""
    found = FENCED.search(text)
    if not found:
        return text
    above = re.sub(r"\r?\n\Z", "", text[: found.start()])
    return above + text[found.end() :]


def _put_server(target: Target, text: str) -> str:
    shape, path = target.shape, (target.shape.key, NAME)
    there = _server(shape, text)
    chosen = _chosen(target.server, there or {})
    # Another kind of server by our name is replaced: two kinds in one entry would be neither.
    other = there is not None and "command" not in there
    if shape.kind == Kind.TOML:
        return toml_edit.put(toml_edit.drop(text, path) if other else text, path, chosen)
    edit = json_edit.replace if other else json_edit.put
    return edit(text, path, chosen, flavour=shape.flavour)


def _server(shape: Shape, text: str) -> dict[str, Any] | None:
    """The entry by our name; None when there is none, empty when it is no entry at all."""
    servers = values(shape, text).get(shape.key)
    if not isinstance(servers, dict) or NAME not in servers:
        return None
    return servers[NAME] if isinstance(servers[NAME], dict) else {}


def vault_in(shape: Shape, text: str) -> str:
    """The vault that the entry by our name is for; empty when there is none."""
    there = (_server(shape, text) if shape.key else None) or {}
    parts = (there.get(key) for key in ("command", "args"))
    words = [word for part in parts if isinstance(part, list) for word in part]
    return str(words[words.index("--vault") + 1]) if "--vault" in words[:-1] else ""


def _chosen(server: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """What of an entry is to be written over the one that is there."""
    if "command" not in there:
        return dict(server)
    return {key: value for key, value in server.items() if key in OWN or key not in there}


def _put_hook(text: str, event: str, group: Mapping[str, Any], flavour: Flavour) -> str:
    [wanted] = group[HOOKS]
    there = json_edit.at(json_edit.read(text, flavour=flavour), (HOOKS, event))
    if there is not None and wanted in _hooks_in(there.value):
        return text
    text = _drop_event(text, event, flavour)
    return json_edit.append(text, (HOOKS, event), dict(group), flavour=flavour)


def _hooks_in(groups: Any) -> list[Any]:
    """The hooks of all groups of an event; of what is no group, nothing."""
    found: list[Any] = []
    for group in groups if isinstance(groups, list) else ():
        hooks = group.get(HOOKS) if isinstance(group, dict) else None
        found += hooks if isinstance(hooks, list) else []
    return found


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and bool(OURS.search(command))


def _drop_hooks(text: str, flavour: Flavour, there: Containers) -> str:
    found = json_edit.at(json_edit.read(text, flavour=flavour), (HOOKS,))
    events = found.value if found and isinstance(found.value, dict) else {}
    ours = [event for event, groups in events.items() if any(map(_is_ours, _hooks_in(groups)))]
    for event in ours:
        text = _drop_event(text, event, flavour)
        if (HOOKS, event) not in there:
            text = _drop_empty(text, (HOOKS, event), flavour)
    return _drop_empty(text, (HOOKS,), flavour) if ours and (HOOKS,) not in there else text


def _drop_event(text: str, event: str, flavour: Flavour) -> str:
    """The text without our hooks of one event, and without the groups that only held them."""
    path = (HOOKS, event)
    found = json_edit.at(json_edit.read(text, flavour=flavour), path)
    groups = found.value if found and isinstance(found.value, list) else []
    for place in reversed(range(len(groups))):
        hooks = _hooks_in([groups[place]])
        ours = [index for index, hook in enumerate(hooks) if _is_ours(hook)]
        for index in reversed(ours):
            text = json_edit.drop(text, (*path, place, HOOKS, index), flavour=flavour)
        if ours and len(ours) == len(hooks):
            text = json_edit.drop(text, (*path, place), flavour=flavour)
    return text


def _drop_empty(text: str, path: tuple[str, ...], flavour: Flavour) -> str:
    """The text without a container that holds nothing, nor a comment of somebody's."""
    found = json_edit.at(json_edit.read(text, flavour=flavour), path)
    blank = found and not text[found.start + 1 : found.end - 1].strip(json_edit.BLANK)
    return json_edit.drop(text, path, flavour=flavour) if blank else text
