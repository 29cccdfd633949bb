"""The processes that answer what is asked of a gateway: as a thread would, and gone when it is."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.doors.http.calls import Call
from commonplace.doors.http.vaults import Reader, Vaults
from commonplace.doors.http.workers import _answered
from tests.gateways import AT, opened
from tests.test_gateway_api import Served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path, "--workers", "2")
    yield made
    made.end()


def workers(served: Served) -> list[int]:
    first = served.process.pid
    return [*map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())]


def found(served: Served, cookie: str, text: str = "tea") -> list[str]:
    answer = served.ask("GET", f"{AT}/search?text={text}", cookie=cookie)
    assert answer.status == 200
    return [each["text"] for each in json.loads(answer.read())["hits"]]


def test_what_was_just_written_is_found_by_every_worker(served: Served) -> None:
    cookie = served.log_in()
    assert len(workers(served)) == 2
    for number in range(6):
        text = f"Word{number} is new"
        assert served.ask("POST", f"{AT}/records", {"text": text}, cookie=cookie).status == 201
        assert found(served, cookie, f"word{number}")[0] == text


def test_an_error_is_told_as_a_thread_tells_it(served: Served) -> None:
    cookie = served.log_in()
    answer = served.ask("GET", f"{AT}/records/mem-nowhere", cookie=cookie)
    told = json.loads(answer.read())
    assert (answer.status, told["error"]) == (404, "NoSuchRecord")
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["content-security-policy"]


def test_without_its_workers_a_gateway_answers_by_itself(served: Served) -> None:
    cookie = served.log_in()
    for worker in workers(served):
        os.kill(worker, signal.SIGKILL)
    for _ in range(4):
        assert found(served, cookie) == ["Ann likes green tea"]
    assert served.stop() == 0


def test_workers_end_when_their_gateway_was_killed(served: Served) -> None:
    assert workers(served)
    served.process.kill()
    assert served.process.stdout is not None
    # At its end only once nobody holds it open.
    assert served.process.stdout.read() == ""


def test_a_fault_of_ours_is_said_and_survived(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Memory.open(tmp_path / "book").close()
    vaults = Vaults({"book": str(tmp_path / "book")}, opened)
    given: dict[str, Any] = {}
    answer = _answered(vaults, Call("no such route", "book", Reader("agent"), given))
    assert answer.status == 500
    assert "no such route" not in answer.body.decode()
    assert "KeyError: 'no such route'" in capfd.readouterr().err
    vaults.close()
