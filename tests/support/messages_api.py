"""A stand-in for the Messages API on loopback, for tests with the real Claude Code.

It says what it was told to say, in order, as a stream where one is asked for, and keeps every
request that it was sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = Mapping[str, Any]


def text(words: str) -> list[Block]:
    """An answer in words."""
    return [{"type": "text", "text": words}]


def tool(name: str, arguments: Mapping[str, Any]) -> list[Block]:
    """An answer that calls a tool."""
    return [{"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": dict(arguments)}]


class MessagesApi(ThreadingHTTPServer):
    """Answers with what `say` queued; with a plain word when nothing is queued."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.requests: list[dict[str, Any]] = []
        self.failures: list[str] = []
        self._queued: list[list[Block]] = []
        self._guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(self, *answers: list[Block]) -> None:
        """Queue what the model says next, one for each request that offers tools."""
        self._queued += answers

    def answer(self, request: dict[str, Any]) -> list[Block]:
        with self._guard:
            self.requests.append(request)
            # Without tools it is a side errand of the client, such as a title.
            return self._queued.pop(0) if self._queued and request.get("tools") else text("Done.")

    def sent(self, number: int) -> str:
        """All the text of one request's system prompt and messages."""
        request = self.requests[number]
        return "\n".join(words({"system": request.get("system"), "m": request["messages"]}))


def words(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from words(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from words(each)


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: MessagesApi

    def log_message(self, *_: Any) -> None:
        """Say nothing: the tests read what was kept."""

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self.server.failures.append(f"GET {self.path}")
        self._send(b"{}", "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if "count_tokens" in self.path:
            self._send(b'{"input_tokens": 1000}', "application/json")
        elif not self.path.startswith("/v1/messages"):
            self.server.failures.append(f"POST {self.path}")
            self._send(b"{}", "application/json")
        else:
            self._answer(request, self.server.answer(request))

    def _answer(self, request: Mapping[str, Any], blocks: list[Block]) -> None:
        if not request.get("stream"):
            whole = _message(request) | {"content": blocks, "stop_reason": _reason(blocks)}
            self._send(json.dumps(whole).encode(), "application/json")
            return
        events = "".join(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
            for event in stream(request, blocks)
        )
        self._send(events.encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _message(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1000, "output_tokens": 10},
    }


def _reason(blocks: list[Block]) -> str:
    return "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"


def stream(request: Mapping[str, Any], blocks: list[Block]) -> Iterator[dict[str, Any]]:
    """What a stream of an answer is made of."""
    yield {"type": "message_start", "message": _message(request)}
    for index, block in enumerate(blocks):
        is_tool = block["type"] == "tool_use"
        empty = {**block, "input": {}} if is_tool else {"type": "text", "text": ""}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if is_tool
            else {"type": "text_delta", "text": block["text"]}
        )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": _reason(blocks), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


@contextmanager
def messages_api() -> Iterator[MessagesApi]:
    """One that listens until the block ends."""
    with MessagesApi() as api:
        thread = threading.Thread(target=api.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()
