"""What a gateway tells probes, who bring no token, and what it tells those who bring one."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.http import health
from commonplace.doors.http.app import Gateway
from commonplace.doors.http.schedules import Schedules
from commonplace.model.errors import VaultTrouble
from tests.data import clock_at
from tests.support.gateways import client, made, opened

NOW = "2026-11-15T12:00:00Z"


@pytest.fixture(autouse=True)
def looked_at_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "FRESH", 0.0)
    monkeypatch.setattr(health, "WAIT", 60.0)


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    Memory.open(tmp_path / "book", create=True).close()
    return made(tmp_path)


def probe(gateway: Gateway, path: str, host: str = "10.0.0.7:8377") -> tuple[int, Any]:
    answer = TestClient(gateway.app, base_url=f"http://{host}").get(path)
    return answer.status_code, answer.json()


def test_a_probe_needs_no_token_and_none_of_our_host_names(gateway: Gateway) -> None:
    assert probe(gateway, "/health/live") == (200, {"status": "live"})
    assert probe(gateway, "/health/ready") == (200, {"status": "ready"})
    nobody = TestClient(gateway.app, base_url="http://10.0.0.7:8377")
    assert nobody.head("/health/live").status_code == 200
    assert nobody.get("/health").status_code == 421
    assert client(gateway).get("/health").status_code == 401


@pytest.mark.parametrize("path", ["/health/live", "/health/ready"])
def test_a_page_of_another_site_and_whoever_posts_is_no_probe(gateway: Gateway, path: str) -> None:
    asking = client(gateway)
    assert asking.get(path, headers={"origin": "http://evil.example"}).status_code == 403
    assert asking.post(path).status_code == 401


class Away:
    """Opens a vault as long as it is there."""

    def __init__(self) -> None:
        self.is_away = False

    def __call__(self, path: str, origin: str) -> Memory:
        if self.is_away:
            raise VaultTrouble("The server at db.internal is away.", next_step="Wait.")
        return opened(path, origin)


def test_a_gateway_without_its_vault_is_not_ready_and_names_nothing(gateway: Gateway) -> None:
    gateway.vaults._open = away = Away()
    away.is_away = True
    assert probe(gateway, "/health/live") == (200, {"status": "live"})
    assert probe(gateway, "/health/ready") == (503, {"status": "vaults"})
    away.is_away = False
    assert probe(gateway, "/health/ready") == (200, {"status": "ready"})


def test_a_gateway_that_ends_is_not_ready(gateway: Gateway) -> None:
    gateway.stop()
    assert probe(gateway, "/health/ready") == (503, {"status": "stopping"})


def test_tokens_that_cannot_be_read_are_told_in_a_word(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(token: str) -> None:
        raise VaultTrouble("The server at db.internal is away.", next_step="Wait.")

    monkeypatch.setattr(gateway.tokens, "find", gone)
    assert probe(gateway, "/health/ready") == (503, {"status": "database"})


def test_a_vault_that_does_not_answer_keeps_no_probe_waiting_and_is_asked_once(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "WAIT", 0.01)
    gate, asked = threading.Event(), []

    def slow(path: str, origin: str) -> Memory:
        asked.append(path)
        gate.wait(60)
        return opened(path, origin)

    gateway.vaults._open = slow
    with TestClient(gateway.app, base_url="http://10.0.0.7:8377") as asking:
        for _ in range(3):
            assert asking.get("/health/ready").json() == {"status": "slow"}
        assert len(asked) == 1
        gate.set()


def test_one_vault_that_is_gone_is_named_to_who_may_open_it(tmp_path: Path) -> None:
    from commonplace.doors.http import server

    for name in ("book", "diary"):
        Memory.open(tmp_path / name, create=True).close()
    gateway = server.gateway(
        [str(tmp_path / "book"), str(tmp_path / "diary")],
        lambda path, origin: Memory.open(path, origin=origin),
        port=8377,
        tokens=tmp_path / "tokens.json",
    )
    shutil.rmtree(tmp_path / "diary")
    assert probe(gateway, "/health/ready") == (200, {"status": "ready"})
    told = client(gateway, "read").get("/health").json()
    assert (told["ok"], told["away"]) == (False, {"diary": "NoSuchVault"})
    only = client(gateway, "read", vaults=("book",)).get("/health").json()
    assert (only["ok"], only["away"]) == (True, {})


def test_a_job_that_is_late_and_a_schedule_that_ended_are_told(
    tmp_path: Path, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "log"))
    monkeypatch.setenv("COMMONPLACE_SCAN_SCHEDULE", "6h")
    clock, path = clock_at(NOW), gateway.vaults.paths["book"]
    schedules = Schedules(
        lambda path: Memory.open(path, origin="owner", clock=clock),
        gateway.vaults.paths.values,
        clock=clock,
    )
    gateway.health.schedules = schedules
    asking = client(gateway, "read")
    schedules.look()
    assert asking.get("/health").json()["late"] == {}
    clock.sleep(7 * 3600)
    with Memory.open(path, clock=clock) as memory, memory.notes.alone("upkeep.lock"):
        schedules.look()
    told = asking.get("/health").json()
    assert told["late"]["book"][0].startswith("The job scan is late: it was due at")
    assert (told["ok"], told["upkeep"]) == (False, "ended")
    clock.sleep(60)
    schedules.look()
    assert asking.get("/health").json()["late"] == {}
    # Nobody looks any more: a job of another vault does not end.
    clock.sleep(7 * 3600)
    assert "Nothing looks" in asking.get("/health").json()["late"]["book"][0]


def test_each_request_is_one_line_without_what_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Memory.open(tmp_path / "book", create=True) as memory:
        memory.store("The combination is 71-13-58")
    gateway = made(tmp_path, log="json")
    asking = client(gateway, "read")
    headers = {"x-commonplace-session": 'evening "tea"'}
    asking.get("/api/vaults/book/search?text=combination", headers=headers)
    asking.get("/api/vaults/book/records/mem-71-13-58")
    asking.get("/nothing/combination")
    client(gateway).get("/api/vaults/combination/records")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    routes = [(each["method"], each["route"], each["status"]) for each in lines]
    assert routes == [
        ("GET", "/api/vaults/{vault}/search", 200),
        ("GET", "/api/vaults/{vault}/records/{id}", 404),
        ("GET", "/{name}", 404),
        ("GET", "other", 401),
    ]
    assert lines[0]["session"] == 'evening "tea"'
    assert set(lines[0]) == {"time", "method", "route", "status", "ms", "session"}
    assert "combination" not in json.dumps(lines)


def test_a_line_of_text_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    asking = client(made(tmp_path, log="text"), "read")
    asking.get("/api/vaults/book/records", headers={"x-commonplace-session": "a\x1b[31mb"})
    [line] = capsys.readouterr().err.splitlines()
    assert " GET /api/vaults/{vault}/records 400 " in line
    assert line.endswith('session="a\\u001b[31mb"')
