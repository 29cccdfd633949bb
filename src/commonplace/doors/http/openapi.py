"""The OpenAPI document of the gateway, made from its routes. It does not know what they do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commonplace.dialects import Tool
from commonplace.doors.http.routes import Route
from commonplace.hints import Any

PROBLEM = {
    "type": "object",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "error": {"type": "string"},
    },
    "required": ["status", "detail"],
}
VAULT = {"$ref": "#/components/parameters/vault"}


def document(
    routes: Iterable[Route], tools: Iterable[Tool], *, vaults: Sequence[str], version: str
) -> dict[str, Any]:
    """Everything that can be asked for, with what it takes and answers."""
    paths: dict[str, Any] = {}
    for each in routes:
        paths.setdefault(each.template, {})[each.method.lower()] = _operation(each)
    for each_tool in tools:
        path = f"/api/vaults/{{vault}}/tools/{each_tool.name}"
        paths[path] = {"post": _tool_operation(each_tool)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Commonplace", "version": version},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": PROBLEM},
            "parameters": {"vault": _vault(vaults)},
        },
        "security": [{"token": []}],
    }


def _vault(names: Sequence[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"} | ({"enum": list(names)} if names else {})
    return {"name": "vault", "in": "path", "required": True, "schema": schema}


def _operation(route: Route) -> dict[str, Any]:
    placed: list[dict[str, Any]] = [VAULT]
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


def _tool_operation(each: Tool) -> dict[str, Any]:
    return {
        "operationId": f"tool_{each.name}",
        "summary": each.description.split("\n")[0],
        "parameters": [VAULT],
        "requestBody": _json(each.schema()) | {"required": "required" in each.schema()},
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
