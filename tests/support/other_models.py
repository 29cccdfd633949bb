"""Stand-ins on loopback for the models of other clients, for tests with the real ones.

One server speaks the forms of Gemini, of OpenAI's chat completions and of its responses, and
Anthropic's of messages. It says
what it was told to say, in order, and keeps every request that it was sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support import messages_api

Said = str | tuple[str, Mapping[str, Any]]
"""An answer in words, or a call of a tool: its name and arguments."""
Event = tuple[str, dict[str, Any]]


class Models(ThreadingHTTPServer):
    """Answers with what `say` queued; with a plain word when nothing is queued."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.requests: list[dict[str, Any]] = []
        self._queued: list[Said] = []
        self._guard = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def say(self, *answers: Said) -> None:
        """Queue what the model says next, one for each request that offers tools."""
        self._queued += answers

    def answer(self, request: dict[str, Any]) -> Said:
        with self._guard:
            self.requests.append(request)
            return self._queued.pop(0) if self._queued and request.get("tools") else "Done."

    def tools(self) -> set[str]:
        """The names of all tools that were ever offered."""
        return {name for request in self.requests for name in names(request.get("tools"))}


def names(value: Any) -> Iterator[str]:
    """The names of the tools that a request offers, in any of the forms."""
    if isinstance(value, list):
        for each in value:
            yield from names(each)
    elif isinstance(value, Mapping):
        if isinstance(value.get("name"), str):
            yield value["name"]
        for key in ("function", "functionDeclarations", "tools"):
            yield from names(value.get(key))


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Models

    def log_message(self, *_: Any) -> None:
        """Say nothing: the tests read what was kept."""

    def do_GET(self) -> None:
        models = {"object": "list", "data": [{"id": "test", "object": "model"}], "models": []}
        self._send(json.dumps(models).encode(), "application/json")

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        request = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith(":countTokens"):
            self._send(b'{"totalTokens": 100}', "application/json")
        elif path.endswith(("GenerateContent", ":generateContent")):
            self._stream(_gemini(self.server.answer(request)), whole="stream" not in path)
        elif path.endswith("/chat/completions"):
            said = self.server.answer(request)
            if request.get("stream"):
                self._stream(_chat(said), end="data: [DONE]\n\n")
            else:
                self._send(json.dumps(_whole_chat(said)).encode(), "application/json")
        elif path.endswith("/v1/messages"):
            self._stream(_messages(request, self.server.answer(request)))
        elif path.endswith("/count_tokens"):
            self._send(b'{"input_tokens": 1000}', "application/json")
        elif path.endswith("/responses"):
            self._stream(_responses(self.server.answer(request)))
        else:
            self._send(b"{}", "application/json")

    def _stream(self, events: list[Event], *, end: str = "", whole: bool = False) -> None:
        if whole:
            self._send(json.dumps(events[-1][1]).encode(), "application/json")
            return
        told = "".join(
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
            for name, data in events
        )
        self._send((told + end).encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _messages(request: Mapping[str, Any], said: Said) -> list[Event]:
    blocks = messages_api.text(said) if isinstance(said, str) else messages_api.tool(*said)
    # Of calls with one id Claude Code keeps the last result only.
    number = len(request["messages"])
    blocks = [{**it, "id": f"{it['id']}_{number}"} if "id" in it else it for it in blocks]
    return [(event["type"], event) for event in messages_api.stream(request, blocks)]


def _gemini(said: Said) -> list[Event]:
    part: dict[str, Any] = (
        {"text": said}
        if isinstance(said, str)
        else {"functionCall": {"name": said[0], "args": dict(said[1])}}
    )
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return [("", {"candidates": [candidate], "usageMetadata": usage})]


def _called(said: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "id": f"call_{said[0]}"[:40],
        "type": "function",
        "function": {"name": said[0], "arguments": json.dumps(said[1])},
    }


def _chat(said: Said) -> list[Event]:
    is_text = isinstance(said, str)
    delta: dict[str, Any] = (
        {"content": said}
        if isinstance(said, str)
        else {"tool_calls": [{"index": 0, **_called(said)}]}
    )
    base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "test"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    first = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": "stop" if is_text else "tool_calls"}
    return [
        ("", {**base, "choices": [first]}),
        ("", {**base, "choices": [last]}),
        ("", {**base, "choices": [], "usage": usage}),
    ]


def _whole_chat(said: Said) -> dict[str, Any]:
    is_text = isinstance(said, str)
    message: dict[str, Any] = {"role": "assistant", "content": said if is_text else None}
    if not isinstance(said, str):
        message["tool_calls"] = [_called(said)]
    reason = "stop" if is_text else "tool_calls"
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "test",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _responses(said: Said) -> list[Event]:
    if isinstance(said, str):
        content = [{"type": "output_text", "text": said, "annotations": []}]
        item: dict[str, Any] = {
            "type": "message",
            "role": "assistant",
            "id": "m",
            "content": content,
        }
    else:
        space, _, name = said[0].rpartition(".")
        item = {
            "type": "function_call",
            "id": "f",
            "call_id": "call",
            "name": name,
            "arguments": json.dumps(said[1]),
            **({"namespace": space} if space else {}),
        }
    usage = {
        "input_tokens": 10,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 15,
    }
    response = {"id": "r", "object": "response", "status": "completed", "output": [item]}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "usage": usage}},
    ]
    return [(event["type"], event) for event in events]


@contextmanager
def models() -> Iterator[Models]:
    """One that listens until the block ends."""
    with Models() as api:
        thread = threading.Thread(target=api.serve_forever, daemon=True)
        thread.start()
        try:
            yield api
        finally:
            api.shutdown()
            thread.join()
