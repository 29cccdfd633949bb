"""What stores are counted by without a session, and the group that they are recorded with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import tools
from commonplace.doors import processes
from commonplace.doors.http import server
from commonplace.doors.mcp import http as over_http
from commonplace.doors.processes import Process, run_of
from commonplace.memory import Memory
from tests.support.mcp_client import ask, call, initialize, talk

AGENT = """
import os, shlex, subprocess, sys
command = [sys.executable, "-m", "commonplace", "--dialect", "typed", "ipc"]
done = 0
for number in range(int(sys.argv[1])):
    given = '{"type": "fact", "content": "fact %d of %d"}' % (number, os.getpid())
    words = [*command, "tool.invoke.memory_store", given]
    line = " ".join(map(shlex.quote, words))
    twice = "sh -c " + shlex.quote(line + "; exit $?") + "; exit $?"
    ways = [words, ["sh", "-c", line + "; exit $?"], ["sh", "-c", twice],
            ["env", "A=1", *words], ["timeout", "60", *words]]
    way = ways[number % len(ways)]
    ran = subprocess.run(way, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         start_new_session=number % 2 == 0)
    done += ran.returncode == 0
print(done)
"""
"""An agent that calls `ipc` as its document says, directly and through shells of all sorts."""


def surroundings(vault: Path, **more: str) -> dict[str, str]:
    named = ("COMMONPLACE_SESSION", "CLAUDE_CODE_SESSION_ID", "COMMONPLACE_GROUP")
    kept = {name: value for name, value in os.environ.items() if name not in named}
    return {**kept, "COMMONPLACE_VAULT": str(vault), **more}


def stores_done(vault: Path, count: int, **more: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", AGENT, str(count)],
        env=surroundings(vault, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.claim("typed.budget-without-a-session")
def test_an_agent_that_names_no_session_has_twenty_stores_by_whatever_shell(tmp_path: Path) -> None:
    Memory.open(tmp_path, "native").close()
    assert stores_done(tmp_path, 22) == 20
    assert stores_done(tmp_path, 1) == 1, "another agent has its own"


PYTHON, NODE, CODE = "python3.11", "node", "code"


def process(
    pid: int, parent: int, name: str, *, at_terminal: bool = False, for_one_command: bool = False
) -> Process:
    return Process(pid, parent, name, f"at-{pid}", at_terminal, for_one_command)


def table(*processes: Process) -> Mapping[int, Process]:
    return {each.pid: each for each in processes}


INIT = process(1, 0, "systemd")
WINDOW = process(10, 1, "xterm")
PERSON = process(11, 10, "bash", at_terminal=True)
AGENTS: dict[str, tuple[list[Process], int]] = {
    "the agent itself": ([INIT, PERSON, WINDOW, process(20, 11, NODE)], 20),
    "a shell for one command": (
        [INIT, process(20, 1, NODE), process(30, 20, "bash", for_one_command=True)],
        20,
    ),
    "a script": ([INIT, process(20, 1, NODE), process(30, 20, "bash")], 20),
    "timeout and env": (
        [INIT, process(20, 1, PYTHON), process(30, 20, "timeout"), process(31, 30, "env")],
        20,
    ),
    "a person's script in a window": ([INIT, WINDOW, PERSON, process(30, 11, "bash")], 11),
    "a script that cron runs": ([process(5, 1, "cron"), process(30, 5, "bash")], 30),
    "one command in a container": ([process(30, 0, "sh", for_one_command=True)], 0),
    "cron itself": ([INIT, process(5, 1, "cron")], 0),
    "nobody": ([], 0),
}


@pytest.mark.parametrize("name", AGENTS)
def test_a_run_is_the_program_behind_the_shells(name: str) -> None:
    processes, expected = AGENTS[name]
    found = run_of(table(*processes).get, processes[-1].pid if processes else 7)
    assert found.split(":")[1:2] == ([str(expected)] if expected else [])


def test_a_process_that_took_the_number_of_another_is_another_run() -> None:
    old, new = (Process(20, 1, NODE, started, at_terminal=False) for started in ("1", "2"))
    assert run_of(table(old).get, 20) != run_of(table(new).get, 20)


def test_a_ring_of_parents_ends() -> None:
    ring = table(process(2, 3, "sh"), process(3, 2, "sh"))
    assert run_of(ring.get, 2)


@pytest.mark.skipif(
    not os.path.exists("/proc/self/stat"), reason="Linux alone has /proc; to run it: use Linux"
)
def test_this_process_is_found_as_the_system_shows_it() -> None:
    found = processes.in_proc(os.getpid())
    assert found is not None
    assert (found.pid, found.parent) == (os.getpid(), os.getppid())
    assert found.name.startswith("python")
    assert processes.in_proc(2**22 + 5) is None


def test_what_ps_prints_is_read() -> None:
    printed = (
        "    1     0 Ss   ??       Mon Nov 16 09:00:00 2026 /sbin/launchd\n"
        "  400     1 Ss   ttys001  Tue Nov 17 10:00:00 2026 -zsh\n"
        "  401   400 S+   ttys001  Tue Nov 17 10:01:00 2026 /usr/local/bin/node agent.js\n"
        "  402   401 S    ??       Tue Nov 17 10:02:00 2026 /bin/sh -c commonplace ipc\n"
        "nonsense\n"
    )
    found = processes.listed(printed)
    assert [(each.pid, each.name, each.at_terminal) for each in found.values()] == [
        (1, "launchd", False),
        (400, "zsh", True),
        (401, "node", False),
        (402, "sh", False),
    ]
    assert found[402].for_one_command
    assert run_of(found.get, 402).endswith(":401:Tue-Nov-17-10:01:00-2026")
    assert run_of(found.get, 400).endswith(":400:Tue-Nov-17-10:00:00-2026")


@pytest.mark.claim("typed.budget-without-a-session")
def test_where_nothing_tells_the_run_it_is_the_day_of_the_vault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from commonplace.doors.cli.main import main

    Memory.open(tmp_path, "native").close()
    for name in ("COMMONPLACE_SESSION", "CLAUDE_CODE_SESSION_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(processes, "agent_run", str)
    words = ["--vault", str(tmp_path), "--dialect", "typed", "tool", "memory_store"]
    for number in range(20):
        assert main([*words, json.dumps({"type": "fact", "content": f"fact {number}"})]) == 0
    assert main([*words, '{"type": "fact", "content": "one too many"}']) == 5


@pytest.mark.claim("typed.budget-not-the-owner")
def test_what_the_owner_stores_is_not_counted(place: str) -> None:
    with Memory.open(place, session="s-1", origin="owner") as memory:
        for number in range(25):
            given = {"type": "fact", "content": f"fact {number}"}
            tools.call(memory, "memory_store", given, dialect="typed")
        assert memory.count() == 25


STORE = {"type": "fact", "content": "The boat is at pier 7"}


def group_in(vault: Path) -> str:
    with Memory.open(vault) as memory:
        [record] = memory.brief()
        return record.group


def by_shell(vault: Path, *words: str, **more: str) -> None:
    command = [sys.executable, "-m", "commonplace", "--dialect", "typed", *words]
    subprocess.run(
        [*command, json.dumps(STORE)],
        env=surroundings(vault, **more),
        stdin=subprocess.DEVNULL,
        check=True,
        capture_output=True,
    )


def over_mcp(vault: Path) -> None:
    message = call("memory_store", STORE, id=2)
    message["params"]["_meta"] = {"group": "family"}
    talk(vault, initialize(), ask("tools/list", id=1), message, dialect="typed")


def opened(path: str, origin: str) -> Memory:
    return Memory.open(path, origin=origin, environ={})


def over_gateway(vault: Path) -> None:
    tokens = vault.with_name("tokens.json")
    made = server.gateway([str(vault)], opened, port=8377, tokens=tokens, dialect="typed")
    headers = {
        "authorization": f"Bearer {made.tokens.add('one', 'write')}",
        "x-commonplace-group": "family",
    }
    with TestClient(made.app, base_url="http://127.0.0.1:8377", headers=headers) as client:
        answer = client.post(f"/api/vaults/{vault.name}/tools/memory_store", json=STORE)
        assert answer.status_code == 200, answer.text


def over_mcp_http(vault: Path, **how: Any) -> None:
    def open_memory(session: str) -> Memory:
        return Memory.open(vault, session=session, environ={})

    app: Any = over_http.app(open_memory, dialect="typed", session="", token="t")
    headers = {
        "authorization": "Bearer t",
        "accept": "application/json, text/event-stream",
        "host": "127.0.0.1:8377",
        **how.get("headers", {}),
    }
    message = call("memory_store", STORE, id=2)
    if "meta" in how:
        message["params"]["_meta"] = how["meta"]
    with TestClient(app, base_url="http://127.0.0.1:8377", headers=headers) as client:
        assert client.post("/mcp", json=message).status_code == 200


WAYS: dict[str, Callable[[Path], None]] = {
    "option of tool": lambda vault: by_shell(vault, "--group", "family", "tool", "memory_store"),
    "option of ipc": lambda vault: by_shell(
        vault, "--group=family", "ipc", "tool.invoke.memory_store"
    ),
    "variable": lambda vault: by_shell(
        vault, "ipc", "tool.invoke.memory_store", COMMONPLACE_GROUP="family"
    ),
    "mcp": over_mcp,
    "gateway": over_gateway,
    "mcp over http, header": lambda vault: over_mcp_http(
        vault, headers={"x-commonplace-group": "family"}
    ),
    "mcp over http, meta": lambda vault: over_mcp_http(vault, meta={"group": "family"}),
}


@pytest.mark.claim("typed.provenance-automatic")
@pytest.mark.parametrize("way", WAYS)
def test_the_group_is_recorded_through_every_door(tmp_path: Path, way: str) -> None:
    vault = tmp_path / "vault"
    Memory.open(vault, "native", create=True).close()
    WAYS[way](vault)
    assert group_in(vault) == "family"
