"""What a gateway counts, told in the text format of Prometheus to who has a token for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from commonplace import Memory, tools
from commonplace.doors.http.api import ROUTES
from commonplace.doors.http.app import Gateway
from commonplace.doors.http.metrics import Metrics
from commonplace.doors.http.observed import ObservedRequest
from commonplace.doors.http.operations import NAMES, OPERATIONS, operation_of
from commonplace.doors.http.schedules import Schedules
from commonplace.doors.mcp import http as mcp_http
from tests.doors.test_gateway_api import Served
from tests.support.gateways import AT, client, made, opened, person

LINE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? (\S+)')


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", create=True) as memory:
        memory.store("Ann likes green tea", kind="preference")
    return made(tmp_path)


def counts(asking: TestClient) -> dict[str, float]:
    """Each line with its labels, after a look at whether it is one of the format."""
    answer = asking.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parsed(answer.text)


def parsed(text: str) -> dict[str, float]:
    found, described = {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            described.add(line.split()[2])
        elif not line.startswith("# HELP "):
            match = LINE.fullmatch(line)
            assert match, line
            assert re.sub("_(bucket|sum|count)$", "", match[1]) in described
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


def test_requests_are_counted_by_their_routes_and_no_name_is_told(gateway: Gateway) -> None:
    agent, watcher = client(gateway, "write"), client(gateway, "metrics")
    agent.get(f"{AT}/search?text=tea")
    agent.post(f"{AT}/records", json={"text": "Bea likes coffee"})
    agent.post(f"{AT}/tools/store", json={"text": "Cem likes milk"})
    agent.delete(f"{AT}/records/mem-secret")
    client(gateway).get(f"{AT}/records")
    told = counts(watcher)
    route = "/api/vaults/{vault}/search"
    assert (
        told[f'commonplace_requests_total{{method="GET",route="{route}",status="200"}}'],
        told[f'commonplace_request_seconds_bucket{{route="{route}",le="+Inf"}}'],
        told[f'commonplace_request_seconds_count{{route="{route}"}}'],
        told['commonplace_requests_total{method="GET",route="other",status="401"}'],
        told['commonplace_operations_total{operation="search_memory",outcome="done"}'],
        told['commonplace_operations_total{operation="create_memory",outcome="done"}'],
        told['commonplace_operations_total{operation="delete_memory",outcome="failed"}'],
        told["commonplace_tokens_used"],
    ) == (1, 1, 1, 1, 1, 2, 1, 1)
    assert told["commonplace_open_memories"] >= 1
    for name in ("book", "secret", "Bea", "write 0"):
        assert name not in "".join(told)


def test_buckets_hold_all_that_took_no_longer() -> None:
    metrics = Metrics()
    for seconds in (0.005, 0.2, 100.0):
        metrics.saw(ObservedRequest("GET", "/x", 200, seconds))
    told = parsed(metrics.text([]))
    by_bound = {bound: told[f'commonplace_request_seconds_bucket{{route="/x",le="{bound}"}}']
                for bound in ("0.005", "0.25", "10.0", "+Inf")}  # fmt: skip
    assert by_bound == {"0.005": 1, "0.25": 2, "10.0": 2, "+Inf": 3}


@pytest.mark.parametrize("label", ['a"b', "a\\b", "a\nb"])
def test_no_label_breaks_a_line(label: str) -> None:
    metrics = Metrics()
    metrics.saw(ObservedRequest("GET", label, 200, 0.1))
    assert parsed(metrics.text([]))


REFUSED = {"": 401, "read of one vault": 403, "admin of one vault": 403}


def test_who_may_open_one_vault_hears_nothing_of_all(gateway: Gateway) -> None:
    asking = {
        "": client(gateway),
        "read of one vault": client(gateway, "read", vaults=("book",)),
        "admin of one vault": client(gateway, "admin", vaults=("book",)),
    }
    assert {who: each.get("/metrics").status_code for who, each in asking.items()} == REFUSED
    assert client(gateway, "read").get("/metrics").status_code == 200
    assert person(gateway).get("/metrics").status_code == 200


def test_a_token_for_counts_reads_nothing_else(gateway: Gateway) -> None:
    watcher = client(gateway, "metrics")
    for path in (f"{AT}/records", f"{AT}/changes", "/api/vaults", "/api/openapi.json", "/health"):
        answer = watcher.get(path)
        assert (answer.status_code, answer.json()["error"]) == (403, "NotAllowed"), path
    assert watcher.post("/mcp/book", json={}).status_code == 403
    assert watcher.post(f"{AT}/tools/search", json={"query": "tea"}).status_code == 403


def test_what_is_done_over_mcp_is_counted_too(tmp_path: Path) -> None:
    path = tmp_path / "book"
    Memory.open(path, create=True).close()

    def application(name: str, path: str) -> object:
        return mcp_http.server(
            lambda session: opened(path, "agent"),
            dialect="native",
            session="",
            observed=partial(serving.operations.done, name),
        )

    serving = made(tmp_path, mcp=application)
    headers = {"accept": "application/json, text/event-stream"}
    calls = [("store", {"text": "Ann likes tea", "kind": "fact"}), ("delete", {"id": "mem-none"})]
    with client(serving, "write") as agent:
        for name, given in calls:
            params = {"name": name, "arguments": given}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            assert agent.post("/mcp", json=message, headers=headers).status_code == 200
        told = counts(client(serving, "metrics"))
    assert told['commonplace_operations_total{operation="create_memory",outcome="done"}'] == 1
    assert told['commonplace_operations_total{operation="delete_memory",outcome="failed"}'] == 1


def test_runs_of_upkeep_are_counted_by_job_and_outcome(
    tmp_path: Path, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "log"))
    monkeypatch.setenv("COMMONPLACE_SCAN_SCHEDULE", "6h")
    paths = gateway.vaults.paths.values
    Schedules(
        lambda path: opened(path, "owner"),
        paths,
        clock=opened(str(tmp_path / "book"), "owner").clock,
        after=gateway.metrics.ran,
    ).look()
    told = counts(client(gateway, "metrics"))
    assert told['commonplace_upkeep_runs_total{job="scan",outcome="done"}'] == 1


def test_every_route_and_tool_that_changes_a_memory_is_an_operation() -> None:
    other = {"set_option", "run_job", "begin_pause", "end_pause", "connect_client"}
    other |= {"disconnect_client", "history", "memory"}
    writing = {each.name for each in ROUTES if each.method != "GET"}
    writing |= {
        name
        for dialect in tools.DIALECTS
        for name, tool in tools.table(dialect).items()
        if not tool.read_only
    }
    assert writing - set(OPERATIONS) - other == set()
    known = {each.name for each in ROUTES} | {
        name for dialect in tools.DIALECTS for name in tools.table(dialect)
    }
    assert set(OPERATIONS) <= known
    assert len(OPERATIONS) == sum(len(names.split()) for names in NAMES.values())
    assert operation_of("memory", {"command": "insert"}) == "update_memory"
    assert operation_of("memory", {"command": "view"}) == ""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path, "--workers", "2")
    yield running
    running.end()


def test_memories_that_workers_hold_are_counted(served: Served) -> None:
    cookie = served.log_in()
    for _ in range(4):
        served.ask("GET", f"{AT}/search?text=tea", cookie=cookie).read()
    told = parsed(served.ask("GET", "/metrics", cookie=cookie).read().decode())
    # The first process has opened none: it only asked the two.
    assert told["commonplace_open_memories"] == 2
    assert told['commonplace_workers{state="idle"}'] == 2
    assert told['commonplace_workers{state="gone"}'] == 0
