"""What a gateway counts, and how it tells the counts: the text format of Prometheus.

It is written by hand: counters, gauges and one histogram are a page, and a library would bring
counts of processes that have to be joined. Only the first process counts; workers answer through
it. Labels are routes, jobs and operations, of which there are only so many: no vault, no person.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from commonplace.doors.http.observed import ObservedRequest
    from commonplace.upkeep.schedule import Run

KIND = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds up to which a request counts in each bucket of the histogram."""
MOST_TOKENS = 10_000
"""Tokens that are told apart: of more, the count stays."""
Labels = Mapping[str, str]


class Gauge(Struct, frozen=True):
    """A number as it is now."""

    name: str
    about: str
    values: Mapping[tuple[tuple[str, str], ...], float]
    """The number for each set of labels; `()` where there are none."""


class Times:
    """How long the requests of one route took."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.sum += seconds


class Metrics:
    """The counts since the gateway began."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._times: dict[str, Times] = {}
        self._operations: Counter[tuple[str, ...]] = Counter()
        self._upkeep: Counter[tuple[str, ...]] = Counter()
        self._tokens: set[str] = set()

    def saw(self, seen: ObservedRequest) -> None:
        """Count a request."""
        self._requests[seen.method, seen.route, str(seen.status or "none")] += 1
        self._times.setdefault(seen.route, Times()).add(seen.seconds)
        if seen.token and len(self._tokens) < MOST_TOKENS:
            self._tokens.add(seen.token)

    def did(self, operation: str, *, failed: bool) -> None:
        """Count a store, a search, a change or a delete."""
        self._operations[operation, "failed" if failed else "done"] += 1

    def ran(self, run: Run) -> None:
        """Count a run of upkeep."""
        self._upkeep[run.name, run.outcome] += 1

    def text(self, gauges: Iterable[Gauge]) -> str:
        """All of it, as Prometheus reads it."""
        return "".join(f"{line}\n" for line in self._lines(gauges))

    def _lines(self, gauges: Iterable[Gauge]) -> Iterator[str]:
        yield from _counter(
            "commonplace_requests_total",
            "Requests whose answer has begun.",
            ("method", "route", "status"),
            self._requests,
        )
        yield from self._histogram()
        yield from _counter(
            "commonplace_operations_total",
            "Searches, stores, changes and deletes, over HTTP and MCP.",
            ("operation", "outcome"),
            self._operations,
        )
        yield from _counter(
            "commonplace_upkeep_runs_total",
            "Jobs of upkeep that this gateway ran.",
            ("job", "outcome"),
            self._upkeep,
        )
        about = "Tokens that asked since the gateway began."
        used = Gauge("commonplace_tokens_used", about, {(): len(self._tokens)})
        for each in (*gauges, used):
            yield from _described(each.name, each.about, "gauge")
            yield from (_line(each.name, dict(key), value) for key, value in each.values.items())

    def _histogram(self) -> Iterator[str]:
        name = "commonplace_request_seconds"
        yield from _described(name, "Seconds until an answer began.", "histogram")
        for route, times in sorted(self._times.items()):
            bounds = (*map(str, BUCKETS), "+Inf")
            for bound, count in zip(bounds, accumulate(times.counts)):
                yield _line(f"{name}_bucket", {"route": route, "le": bound}, count)
            yield _line(f"{name}_sum", {"route": route}, times.sum)
            yield _line(f"{name}_count", {"route": route}, sum(times.counts))


def _counter(
    name: str, about: str, labels: tuple[str, ...], counts: Mapping[tuple[str, ...], int]
) -> Iterator[str]:
    yield from _described(name, about, "counter")
    # A job of upkeep may end just now, on another thread.
    for key, count in sorted(dict(counts).items()):
        yield _line(name, dict(zip(labels, key)), count)


def _described(name: str, about: str, kind: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"


def _line(name: str, labels: Labels, value: float) -> str:
    told = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{told}}} {value}" if told else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
