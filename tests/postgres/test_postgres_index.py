"""The index in PostgreSQL: the contract, and what only a server can go through."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.postgres import index_vectors
from commonplace.postgres.connection import Database
from commonplace.postgres.index import PostgresIndex
from commonplace.postgres.urls import parse_url
from commonplace.search.index import Asked, Index, Query
from tests.contracts.index import RANK, IndexContract, fill, ids, known, record
from tests.support.postgres import fresh_url, new_role, psql, said_as_owner, url_of_server

OPENED: list[Database] = []


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def opened(url: str = "") -> PostgresIndex:
    OPENED.append(Database.open(parse_url(url or fresh_url()), clock=Clock()))
    return PostgresIndex(OPENED[-1], rank=RANK)


class TestInPostgres(IndexContract):
    def fresh(self) -> Index:
        return opened()


def test_many_vectors_are_found_by_their_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_vectors, "MANY", 200)
    chance = Random(1)
    others, index = opened(), opened()
    for each in (others, index):
        records = [record(number, f"text {number}") for number in range(300)]
        fill(each, *records)
        vectors = [(chance.randbytes(256), 99.0) for _ in records]
        question = Asked("m", chance.randbytes(256), 99.0)
        waiting, _ = each.unembedded("m", dim=256, limit=300)
        rows = [(key, *vector) for (key, _), vector in zip(waiting, vectors, strict=True)]
        each.embed("m", dim=256, rows=rows[:100])
        by_each = ids(each.nearest(question, Query(limit=20)))
        each.embed("m", dim=256, rows=rows)
        each.embed("m", dim=256, rows=rows[-1:])
        assert (len(by_each), each.unembedded("m", dim=256, limit=1)) == (20, ([], 0))
        assert each._vectors.in_graph(question)
    assert by_each != ids(index.nearest(question, Query(limit=20)))
    found = ids(index.nearest(question, Query(limit=20)))
    monkeypatch.setattr(index._vectors, "in_graph", lambda asked: False)
    assert found == ids(index.nearest(question, Query(limit=20)))
    assert index.dump_vectors() != others.dump_vectors()


def test_what_is_forgotten_is_cleared_away_and_the_receipt_names_what_the_server_keeps() -> None:
    url = fresh_url(schema=f"s{uuid.uuid4().hex[:12]}")
    memory = Memory.open(url, create=True)
    kept, gone = memory.store("Likes tea"), memory.store("Likes quinces")
    memory.search("quinces")
    receipt = memory.delete_all([gone.id])
    assert "its log" in receipt.out_of_reach[-1]
    database = memory.parts.database
    assert database is not None
    swept = """select relname from pg_stat_user_tables
        where last_vacuum is not null and schemaname = current_schema()"""
    assert {"record", "piece", "entry", "embedding"} <= {name for (name,) in database.rows(swept)}
    assert [hit.record.id for hit in memory.search("likes")] == [kept.id]
    memory.close()


def test_threads_write_and_read_side_by_side() -> None:
    index = opened()

    def work(number: int) -> None:
        for line in range(1, 26):
            told = record(number * 1000 + line, f"thread{number} word{line}")
            with index.transaction():
                index.add(f"notes/{number}.md", [(told, line)], known=known(line))
                index.set_level(index.level() + 1)
            assert told.id in ids(index.search(Query(f"word{line}", limit=1000)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert (index.count(Query()), index.level(), index.healthy()) == (100, 100, "")


def test_words_that_are_not_those_of_the_text_are_told() -> None:
    index = opened()
    fill(index, record(1, "tea"), record(2, "quince"))
    assert index.healthy() == ""
    index._rows("update record set words = 'x:1' where profile = %(profile)s and key = 1")
    assert index.healthy() == "The words of 1 records do not fit their texts."
    index._rows("delete from record where profile = %(profile)s and key = 1")
    assert "are counted" in index.healthy()


def test_without_pgvector_words_answer_alone_and_it_says_so() -> None:
    name = f"d{uuid.uuid4().hex[:12]}"
    new_role(name, f"create database {name}", f"grant create on database {name} to {name}")
    url = url_of_server(user=name, database=name)
    memory = Memory.open(url, create=True)
    memory.store("Likes tea and quinces")
    found = memory.search("quinces")
    assert ([hit.record.text for hit in found], found.mode) == (["Likes tea and quinces"], "words")
    assert found.degraded.startswith("Words alone: the database keeps no vectors, since it has no")
    assert [hit.record.text for hit in memory.recall("quinces")] == ["Likes tea and quinces"]
    memory.close()
    said_as_owner("create extension vector schema public", database=name)
    memory = Memory.open(url, create=True)
    found = memory.search("quinces")
    assert (len(found), found.mode, found.degraded) == (1, "hybrid", "")
    memory.close()


def test_another_role_sees_only_the_profile_it_names() -> None:
    index, other = opened(), opened()
    fill(index, record(1, "canary"))
    role = f"r{uuid.uuid4().hex[:12]}"
    url = new_role(
        role,
        f"grant usage on schema commonplace to {role}",
        f"grant select on all tables in schema commonplace to {role}",
    )
    for each, found in ((index, "1"), (other, "0")):
        named = (
            "set citus.propagate_set_commands = 'local'",
            "begin",
            f"set local commonplace.profile = '{each._database.profile}'",
        )
        ask = "select count(*) from commonplace.record"
        words = [word for said in (*named, ask, "commit") for word in ("-c", said)]
        told = psql(url, "-q", *words)
        assert told.stdout.split() == [found], told.stderr


def test_a_question_that_was_asked_before_needs_few_statements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether anything has changed, what names a time for itself, the candidates, and the hits;
    from then on the candidates tell whether anything has changed. That every text has its vector is
    noted by whoever made the last of them, and not by whoever searches next.
    """
    with Memory.open(fresh_url(), create=True) as memory:
        memory.store("Likes tea and quinces")
        first = memory.search("What about quinces?")
        rows, said = Database.rows, list[str]()

        def counted(database: Database, statement: str, *rest: Any) -> Any:
            said.append(statement)
            return rows(database, statement, *rest)

        monkeypatch.setattr(Database, "rows", counted)
        for count in (4, 3, 3):
            said.clear()
            again = memory.search("What about quinces?")
            assert (list(again), again.mode, len(said)) == (list(first), "hybrid", count)


def test_how_rare_a_word_is_is_counted_anew_after_a_write() -> None:
    with Memory.open(fresh_url(), create=True) as memory:
        index = memory.library.index
        memory.store("Likes tea and quinces")
        memory.store("Likes coffee")
        memory.search("quinces")
        rare = index.rarity(["quinces"])["quinces"]
        assert index.rarity(["quinces"]) == {"quinces": rare}
        memory.store("Ate quinces")
        memory.search("quinces")
        assert index.rarity(["quinces"])["quinces"] < rare


def test_what_another_host_did_is_seen_by_a_question_that_presumes_nothing_has_changed() -> None:
    url = fresh_url()
    with Memory.open(url, create=True) as memory, Memory.open(url, create=True) as other:
        stored = [other.store(f"Saw {number} herons") for number in range(2)]

        def seen(**filters: Any) -> set[str]:
            found = memory.search("herons", **filters)
            assert not found.degraded
            return {hit.record.text for hit in found}

        for _ in range(3):
            assert seen() == {"Saw 0 herons", "Saw 1 herons"}
            assert seen(kinds=("decision",)) == set()
        other.store("Saw 2 herons")
        assert seen() == {f"Saw {number} herons" for number in range(3)}
        assert seen() == seen() == {f"Saw {number} herons" for number in range(3)}
        other.delete(stored[0].id)
        assert seen() == {"Saw 1 herons", "Saw 2 herons"}
        other.rebuild()
        assert seen() == {"Saw 1 herons", "Saw 2 herons"}
        with memory.library.index.transaction():
            assert seen() == {"Saw 1 herons", "Saw 2 herons"}


def test_vectors_that_went_while_the_last_were_being_made_are_missed() -> None:
    with Memory.open(fresh_url(), create=True) as memory:
        index = memory.library.index
        for text in ("Likes tea", "Likes quinces"):
            memory.store(text)
            memory.library.refresh()
            waiting, _ = index.unembedded("m", dim=1, limit=9)
            if text == "Likes quinces":
                index.keep_models(())
            index.embed("m", dim=1, rows=[(key, b"\x01", 1.0) for key, _ in waiting])
        assert [text for _, text in index.unembedded("m", dim=1, limit=9)[0]] == ["Likes tea"]


def test_what_another_host_wrote_since_the_last_question_gets_its_vector() -> None:
    url = fresh_url()
    with Memory.open(url, create=True) as memory, Memory.open(url, create=True) as other:
        for number in range(3):
            other.store(f"Saw {number} herons")
            assert memory.search("What birds?").mode == "vectors"
            assert list(memory.library.index.vectors().values()) == [number + 1]
