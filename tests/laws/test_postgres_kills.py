"""kill -9 of a client of PostgreSQL at every statement of every verb: old or new, never between.

What it leaves is looked at in the tables themselves, before any memory opens them and could mend
something.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from commonplace.memory import Memory
from commonplace.postgres.urls import parse_url
from commonplace.storage.journal import document_at
from tests.laws.test_laws import rebuilt
from tests.support.clocks import SkippingClock
from tests.support.faults import in_child
from tests.support.postgres import fresh_url, rows_of

DAY = 86_400_000_000_000
OPTIONS: Any = {"memory_archive_path": "archive/MEMORY.md", "environ": {}}


class Killer:
    """Counts what is said to the server in transactions, and dies at one of it, without a word.

    A death between two of them leaves what the first one left.
    """

    def __init__(self, at: int) -> None:
        self.at, self.count = at, 0

    def arm(self) -> None:
        execute, many = psycopg.Cursor.execute, psycopg.Cursor.executemany

        def one(cursor: Any, statement: Any, *rest: Any, **named: Any) -> Any:
            if cursor.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self._die_here(cursor.connection if statement == "commit" else None)
            return execute(cursor, statement, *rest, **named)

        def several(cursor: Any, *rest: Any, **named: Any) -> Any:
            self._die_here(None)
            return many(cursor, *rest, **named)

        psycopg.Cursor.execute = one  # type: ignore[method-assign,assignment]
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
    return Memory.open(
        url, "native", "s-1", clock=SkippingClock(), **OPTIONS | options, create=True
    )


def filled(url: str) -> str:
    """Old records, newer ones, and a document of prose. Returns the id of what may go."""
    clock = SkippingClock()
    clock.skipped = -90 * DAY
    with Memory.open(url, "native", "s-1", clock=clock, **OPTIONS, create=True) as memory:
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
    "restore": ({}, lambda memory, _: memory.restore(memory.clock.now() - timedelta(days=30))),
    "trim": ({"memory_max_records": 1}, lambda memory, _: memory.trim()),
    "compact": ({"memory_compaction_enabled": True}, lambda memory, _: memory.compact(forced=True)),
}


MEMORY = ("document", "piece", "entry")
KEPT = ("version",)
"""Texts by their digests, kept before anything names them: only that none is lost counts."""
INDEX = ("level", "known", "record", "place", "model", "embedding")
Rows = dict[str, list[str]]


class Rest:
    """The rows of one profile at rest, as a connection of its own sees them."""

    def __init__(self, url: str) -> None:
        self.place = parse_url(url)
        self.db = psycopg.connect(self.place.server, autocommit=True)
        self.db.execute("select set_config('search_path', %s, false)", (self.place.schema,))
        named = "select profile::text from profile_name where name = %s"
        ((self.profile,),) = self.db.execute(named, (self.place.profile,)).fetchall()
        self.db.execute("select set_config('commonplace.profile', %s, false)", (self.profile,))

    def rows(self, tables: tuple[str, ...]) -> Rows:
        return {table: sorted(map(repr, self._of(f"select * from {table}"))) for table in tables}

    def _of(self, statement: str) -> list[tuple[Any, ...]]:
        return self.db.execute(f"{statement} where profile = %s", (self.profile,)).fetchall()

    def end(self) -> int:
        """Where the journal ends, as its lines, the profile's row and its marks all say."""
        ((ended, marks),) = self._of("select ended, marks from profile")
        lines = self._of("select position, line from entry")
        assert max(position + len(line) for position, line in lines) == ended
        assert json.loads(marks)["end"] == ended
        return int(ended)

    def wait_for_the_end_of(self, name: str) -> None:
        """The server notices that a client is gone when it has done what it was told last."""
        asked = """select 1 from pg_stat_activity
            where application_name = %s and pid <> pg_backend_pid()"""
        while self.db.execute(asked, (name,)).fetchall():
            time.sleep(0.001)

    def close(self) -> None:
        self.db.close()

    def a_minute_passes(self) -> None:
        """What a dead host held is free again."""
        self.db.execute("update lease set until = now() where profile = %s", (self.profile,))


def is_whole(memory: Memory) -> None:
    """Documents, journal and index say the same."""
    library = memory.library
    assert library.index.dump() == rebuilt(memory)
    assert memory.problems() == []
    for name in memory.documents():
        told = document_at(library.journal, name, since=library.known(name).base)
        assert told == library.vault.read(name)


@pytest.mark.parametrize("verb", VERBS)
def test_a_client_killed_at_any_statement_leaves_old_or_new(verb: str) -> None:
    options, deed = VERBS[verb]
    victim = f"victim-{verb}"
    url = fresh_url(application_name=victim)
    key = filled(url)

    def work(at: int) -> None:
        other = opened(url, **options)
        other.count()
        killer = Killer(at)
        killer.arm()
        deed(other, key)
        os._exit(0 if killer.count <= at else 1)

    with closing(Rest(url)) as rest:
        old, old_index, old_end = rest.rows(MEMORY), rest.rows(INDEX), rest.end()
        kept = set(rest.rows(KEPT)["version"])
        for at in range(1000):
            ended = in_child(lambda at=at: work(at))  # type: ignore[misc]
            assert ended in (0, -signal.SIGKILL), ended
            rest.wait_for_the_end_of(victim)
            rest.a_minute_passes()
            assert kept <= set(rest.rows(KEPT)["version"]) or verb == "forget"
            if rest.end() != old_end:
                break
            assert (rest.rows(MEMORY), rest.rows(INDEX)) == (old, old_index)
        else:
            pytest.fail("it never came to its end")
        assert at > 3
        new, new_index = rest.rows(MEMORY), rest.rows(INDEX)
        with opened(url) as memory:
            memory.count()
            # Nothing was left to be mended; at most the index was left to whoever searches next.
            assert rest.rows(MEMORY) == new
            assert new_index in (old_index, rest.rows(INDEX))
            is_whole(memory)
            # One entry more and all that it tells of.
            assert memory.log(limit=1)[0].position == old_end
            if verb == "forget":
                leaves_no_word(memory, "40961837")
    if ended:
        with opened(url, **options) as memory:
            memory.store("Goes on")
            assert memory.search("goes on", limit=1)[0].record.text == "Goes on"
            is_whole(memory)


def leaves_no_word(memory: Memory, word: str) -> None:
    database = memory.parts.database
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
