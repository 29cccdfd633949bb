"""The command `tenants`: each action as an operator types it, and what a gateway makes of it."""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace.doors.cli import serve
from commonplace.doors.cli.main import main
from commonplace.doors.cli.parser import build_parser
from commonplace.doors.http import server
from commonplace.doors.http.access_tokens import AccessTokens, DatabasePasses
from commonplace.doors.http.api import ROUTES
from commonplace.doors.http.app import Gateway
from commonplace.doors.http.schedules import Schedules
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.postgres.tenants import Tenants
from commonplace.storage import error_log
from commonplace.upkeep.schedule import last_runs
from tests.support.gateways import HOST, PORT, opened
from tests.support.postgres import fresh_url, rows_of, url_of_server

pytestmark = pytest.mark.long


class Operator:
    """Whoever runs a database of their own, with one tenant `ann` that has a memory."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        server_url = url_of_server()
        mark = "&" if "?" in server_url else "?"
        self.url = f"{server_url}{mark}schema=t{uuid.uuid4().hex[:12]}"
        self._capsys = capsys
        with Memory.open(f"{self.url}&profile=ann", create=True, environ={}) as memory:
            memory.store("Ann likes tea", kind="preference")

    def says(self, *words: str, code: int = 0) -> str:
        """What a command prints."""
        self._capsys.readouterr()
        assert main(["tenants", self.url, *words]) == code
        told = self._capsys.readouterr()
        return told.out if code == 0 else told.err

    def told(self, *words: str) -> Any:
        return json.loads(self.says(*words, "--json"))

    def memory(self, name: str) -> Memory:
        return Memory.open(f"{self.url}&profile={name}", environ={})

    def tokens(self, url: str = "") -> AccessTokens:
        passes = DatabasePasses(Tenants(url or self.url, clock=Clock()).database)
        return AccessTokens(passes, clock=Clock())


@pytest.fixture
def operator(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Operator:
    monkeypatch.setattr("commonplace.doors.cli.tenants.require_person", lambda deed: None)
    return Operator(capsys)


def test_tenants_are_listed_as_text_as_json_and_as_csv(operator: Operator) -> None:
    operator.says("create", "bob")
    operator.says("quota", "ann", "--records", "4", "--requests-a-minute", "90")
    head, ann, bob = operator.says().splitlines()
    assert head.split() == ["NAME", "RECORDS", "BYTES", "MESSAGES", "LAST", "USE", "STATE", "QUOTA"]
    assert ann.startswith("ann")
    assert ann.endswith("open   4 records, 90 requests a minute")
    assert bob.split() == ["bob", "0", "0", "0", "-", "open", "-"]
    told = operator.told()
    assert [(each["name"], each["records"]) for each in told] == [("ann", 1), ("bob", 0)]
    for words in (("--csv",), ("usage", "--csv")):
        rows = list(csv.DictReader(io.StringIO(operator.says(*words))))
        assert [row["name"] for row in rows] == ["ann", "bob"]
        assert rows[0]["bytes"] == str(told[0]["bytes"])
    usage = operator.says("usage").splitlines()
    assert "25%" in usage[1]
    assert usage[-1].startswith("2 tenants, 1 records, ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rename", "ann"), "commonplace tenants URL rename OLD NEW"),
        (("list", "ann"), "commonplace tenants URL list"),
        (("quota", "ann", "--bytes", "-1"), "less than nothing"),
    ],
)
def test_a_call_that_is_wrong_says_how_to_write_it(
    operator: Operator, words: tuple[str, ...], said: str
) -> None:
    assert said in operator.says(*words, code=2)


def test_a_directory_has_no_tenants(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tenants", "/tmp"]) == 2
    assert "commonplace tenants postgresql://" in capsys.readouterr().err


def test_an_agent_may_look_and_change_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Operator(capsys)
    monkeypatch.setattr("commonplace.doors.caller.agent_above", lambda: "an agent")
    assert operator.says().splitlines()[1].startswith("ann")
    assert "Only the person" in operator.says("suspend", "ann", code=5)
    assert "Only the person" in operator.says("drop", "ann", "--yes", code=5)


def test_states_are_set_and_told(operator: Operator) -> None:
    for word, state in (("suspend", "suspended"), ("read-only", "read-only"), ("open", "open")):
        assert f"ann is {state.split()[0]}" in operator.says(word, "ann")
        assert operator.told()[0]["state"] == state
    assert "no tenant 'nobody'" in operator.says("suspend", "nobody", code=3)


def test_tokens_follow_a_tenant_to_its_new_name(operator: Operator) -> None:
    operator.says("create", "bob")
    tokens = operator.tokens()
    token = tokens.add("agent", "write", vaults=("ann", "bob"))
    operator.says("rename", "ann", "anna")
    found = tokens.find(token)
    assert found
    assert found.vaults == ("anna", "bob")
    with operator.memory("anna") as memory:
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes tea"]


def test_a_drop_asks_and_then_prints_the_receipt(operator: Operator) -> None:
    operator.says("create", "bob")
    tokens = operator.tokens()
    alone = tokens.add("alone", "write", vaults=("ann",))
    both = tokens.add("both", "write", vaults=("ann", "bob"))
    assert "--yes" in operator.says("drop", "ann", code=4)
    with operator.memory("ann") as memory:
        rows = memory.parts.in_database()
        said = operator.says("drop", "ann", "--yes")
        assert not any(rows_of(rows).values())
    assert "Erased ann from every table: 1 records" in said
    assert "Revoked the tokens that opened it alone: alone." in said
    assert "Out of reach: what the server keeps" in said
    assert tokens.find(alone) is None
    left = tokens.find(both)
    assert left
    assert left.vaults == ("bob",)
    assert [each["name"] for each in operator.told()] == ["bob"]


def test_a_tenant_goes_into_a_file_and_another_comes_out_of_it(
    operator: Operator, tmp_path: Path
) -> None:
    file = str(tmp_path / "ann.tar.gz")
    assert "Backed up ann" in operator.says("backup", "ann", file)
    assert "Restored bob: " in operator.says("restore", file, "bob")
    with operator.memory("bob") as memory:
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes tea"]
    assert "holds something" in operator.says("restore", file, "ann", code=5)
    assert "no tenant" in operator.says("backup", "nobody", str(tmp_path / "other"), code=3)


def test_a_tenant_moves_with_its_tokens_and_is_dropped_where_it_was(operator: Operator) -> None:
    token = operator.tokens().add("agent", "write", vaults=("ann",))
    mark = "&" if "?" in url_of_server() else "?"
    target = f"{url_of_server()}{mark}schema=t{uuid.uuid4().hex[:12]}"
    said = operator.says("move", "ann", target)
    assert "ann is at postgresql://" in said
    assert "1 records" in said
    assert "1 tokens" in said
    assert operator.told()[0]["state"] == "moved"
    assert "Erased ann" in operator.says("move", "ann", target, "--drop")
    assert operator.told() == []
    found = operator.tokens(target).find(token)
    assert found
    assert found.vaults == ("ann",)
    with Memory.open(f"{target}&profile=ann", environ={}) as memory:
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes tea"]


def test_a_tenant_is_moved_to_the_profile_that_the_url_names(operator: Operator) -> None:
    target = fresh_url()
    operator.says("move", "ann", target)
    with Memory.open(target, environ={}) as memory:
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes tea"]


@pytest.fixture
def gateway(operator: Operator) -> Iterator[Gateway]:
    tenants = Tenants(operator.url, clock=Clock())
    made = server.gateway(tenants, opened, port=PORT)
    yield made
    made.vaults.close()
    made.tokens.close()
    tenants.close()


def client(gateway: Gateway, *vaults: str) -> TestClient:
    token = gateway.tokens.add(uuid.uuid4().hex, "write", vaults=vaults)
    headers = {"authorization": f"Bearer {token}"}
    return TestClient(gateway.app, base_url=f"http://{HOST}", headers=headers)


def search(asked: TestClient, name: str) -> int:
    return int(asked.get(f"/api/vaults/{name}/search", params={"text": "tea"}).status_code)


def test_a_gateway_answers_only_so_many_requests_a_minute_for_a_tenant(
    operator: Operator, gateway: Gateway
) -> None:
    operator.says("create", "bob")
    operator.says("quota", "ann", "--requests-a-minute", "3")
    with client(gateway, "ann") as one, client(gateway, "ann", "bob") as two:
        assert [search(one, "ann"), search(two, "ann"), search(one, "ann")] == [200] * 3
        assert [search(one, "ann"), search(two, "ann"), search(two, "bob")] == [429, 429, 200]
        over_mcp = [one.post(path, json={}).status_code for path in ("/mcp", "/mcp/ann")]
        assert over_mcp == [429, 429]


def test_a_gateway_that_has_a_tenant_open_heeds_what_is_set_at_once(
    operator: Operator, gateway: Gateway
) -> None:
    with client(gateway) as asked:
        assert search(asked, "ann") == 200
        operator.says("suspend", "ann")
        answer = asked.get("/api/vaults/ann/search", params={"text": "tea"})
        assert (answer.status_code, "suspended" in answer.text) == (403, True)
        operator.says("read-only", "ann")
        assert search(asked, "ann") == 200
        stored = asked.post("/api/vaults/ann/records", json={"text": "Ann likes coffee"})
        assert (stored.status_code, "read-only" in stored.text) == (503, True)
        operator.says("quota", "ann", "--records", "1")
        operator.says("open", "ann")
        stored = asked.post("/api/vaults/ann/records", json={"text": "Ann likes coffee"})
        assert stored.status_code == 507


OF_NO_MEMORY = {"upkeep", "options", "pauses"}
"""Routes that tell nothing of what is remembered."""


def test_every_route_that_reads_memories_is_refused_once_a_tenant_is_suspended(
    operator: Operator, gateway: Gateway
) -> None:
    with operator.memory("ann") as memory:
        [hit] = memory.search("tea")
    asked = {"id": hit.record.id, "document:document": "MEMORY.md"}
    paths = [route.full_path.replace("{vault}", "ann") for route in ROUTES if route.only_asks]
    for name, value in asked.items():
        paths = [path.replace(f"{{{name}}}", value) for path in paths]
    with client(gateway) as one:
        answered = [path for path in paths if one.get(path).status_code == 200]
        assert len(answered) > 10
        operator.says("suspend", "ann")
        still = [path.rpartition("/")[2] for path in answered if one.get(path).status_code != 403]
        assert set(still) <= OF_NO_MEMORY


def test_nothing_is_due_in_a_tenant_that_may_not_be_written(
    operator: Operator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("bob", "carl"):
        operator.says("create", name)
    operator.says("suspend", "ann")
    operator.says("read-only", "bob")
    with closing(Tenants(operator.url, clock=Clock())) as tenants:
        schedules = Schedules(
            lambda path: Memory.open(path, environ={}, scan_schedule="6h"),
            tenants.values,
            clock=Clock(),
        )
        schedules.look()
        assert schedules.away() == {}
    assert not Path(error_log.log_path()).exists()
    ran = []
    operator.says("open", "ann")
    for name in ("ann", "bob", "carl"):
        with operator.memory(name) as memory:
            ran += [name] if "scan" in last_runs(memory.notes) else []
    assert ran == ["carl"]


def test_a_gateway_starts_though_its_first_tenant_is_suspended(operator: Operator) -> None:
    operator.says("create", "bob")
    operator.says("suspend", "ann")
    words = ["serve", "--tenants", operator.url]
    arguments = build_parser(words).parse_args(words)
    for paths in (Tenants(operator.url, clock=Clock()), [f"{operator.url}&profile=ann"]):
        serve._check_schedules(arguments, paths)


def test_a_name_that_was_given_away_is_opened_anew(operator: Operator, gateway: Gateway) -> None:
    with client(gateway) as asked:
        for number in range(3):
            assert search(asked, "ann") == 200
            if number == 1:
                operator.says("rename", "ann", "anna")
            else:
                operator.says("drop", "ann", "--yes")
            for _ in range(8):
                assert search(asked, "ann") == 404
            operator.says("create", "ann")
            hits = asked.get("/api/vaults/ann/search", params={"text": "tea"}).json()["hits"]
            assert hits == []
