"""The history in PostgreSQL: the contract, and that it finds what the one in SQLite finds."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.history.messages import History
from commonplace.history.sql_questions import IN_POSTGRES, SqlLimits
from commonplace.history.sqlite import SqliteHistory, _SqliteSource
from commonplace.model.clock import Clock
from commonplace.model.errors import BadInput, BadValue, DatabaseTrouble, Refused
from commonplace.postgres.connection import Database
from commonplace.postgres.history import PostgresHistory
from commonplace.postgres.read_only_sql import make_reader
from commonplace.postgres.schema import times_of_messages
from commonplace.postgres.urls import parse_url
from commonplace.search.index import Query
from commonplace.search.words import match
from tests.contracts.history import CLOCK, RUNAWAY, HistoryContract, message, texts
from tests.contracts.index import SCRIPTS
from tests.support.postgres import (
    database_of_server,
    fresh_url,
    new_role,
    new_server,
    own_server,
    psql,
    said_as_owner,
)

OPENED: list[Database] = []


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def opened(url: str = "") -> Database:
    OPENED.append(Database.open(parse_url(url or fresh_url()), clock=Clock()))
    return OPENED[-1]


class TestInPostgres(HistoryContract):
    last_hour = IN_POSTGRES

    def fresh(self) -> History:
        return PostgresHistory(opened())


@pytest.fixture
def history() -> PostgresHistory:
    return PostgresHistory(opened())


ESCAPES = [
    "SELECT set_config('commonplace.profile', '', false)",
    "SELECT set_config('role', 'none', true), query_to_xml('table message', true, true, '')",
    "SELECT \"set_config\"('role', 'none', true)",
    "SELECT pg_catalog.set_config('role', 'none', true)",
    "SELECT U&\"set\\005fconfig\"('role', 'none', true)",
    "SELECT set_config -- a comment\n ('role', 'none', true)",
    "SELECT 1 -- a comment\r , set_config('role', 'none', true)",
    "SELECT 1 /* /* */ ' */, set_config('role', 'none', true) --'",
    "SELECT $a$ $$ $a$, set_config('role', 'none', true), $b$ $b$",
    "SELECT E'\\'', set_config('role', 'none', true), '--'",
    "SELECT table_to_xml('message'::regclass, true, true, '')",
    "SELECT * FROM ts_stat('select words from message')",
    "SELECT current_setting('commonplace.profile')",
    "SELECT pg_sleep(1)",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT * FROM pg_roles",
    "SELECT * FROM information_schema.tables",
    'SELECT * FROM "pg_authid"',
    "SELECT * FROM reader",
    "SELECT * FROM profile",
    "SELECT * FROM entry",
    "TABLE message",
    "SELECT * INTO stolen FROM messages",
    "SELECT * FROM messages FOR UPDATE",
    "WITH gone AS (DELETE FROM messages RETURNING *) SELECT * FROM gone",
    "COPY messages TO '/tmp/stolen'",
    "DO $$ BEGIN END $$",
    "SET ROLE none",
    "RESET ROLE",
    "EXPLAIN ANALYZE SELECT 1",
    "DECLARE c CURSOR FOR SELECT 1",
    "LISTEN x",
]


@pytest.mark.parametrize("statement", ESCAPES)
def test_no_question_gets_more_rights_than_to_read_the_views(
    history: PostgresHistory, statement: str
) -> None:
    history.append([message(1)])
    with pytest.raises(BadInput, match="Ask with one SELECT over messages"):
        history.sql(statement, limit=5)
    assert history.sql("SELECT count(*) FROM messages", limit=1).rows == ((1,),)


def test_a_question_sees_the_messages_of_its_profile_alone(history: PostgresHistory) -> None:
    other = PostgresHistory(opened())
    other.append([message(1, "canary")])
    history.append([message(2)])
    assert history.sql("SELECT id FROM messages", limit=5).rows == (("msg-00002",),)
    assert history.sql("SELECT sum(messages) FROM sessions", limit=5).rows == ((1,),)
    assert (history.search("canary", limit=5), history.get("msg-00001")) == ([], None)


def test_what_a_text_says_is_no_part_of_the_question(history: PostgresHistory) -> None:
    text = 'set_config(; $$ /* pg_x U&"'
    asked = f"SELECT '{text}', E'\\' pg_', \"upper\"('it''s'), count(*) AS \"a;b\""
    found = history.sql(f"{asked} FROM messages -- ;set_config(", limit=5)
    assert (found.columns[-1], found.rows) == (
        "a;b",
        ((text, "' pg_", "IT'S", 0),),
    )


def test_a_question_without_end_is_stopped(
    history: PostgresHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commonplace.postgres.read_only_sql.SQL_LIMITS", SqlLimits(seconds=0.05))
    for statement in RUNAWAY:
        with pytest.raises(Refused, match="stopped"):
            history.sql(statement, limit=5)


def test_values_of_every_type_are_told_plainly(history: PostgresHistory) -> None:
    found = history.sql(
        "SELECT sum(n), avg(n), '2026-11-15'::date, true, ARRAY[1, 2] FROM generate_series(1, 4) n",
        limit=1,
    )
    assert found.rows == ((10, 2.5, "2026-11-15", True, "[1, 2]"),)


def test_messages_that_hosts_append_at_once_are_all_kept_in_one_order() -> None:
    url = fresh_url()
    hosts = [PostgresHistory(opened(url)) for _ in range(4)]

    def say(number: int) -> int:
        return hosts[number % 4].append([message(number), message(1000, "Said by all")])

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(say, range(40))) == 41
    assert hosts[0].count() == len(hosts[1].last("", 99)) == len(list(hosts[2].dump())) == 41
    assert len(hosts[3].search("said number", limit=99)) == 41


def test_a_message_longer_than_words_can_be_kept_of_is_found_by_its_beginning(
    history: PostgresHistory,
) -> None:
    letters = "".join(chr(0x4E00 + at * 7 % 20_000) for at in range(300_000))
    whole = message(1, f"marmalade {letters}")
    history.append([whole, message(2, "x" * 5000)])
    assert history.search("marmalade", limit=5) == [whole]
    assert history.search("x" * 5000, limit=5) == [message(2, "x" * 5000)]


def test_a_session_too_long_to_be_looked_up_is_refused_in_words(history: PostgresHistory) -> None:
    history.append([message(1, session="日" * 400)])
    with pytest.raises(BadValue, match="session: it is longer than 400 characters"):
        history.append([message(2), message(3, session="日" * 401)])
    assert (history.count(), len(history.last("日" * 400, 9))) == (1, 1)


def both(tmp_path: Path, contents: list[str]) -> tuple[SqliteHistory, PostgresHistory]:
    """The same messages kept in both ways."""
    two = SqliteHistory(tmp_path / "history.db"), PostgresHistory(opened())
    for each in two:
        each.append(
            message(number, content, session=f"s{number % 3}")
            for number, content in enumerate(contents)
        )
    return two


def test_words_score_as_they_do_in_sqlite(tmp_path: Path) -> None:
    contents = [text for text, _, _ in SCRIPTS] + [
        *(text for text in TEXTS for _ in range(3)),
        *(f"{TEXTS[at % len(TEXTS)]} {TEXTS[at * 7 % len(TEXTS)]} {at}" for at in range(60)),
    ]
    files, server = both(tmp_path, contents)
    bounds = {"session": "", "since": "", "until": ""}
    for query in filter(match, (*(query for _, query, _ in SCRIPTS), *QUERIES)):
        with files._connections.lent() as db:
            expected = _SqliteSource(db).by_words(query, bounds)
        scored = server.by_words(query, bounds)
        assert [at for at, _ in scored] == [at for at, _ in expected], query
        assert [score for _, score in scored] == pytest.approx([score for _, score in expected])
        assert server.search(query, limit=50) == files.search(query, limit=50)
        asked = Query(query, session="s1", limit=10)
        assert texts(server.find(asked, CLOCK)) == texts(files.find(asked, CLOCK))


TEXTS = [
    "We run every morning, and running keeps us well",
    "The café on foo_bar street opened 2026-11-15; the cafe is good, good, good",
    "commonplace_vault is a variable, and so is COMMONPLACE_VAULT",
    "東京タワーは東京にあります",
    "Der Bäcker läuft 2026/11/15 zur Bäckerei",
    "Naïve résumés are naive resumes",
    "tea tea tea tea and a little cake",
]
QUERIES = [
    *("tea", "tea and cake", "run", "runs in the morning", "good café", "2026-11-15", "2026-11"),
    *("foo_bar", "commonplace_vault", "東京", "東", "bäckerei", "naive resume", "the of and"),
    *("what opened on foo street", "variable cake morning tea street", "nothing of this kind"),
]


@settings(deadline=None, max_examples=30)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.text(max_size=12))
def test_any_text_is_cut_as_sqlite_cuts_it(contents: list[str], query: str) -> None:
    contents = [f"{content} tea" for content in contents]
    with TemporaryDirectory() as directory:
        files, server = both(Path(directory), contents)
        assert server.search(f"{query} tea", limit=9) == files.search(f"{query} tea", limit=9)
        files.close()


def test_a_history_goes_on_when_the_server_was_restarted() -> None:
    server = new_server("history")
    history = PostgresHistory(opened(f"{server.url()}?profile=alice"))
    history.append([message(1)])
    server.stop("immediate")
    server.start()
    assert history.append([message(1), message(2)]) == 1
    server.stop("fast")
    server.start()
    assert history.search("said", limit=5) == [message(2), message(1)]
    server.stop("fast")
    server.start()
    assert history.sql("SELECT count(*) FROM messages", limit=1).rows == ((2,),)


def test_a_user_that_may_not_make_roles_is_told_who_may() -> None:
    user = f"u{uuid.uuid4().hex[:12]}"
    database = database_of_server()
    url = new_role(user, f"grant create on database {database} to {user}")
    history = PostgresHistory(opened(f"{url}?schema={user}"))
    history.append([message(1)])
    with pytest.raises(DatabaseTrouble, match="CREATEROLE"):
        history.sql("SELECT count(*) FROM messages", limit=1)
    said_as_owner(f"alter role {user} createrole")
    assert history.sql("SELECT count(*) FROM messages", limit=1).rows == ((1,),)


@pytest.mark.claim("journal.history-last-hour")
def test_times_are_told_in_utc_whatever_the_zone_of_the_server() -> None:
    url = fresh_url()
    history = PostgresHistory(opened(f"{url}&options=-c%20timezone%3DAsia%2FTokyo"))
    history.append([message(1)])
    for asked in ("time", "time::text", "date_trunc('minute', time)"):
        [(found,)] = history.sql(f"SELECT {asked} FROM messages", limit=1).rows
        assert found.startswith("2026-11-15 14:00")
    [(sooner,)] = history.sql("SELECT time > '2026-11-15 14:00' FROM messages", limit=1).rows
    assert sooner


def test_who_could_read_the_messages_before_the_times_changed_still_can() -> None:
    # That step is taken while the tables are on one server, in any database.
    schema = f"s{uuid.uuid4().hex[:12]}"
    database = opened(f"{own_server().url()}?schema={schema}")
    history = PostgresHistory(database)
    history.append([message(1)])
    reader = make_reader(database, "analyst")
    history.sql("SELECT 1", limit=1)
    with database.transaction():
        for statement in times_of_messages():
            database.rows(statement)
    for view in ("messages", "sessions"):
        asked = psql(reader.url, "-c", f"SELECT count(*) FROM {view}")
        assert (asked.stdout, asked.stderr) == ("1\n", "")
    assert history.sql("SELECT count(*) FROM sessions", limit=1).rows == ((1,),)
