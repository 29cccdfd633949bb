"""Spans of what is done to a memory, sent by OpenTelemetry (extra `telemetry`).

The one module that imports OpenTelemetry, and only a gateway that was told to send spans imports
it. Names are those of the conventions for generative AI. The provider is our own: what libraries
trace for themselves goes nowhere. It knows neither HTTP nor MCP.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, StatusCode

from commonplace import __version__
from commonplace.doors.http.operations import CREATE, DELETE, SEARCH, UPDATE, Tracer, TroubledAnswer

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable by which somebody asks for questions and texts in spans."""
SERVICE = ("OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES")
FLUSH_MILLISECONDS = 2000
"""How long a gateway that ends waits for a collector to take the last spans."""


@contextmanager
def tracing(
    *,
    environ: Mapping[str, str] = os.environ,
    processor: Callable[[], SpanProcessor] = lambda: BatchSpanProcessor(OTLPSpanExporter()),
) -> Iterator[Tracer]:
    """What traces operations until this ends. To be entered once no process is forked any more."""
    named = any(environ.get(name) for name in SERVICE)
    resource = Resource.create({} if named else {"service.name": "commonplace"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(processor())
    try:
        yield Spans(provider, content=environ.get(CONTENT, "").lower() == "true").done
    finally:
        provider.force_flush(FLUSH_MILLISECONDS)
        provider.shutdown()


class Spans:
    """Does operations, each as a span."""

    def __init__(self, provider: TracerProvider, *, content: bool) -> None:
        self._tracer = provider.get_tracer("commonplace", __version__)
        self._content = content

    async def done(
        self,
        operation: str,
        given: Mapping[str, Any],
        vault: str,
        work: Callable[[], Awaitable[TroubledAnswer]],
    ) -> TroubledAnswer:
        """Do an operation. No exception is recorded: its sentence may quote what was asked."""
        with self._tracer.start_as_current_span(
            operation,
            kind=SpanKind.SERVER,
            attributes=self._attributes(operation, given, vault),
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                answer = await work()
            except Exception as error:
                _fail(span, type(error).__name__)
                raise
            if answer.trouble:
                _fail(span, answer.trouble)
            return answer

    def _attributes(
        self, operation: str, given: Mapping[str, Any], vault: str
    ) -> dict[str, str | int]:
        told: dict[str, str | int] = {
            "gen_ai.operation.name": operation,
            "gen_ai.memory.store.id": vault,
        }
        if operation in (UPDATE, DELETE) and isinstance(given.get("id"), str):
            told["gen_ai.memory.record.id"] = given["id"]
        if not self._content:
            return told
        text = given.get("query") or given.get("text")
        if operation == SEARCH and isinstance(text, str):
            told["gen_ai.memory.query.text"] = text
        if operation == CREATE and isinstance(text, str):
            told["gen_ai.memory.records"] = json.dumps([{"content": text}], ensure_ascii=False)
        return told


def _fail(span: Span, what: str) -> None:
    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", what)
