"""A seeded sample of `python3 -m tests.laws.hostile_vaults`, and a check that it sees faults."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.laws import hostile_vaults
from tests.laws.hostile_vaults import World, examined, templates

SAMPLE = range(6)


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return templates(tmp_path_factory.mktemp("kinds"))


@pytest.mark.parametrize("number", SAMPLE)
def test_a_strangers_vault_writes_runs_and_reaches_nothing(
    number: int, kinds: dict[str, Path]
) -> None:
    strange, wrong = examined(number, 0, kinds)
    assert wrong == [], strange


def _connect(world: World) -> None:
    with socket.socket() as made:
        made.settimeout(1)
        made.connect_ex(("127.0.0.1", 9))


def _wait(world: World) -> None:
    os.mkfifo(world.place / "tmp" / "pipe")
    (world.place / "tmp" / "pipe").read_bytes()


HARM: dict[str, tuple[Callable[[World], object], str]] = {
    "a write": (lambda world: (world.outside / "file").write_text("x"), "outside/file"),
    "a write below a directory that is held": (
        lambda world: os.mkdir("new", dir_fd=os.open(world.outside, os.O_RDONLY)),
        "changed",
    ),
    "a process": (lambda world: subprocess.run(["true"], check=True), "subprocess.Popen"),
    "an address": (_connect, "socket.connect"),
    "a secret": (
        lambda world: (world.vault / "x.md").write_text(hostile_vaults.CANARY),
        "says the secret",
    ),
    "a crash": (lambda world: 1 // 0, "ZeroDivisionError"),
    "a pipe": (_wait, "hung"),
}


@pytest.mark.parametrize("harm", HARM)
def test_each_harm_is_seen(
    harm: str, kinds: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    call, seen = HARM[harm]
    monkeypatch.setattr(hostile_vaults, "doors", lambda world: {"door": lambda: call(world)})
    monkeypatch.setattr(hostile_vaults, "SECONDS", 1)
    monkeypatch.setattr(hostile_vaults, "TRICKS", (hostile_vaults.strange_name,))
    _, wrong = examined(0, 0, kinds)
    assert any(seen in each for each in wrong), wrong
