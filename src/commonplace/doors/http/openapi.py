"""The OpenAPI document of the gateway, made from its routes and tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.doors.http.routes import PREFIX, Route
from commonplace.tools.tool import Tool

PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "error": {"type": "string"},
        "confirm": {"type": "string", "description": "409: what to send to drop it all the same"},
        "diff": {"type": "string", "description": "409: what would be dropped"},
        "current": {"type": "string", "description": "412: the text as it is now"},
        "merged": {"type": "string", "description": "412: that text and the one sent, together"},
        "etag": {"type": "string", "description": "412: the mark of the text as it is now"},
    },
    "required": ["status", "detail"],
}
VAULT = {"$ref": "#/components/parameters/vault"}
SESSION = {"$ref": "#/components/parameters/session"}
GROUP = {"$ref": "#/components/parameters/group"}
HEADERS = {"etag": "If-Match"}
"""Arguments of a body that may come as a header too; the one in the body counts."""


def document(
    routes: Iterable[Route], tools: Mapping[str, Iterable[Tool]], *, version: str
) -> dict[str, Any]:
    """Everything that can be asked for, with what it takes and answers; `tools` are by vault."""
    paths: dict[str, Any] = _beside()
    for each in routes:
        paths.setdefault(each.template, {})[each.method.lower()] = _operation(each)
    for name, offered in _by_name(tools).items():
        there = VAULT if len(offered) == len(tools) else _vault(list(offered))
        paths[f"{PREFIX}/tools/{name}"] = {"post": _tool_operation(offered.values(), there)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Commonplace", "version": version},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": PROBLEM},
            "parameters": {
                "vault": _vault(list(tools)),
                "session": _session(),
                "group": _group(),
            },
        },
        "security": [{"token": []}],
    }


def _vault(names: Sequence[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"} | ({"enum": list(names)} if names else {})
    return {"name": "vault", "in": "path", "required": True, "schema": schema}


def _session() -> dict[str, Any]:
    about = {"type": "string", "description": "the session that the call belongs to"}
    return _placed("header", "X-Commonplace-Session", about, required=False)


def _group() -> dict[str, Any]:
    about = {"type": "string", "description": "the group that what is stored is recorded with"}
    return _placed("header", "X-Commonplace-Group", about, required=False)


def _beside() -> dict[str, Any]:
    """What is no route of a vault's memory and no tool."""
    last = {"type": "string", "description": "the id of the last event heard: go on after it"}
    listen = _asking("hear_changes", "A stream of events, one for each change.", VAULT)
    listen["parameters"].append(_placed("header", "Last-Event-ID", last, required=False))
    events = {"text/event-stream": {"schema": {"type": "string"}}}
    listen["responses"]["200"] = {"description": "Events until one side ends it", "content": events}
    return {
        "/api/vaults": {"get": _asking("list_vaults", "The vaults that the token opens.")},
        f"{PREFIX}/tools": {"get": _asking("list_tools", "The tools of the vault.", VAULT)},
        f"{PREFIX}/changes": {"get": listen},
    }


def _asking(name: str, summary: str, *placed: dict[str, Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": list(placed),
        "responses": _responses(),
        "x-scope": "read",
    }


def _by_name(tools: Mapping[str, Iterable[Tool]]) -> dict[str, dict[str, Tool]]:
    """The vaults that have a tool of a name, each with its own: dialects share a name or two."""
    found: dict[str, dict[str, Tool]] = {}
    for vault, offered in tools.items():
        for each in offered:
            found.setdefault(each.name, {})[vault] = each
    return found


def _operation(route: Route) -> dict[str, Any]:
    placed: list[dict[str, Any]] = [VAULT, SESSION, GROUP]
    body: dict[str, Any] = {}
    for parameter in route.tool.parameters:
        if route.stands_in_path(parameter):
            placed.append(_placed("path", parameter.name, parameter.schema(), required=True))
        elif route.method == "GET":
            placed.append(
                _placed("query", parameter.name, parameter.schema(), required=parameter.required)
            )
        else:
            body[parameter.name] = parameter
            if parameter.name in HEADERS:
                about = {"type": "string", "description": parameter.about.description}
                placed.append(_placed("header", HEADERS[parameter.name], about, required=False))
    made: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.tool.description.split("\n")[0],
        "parameters": placed,
        "responses": _responses(),
        "x-scope": route.scope,
    }
    if body:
        schema = {
            "type": "object",
            "properties": {name: each.schema() for name, each in body.items()},
            "required": [name for name, each in body.items() if each.required],
            "additionalProperties": False,
        }
        made["requestBody"] = _json(schema) | {"required": bool(schema["required"])}
    return made


def _placed(where: str, name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    about = schema.pop("description", "")
    told = {"name": name, "in": where, "required": required, "schema": schema, "description": about}
    # Lists are spelled with commas, one parameter for all.
    return told | ({"style": "form", "explode": False} if schema.get("type") == "array" else {})


def _tool_operation(offered: Iterable[Tool], vault: dict[str, Any]) -> dict[str, Any]:
    """A tool as the vaults have it: where they differ, any of their forms."""
    each, *others = dict.fromkeys(offered)
    schemas = [form.schema() for form in (each, *others)]
    needed = all("required" in schema for schema in schemas)
    return {
        "operationId": f"tool_{each.name}",
        "summary": each.description.split("\n")[0],
        "parameters": [vault, SESSION, GROUP],
        "requestBody": _json({"anyOf": schemas} if others else schemas[0]) | {"required": needed},
        "responses": _responses(),
        "x-scope": "read" if each.read_only else "write",
    }


def _responses() -> dict[str, Any]:
    wrong = {"description": "What is wrong, in a sentence"} | {
        "content": {
            "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
        }
    }
    good = {"description": "Done"} | _json({"type": "object"})
    held = {**wrong, "description": "It waits for a person's approval"}
    return {"200": good, "201": good, "202": held, "4XX": wrong, "5XX": wrong}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
