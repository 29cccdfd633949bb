"""kill -9 of a client of PostgreSQL at every statement of every verb: old or new, never between."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from commonplace.memory import Memory
from commonplace.replay import state
from tests.clocks import SkippingClock
from tests.data import documents_of
from tests.faults import in_child
from tests.postgres import fresh_url, rows_of
from tests.test_laws import rebuilt

DAY = 86_400_000_000_000
OPTIONS: Any = {"memory_archive_path": "archive/MEMORY.md", "environ": {}}


class Killer:
    """Counts what is said to the server in transactions, and dies at one of it, without a word.

    A death between two of them leaves what the first one left.
    """

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def arm(self) -> None:
        execute, many = psycopg.Connection.execute, psycopg.Cursor.executemany

        def one(connection: Any, statement: Any, *rest: Any, **named: Any) -> Any:
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self._die_here(connection if statement == "commit" else None)
            return execute(connection, statement, *rest, **named)

        def several(cursor: Any, *rest: Any, **named: Any) -> Any:
            self._die_here(None)
            return many(cursor, *rest, **named)

        psycopg.Connection.execute = one  # type: ignore[method-assign,assignment]
        psycopg.Cursor.executemany = several  # type: ignore[method-assign,assignment]

    def _die_here(self, committing: Any) -> None:
        """A commit counts twice: before it is said, and said with nobody there for the answer."""
        for half in (False, True) if committing else (False,):
            if self.count == self.at:
                if half:
                    committing.pgconn.send_query(b"commit")
                    committing.pgconn.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            self.count += 1


def opened(url: str, **options: Any) -> Memory:
    return Memory.open(url, "native", "s-1", clock=SkippingClock(), **OPTIONS | options)


def filled(url: str) -> str:
    """Old records, newer ones, and a document of prose. Returns the id of what may go."""
    clock = SkippingClock()
    clock.skipped = -90 * DAY
    with Memory.open(url, "native", "s-1", clock=clock, **OPTIONS) as memory:
        for number in range(6):
            memory.store(f"Talked about the Miller house, point {number}", kind="turn-summary")
    with opened(url) as memory:
        memory.store("Likes green tea", kind="preference")
        pin = memory.store("The pin of the garage is 40961837", kind="fact")
        memory.update("# Garden\n\nThe roses are white.\n", document="garden.md")
        memory.count()
    return pin.id


REWRITTEN = "# Garden\n\nThe roses are white and red.\n"
VERBS: dict[str, tuple[dict[str, Any], Callable[[Memory, str], object]]] = {
    "store": ({}, lambda memory, _: memory.store("Wren is the sister")),
    "rewrite": (
        {},
        lambda memory, _: memory.update(REWRITTEN, document="garden.md", mode="rewrite"),
    ),
    "strike": ({}, lambda memory, key: memory.strike([key])),
    "forget": ({}, lambda memory, key: memory.delete(key)),
    "undo": ({}, lambda memory, _: memory.undo()),
    "trim": ({"memory_max_records": 4}, lambda memory, _: memory.trim()),
    "compact": ({"memory_compaction_enabled": True}, lambda memory, _: memory.compact(forced=True)),
}


def seen(memory: Memory) -> tuple[dict[str, bytes], int]:
    """What is there, once it was looked at."""
    memory.count()
    return documents_of(memory), memory.library.journal.end()


def is_whole(memory: Memory) -> None:
    """Documents, journal and index say the same."""
    library = memory.library
    assert library.index.dump() == rebuilt(memory)
    assert memory.problems() == []
    for name in memory.documents():
        told = state(library.journal, name, since=library.known(name).base)
        assert told == library.vault.read(name)


@pytest.mark.parametrize("verb", VERBS)
def test_a_client_killed_at_any_statement_leaves_old_or_new(verb: str) -> None:
    options, deed = VERBS[verb]
    url = fresh_url()
    key = filled(url)
    with opened(url) as memory:
        before, ends = seen(memory), {0}

        def work(at: int) -> None:
            other = opened(url, **options)
            other.count()
            killer = Killer(at)
            killer.arm()
            deed(other, key)
            os._exit(0 if killer.count <= at else 1)

        for at in range(1000):
            ended = in_child(lambda at=at: work(at))  # type: ignore[misc]
            assert ended in (0, -signal.SIGKILL), ended
            a_minute_passes(memory)
            now = seen(memory)
            ends.add(now[1] - before[1])
            if now != before:
                is_whole(memory)
                break
        else:
            pytest.fail("it never came to its end")
        # One entry more and all that it tells of, or nothing at all.
        assert len(ends) == 2
        assert at > 3
        assert memory.log(limit=1)[0].position == before[1]
        if verb == "forget":
            leaves_no_word(memory, "40961837")
        if not ended:
            return
    with opened(url, **options) as memory:
        memory.store("Goes on")
        assert memory.search("goes on", limit=1)[0].record.text == "Goes on"
        is_whole(memory)


def a_minute_passes(memory: Memory) -> None:
    """What a dead host held is free again."""
    database = memory.stores.database
    assert database is not None
    database.rows("update lease set until = now() where profile = %s", (database.profile,))


def leaves_no_word(memory: Memory, word: str) -> None:
    database = memory.stores.database
    assert database is not None
    assert not [table for table, rows in rows_of(database).items() if word.encode() in rows]


def test_a_killed_client_keeps_nobody_waiting() -> None:
    url = fresh_url()
    filled(url)

    def die_holding() -> None:
        other = opened(url)
        with other.library.vault.lock():
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_child(die_holding) == -signal.SIGKILL
    with opened(url, lock_seconds=5) as memory:
        memory.store("Nobody holds it any more")
