"""A memory in PostgreSQL from the command line: made, used, looked over, and what is wrong told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commonplace.doors.cli.main import main
from commonplace.memory import Memory
from commonplace.postgres import pool
from commonplace.postgres import server as engines
from tests.support.postgres import Server, fresh_url, new_server, psql


@dataclass(frozen=True)
class Ran:
    """What came of a command."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COMMONPLACE_VAULT", "COMMONPLACE_DIALECT", "COMMONPLACE_SESSION"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("COMMONPLACE_LOCK_SECONDS", "1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Ran(int(code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def url(run: Run) -> str:
    """A profile with one record in it."""
    made = fresh_url()
    assert run("init", made).code == 0
    assert stored(run, made, "Likes green tea").code == 0
    return made


def stored(run: Run, url: str, text: str) -> Ran:
    return run("--vault", url, "tool", "store", json.dumps({"text": text, "kind": "fact"}))


def test_a_vault_is_made_and_used_by_its_url(run: Run, url: str) -> None:
    assert "Likes green tea" in run("--vault", url, "search", "tea").out
    assert "Likes green tea" in run("read", "MEMORY.md", "--vault", url).out
    assert run("--vault", url, "undo").code == 0
    assert "Likes green tea" not in run("--vault", url, "search", "tea").out


def test_init_says_what_it_made_and_makes_nothing_twice(run: Run) -> None:
    url = fresh_url()
    first = run("init", url, "--json")
    assert first.data["created"] == ["SOUL.md", "USER.md", "MEMORY.md"]
    assert run("init", url, "--json").data["created"] == []


def test_the_environment_may_name_the_vault(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_VAULT", url)
    assert "Likes green tea" in run("brief").out


def test_a_dialect_is_kept_with_the_profile(run: Run) -> None:
    url = fresh_url()
    assert run("init", url, "--dialect", "earl").code == 0
    assert run("--vault", url, "status", "--json").data["dialect"] == "earl"
    with Memory.open(url, create=True) as memory:
        assert memory.layout.name == "earl"
        assert memory.store("Likes tea", username="alice").text == "Likes tea"
        assert "2" in memory.documents()[0]


def test_options_come_from_the_environment(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TEXT_LIMIT", "5")
    assert stored(run, url, "Likes green tea").code == 2


def test_the_status_names_no_password(run: Run, url: str) -> None:
    secret = url.replace("postgres@", "postgres:hush@")
    shown = run("--vault", secret, "status", "--json")
    assert (shown.data["records"], shown.data["messages"]) == (1, 0)
    assert "hush" not in shown.out
    assert "profile=" in shown.data["vault"]


def test_doctor_looks_over_the_server_too(run: Run, url: str) -> None:
    told = run("--vault", url, "doctor", "--json")
    assert told.code == 0
    said = {finding["what"]: finding["says"] for finding in told.data}
    assert said["server"].startswith("PostgreSQL ")
    assert said["lock"] == "free"
    assert said["vectors"].startswith("pgvector ")
    assert "disk" not in said


def test_doctor_names_who_holds_the_lock(run: Run, url: str) -> None:
    with Memory.open(url, create=True) as memory, memory.library.vault.lock():
        told = run("--vault", url, "doctor", "--json")
    said = {finding["what"]: finding["says"] for finding in told.data}
    assert said["lock"].startswith("held by commonplace (backend ")


def test_selftest_loses_nothing_and_leaves_nothing(run: Run, url: str) -> None:
    shown = run("--vault", url, "selftest", "--writers", "2", "--kills", "3", "--json")
    assert (shown.code, shown.data["passed"], shown.data["kills"]) == (0, True, 3)
    with Memory.open(url, create=True) as memory:
        database = memory.parts.database
        assert database is not None
        left = "select name from profile_name where name like 'selftest-%%'"
        assert database.rows(left) == []


@pytest.fixture(scope="module")
def server() -> Server:
    """A server of our own: it is told to be difficult."""
    server = new_server("doors")
    made = psql(
        server.url(),
        "-c",
        "create role locked login password 'right'; create role few login connection limit 0;",
    )
    assert made.returncode == 0, made.stderr
    server.ask_for_passwords("locked")
    return server


Where = Callable[[Server, pytest.MonkeyPatch], str]


def old_server(server: Server, patch: pytest.MonkeyPatch) -> str:
    patch.setattr(engines, "OLDEST", 990000)
    return server.url()


def full_pool(server: Server, patch: pytest.MonkeyPatch) -> str:
    patch.setattr(pool.Pool.__init__, "__kwdefaults__", {"size": 0})
    return server.url()


TROUBLES: dict[str, tuple[Where, str, int]] = {
    "no database named": (lambda *_: "postgresql://127.0.0.1", "it names no database", 2),
    "a bad profile": (
        lambda s, _: f"{s.url()}?profile=../x",
        "is not the name of a profile",
        2,
    ),
    "a bad port": (lambda *_: "postgresql://h:x/db", "The URL of the memory cannot be used", 2),
    "no server": (
        lambda *_: "postgresql://127.0.0.1:1/db",
        "Check that the server runs and the URL names it",
        6,
    ),
    "no such database": (lambda s, _: s.url(database="nowhere"), "createdb", 6),
    "a wrong password": (
        lambda s, _: s.url(user="locked:wrong"),
        "Check the user and the password",
        6,
    ),
    "no password": (lambda s, _: s.url(user="locked"), "Check the user and the password", 6),
    "no such user": (lambda s, _: s.url(user="nobody"), "Check the user and the password", 6),
    "no connection left": (
        lambda s, _: s.url(user="few"),
        "Raise max_connections",
        6,
    ),
    "no profile": (
        lambda s, _: f"{s.url()}?profile=nobody",
        "'commonplace init postgresql://",
        3,
    ),
    "an old server": (old_server, "is the oldest that will do", 6),
    "a full pool": (full_pool, "connections of this process have been in use", 6),
}


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("command", ["search", "tool"])
def test_trouble_is_told_in_a_sentence_with_its_exit_code(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, trouble: str, command: str
) -> None:
    where, sentence, code = TROUBLES[trouble]
    url = where(server, monkeypatch)
    words = ["tea"] if command == "search" else ["store", '{"text": "Likes tea"}']
    ran = run("--vault", url, command, *words)
    assert sentence in ran.err
    assert ran.code == code
    assert ran.err.count("\n") == 1
    assert "wrong" not in ran.err


def test_a_look_at_a_database_without_a_memory_makes_no_tables(run: Run, server: Server) -> None:
    assert psql(server.url(), "-c", "create database plain").returncode == 0
    url = server.url(database="plain")
    assert run("--vault", url, "status").code == 3
    assert psql(url, "-c", "select to_regclass('commonplace.step')").stdout.strip() == ""


def test_a_replica_answers_and_says_where_to_write(run: Run, server: Server) -> None:
    url = f"{server.url()}?profile=alice"
    assert run("init", url).code == 0
    assert stored(run, url, "Likes green tea").code == 0
    assert "Likes green tea" in run("--vault", url, "search", "tea").out
    replica = server.replica()
    other = f"{replica.url()}?profile=alice"
    wait_until(lambda: "Likes green tea" in run("--vault", other, "search", "tea").out)
    refused = stored(run, other, "Likes coffee")
    assert (refused.code, refused.err.count("\n")) == (6, 1)
    assert "name the primary in the URL" in refused.err
    assert run("--vault", other, "status", "--json").data["read only"] is True
    assert "a replica that takes no writes" in run("--vault", other, "doctor").out
    assert run("init", f"{replica.url()}?profile=bob").code in (3, 6)
    assert "Likes coffee" not in run("--vault", url, "search", "coffee").out


def wait_until(done: Callable[[], bool], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    blocked = "import sys; sys.modules['psycopg'] = None; "
    blocked += "from commonplace.doors.cli.main import main; "
    run = blocked + "sys.exit(main(['--vault', 'postgresql://h/d', 'search', 'tea']))"
    done = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=False)
    assert done.returncode == 7
    assert "pip install 'commonplace-memory[postgres]'" in done.stderr
