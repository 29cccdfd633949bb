"""A gateway that is told to stop under load: what it began is ended, and nothing is left behind."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from tests.doors.test_gateway_api import Served
from tests.support.gateways import AT

CLIENTS = 8


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    running = Served(tmp_path, "--workers", "2")
    yield running
    running.end()


class Load:
    """Clients that store and search, each one request after the other, until nobody answers."""

    def __init__(self, served: Served, cookie: str) -> None:
        self._served, self._cookie = served, cookie
        self.sent: set[str] = set()
        self.stored: set[str] = set()
        self.cut: list[str] = []
        self.warm = threading.Barrier(CLIENTS + 1)
        self._threads = [threading.Thread(target=self._go_on, args=(n,)) for n in range(CLIENTS)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        self.warm.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self._threads:
            thread.join(60)

    def _go_on(self, client: int) -> None:
        number, goes_on = 0, True
        while goes_on:
            if number == 3:
                self.warm.wait(60)
            goes_on = self._stored(f"Client{client} said word{number}x") and self._found(client)
            number += 1

    def _stored(self, text: str) -> bool:
        self.sent.add(text)
        try:
            answer = self._served.ask("POST", f"{AT}/records", {"text": text}, cookie=self._cookie)
        except (OSError, http.client.HTTPException):
            return False
        if self._whole(answer) and answer.status == 201:
            self.stored.add(text)
        return True

    def _found(self, client: int) -> bool:
        try:
            path = f"{AT}/search?text=client{client}"
            answer = self._served.ask("GET", path, cookie=self._cookie)
        except (OSError, http.client.HTTPException):
            return False
        return self._whole(answer)

    def _whole(self, answer: http.client.HTTPResponse) -> bool:
        try:
            json.loads(answer.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.cut.append(repr(error))
            return False
        if answer.status >= 500:
            self.cut.append(str(answer.status))
        return True


def begun(served: Served, cookie: str, body: bytes) -> socket.socket:
    """A request that the gateway has begun: it asks for the body, which is sent then."""
    asking = socket.create_connection(("127.0.0.1", served.port or 0), timeout=60)
    head = (
        f"POST {AT}/records HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nCookie: {cookie}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Expect: 100-continue\r\n\r\n"
    )
    asking.sendall(head.encode())
    assert asking.recv(1000).startswith(b"HTTP/1.1 100")
    asking.sendall(body)
    return asking


def test_a_write_that_waits_for_the_vault_is_waited_for(served: Served, tmp_path: Path) -> None:
    cookie = served.log_in()
    bodies = [b'{"text": "Word%d came last"}' % number for number in range(4)]

    def stopped() -> list[socket.socket]:
        asking = [begun(served, cookie, body) for body in bodies]
        served.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            served.process.wait(1)
        with pytest.raises(ConnectionError):
            socket.create_connection(("127.0.0.1", served.port or 0))
        return asking

    with Memory.open(tmp_path / "book") as memory:
        asking = memory.library.transactions.locked(stopped)
    answers = [each.recv(1000)[:12] for each in asking]
    for each in asking:
        each.close()
    assert answers == [b"HTTP/1.1 201"] * len(asking)
    assert served.process.wait(60) == 0


@pytest.mark.long
@pytest.mark.parametrize("to_all", [False, True], ids=["the gateway", "its whole group"])
def test_what_was_begun_is_answered_to_the_end(
    served: Served, tmp_path: Path, to_all: bool
) -> None:
    with Load(served, served.log_in()) as load:
        first = served.process.pid
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        for each in map(int, children if to_all else ()):
            os.kill(each, signal.SIGTERM)
        served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0
    assert load.cut == []
    kept = "".join(each.read_text("utf-8") for each in (tmp_path / "book").rglob("*.md"))
    # Whatever was done was told, and whatever was told was done.
    assert {text for text in load.sent if text in kept} == load.stored
