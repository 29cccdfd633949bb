"""Readers: an agent's own door to its messages with the real psql, and nothing beside it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue, NotFound
from commonplace.postgres import read_only_sql
from commonplace.postgres.connection import Database
from commonplace.postgres.history import PostgresHistory
from commonplace.postgres.read_only_sql import ReaderLogin, make_reader, readers_of, revoke_reader
from commonplace.postgres.urls import parse_url
from tests.contracts.history import message
from tests.support.postgres import fresh_url, new_server, psql

pytestmark = pytest.mark.long

OPENED: list[Database] = []


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def opened(url: str = "") -> Database:
    OPENED.append(Database.open(parse_url(url or fresh_url()), clock=Clock()))
    return OPENED[-1]


def said(database: Database, *contents: str) -> Database:
    PostgresHistory(database).append(message(at, text) for at, text in enumerate(contents))
    return database


@pytest.fixture
def alice() -> Database:
    return said(opened(), "Alice likes green tea", "Noted: green tea")


@pytest.fixture
def bob() -> Database:
    return said(opened(), "The canary of Bob")


@pytest.fixture
def reader(alice: Database) -> ReaderLogin:
    return make_reader(alice, "reader")


def said_by(reader: ReaderLogin, *statements: str) -> subprocess.CompletedProcess[str]:
    words = [word for statement in statements for word in ("-c", statement)]
    return psql(reader.url, *words)


@pytest.mark.claim("journal.history-in-postgres", "journal.history-by-sql")
def test_an_agent_asks_for_its_messages_with_said_by(reader: ReaderLogin) -> None:
    asked = said_by(reader, "SELECT role, content FROM messages ORDER BY time")
    assert asked.stdout == "user|Alice likes green tea\nassistant|Noted: green tea\n"
    assert said_by(reader, "SELECT session, messages FROM sessions").stdout == "monday|2\n"


def names_of(database: Database) -> list[str]:
    """What whoever knows another profile's identity could set."""
    profile = database.profile
    return [
        f"SET commonplace.profile = '{profile}'",
        f"SELECT set_config('commonplace.profile', '{profile}', false)",
        f"SET SESSION commonplace.profile TO '{profile}'",
        "SET row_security = off",
        "SET search_path = pg_temp, commonplace",
    ]


def test_a_reader_sees_no_other_profile_whatever_it_sets(
    reader: ReaderLogin, alice: Database, bob: Database
) -> None:
    for setting in names_of(bob):
        asked = said_by(reader, setting, "SELECT content FROM commonplace.messages")
        assert "canary" not in asked.stdout + asked.stderr
    seen = said_by(reader, *names_of(bob)[:3], "SELECT count(*) FROM commonplace.messages")
    assert seen.stdout.splitlines()[-1] == "2"
    assert alice.profile != bob.profile


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "SELECT set_config('role', 'postgres', false)",
        "CREATE TABLE commonplace.t(a int)",
        "CREATE TABLE public.t(a int)",
        "CREATE ROLE another LOGIN",
        "INSERT INTO messages(id) VALUES ('msg-x')",
        "UPDATE messages SET content = 'x'",
        "DELETE FROM messages",
        "DELETE FROM sessions",
        "TRUNCATE commonplace.message",
        "DROP VIEW messages",
        "COPY messages TO PROGRAM 'cat'",
        "SELECT pg_read_file('/etc/passwd')",
        *(
            f"SELECT * FROM commonplace.{table}"
            for table in (
                *("message", "history", "reader", "profile", "profile_name", "document", "piece"),
                *("entry", "version", "note", "lease", "step", "record", "known"),
            )
        ),
        "INSERT INTO commonplace.reader SELECT current_user, profile FROM commonplace.profile",
    ],
)
def test_a_reader_can_write_nothing_and_read_nothing_beside_the_views(
    reader: ReaderLogin, statement: str
) -> None:
    refused = said_by(reader, "SET default_transaction_read_only = off", statement)
    assert any(no in refused.stderr for no in ("permission denied", "must be owner", "cannot"))
    assert said_by(reader, "SELECT count(*) FROM messages").stdout == "2\n"


def test_a_reader_s_transactions_read_unless_it_says_otherwise(reader: ReaderLogin) -> None:
    assert "read-only transaction" in said_by(reader, "CREATE TEMP TABLE t(a int)").stderr


def test_a_function_of_a_reader_s_own_is_shown_no_row_of_another_profile(
    reader: ReaderLogin, bob: Database
) -> None:
    leak = """CREATE FUNCTION pg_temp.leak(text) RETURNS bool LANGUAGE plpgsql COST 0.0000001
        AS $$ BEGIN RAISE NOTICE 'seen: %', $1; RETURN true; END $$"""
    asked = said_by(
        reader,
        "SET default_transaction_read_only = off",
        leak,
        "SELECT count(*) FROM commonplace.messages WHERE pg_temp.leak(content)",
    )
    assert "seen: Alice likes green tea" in asked.stderr
    assert "canary" not in asked.stderr
    assert PostgresHistory(bob).count() == 1


def test_a_statement_of_a_reader_ends_in_time(
    alice: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said_by(make_reader(alice, "slow"), "SHOW statement_timeout").stdout == "10s\n"
    monkeypatch.setattr(read_only_sql, "READER_SECONDS", 1)
    slow = said_by(make_reader(alice, "slow"), "SELECT pg_sleep(30)")
    assert "statement timeout" in slow.stderr


def test_readers_are_listed_and_one_is_taken_away(alice: Database, bob: Database) -> None:
    one, other = (make_reader(alice, name) for name in ("one", "other"))
    make_reader(bob, "bobs")
    assert readers_of(alice) == ["one", "other"]
    assert revoke_reader(alice, "one") == one.role
    assert (readers_of(alice), readers_of(bob)) == (["other"], ["bobs"])
    assert "does not exist" in said_by(one, "SELECT 1").stderr
    assert said_by(other, "SELECT count(*) FROM messages").stdout == "2\n"
    for gone in ("one", "bobs", "never"):
        with pytest.raises(NotFound, match=f"no reader {gone}"):
            revoke_reader(alice, gone)


def test_a_session_of_a_reader_that_was_taken_away_reads_nothing_more(alice: Database) -> None:
    reader = make_reader(alice, "one")
    with psycopg.connect(reader.url, autocommit=True) as session:
        assert session.execute("SELECT count(*) FROM messages").fetchall() == [(2,)]
        revoke_reader(alice, "one")
        with pytest.raises(psycopg.Error):
            session.execute("SELECT count(*) FROM commonplace.messages")


@pytest.mark.parametrize("name", ["", "A", "a-b", 'a"; DROP ROLE postgres; --', "a" * 31])
def test_a_name_that_is_no_name_is_refused(alice: Database, name: str) -> None:
    with pytest.raises(BadValue, match="not the name of a reader"):
        make_reader(alice, name)


def test_only_the_password_that_was_shown_last_lets_a_reader_in() -> None:
    server = new_server("passwords")
    hba = server.data / "pg_hba.conf"
    hba.write_text(f"host all /^commonplace_ 127.0.0.1/32 scram-sha-256\n{hba.read_text()}")
    server.stop()
    server.start()
    alice = said(opened(f"{server.url()}?profile=alice"), "Hello")
    first, second = (make_reader(alice, "reader") for _ in range(2))
    assert first.role == second.role
    asked = "SELECT content FROM messages"
    assert psql(second.url, "-c", asked).stdout == "Hello\n"
    assert "password authentication failed" in psql(first.url, "-c", asked).stderr


def test_a_url_for_another_user_leaves_out_what_is_of_the_first_one() -> None:
    place = parse_url("postgresql://me:pw@h1:1,h2:2/db?sslmode=require&password=x&sslkey=k")
    assert place.url_for("a_b", "p w") == "postgresql://a_b:p%20w@h1:1,h2:2/db?sslmode=require"
    assert parse_url("postgresql:///db?host=/tmp").url_for("a", "p") == (
        "postgresql://a:p@/db?host=%2Ftmp"
    )


@pytest.mark.long
def test_the_command_makes_lists_and_revokes_readers(tmp_path: Path) -> None:
    url = fresh_url()
    said(opened(url), "Hello")

    def run(*words: str, vault: str = url) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "commonplace", "--vault", vault, "history", "reader"]
        return subprocess.run([*command, *words], capture_output=True, text=True, check=False)

    made = run("analyst").stdout
    assert made.startswith("psql 'postgresql://commonplace_analyst_")
    program, address = shlex.split(made)
    assert psql(address, "-c", "SELECT content FROM messages").stdout == "Hello\n"
    assert (program, run("--list").stdout) == ("psql", "analyst\n")
    assert "can no longer log in" in run("analyst", "--revoke").stdout
    gone = run("analyst", "--revoke")
    assert (gone.returncode, "There is no reader analyst" in gone.stderr) == (3, True)
    files = run(vault=str(tmp_path))
    assert (files.returncode, "are in a file" in files.stderr) == (2, True)
