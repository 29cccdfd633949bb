"""JSON-RPC 2.0 on lines: bytes become messages or faults, and answers become bytes."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

from commonplace.model.errors import CommonplaceError

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
LONGEST = 32 << 20

Id = str | int | None
Object = dict[str, Any]


class Fault(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        self.code = code
        self.message = message
        self.data = data
        super().__init__(message)


class RpcMessage(NamedTuple):
    """A request, or a notification when its id is None."""

    method: str
    params: Object
    id: Id

    @property
    def meta(self) -> Object:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def lines(stream: BinaryIO) -> Iterator[bytes]:
    """Each line that says something. Of one that is too long only the start is kept."""
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            _skip_line(stream, line)
        if line.strip():
            yield line


def _skip_line(stream: BinaryIO, piece: bytes) -> None:
    while piece and not piece.endswith(b"\n"):
        piece = stream.readline(LONGEST)


def parse(line: bytes) -> Any:
    """The JSON value of a line."""
    if len(line) > LONGEST:
        raise Fault(INVALID_REQUEST, f"A line may hold at most {LONGEST:,} bytes.")
    try:
        return DECODER.decode(line.decode())
    except UnicodeDecodeError:
        raise Fault(PARSE_ERROR, "This is not UTF-8.") from None
    except ValueError:
        raise Fault(PARSE_ERROR, "This is not JSON.") from None
    except RecursionError:
        raise Fault(PARSE_ERROR, "This is nested too deeply.") from None


def _refuse(name: str) -> Any:
    raise ValueError(name)


# NaN and Infinity are Python's own and no JSON.
DECODER = json.JSONDecoder(parse_constant=_refuse)


def message_of(value: Any) -> RpcMessage | None:
    """The request or notification that a value is; None for a response, which nobody awaits."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        raise Fault(INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".')
    if "method" not in value and ("result" in value or "error" in value):
        return None
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        raise Fault(INVALID_REQUEST, "The method is not a string.")
    if "id" in value and id_of(value) is None:
        raise Fault(INVALID_REQUEST, "The id is not a string or a whole number.")
    if not isinstance(params, dict | None):
        raise Fault(INVALID_PARAMS, "The params are not an object.")
    return RpcMessage(method, params or {}, id=id_of(value))


def id_of(value: Any) -> Id:
    """The id to answer to; None when there is none that could be told apart."""
    key = value.get("id") if isinstance(value, dict) else None
    return key if isinstance(key, str | int) and not isinstance(key, bool) else None


def success(id: Id, result: Object) -> Object:
    return {"jsonrpc": "2.0", "id": id, "result": result}


def failure(id: Id, fault: Fault) -> Object:
    error: Object = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return {"jsonrpc": "2.0", "id": id, "error": error}


def notification(method: str, params: Object) -> Object:
    return {"jsonrpc": "2.0", "method": method, "params": params}


# In ASCII a line is one line, whatever else a reader takes for a line break, and lone surrogates
# in an id come back as they were sent.
ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def encoded(value: Object | list[Object]) -> bytes:
    return ENCODER.encode(value).encode("ascii") + b"\n"


class Batch:
    """The answers to the messages of one line, sent together when the last is there."""

    def __init__(self, size: int, *, send: Callable[[list[Object]], None]) -> None:
        self._left = size
        self._send = send
        self._answers: list[Object] = []
        self._adding = threading.Lock()

    def add(self, answer: Object | None) -> None:
        with self._adding:
            self._left -= 1
            if answer is not None:
                self._answers.append(answer)
            done = not self._left
        if done and self._answers:
            self._send(self._answers)


def fault_of(error: Exception) -> Fault:
    """The fault that the client is told. An unforeseen error reveals nothing."""
    if isinstance(error, Fault):
        return error
    if isinstance(error, CommonplaceError):
        return Fault(INTERNAL_ERROR, str(error))
    if isinstance(error, RecursionError):
        return Fault(INVALID_PARAMS, "This is nested too deeply.")
    _log(error)
    return Fault(INTERNAL_ERROR, "Internal error")


def _log(error: Exception) -> None:
    """Tell the person at the other end of stderr."""
    import traceback

    traceback.print_exception(error)
