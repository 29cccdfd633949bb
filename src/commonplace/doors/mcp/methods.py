"""One function a method: tools, documents and prompts in the form of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from commonplace.doors.mcp import prompts, versions
from commonplace.doors.mcp.jsonrpc import INVALID_PARAMS, Fault, Object
from commonplace.model.errors import BadName, CommonplaceError, NoSuchDocument

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.tools.tool import Tool

BRIEF = "commonplace://brief"
DOCUMENT = "commonplace://document/"
TEMPLATE = DOCUMENT + "{+name}"
MARKDOWN = "text/markdown"
PAGE = 1000
LONG_RESULT = 200_000
"""The characters that Claude Code shows of a tool that reads; it cuts others at 60,000."""
SKILL = "skill://"
EXTENSIONS: Object = {"io.modelcontextprotocol/skills": {}}
CAPABILITIES: Object = {
    "tools": {},
    "resources": {},
    "prompts": {},
    "completions": {},
    "extensions": EXTENSIONS,
}
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

Offered = Callable[[], dict[str, "Tool"]]
"""Loads the tools by name at the first call, so that a client is answered before."""
Recall = Callable[[], "Memory"]
"""Opens the memory at the first call, so that what is wrong with a request is said before."""


def initialize(params: Object, offered: Offered) -> Object:
    return {
        "protocolVersion": versions.negotiated(_text(params, "protocolVersion")),
        "capabilities": CAPABILITIES | {"logging": {}},
        "serverInfo": versions.server_info(),
        "instructions": prompts.INSTRUCTIONS,
    }


def client_of(params: Object) -> str:
    """What a client calls itself as it begins; empty if it does not say."""
    said = params.get("clientInfo")
    name = said.get("name") if isinstance(said, dict) else ""
    return name if isinstance(name, str) and name.isprintable() else ""


def discover(params: Object, offered: Offered) -> Object:
    return {
        "supportedVersions": list(versions.STATELESS),
        "capabilities": CAPABILITIES,
        "instructions": prompts.INSTRUCTIONS,
    }


def ping(params: Object, offered: Offered) -> Object:
    return {}


def set_level(params: Object, offered: Offered) -> Object:
    """Accepted and without effect: what there is to say is said in the answers."""
    if params.get("level") not in LEVELS:
        raise Fault(INVALID_PARAMS, f"level: use {', '.join(LEVELS)}.")
    return {}


def list_tools(params: Object, offered: Offered) -> Object:
    return {"tools": [listed(tool) for tool in offered().values()]}


def list_own_tools(params: Object, offered: Offered, recall: Recall) -> Object:
    """The tools that this session may have; all as long as there is no vault, which a call says."""
    try:
        memory = recall()
    except CommonplaceError:
        return list_tools(params, offered)
    return {"tools": [listed(tool) for tool in offered().values() if tool.is_for(memory)]}


def tools_of(dialect: str) -> dict[str, Tool]:
    from commonplace import tools

    return tools.table(dialect)


def listed(tool: Tool) -> Object:
    """A tool as clients see it."""
    title = tool.name.replace("_", " ").capitalize()
    meta: Object = {"anthropic/alwaysLoad": True} if tool.always else {}
    if tool.read_only:
        meta["anthropic/maxResultSizeChars"] = LONG_RESULT
    entry: Object = {
        "name": tool.name,
        "title": title,
        "description": tool.description,
        "inputSchema": tool.schema(),
        "annotations": {
            "title": title,
            "readOnlyHint": tool.read_only,
            "destructiveHint": tool.destructive,
            "idempotentHint": tool.read_only,
            "openWorldHint": False,
        },
    }
    return entry | ({"_meta": meta} if meta else {})


def call_tool(params: Object, offered: Offered, recall: Recall) -> Object:
    """Run a tool. What it refuses is a result too, so that the model reads the next step.

    Text only: of a result with structured content, Claude Code shows the model nothing but that,
    and the tools word their answers to be read. A dialect that answers in JSON does so as text.
    """
    name, given = _text(params, "name"), params.get("arguments")
    if not isinstance(given, dict | None):
        raise Fault(INVALID_PARAMS, "arguments: they are not an object.")
    tools = offered()
    if name not in tools:
        from commonplace.tools import unknown

        raise Fault(INVALID_PARAMS, str(unknown(name, tools)))
    try:
        memory = recall()
        memory.conversations.note()
        if versions.can_ask(_meta(params)):
            from commonplace.doors.mcp import asking

            done = asking.called(tools[name], memory, given or {}, asking.reply_in(params))
            if isinstance(done, asking.ClientQuestion):
                return done.as_result()
            return _result(str(done), refused=False)
        return _result(str(tools[name].call(memory, given or {})), refused=False)
    except CommonplaceError as error:
        return _result(str(error), refused=True)


def _meta(params: Object) -> Object:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def _result(text: str, *, refused: bool) -> Object:
    return {"content": texts(text), "isError": refused}


def texts(text: str) -> list[Object]:
    """A text as the content of an answer."""
    return [{"type": "text", "text": text}]


def list_resources(params: Object, offered: Offered, recall: Recall) -> Object:
    """The brief and our skill, then the documents by name.

    The cursor of a page is the last name before it.
    """
    from commonplace.doors.mcp import skills

    after = _text(params, "cursor") if "cursor" in params else ""
    names = sorted(name for name in _documents(recall()) if name > after)
    found = [] if after else [_brief(), skills.resource()]
    found += [_document(name) for name in names[:PAGE]]
    return {"resources": found} | ({"nextCursor": names[PAGE - 1]} if names[PAGE:] else {})


def _documents(memory: Memory) -> list[str]:
    """The documents that the layout lets others see."""
    return [name for name in memory.documents() if memory.layout.serves(name)]


def _brief() -> Object:
    return {
        "uri": BRIEF,
        "name": "brief",
        "title": "Brief",
        "description": "What to know first: how the user wants you to behave, then facts.",
        "mimeType": MARKDOWN,
        "annotations": {"audience": ["assistant"], "priority": 1.0},
    }


def _document(name: str) -> Object:
    from urllib.parse import quote

    return {"uri": DOCUMENT + quote(name), "name": name, "mimeType": MARKDOWN}


def list_templates(params: Object, offered: Offered) -> Object:
    template = {
        "uriTemplate": TEMPLATE,
        "name": "document",
        "title": "Document",
        "description": "A document of the vault by its name, such as USER.md.",
        "mimeType": MARKDOWN,
    }
    return {"resourceTemplates": [template]}


def read_resource(params: Object, offered: Offered, recall: Recall) -> Object:
    uri = _text(params, "uri")
    try:
        text = _read(uri, recall)
    except (BadName, NoSuchDocument) as error:
        raise Fault(versions.NO_RESOURCE, str(error), {"uri": uri}) from None
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}


def _read(uri: str, recall: Recall) -> str:
    from urllib.parse import unquote

    from commonplace.trust.neutralise import neutralise

    if uri.startswith(SKILL):
        return _skill(uri)
    if uri == BRIEF:
        return str(tools_of("native")["brief"].call(recall(), {}))
    name = unquote(uri.removeprefix(DOCUMENT))
    if not uri.startswith(DOCUMENT) or not name:
        raise NoSuchDocument(uri)
    memory = recall()
    if not memory.layout.serves(name):
        raise NoSuchDocument(name)
    memory.waiting_shown()
    text = neutralise(memory.read(name).text)
    if waiting := memory.waiting_shown():
        from commonplace.tools.answers import note

        return f"{text}\n{note(waiting.values())}"
    return text


def _skill(uri: str) -> str:
    from commonplace.doors.mcp import skills

    if uri != skills.URI:
        raise NoSuchDocument(uri)
    return skills.text()


def list_skills(params: Object, offered: Offered) -> Object:
    """The skills that are served, all on one page."""
    from commonplace.doors.mcp import skills

    return {"skills": [skills.entry()], **skills.KEEPS}


def get_skill(params: Object, offered: Offered) -> Object:
    from commonplace.doors.mcp import skills

    uri = _text(params, "uri")
    if uri != skills.URI:
        raise Fault(INVALID_PARAMS, f"There is no skill {uri}. Use {skills.URI}.", {"uri": uri})
    return {"skill": skills.entry(), **skills.KEEPS}


def list_prompts(params: Object, offered: Offered) -> Object:
    return {"prompts": [prompt.listed(name) for name, prompt in prompts.PROMPTS.items()]}


def get_prompt(params: Object, offered: Offered) -> Object:
    name, given = _text(params, "name"), params.get("arguments") or {}
    _check_prompt(name)
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise Fault(INVALID_PARAMS, "arguments: they are not an object of texts.")
    prompt = prompts.PROMPTS[name]
    content = {"type": "text", "text": prompt.filled(given)}
    return {
        "description": prompt.description,
        "messages": [{"role": "user", "content": content}],
    }


def _check_prompt(name: str) -> None:
    if name not in prompts.PROMPTS:
        known = ", ".join(prompts.PROMPTS)
        raise Fault(INVALID_PARAMS, f"There is no prompt {name!r}. Use {known}.")


def complete(params: Object, offered: Offered, recall: Recall) -> Object:
    """The documents' names that fit what was typed; nothing for a prompt, whose text is free."""
    ref, argument = params.get("ref"), params.get("argument")
    if not isinstance(ref, dict) or not isinstance(argument, dict):
        raise Fault(INVALID_PARAMS, "ref and argument: they are not objects.")
    typed, kind = _text(argument, "value"), ref.get("type")
    if kind == "ref/prompt":
        _check_prompt(_text(ref, "name"))
    elif kind != "ref/resource":
        raise Fault(INVALID_PARAMS, "ref: its type is not ref/prompt or ref/resource.")
    asked = kind == "ref/resource" and _text(ref, "uri") == TEMPLATE
    values = fitting(typed, _documents(recall())) if asked else []
    return {
        "completion": {
            "values": values[:100],
            "total": len(values),
            "hasMore": len(values) > 100,
        }
    }


def fitting(typed: str, names: Iterable[str]) -> list[str]:
    """The names with what was typed in them, those that start with it first."""
    typed = typed.casefold()
    found = [name for name in names if typed in name.casefold()]
    return sorted(found, key=lambda name: (not name.casefold().startswith(typed), name))


def _text(params: Object, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise Fault(INVALID_PARAMS, f"{name}: it is missing or not a string.")
    return value


AT_ONCE: dict[str, Callable[[Object, Offered], Object]] = {
    "initialize": initialize,
    "server/discover": discover,
    "ping": ping,
    "logging/setLevel": set_level,
    "tools/list": list_tools,
    "resources/templates/list": list_templates,
    "skills/list": list_skills,
    "skills/get": get_skill,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
}
WITH_MEMORY: dict[str, Callable[[Object, Offered, Recall], Object]] = {
    "tools/list": list_own_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/read": read_resource,
    "completion/complete": complete,
}
HANDSHAKE_ONLY = ("initialize", "ping", "logging/setLevel")
STATELESS_ONLY = ("server/discover",)
