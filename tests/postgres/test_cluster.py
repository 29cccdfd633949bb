"""What a Citus cluster needs of statements and tables, told where there is none."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import commonplace.postgres
from commonplace.model.clock import Clock
from commonplace.model.errors import DatabaseTrouble
from commonplace.postgres import connection
from commonplace.postgres.connection import Database
from commonplace.postgres.distribution import OURS
from commonplace.postgres.history import PostgresHistory
from commonplace.postgres.notes import PostgresNotes
from commonplace.postgres.server import may_succeed_again
from commonplace.postgres.tenants import Tenants
from commonplace.postgres.urls import parse_url
from tests.support.cluster_sql import IMMUTABLE, SENT, complaints, spread_tables, watched
from tests.support.postgres import fresh_url, psql, url_of_server

pytestmark = pytest.mark.long

OF_A_PROFILE = "where profile = %(profile)s"


@pytest.fixture
def database() -> Iterator[Database]:
    opened = Database.open(parse_url(fresh_url()), clock=Clock())
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("statement", "against"),
    [
        (f"select data from note {OF_A_PROFILE}", ""),
        ("select data from note where profile = %s and name = %s", ""),
        ("select 1 from note n join lease l on l.profile = n.profile", "note n"),
        (
            "select 1 from note n join lease l on l.profile = n.profile "
            "where l.profile = %(profile)s",
            "",
        ),
        ("select data from note where name = %(profile)s or profile = %(profile)s", "note note"),
        ("update note set data = ''", "note note"),
        ("delete from note where name = %s", "note note"),
        (
            """select r.id, p.lines from (select r.* from record r
                where r.profile = %(profile)s limit 9) r
            cross join lateral (select array_agg(p.line) as lines
                from record v join place p on p.profile = v.profile and p.key = v.key
                where v.profile = r.profile and v.id = r.id) p""",
            "record v",
        ),
        (
            f"with n as (select * from note {OF_A_PROFILE}) select * from n where name = 'x'",
            "",
        ),
        ("insert into note(profile, name, data) values (%s, %s, %s)", ""),
        ("insert into note(profile, name, data) select profile, name, '' from lease", "note gets"),
        (
            """insert into lease(profile, name, holder, until, said)
            values (%s, %s, %s, now() + make_interval(secs => %s), %s)
            on conflict (profile, name, holder) do update set until = excluded.until
            where lease.until < now()""",
            "now where two writes meet",
        ),
        ("create policy own on note using (profile = (select profile from reader))", "subquery"),
        ("select set_config('lock_timeout', %s, false)", "set_config"),
        ("do $$ begin perform set_config('lock_timeout', '1s', true); end $$", "set_config"),
        ("begin; set local lock_timeout = '1s'; set local jit = 'off'", "repeated for each"),
        ("select pg_current_xact_id(), data from note where profile = %s", "one server"),
        ("select pid from pg_stat_activity, profile where profile = %s", "pg_stat_activity"),
        ("select pass from token where hash = %s", ""),
    ],
)
def test_a_statement_that_a_cluster_would_refuse_is_told(statement: str, against: str) -> None:
    found = "; ".join(complaints(statement))
    assert against in found if against else not found


def test_the_tables_whose_key_begins_with_the_profile_are_those_the_server_finds(
    database: Database,
) -> None:
    found = {name: by_profile for _, name, by_profile in database.rows(OURS)}
    assert {name for name, by_profile in found.items() if by_profile} == spread_tables()
    assert {name for name in found if not found[name]} == {"profile_name", "reader", "token"}


def test_no_policy_asks_another_table(database: Database) -> None:
    asked = """select tablename, coalesce(qual, '') || coalesce(with_check, '') from pg_policies
        where schemaname = current_schema()"""
    policies = database.rows(asked)
    assert {table for table, _ in policies} == spread_tables()
    assert [table for table, said in policies if "SELECT" in said] == []


def test_functions_that_may_be_called_where_two_writes_meet_are_immutable(
    database: Database,
) -> None:
    asked = "select proname::text from pg_proc where proname = any(%s) and provolatile <> 'i'"
    assert database.rows(asked, (sorted(IMMUTABLE),)) == []


def test_an_init_that_fails_leaves_nothing_behind_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    schema = "left_behind"
    url = fresh_url(schema=schema)
    monkeypatch.setattr(
        "commonplace.postgres.connection.MAKE_PROFILE", "select 1 / 0 from (values (%s, %s)) v"
    )
    with pytest.raises(DatabaseTrouble, match=r"division by zero\. Nothing was changed"):
        Database.open(parse_url(url), clock=Clock())
    found = psql(url_of_server(), "-c", f"select to_regnamespace('{schema}')")
    assert (found.stdout.strip(), found.stderr) == ("", "")


@pytest.mark.parametrize(
    ("said", "again"),
    [
        ("failure on connection marked as essential: 10.0.0.2:5432", True),
        ("could not commit transaction for shard 102008 on at least one active node", True),
        ("connection to the remote node me@10.0.0.2:5432 failed", True),
        ("cache lookup failed for relation 16384", False),
    ],
)
def test_a_lost_server_of_a_cluster_is_like_a_lost_server(said: str, again: bool) -> None:
    assert may_succeed_again(psycopg.errors.InternalError_(said)) is again


BEGINS = re.compile(r"(?i)(select|insert into|update|delete from|with)\s+[\w(]")
FILLED = re.compile(r"%\(\w+\)s|%s|\{[^{}]*\}|%%")
OF_STEPS = ("schema.py", "distribution.py", "server.py")
"""Modules whose statements make tables: those are taken before a cluster, or to make it one."""


def sql_in_source() -> Iterator[tuple[str, str]]:
    """Every text of the room that begins as a statement does, with where it stands."""
    room = Path(commonplace.postgres.__file__).parent
    for path in sorted(room.glob("*.py")):
        if path.name in OF_STEPS:
            continue
        for node in _literals(ast.parse(path.read_text())):
            text = _text_of(node).strip()
            if BEGINS.match(text):
                yield f"{path.name}:{node.lineno}", text


def _literals(tree: ast.AST) -> Iterator[ast.expr]:
    """The texts in code, without those that describe it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Constant | ast.JoinedStr):
            yield node
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield from _literals(node)


def _text_of(node: ast.expr) -> str:
    """The text of a literal, with `{}` for what is filled in."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in parts)


def _was_sent(text: str, sent: list[str]) -> bool:
    pattern = re.compile(".*?".join(map(re.escape, FILLED.split(text))), re.DOTALL)
    return any(pattern.search(each) for each in sent)


WORK = (
    "tests/storage/test_stores.py",
    "tests/storage/test_notes.py",
    "tests/postgres/test_postgres_index.py",
    "tests/postgres/test_postgres_memory.py",
    "tests/postgres/test_history_postgres.py",
    "tests/postgres/test_readers.py",
    "tests/postgres/test_database.py",
    "tests/postgres/test_tenants.py",
)
"""Tests of all that is done with a memory in PostgreSQL."""
UNSENT = (connection.END_OTHERS,)
"""What is said in a cluster alone."""


def test_every_statement_of_the_room_is_sent_by_tests_that_are_watched(tmp_path: Path) -> None:
    """And so is looked at: a new one that none of them sends is named here."""
    assert [complaints(statement) for statement in UNSENT] == [[]]
    kept = tmp_path / "sent.json"
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *WORK]
    subprocess.run(run, env={**os.environ, SENT: str(kept)}, capture_output=True, check=False)
    with watched() as by_hand:
        work_that_those_leave_out()
    sent = [*json.loads(kept.read_text()), *by_hand, *UNSENT]
    assert [found for found in sql_in_source() if not _was_sent(found[1], sent)] == []


def work_that_those_leave_out() -> None:
    place = parse_url(fresh_url())
    database = Database.open(place, clock=Clock())
    PostgresNotes(database).remove("there is none")
    PostgresHistory(database).size()
    tenants = Tenants(place.url(), clock=Clock())
    assert place.profile in tenants
    assert place.profile in list(tenants)
    tenants.close()
    database.erase()
    database.close()
