"""The database below vault, journal, index and history: URLs, migrations, transactions, errors."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from commonplace.model.clock import Clock
from commonplace.model.errors import (
    BadInput,
    Busy,
    CommonplaceError,
    DatabaseTrouble,
    NoServer,
    NoSuchVault,
    ReadOnly,
)
from commonplace.model.options import is_url
from commonplace.postgres.connection import Database, numbered
from commonplace.postgres.server import Interrupted
from commonplace.postgres.urls import DatabaseUrl, parse_url
from tests.support.clocks import FixedClock
from tests.support.postgres import (
    Server,
    database_of_server,
    fresh_url,
    new_directory,
    new_role,
    new_server,
    url_of_server,
)

pytestmark = pytest.mark.long

NOTE = "insert into note(profile, name, data) values (%s, %s, '')"
OPENED: list[Database] = []
NAMES = "select name from note where profile = %s order by name"


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def opened(url: str = "", *, seconds: float = 20.0, create: bool = True) -> Database:
    place = parse_url(url or fresh_url())
    OPENED.append(Database.open(place, clock=Clock(), seconds=seconds, create=create))
    return OPENED[-1]


@pytest.fixture
def database() -> Database:
    return opened()


@pytest.fixture
def server() -> Server:
    return new_server("restarts")


def note(database: Database, name: str) -> None:
    database.rows(NOTE, (database.profile, name))


def names(database: Database) -> list[str]:
    return [name for (name,) in database.rows(NAMES, (database.profile,))]


def test_a_url_names_a_database_a_schema_and_a_profile() -> None:
    place = parse_url("postgresql://me:pw@host:5433/mem?profile=alice&schema=s&sslmode=require")
    assert place == DatabaseUrl("postgresql://me:pw@host:5433/mem?sslmode=require", "alice", "s")
    assert parse_url(place.url()) == place


def test_a_url_is_shown_without_its_password() -> None:
    place = parse_url("postgres://me:pw@host/mem?password=x&profile=alice")
    assert place.shown() == "postgresql://me@host/mem?profile=alice"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://host",
        "postgresql://host/db?profile=",
        "postgresql://host/db?profile=../x",
        "postgresql://host/db?schema=Drop table",
        "postgresql://host:port/db",
        "postgresql://[::1/db",
    ],
)
def test_a_url_that_names_nothing_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(BadInput, match="postgresql://user:password@host"):
        parse_url(url)


def test_a_directory_is_no_url() -> None:
    assert not is_url("/srv/postgresql")
    assert is_url("postgres://h/d")


def test_a_profile_is_the_same_one_when_it_is_opened_again(database: Database) -> None:
    again = opened(database.place.url())
    assert again.profile == database.profile


def test_a_profile_that_is_not_to_be_made_is_not_there() -> None:
    with pytest.raises(NoSuchVault):
        opened(create=False)


def url_of_plain_user(allowed: str) -> str:
    """A schema for a user of that name, who may do nothing but what is said."""
    name = f"s{uuid.uuid4().hex[:12]}"
    said = allowed.format(name=name, database=database_of_server())
    return f"{new_role(name, said)}?schema={name}"


def test_a_user_who_may_make_no_schema_uses_the_one_made_for_him() -> None:
    url = url_of_plain_user("create schema {name} authorization {name}")
    note(opened(url), "there")


def test_one_profile_does_not_see_another_one_even_when_a_statement_forgets_to_say_which() -> None:
    url = url_of_plain_user("grant create on database {database} to {name}")
    alice, bob = opened(f"{url}&profile=alice"), opened(f"{url}&profile=bob")
    note(alice, "canary")
    assert alice.rows("select name from note") == [("canary",)]
    assert bob.rows("select name from note") == []
    with pytest.raises(CommonplaceError, match="row-level security"):
        bob.rows(NOTE, (alice.profile, "forged"))


def test_many_hosts_may_make_the_tables_at_once() -> None:
    url = fresh_url(schema=f"s{uuid.uuid4().hex[:12]}")
    with ThreadPoolExecutor(8) as hosts:
        found = list(hosts.map(lambda _: opened(url), range(8)))
    assert len({each.profile for each in found}) == 1


def test_tables_of_a_newer_commonplace_are_let_be() -> None:
    url = fresh_url(schema=f"s{uuid.uuid4().hex[:12]}")
    one = opened(url)
    one.rows("insert into step(number) values (999)")
    with pytest.raises(DatabaseTrouble, match="Update commonplace"):
        opened(url)


def test_what_fails_in_a_transaction_leaves_nothing(database: Database) -> None:
    def fail() -> None:
        with database.transaction():
            note(database, "lost")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(database) == []


def test_a_transaction_inside_another_one_joins_it(database: Database) -> None:
    with database.locked(), database.transaction():
        note(database, "one")
        with opened(database.place.url()).transaction():
            pass
    assert names(database) == ["one"]


def test_a_lock_keeps_other_connections_out(database: Database) -> None:
    impatient = opened(database.place.url(), seconds=0.2)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with database.locked():
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    with pytest.raises(Busy), impatient.locked():
        pass
    done.set()
    thread.join()
    with impatient.locked():
        note(impatient, "mine now")


def test_a_killed_client_keeps_no_lock(database: Database) -> None:
    program = (
        "import os, sys\n"
        "from commonplace.model.clock import Clock\n"
        "from commonplace.postgres.connection import Database\n"
        "from commonplace.postgres.urls import parse_url\n"
        "one = Database.open(parse_url(sys.argv[1]), clock=Clock())\n"
        "with one.locked():\n"
        "    one.rows(\"insert into note values (%s, 'half', '')\", (one.profile,))\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, database.place.url()], check=False)
    assert done.returncode == -9
    with database.locked():
        assert names(database) == []


@pytest.mark.long
def test_calls_resume_when_the_server_comes_back(server: Server) -> None:
    database = opened(server.url() + "?profile=a")
    note(database, "before")
    server.stop("immediate")
    starting = threading.Timer(0.5, server.start)
    starting.start()
    assert names(database) == ["before"]
    starting.join()
    server.stop("fast")
    starting = threading.Timer(0.5, server.start)
    starting.start()
    database.repeated(lambda: note(database, "after"))
    starting.join()
    assert names(database) == ["after", "before"]


@pytest.mark.long
def test_a_memory_is_opened_while_a_server_that_was_there_starts_again(server: Server) -> None:
    held = opened(f"{server.url()}?profile=alice")
    server.stop("immediate")
    starting = threading.Timer(0.5, server.start)
    starting.start()
    other = opened(f"{server.url()}?profile=bob")
    starting.join()
    assert other.profile != held.profile


def test_a_transaction_that_the_server_left_is_interrupted_and_leaves_nothing(
    server: Server,
) -> None:
    database = opened(server.url() + "?profile=a")

    def cut_off() -> None:
        with database.locked():
            note(database, "half")
            server.stop("immediate")
            note(database, "more")

    with pytest.raises(Interrupted):
        cut_off()
    server.start()
    assert names(database) == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_that_was_cut_off_is_looked_up(database: Database, committed: bool) -> None:
    """The connection ends before, or right after, the server did what it was told."""
    import psycopg

    class Cut:
        def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
            self.connection = connection

        def execute(self, statement: str) -> None:
            if committed:
                self.connection.execute(statement)
            self.connection.close()
            raise psycopg.OperationalError("the connection is lost")

    def cut(connection: Any) -> None:
        del database._commit
        database._commit(Cut(connection))  # type: ignore[arg-type]

    database._commit = cut  # type: ignore[method-assign]

    def write() -> None:
        with database.locked():
            note(database, "once")

    if committed:
        write()
    else:
        with pytest.raises(Interrupted):
            write()
    assert names(database) == ["once"] * committed


def test_a_commit_that_a_crash_took_is_not_taken_for_one_that_came_after_it() -> None:
    """A server that crashes may give the number of a lost transaction to the next one."""
    server = new_directory("crashes")
    server.settings |= {"wal_writer_delay": "10000ms"}
    server.make()
    server.start()
    database, other = (opened(f"{server.url()}?profile={name}") for name in "ab")

    def crash(connection: Any) -> None:
        del database._commit
        server.stop("immediate")
        server.start()
        for number in range(20):
            other.repeated(partial(note, other, f"after {number}"))
        database._commit(connection)

    database._commit = crash  # type: ignore[method-assign]

    def write() -> None:
        with database.locked():
            note(database, "lost")

    with pytest.raises(Interrupted):
        write()
    assert names(database) == []


def test_proofs_of_commits_are_cleared_after_a_day(database: Database) -> None:
    count = "select count(*) from committed where profile = %s"
    for name in ("first", "second", "third"):
        with database.locked():
            note(database, name)
    assert database.rows(count, (database.profile,)) == [(3,)]
    database.rows(
        "update committed set at = now() - interval '2 days' where profile = %s",
        (database.profile,),
    )
    later = opened(database.place.url())
    later._clock = FixedClock(Clock().now_ns() + 2 * 86_400 * 10**9)
    with later.locked():
        note(later, "fourth")
    assert database.rows(count, (database.profile,)) == [(1,)]


def test_no_server_says_so_at_once() -> None:
    with pytest.raises(NoServer, match="Check that the server runs") as found:
        opened("postgresql://nobody@127.0.0.1:1/none?profile=a")
    assert found.value.exit_code == 6
    assert found.value.status == 503


def test_a_database_that_is_not_there_says_how_to_make_it() -> None:
    with pytest.raises(NoServer, match="createdb"):
        opened(url_of_server().rsplit("/", 1)[0] + "/no_such_database")


def test_a_user_that_is_not_known_is_told_so() -> None:
    with pytest.raises(NoServer, match="user and the password"):
        opened(url_of_server(user="stranger"))


def test_when_every_connection_is_in_use_it_says_so(database: Database) -> None:
    database._pool.size = 10
    impatient = opened(database.place.url(), seconds=0.2)
    taken = [database._pool.take(seconds=1, where="") for _ in range(10)]
    with pytest.raises(NoServer, match="all 10 connections"):
        names(impatient)
    for each in taken:
        database._pool.give(each)
    assert names(impatient) == []


def test_a_connection_that_cannot_be_told_its_profile_is_free_for_the_next(
    database: Database,
) -> None:
    database.seconds = 1e12
    for _ in range(database._pool.size + 1):
        with pytest.raises(CommonplaceError, match="lock_timeout"):
            database.rows("select 1")
    database.seconds = 1.0
    assert database.rows("select 1") == [(1,)]


def test_a_database_that_takes_no_writes_says_so(database: Database) -> None:
    connection = database._pool.take(seconds=1, where="")
    connection.execute("set default_transaction_read_only = on")
    database._pool.give(connection)
    with pytest.raises(ReadOnly, match="name the primary"):
        note(database, "refused")
    assert names(database) == []
    database._pool.drop_idle()


def test_who_waits_no_time_at_all_is_told_at_once(database: Database) -> None:
    hasty = opened(database.place.url(), seconds=0)

    def take() -> None:
        with hasty.locked():
            pass

    with database.locked(), pytest.raises(Busy):
        take()
    take()


@pytest.mark.parametrize(
    ("statement", "text", "names"),
    [
        ("select 1", "select 1", ()),
        ("select %s, %s", "select $1, $2", ("0", "1")),
        ("select %(a)s, %(b)s, %(a)s", "select $1, $2, $1", ("a", "b")),
    ],
)
def test_values_are_numbered_as_the_server_takes_them(
    statement: str, text: str, names: tuple[str, ...]
) -> None:
    assert numbered(statement) == (text, names)
