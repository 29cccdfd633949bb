"""A memory in PostgreSQL behind PgBouncer, which gives a transaction any session that is free."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from uuid import uuid4

import psycopg
import pytest

from commonplace.doors.admin import doctor
from commonplace.memory import Memory
from commonplace.model.errors import BadInput
from tests.data import documents_of
from tests.laws.test_laws import rebuilt
from tests.support.postgres import fresh_url, pooled_url

pytestmark = pytest.mark.long

THREADS = 4
ROUNDS = 6


@cache
def pooler() -> str:
    return pooled_url()


def fresh() -> str:
    return f"{pooler()}?profile=p-{uuid4().hex}"


def test_everything_works_through_a_pooler() -> None:
    with Memory.open(fresh(), session="s-1", create=True) as memory:
        tea = memory.store("Likes green tea", kind="preference")
        memory.update("# Garden\n\nThe roses are white.\n", document="garden.md")
        memory.supersede(tea.id, "Likes black tea")
        pin = memory.store("The pin is 40961837", kind="fact")
        memory.conversations.record("user", "Which tea?")
        found = memory.search("tea")
        assert ([hit.record.text for hit in found], found.mode) == (["Likes black tea"], "hybrid")
        memory.delete(pin.id)
        assert b"40961837" not in b"".join(documents_of(memory).values())
        memory.store("Likes cake", kind="preference")
        memory.undo()
        assert memory.conversations.ask("select content from messages").rows == (("Which tea?",),)
        with pytest.raises(BadInput, match="Ask with one SELECT"):
            memory.conversations.ask("select 1; select 2")
        assert memory.compact(forced=True).status in ("done", "skipped")
        assert memory.library.index.dump() == rebuilt(memory)


def test_profiles_that_share_the_sessions_of_a_pooler_stay_apart() -> None:
    urls = [fresh() for _ in range(THREADS)]
    start = threading.Barrier(THREADS)

    def work(number: int) -> None:
        with Memory.open(urls[number], create=True) as memory:
            start.wait()
            for count in range(ROUNDS):
                memory.store(f"The canary of {number} sings {count}", kind="fact")
                texts = [hit.record.text for hit in memory.search("Which canary sings?")]
                assert len(texts) == count + 1
                assert all(f"canary of {number} " in text for text in texts)

    with ThreadPoolExecutor(THREADS) as threads:
        for done in [threads.submit(work, number) for number in range(THREADS)]:
            done.result()


def test_what_a_transaction_was_told_is_not_left_to_whoever_has_the_session_next() -> None:
    with Memory.open(fresh(), create=True) as memory:
        memory.store("Likes green tea")
        memory.search("tea")
    with psycopg.connect(pooler(), autocommit=True, prepare_threshold=None) as stranger:
        for _ in range(5):
            [found] = stranger.execute(
                """select coalesce(current_setting('commonplace.profile', true), ''),
                    current_setting('search_path'), current_setting('lock_timeout'),
                    (select count(*) from pg_prepared_statements)"""
            ).fetchall()
            assert found == ("", '"$user", public', "0", 0)


def test_doctor_tells_of_a_pooler() -> None:
    with Memory.open(fresh(), create=True) as memory:
        told = {finding.what: finding.says for finding in doctor.examine(memory)}
    assert "through a pooler" in told["server"]
    with Memory.open(fresh_url(), create=True) as memory:
        told = {finding.what: finding.says for finding in doctor.examine(memory)}
    assert "pooler" not in told["server"]


def test_a_pooler_that_lends_sessions_for_long_is_served_as_well() -> None:
    url = pooled_url(mode="session")
    with Memory.open(f"{url}?profile=p-{uuid4().hex}", create=True) as memory:
        memory.store("Likes green tea")
        assert [hit.record.text for hit in memory.search("tea")] == ["Likes green tea"]
