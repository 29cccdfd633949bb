"""The revisions of the protocol: how a client opens each, and what each wants around a result."""

from __future__ import annotations

from commonplace import __version__
from commonplace.doors.mcp.jsonrpc import INVALID_PARAMS, Fault, Object

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Those that begin with `initialize`, oldest first."""
STATELESS = ("2026-07-28",)
"""Those whose every request says its version and the client's capabilities in `_meta`."""
BATCHED = ("", "2024-11-05", "2025-03-26")
"""Those that allow several messages on one line, and the time before any was agreed on."""

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

ELICITING = ("2025-06-18", "2025-11-25")
"""Those with a handshake whose clients may be sent a question for their person."""
ELICIT = "elicitation/create"
INPUT_REQUIRED = "input_required"
"""The kind of a result that is a question: the call is made again with the answer."""

UNSUPPORTED_VERSION = -32022
NO_RESOURCE = -32002
HOUR = 3_600_000

FRESH = {
    "server/discover": HOUR,
    "tools/list": HOUR,
    "prompts/list": HOUR,
    "resources/templates/list": HOUR,
    "resources/list": 0,
    "resources/read": 0,
}
"""The results that a client may keep, with the milliseconds it may keep them."""


def negotiated(asked: str) -> str:
    """The version that the answer to `initialize` names."""
    return asked if asked in HANDSHAKE else HANDSHAKE[-1]


def is_stateless(method: str, meta: Object) -> bool:
    """Whether a request is of the stateless era; a fault when its envelope is not whole."""
    # `initialize` belongs to the other era, whatever a client puts around it.
    if method == "initialize" or VERSION_KEY not in meta:
        return False
    version = meta[VERSION_KEY]
    if not isinstance(version, str):
        raise Fault(INVALID_PARAMS, f"_meta: {VERSION_KEY} is not a string.")
    if CAPABILITIES_KEY not in meta:
        raise Fault(INVALID_PARAMS, f"_meta: {CAPABILITIES_KEY} is missing.")
    if version not in STATELESS:
        known = {"supported": list(STATELESS), "requested": version}
        raise Fault(UNSUPPORTED_VERSION, "Unsupported protocol version", known)
    return True


def can_ask(meta: Object) -> bool:
    """Whether the client that sent this shows its person a form; an empty capability means so."""
    capabilities = meta.get(CAPABILITIES_KEY)
    said = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(said, dict) and (not said or "form" in said)


def is_question(result: Object) -> bool:
    """Whether the result of a call is what the person is to be asked."""
    return result.get("resultType") == INPUT_REQUIRED


def stamped(method: str, result: Object) -> Object:
    """A result of the stateless era: what kind it is, who sends it, how long it keeps."""
    stamp: Object = {"resultType": "complete", "_meta": {SERVER_KEY: server_info()}}
    if method in FRESH:
        scope = "public" if FRESH[method] else "private"
        stamp |= {"ttlMs": FRESH[method], "cacheScope": scope}
    return stamp | result


def stateless_fault(fault: Fault) -> Fault:
    """A fault with the code that the stateless era has for it."""
    if fault.code != NO_RESOURCE:
        return fault
    return Fault(INVALID_PARAMS, fault.message, fault.data)


def server_info() -> Object:
    return {"name": "commonplace", "title": "Commonplace", "version": __version__}
