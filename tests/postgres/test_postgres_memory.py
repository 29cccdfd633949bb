"""What only a memory in PostgreSQL goes through: hosts at the same time, a server that restarts."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from commonplace.memory import Memory
from commonplace.model.errors import Busy, NoServer, Unreadable
from commonplace.postgres.connection import Row
from commonplace.postgres.notes import PostgresNotes
from tests.data import documents_of
from tests.laws.test_laws import rebuilt
from tests.support.postgres import Server, fresh_url, new_server


def texts(memory: Memory) -> set[str]:
    return {hit.record.text for hit in memory.search(limit=1000, include_passages=False)}


def test_hosts_beside_each_other_lose_nothing_and_agree() -> None:
    url = fresh_url()
    hosts = [Memory.open(url, session=f"host-{number}", create=True) for number in range(4)]

    def write(number: int) -> list[str]:
        stored = [hosts[number].store(f"Host {number} wrote {at}").text for at in range(8)]
        hosts[number].update(f"Host {number}.", document="notes.md")
        return stored

    with ThreadPoolExecutor(4) as pool:
        stored = {text for told in pool.map(write, range(4)) for text in told}
    for host in hosts:
        assert texts(host) >= stored
        assert host.read("notes.md").text.count("Host ") == 4
        assert host.library.index.dump() == rebuilt(host)
        host.close()


def test_threads_of_one_memory_share_it() -> None:
    with Memory.open(fresh_url(), create=True) as memory:

        def use(number: int) -> str:
            text = memory.store(f"Thread {number}").text
            memory.search("thread")
            return text

        with ThreadPoolExecutor(6) as pool:
            stored = set(pool.map(use, range(12)))
        assert texts(memory) == stored
        assert memory.library.index.dump() == rebuilt(memory)


def test_a_rewrite_of_what_another_host_changed_is_merged() -> None:
    url = fresh_url()
    with Memory.open(url, create=True) as one, Memory.open(url, create=True) as other:
        one.update("alpha\nbeta\ngamma\n", document="notes.md", mode="rewrite")
        read = one.read("notes.md")
        other.update("alpha\nbeta\ngamma\ndelta\n", document="notes.md", mode="rewrite")
        written = one.update(
            "ALPHA\nbeta\ngamma\n", document="notes.md", mode="rewrite", etag=read.etag
        )
        assert written.merged
        assert other.read("notes.md").text == "ALPHA\nbeta\ngamma\ndelta\n"


def test_budgets_and_taint_are_those_of_the_session_on_every_host() -> None:
    url = fresh_url()
    with (
        Memory.open(url, session="s-1", create=True) as one,
        Memory.open(url, session="s-1", create=True) as other,
    ):
        for memory in (one, other):
            with memory.counted("stores"):
                pass
        other.taint()
        assert one.sessions.read("s-1").stores == 2
        assert one.author.origin != "agent"


def test_a_conversation_on_one_host_keeps_the_heartbeat_of_another_away() -> None:
    url = fresh_url()
    with (
        Memory.open(url, session="s-1", create=True) as one,
        Memory.open(url, create=True) as other,
    ):
        assert not other.conversations.are_running()
        one.conversations.note()
        assert other.conversations.are_running()
        one.conversations.end()
        with one.conversations.held():
            assert other.conversations.are_running()
        assert not other.conversations.are_running()


def test_only_one_host_compacts_at_a_time() -> None:
    url = fresh_url()
    with Memory.open(url, create=True) as one, Memory.open(url, create=True) as other:
        one.store("Talked about the house", kind="turn-summary")
        with one.notes.alone("compaction.lock"):
            report = other.compact(forced=True, min_age_days=0)
        assert report.why == "another compaction is running"
        assert other.compact(forced=True, min_age_days=0).status == "done"


EXPIRE = "update lease set until = now() where profile = %s and name like '%%lock'"
LEFT = "select extract(epoch from until - now()) from lease where profile = %s"


def leases(memory: Memory, statement: str) -> list[Row]:
    assert isinstance(memory.notes, PostgresNotes)
    database = memory.notes._database
    return database.rows(statement, (database.profile,))


def test_who_was_stopped_while_another_took_over_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = fresh_url()
    with Memory.open(url, create=True) as one, Memory.open(url, create=True) as other:
        one.store("Talked about the house", kind="turn-summary")
        keep, reports = one.library.keep, []

        def stopped(data: bytes) -> str:
            leases(one, EXPIRE)
            reports.append(other.compact(forced=True, min_age_days=0))
            return keep(data)

        monkeypatch.setattr(one.library, "keep", stopped)
        late = one.compact(forced=True, min_age_days=0)
        assert reports[0].status == "done"
        assert (late.status, late.why) == (
            "skipped",
            "another host took over while this one was stopped",
        )
        assert one.library.index.dump() == rebuilt(one)


def test_who_lost_a_name_does_not_take_it_from_the_next_holder() -> None:
    url = fresh_url()
    with Memory.open(url, create=True) as one, Memory.open(url) as other:
        with one.notes.alone("upkeep.lock"):
            leases(one, EXPIRE)
            held = other.notes.alone("upkeep.lock")
            held.__enter__()
        with pytest.raises(Busy), one.notes.alone("upkeep.lock"):
            pass
        held.__exit__(None, None, None)


def test_a_name_is_free_fifteen_seconds_after_its_holder_spoke_last() -> None:
    with Memory.open(fresh_url(), create=True) as one, one.notes.alone("upkeep.lock"):
        [(left,)] = leases(one, LEFT)
        assert 0 < left <= 15


def test_what_fails_halfway_never_was_and_what_follows_is_whole() -> None:
    with Memory.open(fresh_url(), create=True) as memory:
        memory.store("Before")
        before = documents_of(memory)
        append = memory.library.vault.append

        def fail(name: str, *rest: object, **named: object) -> object:
            if name != "MEMORY.md":
                raise Unreadable(name, "it was not to be")
            return append(name, *rest, **named)  # type: ignore[arg-type]

        memory.library.vault.append = fail  # type: ignore[method-assign,assignment]
        with pytest.raises(Unreadable):
            memory.store("Half")
        del memory.library.vault.append
        assert documents_of(memory) == before
        memory.store("After")
        assert texts(memory) == {"Before", "After"}
        assert memory.library.index.dump() == rebuilt(memory)


@pytest.fixture
def server() -> Server:
    return new_server("restarts")


def test_a_server_that_restarts_is_waited_for_and_nothing_acknowledged_is_lost(
    server: Server,
) -> None:
    url = f"{server.url()}?profile=alice"
    stored: list[str] = []
    over = threading.Event()

    def write(number: int) -> None:
        with Memory.open(url, session=f"writer-{number}", create=True) as memory:
            at = 0
            while not over.is_set() or at < 3:
                at += 1
                stored.append(memory.store(f"Writer {number} wrote {at}").text)
                memory.search("wrote", limit=1)

    def wait_for(count: int) -> None:
        while len(stored) < count:
            over.wait(0.01)
            assert not [writer.result() for writer in writers if writer.done()]

    with Memory.open(url, create=True) as memory, ThreadPoolExecutor(3) as pool:
        writers = [pool.submit(write, number) for number in range(3)]
        try:
            for how in ("fast", "immediate"):
                wait_for(10)
                server.stop(how)
                server.start()
                wait_for(len(stored) + 6)
        finally:
            over.set()
        for writer in writers:
            writer.result(60)
        found = [hit.record.text for hit in memory.search(limit=10_000, include_passages=False)]
        assert sorted(found) == sorted(stored)
        assert memory.library.index.dump() == rebuilt(memory)


def test_a_server_that_stays_away_is_told_after_the_time_to_wait(server: Server) -> None:
    with Memory.open(f"{server.url()}?profile=alice", lock_seconds=1, create=True) as memory:
        memory.store("Safe")
        server.stop("immediate")
        with pytest.raises(NoServer, match="Check that the server runs"):
            memory.store("Never stored")
        with pytest.raises(NoServer):
            memory.search("safe")
        server.start()
        assert texts(memory) == {"Safe"}


def test_who_waits_too_long_for_another_host_is_told_so() -> None:
    url = fresh_url()
    with (
        Memory.open(url, create=True) as one,
        Memory.open(url, lock_seconds=0.2, create=True) as other,
    ):
        with one.library.vault.lock(), pytest.raises(Busy):
            other.store("Cannot wait")
        assert other.store("Can now").text == "Can now"
