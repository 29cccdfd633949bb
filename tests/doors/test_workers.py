"""The processes that answer what is asked of a gateway: as a thread would, and gone when it is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from socket import socket, socketpair
from typing import Any

import pytest

from commonplace import Memory
from commonplace.doors.http import workers as processes
from commonplace.doors.http.api import RouteCall, ToolCall
from commonplace.doors.http.responses import Ready, problem_of
from commonplace.doors.http.workers import Caller, Overloaded, Vaults, Workers, _answered
from tests.doors.test_gateway_api import Served
from tests.support.gateways import AT, client, made, opened


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path, "--workers", "2")
    yield running
    running.end()


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


class Noting:
    """Stands for workers: answers as one does, and notes what it was asked."""

    def __init__(self, vaults: Vaults) -> None:
        self._vaults = vaults
        self.asked: list[str] = []

    async def ask(self, call: RouteCall | ToolCall) -> Ready:
        self.asked.append(call.tool if isinstance(call, ToolCall) else call.route)
        return await asyncio.to_thread(processes.answer, self._vaults, call)


def test_workers_are_asked_for_what_changes_nothing(tmp_path: Path) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    gateway = made(tmp_path)
    noting = Noting(gateway.vaults)
    gateway._workers = noting  # type: ignore[assignment]
    agent = client(gateway, "write")
    stored = agent.post(f"{AT}/tools/store", json={"text": "Ann likes tea", "kind": "fact"})
    found = agent.post(f"{AT}/tools/search", json={"query": "tea"})
    assert (stored.status_code, found.status_code) == (200, 200)
    assert "Ann likes tea" in found.json()["text"]
    agent.post(f"{AT}/records", json={"text": "Bea likes tea"})
    agent.get(f"{AT}/search", params={"text": "tea"})
    assert noting.asked == ["search", "search"]


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


class Held:
    """Workers that answer a call with its own number, each call once it is let go."""

    def __init__(self, count: int, monkeypatch: pytest.MonkeyPatch, *, calls: int = 4) -> None:
        gates = [socketpair() for _ in range(calls)]

        def answered(_: Vaults, call: RouteCall) -> Ready:
            number: int = call.given["number"]
            gates[number][1].recv(1)
            return Ready(200, (), b"%d" % number)

        monkeypatch.setattr(processes, "_answered", answered)
        with socket() as listener:
            self.workers = Workers(Vaults({}, opened), count, listener=listener)
        self._gates = [ours for ours, _ in gates]
        self._theirs = [its for _, its in gates]

    async def ask(self, number: int, route: str = "search") -> int:
        answer = await self.workers.ask(
            RouteCall(route, "book", Caller("agent"), {"number": number})
        )
        return int(answer.body) if answer else -1

    def let_go(self, *numbers: int) -> None:
        for number in numbers:
            self._gates[number].send(b".")

    def run(self, work: Callable[[], Awaitable[None]]) -> None:
        async def connected() -> None:
            await self.workers.connect()
            try:
                await asyncio.wait_for(work(), 30)
            finally:
                self.let_go(*range(len(self._gates)))
                self.workers.close()
                for gate in (*self._gates, *self._theirs):
                    gate.close()

        asyncio.run(connected())


def test_calls_are_answered_in_the_order_of_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(1, monkeypatch, calls=100)
    done: list[int] = []

    async def ask(number: int) -> None:
        done.append(await held.ask(number))

    async def work() -> None:
        held.let_go(*range(100))
        async with asyncio.TaskGroup() as asking:
            for number in range(100):
                asking.create_task(ask(number))
                # Some ask just when a worker comes free.
                await asyncio.sleep(0)

    held.run(work)
    assert done == list(range(100))


def test_new_workers_take_turns_and_then_the_last_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "NEW", 3)
    held = Held(2, monkeypatch, calls=10)
    counts: list[list[int]] = []

    async def work() -> None:
        held.let_go(*range(10))
        for number in range(10):
            await held.ask(number)
            counts.append(sorted(worker.asked for worker in held.workers._all))

    held.run(work)
    assert counts[:6] == [[0, 1], [1, 1], [1, 2], [2, 2], [2, 3], [3, 3]]
    assert counts[-1] == [3, 7]


def test_long_calls_leave_a_worker_to_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(2, monkeypatch)

    async def work() -> None:
        routes = ("blame_document", "list_findings", "search")
        long, longer, quick = (
            asyncio.create_task(held.ask(number, route)) for number, route in enumerate(routes)
        )
        await asyncio.sleep(0)
        held.let_go(2)
        assert await quick == 2
        held.let_go(0)
        assert await long == 0
        held.let_go(1)
        assert await longer == 1

    held.run(work)


def test_what_nobody_waits_for_any_more_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(1, monkeypatch)

    async def work() -> None:
        asked = [asyncio.create_task(held.ask(number)) for number in range(4)]
        await asyncio.sleep(0)
        asked[0].cancel()
        asked[2].cancel()
        held.let_go(0, 1, 3)
        assert [await asked[1], await asked[3]] == [1, 3]

    held.run(work)


def test_who_would_wait_behind_too_many_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "WAITING", 2)
    held = Held(1, monkeypatch)

    async def work() -> None:
        asked = [asyncio.create_task(held.ask(number)) for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Overloaded) as refused:
            await held.ask(3)
        answer = problem_of(refused.value)
        assert (answer.status, dict(answer.headers)[b"retry-after"]) == (503, b"1")
        held.let_go(0, 1, 2)
        assert await asyncio.gather(*asked) == [0, 1, 2]

    held.run(work)


def test_with_its_last_worker_nobody_waits_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(1, monkeypatch)

    async def work() -> None:
        asked = [asyncio.create_task(held.ask(number)) for number in range(3)]
        await asyncio.sleep(0)
        [worker] = held.workers._all
        os.kill(worker.pid, signal.SIGKILL)
        assert await asyncio.gather(*asked) == [-1, -1, -1]
        assert await held.ask(3) == -1

    held.run(work)


def test_a_fault_of_ours_is_said_and_survived(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Memory.open(tmp_path / "book", create=True).close()
    vaults = Vaults({"book": str(tmp_path / "book")}, opened)
    given: dict[str, Any] = {}
    answer = _answered(vaults, RouteCall("no such route", "book", Caller("agent"), given))
    assert answer.status == 500
    assert "no such route" not in answer.body.decode()
    assert "KeyError: 'no such route'" in capfd.readouterr().err
    vaults.close()
