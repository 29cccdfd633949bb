"""Spans of operations: to a small collector on this machine, and none unless asked for."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.doors.http.app import Gateway
from tests.doors.test_gateway_api import Served
from tests.support import skips
from tests.support.gateways import AT, client, made

messages = skips.library("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
in_memory = skips.library("opentelemetry.sdk.trace.export.in_memory_span_exporter")
export = skips.library("opentelemetry.sdk.trace.export")
telemetry = skips.library("commonplace.doors.http.telemetry")
SECRET = "the green combination"


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", create=True) as memory:
        memory.store("Ann likes green tea", kind="preference")
    return made(tmp_path)


def spans(gateway: Gateway, **environ: str) -> list[dict[str, Any]]:
    """What is told of a store, a search and a delete of what there is not."""
    kept = in_memory.InMemorySpanExporter()
    agent = client(gateway, "write")
    with telemetry.tracing(
        environ=environ, processor=lambda: export.SimpleSpanProcessor(kept)
    ) as trace:
        gateway.operations.trace = trace
        agent.post(f"{AT}/records", json={"text": SECRET})
        agent.get(f"{AT}/search", params={"text": SECRET})
        agent.delete(f"{AT}/records/mem-none")
        agent.get(f"{AT}/records")
    return [
        {"name": span.name, "failed": not span.status.is_ok} | dict(span.attributes or {})
        for span in kept.get_finished_spans()
    ]


def test_an_operation_is_a_span_without_content(gateway: Gateway) -> None:
    store = {"gen_ai.memory.store.id": "book"}
    assert spans(gateway) == [
        {
            "name": "create_memory",
            "failed": False,
            "gen_ai.operation.name": "create_memory",
            **store,
        },
        {
            "name": "search_memory",
            "failed": False,
            "gen_ai.operation.name": "search_memory",
            **store,
        },
        {
            "name": "delete_memory",
            "failed": True,
            "gen_ai.operation.name": "delete_memory",
            "gen_ai.memory.record.id": "mem-none",
            "error.type": "404",
            **store,
        },
    ]


def test_content_is_in_spans_for_who_asks_for_it(gateway: Gateway) -> None:
    store, search, _ = spans(gateway, **{telemetry.CONTENT: "true"})
    assert json.loads(store["gen_ai.memory.records"]) == [{"content": SECRET}]
    assert search["gen_ai.memory.query.text"] == SECRET


def test_an_exception_is_told_by_its_name_alone() -> None:
    kept = in_memory.InMemorySpanExporter()

    async def broken() -> Any:
        raise ValueError(SECRET)

    with (
        telemetry.tracing(environ={}, processor=lambda: export.SimpleSpanProcessor(kept)) as trace,
        pytest.raises(ValueError, match=SECRET),
    ):
        asyncio.run(trace("search_memory", {"text": SECRET}, "book", broken))
    [span] = kept.get_finished_spans()
    assert dict(span.attributes or {})["error.type"] == "ValueError"
    assert SECRET not in span.to_json()


class Collector:
    """Takes spans over HTTP, as OTLP has them."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        outer = self

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    import gzip

                    body = gzip.decompress(body)
                outer.requests.append(messages.ExportTraceServiceRequest.FromString(body))
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Taking)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever)
        self._thread.start()

    def spans(self) -> list[tuple[str, str]]:
        """The services with the names of their spans."""
        return [
            (resource.resource.attributes[at].value.string_value, span.name)
            for request in self.requests
            for resource in request.resource_spans
            for at, each in enumerate(resource.resource.attributes)
            if each.key == "service.name"
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    running = Collector()
    yield running
    running.close()


@pytest.mark.long
def test_a_gateway_sends_its_spans_before_it_ends(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    served = Served(tmp_path, "--workers", "2")
    try:
        cookie = served.log_in()
        served.ask("GET", f"{AT}/search?text=tea", cookie=cookie).read()
        assert served.stop() == 0
    finally:
        served.end()
    assert collector.spans() == [("commonplace", "search_memory")]
    assert b"tea" not in b"".join(each.SerializeToString() for each in collector.requests)


@pytest.mark.long
def test_a_collector_that_is_away_keeps_no_gateway_from_ending(
    tmp_path: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    served = Served(tmp_path, "--workers", "0")
    try:
        cookie = served.log_in()
        assert served.ask("GET", f"{AT}/search?text=tea", cookie=cookie).status == 200
        assert served.stop() == 0
    finally:
        served.end()


WITHOUT = """
import sys
sys.modules["opentelemetry.sdk"] = None
from commonplace.__main__ import main
main()
"""


@pytest.mark.parametrize("asked", [True, False])
def test_without_the_extra_the_option_says_what_to_install_and_the_variable_nothing(
    tmp_path: Path, asked: bool
) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    # A host that cannot be bound ends the command, once nothing else was wrong.
    words = ["--vault", str(tmp_path / "book"), "serve", "--host", "203.0.113.7"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words, *(["--telemetry"] if asked else [])],
        env=os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ("commonplace-memory[telemetry]" in done.stderr) is asked
    assert (done.returncode == 7) is asked


def test_a_gateway_that_sends_no_spans_imports_nothing_of_it(tmp_path: Path) -> None:
    program = (
        "import sys; from commonplace.doors.http import server, app; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
